//! `firstlight path`: what first light waited for.

use crate::args::Inputs;
use crate::input;
use crate::out::Out;
use anyhow::Result;
use clap::Args;
use record::Nanos;

/// The arguments of `path`.
#[derive(Debug, Args)]
pub struct Path {
    #[command(flatten)]
    pub inputs: Inputs,
    /// Print short items one by one
    #[arg(long)]
    pub all: bool,
    /// Show userspace by process instead of by unit, where tasks were traced
    #[arg(long)]
    pub processes: bool,
}

/// An item that is shorter than this share of the boot gets no line of its own.
const SHORTEST: i64 = 500;

pub fn run(args: &Path, out: &mut Out) -> Result<()> {
    let record = input::boot(&args.inputs.inputs, &args.inputs.reading)?;
    let phases = analysis::phases_with(&record, &args.inputs.reading.options());
    let path = match args.processes {
        true => analysis::critical_path_of_processes(&record, &phases),
        false => analysis::critical_path(&record, &phases),
    };
    let shortest = match args.all {
        true => Nanos::ZERO,
        false => Nanos(path.end.get() / SHORTEST),
    };
    let text = if out.json {
        views::json::text(&views::json::path(&path))
    } else {
        views::terminal::path(&path, shortest, &out.style)
    };
    out.text(&text)
}
