//! `firstlight flash summarize`: what `sumtool` of mtd-utils does.

use super::args::Summarize;
use super::lost;
use crate::out::Out;
use crate::{beside, direct, progress, size};
use anyhow::{Context, Result};
use flash::jffs2::{
    Cleanmarkers, Endian, Error, Mode, Oob, Options, Outcome, detect, refuse_foreign, summarize,
};
use inspect::open;
use serde::Serialize;
use std::fs::File;
use views::terminal::Style;
use views::terminal::layout::{Screen, WARN, right};
use views::{plural, thousands};

/// The erase size of `sumtool` where none is given.
const SUMTOOL_ERASE_SIZE: u32 = 65_536;

pub fn run(args: &Summarize, out: &mut Out) -> Result<()> {
    let shown = args.image.display().to_string();
    let input = open::image(&args.image)?;
    let options = options(args, &input).with_context(|| shown.clone())?;
    let tell = progress::reading(&args.image);
    let watched = open::Watched::new(&input, &tell);
    let outcome = beside::write(&args.out, |file| {
        direct::write(file, &args.out, |output| {
            summarize(&watched, output, &options).map_err(|e| name(e, args, &shown))
        })
    })?;
    progress::clear();
    let text = if out.json {
        views::json::text(&Json::of(args, &options, &outcome))
    } else {
        screen(args, &options, &outcome, &out.style)
    };
    out.text(&text)
}

/// What is asked for, with what the image shows.
fn options(args: &Summarize, input: &File) -> Result<Options> {
    let found = detect::endian(input)?;
    if found.is_none() && !args.compat {
        refuse_foreign(input)?;
    }
    let endian = match (args.order.endian(), found) {
        // What it is said to be counts for `sumtool`, whatever it is.
        (Some(given), _) if args.compat => given,
        (Some(given), Some(found)) if given != found => {
            return Err(Error::WrongEndian { given, found }.into());
        }
        (given, found) => given.or(found).unwrap_or(Endian::Little),
    };
    let erase_size = match (args.erase_size, args.compat) {
        (Some(given), _) => given,
        (None, true) => SUMTOOL_ERASE_SIZE,
        (None, false) => {
            // With them no erase size would be found, or a wrong one.
            Oob::refuse(input, endian)?;
            let found = detect::erase_size(input, endian)?;
            let found = found.ok_or(Error::UnknownEraseSize);
            found.context("--erase-size is missing")?.bytes
        }
    };
    Ok(Options {
        erase_size,
        endian,
        cleanmarkers: match args.cleanmarker {
            Some(size) => Cleanmarkers::Sized(u32::try_from(size).unwrap_or(u32::MAX)),
            None if args.no_cleanmarkers => Cleanmarkers::None,
            None => Cleanmarkers::AsFound,
        },
        pad: args.pad,
        mode: if args.compat {
            Mode::Compatible
        } else {
            Mode::Safe
        },
    })
}

/// An error with the name of the file that it is about.
fn name(error: Error, args: &Summarize, input: &str) -> anyhow::Error {
    let file = match error {
        Error::Transfer(flash::TransferError::Write(_)) => args.out.display().to_string(),
        _ => input.to_owned(),
    };
    anyhow::Error::new(error).context(file)
}

/// A JFFS2 image to which summaries were added. Sizes are in bytes.
#[derive(schemars::JsonSchema, Serialize)]
pub struct Json {
    /// Name and version of this format.
    #[schemars(extend("const" = <Self as views::json::Document>::SCHEMA))]
    schema: &'static str,
    /// Path of the old image.
    #[schemars(length(min = 1))]
    image: String,
    /// Path of the new image.
    #[schemars(length(min = 1))]
    out: String,
    /// Erase block size.
    erase_size: u32,
    /// Byte order.
    #[schemars(extend("enum" = ["little", "big"]))]
    endian: String,
    /// Whether the image is laid out as by sumtool.
    compat: bool,
    /// Size of the old image.
    bytes_in: u64,
    /// Size of the new image.
    bytes_out: u64,
    /// Number of nodes.
    nodes: u64,
    /// Number of summaries.
    summaries: u64,
    /// Number of obsolete nodes that become valid again.
    resurrected: u64,
    /// Data of the image that was left out or not read.
    lost: Vec<lost::Json>,
}

impl views::json::Document for Json {
    const SCHEMA: &'static str = "firstlight.flash.summarize/1";
    const TITLE: &'static str = "Output of `firstlight flash summarize --json`";
}

impl Json {
    fn of(args: &Summarize, options: &Options, outcome: &Outcome) -> Self {
        Self {
            schema: <Json as views::json::Document>::SCHEMA,
            image: args.image.display().to_string(),
            out: args.out.display().to_string(),
            erase_size: options.erase_size,
            endian: options.endian.to_string(),
            compat: options.mode == Mode::Compatible,
            bytes_in: outcome.bytes_in,
            bytes_out: outcome.bytes_out,
            nodes: outcome.nodes,
            summaries: outcome.summaries,
            resurrected: outcome.resurrected,
            lost: lost::json(&outcome.lost),
        }
    }
}

fn screen(args: &Summarize, options: &Options, outcome: &Outcome, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let block = size::show(options.erase_size.into());
    let mode = match options.mode {
        Mode::Safe => "",
        Mode::Compatible => ", the same bytes as sumtool",
    };
    let about = format!("{}-endian, erase blocks of {block}{mode}", options.endian);
    screen.heading(&args.out.display().to_string(), &about);
    let mut row = |count: u64, what: &str| {
        let line = format!("  {}  {what}", right(&thousands(count), 12));
        screen.line(&line);
    };
    row(outcome.nodes, "nodes copied");
    row(outcome.summaries, "summaries written");
    row(outcome.bytes_in, "bytes before");
    row(outcome.bytes_out, "bytes now");
    if outcome.resurrected > 0 {
        let nodes = plural(
            usize::try_from(outcome.resurrected).unwrap_or(usize::MAX),
            "obsolete node",
        );
        let text = format!(
            "{} {nodes} came back to life, as with sumtool: deleted files may be there again. \
             Without --compat they stay dead.",
            thousands(outcome.resurrected),
        );
        screen.blank();
        screen.wrapped("", 2, WARN, &text);
    }
    lost::section(&mut screen, "Not copied", &outcome.lost);
    screen.finish()
}
