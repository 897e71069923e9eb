//! `firstlight path`: what first light waited for, and what it would be.

use crate::args::{Inputs, duration};
use crate::input;
use crate::out::Out;
use analysis::Changes;
use anyhow::{Result, bail};
use clap::Args;
use record::Nanos;
use storage::{Storage, profiles};

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
    /// Forecast first light without these units, initcalls, drivers or programs; `*` stands for any
    /// text
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub without: Vec<String>,
    /// Forecast first light if NAME takes TIME (as in 1.2s or 300ms); repeatable
    #[arg(long, value_name = "NAME=TIME", value_delimiter = ',', value_parser = shortened)]
    pub shorten: Vec<(String, Nanos)>,
    /// Forecast first light with N processors
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub processors: Option<u16>,
    /// Forecast first light with the traced block requests on the storage PROFILE
    #[arg(long, value_name = "PROFILE")]
    pub storage: Option<String>,
}

/// `NAME=TIME`.
fn shortened(text: &str) -> Result<(String, Nanos), String> {
    let form = "expected NAME=TIME, as in NetworkManager.service=2s";
    let (name, time) = text.rsplit_once('=').ok_or(form)?;
    if name.is_empty() {
        return Err(form.into());
    }
    let time = duration(time).map_err(|e| format!("{e}; {form}"))?;
    let ns = i64::try_from(time.as_nanos()).map_err(|_| form)?;
    Ok((name.to_owned(), Nanos(ns)))
}

/// The figures of a storage profile.
fn figures(name: &str) -> Result<Storage> {
    let found = profiles::find(profiles::profiles()?, Some(name), name)?;
    Ok(found.storage)
}

/// An item that is shorter than this share of the boot gets no line of its own.
const SHORTEST: i64 = 500;

pub fn run(args: &Path, out: &mut Out) -> Result<()> {
    let record = input::boot(&args.inputs.inputs, &args.inputs.reading)?;
    let options = args.inputs.reading.options();
    let phases = analysis::phases_with(&record, &options);
    if let (Some(wanted), None) = (&options.first_light, &phases.first_light) {
        bail!("--first-light `{wanted}` matched no mark, unit or timestamped line");
    }
    let changes = Changes {
        without: args.without.clone(),
        shorten: args.shorten.clone(),
        processors: args.processors.map(usize::from),
        storage: args.storage.as_deref().map(figures).transpose()?,
    };
    let found = analysis::what_if(&record, &phases, args.processes, &changes)?;
    let shortest = match args.all {
        true => Nanos::ZERO,
        false => Nanos(found.path.end.get() / SHORTEST),
    };
    let text = if out.json {
        views::json::text(&views::json::path(&found))
    } else if changes.is_empty() {
        views::terminal::path(&found.path, shortest, &out.style)
    } else {
        views::terminal::what_if(&found, shortest, &out.style)
    };
    out.text(&text)
}
