//! `firstlight.io/1`.

use super::document::Document;
use super::show::{ShowNote, ShowSource};
use super::values::{CLOCKS, DEVICE, OPERATIONS};
use analysis::Latency;
use record::{Nanos, Operation, RequestEvents, Tally};
use schemars::JsonSchema;
use serde::Serialize;

/// Block I/O of a boot. A request counts once, even if it was dispatched several times.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Io {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Kind of clock; null if no event has a time.
    #[schemars(extend("enum" = CLOCKS))]
    pub clock: Option<&'static str>,
    /// Name of the mark at time zero.
    pub zero: String,
    /// Number of requests of all operations.
    pub requests: u64,
    /// Number of reads.
    pub reads: u64,
    /// Number of writes, without discards and flushes.
    pub writes: u64,
    /// Number of discards.
    pub discards: u64,
    /// Number of flushes.
    pub flushes: u64,
    /// Number of other requests.
    pub others: u64,
    /// Number of failed requests.
    pub failed: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Bytes discarded.
    pub discard_bytes: u64,
    /// Mean time from first dispatch to completion of reads, writes and discards; null if the
    /// input shows no such time.
    pub dispatch_to_complete_mean_ns: Option<i64>,
    /// The same mean from the last dispatch, for requests that were dispatched again.
    pub dispatch_to_complete_mean_from_last_ns: Option<i64>,
    /// Number of requests kept in memory, from the first on. All following values are of these
    /// requests.
    pub requests_kept: u64,
    /// Times from first dispatch to completion.
    pub dispatch_to_complete: IoLatency,
    /// Times from queuing to first dispatch.
    pub queue_to_dispatch: IoLatency,
    /// Times from queuing to completion.
    pub queue_to_complete: IoLatency,
    /// Queue depth of the devices.
    pub depth: IoDepth,
    /// How sequential the requests were.
    pub sequence: IoSequence,
    /// Totals by operation.
    pub operations: Vec<IoOperation>,
    /// Totals by device.
    pub devices: Vec<IoDevice>,
    /// Failed requests, by device, operation and error.
    pub failures: Vec<IoFailure>,
    /// Totals by process, the most bytes first.
    pub processes: Vec<IoProcess>,
    /// Whether a process queued a request, issued it to the device, or both occur.
    #[schemars(extend("enum" = ["queue", "issue", "both"]))]
    pub processes_from: &'static str,
    /// Files that were needed, in order of first need.
    pub files: Vec<IoFile>,
    /// Files and file system structures that requests belong to.
    pub owners: IoOwners,
    /// Intervals of equal length.
    pub timeline: Vec<IoStretch>,
    /// Accounting of every input.
    pub sources: Vec<ShowSource>,
    /// Data that was lost, is uncertain or was ignored.
    pub notes: Vec<ShowNote>,
}

impl Document for Io {
    const SCHEMA: &'static str = "firstlight.io/1";
    const TITLE: &'static str = "Output of `firstlight io --json`";
}

/// Distribution of a latency; null where there is no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct IoLatency {
    /// Number of values.
    pub count: u64,
    /// Mean.
    pub mean_ns: Option<i64>,
    /// Minimum.
    pub min_ns: Option<i64>,
    /// Median.
    pub median_ns: Option<i64>,
    /// 90th percentile.
    pub p90_ns: Option<i64>,
    /// 99th percentile.
    pub p99_ns: Option<i64>,
    /// 99.9th percentile.
    pub p999_ns: Option<i64>,
    /// Maximum.
    pub max_ns: Option<i64>,
}

/// Queue depth of the devices.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct IoDepth {
    /// Greatest queue depth.
    pub max: u64,
    /// Mean queue depth while there was at least one request.
    #[schemars(range(min = 0))]
    pub mean: f64,
    /// Time with at least one request.
    #[schemars(range(min = 0))]
    pub busy_ns: i64,
}

/// How sequential the requests of a device were.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct IoSequence {
    /// Number of requests that came after another one on the same device.
    pub followed: u64,
    /// Number of them that started where the previous request ended.
    pub sequential: u64,
    /// Number of them that started before the end of the previous request.
    pub backward: u64,
    /// Median distance of the non-sequential requests from the end of the previous one.
    pub median_distance_bytes: u64,
    /// Mean of that distance.
    pub mean_distance_bytes: u64,
}

/// Totals of one operation.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct IoOperation {
    /// Operation.
    #[schemars(extend("enum" = OPERATIONS))]
    pub operation: &'static str,
    /// Number of requests.
    pub requests: u64,
    /// Bytes requested.
    pub bytes: u64,
    /// Number of failed requests.
    pub failed: u64,
    /// What the trace says was done, event by event.
    #[serde(flatten)]
    pub events: IoEvents,
    /// Times from first dispatch to completion.
    pub dispatch_to_complete: IoLatency,
}

/// Events in the trace. A request that is dispatched twice counts twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct IoEvents {
    /// Number of queued requests.
    pub queued: u64,
    /// Bytes of queued requests.
    pub queued_bytes: u64,
    /// Number of requests merged into existing ones.
    pub merged: u64,
    /// Bytes of merged requests.
    pub merged_bytes: u64,
    /// Number of dispatches to the device.
    pub dispatched: u64,
    /// Bytes of these dispatches.
    pub dispatched_bytes: u64,
    /// Number of times a request was requeued.
    pub requeued: u64,
    /// Bytes of requeued requests.
    pub requeued_bytes: u64,
    /// Number of completions, of whole requests or of parts.
    pub completed: u64,
    /// Bytes of these completions.
    pub completed_bytes: u64,
}

/// Requests that failed with the same error.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct IoFailure {
    /// Device number: `8:52`.
    #[schemars(regex(pattern = DEVICE))]
    pub device: String,
    /// Operation.
    #[schemars(extend("enum" = OPERATIONS))]
    pub operation: &'static str,
    /// Error in the trace, normally a negative error number.
    pub error: i32,
    /// Meaning of the error; null if the block layer does not define this number.
    pub meaning: Option<&'static str>,
    /// Number of requests.
    #[schemars(range(min = 1))]
    pub requests: u64,
    /// Bytes requested.
    pub bytes: u64,
    /// End of the first failed request.
    pub first_ns: Option<i64>,
}

/// Totals of one device.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct IoDevice {
    /// Device number: `8:52`.
    #[schemars(regex(pattern = DEVICE))]
    pub device: String,
    /// Number of requests kept in memory.
    pub requests: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// What the trace says was done, event by event, operations together.
    #[serde(flatten)]
    pub events: IoEvents,
    /// Times from first dispatch to completion.
    pub dispatch_to_complete: IoLatency,
}

/// Totals of one process.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct IoProcess {
    /// Name of the process; null if unknown.
    pub name: Option<String>,
    /// Process ID; null if unknown.
    pub pid: Option<u32>,
    /// Number of requests.
    pub requests: u64,
    /// Number of reads.
    pub reads: u64,
    /// Number of writes.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Mean time from first dispatch to completion.
    pub dispatch_to_complete_mean_ns: Option<i64>,
    /// Sum of the times from first dispatch to completion.
    pub dispatch_to_complete_sum_ns: i64,
    /// Time of the first request.
    pub first_ns: Option<i64>,
}

/// A file that was needed.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct IoFile {
    /// Path of the file, or its inode if the path is unknown.
    pub path: String,
    /// Number of requests.
    pub requests: u64,
    /// Bytes needed.
    pub bytes: u64,
    /// Bytes read or mapped by programs, each counted once; null unless both were traced.
    pub used_bytes: Option<u64>,
    /// Bytes written.
    pub write_bytes: u64,
    /// Number of times the file was opened.
    pub opens: u64,
    /// Time of first need.
    pub first_ns: i64,
}

/// Files and file system structures that requests belong to.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct IoOwners {
    /// Evidence for the owners.
    #[schemars(extend("enum" = ["image", "page_cache", "nothing"]))]
    pub from: &'static str,
    /// Owners, in order of their first request.
    pub rows: Vec<IoOwner>,
}

/// Requests of one file or file system structure.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct IoOwner {
    /// Path of the file, or a description of the structure.
    pub path: String,
    /// Number of requests. A request counts for the owner of most of its bytes.
    pub requests: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Time of the first request.
    pub first_ns: Option<i64>,
}

/// An interval of the timeline.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct IoStretch {
    /// Start of the interval.
    pub start_ns: i64,
    /// End of the interval.
    pub end_ns: i64,
    /// Number of requests that completed in the interval.
    pub requests: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Mean time from first dispatch to completion.
    pub dispatch_to_complete_mean_ns: Option<i64>,
    /// Longest time from first dispatch to completion.
    pub dispatch_to_complete_max_ns: Option<i64>,
    /// Mean queue depth.
    #[schemars(range(min = 0))]
    pub depth: f64,
    /// Time with at least one request.
    #[schemars(range(min = 0))]
    pub busy_ns: i64,
}

/// What was asked of block devices, in the shape of `schemas/io.json`.
#[must_use]
pub fn io(io: &analysis::Io) -> Io {
    let of = |operation| io.total(operation);
    Io {
        schema: Io::SCHEMA,
        clock: io.clock.as_ref().map(|c| c.kind.as_str()),
        zero: io.zero.clone(),
        requests: io.requests,
        reads: of(Operation::Read).requests,
        writes: of(Operation::Write).requests,
        discards: of(Operation::Discard).requests,
        flushes: of(Operation::Flush).requests,
        others: of(Operation::Other).requests,
        failed: io.failed(),
        read_bytes: of(Operation::Read).bytes,
        write_bytes: of(Operation::Write).bytes,
        discard_bytes: of(Operation::Discard).bytes,
        dispatch_to_complete_mean_ns: ns(io.service_mean),
        dispatch_to_complete_mean_from_last_ns: ns(io.service_mean_from_last),
        requests_kept: io.kept,
        dispatch_to_complete: latency(&io.service),
        queue_to_dispatch: latency(&io.wait),
        queue_to_complete: latency(&io.whole),
        depth: IoDepth {
            max: io.depth.max,
            mean: io.depth.mean,
            busy_ns: io.depth.busy.get(),
        },
        sequence: IoSequence {
            followed: io.sequence.followed,
            sequential: io.sequence.sequential,
            backward: io.sequence.backward,
            median_distance_bytes: io.sequence.median_distance,
            mean_distance_bytes: io.sequence.mean_distance,
        },
        operations: io.operations.iter().map(operation).collect(),
        devices: io.devices.iter().map(device).collect(),
        failures: io.failures.iter().map(failure).collect(),
        processes: io.processes.iter().map(process).collect(),
        processes_from: io.process_of.as_str(),
        files: io.files.iter().map(file).collect(),
        owners: IoOwners {
            from: io.owners_from.as_str(),
            rows: io.owners.iter().map(owner).collect(),
        },
        timeline: io.timeline.iter().map(stretch).collect(),
        sources: io.ledger.sources.iter().map(ShowSource::from).collect(),
        notes: io.ledger.notes.iter().map(ShowNote::from).collect(),
    }
}

fn failure(f: &analysis::IoFailure) -> IoFailure {
    IoFailure {
        device: f.device.to_string(),
        operation: f.operation.as_str(),
        error: f.error,
        meaning: f.meaning(),
        requests: f.requests,
        bytes: f.bytes,
        first_ns: ns(f.first),
    }
}

fn owner(o: &analysis::Owner) -> IoOwner {
    IoOwner {
        path: o.name.clone(),
        requests: o.requests,
        read_bytes: o.read_bytes,
        write_bytes: o.write_bytes,
        first_ns: ns(o.first),
    }
}

fn ns(time: Option<Nanos>) -> Option<i64> {
    time.map(Nanos::get)
}

fn latency(l: &Latency) -> IoLatency {
    let some = |t: Nanos| (l.count > 0).then(|| t.get());
    IoLatency {
        count: l.count,
        mean_ns: some(l.mean),
        min_ns: some(l.min),
        median_ns: some(l.median),
        p90_ns: some(l.p90),
        p99_ns: some(l.p99),
        p999_ns: some(l.p999),
        max_ns: some(l.max),
    }
}

fn events(e: &RequestEvents) -> IoEvents {
    let both = |t: Tally| (t.count, t.bytes);
    let (queued, queued_bytes) = both(e.queued);
    let (merged, merged_bytes) = both(e.merged);
    let (dispatched, dispatched_bytes) = both(e.issued);
    let (requeued, requeued_bytes) = both(e.requeued);
    let (completed, completed_bytes) = both(e.completed);
    IoEvents {
        queued,
        queued_bytes,
        merged,
        merged_bytes,
        dispatched,
        dispatched_bytes,
        requeued,
        requeued_bytes,
        completed,
        completed_bytes,
    }
}

fn operation(o: &analysis::IoOperation) -> IoOperation {
    IoOperation {
        operation: o.operation.as_str(),
        requests: o.totals.requests,
        bytes: o.totals.bytes,
        failed: o.totals.failed,
        events: events(&o.events),
        dispatch_to_complete: latency(&o.service),
    }
}

fn device(d: &analysis::IoDevice) -> IoDevice {
    IoDevice {
        device: d.device.to_string(),
        requests: d.requests,
        read_bytes: d.read_bytes,
        write_bytes: d.write_bytes,
        events: events(&d.events),
        dispatch_to_complete: latency(&d.service),
    }
}

fn process(p: &analysis::IoProcess) -> IoProcess {
    IoProcess {
        name: (!p.name.is_empty()).then(|| p.name.clone()),
        pid: p.pid,
        requests: p.requests,
        reads: p.reads,
        writes: p.writes,
        read_bytes: p.read_bytes,
        write_bytes: p.write_bytes,
        dispatch_to_complete_mean_ns: ns(p.service_mean),
        dispatch_to_complete_sum_ns: p.service_sum.get(),
        first_ns: ns(p.first),
    }
}

fn file(f: &analysis::IoFile) -> IoFile {
    IoFile {
        path: f.path.clone(),
        requests: f.requests,
        bytes: f.bytes,
        used_bytes: f.used,
        write_bytes: f.write_bytes,
        opens: f.opens,
        first_ns: f.first.get(),
    }
}

fn stretch(s: &analysis::IoStretch) -> IoStretch {
    IoStretch {
        start_ns: s.start.get(),
        end_ns: s.end.get(),
        requests: s.requests,
        read_bytes: s.read_bytes,
        write_bytes: s.write_bytes,
        dispatch_to_complete_mean_ns: ns(s.service_mean),
        dispatch_to_complete_max_ns: ns(s.service_max),
        depth: s.depth,
        busy_ns: s.busy.get(),
    }
}
