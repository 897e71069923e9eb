//! What a unit waits for.

use record::{NameId, Nanos};

/// A unit, and those that it is ordered after.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    pub unit: NameId,
    /// Whether it begins with a process.
    pub has_processes: bool,
    pub start: Nanos,
    pub end: Nanos,
    pub after: Vec<NameId>,
}
