//! `firstlight.blame.subsystems/1`.

use super::document::Document;
use schemars::JsonSchema;
use serde::Serialize;

/// Initcall time by kernel subsystem, the longest first.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Subsystems {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Subsystems, the longest first.
    pub rows: Vec<SubsystemRow>,
    /// Number of rows without `--top`.
    pub total_rows: usize,
    /// Total time of all initcalls.
    pub time_ns: i64,
}

impl Document for Subsystems {
    const SCHEMA: &'static str = "firstlight.blame.subsystems/1";
    const TITLE: &'static str = "Output of `firstlight blame --by subsystem --json`";
}

/// A kernel subsystem.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct SubsystemRow {
    /// Directory in the kernel source.
    #[schemars(length(min = 1))]
    pub subsystem: String,
    /// Number of timed initcalls.
    #[schemars(range(min = 1))]
    pub calls: u64,
    /// Sum of their durations.
    pub time_ns: i64,
    /// Time in which at least one of them ran.
    pub busy_ns: i64,
    /// Longest initcall.
    pub longest: String,
    /// Duration of the longest initcall.
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
        schema: Subsystems::SCHEMA,
        rows: all.rows.iter().map(row).collect(),
        total_rows: all.total_rows,
        time_ns: all.time.get(),
    }
}
