//! What happens in a boot.

use crate::clock::ClockId;
use crate::name::NameId;
use crate::source::Origin;
use crate::time::Nanos;

/// A part of the boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// What ran before the kernel's clock, where only a counter saw it: firmware, loader,
    /// decompression and the start of the kernel together.
    BeforeKernelClock,
    /// Boot ROM, BIOS, UEFI, Trusted Firmware.
    Firmware,
    /// Boot loader.
    Loader,
    /// The kernel image unpacks itself.
    Decompression,
    /// The kernel.
    Kernel,
    /// Programs of the initramfs.
    Initrd,
    /// Programs of the root filesystem.
    Userspace,
    /// The application that the product is for.
    App,
}

impl Phase {
    /// Every phase, in order.
    pub const ALL: [Self; 8] = [
        Self::BeforeKernelClock,
        Self::Firmware,
        Self::Loader,
        Self::Decompression,
        Self::Kernel,
        Self::Initrd,
        Self::Userspace,
        Self::App,
    ];

    /// The word used in every output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BeforeKernelClock => "before-kernel-clock",
            Self::Firmware => "firmware",
            Self::Loader => "loader",
            Self::Decompression => "decompression",
            Self::Kernel => "kernel",
            Self::Initrd => "initrd",
            Self::Userspace => "userspace",
            Self::App => "app",
        }
    }
}

/// An instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Its name: one of [`crate::mark`], or the source's own (`U-Boot SPL`).
    pub name: NameId,
    /// When.
    pub at: Nanos,
    /// The phase that begins here, if one does.
    pub begins: Option<Phase>,
    /// The evidence.
    pub origin: Origin,
}

/// What kind of thing took time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SpanKind {
    /// A kernel or module initcall.
    Initcall,
    /// A driver probing a device.
    Probe,
    /// A systemd unit that starts: from activating to active.
    Unit,
    /// A process.
    Process,
    /// A file that was read.
    File,
    /// A part of firmware, a loader or cloud-init that they timed themselves.
    Stage,
}

impl SpanKind {
    /// Every kind, in the order of output.
    pub const ALL: [Self; 6] = [
        Self::Initcall,
        Self::Probe,
        Self::Unit,
        Self::Process,
        Self::File,
        Self::Stage,
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
        }
    }
}

/// Why a span's numbers should not be taken at face value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Doubt {
    /// Another call began meanwhile: the kernel's own duration is wrong.
    Overlap,
    /// Before the clock source switch the kernel's own duration moves in ticks.
    JiffyClock,
    /// Console output between the two stamps: the stamps' duration is too large.
    Console,
    /// The start was never seen.
    LostStart,
    /// The end was never seen.
    LostEnd,
    /// Stamps were zero: the clock did not run yet.
    ZeroClock,
    /// The clock stepped backwards within.
    BackwardStep,
    /// More than one open start fitted the end.
    Ambiguous,
    /// The line was torn or glued; the number was taken from what was left.
    Torn,
    /// The two numbers disagree, and nothing in the log says why.
    Disagree,
    /// The stamps move in ticks of the timer, and the kernel's own duration does not.
    TickClock,
}

impl Doubt {
    /// The word used in every output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Overlap => "overlap",
            Self::JiffyClock => "jiffy_clock",
            Self::Console => "console",
            Self::LostStart => "lost_start",
            Self::LostEnd => "lost_end",
            Self::ZeroClock => "zero_clock",
            Self::BackwardStep => "backward_step",
            Self::Ambiguous => "ambiguous",
            Self::Torn => "torn",
            Self::Disagree => "disagree",
            Self::TickClock => "tick_clock",
        }
    }

    /// One clause for the reader.
    #[must_use]
    pub const fn explain(self) -> &'static str {
        match self {
            Self::Overlap => {
                "another call started during this one, so the kernel's own number is wrong"
            }
            Self::JiffyClock => "before the clocksource switch the kernel measures in timer ticks",
            Self::Console => "console output between the time stamps makes the duration too long",
            Self::LostStart => "its start is not in the log",
            Self::LostEnd => "its end is not in the log",
            Self::ZeroClock => "the kernel clock was not running yet",
            Self::BackwardStep => "the clock stepped backward during it",
            Self::Ambiguous => "several open starts matched this end",
            Self::Torn => "the line is damaged",
            Self::Disagree => {
                "the kernel's number and the time stamps disagree, and the log does not show why"
            }
            Self::TickClock => {
                "the time stamps move in timer ticks, so the time is the kernel's own number"
            }
        }
    }
}

/// An interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// What kind of thing.
    pub kind: SpanKind,
    /// Which one: `ath11k_pci_init [ath11k_pci]`, a device, a unit.
    pub name: NameId,
    /// Where it ran, for drawing: `task 1`; `None` if the source does not say.
    pub track: Option<NameId>,
    /// When it began; `None` if the start was never seen.
    pub start: Option<Nanos>,
    /// When it ended; `None` if the end was never seen.
    pub end: Option<Nanos>,
    /// The duration that the source itself states, such as "after N usecs".
    pub reported: Option<Nanos>,
    /// What it returned: 0, or a (negative or positive) error number.
    pub outcome: Option<i32>,
    /// Processor time of all that belongs to it, up to the end of the recording, where the
    /// source says it: a unit's, of all its processes.
    pub processor: Option<Nanos>,
    /// Why the numbers should not be taken at face value.
    pub doubt: Option<Doubt>,
    /// The evidence: where it starts, or where it ends if the start was lost.
    pub origin: Origin,
    /// The clock that its times came from.
    pub(crate) clock: ClockId,
}

impl Span {
    /// End minus start, if both were seen.
    #[inline]
    #[must_use]
    pub fn wall(&self) -> Option<Nanos> {
        Some(self.end? - self.start?)
    }

    /// The clock that its times came from.
    #[inline]
    #[must_use]
    pub const fn clock(&self) -> ClockId {
        self.clock
    }

    /// The best duration there is: the stamps', else the reported one.
    #[inline]
    #[must_use]
    pub fn duration(&self) -> Option<Nanos> {
        match self.doubt {
            Some(Doubt::TickClock) => self.reported.or(self.wall()),
            _ => self.wall().or(self.reported),
        }
    }
}

/// A line of a log, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// When it was stamped; `None` if the line carries no time.
    pub at: Option<Nanos>,
    /// The syslog level (0 emergency to 7 debug), where the log says it.
    pub level: Option<u8>,
    /// The evidence.
    pub origin: Origin,
    /// The clock that its time came from.
    pub(crate) clock: ClockId,
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// How one unit depends on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DependencyKind {
    /// It is ordered after the other.
    After,
    /// It pulls the other in and fails without it.
    Requires,
    /// It pulls the other in.
    Wants,
}

/// `from` depends on `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// The one that waits.
    pub from: NameId,
    /// The one that is waited for.
    pub to: NameId,
    /// How.
    pub kind: DependencyKind,
    /// The evidence.
    pub origin: Origin,
}

/// Something that holds for the whole boot: `kernel.cmdline`, `machine`, ...
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What.
    pub key: NameId,
    /// Its value.
    pub value: NameId,
    /// The evidence.
    pub origin: Origin,
}
