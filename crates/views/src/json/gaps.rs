//! `firstlight.blame.gaps/1`.

use super::document::Document;
use super::place::Place;
use schemars::JsonSchema;
use serde::Serialize;

/// Longest intervals between two lines of the logs, the longest first.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Gaps {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Intervals, the longest first.
    pub gaps: Vec<Gap>,
}

impl Document for Gaps {
    const SCHEMA: &'static str = "firstlight.blame.gaps/1";
    const TITLE: &'static str = "Output of `firstlight blame --gaps --json`";
}

/// An interval without a log line.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Gap {
    /// Time of the line before the interval.
    pub start_ns: i64,
    /// Time of the line after the interval.
    pub end_ns: i64,
    /// Duration.
    #[schemars(range(min = 1))]
    pub gap_ns: i64,
    /// Description of the line before the interval.
    pub before: String,
    /// Description of the line after the interval.
    pub after: String,
    /// Log that lost lines, some of them possibly in this interval; null if no lines were lost.
    pub may_be_loss_of: Option<String>,
    /// Evidence: the line after the interval. For a call that returned, its first line.
    pub origin: Place,
}

/// In the shape of `schemas/blame.gaps.json`.
#[must_use]
pub fn gaps(all: &[analysis::Gap]) -> Gaps {
    let gap = |g: &analysis::Gap| Gap {
        start_ns: g.start.get(),
        end_ns: g.end.get(),
        gap_ns: (g.end - g.start).get(),
        before: g.before.clone(),
        after: g.after.clone(),
        may_be_loss_of: g.may_be_loss_of.clone(),
        origin: Place::from(&g.origin),
    };
    Gaps {
        schema: Gaps::SCHEMA,
        gaps: all.iter().map(gap).collect(),
    }
}
