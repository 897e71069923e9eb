//! `firstlight io`: what was asked of block devices.

use crate::args::Io;
use crate::input;
use crate::out::Out;
use anyhow::Result;

/// How many parts the timeline of `--json` has.
const STRETCHES: usize = 100;

pub fn run(args: &Io, out: &mut Out) -> Result<()> {
    let record = input::boot(&args.inputs.inputs, &args.inputs.reading)?;
    let io = analysis::io(&record, STRETCHES);
    let text = views::json::text(&views::json::io(&io));
    out.text(&text)
}
