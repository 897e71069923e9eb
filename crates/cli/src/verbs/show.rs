//! `firstlight show`: one boot in one screen.

use crate::args::{Inputs, Reading};
use crate::input;
use crate::out::Out;
use analysis::Options;
use anyhow::Result;
use clap::Args;
use record::Record;
use std::mem::ManuallyDrop;
use std::path::PathBuf;

/// The arguments of `show`.
#[derive(Debug, Args)]
pub struct Show {
    #[command(flatten)]
    pub inputs: Inputs,
}

/// How many rows of each kind the screen holds.
const ROWS: usize = 5;

pub fn run(args: &Show, out: &mut Out) -> Result<()> {
    let Inputs { inputs, reading } = &args.inputs;
    of(inputs, reading, out)
}

/// Shows the boot that these paths hold the evidence of.
pub fn of(inputs: &[PathBuf], reading: &Reading, out: &mut Out) -> Result<()> {
    // The program ends after its answer; to free a large record first takes
    // longer than to leave that to the kernel.
    let record = ManuallyDrop::new(input::boot(inputs, reading)?);
    print(&record, &reading.options(), out)
}

/// Prints the screen of a record.
pub fn print(record: &Record, options: &Options, out: &mut Out) -> Result<()> {
    let boot = analysis::boot(record, options, ROWS);
    let text = if out.json {
        views::json::text(&views::json::show(&boot))
    } else {
        views::terminal::show(&boot, &out.style)
    };
    out.text(&text)
}
