//! `firstlight.blame/1`.

use super::document::Document;
use super::place::Place;
use super::values::DOUBTS;
use schemars::JsonSchema;
use serde::Serialize;

/// Items that took time, the longest first.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Blame {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Items, the longest first.
    pub rows: Vec<BlameRow>,
    /// Number of rows without `--top`.
    pub total_rows: usize,
}

impl Document for Blame {
    const SCHEMA: &'static str = "firstlight.blame/1";
    const TITLE: &'static str = "Output of `firstlight blame --json`";
}

/// An item that took time.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct BlameRow {
    /// Kind of item.
    #[schemars(extend("enum" = ["initcall", "probe", "unit", "process", "file", "stage", "phase"]))]
    pub kind: &'static str,
    /// Name of the item.
    pub name: String,
    /// Start time; null if the input does not show it.
    pub start_ns: Option<i64>,
    /// End time; null if the input does not show it.
    pub end_ns: Option<i64>,
    /// End time minus start time.
    pub wall_ns: Option<i64>,
    /// Duration that the input itself reports.
    pub reported_ns: Option<i64>,
    /// Why the duration is uncertain; null if it is not.
    #[schemars(extend("enum" = DOUBTS))]
    pub doubt: Option<&'static str>,
    /// Return value.
    pub outcome: Option<i32>,
    /// Process ID, or the ID of the task that ran an initcall or probe; null if unknown.
    pub pid: Option<u32>,
    /// Name of the process that forked a process; null if unknown.
    pub parent: Option<String>,
    /// CPU time of a process; null if unknown.
    pub cpu_ns: Option<i64>,
    /// Evidence.
    pub origin: Place,
}

/// What took longest, in the shape of `schemas/blame.json`.
#[must_use]
pub fn blame(blame: &analysis::Blame) -> Blame {
    Blame {
        schema: Blame::SCHEMA,
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
        parent: r.parent.clone(),
        cpu_ns: r.cpu.map(record::Nanos::get),
        origin: Place::from(&r.origin),
    }
}
