//! `firstlight blame`: what took longest.

use crate::args::{Blame, Kind};
use crate::input;
use crate::out::Out;
use analysis::BlameKind;
use anyhow::Result;
use std::mem::ManuallyDrop;

pub fn run(args: &Blame, out: &mut Out) -> Result<()> {
    // The program ends after its answer; to free a large record first takes
    // longer than to leave that to the kernel.
    let record = ManuallyDrop::new(input::boot(&args.inputs.inputs, &args.inputs.reading)?);
    if args.deferrals {
        let all = analysis::deferrals(&record);
        return out.text(&match out.json {
            true => views::json::text(&views::json::deferrals(&all, args.top)),
            false => views::terminal::deferrals(&all, args.top, &out.style),
        });
    }
    let phases = analysis::phases_with(&record, &args.inputs.reading.options());
    let blame = analysis::blame_with(&record, &phases, args.kind.map(kind), args.top);
    let text = if out.json {
        views::json::text(&views::json::blame(&blame))
    } else if args.csv {
        views::csv::blame(&blame)
    } else {
        views::terminal::blame(&blame, &out.style)
    };
    out.text(&text)
}

const fn kind(kind: Kind) -> BlameKind {
    match kind {
        Kind::Initcall => BlameKind::Initcall,
        Kind::Probe => BlameKind::Probe,
        Kind::Unit => BlameKind::Unit,
        Kind::Process => BlameKind::Process,
        Kind::File => BlameKind::File,
        Kind::Phase => BlameKind::Phase,
    }
}
