//! The log's buffer, the first picture, device nodes, and order without need.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::record;
use firstlight_analysis::{Finding, RootTree, SystemFacts, advice, phases};
use proptest::prelude::*;
use record::Nanos;

const BOOT: &str = "mark 0s kernel-start kernel
    mark 1s userspace-start userspace
    mark 3s startup-finished -\n";

fn found(text: &str, script: &str) -> Vec<Finding> {
    let record = record(&format!("{BOOT}{text}"));
    let root = RootTree {
        source: "/r".to_owned(),
        texts: [("etc/init.d/S10x".to_owned(), script.to_owned())].into(),
        ..RootTree::default()
    };
    let system = SystemFacts {
        root: Some(root),
        ..SystemFacts::default()
    };
    advice(&record, &phases(&record), &system).findings
}

fn one(text: &str, script: &str, id: &str) -> Option<Finding> {
    found(text, script).into_iter().find(|f| f.id == id)
}

/// The line of the buffer, so many milliseconds behind the one before.
fn buffer(cmdline: &str, bytes: &str, ms: u64) -> String {
    format!(
        "fact kernel.cmdline {cmdline}\nsay 6ms 6 found SMP MP-table\n\
         say {}ms 6 printk: log_buf_len: {bytes} bytes\n",
        6 + ms
    )
}

#[test]
fn a_large_log_buffer_costs_the_silence_before_its_line() {
    let id = "log-buffer";
    let f = one(&buffer("log_buf_len=64M", "67108864", 340), "", id).unwrap();
    assert_eq!(f.treatment.as_deref(), Some("cmdline-=log_buf_len=64M"));
    assert_eq!(f.expected.0 / 1_000_000, 340);
    assert_eq!(f.saving.unwrap().1.0 / 1_000_000, 374);
    // A recording needs it; it was short; it was not asked for.
    let recorded = buffer("initcall_debug log_buf_len=64M", "67108864", 340);
    assert!(one(&recorded, "", id).is_none());
    assert!(one(&buffer("log_buf_len=1M", "1048576", 4), "", id).is_none());
    assert!(one(&buffer("quiet", "67108864", 340), "", id).is_none());
    // No buffer explains a silence that is far longer than clearing it.
    let f = one(&buffer("log_buf_len=8M", "8388608", 900), "", id).unwrap();
    assert!(f.saving.unwrap().1.0 < 75_000_000);
    for bad in ["", "x", "99999999999999999999999"] {
        assert!(one(&buffer("log_buf_len=64M", bad, 340), "", id).is_none());
    }
}

#[test]
fn a_splash_that_is_unpacked_costs_by_the_framebuffer() {
    let id = "splash-decoded";
    let said = "say 500ms 6 fb0: Virtual frame buffer device, using 1024K of video memory\n\
        say 10ms 6 Calibrating delay loop... 125.00 BogoMIPS (lpj=624128)\n";
    let script = "#!/bin/sh\ngunzip -c /splash.gz >/dev/fb0\n";
    let f = one(said, script, id).unwrap();
    // A mebibyte x 60 instructions at 125 MIPS.
    assert_eq!(f.expected.0 / 1_000_000, 503);
    assert!(f.evidence[0].text.contains("/splash.gz"));
    let efi = said.replace(
        "fb0: Virtual frame buffer device, using 1024K of video memory",
        "efifb: framebuffer at 0x80000000, using 3072k, total 3072k",
    );
    assert_eq!(one(&efi, script, id).unwrap().expected.0 / 1_000_000, 1_509);
    assert_eq!(one("", script, id).unwrap().saving, None);
    // Virtual time tells its speed; else it is assumed.
    let (fb, _) = said.split_once('\n').unwrap();
    let exact = one(&format!("clock x virtual\n{fb}\n"), script, id).unwrap();
    assert!(!exact.why.contains("assumed"), "{}", exact.why);
    let assumed = one(fb, script, id).unwrap();
    assert_eq!(assumed.saving.unwrap().0.0, 0);
    assert!(assumed.why.contains("assumed"), "{}", assumed.why);
    for silent in [
        "psplash &\n",
        "cat /splash.raw >/dev/fb0\n",
        "# gunzip -c /splash.gz >/dev/fb0\n",
        "case $1 in\nstop)\n  fbv /bye.png\n",
    ] {
        assert!(one(said, silent, id).is_none(), "{silent}");
    }
}

#[test]
fn device_nodes_that_the_kernel_makes_need_no_program() {
    let id = "device-nodes";
    let said = "say 50ms 6 devtmpfs: initialized\n";
    let f = one(said, "mount -t sysfs s /sys\nmdev -s\n", id).unwrap();
    // 21.6 million instructions at 500 MIPS.
    assert_eq!(f.expected.0 / 1_000_000, 43);
    // What udev takes, only the capture tells.
    let trigger = "udevadm trigger --action=add\nudevadm settle\n";
    assert_eq!(one(said, trigger, id).unwrap().saving, None);
    let ran = format!(
        "{said}process 20 udevadm 1.1s 1.2s parent=1\nprocess 21 udevadm 1.2s 1.9s parent=1\n\
         process 22 mdev 2.0s 2.3s parent=1\n"
    );
    let udev = one(&ran, trigger, id).unwrap();
    assert_eq!(udev.saving.unwrap().1.0 / 1_000_000, 800);
    assert_eq!(udev.saving.unwrap().0.0 / 1_000_000, 400);
    let mdev = one(&ran, "mdev -s\n", id).unwrap();
    assert_eq!(mdev.saving.unwrap().1.0 / 1_000_000, 300);
    let settle = one(&ran, trigger, "script-settle").unwrap();
    assert_eq!(settle.saving.unwrap().1.0 / 1_000_000, 700);
    assert_eq!(one(said, trigger, "script-settle").unwrap().saving, None);
    let alone = format!("{ran}say 1ms 6 smp: Brought up 1 node, 1 CPU\n");
    let one_cpu = one(&alone, trigger, "script-settle").unwrap();
    assert!(one_cpu.expected.0 * 3 < settle.expected.0, "{one_cpu:?}");
    // Of the 700 ms udev computes 500, and first light is long enough after it for all of that.
    let traced = format!("{alone}slice 30 running 1.3s 1.8s\nslice 21 running 1.2s 1.21s\n");
    let traced = one(&traced, trigger, "script-settle").unwrap();
    assert_eq!(traced.expected.0 / 1_000_000, 200);
    assert!(
        one("", "mdev -s\n", id).is_none(),
        "a kernel that makes none"
    );
    assert!(one(said, "mdev -df\n", id).is_none());
    assert!(one(said, "# mdev -s\n", id).is_none());
}

#[test]
fn udev_in_a_script_has_the_lines_for_mdev() {
    let said = "say 50ms 6 devtmpfs: initialized\n";
    let udev = one(said, "udevadm trigger\n", "device-nodes").unwrap();
    assert!(udev.why.contains("`mdev -d`"), "{}", udev.why);
    let mdev = one(said, "mdev -s\n", "device-nodes").unwrap();
    assert!(!mdev.why.contains("udevd"), "{}", mdev.why);
}

#[test]
fn a_script_of_bash_that_forgets_paths_is_found() {
    let id = "script-path-search";
    let lines = "grep x /etc/y | sed s/a/b/\n".repeat(101);
    let script = format!("#!/bin/bash\nset +h\nmount -a\n{lines}");
    let f = one("", &script, id).unwrap();
    // grep and sed are named a hundred times again: three folders of 10,400 instructions each
    // time, at 500 MIPS.
    assert_eq!(f.expected.0, 200 * 3 * 10_400 * 2);
    assert!(f.evidence[0].text.contains("set +h"), "{f:?}");
    let once = one("", "#!/bin/bash\nset +h\nmount -a\n", id).unwrap();
    assert_eq!(once.saving, None);
    for silent in [
        "#!/bin/bash\nset -h\ngrep a b\ngrep c d\n",
        // Another shell has no such option, or searches all the same.
        "#!/bin/sh\nset +h\ngrep a b\ngrep c d\n",
        "#!/bin/bash\n# set +h\ngrep a b\ngrep c d\n",
    ] {
        assert!(one("", silent, id).is_none(), "{silent}");
    }
}

#[test]
fn applets_that_are_started_as_programs_are_counted() {
    let processes = |command: &str| {
        (0..12_u32)
            .map(|n| {
                format!(
                    "process {} grep {}ms {}ms parent=1 command={command}\n",
                    20 + n,
                    1_100 + n * 10,
                    1_105 + n * 10
                )
            })
            .collect::<String>()
    };
    let ask = |text: &str| {
        let record = record(&format!("{BOOT}{text}"));
        let root = RootTree {
            source: "/r".to_owned(),
            applets: ["usr/bin/grep".to_owned(), "bin/sed".to_owned()].into(),
            ..RootTree::default()
        };
        let system = SystemFacts {
            root: Some(root),
            ..SystemFacts::default()
        };
        let all = advice(&record, &phases(&record), &system).findings;
        all.into_iter().find(|f| f.id == "shell-standalone")
    };
    let f = ask(&processes("/bin/grep")).unwrap();
    // 12 times 350,000 instructions at 500 MIPS, of which 80 % are expected.
    assert_eq!(f.expected.0, 12 * 700_000 * 80 / 100);
    assert_eq!(f.title, "12 applets of BusyBox are started as programs");
    assert!(ask(&processes("/usr/bin/python3")).is_none());
    // Where one applet comes out of the shell itself, the others were called by their path.
    let itself = "process 90 exe 1.5s 1.6s parent=1 command=/proc/self/exe\n";
    assert!(ask(&format!("{}{itself}", processes("/bin/grep"))).is_none());
}

#[test]
fn scripts_that_systemd_does_not_run_cost_nothing() {
    let said = "say 50ms 6 devtmpfs: initialized\n";
    let record = record(&format!("{BOOT}{said}"));
    let script = "udevadm trigger\nudevadm settle\nsleep 1\nfbv /logo.png\n".to_owned();
    let ids = |systemd: bool, links: &[&str]| {
        let mut root = RootTree {
            source: "/r".to_owned(),
            texts: [("etc/init.d/udev".to_owned(), script.clone())].into(),
            ..RootTree::default()
        };
        if systemd {
            let target = "usr/lib/systemd/system/sysinit.target".to_owned();
            root.texts.insert(target, String::new());
        }
        let links = links.iter().map(|l| ((*l).to_owned(), String::new()));
        root.links.extend(links);
        let system = SystemFacts {
            root: Some(root),
            ..SystemFacts::default()
        };
        let found = advice(&record, &phases(&record), &system).findings;
        found.iter().map(|f| f.id).collect::<Vec<_>>()
    };
    let started = "etc/rcS.d/S01udev";
    for all in [ids(false, &[]), ids(true, &[started])] {
        for id in [
            "device-nodes",
            "script-settle",
            "splash-decoded",
            "script-sleeps",
        ] {
            assert!(all.contains(&id), "{all:?}");
        }
    }
    // Nothing starts it; or a unit stands in its place.
    assert_eq!(ids(true, &[]), [""; 0]);
    let unit = "lib/systemd/system/udev.service";
    assert_eq!(ids(true, &[started, unit]), [""; 0]);
}

#[test]
fn a_unit_goes_through_all_devices() {
    let unit = "span unit 1s 1.8s systemd-udev-trigger.service\n";
    let f = one(unit, "", "udev-coldplug").unwrap();
    assert_eq!(f.saving.unwrap().1.0 / 1_000_000, 800);
    // Modules that it has loaded come on top, at most: 4 MB at 66 ns.
    let text = format!("{unit}fact module.kvm 4000000\n");
    let with = one(&text, "", "udev-coldplug").unwrap();
    assert_eq!(with.saving.unwrap().1.0 / 1_000_000, 1_064);
    // On one processor it takes its time from first light: but whether that waits for it,
    // the critical path must know, and the time holds includes other work.
    let alone = format!("{unit}say 1ms 6 smp: Brought up 1 node, 1 CPU\n");
    let alone = one(&alone, "", "udev-coldplug").unwrap();
    assert_eq!((alone.on_critical_path, f.on_critical_path), (false, false));
    assert_eq!(alone.expected.0 / 1_000_000, 800);
    // Its order is guessed.
    assert_eq!(f.expected.0 / 1_000_000, 533);
    assert!(alone.why.contains("includes other work"), "{}", alone.why);
    assert!(!f.why.contains("includes other work"), "{}", f.why);
    // What it and udev computed is known where their control groups were asked.
    let asked = "span unit 1s 1.8s systemd-udev-trigger.service cpu=100ms
        span unit 1.1s 1.2s systemd-udevd.service cpu=1200ms
        say 1ms 6 smp: Brought up 1 node, 1 CPU\n";
    let asked = one(asked, "", "udev-coldplug").unwrap();
    assert_eq!(asked.expected.0 / 1_000_000, 1_300);
    let other = unit.replace("udev-trigger", "udevd");
    assert!(one(&other, "", "udev-coldplug").is_none());
}

const UNITS: &str = "span unit 2.9s 2.9s multi-user.target
    span unit 1.9s 2.9s b.service
    span unit 1.1s 1.9s a.service
    span unit 1.1s 2.5s other.service
    span unit 1.1s 1.1s basic.target
    after multi-user.target b.service
    after multi-user.target other.service
    after b.service a.service
    after b.service basic.target
    wants multi-user.target b.service
    after a.service basic.target\n";

#[test]
fn order_without_use_is_told_with_what_first_light_gains() {
    let id = "needless-order";
    let f = one(UNITS, "", id).unwrap();
    // It could begin 800 ms sooner; first light waits for another one from 2.5 s on.
    assert_eq!(f.expected.0 / 1_000_000, 400);
    assert!(
        f.title == "b.service is ordered after a.service but does not use it",
        "{}",
        f.title
    );
    assert!(f.evidence[0].text.contains("is ordered after"));
    // Two that compute gain nothing side by side on one processor.
    let alone = format!("{UNITS}say 1ms 6 smp: Brought up 1 node, 1 CPU\n");
    let alone = one(&alone, "", id).unwrap();
    assert_eq!(alone.expected.0 / 1_000_000, 200);
    assert_eq!(alone.saving, f.saving);
    // Of one whose control group was asked, what it computes is known.
    let asked = UNITS.replace("1.9s a.service", "1.9s a.service cpu=50ms");
    let asked = format!("{asked}say 1ms 6 smp: Brought up 1 node, 1 CPU\n");
    let asked = one(&asked, "", id).unwrap();
    assert_eq!(asked.expected.0 / 1_000_000, 350);
    assert!(asked.why.contains("50.0 ms of CPU time"), "{}", asked.why);
    // A target behind it that waits for nothing else holds nothing up.
    let graphical = format!(
        "{UNITS}span unit 2.9s 2.9s graphical.target\n\
         after graphical.target multi-user.target\n"
    );
    assert_eq!(one(&graphical, "", id).unwrap().expected, f.expected);
    // A source that tells of order alone, as `systemd-analyze critical-chain` does.
    let chain = UNITS.replace("wants multi-user.target b.service\n", "");
    assert!(one(&chain, "", id).is_none());
    let used = format!("{UNITS}wants b.service a.service\n");
    assert!(one(&used, "", id).is_none());
    // Targets, and systemd's own units, are ordered for a reason.
    for name in [
        "a.target",
        "a.socket",
        "systemd-a.service",
        "dbus-a.service",
        "NetworkManager.service",
    ] {
        let text = UNITS.replace("a.service", name);
        assert!(one(&text, "", id).is_none(), "{name}");
    }
}

proptest! {
    /// No script and no line of a log stops it, or turns a range round.
    #[test]
    fn hostile_text_keeps_the_ranges_in_order(
        script in ".{0,200}",
        words in "[a-z0-9=,._-]{0,30}",
        number in "[0-9kKxa-f,. ]{0,30}",
    ) {
        let text = format!(
            "fact kernel.cmdline log_buf_len={words}\nsay 1ms 6 x\n\
             say 500ms 6 printk: log_buf_len: {number} bytes\n\
             say 600ms 6 efifb: framebuffer at {number}\n\
             say 700ms 6 devtmpfs: initialized\n"
        );
        let script = format!("mdev -s\ngunzip /x >/dev/fb0\n{script}\nfbv {words}\n");
        for f in found(&text, &script) {
            if let Some((low, high)) = f.saving {
                prop_assert!(low.0 >= 0 && low <= f.expected && f.expected <= high, "{f:?}");
            }
        }
    }
}

/// No order says that the wait for all devices needs udev.
#[test]
fn what_udev_begins_after_is_waited_for_with_all_devices() {
    let text = |end: &str| {
        format!(
            "span unit 1.1s {end} systemd-sysusers.service
             span unit 1.31s 1.4s systemd-udevd.service
             span unit 1.45s 2.8s systemd-udev-settle.service
             span unit 2.8s 2.8s multi-user.target
             after multi-user.target systemd-udev-settle.service
             after systemd-udevd.service systemd-sysusers.service\n"
        )
    };
    let f = one(&text("1.3s"), "", "rebuilt-at-boot").unwrap();
    assert_eq!(f.expected.0 / 1_000_000, 200);
    assert!(f.on_critical_path);
    // Something else came between.
    let f = one(&text("1.2s"), "", "rebuilt-at-boot").unwrap();
    assert!(!f.on_critical_path);
    assert!(f.expected.0 / 1_000_000 < 100);
}

/// Beside the path it is the work that counts, of the unit and of the manager for it.
#[test]
fn on_one_processor_a_unit_costs_what_it_computes() {
    let text = "mark 1s systemd-started -
        mark 1.1s units-load-finish -
        span unit 1.1s 1.1s init.scope cpu=140ms
        span unit 1.2s 2s dev-hugepages.mount cpu=10ms
        span unit 1.2s 2.8s other.service cpu=30ms
        span unit 2.8s 2.8s multi-user.target
        after multi-user.target other.service\n";
    let cores = |n| format!("{text}say 1ms 6 smp: Brought up 1 node, {n}\n");
    let f = one(&cores("1 CPU"), "", "optional-unit").unwrap();
    // Its own 10 ms, and half of the 40 ms that the manager took for two units.
    assert_eq!(f.expected.0 / 1_000_000, 30);
    // A third of that and of the log's 60 ms, which is a unit as well.
    let log = "span unit 1.1s 1.2s systemd-journald.service cpu=60ms\n";
    let f = one(&(cores("1 CPU") + log), "", "optional-unit").unwrap();
    assert_eq!(f.expected.0 / 1_000, 43_333);
    let f = one(&cores("2 CPUs"), "", "optional-unit").unwrap();
    assert_ne!(f.expected.0 / 1_000_000, 30);
}

/// systemd-journald does the work of a flush: what it says of it counts, else what it has to move.
#[test]
fn on_one_processor_a_flush_costs_what_the_daemon_computes_for_it() {
    let text = "mark 1s systemd-started -
        mark 1.1s units-load-finish -
        span unit 1.1s 1.1s init.scope cpu=140ms
        span unit 1.2s 2s systemd-journal-flush.service cpu=10ms
        span unit 1.2s 2.8s other.service cpu=30ms
        span unit 2.8s 2.8s multi-user.target
        after multi-user.target other.service
        say 1ms 6 smp: Brought up 1 node, 1 CPU\n"
        .to_owned();
    let expected = |more: &str| {
        let f = one(&(text.clone() + more), "", "journal-flush").unwrap();
        f.expected.0 / 1_000
    };
    // Its own 10 ms, half of the 40 ms that the manager took for two units, and one message
    // at 500 MIPS.
    assert_eq!(expected(""), 30_110);
    let many = "say 2ms 6 x\n".repeat(499);
    assert_eq!(expected(&many), 85_000);
    // The kernel says two lines of a call.
    let call = "span initcall 3ms 4ms a_init\n";
    assert_eq!(expected(&(many.clone() + call)), 85_220);
    // What was said after it began was not moved.
    assert_eq!(expected(&(many.clone() + "say 1.3s 6 x\n")), 85_000);
    for (time, us) in [("17.5ms", 17_500), ("850us", 850), ("1min 2.5s", 770_000)] {
        let said = format!(
            "say 1.5s 6 systemd-journald[9]: Time spent on flushing to /var/log/journal/1f is {time} \
             for 9 entries.\n"
        );
        assert_eq!(expected(&(many.clone() + &said)), 30_000 + us, "{time}");
    }
}

/// What makes a cache sleeps for nothing: on one processor others run while it reads.
#[test]
fn on_one_processor_a_rebuilt_cache_costs_what_it_computes() {
    let text = "mark 1s systemd-started -
        mark 1.1s units-load-finish -
        span unit 1.1s 1.1s init.scope cpu=140ms
        span unit 1.2s 2s systemd-sysusers.service cpu=30ms
        span unit 2s 2.8s other.service cpu=30ms
        span unit 2.8s 2.8s multi-user.target
        after other.service systemd-sysusers.service
        after multi-user.target other.service\n";
    let range = |n| {
        let text = format!("{text}say 1ms 6 smp: Brought up 1 node, {n}\n");
        let f = one(&text, "", "rebuilt-at-boot").unwrap();
        assert!(f.on_critical_path);
        let (low, high) = f.saving.unwrap();
        [low, f.expected, high].map(|t| t.0 / 1_000_000)
    };
    // Its own 30 ms, and half of the 40 ms that the manager took for two units.
    assert_eq!(range("1 CPU"), [25, 50, 800]);
    assert_eq!(range("2 CPUs"), [400, 800, 800]);
}

/// The network is waited for by nobody who works; what udev does goes on all the same.
#[test]
fn on_one_processor_a_wait_for_udev_is_shared() {
    let chain = "after multi-user.target UNIT\nspan unit 2.8s 2.8s multi-user.target\n\
                 span unit 1.2s 2.8s UNIT\n";
    let expected = |unit: &str, processors: &str| {
        let cores = format!("say 1ms 6 smp: Brought up 1 node, {processors}\n");
        let text = cores + &chain.replace("UNIT", unit);
        let f = one(&text, "", "waiting-unit").unwrap();
        (f.expected, f.saving.unwrap().1)
    };
    let (whole, quarter) = (Nanos::from_millis(1_600), Nanos::from_millis(400));
    let settle = "systemd-udev-settle.service";
    assert_eq!(expected(settle, "1 CPU"), (quarter, whole));
    assert_eq!(expected(settle, "2 CPUs"), (whole, whole));
    let network = "systemd-networkd-wait-online.service";
    assert_eq!(expected(network, "1 CPU"), (whole, whole));
}

/// On one processor others run while checks read: it is their work that goes.
#[test]
fn on_one_processor_skipped_checks_save_their_work() {
    let text = "mark 1s systemd-started -
        mark 1.1s units-load-finish -
        span unit 1.1s 1.1s init.scope cpu=130ms
        span unit 1.2s 1.3s systemd-sysctl.service cpu=15ms
        span unit 1.3s 1.9s systemd-fsck@dev-sda2.service cpu=25ms
        span unit 1.4s 2s systemd-fsck@dev-sda3.service cpu=35ms
        span unit 1.5s 1.5s systemd-fsckd.service cpu=14ms
        span unit 2s 2.8s multi-user.target
        after multi-user.target systemd-fsck@dev-sda3.service\n";
    let range = |n| {
        let text = format!("{text}say 1ms 6 smp: Brought up 1 node, {n}\n");
        let f = one(&text, "", "fsck-at-boot").unwrap();
        assert!(f.on_critical_path);
        let (low, high) = f.saving.unwrap();
        [low, f.expected, high].map(|t| t.0 / 100_000)
    };
    // 10 and 20 ms of the checks, 14 of the daemon and a quarter of the 30 that the manager took.
    assert_eq!(range("1 CPU"), [257, 515, 7_000]);
    assert_eq!(range("2 CPUs")[2], 7_000);
    assert!(range("2 CPUs")[1] > 2_500);
}

/// The program of the unit reads the word that skips the check, and so starts all the same.
#[test]
fn a_check_that_is_skipped_still_starts_its_program() {
    let expected = |other: &str| {
        let text = format!(
            "span unit 1.2s 1.5s systemd-fsck@dev-sda2.service
             span unit 1.5s 2.8s app.service
             span unit 2.8s 2.8s multi-user.target
             after app.service systemd-fsck@dev-sda2.service
             after multi-user.target app.service
             {other}\n"
        );
        let f = one(&text, "", "fsck-at-boot").unwrap();
        (f.expected.0 / 1_000_000, f.saving.unwrap().1.0 / 1_000_000)
    };
    assert_eq!(expected(""), (300, 300));
    // The shortest of systemd's own programs starts in 40 ms.
    let short = "span unit 1.1s 1.14s systemd-update-utmp.service
                 span unit 1.1s 1.101s ssh.service
                 span unit 2.999s 4s systemd-logind.service";
    assert_eq!(expected(short), (260, 300));
    // Two disks are checked beside one another, and two programs start.
    let two = format!("{short}\nspan unit 1.25s 1.45s systemd-fsck@dev-sdb1.service");
    assert_eq!(expected(&two), (220, 300));
    // Even if each alone would leave the other; the second hands on 10 ms later.
    let two = "span unit 1.21s 1.49s systemd-fsck@dev-sdb1.service
         after app.service systemd-fsck@dev-sdb1.service";
    assert_eq!(expected(two), (290, 300));
    // Where the short ones are not known, it is at most half.
    assert_eq!(
        expected("span unit 1s 1.25s systemd-journald.service"),
        (150, 300)
    );
}

/// What is found of the checks of a root with this /etc/fstab.
fn checks(text: &str, fstab: &str) -> Option<Finding> {
    let system = SystemFacts {
        root: Some(RootTree {
            source: "/r".to_owned(),
            texts: [("etc/fstab".to_owned(), fstab.to_owned())].into(),
            ..RootTree::default()
        }),
        ..SystemFacts::default()
    };
    let record = record(text);
    let all = advice(&record, &phases(&record), &system).findings;
    all.into_iter().find(|f| f.id == "fstab-checks")
}

/// The kernel's log has systemd's lines only until the journal takes them.
#[test]
fn a_log_that_ends_before_the_mounts_does_not_say_what_is_checked() {
    let is_told = |source: &str, more: &str| {
        let unit = "span unit 1.1s 1.2s systemd-sysctl.service";
        let text = format!("source x {source}\nclock c monotonic\n{BOOT}{unit}\n{more}\n");
        checks(&text, "/dev/a / ext4 defaults 0 1\n").is_some()
    };
    assert!(is_told("kernel-log", ""));
    assert!(!is_told("systemd-show", ""));
    let pre = "say 2s 6 systemd[1]: Reached target local-fs-pre.target - Preparation.";
    assert!(is_told("kernel-log", pre));
    for mounted in [
        "local-fs.target - Local File Systems.",
        "Local File Systems.",
    ] {
        let line = format!("say 2s 6 systemd[1]: Reached target {mounted}");
        assert!(!is_told("kernel-log", &line), "{mounted}");
    }
}

/// A check is so many instructions: of an x86 the rate of its time stamp counter tells how long
/// they take. The root is not checked if it is mounted for writing by then.
#[test]
fn checks_take_as_long_as_the_processor_needs_and_not_of_a_root_that_is_written() {
    let expected = |more: &str| {
        let text = format!("source x kernel-log\nclock c monotonic\n{BOOT}{more}\n");
        let fstab = "/dev/a / ext4 defaults 0 1\n/dev/b /b ext4 defaults 0 2\n";
        checks(&text, fstab).unwrap().expected.0 / 1_000_000
    };
    // 500 million instructions a second where nothing tells.
    assert_eq!(expected(""), 160);
    assert_eq!(
        expected("say 0.1s 6 tsc: Detected 2000.000 MHz processor"),
        40
    );
    assert_eq!(expected("say 0.1s 6 Detected 1000.500 MHz processor."), 79);
    let timer = "say 0.1s 6 Calibrating delay loop (skipped), value calculated using timer \
                 frequency.. 48.00 BogoMIPS (lpj=96000)";
    assert_eq!(expected(timer), 160);
    let skipped = |condition: &str| {
        format!(
            "say 2s 6 systemd[1]: systemd-fsck-root.service - File System Check on Root Device \
             was skipped because of an unmet condition check ({condition})."
        )
    };
    assert_eq!(expected(&skipped("ConditionPathIsReadWrite=!/")), 80);
    // The initramfs has checked it.
    let by_initramfs = skipped("ConditionPathExists=!/run/initramfs/fsck-root");
    assert_eq!(expected(&by_initramfs), 160);
}

/// What a module waits for beside programs, nobody else does, unless one waits for all devices.
#[test]
fn ports_that_are_probed_beside_programs_are_not_waited_for() {
    let is_told = |begin: &str, more: &str| {
        let text = format!(
            "say {begin} 6 ata1: SATA max UDMA/133
             say 1.6s 6 ata1: SATA link down (SStatus 0)\n{more}\n"
        );
        one(&text, "", "empty-ports").is_some()
    };
    assert!(is_told("0.9s", ""));
    assert!(!is_told("1.1s", ""));
    let settle = "span unit 1.05s 1.7s systemd-udev-settle.service";
    assert!(is_told("1.1s", settle));
}

/// A wait for ports beside which nobody says anything is waited for rather than not.
#[test]
fn ports_are_waited_for_where_the_log_has_nobody_else() {
    let expected = |more: &str| {
        let text = format!(
            "say 0.3s 6 ata1: SATA max UDMA/133\n{more}\n\
             say 0.9s 6 ata1: SATA link down (SStatus 0)\n"
        );
        one(&text, "", "empty-ports").map(|f| f.expected.0 / 1_000_000)
    };
    assert_eq!(expected(""), Some(390));
    assert_eq!(expected("say 0.4s 6 usb 1-1: new device"), Some(325));
    assert_eq!(expected("say 0.8s 6 usb 1-1: new device"), Some(240));
}
