//! `firstlight.blame.subsystems/1`.

use serde::Serialize;

/// Time by part of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Subsystems {
    /// `firstlight.blame.subsystems/1`.
    pub schema: &'static str,
    /// Longest first.
    pub rows: Vec<SubsystemRow>,
    /// How many rows there are without `--top`.
    pub total_rows: usize,
    /// The time of all calls.
    pub time_ns: i64,
}

/// A part of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SubsystemRow {
    /// Its folder in the kernel's source.
    pub subsystem: String,
    /// How many initcalls of it were timed.
    pub calls: u64,
    /// The sum of their times.
    pub time_ns: i64,
    /// The time in which at least one of them ran.
    pub busy_ns: i64,
    /// The call that took longest.
    pub longest: String,
    /// How long that took.
    pub longest_ns: i64,
}

/// Time by part of the kernel, in the shape of `schemas/blame.subsystems.json`.
#[must_use]
pub fn subsystems(all: &analysis::Subsystems) -> Subsystems {
    let row = |r: &analysis::SubsystemRow| SubsystemRow {
        subsystem: r.name.clone(),
        calls: r.calls,
        time_ns: r.time.get(),
        busy_ns: r.busy.get(),
        longest: r.longest.0.clone(),
        longest_ns: r.longest.1.get(),
    };
    Subsystems {
        schema: "firstlight.blame.subsystems/1",
        rows: all.rows.iter().map(row).collect(),
        total_rows: all.total_rows,
        time_ns: all.time.get(),
    }
}
