//! A board's figures, and forecasts against the board.

use crate::error::{Error, Result};
use crate::trials::record;
use analysis::Truth;
use input::{Results, Say};
use lab::calibration::Calibration;
use std::path::Path;
use views::json::Document as _;

/// The rate of the line, as a capture tells it.
///
/// # Errors
/// The capture cannot be read.
pub fn line_rate(capture: &Path, say: &Say<'_>) -> Result<Option<views::CalibratedConsole>> {
    let record = record(capture, say)?;
    let phases = analysis::phases_with(&record, &analysis::Options::default());
    let console = analysis::console(&record, &phases, 1);
    let rate = console.and_then(|c| c.rate);
    Ok(rate.map(|rate| views::CalibratedConsole {
        baud: rate.baud,
        from: rate.from.as_str(),
        kept: rate.kept,
    }))
}

/// A calibration, as views take it: with the rate of the console, and the files that hold it.
#[must_use]
pub fn calibrated(
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

/// What the lab foretold against what the board did: the results of both, each with the folder
/// that it is of.
///
/// # Errors
/// The first is not in virtual time or the second not in wall time, or they share no variant.
pub fn truth(
    (of_lab, lab): (&Path, &Results),
    (of_board, board): (&Path, &Results),
) -> Result<Truth> {
    if lab.clock != "virtual" {
        return Err(Error::Unfit(format!(
            "{}: these boots ran in wall time; name a run of the lab in virtual time first and the \
             board's second",
            of_lab.display()
        )));
    }
    if board.clock != "wall" {
        return Err(Error::Unfit(format!(
            "{}: these boots ran in virtual time; name the lab's run first and the board's second",
            of_board.display()
        )));
    }
    let truth = analysis::truth(&lab.changes, &board.changes);
    if truth.rows.is_empty() {
        return Err(Error::Unfit(format!(
            "{} and {} have no variant in common; boot the same variants in the lab and on the board",
            of_lab.display(),
            of_board.display()
        )));
    }
    Ok(truth)
}
