//! Programs that wait for random numbers.
#![allow(clippy::unwrap_used, reason = "tests")]

mod advised;
mod common;

use advised::{found, of, range_ms};
use firstlight_analysis::Finding;

#[test]
fn a_log_that_stands_still_until_there_are_random_numbers_waits_for_them() {
    let text = |next: &str| {
        format!(
            "source dmesg.txt kernel-log\nclock printk printk\nmark 0s kernel-start kernel\n\
             say 1s 6 usb 1-1: SerialNumber: 1\nsay 41s 5 random: fast init done\n\
             say {next} 6 alg: self-tests for x passed\nsay 60s 6 sd 0:0:0:0: [sda] disk\n"
        )
    };
    let all = found(&text("41.002s"));
    let wait = of(&all, "random-wait").unwrap();
    assert_eq!(range_ms(wait), (20_000, 36_000, 40_000));
    let of_usb = |f: &&Finding| f.evidence.iter().any(|e| e.text.contains("SerialNumber"));
    let told = all.iter().filter(|f| f.id == "kernel-silence").find(of_usb);
    assert!(told.is_none());
    // Where nothing goes on with it, the generator was ready by chance.
    assert!(of(&found(&text("55s")), "random-wait").is_none());
}

#[test]
fn a_log_that_was_searched_for_random_numbers_shows_no_silences() {
    let range = |other: &str| {
        let all = found(&format!(
            "source dmesg.txt kernel-log\nclock printk printk\n\
             say 8s 5 random: x: uninitialized urandom read (4 bytes read)\n\
             say 88s 5 random: y: uninitialized urandom read (4 bytes read)\n{other}\
             say 108s 5 random: crng init done\n"
        ));
        of(&all, "random-wait").map(range_ms)
    };
    assert_eq!(range(""), Some((0, 50_000, 100_000)));
    assert_eq!(range("say 88s 6 sda: disk\n"), Some((0, 10_000, 20_000)));
}

#[test]
fn random_numbers_at_the_end_of_a_log_may_be_what_it_waited_for() {
    let log = |early: &str, end: &str| {
        format!(
            "source dmesg.txt kernel-log\nclock printk printk\n\
             mark 0s kernel-clock-start kernel\nsay 8s 6 procd: - ubus -\n{early}\
             say 108s 5 random: crng init done\n{end}"
        )
    };
    let range = |early: &str, end: &str| {
        let all = found(&log(early, end));
        of(&all, "random-wait").map(range_ms)
    };
    let early = "say 8s 5 random: x: uninitialized urandom read (4 bytes read)\n";
    assert_eq!(range("", ""), Some((0, 30_000, 100_000)));
    assert_eq!(range(early, ""), Some((0, 50_000, 100_000)));
    assert_eq!(
        range("", "say 108.001s 6 next\n"),
        Some((50_000, 90_000, 100_000))
    );
    // systemd says more as soon as it starts its first unit: until then nobody is idle.
    let systemd = |words: &str| format!("say 8.1s 6 systemd[1]: {words}\n");
    let first = systemd("Set hostname to <box>.");
    assert_eq!(range(&first, ""), Some((49_950, 89_910, 99_900)));
    let later = format!("{}{}", systemd("Started a.service."), systemd("Hello."));
    assert_eq!(range(&later, ""), Some((0, 29_970, 99_900)));
    // A log of another boot behind it went on with nothing.
    assert_eq!(range("", "say 3s 6 before\n"), None);
    // Nobody went on with them.
    assert_eq!(range("", "say 150s 6 next\n"), None);
    // What programs read too early is no end of a silence of the kernel.
    let read = "say 60s 5 random: x: uninitialized urandom read (4 bytes read)\n";
    let all = found(&log(read, ""));
    assert!(all.iter().all(|f| !f.title.contains("uninitialized")));
}

#[test]
fn kernels_before_4_8_say_otherwise_that_random_numbers_are_ready() {
    let all = found(
        "source dmesg.txt kernel-log\nclock printk printk\nmark 0s kernel-start kernel\n\
         say 2.7s 6 Freeing unused kernel memory: 1000K\nmark 2.7s memory-freed userspace\n\
         say 4s 6 eth0 is up\nsay 184s 5 random: nonblocking pool is initialized\n",
    );
    let wait = of(&all, "random-wait").unwrap();
    assert_eq!(range_ms(wait), (0, 54_000, 180_000));
    // `random.trust_cpu=on` came with 4.19.
    assert_eq!(wait.treatment, None);
    assert!(
        wait.why.contains("has no `random.trust_cpu`"),
        "{}",
        wait.why
    );
}

/// What the timer's work writes does not end the wait; and a processor that has no random
/// numbers cannot be trusted to make them.
#[test]
fn random_numbers_are_waited_for_through_lines_of_the_clock() {
    let text = "source dmesg.txt kernel-log
        clock printk printk
        mark 0s kernel-clock-start kernel
        say 0s 6 Linux version 6.1.0
        say 1s 6 Run /init as init process
        say 1.6s 6 clocksource: tsc: mask: 0xffffffffffffffff
        say 1.7s 6 clocksource: Switched to clocksource tsc
        say 2.1s 5 random: crng init done
        say 2.101s 6 the next line
        mark 5s startup-finished -";
    let wait = |text: &str| of(&found(text), "random-wait").unwrap().clone();
    let f = wait(text);
    // Until then this kernel makes each number anew: a fifth of its start, at most.
    assert_eq!(range_ms(&f).2, 1_300);
    let old = text.replace("version 6.1.0", "version 4.19.0");
    assert_eq!(range_ms(&wait(&old)).2, 1_100);
    assert_eq!(f.treatment.as_deref(), Some("cmdline+=random.trust_cpu=on"));
    let arm = text.replace(
        "say 0s 6 Linux",
        "say 0s 6 CPU: ARM926EJ-S [41069265] revision 5 (ARMv5TEJ), cr=00093177\nsay 0s 6 Linux",
    );
    let f = wait(&arm);
    assert_eq!(f.treatment, None);
    assert!(f.why.contains("rng-seed"), "{}", f.why);
}

/// systemd-random-seed waits for the kernel's generator, and is named if it began before that
/// was ready and did not end long before.
#[test]
fn the_unit_that_seeds_the_kernel_waits_for_it() {
    let text = |unit: &str, next: &str| {
        format!(
            "source dmesg.txt kernel-log
            clock printk printk
            mark 0s kernel-clock-start kernel
            say 0s 6 Linux version 6.1.0
            say 1s 6 Run /init as init process
            mark 1.2s userspace-start userspace
            say 3.4s 6 a line of a driver
            say 3.6s 5 random: crng init done
            say {next} 6 the next line
            source show.txt systemd-show
            span unit {unit} systemd-random-seed.service
            span unit 3.61s 5s app.service
            mark 5s startup-finished -"
        )
    };
    let all = found(&text("2.6s 3.61s", "3.9s"));
    let seed = of(&all, "random-seed").unwrap();
    assert_eq!(range_ms(seed).2, 1_000);
    assert_eq!(
        seed.treatment.as_deref(),
        Some("cmdline+=systemd.setenv=SYSTEMD_RANDOM_SEED_CREDIT=1")
    );
    assert!(
        seed.names
            .iter()
            .any(|n| n == "systemd-random-seed.service")
    );
    // It was done long before, began when the generator was ready, or hardly waited.
    for unit in ["2.6s 3s", "3.7s 3.8s", "3.55s 3.61s"] {
        assert!(of(&found(&text(unit, "3.9s")), "random-seed").is_none());
    }
    // A log that stands still until then tells it as one wait.
    let still = text("2.2s 3.61s", "3.601s").replace("say 3.4s 6 a line of a driver\n", "");
    let all = found(&still);
    assert!(of(&all, "random-wait").is_some(), "{all:?}");
    assert!(of(&all, "random-seed").is_none());
}
