//! The ledger: what was lost, doubtful or ignored.

use crate::source::{Origin, SourceId};

/// How much a note matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; no number suffers.
    Info,
    /// A number may be wrong.
    Doubt,
    /// Evidence is missing.
    DataLoss,
}

impl Severity {
    /// The word used in every output: `info`, `doubt` or `data_loss`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Doubt => "doubt",
            Self::DataLoss => "data_loss",
        }
    }
}

/// A kind of note: its name, how much it matters, and what to do about it.
///
/// Kinds are constants beside the code that notes them, so that a kind has
/// one severity and one piece of advice wherever it occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoteKind {
    /// In snake case, unique: `lost_initcall_end`.
    pub name: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// One sentence: what it means and what the user can do.
    pub advice: &'static str,
}

impl NoteKind {
    /// A kind of note, in the order of its fields.
    #[must_use]
    pub const fn new(name: &'static str, severity: Severity, advice: &'static str) -> Self {
        Self {
            name,
            severity,
            advice,
        }
    }
}

/// A kind of note as it occurred in one source, counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What was noted.
    pub kind: NoteKind,
    /// How often.
    pub count: u64,
    /// Where it came from; `None` for notes on the record as a whole.
    pub source: Option<SourceId>,
    /// The first place, where there is one.
    pub first: Option<Origin>,
    /// What is particular to the first occurrence, for the reader; may be empty.
    pub detail: String,
}
