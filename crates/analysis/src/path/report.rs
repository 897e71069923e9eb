//! What is told of the critical path.

use crate::place::Place;
use crate::summary::is_deferral;
use record::{Nanos, Span, SpanKind};

/// What kind of thing an item of the path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathKind {
    /// A part of the boot of which no more is known.
    Phase,
    /// An initcall of the kernel's own sequence.
    Initcall,
    /// A driver that took a device.
    Probe,
    /// A driver that tried a device in vain, because what it needs was not there yet.
    Deferral,
    /// What the kernel did between two calls, or before or after all of them.
    Kernel,
    /// A systemd unit.
    Unit,
    /// A process that ran.
    Process,
    /// A process that waited for storage.
    Io,
    /// Time that nobody is known to have used: a queue, a device, a timer.
    Wait,
}

impl PathKind {
    /// What a call of a module or a driver is on the path; `None` for other spans.
    pub(super) fn of_call(span: &Span) -> Option<Self> {
        match span.kind {
            SpanKind::Initcall => Some(Self::Initcall),
            SpanKind::Probe if is_deferral(span) => Some(Self::Deferral),
            SpanKind::Probe => Some(Self::Probe),
            _ => None,
        }
    }

    /// The word used in every output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Phase => "phase",
            Self::Initcall => "initcall",
            Self::Probe => "probe",
            Self::Deferral => "deferral",
            Self::Kernel => "kernel",
            Self::Unit => "unit",
            Self::Process => "process",
            Self::Io => "io",
            Self::Wait => "wait",
        }
    }
}

/// How the order of units is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnitOrder {
    /// No units are on the path.
    #[default]
    None,
    /// The input has units without their order. They stand as systemd's own units usually
    /// do, or after the one that ended as they began.
    Guessed,
    /// A critical chain: of each unit the last one that it waited for.
    Chain,
    /// All that each unit is ordered after.
    Known,
}

impl UnitOrder {
    /// The word used in every output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Guessed => "guessed",
            Self::Chain => "chain",
            Self::Known => "known",
        }
    }
}

/// Something that first light waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathItem {
    /// What kind of thing.
    pub kind: PathKind,
    /// Which one.
    pub name: String,
    /// When it began.
    pub start: Nanos,
    /// When it ended.
    pub end: Nanos,
    /// How much longer it could take without delaying first light: zero on the
    /// path, but for what the stamps cannot tell.
    pub slack: Nanos,
    /// How much earlier first light would come if it took half its time, all
    /// else being equal: less than half its time where another way is nearly
    /// as long.
    pub saving_if_halved: Nanos,
    /// The evidence, if it has a place of its own.
    pub origin: Option<Place>,
    /// The initcall that it is a piece of, or that did the probe; `None` for what no
    /// initcall is known to have done.
    pub call: Option<String>,
}

/// A program, and what it would bring to have it take half its time. It is more
/// than its items on the path say where it takes the processor from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathProgram {
    /// Its name.
    pub name: String,
    /// How many processes of that name there were.
    pub processes: usize,
    /// What they worked, and waited for nobody who is known, such as a timer.
    pub time: Nanos,
    /// How much earlier first light would come if that were half.
    pub saving_if_halved: Nanos,
}

/// What first light waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CriticalPath {
    /// The name of the mark at time zero.
    pub zero: String,
    /// What ended the boot.
    pub mark: String,
    /// When that was.
    pub end: Nanos,
    /// The items in order. Each begins where the one before it ended.
    pub items: Vec<PathItem>,
    /// What it would bring to have programs take half their time, on the path or
    /// beside it: the most first. Empty where the boot cannot be played again.
    pub programs: Vec<PathProgram>,
    /// What is known of units and their order.
    pub order: UnitOrder,
    /// Whether units and their order are known.
    pub knows_units: bool,
    /// Whether the userspace is told process by process.
    pub knows_processes: bool,
}
