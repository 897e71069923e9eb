//! What a record promises of its tables.

use firstlight_record::{
    Access, AccessKind, ClockKind, Device, Nanos, Operation, Origin, Process, Recorder, Request,
    Slice, SourceId, TaskState, Unit, Wake, When, mark,
};

const DEVICE: Device = Device {
    major: 8,
    minor: 52,
};

fn request(
    clock: firstlight_record::ClockId,
    source: SourceId,
    offset: u64,
    issued: i64,
) -> Request {
    Request {
        device: DEVICE,
        operation: Operation::Read,
        sector: 8,
        bytes: 4_096,
        queued: When::UNKNOWN,
        issued: Nanos(issued).into(),
        reissued: When::UNKNOWN,
        completed: Nanos(issued + 100).into(),
        merged: 0,
        read_ahead: false,
        metadata: false,
        sync: true,
        error: 0,
        pid: None,
        task: None,
        origin: Origin { source, offset },
        clock,
    }
}

#[test]
fn tables_move_with_zero_and_are_sorted_by_time() {
    let mut rec = Recorder::new();
    let source = rec.source("trace", "test");
    let origin = Origin { source, offset: 0 };
    let clock = rec.clock("trace", ClockKind::Monotonic, 1);
    rec.mark(clock, mark::KERNEL_START, 1_000, None, origin);
    rec.request(request(clock, source, 2, 5_000));
    rec.request(request(clock, source, 1, 3_000));
    let name = rec.name("init");
    rec.process(Process {
        pid: 1,
        parent: None,
        name,
        command: None,
        start: Some(Nanos(2_000)),
        end: None,
        first_seen: Nanos(2_000),
        last_seen: Nanos(9_000),
        user: None,
        system: None,
        kernel_thread: false,
        exit: None,
        origin,
        clock,
    });
    rec.access(Access {
        kind: AccessKind::Fill,
        device: Some(DEVICE),
        inode: Some(12),
        path: None,
        offset: 0,
        bytes: 4_096,
        at: Nanos(4_000),
        took: When::UNKNOWN,
        pid: Some(1),
        task: Some(name),
        origin,
        clock,
    });
    let series = rec.series(clock, (name, None), Unit::Permille, origin);
    rec.sample(series, 2_500, 7);
    let record = rec.finish();

    let issued: Vec<_> = record.requests().iter().map(|r| r.issued.get()).collect();
    assert_eq!(issued, [Some(Nanos(2_000)), Some(Nanos(4_000))]);
    assert_eq!(record.processes()[0].start, Some(Nanos(1_000)));
    assert_eq!(record.accesses()[0].at, Nanos(3_000));
    assert_eq!(record.series()[0].samples[0].at, Nanos(1_500));
    assert_eq!(record.last(), Some(Nanos(8_000)));
    let totals: Vec<_> = record.request_totals().collect();
    assert_eq!(totals.len(), 1);
    assert_eq!(totals[0].1.bytes, 8_192);
    assert_eq!(totals[0].1.service, Nanos(200));
}

#[test]
fn rows_far_from_their_places_are_sorted_with_equal_ones_as_they_came() {
    let mut rec = Recorder::new();
    let source = rec.source("trace", "test");
    let clock = rec.clock("trace", ClockKind::Monotonic, 1);
    for n in 0..1_000_u64 {
        // Each time comes five times, far apart; the evidence is the same.
        let mut row = request(clock, source, 0, (n * 7_919 % 200) as i64);
        row.sector = n;
        rec.request(row);
    }
    let record = rec.finish();
    let keys: Vec<_> = record
        .requests()
        .iter()
        .map(|r| (r.issued, r.sector))
        .collect();
    assert_eq!(keys.len(), 1_000);
    assert!(keys.is_sorted());
}

#[test]
fn rows_without_a_time_come_first_and_equal_ones_by_their_evidence() {
    let mut rec = Recorder::new();
    let source = rec.source("trace", "test");
    let clock = rec.clock("trace", ClockKind::Monotonic, 1);
    for (offset, at) in [(5, 7), (4, -7), (3, 7), (2, 0), (1, 1 << 62), (0, 7)] {
        let mut row = request(clock, source, offset, at);
        row.completed = When::UNKNOWN;
        rec.request(row);
        row.issued = When::UNKNOWN;
        rec.request(row);
    }
    let record = rec.finish();
    let offsets: Vec<u64> = record.requests().iter().map(|r| r.origin.offset).collect();
    assert_eq!(offsets, [0, 1, 2, 3, 4, 5, 4, 2, 0, 3, 5, 1]);
}

#[test]
fn without_scheduling_there_are_no_slices_and_no_wakes() {
    let kept = |mut rec: Recorder| {
        let source = rec.source("trace", "test");
        let origin = Origin { source, offset: 0 };
        let clock = rec.clock("trace", ClockKind::Monotonic, 1);
        rec.request(request(clock, source, 1, 3_000));
        let slice = Slice {
            pid: 1,
            state: TaskState::Running,
            start: Nanos(1_000),
            end: Nanos(2_000),
            busy: None,
            cpu: None,
            origin,
            clock,
        };
        rec.slice(slice);
        if let Some(open) = rec.begin_slice(slice) {
            rec.end_slice(open, Nanos(1_500));
        }
        rec.wake(Wake {
            at: Nanos(1_000),
            by: 1,
            pid: 2,
            origin,
            clock,
        });
        let record = rec.finish();
        let rows = (record.slices().len(), record.wakes().len());
        (rows, record.requests().len(), record.last())
    };
    assert_eq!(kept(Recorder::new()), ((2, 1), 1, Some(Nanos(3_100))));
    let without = kept(Recorder::without_scheduling());
    assert_eq!(without, ((0, 0), 1, Some(Nanos(3_100))));
}

#[test]
fn a_full_table_keeps_the_totals_and_says_what_is_missing() {
    let mut rec = Recorder::new();
    let source = rec.source("trace", "test");
    let clock = rec.clock("trace", ClockKind::Monotonic, 1);
    for i in 0..2_000_010_i64 {
        rec.request(request(clock, source, i.unsigned_abs(), i));
    }
    let record = rec.finish();
    assert_eq!(record.requests().len(), 1_000_000);
    let totals: Vec<_> = record.request_totals().collect();
    assert_eq!(totals[0].1.requests, 2_000_010);
    let note = &record.notes()[0];
    assert_eq!((note.kind.name, note.count), ("table_full", 1_000_010));
}

#[test]
fn tables_of_several_kinds_share_their_room() {
    let mut rec = Recorder::new();
    let source = rec.source("trace", "test");
    let clock = rec.clock("trace", ClockKind::Monotonic, 1);
    let (rows, origin) = (2_000_000, Origin { source, offset: 0 });
    for i in 0..rows {
        if i % 2 == 0 {
            rec.request(request(clock, source, 0, i));
        }
        rec.wake(Wake {
            at: Nanos(i),
            pid: 1,
            by: 2,
            origin,
            clock,
        });
        rec.access(Access {
            kind: AccessKind::Fill,
            device: None,
            inode: None,
            path: None,
            offset: 0,
            bytes: 4096,
            at: Nanos(i),
            took: When::UNKNOWN,
            pid: None,
            task: None,
            origin,
            clock,
        });
    }
    let record = rec.finish();
    let (wakes, accesses) = (record.wakes().len(), record.accesses().len());
    let requests = record.requests().len();
    let bytes = size_of_val(record.wakes())
        + size_of_val(record.accesses())
        + size_of_val(record.requests());
    assert!((223 << 20..=224 << 20).contains(&bytes), "{bytes}");
    // Both end at the same time, so that what is kept is whole.
    assert!(wakes.abs_diff(accesses) <= 4, "{wakes} {accesses}");
    let refused: u64 = record.notes().iter().map(|n| n.count).sum();
    assert_eq!(wakes + accesses + requests + refused as usize, 5_000_000);
}

#[test]
fn calls_on_equal_stacks_are_added_up() {
    let mut rec = Recorder::new();
    let (task, open, read) = (rec.name("init"), rec.name("open"), rec.name("read"));
    let calls = rec.functions();
    let bottom = calls.node(None, task);
    let id = calls.node(Some(bottom), open);
    calls.add(id, 1, Nanos(10));
    let again = calls.node(Some(bottom), open);
    calls.add(again, 2, Nanos(5));
    let below = calls.node(Some(id), read);
    calls.add_open(below);
    let record = rec.finish();
    let calls: Vec<_> = record.functions().iter().map(|(_, c)| *c).collect();
    assert_eq!(calls.len(), 3);
    assert_eq!((calls[1].count, calls[1].time), (3, Nanos(15)));
    assert_eq!((calls[2].count, calls[2].open), (1, 1));
}
