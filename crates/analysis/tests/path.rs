//! The critical path of small boots. Each test states its boot and every item of its
//! path, so that it can be read alone; boots that differ in little look alike here.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;

use firstlight_analysis::{
    CriticalPath, Options, critical_path, critical_path_of_processes, phases, phases_with,
};
use proptest::prelude::*;
use std::fmt::Write;

fn path(boot: &str) -> CriticalPath {
    let record = common::record(boot);
    let phases = phases_with(&record, &Options::default());
    critical_path(&record, &phases)
}

/// Kind, name, length, saving if halved; in milliseconds.
fn items(path: &CriticalPath) -> Vec<(&str, &str, i64, i64)> {
    let ms = |t: record::Nanos| t.get() / 1_000_000;
    let items = path.items.iter();
    items
        .map(|i| {
            let length = ms(i.end - i.start);
            (i.kind.as_str(), &*i.name, length, ms(i.saving_if_halved))
        })
        .collect()
}

const KERNEL: &str = "\
source boot.log kernel-log
clock printk printk
mark 0s power-on firmware
mark 1s kernel-start kernel
span initcall 1100ms 1300ms a_init track=1
span initcall 1150ms 1200ms inner_init track=1
span initcall 1150ms 1900ms async_init track=9
span initcall 1300ms 1400ms b_init track=1
mark 2s userspace-start userspace
";

#[test]
fn a_kernel_without_initcalls_is_told_by_its_lines() {
    let boot = "\
source boot.log kernel-log
clock printk printk
mark 0s kernel-clock-start kernel
say 10ms 6 Magic number: 1:28:636
say 300ms 6 ata7: SATA link up 6.0 Gbps (SStatus 133 SControl 300)
say 301ms 6 a line of somebody
say 600ms 6 dwc2 20980000.usb: version 3.00a
say 1100ms 6 dwc2 20980000.usb: bound
mark 2s userspace-start userspace
mark 3s first-light -
";
    assert_eq!(
        items(&path(boot)),
        [
            ("phase", "kernel", 10, 5),
            ("kernel", "the kernel: ata7: wait for the link", 290, 145),
            ("phase", "kernel", 300, 150),
            (
                "kernel",
                "the kernel: between lines of dwc2 20980000.usb",
                500,
                250
            ),
            ("phase", "kernel", 900, 450),
            ("phase", "userspace", 1000, 500),
        ]
    );
}

#[test]
fn before_userspace_a_boot_is_one_thing_after_another() {
    let path = path(&format!("{KERNEL}mark 3s first-light -\n"));
    assert!(!path.knows_units);
    assert_eq!(
        items(&path),
        [
            ("phase", "firmware", 1000, 500),
            ("kernel", "the kernel, before its first initcall", 100, 50),
            ("initcall", "a_init", 200, 100),
            ("initcall", "b_init", 100, 50),
            ("kernel", "the kernel, after b_init", 600, 300),
            ("phase", "userspace", 1000, 500),
        ]
    );
}

/// The first program loads modules one after another; what others load may be waited for by
/// nobody.
#[test]
fn modules_that_the_first_program_loads_are_items_of_the_initrd() {
    let boot = |first: &str| {
        path(&format!(
            "source boot.log kernel-log\nclock printk printk\n\
             mark 0s kernel-start kernel\nmark 1s initrd-start initrd\n\
             span initcall 1100ms 1110ms journal_init [jbd2] track={first}\n\
             span initcall 1450ms 1460ms ext4_init_fs [ext4] track={first}\n\
             mark 2s userspace-start userspace\nmark 3s first-light -\n"
        ))
    };
    let loaded = boot("1");
    assert_eq!(
        items(&loaded)[1..6],
        [
            ("phase", "initrd", 100, 50),
            ("initcall", "journal_init [jbd2]", 10, 5),
            ("kernel", "the kernel loads ext4", 340, 170),
            ("initcall", "ext4_init_fs [ext4]", 10, 5),
            ("phase", "initrd", 540, 270),
        ]
    );
    let by_another = boot("31");
    assert_eq!(items(&by_another)[1], ("phase", "initrd", 1000, 500));
}

/// A longer probe is told from the initcall that did it. What may be another task's,
/// or is not known to have taken so long, is not.
#[test]
fn what_an_initcall_probes_is_an_item() {
    let path = path(
        "source boot.log kernel-log\nclock printk printk\n\
         mark 0s kernel-start kernel\n\
         span initcall 100ms 500ms bus_init track=1\n\
         span probe 150ms 200ms its-child outcome=0 track=1\n\
         span probe 150ms 250ms slow-device outcome=0 track=1\n\
         span probe 260ms 280ms of-a-worker outcome=0 track=45\n\
         span probe 300ms 340ms early-device outcome=-517\n\
         span probe 341ms 341ms quick-device outcome=0\n\
         span probe 350ms 390ms not-known outcome=0 doubt=jiffy_clock\n\
         span initcall 390ms 480ms async_init track=9\n\
         span probe 400ms 440ms of-another outcome=0\n\
         mark 1s userspace-start userspace\nmark 1s first-light -\n",
    );
    assert_eq!(
        items(&path),
        [
            ("kernel", "the kernel, before its first initcall", 100, 50),
            ("initcall", "bus_init", 50, 25),
            ("probe", "slow-device", 100, 50),
            ("initcall", "bus_init", 50, 25),
            ("deferral", "early-device", 40, 20),
            ("initcall", "bus_init", 160, 80),
            ("kernel", "the kernel, after bus_init", 500, 250),
        ]
    );
}

/// A module is loaded, and its driver waits for the device: that is the probe's time,
/// and it is of the task that ran when the probe was over.
#[test]
fn a_probe_of_a_module_waits_for_its_device() {
    let path = path(
        "source trace.dat trace.dat\nclock boot monotonic\n\
         mark 0s kernel-start kernel\nmark 1s userspace-start userspace\n\
         mark 2s first-light -\nprocess 1 insmod 0ms -\n\
         slice 1 running 900ms 1300ms\n\
         span initcall 1100ms 1900ms host_init track=1\n\
         span probe 1200ms 1800ms adapter0 outcome=0\n\
         wake 1700ms 0 1\nslice 1 running 1700ms 2000ms\n",
    );
    assert_eq!(
        items(&path)[1..],
        [
            ("process", "insmod (1)", 100, 50),
            ("initcall", "host_init", 100, 50),
            ("probe", "adapter0", 600, 300),
            ("initcall", "host_init", 100, 50),
            ("process", "insmod (1)", 100, 50),
        ]
    );
}

/// The log does not say who probed. Who ran when the line came is known only where the
/// trace goes so far, and only as well as the clocks are.
#[test]
fn who_probed_is_not_guessed() {
    let on = |clocks: &str, last: &str| {
        let path = path(&format!(
            "source trace.dat trace.dat\nclock sched-clock monotonic\nclock printk printk\n{clocks}\
             mark 0s kernel-start kernel\nmark 1s userspace-start userspace\n\
             mark 2s first-light -\nspan probe 1200ms 1800ms adapter0 outcome=0\n\
             clock sched-clock monotonic\nprocess 1 insmod 0ms -\n\
             slice 1 running 900ms 1300ms\nwake 1700ms 0 1\n{last}"
        ));
        let probes = path.items.iter().filter(|i| i.kind.as_str() == "probe");
        probes.map(|i| i.name.clone()).collect::<Vec<_>>()
    };
    let related = "relate sched-clock 0s printk 0s\n";
    let whole = "slice 1 running 1700ms 2000ms\n";
    let hole = "slice 1 running 1700ms 1750ms\nslice 1 running 1850ms 2000ms\n";
    assert_eq!(on(related, whole), ["adapter0"]);
    assert!(on(related, hole).is_empty());
    assert!(on("", whole).is_empty());
}

/// A task works on its probe from one sleep to the next, while another one has the
/// processor now and then. A sleeper ends 48 ms before it, and is waited for, too: that
/// bounds what is saved by all parts of the probe together, as it would in an initcall.
#[test]
fn the_work_of_a_probe_is_shortened_as_a_whole() {
    let half = |kind: &str| {
        let mut text = String::from(
            "source trace.dat trace.dat\nclock boot monotonic\n\
             mark 0s kernel-start kernel\nmark 1s userspace-start userspace\n\
             mark 2020ms first-light -\nprocess 1 init 0ms -\n\
             process 7 insmod 1100ms 2000ms parent=1\n\
             process 8 sleeper 1100ms 1954ms parent=1\nprocess 9 other 0ms -\n\
             slice 1 running 900ms 1100ms\nslice 8 running 1100ms 1104ms\n\
             slice 7 runnable 1100ms 1104ms\nwake 1104ms 0 9\n",
        );
        for turn in 0..106 {
            let at = 1_104 + 8 * turn;
            let (own, other) = (at + 4, at + 8);
            writeln!(text, "slice 7 running {at}ms {own}ms").unwrap();
            writeln!(text, "slice 7 runnable {own}ms {other}ms").unwrap();
            writeln!(text, "slice 9 running {own}ms {other}ms").unwrap();
        }
        text += "wake 1952ms 0 8\nslice 8 running 1952ms 1954ms\n\
                 wake 1954ms 8 1\nslice 1 running 1954ms 1956ms\n\
                 slice 7 runnable 1952ms 1956ms\nslice 7 running 1956ms 2000ms\n\
                 wake 2000ms 7 1\nslice 1 running 2000ms 2020ms\n";
        writeln!(text, "span {kind} 1104ms 2000ms it outcome=0 track=7").unwrap();
        let items = path(&text).items;
        let its = items.iter().filter(|i| i.name == "it");
        its.map(|i| i.saving_if_halved.get()).sum::<i64>()
    };
    let (probe, initcall) = (half("probe"), half("initcall"));
    assert_eq!(probe, initcall);
    assert!((20_000_000..=60_000_000).contains(&probe), "{probe}");
}

/// A probe is of the call that it is within, also if it takes the whole of it.
#[test]
fn a_probe_has_its_call() {
    let calls = |path: CriticalPath| {
        let items = path
            .items
            .into_iter()
            .filter(|i| i.kind.as_str() == "probe");
        items.map(|i| (i.name, i.call)).collect::<Vec<_>>()
    };
    let of = |name: &str, call: &str| (name.to_owned(), Some(call.to_owned()));
    let kernel = path(
        "source boot.log kernel-log\nclock printk printk\n\
         mark 0s kernel-start kernel\n\
         span initcall 100ms 300ms a_init track=1\n\
         span initcall 300ms 500ms b_init track=1\n\
         span probe 300ms 500ms device outcome=0\n\
         mark 1s userspace-start userspace\nmark 1s first-light -\n",
    );
    assert_eq!(calls(kernel), [of("device", "b_init")]);
    let module = path(
        "source trace.dat trace.dat\nclock boot monotonic\n\
         mark 0s kernel-start kernel\nmark 1s userspace-start userspace\n\
         mark 2s first-light -\nprocess 1 insmod 0ms -\n\
         slice 1 running 900ms 2000ms\nwake 900ms 0 1\n\
         span initcall 1100ms 1900ms host_init track=1\n\
         span probe 1100ms 1900ms adapter0 outcome=0 track=1\n\
         span probe 1920ms 1980ms alone outcome=0 track=1\n",
    );
    assert_eq!(
        calls(module),
        [of("adapter0", "host_init"), ("alone".to_owned(), None)]
    );
}

#[test]
fn a_unit_saves_until_another_one_is_waited_for() {
    let path = path(&format!(
        "{KERNEL}mark 3s first-light -\n\
         span unit 2000ms 2800ms slow.service\n\
         span unit 2000ms 2700ms nearly.service\n\
         span unit 2800ms 2900ms last.service\n\
         span unit 2900ms 2900ms multi-user.target\n\
         after last.service slow.service\n\
         after last.service nearly.service\n\
         after multi-user.target last.service\n"
    ));
    assert!(path.knows_units);
    assert_eq!(
        items(&path)[5..],
        [
            ("unit", "slow.service", 800, 100),
            ("unit", "last.service", 100, 50),
            ("wait", "until first light", 100, 50),
        ]
    );
    // Without gaps, from zero to first light.
    assert!(path.items.windows(2).all(|w| w[0].end == w[1].start));
    let (first, last) = (path.items.first(), path.items.last());
    assert_eq!(first.map(|i| i.start.get()), Some(0));
    assert_eq!(last.map(|i| i.end), Some(path.end));
}

#[test]
fn nothing_has_no_path() {
    assert!(
        path("source boot.log kernel-log\nclock printk printk\n")
            .items
            .is_empty()
    );
}

/// A shell that starts a program, waits for it, and ends the boot. The program
/// reads from storage; a module is loaded meanwhile.
const TASKS: &str = "\
source trace.dat trace.dat
clock boot monotonic
mark 0s kernel-start kernel
mark 1000ms userspace-start userspace
mark 2000ms first-light -
process 1 init 0ms -
process 7 modprobe 1100ms 1800ms parent=1
process 9 logger 0ms -
slice 1 running 900ms 1150ms
slice 7 runnable 1100ms 1150ms
slice 7 running 1150ms 1300ms
slice 7 blocked 1300ms 1500ms
slice 7 running 1500ms 1700ms
span initcall 1500ms 1700ms foo_init track=7
slice 7 runnable 1700ms 1720ms
slice 9 running 1700ms 1720ms
slice 7 running 1720ms 1800ms
wake 1800ms 7 1
slice 1 runnable 1800ms 1800ms
slice 1 running 1800ms 2000ms
";

#[test]
fn processes_wait_for_each_other() {
    let path = path(TASKS);
    assert!(path.knows_processes && !path.knows_units);
    assert_eq!(
        items(&path),
        [
            ("phase", "kernel", 1000, 500),
            ("process", "init (1)", 150, 75),
            ("process", "modprobe (7)", 150, 75),
            ("io", "modprobe (7) waits for storage or a lock", 200, 100),
            ("initcall", "foo_init", 200, 100),
            ("process", "logger (9)", 20, 10),
            ("process", "modprobe (7)", 80, 40),
            ("process", "init (1)", 200, 100),
        ]
    );
}

/// What waits has work of its own: a quicker other saves no more than the time
/// that was waited.
#[test]
fn no_more_is_saved_than_was_waited() {
    let path = path(
        "source trace.dat trace.dat\nclock boot monotonic\n\
         mark 0s kernel-start kernel\nmark 1s userspace-start userspace\n\
         mark 2s first-light -\n\
         process 1 init 0ms -\nprocess 7 worker 1100ms 1900ms parent=1\n\
         slice 1 running 900ms 1100ms\n\
         slice 7 running 1100ms 1900ms\n\
         slice 1 running 1100ms 1800ms\n\
         wake 1900ms 7 1\nslice 1 running 1900ms 2000ms\n",
    );
    assert_eq!(
        items(&path)[1..],
        [
            ("process", "init (1)", 100, 50),
            ("process", "worker (7)", 800, 100),
            ("process", "init (1)", 100, 50),
        ]
    );
}

/// Sleeping until a timer ends is nobody's work.
#[test]
fn a_timer_is_waited_for() {
    let path = path(
        "source trace.dat trace.dat\nclock boot monotonic\n\
         mark 0s kernel-start kernel\nmark 1s userspace-start userspace\n\
         mark 2s first-light -\nprocess 1 init 0ms -\n\
         slice 1 running 900ms 1100ms\n\
         wake 1900ms 0 1\nslice 1 running 1900ms 2000ms\n",
    );
    assert_eq!(
        items(&path)[1..],
        [
            ("process", "init (1)", 100, 50),
            ("wait", "init (1) sleeps (timer or device)", 800, 400),
            ("process", "init (1)", 100, 50),
        ]
    );
}

/// A program sleeps on the one processor while another one works, and both are
/// waited for: with half of the sleep gone, the work of the other is still to do.
const CONTENDED: &str = "\
source trace.dat trace.dat
clock boot monotonic
mark 0s kernel-start kernel
mark 1s userspace-start userspace
mark 2s first-light -
process 1 init 0ms -
process 7 sleeper 1100ms - parent=1
process 9 worker 1100ms - parent=1
slice 1 running 900ms 1100ms
slice 9 runnable 1100ms 1110ms
slice 7 running 1100ms 1110ms
slice 9 running 1110ms 1310ms
wake 1510ms 0 7
slice 7 running 1510ms 1710ms
wake 1710ms 7 1
slice 1 running 1710ms 2000ms
";

#[test]
fn a_sleep_that_is_shorter_leaves_the_work_of_others() {
    let path = path(CONTENDED);
    let sleep = "sleeper (7) sleeps (timer or device)";
    // The sleep is 400 ms long, and the processor idle for 200 of them.
    let saving = |name: &str, n: &str| {
        let text = CONTENDED.replace(name, n);
        let record = common::record(&text);
        let path = critical_path(&record, &phases(&record));
        let found = items(&path).into_iter().find(|i| i.1 == sleep);
        found.map(|i| (i.2, i.3))
    };
    let found = items(&path).into_iter().find(|i| i.1 == sleep);
    assert_eq!(found.map(|i| (i.2, i.3)), Some((400, 200)));
    // The other one works for 150 ms longer: what is not done when the sleep ends
    // has its share of the processor while the sleeper works.
    let longer = saving(
        "slice 9 running 1110ms 1310ms",
        "slice 9 running 1110ms 1460ms",
    );
    let (length, less) = longer.unwrap();
    assert_eq!(length, 400);
    assert!((40..=70).contains(&less), "{less}");
}

/// `background &`, then three programs one after the other: the end of the first one
/// wakes `init` too, and is waited for by nobody.
const BACKGROUND: &str = "\
source trace.dat trace.dat
clock boot monotonic
mark 0s kernel-start kernel
mark 1s userspace-start userspace
mark 2s first-light -
process 1 init 0ms -
process 7 background 1100ms 1610ms parent=1
process 8 sleeper 1100ms 1510ms parent=1
process 9 worker 1520ms 1650ms parent=1
process 10 last 1660ms 1990ms parent=1
slice 1 running 900ms 1100ms
slice 8 running 1100ms 1105ms
slice 7 runnable 1100ms 1105ms
slice 7 running 1105ms 1500ms
wake 1500ms 0 8
slice 8 running 1500ms 1510ms
slice 7 runnable 1500ms 1600ms
wake 1510ms 8 1
slice 1 running 1510ms 1520ms
slice 9 running 1520ms 1600ms
slice 7 running 1600ms 1610ms
wake 1610ms 7 1
slice 1 running 1610ms 1611ms
wake 1640ms 0 9
slice 9 running 1640ms 1650ms
wake 1650ms 9 1
slice 1 running 1650ms 1660ms
slice 10 running 1660ms 1665ms
wake 1985ms 0 10
slice 10 running 1985ms 1990ms
wake 1990ms 10 1
slice 1 running 1990ms 2000ms
";

#[test]
fn the_end_of_what_nobody_waits_for_keeps_nobody() {
    let path = path(BACKGROUND);
    let sleep = "sleeper (8) sleeps (timer or device)";
    let found = items(&path).into_iter().find(|i| i.1 == sleep).unwrap();
    // With half of the sleep the background ends when the worker has ended. What comes
    // then begins no later for that: else it would save some 40 ms.
    assert_eq!(found.2, 395);
    assert!((70..=198).contains(&found.3), "{}", found.3);
    // The program with the sleep saves it as a whole.
    let sleeper = path.programs.iter().find(|p| p.name == "sleeper").unwrap();
    assert_eq!(sleeper.processes, 1);
    assert!(sleeper.saving_if_halved.get() / 1_000_000 >= 70);
}

/// A unit of processes begins when what it is ordered after is there, also if the
/// one that was last before is no longer the last.
#[test]
fn units_wait_for_all_that_they_are_ordered_after() {
    let path = path(
        "source trace.dat trace.dat\nclock boot monotonic\n\
         mark 0s kernel-start kernel\nmark 1s userspace-start userspace\n\
         mark 2s first-light -\n\
         process 1 init 0ms -\nprocess 7 long 1020ms 1620ms parent=1\n\
         process 8 short 1040ms 1440ms parent=1\nprocess 9 last 1630ms 1830ms parent=1\n\
         slice 1 running 1000ms 1060ms\n\
         slice 7 running 1060ms 1070ms\nslice 8 running 1070ms 1080ms\n\
         wake 1430ms 0 8\nslice 8 running 1430ms 1440ms\n\
         wake 1440ms 8 1\nslice 1 running 1440ms 1450ms\n\
         wake 1610ms 0 7\nslice 7 running 1610ms 1620ms\n\
         wake 1620ms 7 1\nslice 1 running 1620ms 1640ms\n\
         slice 9 running 1640ms 1650ms\n\
         wake 1820ms 0 9\nslice 9 running 1820ms 1830ms\n\
         wake 1830ms 9 1\nslice 1 running 1830ms 2000ms\n\
         span unit 1010ms 1625ms long.service\nspan unit 1030ms 1445ms short.service\n\
         span unit 1626ms 1835ms last.service\nspan unit 1836ms 1836ms multi-user.target\n\
         after last.service long.service\nafter last.service short.service\n\
         after multi-user.target last.service\n",
    );
    let found: Vec<_> = items(&path).into_iter().filter(|i| i.0 == "unit").collect();
    // Half of the long one would be 307 ms; the other is there 180 ms earlier.
    let [
        ("unit", "long.service", 615, long),
        ("unit", "last.service", 209, last),
    ] = found[..]
    else {
        panic!("{found:?}");
    };
    assert!((155..=182).contains(&long), "{long}");
    assert!((90..=105).contains(&last), "{last}");
}

/// What the item of `long.service` brings, where the first process begins it as `begun` says
/// and systemd gives `stamp` for that.
fn saving_of_long(begun: &str, stamp: &str) -> i64 {
    let path = path(&format!(
        "source trace.dat trace.dat\nclock boot monotonic\n\
         mark 0s kernel-start kernel\nmark 1s userspace-start userspace\n\
         mark 2s first-light -\n\
         process 1 init 0ms -\nprocess 5 other 1008ms 1590ms parent=1\n\
         process 7 long 1020ms 1620ms parent=1\n\
         process 9 last 1630ms 1830ms parent=1\n{begun}\
         slice 5 running 1050ms 1055ms\nwake 1580ms 0 5\nslice 5 running 1580ms 1590ms\n\
         slice 7 running 1060ms 1070ms\n\
         wake 1610ms 0 7\nslice 7 running 1610ms 1620ms\n\
         wake 1620ms 7 1\nslice 1 running 1620ms 1640ms\n\
         slice 9 running 1640ms 1650ms\n\
         wake 1820ms 0 9\nslice 9 running 1820ms 1830ms\n\
         wake 1830ms 9 1\nslice 1 running 1830ms 2000ms\n\
         span unit 1010ms 1590ms other.service\nspan unit {stamp} 1625ms long.service\n\
         span unit 1626ms 1835ms last.service\nspan unit 1836ms 1836ms multi-user.target\n\
         after last.service long.service\nafter multi-user.target last.service\n\
         after multi-user.target other.service\n",
    ));
    let found = items(&path).into_iter().find(|i| i.1 == "long.service");
    found.unwrap_or_else(|| panic!("{path:?}")).3
}

/// systemd says that a unit began when it has put the child into its control group, and
/// the kernel may let it wait for that.
#[test]
fn a_unit_begins_with_its_process_though_systemd_waits_in_the_kernel() {
    let begun = "slice 1 running 1000ms 1025ms\nslice 1 blocked 1025ms 1033ms\n\
                 wake 1033ms 0 1\nslice 1 running 1033ms 1060ms\n";
    let long = saving_of_long(begun, "1034ms");
    assert!((270..=296).contains(&long), "{long}");
}

/// Its clock and the trace's are some hundred microseconds apart: the time that it gives
/// seems to be one at which it sleeps.
#[test]
fn a_unit_begins_with_its_process_though_the_clocks_differ() {
    let begun = "slice 1 running 1000ms 1025ms\n";
    let long = saving_of_long(begun, "1025400us");
    assert!((270..=300).contains(&long), "{long}");
}

/// A trace as it may come from anywhere: nothing in it need make sense.
fn any_trace() -> impl Strategy<Value = String> {
    let slice = (1_u32..6, 0_usize..4, 0_i64..3_000, 0_i64..900);
    let wake = (0_i64..3_000, 0_u32..6, 1_u32..6);
    let life = (1_u32..6, 0_i64..2_500, 0_u32..6);
    let call = (1_u32..6, any::<bool>(), 0_i64..3_000, 0_i64..900);
    (
        prop::collection::vec(slice, 0..40),
        prop::collection::vec(wake, 1..30),
        prop::collection::vec(life, 0..8),
        prop::collection::vec(call, 0..12),
    )
        .prop_map(|(slices, wakes, lives, calls)| {
            let mut text = String::from(
                "source trace.dat trace.dat\nclock boot monotonic\n\
                 mark 0s kernel-start kernel\nmark 500ms initrd-start initrd\n\
                 mark 1s userspace-start userspace\nmark 2500ms first-light -\n",
            );
            let states = ["running", "runnable", "blocked", "sleeping"];
            for (pid, state, start, length) in slices {
                let end = start + length;
                let state = states[state];
                writeln!(text, "slice {pid} {state} {start}ms {end}ms").unwrap();
            }
            for (at, by, pid) in wakes {
                writeln!(text, "wake {at}ms {by} {pid}").unwrap();
            }
            for (pid, start, parent) in lives {
                writeln!(text, "process {pid} task {start}ms - parent={parent}").unwrap();
            }
            for (pid, probe, start, length) in calls {
                let end = start + length;
                let kind = if probe { "probe" } else { "initcall" };
                writeln!(text, "span {kind} {start}ms {end}ms it track={pid}").unwrap();
            }
            text
        })
}

proptest! {
    #[test]
    fn a_path_is_whole_whatever_the_trace(text in any_trace()) {
        let record = common::record(&text);
        let phases = phases(&record);
        for path in [critical_path(&record, &phases), critical_path_of_processes(&record, &phases)] {
            let items = &path.items;
            prop_assert!(!items.is_empty());
            prop_assert_eq!(items[0].start.get(), 0);
            prop_assert_eq!(items.last().map(|i| i.end), Some(path.end));
            prop_assert_eq!(path.end.get(), 2_500_000_000);
            for pair in items.windows(2) {
                prop_assert_eq!(pair[0].end, pair[1].start, "{:?}", items);
            }
            for item in items {
                let length = item.end.get() - item.start.get();
                prop_assert!(length > 0);
                prop_assert!(item.slack.get() >= 0, "{:?}", item);
                let saving = item.saving_if_halved.get();
                prop_assert!((0..=length - length / 2).contains(&saving), "{:?}", item);
            }
        }
    }
}
