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
