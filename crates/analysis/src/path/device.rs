//! The requests of a boot on another storage device.
//!
//! While the device worked without a pause, a request came when an earlier one was done, or
//! some time after. So it comes to the other device, too, and that time becomes longer or
//! shorter, as does what waited meanwhile.

use record::{Nanos, Operation, Record};
use std::collections::BTreeMap;
use storage::{Device, Kind, Request, Storage};

/// A time in which a device worked without a pause, and how long the other one works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Busy {
    pub start: Nanos,
    pub end: Nanos,
    pub other: Nanos,
}

/// A request, and when the device had it.
#[derive(Clone, Copy)]
struct Issued {
    from: Nanos,
    to: Nanos,
    request: Request,
}

/// The times in which devices worked before `end`, in order. Empty if no requests were
/// traced. Of several devices all requests go to the one.
pub(super) fn busy(record: &Record, end: Nanos, figures: &Storage) -> Vec<Busy> {
    let all = record.requests().iter().filter_map(|r| {
        let (from, to) = r.issued.get().zip(r.completed.get())?;
        let kind = match r.operation {
            Operation::Read => Kind::Read,
            Operation::Write => Kind::Write,
            Operation::Flush => Kind::Flush,
            Operation::Discard | Operation::Other => return None,
        };
        let at = r.sector.saturating_mul(512);
        let bytes = r.bytes;
        let request = Request { kind, at, bytes };
        (from <= to && from < end).then_some(Issued { from, to, request })
    });
    let mut all: Vec<Issued> = all.collect();
    all.sort_by_key(|i| (i.from, i.to, i.request.at));
    let ends = all
        .iter()
        .map(|i| i.request.at.saturating_add(i.request.bytes));
    let mut device = Device::new(figures.clone(), ends.max().unwrap_or_default());
    let mut periods: Vec<Busy> = Vec::new();
    let mut clock = 0_u64;
    let mut rest = all.as_slice();
    while let Some(first) = rest.first() {
        let mut until = first.to;
        let mut count = 0;
        for issued in rest {
            if issued.from > until {
                break;
            }
            until = until.max(issued.to);
            count += 1;
        }
        let (period, later) = rest.split_at_checked(count).unwrap_or((rest, &[]));
        let begun = clock;
        // When requests were done, and would be.
        let mut done: BTreeMap<Nanos, u64> = BTreeMap::new();
        let mut last = begun;
        for issued in period {
            let before = done.range(..=issued.from).next_back();
            let (was, is) = before.map_or((first.from, begun), |(was, is)| (*was, *is));
            let after = u64::try_from((issued.from - was).get()).unwrap_or_default();
            clock = clock.max(is.saturating_add(after));
            let new = device.submit(clock, issued.request);
            let kept = done.entry(issued.to).or_insert(new);
            *kept = new.max(*kept);
            last = last.max(new);
        }
        // The next time comes when this one is over.
        clock = clock.max(last);
        let other = i64::try_from(last.saturating_sub(begun)).unwrap_or(i64::MAX);
        periods.push(Busy {
            start: first.from,
            end: until.min(end),
            other: Nanos(other),
        });
        rest = later;
    }
    periods
}

/// How much longer a time gets in which all waited for the device; less than nothing:
/// shorter.
pub(super) fn longer(periods: &[Busy], start: Nanos, end: Nanos) -> Nanos {
    let first = periods.partition_point(|p| p.end <= start);
    let within = periods.iter().skip(first).take_while(|p| p.start < end);
    within.fold(Nanos::ZERO, |sum, p| {
        let whole = i128::from((p.end - p.start).get().max(1));
        let shared = i128::from((p.end.min(end) - p.start.max(start)).get().max(0));
        let more = i128::from((p.other - (p.end - p.start)).get()) * shared / whole;
        sum + Nanos(i64::try_from(more).unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::{Busy, busy, longer};
    use record::{ClockKind, Device, Nanos, Operation, Origin, Record, Recorder, Request, When};
    use storage::{Model, Storage};

    const MS: i64 = 1_000_000;

    /// Reads of 1 MB, each from one millisecond to another.
    fn record(times: &[(i64, i64)]) -> Record {
        let mut recorder = Recorder::new();
        let source = recorder.source("trace", "trace.dat");
        let clock = recorder.clock("boot", ClockKind::Monotonic, 1);
        for (i, &(from, to)) in times.iter().enumerate() {
            recorder.request(Request {
                device: Device::default(),
                operation: Operation::Read,
                sector: 2_000 * i as u64,
                bytes: 1_000_000,
                queued: When::UNKNOWN,
                issued: Nanos(from * MS).into(),
                reissued: When::UNKNOWN,
                completed: Nanos(to * MS).into(),
                merged: 0,
                read_ahead: false,
                metadata: false,
                sync: true,
                error: 0,
                pid: None,
                task: None,
                origin: Origin { source, offset: 0 },
                clock,
            });
        }
        recorder.finish()
    }

    /// A megabyte takes a millisecond, and a command another one.
    fn quick() -> Storage {
        Storage {
            model: Model::Flash,
            command_ns: 1_000_000,
            read_bytes_per_s: 1_000_000_000,
            ..Storage::default()
        }
    }

    #[test]
    fn requests_that_follow_each_other_do_so_on_another_device() {
        // The clock of a record begins with its first event.
        let record = record(&[(0, 10), (10, 20), (20, 30), (50, 60)]);
        let all = busy(&record, Nanos(100 * MS), &quick());
        let time = |start, end, other| Busy {
            start: Nanos(start * MS),
            end: Nanos(end * MS),
            other: Nanos(other * MS),
        };
        assert_eq!(all, [time(0, 30, 6), time(50, 60, 2)]);
        // All of the first time, half of the second.
        assert_eq!(longer(&all, Nanos(0), Nanos(55 * MS)), Nanos(-28 * MS));
        assert_eq!(longer(&all, Nanos(30 * MS), Nanos(50 * MS)), Nanos(0));
        assert_eq!(busy(&record, Nanos(0), &quick()), []);
    }

    #[test]
    fn a_device_that_takes_one_at_a_time_takes_as_long_as_both() {
        let record = record(&[(0, 10), (1, 12)]);
        let all = busy(&record, Nanos(100 * MS), &quick());
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].other, Nanos(4 * MS));
    }
}
