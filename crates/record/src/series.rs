//! Periodic readings.

use crate::clock::ClockId;
use crate::name::NameId;
use crate::source::Origin;
use crate::time::Nanos;

/// What the values of a series count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// Thousandths of a whole: 1,000 is all processors busy.
    Permille,
    /// Bytes.
    Bytes,
    /// Bytes in a second.
    BytesPerSecond,
    /// Things.
    Count,
}

impl Unit {
    /// The word used in every output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Permille => "permille",
            Self::Bytes => "bytes",
            Self::BytesPerSecond => "bytes_per_second",
            Self::Count => "count",
        }
    }
}

/// The id of a series in one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeriesId(pub(crate) u32);

/// Readings of one thing over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// What was read: `cpu.user`, `disk.read`, `memory.free`.
    pub name: NameId,
    /// Of which one: `sda`, `cpu0`; `None` for the whole machine.
    pub of: Option<NameId>,
    /// What the values count.
    pub unit: Unit,
    /// The readings, by time.
    pub samples: Vec<Sample>,
    /// The evidence: where the series begins.
    pub origin: Origin,
    pub(crate) clock: ClockId,
}

/// One reading: a level at that time, or a rate since the reading before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When.
    pub at: Nanos,
    /// How much, in the series' unit.
    pub value: i64,
}
