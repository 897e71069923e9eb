//! What a record promises to those who build one.

use firstlight_record::{ClockKind, Origin, Phase, Record, Recorder, Severity, SpanKind, mark};
use proptest::prelude::*;

/// Every event of a small boot, to be recorded in any order.
#[derive(Clone, Copy, Debug)]
enum Event {
    Mark(&'static str, i64),
    Span(&'static str, i64, i64),
    Message(&'static str, i64),
    SerialMark(&'static str, i64),
    Sync(i64, i64),
}

const EVENTS: [Event; 8] = [
    Event::Mark(mark::KERNEL_START, 0),
    Event::Mark(mark::INIT_STARTED, 700),
    Event::Span("a_init", 10, 20),
    Event::Span("b_init", 10, 30),
    Event::Message("hello", 12),
    Event::Message("world", 11),
    Event::SerialMark("U-Boot", 100),
    Event::Sync(1_000, 50),
];

fn record(order: &[usize]) -> Record {
    let mut rec = Recorder::new();
    let source = rec.source("log", "test");
    let printk = rec.clock("printk", ClockKind::Printk, 1_000);
    let serial = rec.clock("serial", ClockKind::Wall, 1_000);
    for &i in order {
        let origin = Origin {
            source,
            offset: i as u64,
        };
        match EVENTS[i] {
            Event::Mark(name, at) => rec.mark(printk, name, at, Some(Phase::Kernel), origin),
            Event::SerialMark(name, at) => rec.mark(serial, name, at, Some(Phase::Loader), origin),
            Event::Span(name, start, end) => {
                let name = rec.name(name);
                let span = rec.span_of(printk, SpanKind::Initcall, name, origin);
                rec.span(span.start(Some(start)).end(Some(end)));
            }
            Event::Message(text, at) => rec.message(printk, Some(at), None, text, origin),
            Event::Sync(serial_at, printk_at) => {
                rec.relate((serial, serial_at), (printk, printk_at), 5, Some(origin));
            }
        }
        rec.took(source);
    }
    rec.finish()
}

/// Everything that a reader of the record can see, ids resolved.
fn seen(r: &Record) -> String {
    let marks: Vec<_> = r.marks().iter().map(|m| (r.name(m.name), m.at)).collect();
    let spans: Vec<_> = r
        .spans()
        .iter()
        .map(|s| (r.name(s.name), s.start, s.end))
        .collect();
    let messages: Vec<_> = r.messages().iter().map(|m| (r.text(m), m.at)).collect();
    format!(
        "{} {marks:?} {spans:?} {messages:?} {:?}",
        r.zero(),
        r.clocks()
    )
}

proptest! {
    #[test]
    fn any_order_of_calls_gives_the_same_record(
        order in Just((0..EVENTS.len()).collect::<Vec<_>>()).prop_shuffle()
    ) {
        let sorted: Vec<_> = (0..EVENTS.len()).collect();
        prop_assert_eq!(seen(&record(&order)), seen(&record(&sorted)));
    }
}

#[test]
fn a_serial_log_moves_zero_back_to_the_loader() {
    let r = record(&(0..EVENTS.len()).collect::<Vec<_>>());
    // Serial 1,000 is printk 50, so the kernel's zero is serial 950.
    assert_eq!(r.zero(), "U-Boot");
    assert_eq!(r.mark(mark::KERNEL_START).map(|m| m.at.get()), Some(850));
    assert_eq!(r.clocks()[0].error_ns, Some(5));
    assert_eq!(r.clock().map(|c| c.name.as_str()), Some("serial"));
}

#[test]
fn two_clocks_that_nothing_relates_are_told_apart_in_a_note() {
    let mut rec = Recorder::new();
    let source = rec.source("log", "test");
    let origin = Origin { source, offset: 0 };
    let serial = rec.clock("serial", ClockKind::Wall, 0);
    let printk = rec.clock("printk", ClockKind::Printk, 0);
    rec.mark(serial, "a", 5, None, origin);
    rec.mark(printk, "b", 9, None, origin);
    let r = rec.finish();
    let note = &r.notes()[0];
    assert_eq!(
        (note.kind.name, note.detail.as_str()),
        ("clock_unrelated", "printk")
    );
    assert_eq!(note.kind.severity, Severity::Doubt);
}

#[test]
fn a_counter_is_the_reference_also_over_another_clock() {
    let mut rec = Recorder::new();
    let source = rec.source("kmsg", "kernel-log");
    let origin = Origin { source, offset: 0 };
    let printk = rec.clock("printk", ClockKind::Printk, 1_000);
    let raw = rec.clock("sched-clock", ClockKind::Printk, 1);
    let counter = rec.clock("counter", ClockKind::Counter, 1);
    rec.mark(printk, "kernel-start", 100, Some(Phase::Kernel), origin);
    rec.relate((printk, 100), (raw, 90), 4, None);
    rec.relate((raw, 90), (counter, 1_000), 3, None);
    let r = rec.finish();
    assert_eq!(r.clock().map(|c| c.name.as_str()), Some("counter"));
    let errors: Vec<_> = r.clocks().iter().map(|c| c.error_ns).collect();
    assert_eq!(errors, [Some(7), Some(3), Some(0)]);
}

#[test]
fn power_on_is_zero_even_where_something_is_stamped_earlier() {
    let mut rec = Recorder::new();
    let source = rec.source("log", "test");
    let origin = Origin { source, offset: 0 };
    let clock = rec.clock("counter", ClockKind::Counter, 1);
    rec.mark(clock, "early", -5, None, origin);
    rec.mark(clock, mark::POWER_ON, 0, Some(Phase::Firmware), origin);
    let r = rec.finish();
    assert_eq!(r.zero(), mark::POWER_ON);
    assert_eq!(r.mark("early").map(|m| m.at.get()), Some(-5));
}

#[test]
fn spans_are_sorted_however_late_they_come() {
    let nearly = |i: i64| i + [0, 3, -5, 1][i as usize % 4];
    let far = |i: i64| i * 7_919 % 10_007;
    for start_of in [|i: i64| i, nearly, far, |i: i64| -i, |i: i64| i / 100] {
        let mut rec = Recorder::new();
        let source = rec.source("log", "test");
        let clock = rec.clock("printk", ClockKind::Printk, 1);
        let name = rec.name("call");
        let mut starts: Vec<(i64, u64)> = Vec::new();
        for i in 0..2_000 {
            let offset = i as u64 ^ 1;
            let start = start_of(i);
            let origin = Origin { source, offset };
            let span = rec.span_of(clock, SpanKind::Initcall, name, origin);
            rec.span(span.start(Some(start)));
            starts.push((start, offset));
        }
        starts.sort_unstable();
        let record = rec.finish();
        let found = record.spans().iter();
        let found = found.map(|s| (s.start.map_or(0, |t| t.get()), s.origin.offset));
        assert!(found.eq(starts));
    }
}
