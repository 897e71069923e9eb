//! What is simulated, and what comes of it.

use crate::page_cache::PAGE;

/// Pages of a file that are needed, one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// When, had everything before been there at once: nanoseconds.
    pub at_ns: u64,
    /// The place of the file among the files.
    pub file: usize,
    /// The first page.
    pub page: u64,
    /// How many pages.
    pub pages: u64,
    /// Who needs them: others work while it waits.
    pub program: u32,
    /// Whether a prefetcher knows of it.
    pub is_listed: bool,
}

/// Processor time that reading costs, on the one processor of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// For a request, in nanoseconds.
    pub request_ns: u64,
    /// For a page of it, in nanoseconds.
    pub page_ns: u64,
    /// Whether the lab's server plays the device: it answers as much earlier as it needs.
    pub is_served: bool,
}

impl Costs {
    /// What it costs in the lab, at 1 GIPS, as it was measured: a boot that reads 32 MB
    /// in 815 requests takes 129 ms more when it is served without delay
    /// (`docs/lab.md`), 0.55 us of it for each KiB.
    pub const LAB: Self = Self {
        request_ns: 137_000,
        page_ns: 2_200,
        is_served: true,
    };

    pub(super) const fn of(self, bytes: u64) -> u64 {
        self.request_ns + bytes / PAGE * self.page_ns
    }
}

/// How pieces come into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// When they are needed.
    Demand,
    /// A prefetcher reads them, by the rules of [`crate::prefetch`]; the program starts when
    /// its first reads are sent.
    Prefetch {
        /// The length of a window; 0: all is one.
        window_ns: u64,
        /// Holes in a file of up to so many bytes are read as well, and so much metadata
        /// that is needed later comes along.
        infill_bytes: u64,
    },
}

/// Something that a mount asks of the device, in the order in which it does. Places and
/// lengths are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountStep {
    /// A read that is waited for: where, and how many bytes.
    Read(u64, u64),
    /// A read that is asked for ahead of need.
    Ahead(u64, u64),
    /// Waits for the read from there, if it was asked for.
    Wait(u64),
    /// A write that is waited for: where, and how many bytes.
    Write(u64, u64),
    /// All writes to the medium; it is waited for.
    Flush,
}

/// How a root is mounted, before anything else of a boot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mount {
    /// What the mount does.
    pub steps: Vec<MountStep>,
    /// What is needed up to this time, in nanoseconds, is needed before a prefetcher can
    /// start: the mount's own blocks, and those by which the root becomes `/`.
    pub until_ns: u64,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Simulated {
    /// When the last piece that is needed is there, in nanoseconds.
    pub total_ns: u64,
    /// How much of that is waiting.
    pub stall_ns: u64,
    /// Requests to the device.
    pub requests: u64,
}
