//! What is known of a hardware counter before the clocks are related.

use crate::clock::ClockId;
use crate::note::NoteKind;
use crate::source::Origin;
use std::collections::BTreeMap;

/// The name of the counter's clock.
pub const COUNTER: &str = "counter";

/// How fast a counter runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterRate {
    /// Ticks per second.
    pub hz: u64,
    /// By how much that may be off, in parts of a billion.
    pub error_ppb: u64,
}

/// A reading of the counter beside the kernel's clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterReading {
    /// What the counter read.
    pub ticks: u64,
    /// How fast it runs, if the reading says so.
    pub hz: Option<u64>,
    /// The stamp of the line that holds the reading, on its clock. It was taken right after
    /// the reading.
    pub stamp: Option<(ClockId, i64)>,
    /// What `CLOCK_MONOTONIC` read.
    pub monotonic_ns: i64,
    /// How long the machine had slept, in nanoseconds.
    pub slept_ns: u64,
    /// The readings were taken within this time.
    pub error_ns: u64,
    /// The evidence.
    pub origin: Origin,
}

/// How the clock of the kernel's log runs beside the raw scheduler clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelCourse {
    /// The log's clock.
    pub clock: ClockId,
    /// (stamp, raw), both rising. Before the first the two are equal.
    pub points: Vec<(i64, i64)>,
    /// How far a stamp is ahead from the last point on.
    pub ahead: i64,
    /// The bound between the points.
    pub error_ns: u64,
    /// The line that says so.
    pub origin: Origin,
}

/// When the clock of the kernel's log began, on a counter that ran before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelClockStart {
    /// How long the counter had run by then, in nanoseconds.
    pub after_ns: i64,
    /// By how much that may be off.
    pub error_ns: u64,
    /// The reading of both.
    pub origin: Origin,
}

/// Why a counter may not count from the reset that began this boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CounterDoubt {
    /// The machine slept before the counter was read.
    Suspended,
    /// Another kernel started this one, and the counter ran on.
    Kexec,
    /// A hypervisor decides what the counter reads.
    Hypervisor,
    /// The kernel found that the counter is not steady.
    Unstable,
    /// The counter started after the kernel's clock: it was set back.
    SetBack,
    /// The counter ran for longer than a boot takes.
    TooLong,
}

impl CounterDoubt {
    /// The reason as a clause.
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::Suspended => "the machine was suspended before the counter was read",
            Self::Kexec => "another kernel started this one with kexec",
            Self::Hypervisor => "a hypervisor may offset the counter of its guests",
            Self::Unstable => "the kernel marked the counter unstable",
            Self::SetBack => "the counter started after the kernel clock, so it was set back",
            Self::TooLong => "the counter had run for more than an hour when the kernel started",
        }
    }
}

/// What is known of the counter so far.
#[derive(Debug, Default)]
pub(crate) struct Counter {
    pub(crate) rate: Option<CounterRate>,
    /// By how much the kernel's own rate may have moved its stamps, in nanoseconds.
    pub(crate) drift_ns: u64,
    pub(crate) readings: Vec<CounterReading>,
    pub(crate) course: Option<(KernelCourse, CourseNotes)>,
    /// Whether the course was put between the stamps and the counter. Then the stamps of the
    /// kernel's first lines are the raw clock's.
    pub(crate) corrected: bool,
    pub(crate) doubts: BTreeMap<CounterDoubt, Origin>,
}

/// What the ledger says of a clock that gained or lost time: where a counter sets it right,
/// where none does, and how much it is.
pub type CourseNotes = Option<(&'static NoteKind, &'static NoteKind, String)>;
