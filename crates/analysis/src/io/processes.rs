//! Who asked.

use super::figures::{carries_data, rounded};
use hashbrown::HashMap;
use record::{NameId, Nanos, Operation, Record, Request};

/// Where the process of a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessOf {
    /// From when it was queued: it is who asked.
    Queue,
    /// From when it was issued: often a thread of the kernel that works for
    /// others.
    Issue,
    /// Some so, some so.
    Both,
}

impl ProcessOf {
    /// The word used in every output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Issue => "issue",
            Self::Both => "both",
        }
    }
}

/// What one process asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IoProcess {
    /// Its name; empty if that was never said.
    pub name: String,
    /// Its id, if that was said.
    pub pid: Option<u32>,
    /// How many requests.
    pub requests: u64,
    /// How many reads.
    pub reads: u64,
    /// How many writes.
    pub writes: u64,
    /// What it read, in bytes.
    pub read_bytes: u64,
    /// What it wrote, in bytes.
    pub write_bytes: u64,
    /// From the first issue to completion, the mean of requests that carry
    /// data.
    pub service_mean: Option<Nanos>,
    /// The sum of it: how long devices worked for it, if one after the other.
    pub service_sum: Nanos,
    /// When it asked first.
    pub first: Option<Nanos>,
}

/// Sums by process.
#[derive(Debug, Default)]
pub(super) struct Processes {
    all: HashMap<(Option<u32>, Option<NameId>), Sums>,
    /// How many requests were seen to be queued, and how many were not.
    queued: u64,
    not_queued: u64,
}

#[derive(Debug, Default)]
struct Sums {
    requests: u64,
    reads: u64,
    writes: u64,
    read_bytes: u64,
    write_bytes: u64,
    served: i64,
    service: Nanos,
    first: Option<Nanos>,
}

impl Processes {
    pub(super) fn add(&mut self, r: &Request) {
        match r.queued.get() {
            Some(_) => self.queued += 1,
            None => self.not_queued += 1,
        }
        let sums = self.all.entry((r.pid, r.task)).or_default();
        if sums.requests == 0 {
            // Requests come in the order of their first times.
            sums.first = r.first();
        }
        sums.requests += 1;
        match r.operation {
            Operation::Read => {
                sums.reads += 1;
                sums.read_bytes = sums.read_bytes.saturating_add(r.bytes);
            }
            Operation::Write => {
                sums.writes += 1;
                sums.write_bytes = sums.write_bytes.saturating_add(r.bytes);
            }
            Operation::Discard | Operation::Flush | Operation::Other => {}
        }
        if let Some(service) = r.service()
            && carries_data(r.operation)
        {
            sums.served += 1;
            sums.service = sums.service + service;
        }
    }

    pub(super) fn of(&self) -> ProcessOf {
        match (self.queued, self.not_queued) {
            (0, _) => ProcessOf::Issue,
            (_, 0) => ProcessOf::Queue,
            _ => ProcessOf::Both,
        }
    }

    /// Who asked, most bytes first.
    pub(super) fn rows(self, record: &Record) -> Vec<IoProcess> {
        let row = |((pid, task), s): ((Option<u32>, Option<NameId>), Sums)| IoProcess {
            name: task.map_or_else(String::new, |t| record.name(t).to_owned()),
            pid,
            requests: s.requests,
            reads: s.reads,
            writes: s.writes,
            read_bytes: s.read_bytes,
            write_bytes: s.write_bytes,
            service_mean: (s.served > 0).then(|| Nanos(rounded(s.service.get(), s.served))),
            service_sum: s.service,
            first: s.first,
        };
        let mut all: Vec<_> = self.all.into_iter().collect();
        // Not in the order of a hash.
        all.sort_unstable_by_key(|p| p.0);
        let mut rows: Vec<IoProcess> = all.into_iter().map(row).collect();
        let bytes = |p: &IoProcess| p.read_bytes.saturating_add(p.write_bytes);
        rows.sort_by(|a, b| {
            (bytes(b), b.requests)
                .cmp(&(bytes(a), a.requests))
                .then_with(|| (&a.name, a.pid).cmp(&(&b.name, b.pid)))
        });
        rows
    }
}
