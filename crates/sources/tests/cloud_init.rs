//! cloud-init's log, its output and `cloud-init analyze`, against figures that were added up
//! by hand.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{assert_conserved, check_corpus, read, workspace};
use firstlight_sources::cloud_init::CloudInit;
use firstlight_sources::{Input, Recorder, Sniff, Source, sniff};
use record::{Record, mark};

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(workspace().join("corpus/cloud-init").join(name)).unwrap()
}

fn of(name: &str) -> Record {
    let record = read(&CloudInit, &bytes(name));
    assert_conserved(&record);
    record
}

/// Start and duration of a part in milliseconds, `None` where the source does not tell.
fn part(record: &Record, name: &str) -> (Option<i64>, Option<i64>) {
    let name = format!("cloud-init/{name}");
    let span = record.spans().iter().find(|s| record.name(s.name) == name);
    let span = span.unwrap();
    let ms = |t: record::Nanos| t.get() / 1_000_000;
    (span.start.map(ms), span.duration().map(ms))
}

fn noted(record: &Record, kind: &str) -> u64 {
    let notes = record.notes().iter().filter(|n| n.kind.name == kind);
    notes.map(|n| n.count).sum()
}

#[test]
fn corpus() {
    check_corpus("cloud-init");
}

#[test]
fn every_form_is_known() {
    for name in ["log.txt", "show.txt", "blame.txt", "boot.txt", "output.log"] {
        let found = sniff(&bytes(name)).unwrap();
        assert_eq!(found.name(), "cloud-init", "{name}");
    }
    // The same words on a console are the console's.
    let console = b"[    5.1] cloud-init[99]: Cloud-init v. 1 running 'init' at x. Up 5.1 seconds.";
    assert_eq!(CloudInit.sniff(console), Sniff::No);
}

#[test]
fn the_last_boot_of_a_log_lies_on_the_kernels_clock() {
    let record = of("log.txt");
    // The first line of the boot says that the kernel ran for 5.00 s: that is zero here.
    assert_eq!(record.zero(), "cloud-init/init-local");
    assert_eq!(part(&record, "init-local"), (Some(0), Some(400)));
    assert_eq!(
        part(&record, "init-network/config-growpart"),
        (Some(4_600), Some(800))
    );
    assert_eq!(part(&record, "init-network"), (Some(4_500), Some(1_200)));
    assert_eq!(
        part(
            &record,
            "modules-final/config-package_update_upgrade_install"
        ),
        (Some(10_100), Some(26_600))
    );
    let finished = record.mark("cloud-init/finished").unwrap();
    assert_eq!(finished.at.get(), 36_900_000_000);
    assert_eq!(noted(&record, "several_boots"), 4);
    assert_eq!(noted(&record, "part_failed"), 1);
    // The stage and the message at its end.
    assert_eq!(noted(&record, "part_not_ended"), 2);
}

/// Lines are written up to 0.06 s after their uptime was read, which makes no clock faster; one
/// that is set in between is another matter.
#[test]
fn the_time_of_day_runs_at_the_kernels_rate() {
    let log = |set: &str| {
        let says = |stage: &str, at: &str, up: &str| {
            format!(
                "2026-01-01 {at} - util.py[DEBUG]: Cloud-init v. 22.4.2 running '{stage}' at \
                 Thu, 01 Jan 2026 00:00:00 +0000. Up {up} seconds.\n"
            )
        };
        let part = |what: &str, at: &str| format!("2026-01-01 {at} - handlers.py[DEBUG]: {what}\n");
        says("init-local", "00:00:05,000", "5.00")
            + &says("init", "00:00:07,000", "7.00")
            + &part(
                "start: init-network/config-bootcmd: running it",
                "00:00:07,100",
            )
            + &part(
                "finish: init-network/config-bootcmd: SUCCESS: it ran",
                "00:00:09,100",
            )
            + &says("modules:config", set, "10.00")
    };
    let of = |set: &str| {
        let record = read(&CloudInit, log(set).as_bytes());
        assert_conserved(&record);
        let config = record.mark("cloud-init/modules-config").unwrap();
        let bootcmd = part(&record, "init-network/config-bootcmd");
        (bootcmd, config.at.get() / 1_000_000)
    };
    // By the kernel it is 5 s from the first line to the last.
    assert_eq!(of("00:00:10,060"), ((Some(2_100), Some(2_000)), 5_000));
    assert_eq!(of("00:00:13,000"), ((Some(2_100), Some(2_000)), 8_000));
}

#[test]
fn another_boot_of_a_log_can_be_chosen() {
    let log = bytes("log.txt");
    let boots = CloudInit.boots(&log);
    assert_eq!(boots.len(), 2);
    let mut recorder = Recorder::new();
    let input = Input {
        name: "log",
        bytes: &log,
    };
    CloudInit.read_boot(input, boots[0].clone(), &mut recorder);
    let record = recorder.finish();
    assert_eq!(
        part(&record, "init-local/search-NoCloud"),
        (Some(100), Some(1_300))
    );
    assert_eq!(noted(&record, "several_boots"), 19);
}

#[test]
fn what_analyze_prints_has_its_times() {
    let show = of("show.txt");
    let waited = part(&show, "init-local/no local data found from DataSourceOVF");
    assert_eq!(waited.1, Some(90_109));
    assert_eq!(part(&show, "init-network/config-ssh").1, Some(4));
    assert_eq!(part(&show, "init-network"), (None, Some(1_500)));
    let blame = of("blame.txt");
    assert_eq!(
        part(&blame, "init-network/config-growpart"),
        (None, Some(803))
    );
    let boot = of("boot.txt");
    let at = |name: &str| boot.mark(name).unwrap().at.get() / 1_000_000;
    assert_eq!(
        (at(mark::USERSPACE_START), at("cloud-init/activated")),
        (3_250, 4_000)
    );
    let output = of("output.log");
    let finished = output.mark("cloud-init/finished").unwrap();
    assert_eq!(finished.at.get() / 1_000_000, 389_560 - 25_770);
}
