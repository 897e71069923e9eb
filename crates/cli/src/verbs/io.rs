//! `firstlight io`: what was asked of block devices.

use crate::args::Io;
use crate::beside;
use crate::input;
use crate::out::Out;
use anyhow::Result;
use record::Recorder;
use std::io::Write;
use std::mem::ManuallyDrop;

/// How many parts the timeline has in `--json`, and on the screen.
const STRETCHES: usize = 100;
const ROWS: usize = 20;

/// What the picture is of: traces have a file for each processor.
fn title(args: &Io) -> String {
    let inputs = &args.inputs.inputs;
    let first = inputs.first().map(|p| p.display().to_string());
    match (first, inputs.len()) {
        (Some(first), 1) => first,
        (first, n) => format!(
            "{} and {} more",
            first.unwrap_or_default(),
            n.saturating_sub(1)
        ),
    }
}

pub fn run(args: &Io, out: &mut Out) -> Result<()> {
    // Its memory goes with the process: to hand it back piece by piece takes time.
    let record = ManuallyDrop::new(input::boot_into(
        Recorder::without_scheduling(),
        &args.inputs.inputs,
        &args.inputs.reading,
    )?);
    if let Some(path) = &args.svg {
        let picture = views::export::seek(analysis::seek(&record).as_ref(), &title(args));
        beside::write(path, |f| Ok(f.write_all(picture.as_bytes())?))?;
    }
    let text = if args.csv {
        views::csv::requests(analysis::io_requests(&record))
    } else if out.json {
        views::json::text(&views::json::io(&analysis::io(&record, STRETCHES)))
    } else {
        views::terminal::io(&analysis::io(&record, ROWS), args.top, &out.style)
    };
    out.text(&text)
}
