//! A row of a list of what took time.

use crate::place::Place;
use record::{Doubt, Nanos, SpanKind};

/// What kind of thing a row of [`Blame`](crate::Blame) is: a [`SpanKind`], or a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlameKind {
    /// A kernel or module initcall.
    Initcall,
    /// A driver probing a device.
    Probe,
    /// A systemd unit that starts.
    Unit,
    /// A process.
    Process,
    /// A file that was read.
    File,
    /// A part of firmware or a loader that they timed themselves.
    Stage,
    /// A part of the boot.
    Phase,
}

impl BlameKind {
    /// Every kind, in the order of output.
    pub const ALL: [Self; 7] = [
        Self::Initcall,
        Self::Probe,
        Self::Unit,
        Self::Process,
        Self::File,
        Self::Stage,
        Self::Phase,
    ];

    /// The word used in every output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Initcall => "initcall",
            Self::Probe => "probe",
            Self::Unit => "unit",
            Self::Process => "process",
            Self::File => "file",
            Self::Stage => "stage",
            Self::Phase => "phase",
        }
    }

    /// The kind of this word.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|k| k.as_str() == word)
    }
}

impl From<SpanKind> for BlameKind {
    fn from(kind: SpanKind) -> Self {
        match kind {
            SpanKind::Initcall => Self::Initcall,
            SpanKind::Probe => Self::Probe,
            SpanKind::Unit => Self::Unit,
            SpanKind::Process => Self::Process,
            SpanKind::File => Self::File,
            SpanKind::Stage => Self::Stage,
        }
    }
}

/// Something that took time. A row has the fields of a [`Span`](record::Span), with names
/// and places resolved, so that it outlives the record; phases and processes have none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlameRow {
    /// What kind of thing.
    pub kind: BlameKind,
    /// Which one.
    pub name: String,
    /// When it began; `None` if its start was never seen.
    pub start: Option<Nanos>,
    /// When it ended; `None` if its end was never seen.
    pub end: Option<Nanos>,
    /// End minus start, by the stamps.
    pub wall: Option<Nanos>,
    /// The duration that the source itself states.
    pub reported: Option<Nanos>,
    /// Why the numbers should not be taken at face value.
    pub doubt: Option<Doubt>,
    /// What it returned: 0, or an error number.
    pub outcome: Option<i32>,
    /// The id on the target of a process, or of the task that ran an initcall or a
    /// probe, where a source says it.
    pub pid: Option<u32>,
    /// The name of the process that forked a process, where a source says it.
    pub parent: Option<String>,
    /// Processor time that a process used, where a source says it.
    pub cpu: Option<Nanos>,
    /// The evidence.
    pub origin: Place,
}

impl BlameRow {
    /// A row of which nothing but its begin and its end is known.
    pub(crate) fn between(
        kind: BlameKind,
        name: String,
        (start, end): (Nanos, Nanos),
        origin: Place,
    ) -> Self {
        Self {
            kind,
            name,
            start: Some(start),
            end: Some(end),
            wall: Some(end - start),
            reported: None,
            doubt: None,
            outcome: None,
            pid: None,
            parent: None,
            cpu: None,
            origin,
        }
    }

    /// The best duration there is: the stamps', else the reported one.
    #[must_use]
    pub fn duration(&self) -> Option<Nanos> {
        match self.doubt {
            Some(Doubt::TickClock) => self.reported.or(self.wall),
            _ => self.wall.or(self.reported),
        }
    }
}
