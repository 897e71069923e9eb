//! What was asked of block devices, by whom, and how long it took.

mod depth;
mod failures;
mod figures;
mod files;
mod gathered;
mod latency;
mod names;
mod owners;
mod places;
mod processes;
mod seek;
mod timeline;

pub use depth::Depth;
pub use failures::IoFailure;
pub use files::IoFile;
pub use latency::Latency;
pub(crate) use names::Names;
pub use owners::{Owner, Owners, OwnersFrom};
pub use places::Sequence;
pub use processes::{IoProcess, ProcessOf};
pub use seek::{Seek, SeekDevice, SeekPoint, seek};
pub use timeline::IoStretch;

use crate::ledger::{Ledger, ledger};
use crate::place::Place;
use depth::Changes;
use figures::{carries_data, rounded};
use gathered::{Gathered, Times};
use record::{Clock, Device, Nanos, Operation, Record, Request, RequestEvents, RequestTotals};
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::thread::{self, ScopedJoinHandle};

/// What was asked of block devices in a boot.
#[derive(Clone, Debug, PartialEq)]
pub struct Io {
    /// The clock that times are on, if anything carries a time.
    pub clock: Option<Clock>,
    /// The name of the mark at time zero.
    pub zero: String,
    /// How many requests there were.
    pub requests: u64,
    /// How many of them the record holds, the first: what is not in
    /// [`Self::operations`] and [`Self::devices`] is of these.
    pub kept: u64,
    /// By operation, in the order of output; those that occur.
    pub operations: Vec<IoOperation>,
    /// By device, in the order of their numbers.
    pub devices: Vec<IoDevice>,
    /// From the first issue to completion, of requests that carry data.
    pub service: Latency,
    /// From being asked to the first issue, of requests that carry data.
    pub wait: Latency,
    /// From being asked to completion, of requests that carry data.
    pub whole: Latency,
    /// The mean of [`Self::service`] over all requests, kept or not.
    pub service_mean: Option<Nanos>,
    /// The same from the last issue, where a request was issued again.
    pub service_mean_from_last: Option<Nanos>,
    /// How many requests a device had at a time.
    pub depth: Depth,
    /// Whether a request began where the one before it ended.
    pub sequence: Sequence,
    /// Stretches of equal length, from the first request to the last.
    pub timeline: Vec<IoStretch>,
    /// What ended with an error, by device, operation and error.
    pub failures: Vec<IoFailure>,
    /// Who asked, most bytes first.
    pub processes: Vec<IoProcess>,
    /// Where the names of processes come from.
    pub process_of: ProcessOf,
    /// What files were needed, in the order of their first need.
    pub files: Vec<IoFile>,
    /// Whose what was asked of devices is, in the order of first need.
    pub owners: Vec<Owner>,
    /// How that was found.
    pub owners_from: OwnersFrom,
    /// Sources and notes.
    pub ledger: Ledger,
}

/// What was asked in one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoOperation {
    /// Which.
    pub operation: Operation,
    /// Sums over requests.
    pub totals: RequestTotals,
    /// What the trace says was done, event by event.
    pub events: RequestEvents,
    /// From the first issue to completion.
    pub service: Latency,
}

/// What was asked of one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoDevice {
    /// Which.
    pub device: Device,
    /// How many requests of it the record holds.
    pub requests: u64,
    /// What they moved to memory, in bytes.
    pub read_bytes: u64,
    /// What they moved to the device, in bytes.
    pub write_bytes: u64,
    /// From the first issue to completion, of requests that carry data.
    pub service: Latency,
    /// What the trace says was done, event by event, operations together.
    pub events: RequestEvents,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IoRequest {
    /// What is known of it.
    pub request: Request,
    /// The name of the process that asked.
    pub task: String,
    /// Whose it is; empty if that is not known.
    pub owner: String,
    /// The evidence.
    pub origin: Place,
}

impl Io {
    /// How many requests ended with an error.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.operations.iter().map(|o| o.totals.failed).sum()
    }

    /// How many requests of an operation there were, and how many bytes.
    #[must_use]
    pub fn total(&self, operation: Operation) -> RequestTotals {
        let of = self.operations.iter().find(|o| o.operation == operation);
        of.map(|o| o.totals).unwrap_or_default()
    }

    /// Whether nothing was asked of a device and no file was needed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requests == 0 && self.files.is_empty()
    }
}

/// What was asked of block devices; `owners` says whose it is, and `stretches`
/// is the number of parts of the timeline.
#[must_use]
pub fn io(record: &Record, owners: Option<&Owners>, stretches: usize) -> Io {
    let nobody = Owners::default();
    let owners = owners.unwrap_or(&nobody);
    let requests = record.requests();
    thread::scope(|scope| {
        // Each of them looks at every row, of which there may be a million.
        let places = scope.spawn(|| Sequence::of(requests));
        let files = scope.spawn(|| files::files(record, owners));
        let all = Gathered::of(requests);
        let times = all.times;
        let latencies = scope.spawn(move || Latencies::of(record, &times));
        let changes = Changes::of(all.came, all.left);
        let timeline = all.span.map_or_else(Vec::new, |span| {
            timeline::stretches(span, requests, &changes, stretches)
        });
        let (mut served, mut sum, mut sum_from_last) = (0_i64, Nanos::ZERO, Nanos::ZERO);
        for (operation, t) in record.request_totals() {
            if carries_data(operation) {
                served = served.saturating_add(i64::try_from(t.served).unwrap_or(i64::MAX));
                sum = sum + t.service;
                sum_from_last = sum_from_last + t.service_from_last;
            }
        }
        let mean = |sum: Nanos| (served > 0).then(|| Nanos(rounded(sum.get(), served)));
        let depth = Depth::of(&changes);
        let process_of = all.processes.of();
        let processes = all.processes.rows(record);
        let owned = owners.sums(record);
        let latencies = joined(latencies);
        Io {
            clock: record.clock().cloned(),
            zero: record.zero().to_owned(),
            requests: record.request_totals().map(|t| t.1.requests).sum(),
            kept: requests.len() as u64,
            operations: latencies.operations,
            devices: latencies.devices,
            service: latencies.service,
            wait: latencies.wait,
            whole: latencies.whole,
            service_mean: mean(sum),
            service_mean_from_last: mean(sum_from_last),
            depth,
            sequence: joined(places),
            timeline,
            failures: all.failures.rows(),
            process_of,
            processes,
            files: joined(files),
            owners: owned,
            owners_from: owners.from,
            ledger: ledger(record),
        }
    })
}

/// What a thread gives; its panic is ours.
fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// How long requests took: together, by operation, and by device.
struct Latencies {
    operations: Vec<IoOperation>,
    devices: Vec<IoDevice>,
    service: Latency,
    wait: Latency,
    whole: Latency,
}

impl Latencies {
    fn of(record: &Record, times: &Times) -> Self {
        let devices = devices(record, times);
        Self {
            operations: operations(record, times),
            // With one device, it is what all of them took.
            service: match devices.as_slice() {
                [one] => one.service,
                _ => Latency::of(&times.service(|_, operation| carries_data(operation))),
            },
            devices,
            wait: Latency::of(&[&times.wait]),
            whole: Latency::of(&[&times.whole]),
        }
    }
}

/// Every request that the record holds, by the first time that is known of it.
pub fn io_requests<'r>(
    record: &'r Record,
    owners: &'r Owners,
) -> impl Iterator<Item = IoRequest> + 'r {
    let requests = record.requests().iter().enumerate();
    requests.map(|(n, &request)| IoRequest {
        request,
        owner: owners.name(n).unwrap_or_default().to_owned(),
        task: request
            .task
            .map_or_else(String::new, |t| record.name(t).to_owned()),
        origin: Place::of(record, request.origin),
    })
}

fn operations(record: &Record, all: &Times) -> Vec<IoOperation> {
    let totals: BTreeMap<Operation, RequestTotals> = record.request_totals().collect();
    let mut events: BTreeMap<Operation, RequestEvents> = BTreeMap::new();
    for (_, operation, e) in record.request_events() {
        let sum = events.entry(operation).or_default();
        *sum = sum.and(e);
    }
    let one = |operation| IoOperation {
        operation,
        totals: totals.get(&operation).copied().unwrap_or_default(),
        events: events.get(&operation).copied().unwrap_or_default(),
        service: Latency::of(&all.service(|_, o| o == operation)),
    };
    let occurs = |o: &Operation| totals.contains_key(o) || events.contains_key(o);
    let operations = Operation::ALL.into_iter();
    operations.filter(occurs).map(one).collect()
}

fn devices(record: &Record, all: &Times) -> Vec<IoDevice> {
    let mut events: BTreeMap<Device, RequestEvents> = BTreeMap::new();
    for (device, _, e) in record.request_events() {
        let sum = events.entry(device).or_default();
        *sum = sum.and(e);
    }
    for (device, _) in all.kinds.keys() {
        events.entry(*device).or_default();
    }
    let bytes = |device, operation| all.kinds.get(&(device, operation)).map_or(0, |k| k.bytes);
    let one = |(device, events)| IoDevice {
        device,
        requests: {
            let of = all.kinds.iter().filter(|((d, _), _)| *d == device);
            of.map(|(_, k)| k.requests).sum()
        },
        read_bytes: bytes(device, Operation::Read),
        write_bytes: bytes(device, Operation::Write),
        service: Latency::of(&all.service(|d, o| d == device && carries_data(o))),
        events,
    };
    events.into_iter().map(one).collect()
}
