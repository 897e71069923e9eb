//! Clocks are related by what two sources saw alike.
#![allow(clippy::unwrap_used, reason = "tests")]

use firstlight_record::{
    ClockId, ClockKind, Nanos, Origin, Record, Recorder, SourceId, SpanKind, Unit,
};

struct Boot {
    rec: Recorder,
    log: (SourceId, ClockId),
    trace: (SourceId, ClockId),
}

fn boot(trace_clock: &str) -> Boot {
    let mut rec = Recorder::new();
    let log = rec.source("boot.log", "kernel-log");
    let printk = rec.clock("printk", ClockKind::Printk, 1_000);
    let trace = rec.source("trace.dat", "trace.dat");
    let clock = rec.clock(trace_clock, ClockKind::Printk, 1);
    Boot {
        rec,
        log: (log, printk),
        trace: (trace, clock),
    }
}

fn say(rec: &mut Recorder, (source, clock): (SourceId, ClockId), at: i64, text: &str) {
    let origin = Origin { source, offset: 0 };
    rec.message(clock, Some(at), None, text, origin);
}

fn initcall(rec: &mut Recorder, (source, clock): (SourceId, ClockId), start: i64, name: &str) {
    let origin = Origin { source, offset: 0 };
    let name = rec.name(name);
    let span = rec.span_of(clock, SpanKind::Initcall, name, origin);
    rec.span(span.start(Some(start)).end(Some(start + 10)));
}

fn detail<'r>(record: &'r Record, kind: &str) -> Option<&'r str> {
    let note = record.notes().iter().find(|n| n.kind.name == kind)?;
    Some(&note.detail)
}

#[test]
fn by_lines_of_the_console() {
    let mut boot = boot("sched-clock");
    // The trace's clock is 5 ms behind, and sees each line a little later.
    for i in 0..40 {
        let (at, text) = (i * 1_000_000, format!("a line of the kernel, number {i}"));
        say(&mut boot.rec, boot.log, at + 5_000_000, &text);
        say(&mut boot.rec, boot.trace, at + 2_000 + i * 100, &text);
    }
    let record = boot.rec.finish();
    assert_eq!(
        detail(&record, "clocks_matched"),
        Some("sched-clock: 40 console lines")
    );
    assert_eq!(detail(&record, "clocks_taken_as_equal"), None);
    let clock = record
        .clocks()
        .iter()
        .find(|c| c.name == "sched-clock")
        .unwrap();
    let error = clock.error_ns.unwrap();
    assert!((1_000..10_000).contains(&error), "{error}");
    // By evidence: the log's lines come first.
    let (log, trace) = record.messages().split_at(40);
    for (log, trace) in log.iter().zip(trace) {
        let (log, trace) = (log.at.unwrap(), trace.at.unwrap());
        let apart = (trace - log).abs();
        assert!(apart <= Nanos::from_millis(1), "{apart}");
    }
}

#[test]
fn by_initcalls_where_no_lines_are() {
    let mut boot = boot("sched-clock");
    for i in 0..5 {
        let name = format!("init_{i}");
        initcall(&mut boot.rec, boot.log, i * 1_000_000 + 7_000_000, &name);
        // The console holds up the one in the middle.
        let late = if i == 2 { 900_000 } else { i * 1_000 };
        initcall(&mut boot.rec, boot.trace, i * 1_000_000 + late, &name);
    }
    // Names that occur twice say nothing.
    for at in [100, 200] {
        initcall(&mut boot.rec, boot.trace, at, "twice");
    }
    initcall(&mut boot.rec, boot.log, 1, "twice");
    let record = boot.rec.finish();
    assert_eq!(
        detail(&record, "clocks_matched"),
        Some("sched-clock: 5 initcalls")
    );
    let clock = record
        .clocks()
        .iter()
        .find(|c| c.name == "sched-clock")
        .unwrap();
    assert_eq!(clock.error_ns, Some(3_000));
}

#[test]
fn what_nothing_relates_is_taken_as_equal() {
    for (name, error) in [("sched-clock", 110_000_000), ("boottime", 110_000_000)] {
        let mut boot = boot(name);
        say(&mut boot.rec, boot.log, 1_000, "one line of the log alone");
        say(
            &mut boot.rec,
            boot.trace,
            2_000,
            "another line of the trace alone",
        );
        let record = boot.rec.finish();
        let wanted = match name {
            "boottime" => "boottime and printk",
            _ => "sched-clock and printk",
        };
        assert_eq!(detail(&record, "clocks_taken_as_equal"), Some(wanted));
        let clock = record.clocks().iter().find(|c| c.name == name).unwrap();
        assert_eq!(clock.error_ns, Some(error));
    }
}

#[test]
fn a_clock_of_another_kind_stays_unrelated() {
    let mut rec = Recorder::new();
    let source = rec.source("trace", "test");
    let origin = Origin { source, offset: 0 };
    let printk = rec.clock("printk", ClockKind::Printk, 1_000);
    let ticks = rec.clock("trace-ticks", ClockKind::Monotonic, 1);
    say(&mut rec, (source, printk), 5, "a line that has a stamp");
    let name = rec.name("cpu");
    let series = rec.series(ticks, (name, None), Unit::Count, origin);
    rec.sample(series, 7, 1);
    let record = rec.finish();
    assert_eq!(detail(&record, "clock_unrelated"), Some("trace-ticks"));
}

/// A log with the time of day, and what systemd says of the boot: the second that the log's
/// last mark names, and when its one line was.
fn days(mark: Option<(&str, i64)>) -> (Record, Option<Nanos>) {
    let mut rec = Recorder::new();
    let log = rec.source("boot.log", "kernel-log");
    let day = rec.clock("realtime", ClockKind::Wall, 1_000_000_000);
    let said = rec.source("time.txt", "systemd-analyze");
    let monotonic = rec.clock("monotonic", ClockKind::Monotonic, 1_000_000);
    let origin = Origin {
        source: said,
        offset: 0,
    };
    for (name, at) in [
        ("kernel-clock-start", 0),
        ("userspace-start", 4),
        ("startup-finished", 60),
    ] {
        rec.mark(monotonic, name, at * SECOND, None, origin);
    }
    say(&mut rec, (log, day), YEARS + 20 * SECOND, "a line");
    if let Some((name, at)) = mark {
        let origin = Origin {
            source: log,
            offset: 9,
        };
        rec.mark(day, name, YEARS + at * SECOND, None, origin);
    }
    let record = rec.finish();
    let at = record.messages()[0].at;
    (record, at)
}

const SECOND: i64 = 1_000_000_000;
const YEARS: i64 = 1_700_000_000 * SECOND;

/// By how much the two clocks of such a record may be apart.
fn apart(record: &Record) -> Option<u64> {
    record.clocks().iter().filter_map(|c| c.error_ns).max()
}

#[test]
fn the_time_of_day_is_known_by_an_instant_that_another_clock_has() {
    // The log ends 10 s after its line, and the boot after 60 s.
    let (record, at) = days(Some(("startup-finished", 30)));
    assert_eq!(at, Some(Nanos(50 * SECOND)));
    assert_eq!(apart(&record), Some(1_001_000_000));
    // A journal may stamp the kernel's first line as late as userspace begins.
    let (record, at) = days(Some(("kernel-start", 0)));
    assert_eq!(at, Some(Nanos(20 * SECOND)));
    assert_eq!(apart(&record), Some(5_001_000_000));
}

#[test]
fn a_time_of_day_that_nothing_relates_is_no_part_of_the_boot() {
    for mark in [None, Some(("first-userspace-line", 25))] {
        let (record, at) = days(mark);
        assert_eq!(at, None);
        assert_eq!(record.last(), Some(Nanos(60 * SECOND)));
        assert!(detail(&record, "time_of_day_unrelated").is_some());
        assert!(detail(&record, "clock_unrelated").is_none());
    }
}
