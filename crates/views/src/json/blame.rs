//! `firstlight.blame/1`.

use super::Place;
use serde::Serialize;

/// What took longest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Blame {
    /// `firstlight.blame/1`.
    pub schema: &'static str,
    /// Longest first.
    pub rows: Vec<BlameRow>,
    /// How many rows there are without `--top`.
    pub total_rows: usize,
}

/// Something that took time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BlameRow {
    /// `initcall`, `probe`, `unit`, `process`, `file` or `phase`.
    pub kind: &'static str,
    /// Which one.
    pub name: String,
    /// When it began; null if that was never seen.
    pub start_ns: Option<i64>,
    /// When it ended; null if that was never seen.
    pub end_ns: Option<i64>,
    /// End minus start.
    pub wall_ns: Option<i64>,
    /// The duration that the source states.
    pub reported_ns: Option<i64>,
    /// Why the numbers should not be taken at face value; null if they can be.
    pub doubt: Option<&'static str>,
    /// What it returned.
    pub outcome: Option<i32>,
    /// The id of a process, or of the task that ran an initcall or a probe; null if no
    /// source says it.
    pub pid: Option<u32>,
    /// Processor time that a process used; null if no source says it.
    pub cpu_ns: Option<i64>,
    /// The evidence.
    pub origin: Place,
}

/// What took longest, in the shape of `schemas/blame.json`.
#[must_use]
pub fn blame(blame: &analysis::Blame) -> Blame {
    Blame {
        schema: "firstlight.blame/1",
        rows: blame.rows.iter().map(row).collect(),
        total_rows: blame.total_rows,
    }
}

fn row(r: &analysis::BlameRow) -> BlameRow {
    BlameRow {
        kind: r.kind.as_str(),
        name: r.name.clone(),
        start_ns: r.start.map(record::Nanos::get),
        end_ns: r.end.map(record::Nanos::get),
        wall_ns: r.wall.map(record::Nanos::get),
        reported_ns: r.reported.map(record::Nanos::get),
        doubt: r.doubt.map(record::Doubt::as_str),
        outcome: r.outcome,
        pid: r.pid,
        cpu_ns: r.cpu.map(record::Nanos::get),
        origin: Place::from(&r.origin),
    }
}
