//! Who asked.

use super::{carries_data, rounded};
use record::{NameId, Nanos, Operation, Record, Request};
use std::collections::BTreeMap;

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

    pub(super) fn of(requests: &[Request]) -> Self {
        let queued = requests.iter().filter(|r| r.queued.is_some()).count();
        match queued {
            0 => Self::Issue,
            n if n == requests.len() => Self::Queue,
            _ => Self::Both,
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

/// Who asked, most bytes first.
pub(super) fn processes(record: &Record) -> Vec<IoProcess> {
    #[derive(Default)]
    struct Sums {
        served: i64,
        row: Option<IoProcess>,
    }
    let mut all: BTreeMap<(Option<u32>, Option<NameId>), Sums> = BTreeMap::new();
    for r in record.requests() {
        let sums = all.entry((r.pid, r.task)).or_default();
        let row = sums.row.get_or_insert_with(|| IoProcess {
            name: r
                .task
                .map_or_else(String::new, |t| record.name(t).to_owned()),
            pid: r.pid,
            requests: 0,
            reads: 0,
            writes: 0,
            read_bytes: 0,
            write_bytes: 0,
            service_mean: None,
            service_sum: Nanos::ZERO,
            first: r.first(),
        });
        row.requests += 1;
        match r.operation {
            Operation::Read => {
                row.reads += 1;
                row.read_bytes = row.read_bytes.saturating_add(r.bytes);
            }
            Operation::Write => {
                row.writes += 1;
                row.write_bytes = row.write_bytes.saturating_add(r.bytes);
            }
            Operation::Discard | Operation::Flush | Operation::Other => {}
        }
        if let Some(service) = r.service()
            && carries_data(r.operation)
        {
            sums.served += 1;
            row.service_sum = row.service_sum + service;
        }
    }
    let mut rows: Vec<IoProcess> = all
        .into_values()
        .filter_map(|s| {
            let mut row = s.row?;
            let sum = row.service_sum.get();
            row.service_mean = (s.served > 0).then(|| Nanos(rounded(sum, s.served)));
            Some(row)
        })
        .collect();
    let bytes = |p: &IoProcess| p.read_bytes.saturating_add(p.write_bytes);
    rows.sort_by(|a, b| {
        (bytes(b), b.requests)
            .cmp(&(bytes(a), a.requests))
            .then_with(|| (&a.name, a.pid).cmp(&(&b.name, b.pid)))
    });
    rows
}
