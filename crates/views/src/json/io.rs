//! `firstlight.io/1`.

use super::{ShowNote, ShowSource};
use analysis::Latency;
use record::{Nanos, Operation, RequestEvents, Tally};
use serde::Serialize;

/// What was asked of block devices.
///
/// A request counts once, however often the device got it; `dispatched` counts
/// how often the device got one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Io {
    /// `firstlight.io/1`.
    pub schema: &'static str,
    /// The kind of clock that times are on; null if nothing carries a time.
    pub clock: Option<&'static str>,
    /// The name of the mark at time zero.
    pub zero: String,
    /// How many requests there were, of every operation.
    pub requests: u64,
    /// How many of them were reads.
    pub reads: u64,
    /// How many of them were writes: without discards and flushes.
    pub writes: u64,
    /// How many of them were discards.
    pub discards: u64,
    /// How many of them were flushes.
    pub flushes: u64,
    /// How many of them were something else.
    pub others: u64,
    /// How many of all ended with an error.
    pub failed: u64,
    /// What reads moved.
    pub read_bytes: u64,
    /// What writes moved.
    pub write_bytes: u64,
    /// What discards named.
    pub discard_bytes: u64,
    /// The mean time from the first dispatch to completion, of reads, writes
    /// and discards; null if none was seen both dispatched and completed.
    pub dispatch_to_complete_mean_ns: Option<i64>,
    /// The same from the last dispatch, where a request was dispatched again.
    pub dispatch_to_complete_mean_from_last_ns: Option<i64>,
    /// How many requests were kept, the first: what follows is of these.
    pub requests_kept: u64,
    /// Times from the first dispatch to completion.
    pub dispatch_to_complete: IoLatency,
    /// Times from being queued to the first dispatch.
    pub queue_to_dispatch: IoLatency,
    /// Times from being queued to completion.
    pub queue_to_complete: IoLatency,
    /// How many requests devices had at a time.
    pub depth: IoDepth,
    /// Whether requests followed each other on the device.
    pub sequence: IoSequence,
    /// By operation; those that occur.
    pub operations: Vec<IoOperation>,
    /// By device.
    pub devices: Vec<IoDevice>,
    /// What ended with an error, by device, operation and error.
    pub failures: Vec<IoFailure>,
    /// Who asked, most bytes first.
    pub processes: Vec<IoProcess>,
    /// `queue` if processes are who asked, `issue` if they are who gave the
    /// request to the device, `both` if some are.
    pub processes_from: &'static str,
    /// What files were needed, in the order of their first need.
    pub files: Vec<IoFile>,
    /// Whose what was asked of devices is.
    pub owners: IoOwners,
    /// Stretches of equal length.
    pub timeline: Vec<IoStretch>,
    /// The balance of every source.
    pub sources: Vec<ShowSource>,
    /// What was lost, doubtful or ignored.
    pub notes: Vec<ShowNote>,
}

/// Facts on lengths of time; null where there are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct IoLatency {
    /// How many there are.
    pub count: u64,
    /// Their mean.
    pub mean_ns: Option<i64>,
    /// The shortest.
    pub min_ns: Option<i64>,
    /// The one in the middle, or the mean of the two that are.
    pub median_ns: Option<i64>,
    /// 90 of 100 are at most this long.
    pub p90_ns: Option<i64>,
    /// 99 of 100 are at most this long.
    pub p99_ns: Option<i64>,
    /// 999 of 1,000 are at most this long.
    pub p999_ns: Option<i64>,
    /// The longest.
    pub max_ns: Option<i64>,
}

/// How many requests devices had at a time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct IoDepth {
    /// The most.
    pub max: u64,
    /// The mean while there was one.
    pub mean: f64,
    /// How long there was one.
    pub busy_ns: i64,
}

/// Whether requests followed each other on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct IoSequence {
    /// How many came after another one on the same device.
    pub followed: u64,
    /// How many of them began where that one ended.
    pub sequential: u64,
    /// How many of them began before that.
    pub backward: u64,
    /// How far the others began from there: half of them at most so far.
    pub median_distance_bytes: u64,
    /// The mean of it.
    pub mean_distance_bytes: u64,
}

/// What was asked in one operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IoOperation {
    /// `read`, `write`, `discard`, `flush` or `other`.
    pub operation: &'static str,
    /// How many requests.
    pub requests: u64,
    /// How much they were about.
    pub bytes: u64,
    /// How many ended with an error.
    pub failed: u64,
    /// What the trace says was done, event by event.
    #[serde(flatten)]
    pub events: IoEvents,
    /// Times from the first dispatch to completion.
    pub dispatch_to_complete: IoLatency,
}

/// What the trace says was done, event by event: a request that is dispatched
/// twice counts twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct IoEvents {
    /// Pieces that were asked for.
    pub queued: u64,
    /// How much that was.
    pub queued_bytes: u64,
    /// Pieces that became a part of a request that was there.
    pub merged: u64,
    /// How much that was.
    pub merged_bytes: u64,
    /// How often the device got a request.
    pub dispatched: u64,
    /// How much that was.
    pub dispatched_bytes: u64,
    /// How often a request was taken back.
    pub requeued: u64,
    /// How much that was.
    pub requeued_bytes: u64,
    /// How often the device was done, with all of a request or a part.
    pub completed: u64,
    /// How much that was.
    pub completed_bytes: u64,
}

/// Requests that ended with the same error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IoFailure {
    /// `8:52`.
    pub device: String,
    /// `read`, `write`, `discard`, `flush` or `other`.
    pub operation: &'static str,
    /// The error as the trace has it, as a rule a negative error number.
    pub error: i32,
    /// What that error means; null if the block layer has none of this number.
    pub meaning: Option<&'static str>,
    /// How many requests.
    pub requests: u64,
    /// How much they were about.
    pub bytes: u64,
    /// When the first of them ended.
    pub first_ns: Option<i64>,
}

/// What was asked of one device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IoDevice {
    /// `8:52`.
    pub device: String,
    /// How many requests were kept.
    pub requests: u64,
    /// What reads moved.
    pub read_bytes: u64,
    /// What writes moved.
    pub write_bytes: u64,
    /// What the trace says was done, event by event, operations together.
    #[serde(flatten)]
    pub events: IoEvents,
    /// Times from the first dispatch to completion.
    pub dispatch_to_complete: IoLatency,
}

/// What one process asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IoProcess {
    /// Its name; null if that was never said.
    pub name: Option<String>,
    /// Its id; null if that was never said.
    pub pid: Option<u32>,
    /// How many requests.
    pub requests: u64,
    /// How many reads.
    pub reads: u64,
    /// How many writes.
    pub writes: u64,
    /// What reads moved.
    pub read_bytes: u64,
    /// What writes moved.
    pub write_bytes: u64,
    /// The mean time from the first dispatch to completion.
    pub dispatch_to_complete_mean_ns: Option<i64>,
    /// The sum of these times.
    pub dispatch_to_complete_sum_ns: i64,
    /// When it asked first.
    pub first_ns: Option<i64>,
}

/// A file that was needed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IoFile {
    /// Its path, or its inode where no source says the path.
    pub path: String,
    /// How many pieces of it were needed.
    pub requests: u64,
    /// How much of it was needed.
    pub bytes: u64,
    /// How much of what came into memory was read or mapped, each byte counted
    /// once; null unless both were traced.
    pub used_bytes: Option<u64>,
    /// How much of it was written.
    pub write_bytes: u64,
    /// How often it was opened.
    pub opens: u64,
    /// When it was needed first.
    pub first_ns: i64,
}

/// Whose what was asked of devices is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IoOwners {
    /// How that is known: `image`, `page_cache` or `nothing`.
    pub from: &'static str,
    /// In the order in which they were asked for first.
    pub rows: Vec<IoOwner>,
}

/// What one file, or part of a filesystem, was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IoOwner {
    /// The file's path, or in words what else it is.
    pub path: String,
    /// How many requests: each is counted for who owns most of it.
    pub requests: u64,
    /// What reads moved.
    pub read_bytes: u64,
    /// What writes moved.
    pub write_bytes: u64,
    /// When it was asked for first.
    pub first_ns: Option<i64>,
}

/// A stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct IoStretch {
    /// When it begins.
    pub start_ns: i64,
    /// When it ends.
    pub end_ns: i64,
    /// How many requests ended in it.
    pub requests: u64,
    /// What reads moved.
    pub read_bytes: u64,
    /// What writes moved.
    pub write_bytes: u64,
    /// The mean time from the first dispatch to completion.
    pub dispatch_to_complete_mean_ns: Option<i64>,
    /// The longest.
    pub dispatch_to_complete_max_ns: Option<i64>,
    /// How many requests devices had, on average.
    pub depth: f64,
    /// How long they had at least one.
    pub busy_ns: i64,
}

/// What was asked of block devices, in the shape of `schemas/io.json`.
#[must_use]
pub fn io(io: &analysis::Io) -> Io {
    let of = |operation| io.total(operation);
    Io {
        schema: "firstlight.io/1",
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
