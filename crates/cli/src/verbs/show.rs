//! `firstlight show`: one boot in one screen.

use crate::args::{Reading, Show};
use crate::input;
use crate::out::Out;
use analysis::Options;
use anyhow::Result;
use record::Record;
use std::mem::ManuallyDrop;

/// How many rows of each kind the screen holds.
const ROWS: usize = 5;

pub fn run(args: &Show, out: &mut Out) -> Result<()> {
    // The program ends after its answer; to free a large record first takes
    // longer than to leave that to the kernel.
    let record = ManuallyDrop::new(input::boot(&args.inputs.inputs, &args.inputs.reading)?);
    print(&record, &args.inputs.reading.options(), out)
}

/// Prints the screen of a record.
pub fn print(record: &Record, options: &Options, out: &mut Out) -> Result<()> {
    let boot = analysis::boot(record, options, ROWS);
    let text = if out.json {
        views::json::text(&views::json::show(&boot))
    } else {
        views::terminal::show(&boot, &out.style)
    };
    out.text(&text)?;
    if let (Some(wanted), None) = (&options.first_light, &boot.phases.first_light) {
        out.flush()?;
        anstream::eprintln!(
            "firstlight: no mark, unit or line of the log is or contains `{wanted}`"
        );
    }
    Ok(())
}

impl Reading {
    /// What the user's words mean to the analyses.
    pub fn options(&self) -> Options {
        Options {
            first_light: self.first_light.clone(),
        }
    }
}
