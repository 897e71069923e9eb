//! `firstlight capture board`: one boot of a board, by its file.

use crate::args::CaptureBoard;
use crate::interrupt;
use crate::out::Out;
use crate::progress;
use anyhow::{Result, bail};
use capture::board::{Board, TakenBoot, Watcher, take};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use views::json::{self, Document};
use views::terminal::board_capture;

/// Shows how the console grows.
struct Shown {
    stop: Arc<AtomicBool>,
}

impl Watcher for Shown {
    fn console(&mut self, bytes: u64, last_line: &str) {
        progress::say(format!("{bytes} bytes: {last_line}"));
    }

    fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

pub fn run(args: &CaptureBoard, out: &mut Out) -> Result<()> {
    let board = Board::read(&args.file)?;
    let stop = interrupt::told()?;
    let taken_by = concat!("firstlight ", env!("CARGO_PKG_VERSION"));
    progress::say(format!("switching {} off and on", board.name));
    let taken = take(&board, &args.out, taken_by, &mut Shown { stop });
    progress::clear();
    let taken = taken?;
    let document = document(&board.name, &args.out, &taken);
    match out.json {
        true => out.text(&json::text(&document))?,
        false => out.text(&board_capture(&document))?,
    }
    out.flush()?;
    match taken.void {
        None => Ok(()),
        Some(why) => bail!("{why}; what came is in {}", args.out.display()),
    }
}

fn document(board: &str, out: &Path, taken: &TakenBoot) -> json::Capture {
    let cycle = &taken.cycle;
    let ns = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
    json::Capture {
        capture: out.display().to_string(),
        files: taken.files.clone(),
        missing: taken.notes.iter().skip(1).cloned().collect(),
        schema: json::Capture::SCHEMA,
        serial: None,
        ssh: None,
        board: Some(json::CaptureBoard {
            board: board.to_owned(),
            first_light_ns: json::BoardLights {
                power_on: cycle.light_from_power_ns().map(ns),
                loader: cycle.light_from_loader_ns.map(ns),
            },
            light_error_ns: cycle.light.map(|l| ns(l.error_ns)),
            power_error_ns: ns(cycle.power_error_ns),
            off_ns: cycle.off_ns.map(ns),
            void: taken.void.clone(),
            resets: cycle.resets,
            state: json::board_values(&taken.state),
        }),
    }
}
