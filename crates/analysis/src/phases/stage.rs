//! A part of a phase.

use record::Nanos;

/// A part of a phase: a loader that hands over to the next one, or a part of the kernel's
/// start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The name of the mark that begins it; of the kernel, what it does.
    pub name: String,
    /// When it began.
    pub start: Nanos,
    /// When the next stage, or the next phase, began.
    pub end: Nanos,
}
