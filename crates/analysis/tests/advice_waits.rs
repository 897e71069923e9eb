//! Waits on printed chains, in plots and behind the target.
#![allow(clippy::unwrap_used, reason = "tests")]

mod advised;
mod common;

use advised::{found, ms, one};
use firstlight_analysis::Finding;
use record::Nanos;

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
fn two_printed_chains_share_their_end() {
    let second = "span unit 30s 31s late.service
    after late.service net.service";
    let f = one(&format!("{CHAIN}\n{second}"), "chain-wait");
    assert_eq!(f.names, ["app.service", "net.service"]);
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
