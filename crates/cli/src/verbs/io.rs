//! `firstlight io`: what was asked of block devices.

use crate::args::{Images, Inputs};
use crate::input;
use crate::out::Out;
use crate::{beside, progress};
use anyhow::Result;
use clap::{Args, ValueHint};
use record::Recorder;
use std::io::Write;
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use views::export::SeekPicture;

/// The arguments of `io`.
#[derive(Debug, Args)]
pub struct Io {
    #[command(flatten)]
    pub inputs: Inputs,
    /// Number of processes and files on the screen; 0 for all [default: 10]
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10,
        hide_default_value = true
    )]
    pub top: usize,
    #[command(flatten)]
    pub images: Images,
    /// Print every request as CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Also draw requests by place, time and latency as SVG
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub svg: Option<PathBuf>,
    /// Also draw the same picture as PNG
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub png: Option<PathBuf>,
}

/// How many parts the timeline has in `--json`, and on the screen.
const STRETCHES: usize = 100;
const ROWS: usize = 20;

/// The title of the picture: traces have a file for each processor.
fn title(inputs: &[PathBuf]) -> String {
    match inputs {
        [] => input::shown(inputs),
        [one] => input::names::one(one),
        [first, rest @ ..] => format!("{} and {} more", input::names::one(first), rest.len()),
    }
}

pub fn run(args: &Io, out: &mut Out) -> Result<()> {
    // Its memory goes with the process: to hand it back piece by piece takes time.
    let record = ManuallyDrop::new(input::boot_into(
        Recorder::without_scheduling(),
        &args.inputs.inputs,
        &args.inputs.reading,
    )?);
    if args.svg.is_some() || args.png.is_some() {
        let picture = SeekPicture::of(
            analysis::seek(&record).as_ref(),
            &title(&args.inputs.inputs),
        );
        if let Some(path) = &args.svg {
            beside::write(path, |f| Ok(f.write_all(picture.svg().as_bytes())?))?;
        }
        if let Some(path) = &args.png {
            let png = picture.png()?;
            beside::write(path, |f| Ok(f.write_all(&png)?))?;
        }
    }
    let (owners, _) =
        inspect::owners::of_boots(&record, None, args.images.chosen(), &progress::mapping)?;
    progress::clear();
    let of = |stretches| analysis::io(&record, Some(&owners), stretches);
    let text = if args.csv {
        views::csv::requests(analysis::io_requests(&record, &owners))
    } else if out.json {
        views::json::text(&views::json::io(&of(STRETCHES)))
    } else {
        views::terminal::io(&of(ROWS), args.top, &out.style)
    };
    out.text(&text)
}
