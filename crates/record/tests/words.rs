//! The words that outputs and captures are built on: once given, they stay.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use firstlight_record::{
    CallTree, ClockKind, Doubt, FunctionSum, Nanos, NoteKind, Origin, Phase, Recorder, Severity,
    SpanKind, mark,
};
use std::collections::BTreeSet;

const DOUBTS: [(Doubt, &str, &str); 11] = [
    (Doubt::Overlap, "overlap", "another call started"),
    (Doubt::JiffyClock, "jiffy_clock", "timer ticks"),
    (Doubt::Console, "console", "too long"),
    (Doubt::LostStart, "lost_start", "start is not in the log"),
    (Doubt::LostEnd, "lost_end", "end is not in the log"),
    (Doubt::ZeroClock, "zero_clock", "not running yet"),
    (Doubt::BackwardStep, "backward_step", "backward"),
    (Doubt::Ambiguous, "ambiguous", "several open starts"),
    (Doubt::Torn, "torn", "damaged"),
    (Doubt::Disagree, "disagree", "disagree"),
    (Doubt::TickClock, "tick_clock", "the kernel's own number"),
];

#[test]
fn every_doubt_has_a_word_and_a_reason() {
    for (doubt, word, reason) in DOUBTS {
        assert_eq!(doubt.as_str(), word);
        assert!(doubt.explain().contains(reason), "{word}");
        // A clause, which a sentence ends.
        assert!(!doubt.explain().ends_with('.'), "{word}");
    }
    let reasons: BTreeSet<&str> = DOUBTS.iter().map(|d| d.0.explain()).collect();
    assert_eq!(reasons.len(), DOUBTS.len());
}

#[test]
fn phases_and_kinds_of_spans_have_words_in_their_order() {
    assert_eq!(
        Phase::ALL.map(Phase::as_str),
        [
            "before-kernel-clock",
            "firmware",
            "loader",
            "decompression",
            "kernel",
            "initrd",
            "userspace",
            "app",
        ]
    );
    assert!(Phase::ALL.is_sorted());
    assert_eq!(
        SpanKind::ALL.map(SpanKind::as_str),
        ["initcall", "probe", "unit", "process", "file", "stage"]
    );
    assert!(SpanKind::ALL.is_sorted());
}

/// The worst note is the greatest, so that a report can show it first.
#[test]
fn data_loss_is_worse_than_doubt() {
    let all = [Severity::DataLoss, Severity::Info, Severity::Doubt];
    assert_eq!(all.iter().max(), Some(&Severity::DataLoss));
    assert_eq!(all.iter().min(), Some(&Severity::Info));
    assert_eq!(all.map(Severity::as_str), ["data_loss", "info", "doubt"]);
}

/// Evidence is found again by its source's place in the record.
#[test]
fn a_note_leads_to_its_source() {
    // Made while the program runs, as by one that takes kinds of notes from elsewhere.
    let lost = NoteKind::new("lost", Severity::DataLoss, "Take the log again.");
    assert_eq!((lost.name, lost.severity), ("lost", Severity::DataLoss));
    assert_eq!(lost.advice, "Take the log again.");
    let mut rec = Recorder::new();
    let sources = ["first", "second"].map(|name| rec.source(name, "test"));
    let origin = Origin {
        source: sources[1],
        offset: 40,
    };
    rec.skipped(origin, &lost);
    rec.skipped(
        Origin {
            offset: 60,
            ..origin
        },
        &lost,
    );
    let record = rec.finish();
    let note = record.notes().iter().find(|n| n.kind == lost).unwrap();
    let source = &record.sources()[note.source.unwrap().index()];
    assert_eq!((source.name.as_str(), note.first), ("second", Some(origin)));
    assert_eq!((note.count, source.noted, source.units), (2, 2, 2));
    assert_eq!(sources.map(|s| s.index()), [0, 1]);
}

/// 40 us by the stamps, and 7 us by the kernel: which one counts depends on the clock.
#[test]
fn a_span_takes_the_better_of_two_durations() {
    let of = |start: Option<i64>, end: Option<i64>, reported: Option<i64>, doubt| {
        let mut rec = Recorder::new();
        let source = rec.source("log", "test");
        let origin = Origin { source, offset: 0 };
        let clock = rec.clock("printk", ClockKind::Printk, 1);
        rec.mark(clock, mark::KERNEL_START, 0, None, origin);
        let name = rec.name("a_init");
        let span = rec.span_of(clock, SpanKind::Initcall, name, origin);
        let span = span.start(start).end(end).reported(reported).doubt(doubt);
        rec.span(span);
        let record = rec.finish();
        let span = &record.spans()[0];
        assert_eq!(span.clock(), clock);
        (span.wall(), span.duration())
    };
    let ns = |n: i64| Some(Nanos(n));
    let (start, end, own) = (Some(10_000), Some(50_000), Some(7_000));
    assert_eq!(of(start, end, own, None), (ns(40_000), ns(40_000)));
    let ticks = Some(Doubt::TickClock);
    assert_eq!(of(start, end, own, ticks), (ns(40_000), ns(7_000)));
    assert_eq!(of(start, end, None, ticks), (ns(40_000), ns(40_000)));
    assert_eq!(
        of(None, end, own, Some(Doubt::LostStart)),
        (None, ns(7_000))
    );
    assert_eq!(of(start, None, None, Some(Doubt::LostEnd)), (None, None));
}

/// Calls of `b` on two stacks: below `a`, and below the task alone.
#[test]
fn calls_are_summed_by_their_stacks() {
    let mut rec = Recorder::new();
    let source = rec.source("trace", "test");
    let [task, a, b] = ["task", "a", "b"].map(|name| rec.name(name));
    let mut tree = CallTree::default();
    assert!(tree.is_empty());
    let bottom = tree.node(None, task);
    let of_a = tree.node(Some(bottom), a);
    let below_a = tree.node(Some(of_a), b);
    let below_task = tree.node(Some(bottom), b);
    assert_ne!(below_a, below_task);
    assert_eq!(tree.node(Some(of_a), b), below_a);
    tree.add(below_a, 2, Nanos(30));
    tree.add(below_a, 1, Nanos(5));
    tree.add_open(below_a);
    tree.add_local(of_a, Nanos(4));
    tree.add_local(of_a, Nanos(6));
    let call = tree.get(below_a).unwrap();
    assert_eq!((call.count, call.time, call.open), (4, Nanos(35), 1));
    assert_eq!(tree.get(of_a).unwrap().local, Some(Nanos(10)));
    assert_eq!(tree.get(below_task).unwrap().local, None);
    // A parent stands before what it called.
    let parents: Vec<_> = tree.iter().map(|(id, call)| (id, call.parent)).collect();
    assert!(
        parents
            .iter()
            .all(|(id, parent)| parent.is_none_or(|p| p < *id))
    );
    assert_eq!(parents.len(), 4);

    let sum = FunctionSum {
        function: b,
        count: 3,
        time: Some(Nanos(9)),
        average: Some(Nanos(3)),
        local: None,
        max_sub: Some((a, 2)),
        origin: Origin { source, offset: 0 },
    };
    let mut sums = CallTree::default();
    sums.add_sum(sum);
    assert!(!sums.is_empty());
    assert_eq!((sums.sums(), sums.refused()), (&[sum][..], 0));
}

/// A tree has room for a million stacks; the next one counts in the stack above it.
#[test]
fn a_tree_is_bounded() {
    let mut rec = Recorder::new();
    let function = rec.name("recursion");
    let mut tree = CallTree::default();
    let mut deepest = tree.node(None, function);
    for _ in 1..1_000_000 {
        deepest = tree.node(Some(deepest), function);
    }
    assert_eq!(tree.refused(), 0);
    for refused in 1..=3 {
        assert_eq!(tree.node(Some(deepest), function), deepest);
        assert_eq!(tree.refused(), refused);
    }
    assert_eq!(tree.iter().count(), 1_000_000);
    let source = rec.source("table", "test");
    let sum = FunctionSum {
        function,
        count: 1,
        time: None,
        average: None,
        local: None,
        max_sub: None,
        origin: Origin { source, offset: 0 },
    };
    for _ in 0..1_000_002 {
        tree.add_sum(sum);
    }
    assert_eq!((tree.sums().len(), tree.refused()), (1_000_000, 5));
}
