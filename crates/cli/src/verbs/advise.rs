//! `firstlight advise`: what to change, and what that would bring.

use crate::args::Advise;
use crate::input;
use crate::out::Out;
use crate::system;
use anyhow::Result;
use std::mem::ManuallyDrop;

pub fn run(args: &Advise, out: &mut Out) -> Result<()> {
    let facts = system::facts(&args.image, args.config.as_deref())?;
    // As `show` does: the program ends after its answer.
    let record = ManuallyDrop::new(input::boot(&args.inputs, &args.reading)?);
    let phases = analysis::phases_with(&record, &args.reading.options());
    let mut advice = analysis::advice(&record, &phases, &facts);
    if !args.all {
        advice.silent.clear();
    }
    let text = if out.json {
        views::json::text(&views::json::advise(&advice, args.all))
    } else {
        views::terminal::advise(&advice, &out.style)
    };
    out.text(&text)
}
