//! `firstlight flash summarize`: what `sumtool` of mtd-utils does.

use super::args::Summarize;
use crate::out::Out;
use crate::{beside, progress};
use anyhow::{Context, Result};
use capture::direct;
use flash::jffs2::{
    Cleanmarkers, Endian, Error, Mode, Oob, Options, detect, refuse_foreign, summarize,
};
use inspect::open;
use std::fs::File;
use views::{json, terminal};

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
    let to = args.out.display().to_string();
    out.show(
        || json::flash::Summarize::of(&shown, &to, &options, &outcome),
        |style| terminal::flash::summarize(&to, &options, &outcome, style),
    )
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
    let mode = match args.compat {
        true => Mode::Compatible,
        false => Mode::Safe,
    };
    let erase_size = match args.erase_size {
        Some(given) => given,
        None => {
            if mode == Mode::Safe {
                // With them no erase size would be found, or a wrong one.
                Oob::refuse(input, endian)?;
            }
            let found = mode.erase_size(input, endian);
            found.context("--erase-size is missing")?
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
        mode,
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
