//! What is long is told, with the names of what stands beside it, and no finding saves more
//! than the time that it looked at.
#![allow(clippy::unwrap_used, reason = "tests")]

mod advised;
mod common;

use advised::found;
use firstlight_analysis::Finding;
use record::Nanos;

fn one(text: &str, id: &str) -> Finding {
    let all = found(text);
    let ids: Vec<_> = all.iter().map(|f| f.id).collect();
    let of = all.iter().find(|f| f.id == id);
    assert!(of.is_some(), "{id} is not in {ids:?}");
    of.unwrap().clone()
}

fn ms(time: Nanos) -> i64 {
    time.0 / 1_000_000
}

/// A printed chain, whose targets are points, with a unit that was started again.
const CHAIN: &str = "source chain.txt systemd-analyze
    clock userspace monotonic
    mark 0s userspace-start userspace
    mark 60s multi-user.target -
    span unit 60s 60s multi-user.target
    span unit 52s 52.2s app.service
    span unit 10s 22s net.service
    span unit 9s 9s basic.target
    span unit 70s 70s again.mount
    span unit 1s 8.9s early.service
    after multi-user.target app.service
    after app.service net.service
    after net.service basic.target
    after basic.target again.mount
    after again.mount early.service";

#[test]
fn the_longest_units_and_waits_of_a_chain_are_told() {
    let all = found(CHAIN);
    assert_eq!(all[0].id, "chain-wait");
    assert_eq!(all[0].names, ["app.service", "net.service"]);
    let (low, high) = all[0].saving.unwrap();
    assert!(ms(low) >= 8_000 && ms(high) <= 30_000, "{low} {high}");
    let units: Vec<_> = all.iter().filter(|f| f.id == "longest-unit").collect();
    assert_eq!(units[0].names, ["net.service"]);
    assert_eq!(units[1].names, ["early.service"]);
    // 70 % of 12 s, and half of that: the wait of 30 s behind it may not depend on it.
    assert_eq!(ms(units[0].expected), 4_200);
    // What was started again later is no part of the way.
    assert!(
        all.iter()
            .all(|f| !f.names.contains(&"again.mount".to_owned()))
    );
}

/// A wait for the network on a chain, and how long after it the last target came.
fn network_and_then(seconds: u32) -> Vec<Finding> {
    let (end, total) = (seconds + 8, seconds + 9);
    found(&format!(
        "source chain.txt systemd-analyze
        clock userspace monotonic
        mark 0s userspace-start userspace
        mark {total}s graphical.target -
        span unit {end}s {end}s graphical.target
        span unit 7.5s 7.6s last.service
        span unit 1.2s 7.4s NetworkManager-wait-online.service
        span unit 1s 1s basic.target
        after graphical.target last.service
        after last.service NetworkManager-wait-online.service
        after NetworkManager-wait-online.service basic.target"
    ))
}

#[test]
fn what_a_longer_wait_follows_on_a_chain_may_not_be_waited_for() {
    for (seconds, waited) in [(0, true), (94, false)] {
        let all = network_and_then(seconds);
        let unit = all.iter().find(|f| f.id == "waiting-unit").unwrap();
        let (low, high) = unit.saving.unwrap();
        assert_eq!(unit.on_critical_path, waited, "{seconds}");
        assert_eq!(low > Nanos::ZERO, waited, "{low}");
        assert!(ms(high) >= 6_000, "{high}");
        assert_eq!(unit.why.contains("a longer wait follows"), !waited);
        assert!(
            !unit.why.contains("not on the critical path"),
            "{}",
            unit.why
        );
    }
}

#[test]
fn a_wait_that_is_one_known_unit_is_told_once() {
    let chain = "source chain.txt systemd-analyze
        clock userspace monotonic
        mark 0s userspace-start userspace
        mark 32.6s multi-user.target -
        span unit 32.6s 32.6s multi-user.target
        span unit 32.56s 32.56s network-online.target
        span unit 2.227s 2.227s network.target
        span unit 1.2s 2.2s early.service
        after multi-user.target network-online.target
        after network-online.target network.target
        after network.target early.service
        source blame.txt systemd-analyze
        span unit - - NetworkManager-wait-online.service reported=";
    for (took, waits) in [("30.326s", 0), ("20.326s", 1)] {
        let all = found(&format!("{chain}{took}"));
        assert_eq!(all.iter().filter(|f| f.id == "chain-wait").count(), waits);
        assert!(all.iter().any(|f| f.title.contains("wait-online")));
    }
}

#[test]
fn a_wait_may_be_explained_by_a_unit_beside_the_chain() {
    let blame = "source blame.txt systemd-analyze
        span unit - - slow.service reported=28s
        span unit - - quick.service reported=1s";
    let f = one(&format!("{CHAIN}\n{blame}"), "chain-wait");
    assert!(
        f.names.contains(&"slow.service".to_owned()),
        "{:?}",
        f.names
    );
    assert!(
        !f.names.contains(&"quick.service".to_owned()),
        "{:?}",
        f.names
    );
}

/// How a printed chain begins whose last unit is active after 100 s.
const CHAIN_OF_100_S: &str = "source chain.txt systemd-analyze
    clock userspace monotonic
    mark 0s userspace-start userspace
    mark 100s multi-user.target -
    span unit 100s 100s multi-user.target";

/// Nothing stands before the first unit of a chain; systemd itself needs some time.
#[test]
fn what_is_before_the_first_unit_is_a_wait() {
    let text = |disk: &str| {
        format!(
            "{CHAIN_OF_100_S}
            span unit 39s 99s app.service
            span unit {disk} {disk} dev-sda5.device
            after multi-user.target app.service
            after app.service dev-sda5.device"
        )
    };
    let f = one(&text("38s"), "chain-wait");
    assert_eq!(f.names, ["dev-sda5.device"]);
    assert_eq!(f.saving.map(|s| ms(s.1)), Some(38_000));
    // Less than a tenth of the boot.
    let before = found(&text("9s"));
    let of_disk = |f: &&Finding| f.id == "chain-wait" && f.names == ["dev-sda5.device"];
    assert_eq!(before.iter().filter(of_disk).count(), 0);
}

#[test]
fn a_wait_of_ninety_seconds_for_a_target_is_a_timeout() {
    let text = |sysinit: &str| {
        format!(
            "{CHAIN_OF_100_S}
            span unit {sysinit} {sysinit} sysinit.target
            span unit 6s 7s clock.service
            span unit 3s 3s system.slice
            after multi-user.target sysinit.target
            after sysinit.target clock.service
            after clock.service system.slice"
        )
    };
    let f = one(&text("93.1s"), "device-timeout");
    assert_eq!(f.names, ["sysinit.target", "clock.service"]);
    // The job began with systemd, before the unit that the chain shows ended.
    assert_eq!(ms(f.saving.unwrap().1), 90_100);
    // A slow disk delays the first unit, and with it the timeout.
    let f = one(&text("95s"), "device-timeout");
    assert_eq!(f.names, ["sysinit.target", "clock.service"]);
    // A wait that ends at any other moment is only a wait.
    let ids: Vec<_> = found(&text("97s")).iter().map(|f| f.id).collect();
    assert!(ids.contains(&"chain-wait"), "{ids:?}");
    assert!(!ids.contains(&"device-timeout"), "{ids:?}");
}

/// A chain goes on with what became active later: its device may hold up all.
#[test]
fn units_behind_a_wait_that_began_later_are_named() {
    let text = "source chain.txt systemd-analyze
        clock monotonic monotonic
        mark 0s userspace-start userspace
        span unit 40s 40s b.target
        span unit 40s 40s a.target
        span unit 42s 42s getty@b.service
        span unit 41s 41s dev-b.device
        after b.target a.target
        after a.target getty@b.service
        after getty@b.service dev-b.device
        mark 40s startup-finished -";
    let f = one(text, "chain-wait");
    assert_eq!(f.names, ["a.target", "getty@b.service", "dev-b.device"]);
    assert!(f.why.contains("cannot have waited"), "{}", f.why);
    let earlier = text.replace("42s 42s", "2s 2s").replace("41s 41s", "1s 1s");
    assert!(
        found(&earlier)
            .iter()
            .all(|f| !f.why.contains("cannot have waited"))
    );
}

/// systemd puts a login on the kernel's console: one on a serial line shows what the kernel
/// waits for.
#[test]
fn a_login_on_a_serial_line_shows_the_console() {
    let text = |unit: &str| {
        format!(
            "source time.txt systemd-analyze
            clock monotonic monotonic
            mark 0s kernel-clock-start kernel
            mark 3s userspace-start userspace
            mark 9s startup-finished -
            span unit - - {unit} reported=2s"
        )
    };
    let f = one(&text("serial-getty@ttyAMA0.service"), "opaque-phase");
    assert!(f.names.iter().any(|n| n == "quiet"), "{:?}", f.names);
    for unit in ["serial-getty@ttyGS0.service", "getty@tty1.service"] {
        let f = one(&text(unit), "opaque-phase");
        assert!(!f.names.iter().any(|n| n == "quiet"), "{unit}");
    }
}

/// Who has no systemd is not told to ask it.
#[test]
fn a_step_of_another_init_is_told_without_systemds_tools() {
    let why = |unit: &str| {
        let text = format!(
            "mark 0s kernel-start kernel\nmark 2s userspace-start userspace\n\
             span unit 4s 9s {unit}\nmark 12s startup-finished -\n"
        );
        one(&text, "longest-unit").why
    };
    assert!(why("apexd-bootstrap").contains("steps of this init"));
    assert!(why("slow.service").contains("systemd-analyze critical-chain"));
}

#[test]
fn what_runs_after_the_default_target_is_told_by_its_length() {
    let text = |unit: &str| {
        format!(
            "source time.txt systemd-analyze
            clock monotonic monotonic
            mark 0s kernel-clock-start kernel
            mark 2s userspace-start userspace
            mark 10s multi-user.target -
            mark 40s startup-finished -
            source blame.txt systemd-analyze
            span unit - - {unit} reported=33s
            span unit - - other.service reported=4s"
        )
    };
    let f = one(&text("index.service"), "late-unit");
    assert_eq!(f.names, ["index.service"]);
    assert_eq!((ms(f.expected), ms(f.saving.unwrap().1)), (27_000, 30_000));
    // What another rule tells is waited for, too.
    let f = one(&text("NetworkManager-wait-online.service"), "waiting-unit");
    assert!(f.on_critical_path);
    assert_eq!(ms(f.expected), 30_000);
}

#[test]
fn the_first_of_a_list_of_durations_is_told() {
    let text = "source blame.txt systemd-analyze
        span unit - - big.service reported=47s
        span unit - - dev-sda1.device reported=50s
        span unit - - small.service reported=2s";
    let all = found(text);
    assert_eq!(all[0].names, ["big.service"]);
    assert!(ms(all[0].expected) > 30_000);
    assert!(!all[0].on_critical_path);
    assert!(
        all.iter()
            .all(|f| !f.names.contains(&"dev-sda1.device".to_owned()))
    );
}

/// The instances of a template run at the same time: their times are one.
#[test]
fn instances_of_a_template_that_take_as_long_are_one_finding() {
    let all = found(
        "source blame.txt systemd-analyze
        span unit - - scan@8:1.service reported=20s
        span unit - - scan@8:2.service reported=19s
        span unit - - scan@8:3.service reported=9s
        span unit - - scanner.service reported=8s",
    );
    let names: Vec<_> = all.iter().map(|f| f.names.clone()).collect();
    let names: Vec<&[String]> = names.iter().map(Vec::as_slice).collect();
    assert_eq!(
        names,
        [
            &["scan@8:2.service".to_owned(), "scan@8:1.service".to_owned()][..],
            &["scan@8:3.service".to_owned()][..],
            &["scanner.service".to_owned()][..],
        ]
    );
    assert!(all[0].why.contains("One more instance"), "{}", all[0].why);
    assert_eq!(all[0].evidence.len(), 2);
}

#[test]
fn a_phase_of_which_only_the_length_is_known_is_told() {
    let text = "source time.txt systemd-analyze
        clock monotonic monotonic
        mark 0s kernel-clock-start kernel
        mark 1s initrd-start initrd
        mark 4s userspace-start userspace
        mark 9s startup-finished -";
    let f = one(text, "opaque-phase");
    assert_eq!(f.names, ["initrd"]);
    let log = format!("{text}\nsource dmesg kernel-log\nsay 2s 6 a\nsay 500ms 6 b");
    assert!(found(&log).iter().all(|f| f.id != "opaque-phase"));
}

/// A list of durations says more of the userspace than its length, although it has no times.
#[test]
fn a_userspace_without_units_is_told_by_its_length() {
    let text = "source time.txt systemd-analyze
        clock monotonic monotonic
        mark 0s kernel-clock-start kernel
        mark 2s userspace-start userspace
        mark 42s startup-finished -";
    let f = one(text, "opaque-phase");
    assert_eq!(f.names, ["userspace"]);
    assert_eq!(f.title, "Userspace takes 40.000 s");
    assert!(f.why.contains("systemd-analyze blame"), "{}", f.why);
    // 45 % of the first 20 s, and 80 % of the 20 s beyond.
    assert_eq!(ms(f.expected), 25_000);
    let units = format!("{text}\nspan unit - - a.service reported=30s");
    let all = found(&units);
    let of = |name: &str| all.iter().any(|f| f.names.iter().any(|n| n == name));
    assert!(!of("userspace") && of("a.service"), "{all:?}");
    // What systemd does after the default target is told by itself.
    let target = |at: &str| found(&format!("{text}\nmark {at} graphical.target -"));
    assert!(target("12s").iter().all(|f| f.names != ["userspace"]));
    let all = target("30s");
    let f = all.iter().find(|f| f.names == ["userspace"]).unwrap();
    assert_eq!(f.title, "Userspace takes 28.000 s");
    // Of a shorter one nothing is known that could go.
    let short = text.replace("42s", "20s");
    assert!(found(&short).iter().all(|f| f.names != ["userspace"]));
}

#[test]
fn a_userspace_that_is_as_long_as_a_timeout_is_told_with_what_times_out() {
    let of = |end: &str| {
        let text = format!(
            "source time.txt systemd-analyze
            clock monotonic monotonic
            mark 0s kernel-clock-start kernel
            mark 2s userspace-start userspace
            mark {end} startup-finished -"
        );
        let f = one(&text, "opaque-phase");
        (ms(f.expected), f.names.join(" "), f.why)
    };
    let (expected, names, why) = of("95s");
    assert_eq!(expected, 82_800);
    assert!(
        names.contains("/etc/fstab") && why.contains("tpm2_wait=0"),
        "{why}"
    );
    assert!(
        of("126s")
            .1
            .contains("systemd-networkd-wait-online.service")
    );
    assert!(of("310s").1.contains("networking.service"));
    // Lengths of which nothing is known.
    for end in ["85s", "115s", "200s", "330s"] {
        assert_eq!(of(end).1, "userspace", "{end}");
    }
}

#[test]
fn what_programs_say_of_their_waits_is_told() {
    let waits = |lines: &str| {
        let all = found(&format!(
            "source log kernel-log\nclock printk printk\n{lines}"
        ));
        let all = all.into_iter().filter(|f| f.id == "spoken-wait");
        let all = all.map(|f| (f.title, ms(f.expected), f.names.join(" ")));
        all.collect::<Vec<_>>()
    };
    let one = |lines: &str| {
        let all = waits(lines);
        assert_eq!(all.len(), 1, "{all:?}");
        all.into_iter().next().unwrap()
    };
    let (title, expected, names) =
        one("say 3s 6 stage-1-init: waiting for device /dev/old to appear.............");
    assert_eq!(title, "The initramfs waits 10.000 s for /dev/old");
    assert_eq!(
        (expected, names.as_str()),
        (9_000, "/dev/old resume initrd")
    );
    // It was there at once.
    assert!(waits("say 3s 6 stage-1-init: waiting for device /dev/new to appear...").is_empty());
    let (title, expected, _) = one("say 3s 6 IP-Config: no response after 2 secs - giving up
        say 6s 6 IP-Config: no response after 3 secs - giving up");
    // It asks again after 1 s and 2 s, and looks at its limit only then.
    assert_eq!(title, "The initramfs waits 6.000 s for an address");
    assert_eq!(expected, 5_400);
    // Where the lines have times, these count, also of the round that was answered.
    let rounds = "say 1s 6 IP-Config: eth0 hardware address 02:00:00:00:00:01 mtu 1500 DHCP
        say 4s 6 IP-Config: no response after 2 secs - giving up
        say 4.1s 6 IP-Config: eth0 hardware address 02:00:00:00:00:01 mtu 1500 DHCP
        say 9s 6 IP-Config: eth0 complete (dhcp from 10.0.0.1):";
    let (title, expected, _) = one(rounds);
    assert_eq!(title, "The initramfs waits 8.000 s for an address");
    assert_eq!(expected, 7_200);
    // All of it may have been written at once.
    let at_once = "say 1s 6 done.\n".to_owned() + &rounds.replace("say 1s", "say 4s");
    assert_eq!(one(&at_once).0, title);
    // Without times the last round is answered at some time of it.
    let all = rounds.lines().map(|l| l.split_once("IP-Config").unwrap().1);
    let all: Vec<String> = all.map(|l| format!("say 9s 6 IP-Config{l}")).collect();
    let (title, expected, _) = one(&all.join("\n"));
    assert_eq!(title, "The initramfs waits 3.000 s for an address");
    assert_eq!(expected, 5_850);
    let waited = "say 3s 6 :: Waiting 10 seconds for device /dev/old ...";
    assert_eq!(one(waited).1, 5_000);
    let vain = format!("{waited}\nsay 13s 6 ERROR: device '/dev/old' not found.");
    assert_eq!(one(&vain).1, 9_000);
    let of_lvm = |device: &str| {
        format!(
            "say 3s 6 lvm[7]: WARNING: Device /dev/{device} not initialized in udev database \
             even after waiting 10000000 microseconds.\n"
        )
    };
    let (title, expected, _) = one(&(of_lvm("sda") + &of_lvm("sdb")));
    assert_eq!(
        (title.as_str(), expected),
        ("LVM waits 20.000 s for udev", 18_000)
    );
    let (title, expected, names) = one(
        "say 3s 6 systemd-udevd[9]: card7: Worker [19] processing SEQNUM=77 is taking a long time",
    );
    assert_eq!(title, "udev is busy with card7 for 60.000 s or more");
    assert_eq!((expected, names.as_str()), (54_000, "card7 udev"));
    let (title, ..) = one(
        "say 3s 6 (udev-worker)[9]: event7: Spawned process '/bin/x' [7] is taking longer than 59s \
         to complete.",
    );
    assert!(title.contains("event7"), "{title}");
    let (title, expected, _) = one("say 3s 6 Waiting for network configuration...
        say 9s 6 Waiting up to 60 more seconds for network configuration...");
    assert_eq!(
        (title.as_str(), expected),
        ("Upstart waits 60.000 s for the network", 54_000)
    );
    assert!(waits("say 3s 6 the task is taking a long time").is_empty());
    let late = "systemd[1]: own.service: start operation timed out. Terminating.";
    let (title, expected, names) = one(&format!("say 3s 6 {late}"));
    assert!(title.contains("90.000 s for own.service"), "{title}");
    assert_eq!((expected, names.as_str()), (81_000, "own.service"));
    let (_, expected, _) = one(&format!(
        "say 3s 6 systemd[1]: Starting own.service - Own...\nsay 33s 6 {late}"
    ));
    assert_eq!(expected, 27_000);
}

/// A sorted list hides nothing that is longer than its last row.
#[test]
fn what_a_cut_list_hides_is_short_if_its_last_row_is() {
    let of = |last: &str| {
        let all = found(&format!(
            "source blame.txt systemd-analyze\nclock monotonic monotonic\n\
             span unit - - own.service reported=60s\nspan unit - - b.service reported=3s\n\
             span unit - - c.service reported={last}\n"
        ));
        let mut all = all.into_iter();
        let f = all.find(|f| f.names.contains(&"own.service".to_owned()));
        ms(f.unwrap().expected)
    };
    assert_eq!(of("900ms"), 54_000);
    assert_eq!(of("2s"), 45_000);
}

#[test]
fn android_tells_between_which_events_it_takes_long() {
    let all = found(
        "source log kernel-log\nclock realtime wall
        say 1s 6 boot_progress_start: 9000
        say 2s 6 boot_progress_preload_start: 10000
        say 3s 6 boot_progress_pms_start( 900): 11000
        say 40s 6 boot_progress_pms_ready: 48000
        say 41s 6 boot_progress_enable_screen: [49000]
        say 42s 6 boot_progress_other: soon",
    );
    let all: Vec<_> = all.iter().filter(|f| f.id == "android-progress").collect();
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!(
        all[0].title,
        "Android takes 37.000 s from `pms_start` to `pms_ready`"
    );
    assert!(all[0].why.contains("PackageManager"), "{}", all[0].why);
    assert_eq!(ms(all[0].expected), 16_650);
}

#[test]
fn a_stage_of_firmware_that_no_work_explains_is_a_wait() {
    let of = |end: &str| {
        let text = format!(
            "source list.txt cbmem\nclock counter counter\nmark 0s power-on firmware\n\
             mark 1s before~memory firmware\n\
             span stage 1s {end} before~memory~->~after~memory\nmark 100s jump -"
        );
        let all = found(&text);
        let mut all = all.into_iter().filter(|f| f.title.contains("after memory"));
        let (low, high) = all.next().map(|f| (f.expected, f.saving.unwrap())).unwrap();
        (ms(low), ms(high.0), ms(high.1))
    };
    assert_eq!(of("6s"), (3_000, 500, 5_000));
    // 60 % of the first 10 s, and 90 % of the 40 s beyond.
    assert_eq!(of("51s"), (42_000, 17_000, 50_000));
}

#[test]
fn a_module_that_takes_long_to_initialize_is_told() {
    let of = |call: &str| {
        let text = format!(
            "source dmesg.txt kernel-log\nclock printk printk\nmark 0s kernel-start kernel\n\
             span initcall - 9s {call} reported=4s\nsay 9.1s 6 next"
        );
        found(&text).into_iter().find(|f| f.id == "long-modules")
    };
    // Its start is not known, nor what went on meanwhile.
    let f = of("slow_init [slowmod]").unwrap();
    assert_eq!(f.title, "The module `slowmod` takes 4.000 s to initialize");
    assert_eq!(ms(f.expected), 2_000);
    // Nothing else went on for 3 s, and a line came soon after the call.
    let still = |more: &str| {
        let text = format!(
            "source dmesg.txt kernel-log\nclock printk printk\nmark 0s kernel-start kernel\n\
             span initcall 5s 9s slow_init [slowmod]\nsay 6s 6 slow: found\nsay 9.1s 6 next{more}"
        );
        let all = found(&text);
        ms(all
            .into_iter()
            .find(|f| f.id == "long-modules")
            .unwrap()
            .expected)
    };
    assert_eq!(still(""), 3_200);
    assert_eq!(still("\nsay 7s 6 other"), 2_800);
    // systemd's units are not in this log.
    let systemd = "\nsay 4s 6 systemd[1]: systemd 252 running in system mode (+PAM)";
    assert_eq!(still(systemd), 2_000);
    assert!(of("slow_init").is_none());
}

#[test]
fn the_time_until_libata_tries_again_is_a_part_of_the_wait() {
    let of = |first: &str| {
        let text = format!(
            "source dmesg.txt kernel-log\nclock printk printk\nmark 0s kernel-start kernel\n\
             say 2s 6 ata7: SATA max UDMA/133\nsay 3s 3 {first}\n\
             say 33s 3 ata7: COMRESET failed (errno=-16)\nsay 33.1s 6 next"
        );
        let all = found(&text);
        let f = all
            .into_iter()
            .find(|f| f.id == "missing-hardware")
            .unwrap();
        ms(f.saving.unwrap().1)
    };
    assert_eq!(
        of("ata7: reset failed (errno=-16), retrying in 25 secs"),
        30_000
    );
    assert_eq!(of("ata7: hard resetting link"), 5_000);
    // Of another device.
    assert_eq!(
        of("ata8: reset failed (errno=-16), retrying in 25 secs"),
        5_000
    );
}

#[test]
fn waits_that_end_with_the_same_words_are_one() {
    let of = |tag: &str| {
        found(&format!(
            "source log kernel-log\nclock realtime wall
            say 10s 6 {tag}: Looking for it
            say 28s 6 {tag}: Not there
            say 28.1s 6 {tag}: Looking for another
            say 47.1s 6 {tag}: Not there
            say 47.2s 6 {tag}: Done"
        ))
    };
    let all = of("vold    ");
    let silences: Vec<_> = all.iter().filter(|f| f.id == "program-silence").collect();
    assert_eq!(silences.len(), 1, "{all:?}");
    assert!(
        silences[0].title.contains("2 times, 37.000 s in total"),
        "{}",
        silences[0].title
    );
    assert_eq!(ms(silences[0].expected), 27_750);
    assert!(silences[0].names.contains(&"vold".to_owned()));
    // What runs after the boot, too, may be idle.
    assert!(of("chatd   ").iter().all(|f| f.id != "program-silence"));
}

#[test]
fn a_kernel_before_an_initrd_of_systemd_unpacks_the_initramfs() {
    let text = |initrd: &str| {
        format!(
            "source time.txt systemd-analyze
            clock monotonic monotonic
            mark 0s kernel-clock-start kernel
            {initrd}
            mark 13s userspace-start userspace
            mark 19s startup-finished -"
        )
    };
    let all = found(&text("mark 8s initrd-start initrd"));
    let kernel = all.iter().find(|f| f.names[0] == "kernel").unwrap();
    assert!(
        kernel.why.contains("unpacks the initramfs"),
        "{}",
        kernel.why
    );
    // 45 % of the first 3 s, and 80 % of the 5 s beyond.
    assert_eq!(ms(kernel.expected), 5_350);
    let all = found(&text(""));
    let kernel = all.iter().find(|f| f.names[0] == "kernel").unwrap();
    assert!(
        !kernel.why.contains("unpacks the initramfs"),
        "{}",
        kernel.why
    );
    assert_eq!(ms(kernel.expected), 4_500 + 2_400);
}

const KERNEL: &str = "mark 0s kernel-start kernel
    mark 4s userspace-start userspace
    mark 300s startup-finished -\n";

#[test]
fn a_silence_names_what_stands_beside_it_and_ends_with_the_kernel() {
    let text = format!(
        "{KERNEL}say 1s 6 ahci 0000:00:1f.2: ready
        say 2s 6 tsc: Refined TSC clocksource calibration: 1 MHz
        say 3s 6 fd7: no controllers found
        say 5s 6 idle
        say 200s 6 still idle"
    );
    let f = one(&text, "kernel-silence");
    assert_eq!(ms(f.saving.unwrap().1), 2_000);
    assert!(f.names.contains(&"fd7".to_owned()), "{:?}", f.names);
    assert!(f.names.contains(&"ahci".to_owned()), "{:?}", f.names);
    let silences = found(&text);
    let silences = silences.iter().filter(|f| f.id == "kernel-silence");
    assert_eq!(silences.count(), 1, "idle programs are silent");
}

const SHORT: &str = "mark 0s kernel-start kernel
    mark 4s userspace-start userspace
    mark 9s startup-finished -\n";

#[test]
fn a_silence_as_long_as_a_known_timeout_says_so() {
    let text = "mark 0s kernel-start kernel
        say 2s 6 sd 0:0:0:0: [sda] Attached SCSI disk
        say 32.4s 6 EXT4-fs (sda1): mounted filesystem
        mark 32.5s root-mounted -
        mark 40s startup-finished -";
    let f = one(text, "kernel-silence");
    assert!(f.names.contains(&"resume".to_owned()), "{:?}", f.names);
    assert!(f.why.contains("resume="), "{}", f.why);
    assert_eq!(f.treatment.as_deref(), Some("cmdline+=noresume"));
    // The scripts around the wait take their time, too.
    let slow = text.replace("32.4s", "34.6s").replace("32.5s", "34.7s");
    assert!(
        one(&slow, "kernel-silence")
            .names
            .contains(&"resume".to_owned())
    );
    // A line that a thread writes beside may be what was waited for.
    let beside = text.replace(
        "say 32.4s",
        "say 32.35s 5 random: crng init done\nsay 32.4s",
    );
    let f = one(&beside, "kernel-silence");
    assert!(f.names.contains(&"random".to_owned()), "{:?}", f.names);
}

#[test]
fn a_silence_that_another_finding_measured_is_told_once() {
    let text = format!(
        "{SHORT}say 1s 6 Freeing unused kernel image memory: 1108K
        say 2s 6 x86/mm: Checked W+X mappings: passed, no W+X pages found.
        say 2.5s 6 Run /init as init process"
    );
    let all = found(&text);
    let check = all.iter().find(|f| f.id == "mapping-check").unwrap();
    assert_eq!(ms(check.saving.unwrap().1), 1_000);
    let silences: Vec<_> = all.iter().filter(|f| f.id == "kernel-silence").collect();
    // The time behind that line has another length, and no other cause is known.
    assert_eq!(silences.len(), 1, "{silences:?}");
    assert_eq!(ms(silences[0].saving.unwrap().1), 500);
}

#[test]
fn a_silence_in_which_ciphers_are_tested_has_the_word_that_skips_it() {
    let text = format!(
        "{SHORT}say 1s 6 evm: HMAC attrs: 0x1
        say 2s 6 clk: Disabling unused clocks"
    );
    let f = one(&text, "kernel-silence");
    assert_eq!(f.treatment.as_deref(), Some("cmdline+=cryptomgr.notests"));
    assert!(f.why.contains("cryptomgr.notests"), "{}", f.why);
    let other = text.replace("evm: HMAC attrs: 0x1", "other work");
    assert_eq!(one(&other, "kernel-silence").treatment, None);
}

#[test]
fn benchmarks_are_as_long_as_the_silences_before_their_results() {
    let text = format!(
        "{SHORT}say 1s 6 other work
        say 2s 6 raid6: a gen() 1 MB/s
        say 2.1s 6 raid6: b gen() 1 MB/s
        say 3.1s 6 other work in between
        say 3.2s 6 xor: c 1 MB/s"
    );
    let f = one(&text, "raid-benchmarks");
    // 1 s before the first line is not its own: the others took 0.1 s.
    assert_eq!(ms(f.saving.unwrap().1), 300);
    // The chosen routine is measured once more.
    let again = text
        + "\nsay 3.3s 6 raid6: using algorithm a gen() 1 MB/s\n\
        say 3.4s 6 raid6: .... xor() 1 MB/s, rmw enabled";
    let f = one(&again, "raid-benchmarks");
    assert_eq!(ms(f.expected), 400);
}

/// One word skips the tests of all ciphers, also those that the first certificate begins.
#[test]
fn silences_of_tests_are_one_finding() {
    let text = format!(
        "source dmesg.txt kernel-log
        clock printk printk
        say 990ms 6 Linux version 6.1.0
        say 1s 6 evm: HMAC attrs: 0x1
        say 2s 6 input: gpio-keys
        say 2.1s 6 Loading compiled-in X.509 certificates
        say 2.5s 6 Loaded X.509 cert 'key'
        {SHORT}"
    );
    let all = found(&text);
    let all: Vec<_> = all.iter().filter(|f| f.id == "kernel-silence").collect();
    assert_eq!(all.len(), 1);
    // The first test may have begun before its line.
    assert_eq!(ms(all[0].saving.unwrap().1), 1_410);
    assert_eq!(ms(all[0].expected), 1_344);
    assert_eq!(
        all[0].treatment.as_deref(),
        Some("cmdline+=cryptomgr.notests")
    );
    assert!(all[0].why.contains("Another 400.0 ms"), "{}", all[0].why);
    // The kernel tells the end of some tests itself.
    let ended = "say 2.08s 6 one\nsay 2.1s 6 alg: self-tests for CTR-KDF (hmac(sha256)) passed
        say 2.1s 6 Loading";
    let f = one(&text.replace("say 2.1s 6 Loading", ended), "kernel-silence");
    assert_eq!(ms(f.expected), 1_363);
    let skipped = text.replace(
        "say 990ms",
        "fact kernel.cmdline cryptomgr.notests\nsay 990ms",
    );
    let all = found(&skipped);
    assert_eq!(all.iter().filter(|f| f.id == "kernel-silence").count(), 2);
}

/// On one processor a call that sleeps while the initramfs is unpacked beside it is as long
/// as that takes.
#[test]
fn an_initcall_that_the_unpacking_ends_in_is_not_long_by_itself() {
    let text = |end: &str| {
        format!(
            "{SHORT}say 100ms 6 Trying to unpack rootfs image as initramfs...
            span initcall 200ms {end} physmap_init outcome=0
            say 700ms 6 Freeing initrd memory: 1492K\n"
        )
    };
    let of = |text: &str| {
        let all = found(text);
        let f = all.into_iter().find(|f| f.id == "long-initcalls");
        f.map(|f| ms(f.saving.unwrap().1))
    };
    assert_eq!(of(&text("730ms")), None);
    assert_eq!(of(&text("900ms")), Some(200));
    assert_eq!(of(&text("600ms")), Some(400));
    let cores = format!(
        "{}say 1ms 6 smp: Brought up 1 node, 4 CPUs\n",
        text("730ms")
    );
    assert_eq!(of(&cores), Some(530));
}

/// `dmesg | grep initcall | sort` is what people post.
#[test]
fn an_initcall_of_which_only_the_end_is_there_is_told() {
    let text =
        format!("{SHORT}span initcall - 3s wait_init reported=2.5s outcome=0 doubt=lost_start");
    let f = one(&text, "long-initcalls");
    assert_eq!(f.names, ["wait_init"]);
    assert_eq!(ms(f.saving.unwrap().1), 2_500);
    assert_eq!(ms(f.expected), 2_425);
}

#[test]
fn no_saving_is_above_the_time_that_it_was_taken_from() {
    // Two initcalls side by side: together 2 s of sums, 1 s of time.
    let text = format!(
        "{SHORT}span initcall 1s 2s a_init outcome=0
        span initcall 1s 2s b_init outcome=0"
    );
    let f = one(&text, "long-initcalls");
    assert_eq!(ms(f.saving.unwrap().1), 1_000);
    // An early console is gone when the real one is there.
    let text = format!(
        "{SHORT}fact kernel.cmdline earlyprintk=serial
        mark 500ms console-enabled -"
    );
    let f = one(&text, "debug-words");
    assert_eq!(ms(f.saving.unwrap().1), 150);
}

#[test]
fn a_passphrase_is_time_of_its_own() {
    let text = format!(
        "{SHORT}say 5s - Please enter passphrase for disk root (sda3): ...
        say 8s 6 dm-0: up"
    );
    let f = one(&text, "passphrase");
    assert!(f.title.contains("3.000 s"), "{}", f.title);
    // A key that needs no person saves most of it, and never more than was waited.
    assert_eq!((ms(f.expected), ms(f.saving.unwrap().1)), (2_550, 3_000));
    let unit = "source blame.txt systemd-analyze
        span unit - - systemd-cryptsetup@root.service reported=20s
        span unit - - other.service reported=4s";
    let f = one(unit, "passphrase");
    assert_eq!(f.names, ["systemd-cryptsetup@root.service"]);
    // A key is derived in a second or two.
    let quick = unit.replace("20s", "2s");
    assert!(found(&quick).iter().all(|f| f.id != "passphrase"));
}

#[test]
fn a_console_without_a_uart_costs_no_line_time() {
    let line = format!("say 1s 6 {}\n", "x".repeat(83)).repeat(1_000);
    let ids = |device: &str| -> Vec<&'static str> {
        let text = format!("{SHORT}fact kernel.cmdline console={device},115200\n{line}");
        found(&text).iter().map(|f| f.id).collect()
    };
    assert!(ids("ttyS0").contains(&"console-output"));
    assert!(ids("ttymxc1").contains(&"console-output"));
    for device in ["ttysclp0", "hvc0", "tty0", "ttyGS0"] {
        assert!(!ids(device).contains(&"console-output"), "{device}");
    }
}

#[test]
fn a_loader_tells_its_stages_and_silences() {
    let text = "source boot.txt bootstage
        clock counter counter
        mark 0s power-on firmware
        mark 1s board_init_f loader
        span stage 0s 1s reset~->~board_init_f
        span stage 1s 1.9s board_init_f~->~board_init_r
        span stage 1.9s 1.91s board_init_r~->~main_loop
        mark 1.91s main_loop -";
    let all = found(text);
    assert_eq!(all[0].names, ["reset"]);
    assert_eq!(all[1].names, ["board_init_r", "board_init_f", "dcache"]);
    assert_eq!(all.len(), 2);
    let text = "source board.log serial
        clock host wall
        mark 0s U-Boot~SPL loader
        mark 2s U-Boot loader
        say 100ms - Trying to boot from CARD
        say 1.9s - NOTICE: next";
    let f = one(text, "loader-stages");
    assert_eq!(f.names, ["Trying to boot from CARD"]);
    assert_eq!(ms(f.saving.unwrap().1), 1_800);
}

/// What coreboot reads from flash is one finding; a stage that begins at a row that was left out
/// is told by its end, and what ends there is not.
#[test]
fn firmware_tells_its_stages_and_its_loads_as_one() {
    let text = "source list.txt cbmem
        clock counter counter
        mark 0s power-on firmware
        mark 100ms start~of~bootblock firmware
        span stage 100ms 180ms start~of~bootblock~->~end~of~bootblock
        span stage 180ms 220ms starting~LZMA~decompress~->~finished~LZMA~decompress
        span stage 220ms 520ms finished~LZMA~decompress~->~rows~left~out
        span stage 520ms 545ms rows~left~out~->~finished~loading~ramstage
        span stage 600ms 900ms rows~left~out~->~device~enumeration
        span stage 900ms 940ms device~enable~->~device~initialization
        mark 940ms device~initialization -";
    let all = found(text);
    let titles: Vec<&str> = all.iter().map(|f| f.title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "The firmware takes 300.0 ms for what is before `device enumeration`",
            "The firmware takes 80.0 ms for `start of bootblock` to `end of bootblock`",
            "The firmware takes 65.0 ms to load and decompress its stages from flash",
        ]
    );
    assert!(all.iter().all(|f| f.id == "firmware-stages"));
    assert_eq!(all[1].names[2..], ["MMU", "cache", "console"]);
    let (low, high) = all[2].saving.unwrap();
    assert_eq!((ms(low), ms(all[2].expected), ms(high)), (6, 26, 60));
}

/// The run of an option ROM goes as a whole, with what runs it.
#[test]
fn the_run_of_an_option_rom_can_be_left_out() {
    let text = "source list.txt cbmem
        clock counter counter
        mark 0s power-on firmware
        span stage 90ms 100ms Option~ROM~initialization~->~Option~ROM~copy~done
        span stage 100ms 300ms Option~ROM~copy~done~->~Option~ROM~run~done
        mark 400ms device~setup~done -";
    let f = one(text, "firmware-stages");
    let (low, high) = f.saving.unwrap();
    assert_eq!((ms(low), ms(f.expected), ms(high)), (80, 180, 220));
    assert!(f.why.contains("CONFIG_VGA_ROM_RUN"), "{}", f.why);
}

/// A console has systemd's last line, and what the kernel says when it stops.
#[test]
fn a_line_of_the_kernel_behind_the_boot_tells_nothing_of_userspace() {
    let is_told = |last: &str| {
        let all = found(&format!(
            "source time.txt systemd-analyze\nclock printk printk\nmark 0s kernel-clock-start kernel\n\
             mark 5s userspace-start userspace\nmark 92s startup-finished -\n\
             source console.txt kernel-log\nsay 93s 6 {last}"
        ));
        all.iter()
            .any(|f| f.id == "opaque-phase" && f.title == "Userspace takes 87.000 s")
    };
    assert!(is_told("reboot: Power down"));
    assert!(!is_told("login[7]: a user"));
}

/// A list of durations, with the length of the userspace.
fn durations(userspace: &str, units: &[(&str, &str)]) -> String {
    let mut text = format!(
        "source time.txt systemd-analyze
        clock monotonic monotonic
        mark 0s kernel-clock-start kernel
        mark 1s userspace-start userspace
        mark {userspace} startup-finished -
        source blame.txt systemd-analyze"
    );
    for (unit, time) in units {
        text += &format!("\nspan unit - - {unit} reported={time}");
    }
    text
}

#[test]
fn a_unit_that_takes_most_of_the_userspace_was_waited_for() {
    let settle = "systemd-udev-settle.service";
    let text = durations(
        "126s",
        &[(settle, "120s"), ("a.service", "3s"), ("b.service", "0.1s")],
    );
    let f = one(&text, "waiting-unit");
    let (low, high) = f.saving.unwrap();
    assert_eq!(
        (ms(low), ms(f.expected), ms(high)),
        (72_000, 108_000, 120_000)
    );
    // Others could explain the userspace as well.
    let text = durations(
        "126s",
        &[(settle, "70s"), ("a.service", "65s"), ("b.service", "0.1s")],
    );
    assert_eq!(one(&text, "waiting-unit").saving.unwrap().0, Nanos::ZERO);
    // What a timer starts may have run after the boot.
    let text = durations("126s", &[("man-db.service", "120s"), ("a.service", "3s")]);
    assert_eq!(one(&text, "spare-unit").saving.unwrap().0, Nanos::ZERO);
}

#[test]
fn a_unit_is_told_once() {
    let text = durations(
        "12s",
        &[("systemd-udev-trigger.service", "4s"), ("a.service", "3s")],
    );
    let all = found(&text);
    let of = |name: &str| {
        all.iter()
            .filter(|f| f.names.iter().any(|n| n == name))
            .count()
    };
    assert_eq!(of("systemd-udev-trigger.service"), 1, "{all:?}");
}

#[test]
fn what_a_phase_takes_beyond_the_usual_is_a_wait() {
    let text = |kernel: &str, end: &str| {
        format!(
            "source time.txt systemd-analyze
            clock monotonic monotonic
            mark 0s kernel-clock-start kernel
            mark {kernel} userspace-start userspace
            mark {end} startup-finished -"
        )
    };
    let f = one(&text("4s", "10s"), "opaque-phase");
    assert_eq!((ms(f.expected), ms(f.saving.unwrap().1)), (1_800, 3_920));
    // systemd counts an initramfs without systemd as the kernel's.
    // A serial console may be the cause, too, where nothing says that there is none.
    assert_eq!(f.names, ["kernel", "quiet", "initramfs"]);
    assert!(
        f.why.contains("initramfs that runs without systemd"),
        "{}",
        f.why
    );
    let f = one(&text("210s", "216s"), "opaque-phase");
    assert_eq!(ms(f.saving.unwrap().0), 1_000 + 60_000);
    assert_eq!(
        (ms(f.expected), ms(f.saving.unwrap().1)),
        (164_500, 205_800)
    );
}

#[test]
fn a_counter_that_goes_on_over_a_restart_is_no_length_of_the_firmware() {
    let firmware = |length: &str, end: &str| {
        let text = format!(
            "source time.txt systemd-analyze
            clock monotonic monotonic
            mark 0s firmware-start firmware
            mark {length} kernel-clock-start kernel
            mark {end} startup-finished -"
        );
        let all = found(&text).into_iter();
        let mut all = all.filter(|f| f.id == "opaque-phase");
        all.find(|f| f.names[0] == "firmware").unwrap()
    };
    let restarted = firmware("1680s", "1685s");
    assert_eq!(restarted.saving, None);
    assert!(
        restarted.why.contains("before a restart"),
        "{}",
        restarted.why
    );
    assert!(firmware("90s", "95s").saving.is_some());
}

#[test]
fn what_a_system_needs_or_the_chain_leads_to_is_not_to_be_masked() {
    let why = |unit: &str, goal: &str| {
        let text = format!(
            "source chain.txt systemd-analyze\nclock userspace monotonic\n\
             mark 0s userspace-start userspace\nmark 60s {goal} -\n\
             span unit 59.9s 60s {goal}\nspan unit 2s 32s {unit}\n\
             span unit 1s 1s basic.target\nafter {goal} {unit}\nafter {unit} basic.target\n"
        );
        one(&text, "longest-unit").why
    };
    assert!(why("app.service", "multi-user.target").contains("Mask it"));
    for needed in ["dbus.service", "home.mount"] {
        let why = why(needed, "multi-user.target");
        assert!(why.contains("the system needs it"), "{why}");
    }
    let text = "source chain.txt systemd-analyze\nclock userspace monotonic\n\
         mark 0s userspace-start userspace\nmark 60s app.service -\n\
         span unit 20s 60s app.service\nspan unit 1s 1s basic.target\n\
         after app.service basic.target\n";
    let goal = one(text, "longest-unit").why;
    assert!(goal.contains("leads to it"), "{goal}");
}

#[test]
fn units_of_a_log_without_order_are_told_by_their_length() {
    let text = "source journal.txt kernel-log
        clock realtime wall
        mark 0s kernel-clock-start kernel
        mark 2s userspace-start userspace
        mark 67s startup-finished -
        span unit 4s 64s Own-thing
        span unit 64s 66s Other-thing";
    let f = one(text, "longest-unit");
    assert_eq!(f.names, ["Own-thing"]);
    assert_eq!((ms(f.saving.unwrap().0), ms(f.expected)), (36_000, 54_000));
}

#[test]
fn two_printed_chains_share_their_end() {
    let second = "span unit 30s 31s late.service
    after late.service net.service";
    let f = one(&format!("{CHAIN}\n{second}"), "chain-wait");
    assert_eq!(f.names, ["app.service", "net.service"]);
}

#[test]
fn a_silence_of_programs_is_told_where_no_unit_starts() {
    let text = "source journal.txt kernel-log
        clock realtime wall
        mark 0s kernel-clock-start kernel
        mark 30s startup-finished -
        say 2s - stage-1-init: looks for volumes
        say 22s - stage-1-init: gives up /swap
        say 23s - systemd[1]: begins
        say 29s - app[7]: is there";
    let f = one(text, "program-silence");
    assert!(f.names.contains(&"initrd".to_owned()), "{:?}", f.names);
    assert_eq!((ms(f.expected), ms(f.saving.unwrap().1)), (15_000, 20_000));
    // A unit that was starting is told by itself.
    let text = format!("{text}\nspan unit 2s 21s slow.service");
    let all = found(&text);
    let silences: Vec<_> = all.iter().filter(|f| f.id == "program-silence").collect();
    assert!(
        silences.iter().all(|f| ms(f.saving.unwrap().1) < 10_000),
        "{silences:?}"
    );
}

/// The path of the kernel's calls does not know who waited for a module: what else goes on
/// meanwhile tells it.
#[test]
fn a_module_that_polls_is_waited_for_where_nothing_else_goes_on() {
    let text = "source dmesg.txt kernel-log
        clock printk printk
        mark 0s kernel-clock-start kernel
        span initcall 0.5s 0.6s acpi_init outcome=0
        mark 1s initrd-start initrd
        say 1s 6 Run /init as init process
        span initcall 1.1s 4.1s floppy_module_init [floppy] outcome=-19
        say 2s 6 clocksource: Switched to clocksource tsc
        say 4.09s 6 floppy0: no floppy controllers found
        say 4.15s 6 the next line
        mark 5s startup-finished -";
    let f = one(text, "hardware-polls");
    let (low, high) = f.saving.unwrap();
    assert_eq!((ms(low), ms(f.expected), ms(high)), (1_500, 2_700, 3_300));
    // Another module is loaded meanwhile.
    let other = format!("{text}\nspan initcall 2s 2.1s other_init outcome=0");
    let f = one(&other, "hardware-polls");
    assert!(f.expected.0 < 2_000_000_000, "{f:?}");
    assert_eq!(ms(f.saving.unwrap().1), 3_000);
    // The log does not go on when it has ended.
    let later = text.replace("say 4.15s", "say 4.9s");
    assert!(one(&later, "hardware-polls").expected.0 < 2_000_000_000);
}

/// What a timer's work writes is no answer of a device.
#[test]
fn missing_firmware_is_waited_for_through_lines_of_the_clock() {
    let text = "source dmesg.txt kernel-log
        clock printk printk
        mark 0s kernel-clock-start kernel
        say 1s 4 misc planted: Falling back to sysfs fallback for: planted.bin
        say 2s 6 tsc: Refined TSC clocksource calibration: 1 MHz
        say 2.1s 6 clocksource: tsc: mask: 0xffffffffffffffff
        say 2.2s 6 clocksource: Switched to clocksource tsc
        say 62.5s 6 planted: load of 'planted.bin' failed: -110
        mark 70s startup-finished -";
    let f = one(text, "missing-hardware");
    let (low, high) = f.saving.unwrap();
    // A timer of the kernel may be late by a tenth.
    assert_eq!((ms(low), ms(high)), (24_600, 61_500));
    // The search for the file lies outside, and the caller that goes on.
    let whole = text.replace(
        "say 1s 4",
        "say 0.98s 6 other: line
        say 0.99s 4 misc planted: Direct firmware load for planted.bin failed with error -2
        say 1s 4",
    );
    let whole = whole.replace("mark 70s", "say 62.52s 6 other: next\n        mark 70s");
    let (low, high) = one(&whole, "missing-hardware").saving.unwrap();
    assert_eq!((ms(low), ms(high)), (24_600, 61_540));
    let late = text.replace("62.5s", "69s");
    assert_eq!(ms(one(&late, "missing-hardware").saving.unwrap().1), 66_000);
}

/// While an initramfs runs, a silence is its programs', unless the lines name a driver.
#[test]
fn a_silence_in_an_initramfs_is_its_programs() {
    let text = "source dmesg.txt kernel-log
        clock printk printk
        mark 0s kernel-clock-start kernel
        say 0s 6 Linux version 6.1.0
        say 0.1s 6 a line of the kernel
        say 1.2s 6 Run /init as init process
        mark 1.2s initrd-start initrd
        say 1.3s 6 a first line
        say 2.2s 6 clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x1cd42c7a813
        say 2.3s 6 clocksource: Switched to clocksource tsc
        say 4.3s 6 a second line
        mark 5s root-mounted -
        mark 6s startup-finished -";
    let all = found(text);
    let of = |id: &str| all.iter().filter(|f| f.id == id).collect::<Vec<_>>();
    // What the timer's work writes beside is no end of it.
    let [silence] = of("program-silence")[..] else {
        panic!("{all:?}");
    };
    assert_eq!(ms(silence.saving.unwrap().1), 3_000);
    assert_eq!(
        silence.title,
        "Nothing is logged for 3.000 s before `a second line`"
    );
    assert!(silence.names.contains(&"initrd".to_owned()));
    // The 1.1 s before it are the kernel's.
    let [own] = of("kernel-silence")[..] else {
        panic!("{all:?}");
    };
    assert_eq!(ms(own.saving.unwrap().1), 1_100);
    // A driver that its lines name is no program.
    let text = text
        .replace("a first line", "ahci 0000:00:1f.2: begins")
        .replace("a second line", "ahci 0000:00:1f.2: is ready");
    let all = found(&text);
    assert!(all.iter().all(|f| f.id != "program-silence"), "{all:?}");
}

#[test]
fn a_wait_for_the_root_names_what_ended_it() {
    let f = one(
        "source dmesg.txt kernel-log
        clock printk printk
        mark 0s kernel-clock-start kernel
        say 1s 6 Waiting for root device /dev/mmcblk0p2...
        say 1.1s 6 usb 1-1: new high-speed USB device number 2 using dwc2
        say 3s 6 mmc0: new high speed SDHC card at address aaaa
        say 3.1s 6 mmcblk0: mmc0:aaaa SC32G 29.7 GiB
        mark 3.2s root-mounted -",
        "root-wait",
    );
    assert_eq!(f.names, ["mmc0"]);
    assert!(
        f.evidence
            .iter()
            .any(|e| e.text.contains("new high speed SDHC card"))
    );
}

#[test]
fn a_start_job_that_runs_is_told_with_its_time_and_limit() {
    let log = |end: &str| {
        format!(
            "source serial.log kernel-log\nclock printk printk\nmark 0s kernel-start kernel\n\
             say 2s 6 systemd[1]: Started a thing.\n\
             say 8s 6 [*     ] A start job is running for dev-x.device (6s / 1min 30s)\n\
             say 43s 6 [ *    ] A start job is running for dev-x.device (41s / 1min 30s)\n\
             say 53s 6 [  *   ] (2 of 2) A start job is running for Raise y (51s / no limit)\n{end}"
        )
    };
    let all = found(&log(""));
    let jobs: Vec<&Finding> = all.iter().filter(|f| f.id == "start-job").collect();
    let ranges: Vec<_> = jobs
        .iter()
        .map(|f| (ms(f.saving.unwrap().0), ms(f.expected)))
        .collect();
    assert_eq!(ranges, [(16_400, 36_900), (0, 30_600)]);
    assert_eq!(
        (jobs[0].names[0].as_str(), jobs[1].names[0].as_str()),
        ("dev-x.device", "Raise y")
    );
    // The input ends with them: the job goes on until its limit.
    assert_eq!(ms(jobs[0].saving.unwrap().1), 90_000);
    assert!(
        jobs[0].evidence[0]
            .text
            .contains("41.000 s of at most 90.000 s")
    );
    let all = found(&log("say 60s 6 [  OK  ] Found device x.\n"));
    let job = all.iter().find(|f| f.id == "start-job").unwrap();
    assert_eq!(ms(job.saving.unwrap().1), 41_000);
    // A device that never came is told by itself.
    let gone = "say 92s 6 [ TIME ] Timed out waiting for device dev-x.device.\n";
    let all = found(&log(gone));
    assert!(all.iter().any(|f| f.id == "device-timeout"));
    assert!(
        !all.iter()
            .any(|f| f.id == "start-job" && f.names[0] == "dev-x.device")
    );
}

#[test]
fn a_unit_that_is_most_of_a_chain_leaves_little_else() {
    let chain = |end: &str| {
        format!(
            "source chain.txt systemd-analyze\nclock userspace monotonic\n\
             mark 0s userspace-start userspace\nmark {end} multi-user.target -\n\
             span unit {end} {end} multi-user.target\nspan unit 2s 32s login.service\n\
             span unit 1s 1s basic.target\nafter multi-user.target login.service\n\
             after login.service basic.target\n"
        )
    };
    let expected = |end: &str| {
        let unit = one(&chain(end), "longest-unit");
        assert_eq!(unit.names, ["login.service"]);
        (ms(unit.saving.unwrap().0), ms(unit.expected))
    };
    assert_eq!(expected("33s"), (15_000, 25_500));
    assert_eq!(expected("60s"), (10_500, 21_000));
}

#[test]
fn a_device_that_never_became_active_is_named_at_the_end_of_a_chain() {
    let wait = one(
        "source chain.txt systemd-analyze\nclock userspace monotonic\n\
         mark 0s userspace-start userspace\nmark 92s multi-user.target -\n\
         span unit 92s 92s multi-user.target\nspan unit 91.7s 92s network-setup.service\n\
         after multi-user.target network-setup.service\n\
         after network-setup.service sys-net-eth0.device\n",
        "chain-wait",
    );
    assert!(
        wait.names.contains(&"sys-net-eth0.device".to_owned()),
        "{:?}",
        wait.names
    );
    assert!(
        wait.why.contains("which never became active"),
        "{}",
        wait.why
    );
    assert_eq!(ms(wait.expected), 84_364);
}

#[test]
fn an_address_is_waited_for_where_no_command_line_is_known() {
    let log = |cmdline: &str| {
        format!(
            "source dmesg.txt kernel-log\nclock printk printk\n{cmdline}\
             mark 0s kernel-start kernel\nsay 1s 6 e1000e eth0: up\n\
             say 2s 6 Sending DHCP requests ., OK\n\
             say 5s 6 IP-Config: Got DHCP answer from 192.168.1.1\nsay 5.1s 6 Run /init\n"
        )
    };
    let silent = |cmdline: &str| {
        let all = found(&log(cmdline));
        all.iter()
            .any(|f| f.id == "kernel-silence" && f.title.contains("DHCP answer"))
    };
    assert!(silent(""));
    assert!(!silent("fact kernel.cmdline ip=dhcp quiet\n"));
}

#[test]
fn what_a_timer_starts_is_what_keeps_systemd_busy_behind_the_target() {
    let text = |tail: &str| {
        format!(
            "source all.txt systemd-analyze\nclock monotonic monotonic\n\
             mark 0s kernel-start kernel\nmark 5s userspace-start userspace\n\
             mark {tail} startup-finished -\nmark 25s graphical.target -\n\
             span unit 25s 25s graphical.target\nspan unit 24s 25s app.service\n\
             after graphical.target app.service\nspan unit - - apt-daily-upgrade.service reported=24s\n\
             span unit - - apt-daily.service reported=16s\nspan unit - - cups.service reported=9s\n"
        )
    };
    let expected = |tail: &str, unit: &str| {
        let all = found(&text(tail));
        let of = |f: &&Finding| f.id.ends_with("-unit") && f.names.iter().any(|n| n == unit);
        all.iter().find(of).map(|f| ms(f.expected))
    };
    // 40 s behind the target.
    assert_eq!(expected("65s", "apt-daily-upgrade.service"), Some(21_600));
    assert_eq!(expected("65s", "apt-daily.service"), Some(14_400));
    assert!(expected("65s", "cups.service") < Some(3_000));
    // Half a second behind it there is nothing to save.
    assert!(expected("25.5s", "apt-daily.service") < Some(5_000));
}

/// A log of the kernel whose stamps have this step.
fn stamped(step: &str, gap: &str) -> String {
    format!(
        "source dmesg kernel-log\nclock realtime wall {step}\nmark 0s kernel-start kernel\n\
         mark 20s userspace-start userspace\nmark 30s startup-finished -\n\
         say 0s 6 Linux version 6.1\nsay 1s 6 Memory: 512000K\nsay 2s 6 a: one\n\
         say {gap} 6 b: two\nsay 20s 6 Run /sbin/init as init process\n"
    )
}

#[test]
fn whole_seconds_hide_up_to_one_of_a_silence() {
    let longest = |step: &str, gap: &str| {
        let all = found(&stamped(step, gap));
        let silences = all.iter().filter(|f| f.id == "kernel-silence");
        let of_b = silences.filter(|f| f.title.contains("b: two"));
        of_b.map(|f| ms(f.saving.unwrap().1)).max()
    };
    assert_eq!(longest("1s", "3s"), None);
    assert_eq!(longest("1s", "5s"), Some(2_000));
    assert_eq!(longest("1us", "5s"), Some(3_000));
}

/// A plot of many units, with a stretch in which none starts, until `end`.
fn plot(end: &str) -> String {
    let mut text = "source plot.svg systemd-plot\nclock monotonic monotonic\n\
                    mark 0s kernel-clock-start kernel\nmark 2s userspace-start userspace\n\
                    mark 30s startup-finished -\n"
        .to_owned();
    for unit in 0..20 {
        text += &format!(
            "span unit {}ms {}ms own{unit}.service\n",
            2_100 + unit * 100,
            2_400 + unit * 100
        );
    }
    text + "span unit 12s 12s sys-net-eth0.device\nspan unit 20s 22s user@0.service\n" + end
}

#[test]
fn a_stretch_of_a_plot_without_a_starting_unit_is_told() {
    let f = one(&plot("span unit 29s 29s online.target\n"), "chain-wait");
    assert_eq!(f.names, ["online.target", "sys-net-eth0.device"]);
    let saving = f.saving.unwrap();
    assert_eq!(
        (ms(saving.0), ms(f.expected), ms(saving.1)),
        (5_100, 11_050, 17_000)
    );
    // A device appears when it does, and nobody waits for who logs in.
    let none = |text: &str| found(text).iter().all(|f| f.id != "chain-wait");
    assert!(none(&plot("")));
    assert!(none(&plot(
        "span unit 12s 29s long.service\nspan unit 29s 29s online.target\n"
    )));
    // A list that is no plot has not all units.
    assert!(none(
        &plot("span unit 29s 29s online.target\n").replace("systemd-plot", "kernel-log")
    ));
}

#[test]
fn what_waits_for_a_passphrase_takes_only_the_rest() {
    let plot = |end: &str| {
        format!(
            "source plot.svg systemd-plot\nclock monotonic monotonic\n\
             mark 0s kernel-clock-start kernel\nmark 1s initrd-start initrd\n\
             mark {end} userspace-start userspace\nmark 20s startup-finished -\n\
             span unit 2s 8s systemd-cryptsetup@root.service\n\
             span unit 1s {end} root-wait.service\n"
        )
    };
    let of = |all: &[Finding]| {
        all.iter()
            .find(|f| f.names == ["root-wait.service"])
            .cloned()
    };
    assert!(of(&found(&plot("8500ms"))).is_some_and(|f| ms(f.saving.unwrap().1) <= 1_500));
    let f = of(&found(&plot("13s"))).unwrap();
    assert!(f.title.contains("6.000 s"), "{}", f.title);
    assert!(f.why.contains("Another 6.000 s"), "{}", f.why);
    assert!(f.evidence[0].text.contains("12.000 s"), "{:?}", f.evidence);
    assert!(ms(f.saving.unwrap().1) <= 6_000);
}

/// A network that nobody answers on costs most, and a link that is not there is waited for
/// before the first line that tells so.
#[test]
fn a_network_that_gives_no_address_is_waited_for() {
    let time = |text: &str| {
        let all = found(&format!(
            "fact kernel.cmdline root=/dev/sda ip=dhcp\n{text}"
        ));
        let one = all.into_iter().find(|f| f.id == "network-autoconfig");
        let one = one.unwrap();
        let (low, high) = one.saving.unwrap();
        [low, one.expected, high].map(ms)
    };
    let unanswered = "mark 0s kernel-start kernel
        say 1980ms 6 sched_clock: Marking stable
        say 2000ms 6 Sending DHCP requests .
        say 2900ms 6 clocksource: Switched to clocksource tsc
        say 88000ms 6 IP-Config: Reopening network devices...
        say 88020ms 6 Sending DHCP requests ...... timed out!
        say 178000ms 6 IP-Config: Auto-configuration of network failed
        say 178010ms 6 Run /init as init process
        mark 178010ms userspace-start userspace\n";
    // 176 s. At most also what lies between these lines and the next ones.
    assert_eq!(time(unanswered), [158_400, 172_480, 176_030]);
    let unplugged = "mark 0s kernel-start kernel
        say 1s 6 sched_clock: Marking stable
        say 21s 6 Waiting up to 100 more seconds for network.
        say 41s 6 Waiting up to 80 more seconds for network.
        say 51s 6 IP-Config: Complete:
        say 51s 6 Run /init as init process
        mark 51s userspace-start userspace\n";
    assert_eq!(time(unplugged), [45_000, 49_000, 50_000]);
}

/// A kernel for one processor does not tell of the first one.
#[test]
fn a_kernel_for_one_processor_measures_its_timer_before_its_devices() {
    let log = |lines: &str| {
        format!(
            "source dmesg.txt kernel-log\nclock printk printk\nmark 0s kernel-start kernel\n\
             {lines}say 1s 6 signal: max sigframe size: 1040\n\
             say 1.108s 6 devtmpfs: initialized\nmark 2s first-light -\n"
        )
    };
    let time = |lines: &str| {
        let all = found(&log(lines));
        let one = all.iter().find(|f| f.id == "apic-timer");
        one.map(|f| f.expected.0 / 1_000_000)
    };
    let apic = "say 0.9s 6 APIC: Switch to symmetric I/O mode setup\n";
    assert_eq!(time(apic), Some(108));
    assert_eq!(time(""), None);
    // What lies before the line of the first processor was shorter: it was not measured.
    let first = "say 0.95s 6 smpboot: CPU0: a processor\n";
    assert_eq!(time(&format!("{apic}{first}")), None);
}

/// What `systemd-analyze` says of a boot, and what the console showed.
fn with_job(job: &str) -> String {
    format!(
        "source time.txt systemd-analyze
        clock monotonic monotonic
        mark 0s kernel-clock-start kernel
        mark 2s initrd-start initrd
        mark 63s userspace-start userspace
        mark 131s startup-finished -
        source post.txt console
        clock serial wall
        say - 6 {job}"
    )
}

#[test]
fn a_job_that_fills_phases_ran_until_its_limit_in_each() {
    let all = found(&with_job(
        "[**    ] (1 of 2) Job dev-x.device/start running (20s / 1min)",
    ));
    let of = |id: &str| all.iter().filter(|f| f.id == id).collect::<Vec<_>>();
    let jobs = of("start-job");
    assert_eq!((jobs.len(), ms(jobs[0].saving.unwrap().1)), (1, 120_000));
    assert!(jobs[0].why.contains("Two phases"), "{}", jobs[0].why);
    // The phases are not told a second time.
    assert!(of("opaque-phase").is_empty());
    // A job with another limit explains nothing of them.
    let all = found(&with_job(
        "[**    ] (1 of 2) Job dev-x.device/start running (20s / 30s)",
    ));
    let phases = all.iter().filter(|f| f.id == "opaque-phase");
    assert_eq!(phases.count(), 2);
}

#[test]
fn a_userspace_of_short_units_that_is_as_long_as_a_timeout_is_told() {
    let text = |unit: &str| {
        format!(
            "source time.txt systemd-analyze
            clock monotonic monotonic
            mark 0s kernel-clock-start kernel
            mark 2s userspace-start userspace
            mark 96s startup-finished -
            span unit - - a.service reported={unit}
            span unit - - b.mount reported=1s"
        )
    };
    let f = one(&text("3s"), "opaque-phase");
    assert_eq!((f.names[0].as_str(), ms(f.expected)), ("userspace", 82_800));
    assert!(f.why.contains("Timed out waiting"), "{}", f.why);
    // A unit that takes long explains it, and so does a log of all of it.
    let is_told = |text: &str| found(text).iter().any(|f| f.names[0] == "userspace");
    assert!(!is_told(&text("40s")));
    let log = format!(
        "{}\nsource log kernel-log\nsay 30s 6 systemd[1]: Started a.",
        text("3s")
    );
    assert!(!is_told(&log));
}

#[test]
fn a_device_that_never_comes_is_told_once() {
    let text = "source log kernel-log
        clock printk printk
        mark 0s kernel-start kernel
        mark 3s systemd-started userspace
        say 3s 6 systemd[1]: systemd 252 running in system mode
        say 4s 6 systemd[1]: Mounted a thing.
        say 93s 4 systemd[1]: dev-x.device: Job dev-x.device/start timed out.
        say 93s 4 systemd[1]: Timed out waiting for device dev-x.device.
        mark 94s startup-finished -";
    let all = found(text);
    let ids: Vec<_> = all.iter().map(|f| f.id).collect();
    assert_eq!(ids, ["device-timeout"]);
    // A silence that ends with something else has another cause.
    let other = text.replace(
        "say 93s 4 systemd[1]: dev-x",
        "say 80s 6 systemd[1]: Started b.\nsay 93s 4 systemd[1]: dev-x",
    );
    let all = found(&other);
    assert!(
        all.iter().any(|f| f.title.contains("Started b.")),
        "{all:?}"
    );
}

#[test]
fn drives_and_clouds_that_do_not_answer_are_told_without_stamps() {
    let waits = |lines: &str| {
        let all = found(&format!(
            "source log kernel-log\nclock printk printk\n{lines}"
        ));
        let all = all.into_iter().filter(|f| f.id == "spoken-wait");
        all.map(|f| (f.title, ms(f.expected), f.treatment))
            .collect::<Vec<_>>()
    };
    let drive = waits(
        "say - 3 kernel: ata7.00: qc timeout after 2000 msecs (cmd 0x47)
        say - 3 kernel: ata7.00: qc timeout after 3000 msecs (cmd 0x47)",
    );
    let (title, expected, treatment) = &drive[0];
    assert_eq!(title, "The drive at ata7.00 does not answer for 5.000 s");
    assert_eq!(*expected, 4_500);
    assert_eq!(
        treatment.as_deref(),
        Some("cmdline+=libata.force=7.00:nodmalog")
    );
    let other = waits("say - 3 ata7.00: qc timeout after 2000 msecs (cmd 0xec)");
    assert_eq!(other[0].2, None);
    let tried = "say - 4 url_helper.py[WARNING]: Calling 'http://a/' failed [0/50s]: no route
        say - 4 url_helper.py[WARNING]: Calling 'http://a/' failed [40/50s]: no route";
    assert_eq!(waits(tried)[0].1, 36_000);
    let vain = format!(
        "{tried}\nsay - 2 a.py[CRITICAL]: Giving up on md from ['http://a/'] after 51 seconds"
    );
    assert_eq!(waits(&vain)[0].1, 45_900);
}

#[test]
fn what_waits_in_vain_for_udev_or_an_address_is_told() {
    let waits = |lines: &str| {
        let all = found(&format!(
            "source log kernel-log\nclock printk printk\n{lines}"
        ));
        let all = all.into_iter().filter(|f| f.id == "spoken-wait");
        all.map(|f| (f.title, ms(f.expected), f.names[0].clone()))
            .collect::<Vec<_>>()
    };
    let settle =
        "say - 4 udevadm settle - timeout of 20 seconds reached, the event queue contains:";
    let all = waits(settle);
    assert_eq!(
        (all[0].0.as_str(), all[0].1),
        ("`udevadm settle` waits 20.000 s in vain", 18_000)
    );
    let asks = |first: &str, second: &str, end: &str| {
        format!(
            "say {first} 6 dhclient[9]: DHCPDISCOVER on eth7 to 255.255.255.255 port 67 interval 4
            say {second} 6 dhclient[9]: DHCPDISCOVER on eth7 to 255.255.255.255 port 67 interval 6
            say {end} 6 dhclient[9]: No DHCPOFFERS received."
        )
    };
    // By the stamps, or else by what it says of its pauses.
    let all = waits(&asks("5s", "9s", "17s"));
    assert_eq!((all[0].1, all[0].2.as_str()), (10_800, "eth7"));
    assert_eq!(waits(&asks("-", "-", "-"))[0].1, 9_000);
    // An answer came.
    let lines = asks("5s", "9s", "17s").replace("No DHCPOFFERS received", "DHCPOFFER of 10.0.0.2");
    assert!(waits(&lines).is_empty());
}

#[test]
fn a_job_of_a_list_is_told_without_a_time() {
    let f = one(
        "source jobs.txt console
        clock serial wall
        say - 6 85 wait-for-y.service start running",
        "start-job",
    );
    assert_eq!(f.names[0], "wait-for-y.service");
    assert!(f.saving.is_none_or(|s| s.1 == Nanos::ZERO));
}

#[test]
fn an_error_without_a_stamp_counts_if_it_says_that_the_time_is_over() {
    let text = |error: &str| {
        format!(
            "source log kernel-log
            clock printk printk
            say - 3 usb 7-1: device descriptor read/64, error {error}"
        )
    };
    let f = one(&text("-110"), "spoken-wait");
    assert_eq!((f.names[0].as_str(), ms(f.expected)), ("usb 7-1", 4_500));
    assert!(found(&text("-71")).is_empty());
    let drive = "source log kernel-log
        clock printk printk
        say - 4 kernel: ata9: COMRESET failed (errno=-16)
        say - 4 kernel: ata9: COMRESET failed (errno=-16)";
    let f = one(drive, "spoken-wait");
    assert_eq!(f.title, "The device ata9 does not answer for 20.000 s");
}
