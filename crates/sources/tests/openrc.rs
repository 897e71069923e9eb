//! OpenRC's log, against figures that were added up by hand.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{assert_conserved, check_corpus, damage, read, workspace};
use firstlight_sources::openrc::Openrc;
use firstlight_sources::{Input, Recorder, Source, sniff};
use proptest::prelude::*;
use record::{Record, mark};

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(workspace().join("corpus/openrc").join(name)).unwrap()
}

/// Start and duration of the runlevels, in seconds.
fn runlevels(record: &Record) -> Vec<(String, i64, Option<i64>)> {
    let s = |t: record::Nanos| t.get() / 1_000_000_000;
    let spans = record.spans().iter();
    spans
        .map(|span| {
            let name = record.name(span.name).to_owned();
            (name, s(span.start.unwrap()), span.duration().map(s))
        })
        .collect()
}

fn noted(record: &Record, kind: &str) -> u64 {
    let notes = record.notes().iter().filter(|n| n.kind.name == kind);
    notes.map(|n| n.count).sum()
}

#[test]
fn corpus() {
    check_corpus("openrc");
}

#[test]
fn the_last_boot_has_its_runlevels() {
    let log = bytes("two-boots.log");
    assert_eq!(sniff(&log).unwrap().name(), "openrc");
    let record = read(&Openrc, &log);
    assert_conserved(&record);
    let row = |name: &str, start, took| (format!("openrc/{name}"), start, Some(took));
    let expected = [
        row("sysinit", 0, 2),
        row("boot", 2, 3),
        row("default", 5, 16),
    ];
    assert_eq!(runlevels(&record), expected);
    let end = record.mark(mark::STARTUP_FINISHED).unwrap().at;
    assert_eq!(end.get(), 21_000_000_000);
    // Eight lines of services and of what they say.
    assert_eq!(noted(&record, "no_service_times"), 8);
}

#[test]
fn a_shutdown_parts_two_boots() {
    let log = bytes("two-boots.log");
    let boots = Openrc.boots(&log);
    assert_eq!(boots.len(), 2);
    let mut recorder = Recorder::new();
    let name = "rc.log";
    let input = Input { name, bytes: &log };
    Openrc.read_boot(input, boots[0].clone(), &mut recorder);
    let record = recorder.finish();
    assert_conserved(&record);
    let row = |name: &str, start, took| (format!("openrc/{name}"), start, Some(took));
    assert_eq!(
        runlevels(&record),
        [row("boot", 0, 8), row("default", 8, 1)]
    );
}

#[test]
fn a_log_that_ends_early_says_so() {
    let record = read(&Openrc, &bytes("cut.log"));
    assert_conserved(&record);
    assert_eq!(runlevels(&record), [("openrc/boot".to_owned(), 0, None)]);
    assert_eq!(noted(&record, "runlevel_not_ended"), 1);
    assert!(record.mark(mark::STARTUP_FINISHED).is_none());
}

proptest! {
    #[test]
    fn damage_is_counted(damages in prop::collection::vec(damage(), 0..8)) {
        let mut bytes = bytes("two-boots.log");
        for damage in &damages {
            bytes = damage.apply(&bytes);
        }
        assert_conserved(&read(&Openrc, &bytes));
    }
}
