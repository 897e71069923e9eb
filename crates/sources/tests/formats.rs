//! What every format says of itself, and what it does unless it says otherwise.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use firstlight_sources::state::Meminfo;
use firstlight_sources::{Input, Recorder, SOURCES, Sniff, Source, best, named, sniff};
use std::collections::BTreeSet;

fn names(is: impl Fn(&dyn Source) -> bool) -> Vec<&'static str> {
    let of = SOURCES.iter().filter(|s| is(**s)).map(|s| s.name());
    let mut all: Vec<&str> = of.collect();
    all.sort_unstable();
    all
}

#[test]
fn each_format_has_a_name_of_its_own_and_a_line_of_description() {
    let all: BTreeSet<&str> = SOURCES.iter().map(|s| s.name()).collect();
    assert_eq!(all.len(), SOURCES.len());
    for source in SOURCES {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
        assert!(source.name().chars().all(is_plain), "{}", source.name());
        let description = source.description();
        assert!(!description.is_empty() && !description.contains('\n'));
        assert_eq!(named(source.name()).unwrap().name(), source.name());
    }
    assert!(named("no-such-format").is_none());
}

/// Logs are kept whole, as evidence. Traces are not, however long they are.
#[test]
fn only_traces_are_read_in_bounded_memory() {
    assert_eq!(
        names(|s| s.is_bounded()),
        [
            "blkparse",
            "blktrace",
            "ftrace",
            "kft",
            "logic-csv",
            "trace.dat",
            "vcd",
            "video",
        ]
    );
}

#[test]
fn only_the_charts_of_systemd_are_drawings() {
    assert_eq!(
        names(|s| s.reads_drawings()),
        ["systemd-bootchart", "systemd-plot"]
    );
}

/// A processor that did nothing leaves an empty file of blktrace's.
#[test]
fn only_a_part_of_a_trace_may_be_empty() {
    let empty = |name: &'static str| names(move |s| s.may_be_empty(name));
    assert_eq!(empty("sda.blktrace.3"), ["blktrace"]);
    assert_eq!(empty("dmesg.txt"), Vec::<&str>::new());
}

#[test]
fn a_format_without_boots_has_one_and_reads_all_of_it() {
    let one = b"MemTotal:        1024 kB\nMemFree:          512 kB\n";
    assert_eq!(Meminfo.boots(one), []);
    let input = |name| Input { name, bytes: one };
    let mut recorder = Recorder::new();
    Meminfo.read_boot(input("all"), 0..5, &mut recorder);
    let record = recorder.finish();
    assert_eq!((record.sources().len(), record.sources()[0].units), (1, 2));
    // Files that are no parts of one stream are read one after the other.
    let mut recorder = Recorder::new();
    Meminfo.read_all(&[input("a"), input("b")], &mut recorder);
    let record = recorder.finish();
    let read: Vec<(&str, u64)> = record
        .sources()
        .iter()
        .map(|s| (s.name.as_str(), s.units))
        .collect();
    assert_eq!(read, [("a", 2), ("b", 2)]);
}

#[test]
fn a_page_is_no_log_whatever_stands_in_it() {
    let log = "[    0.000000] Linux version 6.12.0 (gcc) #1\n[    1.000000] x\n";
    assert_eq!(best(log.as_bytes()).unwrap().0, Sniff::Yes);
    for begin in ["<!DOCTYPE html>\n", "<svg>\n", "{\"traceEvents\": [\n"] {
        let page = format!("{begin}{log}");
        assert!(sniff(page.as_bytes()).is_none(), "{begin}");
    }
}
