//! What helps against well-known units, and what a printed chain says of the units beside it.
#![allow(clippy::unwrap_used, reason = "tests")]

mod advised;
mod common;

use advised::{found, of, range_ms};
use firstlight_analysis::Finding;

/// A chain with a service of 20 s, and what `blame` has besides.
fn chain_of(unit: &str) -> Vec<Finding> {
    found(&format!(
        "source chain.txt systemd-analyze
        clock userspace monotonic
        mark 0s userspace-start userspace
        mark 23s multi-user.target -
        span unit 23s 23s multi-user.target
        span unit 2s 22s {unit}
        span unit 1.9s 1.9s basic.target
        span unit 1s 1.8s early.service
        after multi-user.target {unit}
        after {unit} basic.target
        after basic.target early.service"
    ))
}

#[test]
fn a_known_unit_of_a_chain_is_told_with_what_helps() {
    for (unit, name) in [
        ("networking.service", "allow-hotplug"),
        ("netctl@wlan0.service", "DHCP"),
        ("docker.service", "docker.socket"),
        ("apparmor.service", "write-cache"),
        ("dev-sdb2.swap", "/etc/fstab"),
        ("zfs-import-scan.service", "zpool.cache"),
    ] {
        let all = chain_of(unit);
        let f = of(&all, "longest-unit").unwrap();
        assert!(f.names.contains(&unit.to_owned()), "{:?}", f.names);
        assert!(f.names.contains(&name.to_owned()), "{:?}", f.names);
        assert!(!f.why.contains("look into what it waits for"), "{}", f.why);
    }
    let all = chain_of("own.service");
    let f = of(&all, "longest-unit").unwrap();
    assert!(f.why.contains("look into what it waits for"), "{}", f.why);
}

#[test]
fn what_a_unit_that_waits_brings_is_told_of_a_traced_boot_too() {
    // A quarter of its 685 ms: what it computes itself is 20 ms.
    let all = found(common::SETTLES);
    let f = of(&all, "waiting-unit").unwrap();
    assert_eq!(f.expected.get() / 1_000_000, 171);
}

#[test]
fn an_instance_of_an_optional_template_can_go() {
    let all = chain_of("systemd-backlight@backlight:own.service");
    let f = of(&all, "optional-unit").unwrap();
    let mask = "mask=systemd-backlight@backlight:own.service";
    assert_eq!(f.treatment.as_deref(), Some(mask));
    assert!(f.names.contains(&"systemd.restore_state".to_owned()));
}

/// A chain with 12 s between `late.service` and what stands before it, whose units `blame`
/// knows beside it.
fn chain_with_a_wait(blame: &str) -> Vec<Finding> {
    found(&format!(
        "source chain.txt systemd-analyze
        clock userspace monotonic
        mark 0s userspace-start userspace
        mark 18.2s graphical.target -
        span unit 18.2s 18.2s graphical.target
        span unit 18s 18.1s late.service
        span unit 5.5s 6s users.service
        span unit 5s 5.4s early.service
        after graphical.target late.service
        after late.service users.service
        after users.service early.service
        source blame.txt systemd-analyze
        {blame}"
    ))
}

#[test]
fn a_unit_as_long_as_a_wait_of_the_chain_is_that_wait() {
    for (unit, took, is_it) in [
        ("plymouth-quit-wait.service", "12.01s", true),
        ("systemd-networkd-wait-online.service", "11.95s", true),
        ("systemd-networkd-wait-online.service", "8s", false),
    ] {
        let all = chain_with_a_wait(&format!("span unit - - {unit} reported={took}"));
        let f = of(&all, "waiting-unit").unwrap();
        assert_eq!(f.on_critical_path, is_it, "{unit} {took}");
        assert_eq!(f.why.contains("a wait of the same length"), is_it);
        let (low, expected, _) = range_ms(f);
        assert_eq!(low > 5_000 && expected > 10_000, is_it, "{low} {expected}");
    }
}

#[test]
fn the_display_manager_is_told_with_the_splash() {
    let all = chain_with_a_wait(
        "span unit - - plymouth-quit-wait.service reported=12s
        span unit - - lightdm.service reported=11.9s",
    );
    let f = of(&all, "waiting-unit").unwrap();
    assert!(f.names.contains(&"lightdm.service".to_owned()));
    assert!(
        f.why.contains("lightdm.service starts for most"),
        "{}",
        f.why
    );
    assert_eq!(f.evidence.len(), 2);
}

/// What runs beside a chain takes processor and disk from it, but makes no time-out shorter.
#[test]
fn what_is_beside_a_chain_saves_no_more_than_the_chain_works() {
    let beside = "span unit - - apt-daily.service reported=11s";
    let waits = "span unit - - NetworkManager-wait-online.service reported=12s";
    let all = chain_with_a_wait(&format!("{beside}\n{waits}"));
    let (low, expected, high) = range_ms(of(&all, "spare-unit").unwrap());
    // 18.2 s without the wait of 12 s.
    assert_eq!((low, high), (0, 6_200));
    assert!(expected <= 6_200 / 4, "{expected}");
    let all = chain_with_a_wait(beside);
    assert_eq!(range_ms(of(&all, "spare-unit").unwrap()).2, 11_000);
}

#[test]
fn a_wait_that_ends_with_a_device_is_told_as_that_device() {
    for (device, word) in [("dev-sdb1.device", "nofail"), ("dev-tpmrm0.device", "TPM")] {
        let all = found(&format!(
            "source chain.txt systemd-analyze
            clock userspace monotonic
            mark 0s userspace-start userspace
            mark 23s multi-user.target -
            span unit 23s 23s multi-user.target
            span unit 22s 22.5s app.service
            span unit 21.9s 21.9s {device}
            span unit 1.9s 1.9s basic.target
            after multi-user.target app.service
            after app.service {device}
            after {device} basic.target"
        ));
        let f = of(&all, "chain-wait").unwrap();
        assert!(f.names.contains(&device.to_owned()), "{:?}", f.names);
        assert!(f.why.contains(word), "{}", f.why);
        assert!(
            !f.why.contains("also waits for something else"),
            "{}",
            f.why
        );
    }
}

#[test]
fn a_start_job_of_a_known_unit_is_told_with_what_helps() {
    let all = found(
        "source log kernel-log
        clock printk printk
        mark 0s kernel-start kernel
        say 4s 6 systemd[1]: started
        say 40s 6 [ *** ] A start job is running for Raise network interfaces (30s / 5min 1s)
        say 66s 6 next",
    );
    let f = of(&all, "start-job").unwrap();
    assert!(f.why.contains("allow-hotplug"), "{}", f.why);
}

/// Built-in initcalls run one after another, and the first program after them.
#[test]
fn an_initcall_in_a_piece_of_a_log_was_waited_for() {
    let of_call = |name: &str| {
        let all = found(&format!(
            "source dmesg.txt kernel-log
            clock printk printk
            span initcall - 2.5s {name} reported=1.2s outcome=-19"
        ));
        of(&all, "absent-devices").map(|f| (f.on_critical_path, range_ms(f)))
    };
    let built_in = of_call("own_rtc_init+0x0/0x90");
    assert_eq!(built_in, Some((true, (600, 1_200, 1_200))));
}

/// A file of firmware that is looked for a second time was not looked for all the time between.
#[test]
fn the_search_for_firmware_begins_anew_after_each_wait() {
    let all = found(
        "source dmesg.txt kernel-log
        clock printk printk
        say 20s 4 wifi 1: Direct firmware load for own/a.bin failed with error -2
        say 20.01s 4 wifi 1: Falling back to sysfs fallback for: own/a.bin
        say 81s 4 wifi 1: Direct firmware load for own/a.bin failed with error -2
        say 81.01s 4 wifi 1: Falling back to sysfs fallback for: own/a.bin
        say 142s 6 wifi 1: up",
    );
    let (_, _, high) = range_ms(of(&all, "missing-hardware").unwrap());
    assert!((121_000..=122_500).contains(&high), "{high}");
}

/// systemd waits 90 s for a device, in the initrd and after it.
#[test]
fn a_first_unit_and_an_initrd_of_ninety_seconds_waited_in_vain() {
    let boot = |at: &str, initrd: &str| {
        found(&format!(
            "source time.txt systemd-analyze
            clock monotonic monotonic
            mark 0s kernel-start kernel
            mark 1s initrd-start initrd
            mark {initrd} userspace-start userspace
            mark 300s graphical.target -
            span unit 300s 300s graphical.target
            span unit {at} {at} tpm2.target
            after graphical.target tpm2.target"
        ))
    };
    let all = boot("185.5s", "94s");
    let wait = of(&all, "chain-wait").unwrap();
    assert!(wait.names.contains(&"TPM".to_owned()), "{:?}", wait.names);
    assert!(wait.why.contains("systemd.tpm2_wait=0"), "{}", wait.why);
    assert!(wait.why.contains("90 s"), "{}", wait.why);
    let (low, expected, high) = range_ms(wait);
    assert_eq!((low, expected, high), (54_900, 84_180, 91_500));
    let initrd = of(&all, "opaque-phase").unwrap();
    assert!(initrd.why.contains("90 s"), "{}", initrd.why);
    assert_eq!(range_ms(initrd).1, 82_800);
    // Of another length nothing tells what either waits for.
    let all = boot("230s", "130s");
    assert!(!of(&all, "chain-wait").unwrap().why.contains("90 s"));
    assert!(!of(&all, "opaque-phase").unwrap().why.contains("90 s"));
}

#[test]
fn a_device_of_a_tpm_that_never_came_is_told_with_what_helps() {
    let all = found(
        "source log kernel-log
        clock printk printk
        mark 0s kernel-start kernel
        say 95s 3 systemd[1]: dev-tpmrm0.device: Job dev-tpmrm0.device/start timed out.",
    );
    let f = of(&all, "device-timeout").unwrap();
    assert!(f.why.contains("systemd.tpm2_wait=0"), "{}", f.why);
    let all = found(
        "source log kernel-log
        clock realtime wall
        say 95s 3 systemd[1]: dev-own.device: Job dev-own.device/start failed with result 'timeout'.",
    );
    let f = of(&all, "device-timeout").unwrap();
    assert!(
        f.names.contains(&"dev-own.device".to_owned()),
        "{:?}",
        f.names
    );
    assert_eq!(range_ms(f).1, 85_500);
}

#[test]
fn a_silence_beside_a_known_driver_is_told_with_what_helps() {
    let silence = |line: &str, next: &str| {
        let all = found(&format!(
            "source dmesg.txt kernel-log
            clock printk printk
            mark 0s kernel-start kernel
            say 1s 6 sd 0:0:0:0: [sda] Attached SCSI disk
            say 2s 6 {line}
            say 12s 4 {next}
            say 12.1s 6 input: keyboard"
        ));
        of(&all, "kernel-silence").unwrap().clone()
    };
    for (line, next, name) in [
        (
            "Floppy drive(s): fd0 is 1.44M",
            "I/O error, dev fd0, sector 0",
            "floppy",
        ),
        (
            "fb0: own",
            "[drm] *ERROR* [CRTC:1:pipe A] flip_done timed out",
            "video",
        ),
        (
            "mei_me 0000:00:16.0: start",
            "mei_me 0000:00:16.0: reset failed",
            "mei_me",
        ),
    ] {
        let f = silence(line, next);
        assert!(f.names.contains(&name.to_owned()), "{:?}", f.names);
        // 10 s is the length of another wait, too.
        assert!(!f.why.contains("suppliers"), "{}", f.why);
    }
    assert!(
        silence("own 1: begins", "other 2: ends")
            .why
            .contains("suppliers")
    );
}

#[test]
fn a_slow_console_is_named_and_a_screen_is_none() {
    let of_console = |name: &str| {
        let all = found(&format!(
            "source dmesg.txt kernel-log
            clock printk printk
            say 0.2s 6 printk: console [early] disabled
            say 8.5s 6 printk: console [{name}] enabled"
        ));
        of(&all, "console-output").map(|f| f.names.contains(&format!("console={name}")))
    };
    assert_eq!(of_console("ttyS1"), Some(true));
    assert_eq!(of_console("tty1"), None);
}

/// A chain whose unit `later` starts at `at`, after one that was active at 2 s.
fn chain_with(later: &str, at: u32) -> Vec<Finding> {
    let (begin, end) = (at + 1, at + 2);
    found(&format!(
        "source chain.txt systemd-analyze
        clock userspace monotonic
        mark 0s userspace-start userspace
        mark {end}s multi-user.target -
        span unit {end}s {end}s multi-user.target
        span unit {begin}s {end}s app.service
        span unit {at}s {at}s {later}
        span unit 1s 2s early.service
        after multi-user.target app.service
        after app.service {later}
        after {later} early.service"
    ))
}

#[test]
fn a_target_that_waits_is_told_with_what_it_stands_for() {
    for (target, word) in [
        ("network-online.target", "waits for the network"),
        ("local-fs.target", "x-systemd.automount"),
        ("own.target", "also waits for something else"),
    ] {
        let all = chain_with(target, 30);
        let f = of(&all, "chain-wait").unwrap();
        assert!(f.why.contains(word), "{}", f.why);
    }
}

#[test]
fn a_time_out_before_the_network_is_of_an_interface() {
    for (unit, is_network) in [("network.target", true), ("sysinit.target", false)] {
        let all = chain_with(unit, 91);
        let f = of(&all, "device-timeout").unwrap();
        assert_eq!(f.why.contains("sys-subsystem-net"), is_network, "{}", f.why);
        assert_eq!(f.why.contains("/etc/fstab"), !is_network, "{}", f.why);
    }
}
