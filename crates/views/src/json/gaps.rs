//! `firstlight.blame.gaps/1`.

use super::Place;
use serde::Serialize;

/// The longest times between one line of the logs and the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gaps {
    /// `firstlight.blame.gaps/1`.
    pub schema: &'static str,
    /// The longest first.
    pub gaps: Vec<Gap>,
}

/// A time in which no log had a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// When the line before it came.
    pub start_ns: i64,
    /// When the line behind it came.
    pub end_ns: i64,
    /// How long it was.
    pub gap_ns: i64,
    /// The line before it, in words.
    pub before: String,
    /// The line behind it, in words.
    pub after: String,
    /// The log whose lines may have been lost in it; `None` if it is sure to be a silence.
    pub may_be_loss_of: Option<String>,
    /// The evidence: the line behind it, or of a call that returned, its first one.
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
        schema: "firstlight.blame.gaps/1",
        gaps: all.iter().map(gap).collect(),
    }
}
