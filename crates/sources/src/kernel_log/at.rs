//! An instant in a source.

use record::{ClockId, Origin, Phase, Recorder};

/// An instant in a source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    /// The clock of the stamp.
    pub clock: ClockId,
    /// The stamp.
    pub ns: i64,
    /// The line.
    pub origin: Origin,
}

impl At {
    /// Marks it.
    pub(super) fn mark(self, recorder: &mut Recorder, name: &str, begins: Option<Phase>) {
        recorder.mark(self.clock, name, self.ns, begins, self.origin);
    }
}
