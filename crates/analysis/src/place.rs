//! Where a piece of evidence stands, by name.

use record::{Origin, Record};

/// A byte in a source: what leads from a number back to its evidence.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The source's name.
    pub source: String,
    /// The byte at which the line or packet begins, in the source's file.
    pub offset: u64,
}

impl Place {
    pub(crate) fn of(record: &Record, origin: Origin) -> Self {
        Self {
            source: record
                .source(origin.source)
                .map_or_else(String::new, |s| s.name.clone()),
            offset: origin.offset,
        }
    }
}
