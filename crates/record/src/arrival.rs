//! Lines of a console as they arrived.

use crate::clock::ClockId;
use crate::source::Origin;
use crate::table::Row;
use crate::time::Nanos;

/// A line of a console as it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When its first character arrived.
    pub first: Nanos,
    /// When its last character arrived; `None` if the host did not say.
    pub last: Option<Nanos>,
    /// When the kernel stamped it, if the line carries its stamp.
    pub stamped: Option<Nanos>,
    /// How many bytes it took on the wire, the line end included.
    pub bytes: u32,
    /// The evidence.
    pub origin: Origin,
    pub(crate) clock: ClockId,
    pub(crate) kernel_clock: ClockId,
}

impl Row for Arrival {
    fn map_times(&mut self, to: &dyn Fn(ClockId, Nanos) -> Nanos) {
        self.first = to(self.clock, self.first);
        self.last = self.last.map(|t| to(self.clock, t));
        self.stamped = self.stamped.map(|t| to(self.kernel_clock, t));
    }

    fn last(&self) -> Option<Nanos> {
        Some(self.last.unwrap_or(self.first))
    }

    fn key(&self) -> (Option<Nanos>, Origin) {
        (Some(self.first), self.origin)
    }
}
