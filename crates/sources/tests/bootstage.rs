//! What loaders and firmware time themselves: others' samples, the corpus, and
//! damaged input.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{
    assert_conserved, check_corpus, damage, expected, read, sample, samples_in, workspace,
};
use firstlight_sources::bootstage::Bootstage;
use firstlight_sources::cbmem::Cbmem;
use firstlight_sources::serial::Serial;
use firstlight_sources::{Sniff, Source};
use proptest::prelude::*;
use record::{Record, SpanKind, mark};
use serde_json::{Value, json};

/// A name without the number that tells it from its namesakes.
fn plain(name: &str) -> &str {
    name.split(" (").next().unwrap_or(name)
}

/// Marks of a report: name, time, time since the one before.
fn marks(record: &Record) -> Vec<Value> {
    let mut before = 0;
    let marks = record.marks().iter();
    let marks = marks.filter(|m| record.name(m.name) != mark::POWER_ON);
    marks
        .map(|m| {
            let at = m.at.get() / 1_000;
            let since = at - std::mem::replace(&mut before, at);
            json!([plain(record.name(m.name)), at, since])
        })
        .collect()
}

fn accumulated(record: &Record) -> Vec<Value> {
    let spans = record.spans().iter().filter(|s| s.start.is_none());
    let row = |s: &record::Span| json!([record.name(s.name), s.reported.unwrap().get() / 1_000]);
    let mut rows: Vec<Value> = spans.map(row).collect();
    rows.sort_by_key(|r| r[1].as_i64());
    rows
}

#[test]
fn every_row_of_every_report() {
    for name in samples_in("bootstage") {
        let (Some(bytes), Some(oracle)) = (sample(&name), expected(&name)) else {
            return;
        };
        assert_eq!(Bootstage.sniff(&bytes), Sniff::Yes, "{name}");
        let record = read(&Bootstage, &bytes);
        assert_conserved(&record);
        assert_eq!(oracle["marks"], Value::Array(marks(&record)), "{name}");
        let accumulated = Value::Array(accumulated(&record));
        assert_eq!(oracle["accumulated"], accumulated, "{name}");
        assert_eq!(record.zero(), mark::POWER_ON, "{name}");
        let stages = record.spans().iter().filter(|s| s.start.is_some());
        let longest = stages.max_by_key(|s| s.wall()).unwrap();
        let [to, at, took] = [0, 1, 2].map(|i| oracle["longest"][i].clone());
        assert!(record.name(longest.name).ends_with(to.as_str().unwrap()));
        assert_eq!(longest.end.unwrap().get() / 1_000, at.as_i64().unwrap());
        assert_eq!(
            longest.wall().unwrap().get() / 1_000,
            took.as_i64().unwrap()
        );
        let lost = record
            .notes()
            .iter()
            .any(|n| n.kind.name != "blank_line" && n.kind.name != "counter_from_reset");
        assert!(!lost, "{name}: {:?}", record.notes());
    }
}

#[test]
fn corpus() {
    check_corpus("bootstage");
    check_corpus("cbmem");
    check_corpus("loader-console");
}

#[test]
fn every_form_says_the_same() {
    let of = |name: &str| {
        let bytes = std::fs::read(workspace().join("corpus/bootstage").join(name)).unwrap();
        let record = read(&Bootstage, &bytes);
        (marks(&record), accumulated(&record))
    };
    assert_eq!(of("tree.dtb"), of("folder.tar"));
    for other in ["stash32-be.bin", "stash64-le.bin", "stash64-be.bin"] {
        assert_eq!(of("stash32-le.bin"), of(other), "{other}");
    }
    assert_eq!(of("stash32-le.bin").0.len(), 3);
}

#[test]
fn a_report_in_a_serial_log_gives_power_on() {
    let bytes = std::fs::read(workspace().join("corpus/serial/bootstage.log")).unwrap();
    let record = read(&Serial, &bytes);
    assert_conserved(&record);
    assert_eq!(record.zero(), mark::POWER_ON);
    let at = |name: &str| record.mark(name).unwrap().at.get() / 1_000;
    assert_eq!(at("board_init_f"), 250_000);
    assert_eq!(at("start_kernel"), 1_748_000);
    // 246 ms of firmware are before the first line: U-Boot's own line comes
    // when its counter is at 246 ms.
    assert_eq!(at("U-Boot"), 246_001);
    // The same lines are also lines of the log.
    assert_eq!(record.messages().len(), 18);
    let stages = record.spans().iter().filter(|s| s.kind == SpanKind::Stage);
    assert_eq!(stages.count(), 4);
    let clock = record.clocks().iter().find(|c| c.name == "serial").unwrap();
    assert_eq!(clock.error_ns, Some(20_000_000));
}

proptest! {
    #[test]
    fn damage_is_counted_and_never_fatal(
        name in prop::sample::select(vec![
            "bootstage/two-reports.txt", "bootstage/out-of-order.txt", "bootstage/spl-plain.txt",
            "bootstage/tree.dtb", "bootstage/folder.tar", "bootstage/stash32-le.bin",
            "bootstage/stash64-be.bin", "cbmem/t.txt", "cbmem/parseable.txt", "cbmem/stacked.txt",
        ]),
        damages in proptest::collection::vec(damage(), 0..4),
    ) {
        let mut bytes = std::fs::read(workspace().join("corpus").join(name)).unwrap();
        for damage in &damages {
            bytes = damage.apply(&bytes);
        }
        for source in [&Bootstage as &dyn Source, &Cbmem] {
            source.sniff(&bytes);
            assert_conserved(&read(source, &bytes));
        }
    }

    /// Words of a stash and of a tree may claim anything.
    #[test]
    fn absurd_words_are_bounded(
        name in prop::sample::select(vec!["tree.dtb", "stash32-le.bin", "stash64-be.bin"]),
        at in any::<prop::sample::Index>(),
        word in prop::sample::select(vec![0_u32, 1, 0x7fff_ffff, u32::MAX, 0x8000_0000]),
    ) {
        let mut bytes = std::fs::read(workspace().join("corpus/bootstage").join(name)).unwrap();
        let at = at.index(bytes.len() / 4) * 4;
        bytes[at..at + 4].copy_from_slice(&word.to_be_bytes());
        assert_conserved(&read(&Bootstage, &bytes));
    }
}

#[test]
fn a_cut_is_never_fatal_and_is_noted() {
    for name in ["tree.dtb", "stash32-be.bin", "stash64-le.bin", "folder.tar"] {
        let bytes = std::fs::read(workspace().join("corpus/bootstage").join(name)).unwrap();
        let whole = marks(&read(&Bootstage, &bytes)).len();
        // Enough of it to be known for what it is.
        for at in 300.min(bytes.len() / 4)..bytes.len() {
            let record = read(&Bootstage, &bytes[..at]);
            assert_conserved(&record);
            let noted = record
                .notes()
                .iter()
                .any(|n| n.kind.severity == record::Severity::DataLoss);
            assert!(
                noted || marks(&record).len() == whole || record.sources()[0].units == 0,
                "{name} cut at {at}"
            );
        }
    }
}

#[test]
fn a_report_without_its_title_begins_with_its_columns() {
    let text = "       Mark    Elapsed  Stage\n          0          0  reset\n\
        \x20   100,000    100,000  board_init_f\n   150,000     50,000  main_loop\n";
    let source = firstlight_sources::sniff(text.as_bytes()).unwrap();
    assert_eq!(source.name(), "bootstage");
    let record = common::read(source, text.as_bytes());
    let names = marks(&record);
    assert_eq!(names.len(), 3, "{names:?}");
    // Rows alone begin in the middle.
    let rows = text.lines().skip(2).collect::<Vec<_>>().join("\n");
    let record = common::read(source, rows.as_bytes());
    assert_eq!(marks(&record).len(), 3);
}
