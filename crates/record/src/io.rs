//! Block requests, and what came into the page cache.

use crate::clock::ClockId;
use crate::name::NameId;
use crate::source::Origin;
use crate::table::Row;
use crate::time::{Nanos, When};
use std::fmt;

/// A block device, or the device of a filesystem: as `stat` numbers it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Device {
    /// The major number.
    pub major: u32,
    /// The minor number.
    pub minor: u32,
}

/// As sysfs writes it: `8:52`.
impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}:{}", self.major, self.minor))
    }
}

/// What a request asks of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Data to memory.
    Read,
    /// Data to the device.
    Write,
    /// Data that is no longer needed (also secure erase, zone reset).
    Discard,
    /// What is in the device's cache to its medium; carries no data.
    Flush,
    /// Anything else, such as a command passed through.
    Other,
}

impl Operation {
    /// Every operation, in the order of output.
    pub const ALL: [Self; 5] = [
        Self::Read,
        Self::Write,
        Self::Discard,
        Self::Flush,
        Self::Other,
    ];

    /// The word used in every output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Discard => "discard",
            Self::Flush => "flush",
            Self::Other => "other",
        }
    }
}

/// One request to a block device, from being asked to being answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The device that was asked.
    pub device: Device,
    /// What it was asked.
    pub operation: Operation,
    /// Where it begins, in sectors of 512 bytes.
    pub sector: u64,
    /// How much, in bytes.
    pub bytes: u64,
    /// When it was queued; unknown if the trace does not say.
    pub queued: When,
    /// When the device got it, the first time.
    pub issued: When,
    /// When the device got it the last time, if it was issued again.
    pub reissued: When,
    /// When it was done.
    pub completed: When,
    /// How many others were merged into it.
    pub merged: u32,
    /// The kernel reads ahead: nobody waits for it yet.
    pub read_ahead: bool,
    /// It is a filesystem's own data.
    pub metadata: bool,
    /// Somebody waits for it.
    pub sync: bool,
    /// The error it ended with, as a negative number; 0 is success.
    pub error: i32,
    /// The process that asked.
    pub pid: Option<u32>,
    /// That process's name.
    pub task: Option<NameId>,
    /// The evidence: the first event of it.
    pub origin: Origin,
    /// The clock that its times are on.
    pub clock: ClockId,
}

impl Request {
    /// The first time that is known of it.
    #[must_use]
    pub fn first(&self) -> Option<Nanos> {
        let queued = self.queued.get().or(self.issued.get());
        queued.or(self.completed.get())
    }

    /// From the first issue to the completion, if both were seen.
    #[must_use]
    pub fn service(&self) -> Option<Nanos> {
        Some(self.completed.get()? - self.issued.get()?)
    }
}

impl Row for Request {
    /// They are large: so many take 100 MB.
    const MOST: usize = 1_000_000;

    fn map_times(&mut self, to: &dyn Fn(ClockId, Nanos) -> Nanos) {
        for t in [
            &mut self.queued,
            &mut self.issued,
            &mut self.reissued,
            &mut self.completed,
        ] {
            *t = t.get().map(|t| to(self.clock, t)).into();
        }
    }

    fn last(&self) -> Option<Nanos> {
        let done = self.completed.get().or(self.reissued.get());
        done.max(self.first())
    }

    fn key(&self) -> (Option<Nanos>, Origin) {
        (self.first(), self.origin)
    }
}

/// Sums over all requests of one operation, kept or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestTotals {
    /// How many.
    pub requests: u64,
    /// How much, in bytes.
    pub bytes: u64,
    /// How many were issued.
    pub issued: u64,
    /// How many were completed, with success or without.
    pub completed: u64,
    /// How many of these ended with an error.
    pub failed: u64,
    /// How many were seen both issued and completed.
    pub served: u64,
    /// The sum of the times from the first issue to completion of those.
    pub service: Nanos,
    /// The same from the last issue.
    pub service_from_last: Nanos,
}

impl RequestTotals {
    pub(crate) fn add(&mut self, r: &Request) {
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(r.bytes);
        self.issued += u64::from(r.issued.get().is_some());
        self.completed += u64::from(r.completed.get().is_some());
        self.failed += u64::from(r.error != 0);
        if let (Some(service), Some(done)) = (r.service(), r.completed.get()) {
            self.served += 1;
            self.service = self.service + service;
            let last = r.reissued.get().or(r.issued.get()).unwrap_or(done);
            self.service_from_last = self.service_from_last + (done - last);
        }
    }
}

/// How many events there were, and how much they were about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many.
    pub count: u64,
    /// How much, in bytes.
    pub bytes: u64,
}

impl Tally {
    fn and(self, other: Self) -> Self {
        Self {
            count: self.count.saturating_add(other.count),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

/// What a trace says was done with requests of one device and operation, event
/// by event. A request that is issued twice counts twice here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestEvents {
    /// Somebody asked.
    pub queued: Tally,
    /// What was asked became a part of a request that was there.
    pub merged: Tally,
    /// The device got it.
    pub issued: Tally,
    /// It was taken back, to be issued again.
    pub requeued: Tally,
    /// The device was done.
    pub completed: Tally,
}

impl RequestEvents {
    /// Both together.
    #[must_use]
    pub fn and(self, other: &Self) -> Self {
        Self {
            queued: self.queued.and(other.queued),
            merged: self.merged.and(other.merged),
            issued: self.issued.and(other.issued),
            requeued: self.requeued.and(other.requeued),
            completed: self.completed.and(other.completed),
        }
    }
}

/// How a piece of a file was needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessKind {
    /// The file was opened.
    Open,
    /// The file was looked for, and was not there.
    Miss,
    /// The piece came into the page cache.
    Fill,
    /// The piece was read or touched: it was needed.
    Touch,
    /// The piece was written.
    Write,
}

impl AccessKind {
    /// The word used in every output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Miss => "miss",
            Self::Fill => "fill",
            Self::Touch => "touch",
            Self::Write => "write",
        }
    }
}

/// A piece of a file that was needed, or that came into memory.
///
/// A trace names files by device and inode, a system-call trace by path: at
/// least one of the two is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// How it was needed.
    pub kind: AccessKind,
    /// The filesystem's device, where the trace says it.
    pub device: Option<Device>,
    /// The file's inode number, where the trace says it.
    pub inode: Option<u64>,
    /// The file's path, where the trace says it.
    pub path: Option<NameId>,
    /// Where the piece begins in the file, in bytes.
    pub offset: u64,
    /// How long it is, in bytes; 0 for an open.
    pub bytes: u64,
    /// When.
    pub at: Nanos,
    /// How long it took, where the source says it.
    pub took: When,
    /// The process that needed it.
    pub pid: Option<u32>,
    /// That process's name.
    pub task: Option<NameId>,
    /// The evidence.
    pub origin: Origin,
    /// The clock that its time is on.
    pub clock: ClockId,
}

impl Row for Access {
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
