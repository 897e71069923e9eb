//! `firstlight calibrate`: a board's figures for the lab, and forecasts against the board.

pub mod args;

use crate::beside;
use crate::input;
use crate::out::Out;
use agent::readings::Readings;
use anyhow::{Context, Result, bail};
use args::{CalibrateBoard, CalibrateCompare, CalibrateVerb};
use lab::calibration::{Calibration, calibrate};
use std::io::{Read as _, Write as _};
use std::path::Path;
use views::json::Document as _;

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
    let console = args.console.as_deref().map(console).transpose()?.flatten();
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
    let shown = shown(&found, console, files);
    let json = views::json::text(&shown);
    beside::write(&path, |f| Ok(f.write_all(json.as_bytes())?))?;
    match out.json {
        true => out.text(&json),
        false => out.text(&shown.terminal(&out.style)),
    }
}

/// The rate of the line, as a capture tells it.
fn console(capture: &Path) -> Result<Option<views::CalibratedConsole>> {
    let record = proof::record(capture, &input::say)?;
    let phases = analysis::phases_with(&record, &analysis::Options::default());
    let console = analysis::console(&record, &phases, 1);
    let rate = console.and_then(|c| c.rate);
    Ok(rate.map(|rate| views::CalibratedConsole {
        baud: rate.baud,
        from: rate.from.as_str(),
        kept: rate.kept,
    }))
}

fn shown(
    found: &Calibration,
    console: Option<views::CalibratedConsole>,
    files: Vec<String>,
) -> views::Calibrated {
    let storage = found.fitted.as_ref().map(|f| views::CalibratedStorage {
        small_read_ns: f.small_ns,
        command_ns: f.storage.command_ns,
        read_bytes_per_s: f.storage.read_bytes_per_s,
        command_interval_ns: f.storage.command_interval_ns,
        queue_depth: f.storage.queue_depth.get(),
        small_error_percent: f.small_error * 100.0,
        large_error_percent: f.large_error * 100.0,
    });
    views::Calibrated {
        schema: views::Calibrated::SCHEMA,
        board: found.name.clone(),
        arch: found.arch.clone(),
        processor_mhz: found.cycle_ns.map(|ns| 1_000.0 / ns),
        cpu_shift: found.cpu_shift,
        storage,
        console,
        files,
    }
}

fn compare(args: &CalibrateCompare, out: &mut Out) -> Result<()> {
    let (lab, board) = (::input::results(&args.lab)?, ::input::results(&args.board)?);
    if lab.clock != "virtual" {
        bail!(
            "{}: these boots ran in wall time; name a run of the lab in virtual time first and the \
             board's second",
            args.lab.display()
        );
    }
    if board.clock != "wall" {
        bail!(
            "{}: these boots ran in virtual time; name the lab's run first and the board's second",
            args.board.display()
        );
    }
    let truth = analysis::truth(&lab.changes, &board.changes);
    if truth.rows.is_empty() {
        bail!(
            "{} and {} have no variant in common; boot the same variants in the lab and on the board",
            args.lab.display(),
            args.board.display()
        );
    }
    let name = board.board.as_deref().unwrap_or("the board");
    let shown = views::ForecastTruth::of(name, &truth);
    match (out.json, args.markdown) {
        (true, _) => out.text(&views::json::text(&shown)),
        (_, true) => out.text(&shown.markdown()),
        _ => out.text(&shown.terminal(&out.style)),
    }
}
