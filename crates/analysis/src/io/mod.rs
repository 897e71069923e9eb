//! What was asked of block devices, by whom, and how long it took.

mod depth;
mod files;
mod latency;
mod places;
mod processes;
mod timeline;

pub use depth::Depth;
pub use files::IoFile;
pub use latency::Latency;
pub use places::Sequence;
pub use processes::{IoProcess, ProcessOf};
pub use timeline::IoStretch;

use crate::ledger::{Ledger, ledger};
use crate::place::Place;
use record::{Clock, Device, Nanos, Operation, Record, Request, RequestEvents, RequestTotals};
use std::collections::BTreeMap;

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
    /// Who asked, most bytes first.
    pub processes: Vec<IoProcess>,
    /// Where the names of processes come from.
    pub process_of: ProcessOf,
    /// What files were needed, in the order of their first need.
    pub files: Vec<IoFile>,
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
    /// The evidence.
    pub origin: Place,
}

impl Io {
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

/// Whether a request carries data, to the device or from it, or says what
/// data is no longer needed. The others have no place on a device.
pub(crate) const fn carries_data(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::Read | Operation::Write | Operation::Discard
    )
}

/// What was asked of block devices; `stretches` is the number of parts of the
/// timeline.
#[must_use]
pub fn io(record: &Record, stretches: usize) -> Io {
    let requests = record.requests();
    let of_data = || requests.iter().filter(|r| carries_data(r.operation));
    let (mut served, mut service, mut from_last) = (0_i64, Nanos::ZERO, Nanos::ZERO);
    for (operation, t) in record.request_totals() {
        if carries_data(operation) {
            served = served.saturating_add(i64::try_from(t.served).unwrap_or(i64::MAX));
            service = service + t.service;
            from_last = from_last + t.service_from_last;
        }
    }
    let mean = |sum: Nanos| (served > 0).then(|| Nanos(rounded(sum.get(), served)));
    Io {
        clock: record.clock().cloned(),
        zero: record.zero().to_owned(),
        requests: record.request_totals().map(|t| t.1.requests).sum(),
        kept: requests.len() as u64,
        operations: operations(record),
        devices: devices(record),
        service: Latency::of(of_data().filter_map(Request::service)),
        wait: Latency::of(of_data().filter_map(|r| Some(r.issued? - r.queued?))),
        whole: Latency::of(of_data().filter_map(|r| Some(r.completed? - r.queued?))),
        service_mean: mean(service),
        service_mean_from_last: mean(from_last),
        depth: Depth::of(requests),
        sequence: Sequence::of(requests),
        timeline: timeline::stretches(requests, stretches),
        process_of: ProcessOf::of(requests),
        processes: processes::processes(record),
        files: files::files(record),
        ledger: ledger(record),
    }
}

/// Every request that the record holds, by the first time that is known of it.
pub fn io_requests(record: &Record) -> impl Iterator<Item = IoRequest> + '_ {
    record.requests().iter().map(|&request| IoRequest {
        request,
        task: request
            .task
            .map_or_else(String::new, |t| record.name(t).to_owned()),
        origin: Place::of(record, request.origin),
    })
}

/// A quotient, rounded to the nearest number.
pub(crate) fn rounded(sum: i64, count: i64) -> i64 {
    let count = i128::from(count.max(1));
    let quotient = (i128::from(sum) + count / 2).div_euclid(count);
    i64::try_from(quotient).unwrap_or(i64::MAX)
}

fn operations(record: &Record) -> Vec<IoOperation> {
    let totals: BTreeMap<Operation, RequestTotals> = record.request_totals().collect();
    let mut events: BTreeMap<Operation, RequestEvents> = BTreeMap::new();
    for (_, operation, e) in record.request_events() {
        let all = events.entry(operation).or_default();
        *all = all.and(e);
    }
    let one = |operation| {
        let of = record.requests().iter();
        let of = of.filter(|r| r.operation == operation);
        IoOperation {
            operation,
            totals: totals.get(&operation).copied().unwrap_or_default(),
            events: events.get(&operation).copied().unwrap_or_default(),
            service: Latency::of(of.filter_map(Request::service)),
        }
    };
    let occurs = |o: &Operation| totals.contains_key(o) || events.contains_key(o);
    let all = Operation::ALL.into_iter();
    all.filter(occurs).map(one).collect()
}

fn devices(record: &Record) -> Vec<IoDevice> {
    let mut requests: BTreeMap<Device, Vec<&Request>> = BTreeMap::new();
    let mut events: BTreeMap<Device, RequestEvents> = BTreeMap::new();
    for request in record.requests() {
        requests.entry(request.device).or_default().push(request);
    }
    for (device, _, e) in record.request_events() {
        let all = events.entry(device).or_default();
        *all = all.and(e);
        requests.entry(device).or_default();
    }
    let bytes = |of: &[&Request], operation| {
        let of = of.iter().filter(|r| r.operation == operation);
        of.fold(0_u64, |sum, r| sum.saturating_add(r.bytes))
    };
    let one = |(device, of): (Device, Vec<&Request>)| IoDevice {
        device,
        requests: of.len() as u64,
        read_bytes: bytes(&of, Operation::Read),
        write_bytes: bytes(&of, Operation::Write),
        service: {
            let data = of.iter().filter(|r| carries_data(r.operation));
            Latency::of(data.filter_map(|r| r.service()))
        },
        events: events.get(&device).copied().unwrap_or_default(),
    };
    requests.into_iter().map(one).collect()
}
