//! `firstlight export`: a boot for other viewers and for data tools.

use crate::args::Inputs;
use crate::beside;
use crate::input;
use crate::out::Out;
use analysis::{Phases, Tracks};
use anyhow::{Result, bail};
use clap::{Args, ValueEnum, ValueHint};
use record::Record;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use views::json::{self, Document};

/// The arguments of `export`.
#[derive(Debug, Args)]
pub struct Export {
    #[command(flatten)]
    pub inputs: Inputs,
    /// Format to write
    #[arg(long, value_name = "FORMAT")]
    pub to: ExportFormat,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Protocol buffers of Perfetto
    Perfetto,
    /// JSON of Chrome's tracing page
    Chrome,
    /// One line per event
    Csv,
    /// One row per event, in columns
    #[cfg(feature = "parquet")]
    Parquet,
    /// One picture: load, processes, calls
    Svg,
    /// A picture of initcalls and probes over the kernel phase
    Bootgraph,
    /// A picture of processors and disks over time, and the tree of processes
    Bootchart,
    /// Stacks and their weights, one per line
    Folded,
}

impl ExportFormat {
    /// Whether a terminal cannot show it.
    pub const fn is_binary(self) -> bool {
        match self {
            Self::Perfetto => true,
            #[cfg(feature = "parquet")]
            Self::Parquet => true,
            _ => false,
        }
    }

    /// The format as the command line names it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Perfetto => "perfetto",
            Self::Chrome => "chrome",
            Self::Csv => "csv",
            #[cfg(feature = "parquet")]
            Self::Parquet => "parquet",
            Self::Svg => "svg",
            Self::Bootgraph => "bootgraph",
            Self::Bootchart => "bootchart",
            Self::Folded => "folded",
        }
    }
}

pub fn run(args: &Export, out: &mut Out) -> Result<()> {
    let record = input::boot(&args.inputs.inputs, &args.inputs.reading)?;
    let phases = analysis::phases_with(&record, &args.inputs.reading.options());
    let tracks = analysis::tracks(&record, &phases);
    let title = input::names::of_boots(&[&args.inputs.inputs]).join("");
    let Some(path) = &args.out else {
        if args.to.is_binary() && std::io::stdout().is_terminal() {
            bail!("this format is binary; name a file with -o FILE");
        }
        if out.json {
            bail!("--json reports the exported file; name it with -o FILE");
        }
        let mut bytes = Vec::new();
        write(args.to, &record, &phases, &tracks, &title, &mut bytes)?;
        return out.bytes(&bytes);
    };
    beside::write(path, |file| {
        let mut file = BufWriter::new(file);
        write(args.to, &record, &phases, &tracks, &title, &mut file)?;
        Ok(file.flush()?)
    })?;
    if out.json {
        let done = json::Export {
            file: path.display().to_string(),
            format: args.to.as_str().to_owned(),
            schema: json::Export::SCHEMA,
        };
        return out.text(&json::text(&done));
    }
    out.text(&format!("{}\n", path.display()))
}

fn write(
    format: ExportFormat,
    record: &Record,
    phases: &Phases,
    tracks: &Tracks<'_>,
    title: &str,
    mut out: impl Write + Send,
) -> Result<()> {
    use views::export;
    match format {
        ExportFormat::Perfetto => out.write_all(&export::perfetto(record, tracks))?,
        ExportFormat::Chrome => export::chrome(record, tracks, out)?,
        ExportFormat::Csv => export::csv(record, tracks, out)?,
        #[cfg(feature = "parquet")]
        ExportFormat::Parquet => export::parquet(record, tracks, out)?,
        ExportFormat::Svg => out.write_all(export::svg(tracks, title).as_bytes())?,
        ExportFormat::Bootgraph => {
            out.write_all(export::bootgraph(record, tracks, phases, title).as_bytes())?;
        }
        ExportFormat::Bootchart => {
            out.write_all(export::bootchart(record, tracks, phases, title).as_bytes())?;
        }
        ExportFormat::Folded => export::folded(record, out)?,
    }
    Ok(())
}
