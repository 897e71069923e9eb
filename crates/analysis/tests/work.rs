//! Work: processor time of exact boots, which a busy order of processes does not move.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::record;
use firstlight_analysis::{
    Accepted, Allowance, BlameKind, BootTimes, Chance, Gate, GateQuestion, GateVerdict,
    HistoryEntry, HistoryQuestion, HistoryVerdict, Options, RunBoot, TimeKind, WORK_OF_UNITS,
    WORK_TRACED, boots, gate, history, run_resolution,
};
use record::Nanos;

fn of(text: &str) -> Vec<(String, String, Nanos)> {
    let boot = BootTimes::of(&record(text), &Options::default());
    let times = boot.times().filter(|t| t.0.is_work());
    let times = times.map(|(kind, name, ns)| (kind.as_str().to_owned(), name, ns));
    times.collect()
}

fn row(kind: &str, name: &str, ms: i64) -> (String, String, Nanos) {
    (kind.to_owned(), name.to_owned(), Nanos::from_millis(ms))
}

/// A boot of which systemd counts the processor time of each unit, in any clock.
fn units(clock: &str) -> String {
    format!(
        "source boot.log kernel-log\nclock {clock} {clock}\nmark 0s kernel-start kernel\n\
         mark 100ms first-light -\n\
         span unit 1ms 50ms a.service cpu=7ms\nspan unit 1ms 60ms b.mount cpu=3ms\n\
         span unit 1ms 50ms system.slice cpu=99ms\nspan unit 1ms 50ms init.scope cpu=50ms\n\
         span unit 1ms 50ms firstlight-agent.service cpu=40ms\nspan unit 1ms 50ms c.target\n"
    )
}

#[test]
fn units_have_the_work_that_systemd_counts() {
    let wanted = [
        row("work", WORK_OF_UNITS, 10),
        row("unit_work", "work of a.service", 7),
        row("unit_work", "work of b.mount", 3),
    ];
    assert_eq!(of(&units("virtual")), wanted);
    // Processor time of a board counts no instructions.
    assert!(of(&units("monotonic")).is_empty());
}

const TRACED: &str = "source trace.dat trace-cmd\nclock virtual virtual\n\
     mark 0s kernel-start kernel\nmark 100ms first-light -\n\
     process 1 init - - parent=0\nprocess 7 sh 40ms 60ms parent=1\nprocess 8 sh 50ms 90ms parent=1\n\
     span initcall 10ms 35ms slow_init\n\
     slice 2 running 20ms 25ms\nslice 1 running 25ms 40ms\nslice 7 running 40ms 45ms\n\
     slice 8 running 50ms 60ms\nslice 7 running 60ms 62ms\nslice 8 running 95ms 110ms\n";

#[test]
fn a_trace_has_the_work_of_all() {
    let wanted = [
        // 20 before the first switch, 5, 15, 5, 10, 2, and 5 of the last turn.
        row("work", WORK_TRACED, 62),
        row("initcall_work", "work of slow_init", 20),
        row("process_work", "work of init", 15),
        // Two of one name: 7 and 25.
        row("process_work", "work of sh", 32),
    ];
    assert_eq!(of(TRACED), wanted);
    // A trace that lost switches has none.
    assert!(of(&format!("{TRACED}note data_loss events_lost 3 gone\n")).is_empty());
    // Nor has one of two processors.
    assert!(of(&format!("{TRACED}slice 9 running 41ms 44ms\n")).is_empty());
}

#[test]
fn a_trace_has_the_waits_of_what_ended_before_first_light() {
    let boot = BootTimes::of(&record(TRACED), &Options::default());
    let waits = boot.times().filter(|t| t.0.is_wait());
    let waits: Vec<_> = waits
        .map(|(kind, name, ns)| (kind.as_str(), name, ns))
        .collect();
    // 15 of the first, which ran for 5 of 20, and 30 of the second, which ran for 10 of 40.
    let wanted = (
        "process_wait",
        "wait of sh".to_owned(),
        Nanos::from_millis(45),
    );
    assert_eq!(waits, [wanted]);
    // What goes on at first light has no wait.
    let early = TRACED.replace("mark 100ms", "mark 55ms");
    let boot = BootTimes::of(&record(&early), &Options::default());
    assert!(!boot.times().any(|t| t.0.is_wait()));
}

/// A boot that ends at `light` ms: a program sleeps for `sleep` microseconds, and so does the shell
/// that starts it; another one waits for `wanders` ms.
fn sleeping(light: i64, sleep: i64, wanders: i64) -> BootTimes {
    let text = format!(
        "source trace.dat trace-cmd\nclock virtual virtual\nmark 0s kernel-start kernel\n\
         mark {light}ms first-light -\nprocess 7 sh 100ms {}us parent=1\n\
         process 8 sleep 100ms {}us parent=7\nprocess 9 udevadm 100ms {}ms parent=1\n\
         slice 1 running 0ms 50ms\n",
        100_010 + sleep,
        100_000 + sleep,
        100 + wanders
    );
    BootTimes::of(&record(&text), &Options::default())
}

/// First light and one wait scatter by 100 ms.
fn sleepers(sleep: i64) -> [BootTimes; 4] {
    let lights = [1_000, 1_030, 1_100, 1_010];
    std::array::from_fn(|i| {
        let light = lights[i];
        sleeping(light, sleep + 30 * i as i64, light - 900)
    })
}

#[test]
fn a_gate_is_closed_by_a_wait_that_time_hides() {
    for (more, verdict) in [
        (0, GateVerdict::Passed),
        (4_000, GateVerdict::Passed),
        (9_000, GateVerdict::Slower),
        (-9_000, GateVerdict::Passed),
    ] {
        let gate = asked(&sleepers(20_000), &sleepers(20_000 + more));
        let waits = gate.waits.unwrap();
        assert_eq!(gate.verdict, verdict, "{more}");
        // The shell waits as long as the program: the time counts once.
        assert_eq!(waits.delta, Nanos(more * 1_000));
        assert_eq!(waits.items.len(), if more == 0 { 0 } else { 2 });
        assert!(gate.slower.iter().all(|i| !i.kind.is_wait()));
    }
}

#[test]
fn a_run_tells_apart_by_work_and_waits_what_time_hides() {
    let mut boots = Vec::new();
    let mut add = |variant: &'static str, times: BootTimes, light: i64| {
        boots.push(RunBoot {
            variant,
            first_light: Some(Nanos::from_millis(light)),
            times,
        });
    };
    for i in 0..24_i64 {
        let light = 10_000 + i * 7 % 24 * 4;
        add(
            "alike",
            sleeping(light, 20_000 + i * 5 % 24, i * 11 % 24 * 5),
            light,
        );
    }
    for i in 0..6_i64 {
        let light = 10_010 + i * 16;
        let times = sleeping(light, 40_000 + i, i * 20);
        add("sleeps", times, light);
    }
    let changed = ["sleeps".to_owned()];
    let found = run_resolution(&boots, "alike", &changed, &[]).unwrap();
    for row in &found.ensembles {
        // All have worked alike, so no item is left to judge.
        assert_eq!(row.false_alarms.work, None);
        // Fewer boots may have the same wait by chance.
        assert_eq!(row.false_alarms.waits.is_some(), row.boots >= 4);
        let waits = row.false_alarms.waits.unwrap_or_default();
        assert!(waits < 0.005, "{row:?}");
        assert!(row.false_alarms.any >= row.false_alarms.time.max(waits));
    }
    let [sleeps] = found.changed.as_slice() else {
        panic!("{:?}", found.changed);
    };
    assert_eq!(sleeps.found.len(), 5);
    for (boots, shares) in sleeps.found.iter().filter(|f| f.0 >= 4) {
        assert_eq!((shares.waits, shares.any), (Some(1.0), 1.0), "{boots}");
        assert!(shares.time < 0.05, "{shares:?}");
    }
    // Boots without captures are judged by first light alone.
    for boot in &mut boots {
        boot.times = BootTimes::default();
    }
    let found = run_resolution(&boots, "alike", &changed, &[]).unwrap();
    let first = &found.ensembles[0].false_alarms;
    assert_eq!((first.work, first.waits), (None, None));
}

/// A boot that ends at `light` ms, with a unit that works for `work` microseconds.
fn boot(light: i64, work: i64) -> BootTimes {
    let text = format!(
        "source boot.log kernel-log\nclock virtual virtual\nmark 0s kernel-start kernel\n\
         mark {light}ms first-light -\nspan unit 1ms 50ms app.service cpu={work}us\n\
         span unit 1ms 50ms other.service cpu=90ms\n"
    );
    BootTimes::of(&record(&text), &Options::default())
}

/// First light scatters by 100 ms, and the work by 0.1 ms.
fn four(work: i64) -> [BootTimes; 4] {
    let lights = [1_000, 1_030, 1_100, 1_010];
    std::array::from_fn(|i| boot(lights[i], work + 30 * i as i64))
}

fn asked(base: &[BootTimes], new: &[BootTimes]) -> Gate {
    let boots = boots(base, Some(new)).unwrap();
    let question = GateQuestion {
        see: Some(Allowance::Percent(20.0)),
        ..GateQuestion::default()
    };
    gate(&boots, &question).unwrap()
}

#[test]
fn a_gate_is_closed_by_work_that_time_hides() {
    // Half a percent of 1,020 ms is fine.
    for (more, verdict) in [
        (0, GateVerdict::Passed),
        (4_000, GateVerdict::Passed),
        (9_000, GateVerdict::Slower),
        (-9_000, GateVerdict::Passed),
    ] {
        let gate = asked(&four(20_000), &four(20_000 + more));
        let work = gate.work.unwrap();
        assert_eq!(gate.verdict, verdict, "{more}");
        assert_eq!(gate.compared.unwrap().verdict, GateVerdict::Passed);
        assert_eq!(work.delta, Nanos(more * 1_000));
        assert_eq!(work.items.len(), usize::from(more != 0));
        // Times have tables of their own.
        assert!(gate.slower.is_empty() && gate.faster.is_empty());
    }
    // One boot each says nothing of how far work is moved by anything.
    assert_eq!(asked(&four(1)[..1], &four(90_000)[..1]).work, None);
    // Less than before does not open it for what takes longer.
    let slow: Vec<BootTimes> = (0..4).map(|i| boot(1_500 + i, 1_000)).collect();
    assert_eq!(asked(&four(20_000), &slow).verdict, GateVerdict::Slower);
}

#[test]
fn a_history_is_judged_by_work_beside_first_light() {
    let entry = |i: usize| {
        let light = 1_000 + (i * 7_919 % 101) as i64;
        let work = 20_000 + (i * 104_729 % 97) as i64 + if i < 30 { 0 } else { 5_000 };
        let times = boot(light, work).times().collect();
        HistoryEntry {
            label: format!("c{i}"),
            times,
            ..HistoryEntry::default()
        }
    };
    let mut entries: Vec<HistoryEntry> = (0..50).map(entry).collect();
    let asked = history(&entries, None, &HistoryQuestion::default());
    let HistoryVerdict::Regressed(at) = asked.verdict else {
        panic!("{:?}", asked.verdict);
    };
    let change = &asked.changes[at];
    assert_eq!((change.kind, change.index), (TimeKind::Work, 30));
    assert_eq!(change.item, WORK_OF_UNITS);
    assert_eq!(change.items[0].name, "work of app.service");
    assert_eq!(change.items[0].kind, TimeKind::WorkOf(BlameKind::Unit));
    // Entries of an older program have no work: the others are judged.
    for entry in &mut entries[..10] {
        entry.times.retain(|t| !t.0.is_work());
    }
    let asked = history(&entries, None, &HistoryQuestion::default());
    assert!(matches!(asked.verdict, HistoryVerdict::Regressed(_)));
    for entry in &mut entries {
        entry.times.retain(|t| !t.0.is_work());
    }
    let asked = history(&entries, None, &HistoryQuestion::default());
    assert_eq!(asked.verdict, HistoryVerdict::Fine);
}

/// Entries of exact boots in which udev's work hides a change of the sum: fifty units, of which
/// one works for `more` microseconds more from entry 30 on.
fn beside_udev(seed: u64, more: i64) -> Vec<HistoryEntry> {
    let mut chance = Chance(seed);
    let mut noise = |size: usize| (0..4).map(|_| chance.below(size) as i64).sum::<i64>();
    let entry = |i: usize| {
        let work = TimeKind::WorkOf(BlameKind::Unit);
        let mut times = vec![(work, "work of udev".to_owned(), noise(150_000_000))];
        times.extend((0..49).map(|unit| {
            let step = if unit == 0 && i >= 30 {
                more * 1_000
            } else {
                0
            };
            let name = format!("work of unit-{unit:02}");
            (work, name, 20_000_000 + noise(200_000) + step)
        }));
        let sum: i64 = times.iter().map(|t| t.2).sum();
        let light = 5_000_000_000 + noise(40_000_000);
        times.push((TimeKind::Work, WORK_OF_UNITS.to_owned(), sum));
        times.push((TimeKind::FirstLight, String::new(), light));
        HistoryEntry {
            label: format!("c{i}"),
            times: times
                .into_iter()
                .map(|(k, n, ns)| (k, n, Nanos(ns)))
                .collect(),
            ..HistoryEntry::default()
        }
    };
    (0..50).map(entry).collect()
}

#[test]
fn a_history_is_judged_by_the_work_of_each_item() {
    // A part of 0.5 % of first light, 25 ms, may come; more is seen in the unit that has it.
    for (more, slower) in [(0, false), (10_000, false), (30_000, true)] {
        for seed in 0..4 {
            let entries = beside_udev(seed, more);
            let asked = history(&entries, None, &HistoryQuestion::default());
            let HistoryVerdict::Regressed(at) = asked.verdict else {
                assert!(!slower, "{more} {seed}: {:?}", asked.verdict);
                continue;
            };
            assert!(slower, "{more} {seed}");
            let change = &asked.changes[at];
            assert_eq!(change.item, "work of unit-00");
            assert_eq!((change.index, change.is_judged), (30, true));
            assert!(asked.resolution.iter().any(|r| r.item == change.item));
            // Another limit, another time, or somebody who accepts it.
            let question = HistoryQuestion {
                allow: Some(Allowance::Percent(1.0)),
                ..HistoryQuestion::default()
            };
            let asked = history(&entries, None, &question);
            assert_eq!(asked.verdict, HistoryVerdict::Fine);
            let question = HistoryQuestion {
                of: Some("first_light"),
                ..HistoryQuestion::default()
            };
            let asked = history(&entries, None, &question);
            assert_eq!(asked.verdict, HistoryVerdict::Fine);
            let question = HistoryQuestion {
                accepted: vec![Accepted {
                    label: "c30".to_owned(),
                    item: None,
                    why: "wanted".to_owned(),
                }],
                ..HistoryQuestion::default()
            };
            let asked = history(&entries, None, &question);
            assert_eq!(asked.verdict, HistoryVerdict::Fine);
        }
    }
}
