//! First light with some things shorter, or gone.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;

use firstlight_analysis::{
    Changes, Forecast, ForecastError, Options, PathKind, UnitOrder, WhatIf, phases_with, what_if,
};
use proptest::prelude::*;
use record::Nanos;
use std::fmt::Write;

fn try_with(boot: &str, changes: &Changes) -> Result<WhatIf, ForecastError> {
    let record = common::record(boot);
    let phases = phases_with(&record, &Options::default());
    what_if(&record, &phases, false, changes)
}

fn without(boot: &str, names: &[&str]) -> Forecast {
    let changes = Changes {
        without: names.iter().map(|n| (*n).to_owned()).collect(),
        ..Changes::default()
    };
    try_with(boot, &changes).unwrap().forecast
}

fn shorten(boot: &str, name: &str, ms: i64) -> Forecast {
    let changes = Changes {
        shorten: vec![(name.to_owned(), Nanos::from_millis(ms))],
        ..Changes::default()
    };
    try_with(boot, &changes).unwrap().forecast
}

fn ms(t: Nanos) -> i64 {
    t.get() / 1_000_000
}

/// How much earlier first light comes, in milliseconds: least, expected, most.
fn saves(f: &Forecast) -> (i64, i64, i64) {
    let of = |t: Nanos| ms(f.first_light - t);
    (of(f.new.most), of(f.new.expected), of(f.new.least))
}

/// The order of units is known, and there are four processors.
const KNOWN: &str = "\
source boot.log kernel-log
clock printk printk
mark 0s kernel-start kernel
span initcall 100ms 400ms slow_init+0x0/0x10 track=1
span initcall 400ms 500ms dw_mmc_init+0x0/0x10 track=1
say 500ms 6 smp: Brought up 1 node, 4 CPUs
mark 1s userspace-start userspace
mark 5s first-light -
source units.txt systemd-show
clock monotonic monotonic
relate monotonic 0s printk 0s
span unit 1000ms 3000ms slow.service
span unit 1000ms 2600ms nearly.service
span unit 1000ms 1800ms aside.service
span unit 3000ms 4000ms last.service
span unit 4000ms 4000ms multi-user.target
after last.service slow.service
after last.service nearly.service
after multi-user.target last.service
";

#[test]
fn a_unit_that_goes_leaves_what_is_as_long() {
    let f = without(KNOWN, &["slow.service"]);
    assert_eq!(saves(&f), (360, 400, 400));
    let names: Vec<&str> = f.path.iter().map(|i| &*i.name).collect();
    assert!(names.contains(&"nearly.service"), "{names:?}");
    assert!(!names.contains(&"slow.service"), "{names:?}");
    assert_eq!(f.path.last().map(|i| i.end), Some(f.new.expected));
    // Together they bring more than each alone.
    let both = without(KNOWN, &["slow.service", "nearly"]);
    assert_eq!(saves(&both).1, 2_000);
    assert!(saves(&without(KNOWN, &["nearly.service"])).1 < 20);
}

#[test]
fn initcalls_and_drivers_have_names() {
    for (name, saving) in [
        ("slow_init", 300),
        ("slow_init+0x0/0x10", 300),
        ("dw-mmc", 100),
        ("*_init", 400),
    ] {
        let f = without(KNOWN, &[name]);
        assert_eq!(saves(&f), (saving, saving, saving), "{name}");
    }
    let f = shorten(KNOWN, "slow_init", 100);
    assert_eq!(saves(&f), (200, 200, 200));
    assert_eq!((ms(f.changed[0].took), ms(f.changed[0].takes)), (300, 100));
}

/// On four processors that are half busy, work beside the path is next to free.
#[test]
fn what_is_beside_the_path_costs_where_processors_are_few() {
    let four = saves(&without(KNOWN, &["aside.service"]));
    assert!(four.0 == 0 && four.1 <= 10 && four.2 <= 200, "{four:?}");
    let one = KNOWN.replace("4 CPUs", "1 CPU");
    assert_eq!(saves(&without(&one, &["aside.service"])), (0, 200, 800));
    // Where its control group was asked, the work is known.
    let asked = one.replace("1800ms aside.service", "1800ms aside.service cpu=120ms");
    assert_eq!(saves(&without(&asked, &["aside.service"])), (0, 120, 800));
    // So is that of one on the path, where another is nearly as long.
    let asked = one.replace("3000ms slow.service", "3000ms slow.service cpu=900ms");
    assert_eq!(
        saves(&without(&asked, &["slow.service"])),
        (200, 900, 2_000)
    );
    let asked = one.replace("3000ms slow.service", "3000ms slow.service cpu=100ms");
    assert_eq!(
        saves(&without(&asked, &["slow.service"])),
        (200, 400, 2_000)
    );
}

#[test]
fn a_name_without_a_match_is_one_sentence() {
    let none = Changes {
        without: vec!["nothing.service".to_owned()],
        ..Changes::default()
    };
    let error = try_with(KNOWN, &none).unwrap_err().to_string();
    assert!(
        error.starts_with("--without `nothing.service` matches no unit"),
        "{error}"
    );
    let longer = Changes {
        shorten: vec![("slow.service".to_owned(), Nanos::from_millis(2_500))],
        ..Changes::default()
    };
    let error = try_with(KNOWN, &longer).unwrap_err().to_string();
    assert!(error.contains("it takes 2.000 s"), "{error}");
    let several = Changes {
        shorten: vec![("*.service".to_owned(), Nanos::ZERO)],
        ..Changes::default()
    };
    let error = try_with(KNOWN, &several).unwrap_err();
    assert!(matches!(error, ForecastError::Several { count: 4, .. }));
    let processors = Changes {
        processors: Some(2),
        ..Changes::default()
    };
    let error = try_with(KNOWN, &processors).unwrap_err().to_string();
    assert!(error.contains("how busy the processors were"), "{error}");
}

/// A critical chain through targets, which are there as soon as what they wait for, with
/// the times of other units.
const CHAIN: &str = "\
source chain.txt systemd-analyze
clock monotonic monotonic
mark 0s kernel-clock-start kernel
mark 1s userspace-start userspace
mark 11s multi-user.target -
mark 17s startup-finished -
span unit 11s 11s graphical.target
span unit 11s 11s multi-user.target
span unit 6s 11s NetworkManager.service
span unit 6s 6s basic.target
span unit 6s 6s sysinit.target
span unit 4s 6s cloud-init-main.service
span unit 3500ms 4s boot.mount
after graphical.target multi-user.target
after multi-user.target NetworkManager.service
after NetworkManager.service basic.target
after basic.target sysinit.target
after sysinit.target cloud-init-main.service
after cloud-init-main.service boot.mount
span unit - - NetworkManager-wait-online.service reported=5s
span unit - - systemd-tmpfiles-setup.service reported=500ms
span unit - - bluetooth.service reported=400ms
";

#[test]
fn a_chain_is_walked_through_its_targets() {
    let found = try_with(CHAIN, &Changes::default()).unwrap();
    assert_eq!(found.path.order, UnitOrder::Chain);
    let items = found.path.items.iter();
    let items: Vec<(&str, &str, i64)> = items
        .map(|i| (i.kind.as_str(), &*i.name, ms(i.end - i.start)))
        .collect();
    assert_eq!(
        items,
        [
            ("phase", "kernel", 1_000),
            ("wait", "before boot.mount", 2_500),
            ("unit", "boot.mount", 500),
            ("unit", "cloud-init-main.service", 2_000),
            ("unit", "NetworkManager.service", 5_000),
            // It has no times of its own, and is ordered after the other one.
            ("unit", "NetworkManager-wait-online.service", 5_000),
            ("wait", "until first light", 1_000),
        ]
    );
}

/// Without the unit at the end of the chain, what comes after the mount is the longest. A
/// service that waits for the network's settings may be shorter.
#[test]
fn what_else_could_end_first_bounds_a_chain() {
    let f = without(CHAIN, &["cloud-*"]);
    // 1.5 s until the other unit is done, half of the two that wait for the network.
    let (least, expected, most) = saves(&f);
    assert_eq!((least, expected), (975, 1_500 + 2 * 2_500));
    assert_eq!(most, 2_000 + 2 * 3_500);
    assert!(
        f.path
            .iter()
            .any(|i| i.name == "systemd-tmpfiles-setup.service")
    );
    assert!(f.unknown[0].contains("critical chain"));
    // It stays as long if only its time is known.
    let f = shorten(CHAIN, "NetworkManager.service", 2_000);
    assert_eq!(saves(&f).1, 3_000);
    // Beside the chain.
    let (least, expected, most) = saves(&without(CHAIN, &["bluetooth"]));
    assert_eq!((least, expected, most), (0, 100, 400));
}

/// A unit of the chain that was active after the one above it was not waited for: the one
/// under it was.
#[test]
fn a_late_unit_of_a_chain_is_passed() {
    let text = "\
source chain.txt systemd-analyze
clock userspace monotonic
span unit 9s 9s multi-user.target
span unit 5s 9s slow.service
span unit 5s 5s local-fs.target
span unit 40s 41s later.mount
span unit 2s 4s first.mount
after multi-user.target slow.service
after slow.service local-fs.target
after local-fs.target later.mount
after later.mount first.mount
";
    let record = common::record(text);
    let options = Options {
        first_light: Some("multi-user.target".to_owned()),
    };
    let phases = phases_with(&record, &options);
    let found = what_if(&record, &phases, false, &Changes::default()).unwrap();
    let units = found.path.items.iter();
    let units: Vec<&str> = units
        .filter(|i| i.kind == PathKind::Unit)
        .map(|i| &*i.name)
        .collect();
    assert_eq!(units, ["first.mount", "slow.service"]);
}

/// A service that usually comes after `basic.target` is seen to come before it.
#[test]
fn a_chain_says_more_than_the_usual_order() {
    let text = "\
source chain.txt systemd-analyze
clock monotonic monotonic
mark 0s kernel-clock-start kernel
mark 1s userspace-start userspace
mark 10s startup-finished -
span unit 10s 10s multi-user.target
span unit 4s 10s slow.service
span unit 4s 4s basic.target
span unit 4s 4s sysinit.target
span unit 2s 4s own.service
after multi-user.target slow.service
after slow.service basic.target
after basic.target sysinit.target
after sysinit.target own.service
";
    let f = without(text, &["slow.service", "own.service"]);
    assert_eq!(saves(&f), (5_200, 8_000, 8_000));
}

/// The times of units alone, as a plot has them.
#[test]
fn without_an_order_units_stand_as_usual() {
    let text = "\
source plot.svg systemd-plot
clock monotonic monotonic
mark 0s kernel-clock-start kernel
mark 1s userspace-start userspace
mark 9s startup-finished -
span unit 1100ms 2s systemd-udevd.service
span unit 2s 2s sysinit.target
span unit 2s 2s basic.target
span unit 2s 5s one.service
span unit 5s 9s two.service
span unit 2s 4s aside.service
";
    let found = try_with(text, &Changes::default()).unwrap();
    assert_eq!(found.path.order, UnitOrder::Guessed);
    assert!(!found.path.knows_units);
    let units = found.path.items.iter().filter(|i| i.kind == PathKind::Unit);
    let units: Vec<&str> = units.map(|i| &*i.name).collect();
    assert_eq!(
        units,
        ["systemd-udevd.service", "one.service", "two.service"]
    );
    let f = without(text, &["one.service"]);
    let (least, expected, most) = saves(&f);
    assert_eq!((least, expected, most), (1_050, 3_000, 3_000));
}

/// A device that appeared long ago, and who logs in, hold nothing up.
#[test]
fn without_an_order_nothing_waits_for_a_login_or_an_old_device() {
    let path = |own: &str| {
        let text = format!(
            "source plot.svg systemd-plot\nclock monotonic monotonic\n\
             mark 0s kernel-clock-start kernel\nmark 1s userspace-start userspace\n\
             mark 30s startup-finished -\nspan unit 2s 5s one.service\n\
             span unit 2s 8s dev-sda2.device\nspan unit 20s 22s user@0.service\n{own}\
             span unit 30s 30s multi-user.target\n"
        );
        let found = try_with(&text, &Changes::default()).unwrap();
        let items = found.path.items.iter();
        let units = items.filter(|i| i.kind == PathKind::Unit && i.start < i.end);
        units.map(|i| i.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(path(""), ["one.service"]);
    // What goes on at once may have waited for it.
    assert_eq!(
        path("span unit 8s 29s own.mount\n"),
        ["dev-sda2.device", "own.mount"]
    );
}

/// The durations of units alone, with the total.
#[test]
fn a_unit_that_is_as_long_as_the_rest_is_on_the_path() {
    let text = "\
source blame.txt systemd-analyze
clock monotonic monotonic
mark 0s kernel-clock-start kernel
mark 1s userspace-start userspace
mark 8s multi-user.target -
mark 40s startup-finished -
span unit - - long.service reported=36s
span unit - - short.service reported=2s
";
    let found = try_with(text, &Changes::default()).unwrap();
    assert_eq!(found.path.order, UnitOrder::Guessed);
    assert!(found.path.items.iter().any(|i| i.name == "long.service"));
    // It was not among what the target waited for: that stays.
    let (least, expected, most) = saves(&without(text, &["long.service"]));
    assert_eq!(expected, 29_000);
    assert!(least < expected && most >= expected);
}

/// A start script, its programs, and one that goes on; nothing says who woke whom.
#[test]
fn a_script_waits_for_the_programs_that_it_starts() {
    let text = "\
source boot.tgz bootchart
clock uptime monotonic
mark 0s kernel-start kernel
mark 1s userspace-start userspace
mark 8s first-light -
process 1 init 1s -
process 10 rc 1200ms 7s parent=1
process 11 modprobe 1500ms 3s parent=10
process 12 daemon 3s - parent=10
process 13 fsck 3500ms 6s parent=10
process 14 blkid 4s 5s parent=13
process 20 getty 7100ms - parent=1
";
    let found = try_with(text, &Changes::default()).unwrap();
    assert!(found.path.knows_processes);
    let items = found.path.items.iter();
    let items: Vec<(&str, i64)> = items.map(|i| (&*i.name, ms(i.end - i.start))).collect();
    assert_eq!(
        items,
        [
            ("kernel", 1_000),
            ("init (1)", 200),
            ("rc (10)", 300),
            ("modprobe (11)", 1_500),
            ("rc (10)", 500),
            ("fsck (13)", 500),
            ("blkid (14)", 1_000),
            ("fsck (13)", 1_000),
            ("rc (10)", 1_000),
            ("init (1)", 1_000),
        ]
    );
    let f = without(text, &["modprobe"]);
    assert_eq!(saves(&f), (525, 1_500, 1_500));
    assert!(f.unknown[0].contains("when processes lived"));
}

/// The same of a unit that nothing is known of.
fn waits() -> String {
    common::SETTLES.replace("systemd-udev-settle", "own")
}

#[test]
fn a_unit_that_goes_waits_for_nobody_and_the_work_of_others_goes_on_beside() {
    // The first process and the last unit have 280 ms of work left, and half of the processor
    // for it, once udevd has had as much as the first process had before. If udevd goes first,
    // only the 20 ms of the unit itself are won.
    let (least, expected, _) = saves(&without(&waits(), &["own.service"]));
    assert!((250..=345).contains(&expected), "{expected}");
    assert!((10..=20).contains(&least), "{least}");
    // Half of it is not half of the work of others.
    let (_, halved, _) = saves(&shorten(&waits(), "own.service", 342));
    assert!(halved < 40, "{halved}");
}

/// RCU's task takes the processor for some microseconds when it likes.
#[test]
fn a_task_of_the_kernel_that_comes_between_did_not_end_the_boot() {
    let rcu = "slice 1 running 1960ms 1999990us\nslice 15 running 1999990us 2000ms\n\
               process 15 rcu_preempt 0ms - kernel\nslice 15 running 1001ms 1001010us\n";
    let text = waits().replace("slice 1 running 1960ms 2000ms\n", rcu);
    let (_, expected, _) = saves(&without(&text, &["own.service"]));
    assert!((250..=345).contains(&expected), "{expected}");
}

#[test]
fn what_settles_leaves_the_work_of_udev_to_the_only_processor() {
    let settle = "systemd-udev-settle.service";
    let (least, expected, most) = saves(&without(common::SETTLES, &[settle]));
    assert_eq!(expected, 171);
    assert!(least <= 20 && most >= 600, "{least} {most}");
    // Without a trace.
    let named = |l: &&str| !["slice", "wake"].iter().any(|w| l.starts_with(w));
    let untraced: Vec<&str> = common::SETTLES.lines().filter(named).collect();
    let (least, expected, most) = saves(&without(&untraced.join("\n"), &[settle]));
    assert!((150..=185).contains(&expected), "{expected}");
    assert!(least <= 45 && most >= 600, "{least} {most}");
    // Half of the wait is half of that.
    let (_, halved, _) = saves(&shorten(&untraced.join("\n"), settle, 342));
    assert!((75..=95).contains(&halved), "{halved}");
}

/// A request to a server of storage, by way of a task of the kernel.
fn asks(text: &mut String, by: u32, at: i64) {
    let (worker, server, back, end) = (at + 1, at + 2, at + 3, at + 4);
    writeln!(
        text,
        "wake {at}ms {by} 30\nslice 30 running {at}ms {worker}ms\n\
         wake {worker}ms 30 20\nslice 20 running {worker}ms {server}ms\n\
         wake {server}ms 20 31\nslice 31 running {server}ms {back}ms\n\
         wake {back}ms 31 {by}\nslice {by} running {back}ms {end}ms"
    )
    .unwrap();
}

/// A server that tasks of the kernel wake for others takes what comes as it comes: who asks it
/// earlier does not wait for those who had asked before.
#[test]
fn a_server_of_storage_serves_who_comes_first() {
    let mut text = waits()
        .replace("slice 8 running 1110ms 1710ms\n", "")
        .replace("slice 9 running 1760ms 1960ms\n", "");
    text += "process 20 server 0ms - parent=1\nslice 20 running 1ms 2ms\n\
             process 30 kworker 0ms - kernel\nprocess 31 kworker 0ms - kernel\n";
    for pid in 40..44 {
        writeln!(text, "process {pid} worker 1100ms - parent=8").unwrap();
    }
    // Four workers read when their devices are there, after half a second.
    let mut at = 1610;
    for pid in 40..44 {
        writeln!(text, "slice {pid} running 1110ms 1111ms").unwrap();
        writeln!(text, "slice {pid} running {at}ms {}ms", at + 1).unwrap();
        asks(&mut text, pid, at + 1);
        at += 5;
    }
    writeln!(text, "slice 8 running {at}ms 1710ms").unwrap();
    writeln!(text, "slice 9 running 1760ms 1770ms").unwrap();
    asks(&mut text, 9, 1770);
    writeln!(text, "slice 9 running 1774ms 1960ms").unwrap();
    let (_, expected, _) = saves(&without(&text, &["own.service"]));
    assert!((480..=620).contains(&expected), "{expected}");
}

/// A unit that begins before the first process has read all units comes after what was
/// before: less time of that is less for all.
#[test]
fn what_is_before_the_first_unit_is_saved_whole() {
    let text = "\
source plot.svg systemd-plot
clock monotonic monotonic
mark 0s power-on firmware
mark 2s kernel-clock-start kernel
mark 3s userspace-start userspace
mark 3500ms units-load-start -
mark 4s units-load-finish -
mark 9s startup-finished -
span unit 3100ms 3200ms early.mount
span unit 4s 7s one.service
span unit 7500ms 9s two.service
";
    let f = shorten(text, "firmware", 500);
    assert_eq!(saves(&f), (1_500, 1_500, 1_500));
}

/// Any boot of initcalls and units.
fn any_boot() -> impl Strategy<Value = String> {
    let units = prop::collection::vec((0_i64..5_000, 0_i64..3_000, any::<bool>()), 1..9);
    let orders = prop::collection::vec((0_usize..9, 0_usize..9), 0..12);
    let formats = prop::sample::select(vec!["systemd-analyze", "systemd-show", "systemd-plot"]);
    let ends = prop::sample::select(vec!["startup-finished", "first-light"]);
    let names = [
        "NetworkManager.service",
        "cloud-init-main.service",
        "NetworkManager-wait-online.service",
        "basic.target",
        "multi-user.target",
        "a.service",
        "systemd-binfmt.service",
        "b.mount",
        "dev-c.device",
    ];
    (units, orders, formats, ends).prop_map(move |(units, orders, format, end)| {
        let mut text = format!(
            "source units {format}\nclock monotonic monotonic\nmark 0s kernel-start kernel\n\
             span initcall 100ms 300ms x_init track=1\nmark 1s userspace-start userspace\n\
             mark 7s {end} -\n"
        );
        for ((start, length, has_times), name) in units.iter().zip(names) {
            match has_times {
                true => {
                    let (from, to) = (1_000 + start, 1_000 + start + length);
                    writeln!(text, "span unit {from}ms {to}ms {name}").unwrap();
                }
                false => writeln!(text, "span unit - - {name} reported={length}ms").unwrap(),
            }
        }
        for (from, to) in orders {
            if from < units.len() && to < units.len() {
                writeln!(text, "after {} {}", names[from], names[to]).unwrap();
            }
        }
        text
    })
}

proptest! {
    /// A forecast is never negative and never later than first light; nothing gone changes
    /// nothing; its range holds what is expected.
    #[test]
    fn a_forecast_is_between_zero_and_first_light(
        text in any_boot(),
        gone in prop::collection::vec(prop::sample::select(vec![
            "NetworkManager*", "cloud-*", "a", "*.target", "x_init", "systemd-binfmt.service",
            "dev-c.device", "*",
        ]), 0..3),
    ) {
        let nothing = try_with(&text, &Changes::default()).unwrap().forecast;
        let same = nothing.first_light;
        prop_assert_eq!([nothing.new.least, nothing.new.expected, nothing.new.most], [same; 3]);
        let changes = Changes {
            without: gone.iter().map(|g| (*g).to_owned()).collect(),
            ..Changes::default()
        };
        let Ok(found) = try_with(&text, &changes) else { return Ok(()) };
        let f = found.forecast;
        prop_assert!(Nanos::ZERO <= f.new.least, "{:?}", f.new);
        prop_assert!(f.new.least <= f.new.expected && f.new.expected <= f.new.most, "{:?}", f.new);
        prop_assert!(f.new.most <= f.first_light, "{:?}", f.new);
        for pair in f.path.windows(2) {
            prop_assert!(pair[0].end <= pair[1].start);
        }
        // One more that goes makes it no later.
        let mut more = changes.clone();
        more.without.push("x_init".to_owned());
        let more = try_with(&text, &more).unwrap().forecast;
        prop_assert!(more.new.expected <= f.new.expected);
    }

    /// The less time an item takes, the earlier first light comes.
    #[test]
    fn a_forecast_follows_the_time_of_an_item(
        text in any_boot(),
        name in prop::sample::select(vec!["NetworkManager.service", "cloud-init-main.service",
            "a.service", "x_init"]),
        times in (0_i64..3_000, 0_i64..3_000),
    ) {
        let of = |ms: i64| {
            let shorten = vec![(name.to_owned(), Nanos::from_millis(ms))];
            let changes = Changes { shorten, ..Changes::default() };
            try_with(&text, &changes).map(|f| f.forecast.new)
        };
        let (less, more) = (times.0.min(times.1), times.0.max(times.1));
        if let (Ok(less), Ok(more)) = (of(less), of(more)) {
            prop_assert!(less.least <= more.least, "{:?} {:?}", less, more);
            prop_assert!(less.expected <= more.expected, "{:?} {:?}", less, more);
            prop_assert!(less.most <= more.most, "{:?} {:?}", less, more);
        }
    }
}
