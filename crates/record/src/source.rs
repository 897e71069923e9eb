//! Sources, and places in them.

/// A source in one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(pub(crate) u16);

impl SourceId {
    /// Its place in [`crate::Record::sources`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What is known of a source, and the balance of what it read.
///
/// Conservation: `units == events + noted`, always.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceInfo {
    /// The file's name, or the capture member's.
    pub name: String,
    /// The format that read it: `kernel-log`, `serial`, ...
    pub format: &'static str,
    /// Lines or packets read.
    pub units: u64,
    /// Those that became events.
    pub events: u64,
    /// Those that are counted in notes instead.
    pub noted: u64,
}

/// Where a piece of evidence stands: a byte in a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// The source.
    pub source: SourceId,
    /// The byte at which the line or packet begins, in the source's file.
    pub offset: u64,
}
