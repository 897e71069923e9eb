//! What was lost, doubtful or ignored, and the balance of every source.

mod contradictions;
mod note;

pub use note::LedgerNote;

use crate::place::Place;
use contradictions::contradictions;
use record::Record;

/// The balance of one source: `units == events + noted`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceBalance {
    /// The file's name, or the capture member's.
    pub name: String,
    /// The format that read it.
    pub format: String,
    /// Lines or packets read.
    pub units: u64,
    /// Those that became events.
    pub events: u64,
    /// Those that are counted in notes instead.
    pub noted: u64,
}

/// Sources and notes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Every source, in the order they were read.
    pub sources: Vec<SourceBalance>,
    /// Every note: what contradicts itself first, then data loss, then doubts, then what is
    /// worth knowing.
    pub notes: Vec<LedgerNote>,
}

impl Ledger {
    /// The same with one note of each kind: of a format of many files, each of
    /// them would say the same. The first place, and what is said of it, stays.
    #[must_use]
    pub fn by_kind(mut self) -> Self {
        let mut notes: Vec<LedgerNote> = Vec::new();
        for note in self.notes {
            match notes.iter_mut().find(|n| n.kind == note.kind) {
                Some(known) => known.count = known.count.saturating_add(note.count),
                None => notes.push(note),
            }
        }
        self.notes = notes;
        self
    }
}

/// Sources and notes of a record.
#[must_use]
pub fn ledger(record: &Record) -> Ledger {
    let sources = record.sources().iter().map(|s| SourceBalance {
        name: s.name.clone(),
        format: s.format.to_owned(),
        units: s.units,
        events: s.events,
        noted: s.noted,
    });
    let notes = record.notes().iter().map(|n| LedgerNote {
        severity: n.kind.severity,
        kind: n.kind.name.to_owned(),
        count: n.count,
        advice: n.kind.advice.to_owned(),
        detail: n.detail.clone(),
        first: n.first.map(|origin| Place::of(record, origin)),
    });
    Ledger {
        sources: sources.collect(),
        notes: contradictions(record).into_iter().chain(notes).collect(),
    }
}
