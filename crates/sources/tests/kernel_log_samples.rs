//! Real logs against what other people's tools and scripts say of them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking"
)]

mod common;

use record::{Doubt, Record, Span, SpanKind, mark};
use serde_json::Value;
use std::collections::BTreeSet;

/// A sample as a record, and what is expected of it.
fn sample(name: &str) -> Option<(Record, Value)> {
    let bytes = common::sample(name)?;
    let expect = common::expected(name)?;
    assert!(expect.is_object(), "no expectations of {name}");
    let source = firstlight_sources::sniff(&bytes).unwrap();
    assert_eq!(source.name(), "kernel-log");
    Some((common::read(source, &bytes), expect))
}

fn of_kind(record: &Record, kind: SpanKind) -> Vec<&Span> {
    record.spans().iter().filter(|s| s.kind == kind).collect()
}

fn count(record: &Record, kind: &str) -> u64 {
    let note = record.notes().iter().find(|n| n.kind.name == kind);
    note.map_or(0, |n| n.count)
}

fn at_us(record: &Record, name: &str) -> Option<i64> {
    record.mark(name).map(|m| m.at.get() / 1_000)
}

fn us(seconds: &Value) -> Option<i64> {
    seconds.as_f64().map(|s| (s * 1e6).round() as i64)
}

const DISAGREE: [Doubt; 4] = [
    Doubt::Overlap,
    Doubt::JiffyClock,
    Doubt::Console,
    Doubt::Disagree,
];

/// What holds for every sample.
fn check(name: &str) -> Option<(Record, Value)> {
    let (record, expect) = sample(name)?;
    let source = &record.sources()[0];
    assert_eq!(source.units, expect["lines"].as_u64().unwrap());
    assert_eq!(source.units, source.events + source.noted);

    let said = &expect["initcalls"];
    let calls = of_kind(&record, SpanKind::Initcall);
    let paired: Vec<&Span> = calls
        .iter()
        .copied()
        .filter(|s| s.wall().is_some())
        .collect();
    let number = |v: &Value| v.as_u64().unwrap_or(0);
    assert_eq!(paired.len() as u64, number(&said["paired"]));
    let lost_end = calls
        .iter()
        .filter(|s| s.doubt == Some(Doubt::LostEnd))
        .count();
    assert_eq!(lost_end as u64, number(&said["unmatched_calling"]));
    assert_eq!(lost_end as u64, count(&record, "lost_initcall_end"));
    let lost_start = calls.iter().filter(|s| s.doubt == Some(Doubt::LostStart));
    let lost_start: Vec<_> = lost_start.collect();
    assert_eq!(lost_start.len() as u64, number(&said["unmatched_returned"]));
    assert!(
        lost_start
            .iter()
            .all(|s| s.start.is_none() && s.reported.is_some())
    );
    assert_eq!(
        lost_start.len() as u64,
        count(&record, "lost_initcall_start")
    );
    let failed = paired.iter().filter(|s| s.outcome != Some(0)).count();
    assert_eq!(failed as u64, number(&said["nonzero_return"]));
    let sum = |f: &dyn Fn(&Span) -> i64| paired.iter().map(|s| f(s)).sum::<i64>() / 1_000;
    if !paired.is_empty() {
        assert_eq!(
            sum(&|s| s.wall().unwrap().get()),
            said["sum_wall_us"].as_i64().unwrap()
        );
        let kernel = sum(&|s| s.reported.unwrap().get());
        assert_eq!(kernel, said["sum_kernel_said_us"].as_i64().unwrap());
        let tasks: BTreeSet<_> = paired.iter().map(|s| s.track.unwrap()).collect();
        assert_eq!(tasks.len() as u64, number(&said["distinct_pids"]));
        let mut longest = paired.clone();
        longest.sort_by_key(|s| std::cmp::Reverse(s.wall()));
        for (span, row) in longest.iter().zip(said["top10_wall"].as_array().unwrap()) {
            let name = record.name(span.name).split(' ').next().unwrap();
            let wall = span.wall().unwrap().get() / 1_000;
            let kernel = span.reported.unwrap().get() / 1_000;
            let track = record.name(span.track.unwrap());
            assert_eq!(
                (name, wall, kernel),
                (
                    row[0].as_str().unwrap(),
                    row[2].as_i64().unwrap(),
                    row[3].as_i64().unwrap(),
                )
            );
            assert_eq!(track, format!("task {}", row[1]));
        }
    }
    let differ = paired
        .iter()
        .filter(|s| (s.wall().unwrap() - s.reported.unwrap()).abs().get() > 1_000_000);
    let differ: Vec<_> = differ.collect();
    let doubted: Vec<_> = paired.iter().filter(|s| s.doubt.is_some()).collect();
    assert_eq!(differ, doubted);
    assert!(doubted.iter().all(|s| DISAGREE.contains(&s.doubt.unwrap())));
    if let Some(n) = said["wall_differs_from_said_by_more_than_1ms"].as_u64() {
        assert_eq!(differ.len() as u64, n);
    }

    let said = &expect["probes"];
    let probes = of_kind(&record, SpanKind::Probe);
    assert_eq!(probes.len() as u64, number(&said["lines"]));
    assert!(probes.iter().all(|s| s.wall() == s.reported));
    let with = |v: i32| probes.iter().filter(|s| s.outcome == Some(v)).count() as u64;
    assert_eq!(with(0), number(&said["ok"]));
    assert_eq!(with(-517), number(&said["deferred_minus_517"]));
    assert_eq!(with(517), number(&said["deferred_plus_517"]));
    let deferred = probes.iter().filter(|s| s.outcome.unwrap().abs() == 517);
    let devices: BTreeSet<_> = deferred.map(|s| s.name).collect();
    let devices = devices.len() as u64;
    assert_eq!(devices, number(&said["devices_deferred_at_least_once"]));
    assert_eq!(count(&record, "probe_deferred"), number(&said["deferred"]));

    assert_eq!(
        count(&record, "backward_step"),
        number(&expect["backward_steps"])
    );
    assert_eq!(
        count(&record, "zero_stamp"),
        number(&expect["zero_stamp_lines"])
    );
    let without = number(&expect["lines"]) - number(&expect["stamped_lines"]);
    let unstamped = count(&record, "unstamped_line") + count(&record, "blank_line");
    assert_eq!(unstamped, without);
    assert_eq!(
        at_us(&record, mark::INIT_STARTED),
        us(&expect["run_init_s"])
    );
    let freed = us(&expect["freeing_unused_kernel_s"]);
    assert_eq!(at_us(&record, mark::MEMORY_FREED), freed);
    assert_eq!(record.zero(), mark::KERNEL_CLOCK_START);
    let first = us(&expect["first_stamp_s"]).unwrap();
    assert_eq!(count(&record, "log_start_lost"), u64::from(first > 0));
    Some((record, expect))
}

#[test]
fn x13s() {
    let Some((record, _)) = check("dmesg/x13s-dmesg.txt") else {
        return;
    };
    let calls = of_kind(&record, SpanKind::Initcall);
    let apm = calls
        .iter()
        .find(|s| record.name(s.name).starts_with("apm_driver_init "));
    let apm = apm.unwrap();
    assert_eq!(record.name(apm.name), "apm_driver_init [snd_q6apm]");
    assert_eq!(apm.wall().unwrap().get(), 5_313_382_000);
    assert_eq!(apm.reported.unwrap().get(), 1_472_658_000);
    assert_eq!(apm.doubt, Some(Doubt::Overlap));
    let doubts = |d| calls.iter().filter(|s| s.doubt == Some(d)).count();
    // Two modules print a line right after their start: the console took the time.
    assert_eq!((doubts(Doubt::Overlap), doubts(Doubt::Console)), (47, 2));
    let note = record
        .notes()
        .iter()
        .find(|n| n.kind.name == "probe_deferred");
    assert_eq!(note.unwrap().detail, "534 deferrals on 46 devices");
    for (name, us) in [
        (mark::KERNEL_START, 0),
        (mark::CONSOLE_ENABLED, 298),
        (mark::CLOCKSOURCE_SWITCH, 79_469),
        (mark::INITRD_START, 690_048),
        (mark::SYSTEMD_STARTED, 715_057),
        (mark::FIRST_USERSPACE_LINE, 701_473),
        (mark::USERSPACE_START, 5_288_895),
    ] {
        assert_eq!(at_us(&record, name), Some(us), "{name}");
    }
    assert!(
        record
            .fact("kernel.version")
            .unwrap()
            .starts_with("6.13.1-300.vanilla.fc41.aarch64 ")
    );
    assert!(
        record
            .fact("kernel.cmdline")
            .unwrap()
            .contains(" initcall_debug ")
    );
}

#[test]
fn pi_zero() {
    let Some((record, _)) = check("dmesg/rpi-zero-w-normal-dmesg.txt") else {
        return;
    };
    for (name, us) in [
        (mark::CLOCKSOURCE_SWITCH, 221_088),
        (mark::CONSOLE_ENABLED, 2_581_290),
        (mark::ROOT_MOUNTED, 2_960_519),
        (mark::USERSPACE_START, 3_011_701),
        (mark::SYSTEMD_STARTED, 3_738_466),
    ] {
        assert_eq!(at_us(&record, name), Some(us), "{name}");
    }
    assert!(record.mark(mark::INITRD_START).is_none());
}

#[test]
fn pi_4_heads_and_tail() {
    for run in ["run1-head", "run2-head", "run3-head", "run1-tail"] {
        let name = format!("dmesg/rpi4-6.18.39-{run}.txt");
        let Some((record, expect)) = check(&name) else {
            return;
        };
        if let Some(level) = expect["initcall_levels"].get(0) {
            let name = format!("initcall-level-{}", level[0].as_str().unwrap());
            assert_eq!(at_us(&record, &name), us(&level[1]));
        }
        let jiffy = of_kind(&record, SpanKind::Initcall);
        let jiffy = jiffy.iter().filter(|s| s.doubt == Some(Doubt::JiffyClock));
        // These are said to have taken a tick of 4 ms, and took far less.
        let ticks = &expect["initcalls"]["said_multiple_of_4000_and_nonzero"];
        assert_eq!(jiffy.count() as u64, ticks.as_u64().unwrap(), "{run}");
    }
}
