//! Kinds of times that boots are compared by.

use crate::row::BlameKind;
use record::Phase;

/// What kind of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimeKind {
    /// First light, from the boot's zero.
    FirstLight,
    /// What systemd says of the whole start.
    Total,
    /// The length of a phase.
    Phase(Phase),
    /// A column of a table, by its place.
    Column(usize),
    /// How long after the start of its phase a milestone comes.
    Milestone,
    /// Processor time of all, in virtual time.
    Work,
    /// How long an item takes.
    Item(BlameKind),
    /// Processor time of an item, in virtual time.
    WorkOf(BlameKind),
    /// How long an item waited, in virtual time.
    WaitOf(BlameKind),
}

impl TimeKind {
    /// The word used in every output: `first_light`, `total`, `phase`, `column`,
    /// `milestone`, `work`, the kind of the item, or that with `_work` or `_wait`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FirstLight => "first_light",
            Self::Total => "total",
            Self::Phase(_) => "phase",
            Self::Column(_) => "column",
            Self::Milestone => "milestone",
            Self::Work => "work",
            Self::Item(kind) => kind.as_str(),
            Self::WorkOf(BlameKind::Unit) => "unit_work",
            Self::WorkOf(BlameKind::Process) => "process_work",
            Self::WorkOf(BlameKind::Initcall) => "initcall_work",
            // Nothing else has work of its own.
            Self::WorkOf(_) => "item_work",
            Self::WaitOf(BlameKind::Process) => "process_wait",
            Self::WaitOf(_) => "item_wait",
        }
    }

    /// Whether it is of an item, of which a boot has hundreds.
    #[must_use]
    pub const fn is_of_item(self) -> bool {
        matches!(self, Self::Item(_) | Self::WorkOf(_) | Self::WaitOf(_))
    }

    /// Whether it is processor time.
    #[must_use]
    pub const fn is_work(self) -> bool {
        matches!(self, Self::Work | Self::WorkOf(_))
    }

    /// Whether it is a wait.
    #[must_use]
    pub const fn is_wait(self) -> bool {
        matches!(self, Self::WaitOf(_))
    }

    /// Whether it is a part of an item's time: its processor time, or how long it waited.
    #[must_use]
    pub const fn is_part_of_item(self) -> bool {
        matches!(self, Self::WorkOf(_) | Self::WaitOf(_))
    }
}
