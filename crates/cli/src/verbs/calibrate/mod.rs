//! `firstlight calibrate`: a board's figures for the lab, and forecasts against the board.

pub mod args;

use crate::beside;
use crate::input;
use crate::out::Out;
use agent::readings::Readings;
use anyhow::{Context, Result, bail};
use args::{CalibrateBoard, CalibrateCompare, CalibrateVerb};
use lab::calibration::calibrate;
use std::io::{Read as _, Write as _};

pub fn run(args: &args::Calibrate, out: &mut Out) -> Result<()> {
    match &args.verb {
        CalibrateVerb::Board(a) => board(a, out),
        CalibrateVerb::Compare(a) => compare(a, out),
    }
}

fn board(args: &CalibrateBoard, out: &mut Out) -> Result<()> {
    let legal = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if args.name.is_empty() || !args.name.chars().all(legal) {
        bail!(
            "--name: `{}` is not a valid name; write letters, digits, `-` and `_`",
            args.name
        );
    }
    let name = args.readings.display();
    let mut text = String::new();
    let read = match args.readings.as_os_str() == "-" {
        true => std::io::stdin().read_to_string(&mut text),
        false => std::fs::File::open(&args.readings).and_then(|mut f| f.read_to_string(&mut text)),
    };
    read.with_context(|| format!("{name}: cannot be read"))?;
    let readings = Readings::parse(&text).with_context(|| name.to_string())?;
    let found = calibrate(&args.name, &readings).with_context(|| name.to_string())?;
    let console = args.console.as_deref();
    let console = console.map(|capture| proof::line_rate(capture, &input::say));
    let console = console.transpose()?.flatten();
    std::fs::create_dir_all(&args.out)
        .with_context(|| format!("{}: cannot be created", args.out.display()))?;
    let mut files = Vec::new();
    let mut write = |name: &str, text: &str| {
        let path = args.out.join(name);
        files.push(path.display().to_string());
        beside::write(&path, |f| Ok(f.write_all(text.as_bytes())?))
    };
    if let Some(profile) = &found.profile {
        write("storage.toml", &profile.text())?;
    }
    write("lab.toml", &found.experiment("storage.toml"))?;
    let path = args.out.join("calibration.json");
    files.push(path.display().to_string());
    let shown = proof::calibrated(&found, console, files);
    let json = views::json::text(&shown);
    beside::write(&path, |f| Ok(f.write_all(json.as_bytes())?))?;
    match out.json {
        true => out.text(&json),
        false => out.text(&shown.terminal(&out.style)),
    }
}

fn compare(args: &CalibrateCompare, out: &mut Out) -> Result<()> {
    let (lab, board) = (::input::results(&args.lab)?, ::input::results(&args.board)?);
    let truth = proof::truth((&args.lab, &lab), (&args.board, &board))?;
    let name = board.board.as_deref().unwrap_or("the board");
    let shown = views::ForecastTruth::of(name, &truth);
    match (out.json, args.markdown) {
        (true, _) => out.text(&views::json::text(&shown)),
        (_, true) => out.text(&shown.markdown()),
        _ => out.text(&shown.terminal(&out.style)),
    }
}
