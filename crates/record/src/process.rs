//! Processes: their lives, what they did when, and who woke whom.

use crate::clock::ClockId;
use crate::name::NameId;
use crate::source::Origin;
use crate::table::Row;
use crate::time::Nanos;

/// A process, or a thread where the source tells them apart.
///
/// A process that execs stays one process, under its last name. A process id
/// that is used again is another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id on the target.
    pub pid: u32,
    /// The id of the process that forked it, where the source says it.
    pub parent: Option<u32>,
    /// Its name, as the kernel has it: at most 15 bytes.
    pub name: NameId,
    /// Its command line, where the source says it.
    pub command: Option<NameId>,
    /// When it was forked; `None` if it was there before, or that was not seen.
    pub start: Option<Nanos>,
    /// When it exited; `None` if it lived on, or that was not seen.
    pub end: Option<Nanos>,
    /// The first time that it was seen.
    pub first_seen: Nanos,
    /// The last time that it was seen.
    pub last_seen: Nanos,
    /// Processor time in programs, where the source says it; all of it, where
    /// the source does not say what part of it was in the kernel.
    pub user: Option<Nanos>,
    /// Processor time in the kernel, where the source says it.
    pub system: Option<Nanos>,
    /// It is a thread of the kernel.
    pub kernel_thread: bool,
    /// What it exited with; the signal that killed it is negative.
    pub exit: Option<i32>,
    /// The evidence: the first event of it.
    pub origin: Origin,
    /// The clock that its times are on.
    pub clock: ClockId,
}

impl Row for Process {
    fn map_times(&mut self, to: &dyn Fn(ClockId, Nanos) -> Nanos) {
        self.start = self.start.map(|t| to(self.clock, t));
        self.end = self.end.map(|t| to(self.clock, t));
        self.first_seen = to(self.clock, self.first_seen);
        self.last_seen = to(self.clock, self.last_seen);
    }

    fn last(&self) -> Option<Nanos> {
        Some(self.last_seen)
    }

    fn key(&self) -> (Option<Nanos>, Origin) {
        (Some(self.start.unwrap_or(self.first_seen)), self.origin)
    }
}

/// What a process is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TaskState {
    /// It is on a processor.
    Running,
    /// It could run, and waits for a processor.
    Runnable,
    /// It waits where signals do not reach it: mostly for storage.
    Blocked,
    /// It waits for an event.
    Sleeping,
    /// It has exited, and its parent has not yet taken note.
    Zombie,
    /// It is stopped or traced.
    Stopped,
}

impl TaskState {
    /// The word used in every output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Runnable => "runnable",
            Self::Blocked => "blocked",
            Self::Sleeping => "sleeping",
            Self::Zombie => "zombie",
            Self::Stopped => "stopped",
        }
    }
}

/// A stretch of time in which a process did one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Which process.
    pub pid: u32,
    /// What it did. Of a sampled stretch: what it did when it was looked at.
    pub state: TaskState,
    /// When the stretch began.
    pub start: Nanos,
    /// When it ended.
    pub end: Nanos,
    /// Processor time within, if that is not the whole of a running stretch.
    pub busy: Option<Nanos>,
    /// On which processor, where the source says it.
    pub cpu: Option<u32>,
    /// The evidence.
    pub origin: Origin,
    /// The clock that its times are on.
    pub clock: ClockId,
}

/// A stretch of time that has begun and not yet ended, in a recorder's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenSlice(pub(crate) usize);

impl Row for Slice {
    fn map_times(&mut self, to: &dyn Fn(ClockId, Nanos) -> Nanos) {
        self.start = to(self.clock, self.start);
        self.end = to(self.clock, self.end);
    }

    fn last(&self) -> Option<Nanos> {
        Some(self.end)
    }

    fn key(&self) -> (Option<Nanos>, Origin) {
        (Some(self.start), self.origin)
    }
}

/// One process made another runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// When.
    pub at: Nanos,
    /// Who was running: 0 is an interrupt, where the source tells it, or one on an
    /// idle processor.
    pub by: u32,
    /// Who became runnable.
    pub pid: u32,
    /// The evidence.
    pub origin: Origin,
    /// The clock that its time is on.
    pub clock: ClockId,
}

impl Row for Wake {
    fn map_times(&mut self, to: &dyn Fn(ClockId, Nanos) -> Nanos) {
        self.at = to(self.clock, self.at);
    }

    fn last(&self) -> Option<Nanos> {
        Some(self.at)
    }

    fn key(&self) -> (Option<Nanos>, Origin) {
        (Some(self.at), self.origin)
    }
}
