//! What no finding of any record may say: more than the time that it was taken from, a range
//! out of order, or a measured saving where nothing has a time. Records are put together at
//! random from what rules look at.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::record;
use firstlight_analysis::{Finding, SystemFacts, advice, phases};
use proptest::prelude::*;

/// Words that rules watch for, and some that none does.
const WORDS: [&str; 28] = [
    "raid6: sse2x1 gen() 1000 MB/s",
    "raid6: avx2x4 gen() 9000 MB/s",
    "Trying to unpack rootfs image as initramfs...",
    "Freeing initrd memory: 34000K",
    "Freeing unused kernel memory: 1024K",
    "random: crng init done",
    "random: fast init done",
    "random: dd: uninitialized urandom read (4 bytes read)",
    "printk: console [ttyS0] enabled",
    "00:04: ttyS0 at I/O 0x3f8 (irq = 4, base_baud = 115200) is a 16550A",
    "Calibrating delay loop... 1000.00 BogoMIPS (lpj=2000000)",
    "Waiting for root device /dev/sda1...",
    "EXT4-fs (sda1): mounted filesystem with ordered data mode",
    "EXT4-fs (sda1): recovery complete",
    "Run /init as init process",
    "ata1: SATA link down (SStatus 0 SControl 300)",
    "usb 1-1: device descriptor read/64, error -110",
    "Lock dependency validator: Copyright (c) 2006 Red Hat",
    "ubi0: attaching mtd1",
    "Sending DHCP requests ., OK",
    "IP-Config: Complete:",
    "systemd[1]: Detected architecture arm64.",
    "dracut-initqueue[273]: Warning: timeout",
    "i8042: No controller found",
    "sd 0:0:0:0: [sda] Attached SCSI disk",
    "alg: No test for xts(aes)",
    "clocksource: Switched to clocksource tsc",
    "one line of many",
];

const UNITS: [&str; 8] = [
    "systemd-udev-settle.service",
    "NetworkManager-wait-online.service",
    "systemd-journal-flush.service",
    "snapd.seeded.service",
    "plymouth-quit-wait.service",
    "systemd-fsck-root.service",
    "app.service",
    "dev-sda1.device",
];

const CALLS: [&str; 5] = [
    "populate_rootfs",
    "crypto_algapi_init",
    "raid6_select_algo",
    "acpi_init",
    "foo_init",
];

const CMDLINES: [&str; 5] = [
    "root=/dev/sda1 console=ttyS0,115200 ip=dhcp",
    "root=/dev/sda1 console=ttyS0,9600n8 initcall_debug ignore_loglevel",
    "root=/dev/sda1 rootdelay=5 console=ttyS0 rootwait",
    "quiet",
    "debug earlyprintk=serial",
];

/// Events in milliseconds; of `units` each with a start and a length, or with a length alone.
#[derive(Clone, Debug)]
struct Boot {
    cmdline: usize,
    lines: Vec<(u32, usize)>,
    calls: Vec<(u32, u32, usize)>,
    probes: Vec<(u32, u32)>,
    units: Vec<(u32, u32, usize)>,
    has_order: bool,
    kernel_ends: u32,
    rest: u32,
}

fn boots() -> impl Strategy<Value = Boot> {
    let lines = prop::collection::vec((0_u32..20_000, 0..WORDS.len()), 0..40);
    let calls = prop::collection::vec((0_u32..8_000, 0_u32..3_000, 0..CALLS.len()), 0..6);
    let probes = prop::collection::vec((0_u32..8_000, 0_u32..3_000), 0..5);
    let units = prop::collection::vec((0_u32..20_000, 0_u32..95_000, 0..UNITS.len()), 0..8);
    let rest = (
        0..CMDLINES.len(),
        any::<bool>(),
        500_u32..10_000,
        0_u32..120_000,
    );
    (lines, calls, probes, units, rest).prop_map(
        |(lines, calls, probes, units, (cmdline, has_order, kernel_ends, rest))| Boot {
            cmdline,
            lines,
            calls,
            probes,
            units,
            has_order,
            kernel_ends,
            rest,
        },
    )
}

/// The record in the form of `common`, with times or without any.
fn text(boot: &Boot, has_times: bool) -> String {
    let cmdline = CMDLINES[boot.cmdline];
    let mut text = format!(
        "source dmesg.txt kernel-log\nclock printk printk\nfact kernel.cmdline {cmdline}\n"
    );
    let end = boot.kernel_ends + boot.rest + 1;
    if has_times {
        text += &format!(
            "mark 0s kernel-start kernel\nmark {}ms first-userspace userspace\n",
            boot.kernel_ends
        );
    }
    let time = |ms: u32| match has_times {
        true => format!("{ms}ms"),
        false => "-".to_owned(),
    };
    let mut lines = boot.lines.clone();
    lines.sort_unstable();
    for (at, word) in &lines {
        text += &format!("say {} 6 {}\n", time(*at), WORDS[*word]);
    }
    if !has_times {
        return text;
    }
    for (at, length, call) in &boot.calls {
        let to = at + length;
        text += &format!("span initcall {at}ms {to}ms {}\n", CALLS[*call]);
    }
    for (number, (at, length)) in boot.probes.iter().enumerate() {
        let to = at + length;
        text += &format!("span probe {at}ms {to}ms {number}.device\n");
    }
    text += "source units.txt systemd-analyze\nclock userspace monotonic\n";
    text += "relate userspace 0s printk 0s\n";
    for (at, length, unit) in &boot.units {
        let (from, to) = (boot.kernel_ends + at, boot.kernel_ends + at + length);
        text += &format!("span unit {from}ms {to}ms {}\n", UNITS[*unit]);
    }
    if boot.has_order {
        for pair in boot.units.windows(2) {
            if pair[0].2 != pair[1].2 {
                text += &format!("after {} {}\n", UNITS[pair[0].2], UNITS[pair[1].2]);
            }
        }
    }
    text + &format!("mark {end}ms first-light -\n")
}

fn found(text: &str) -> (Vec<Finding>, i64) {
    let record = record(text);
    let phases = phases(&record);
    let start = phases.phases.first().map_or(0, |p| p.start.0.min(0));
    let length = phases.end().0 - start;
    let all = advice(&record, &phases, &SystemFacts::default()).findings;
    (all, length)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn no_finding_saves_more_than_there_was(boot in boots()) {
        let (all, length) = found(&text(&boot, true));
        for f in &all {
            let Some((low, high)) = f.saving else { continue };
            let context = format!("{}: {low} {} {high} of {length}: {}", f.id, f.expected, f.title);
            prop_assert!(0 <= low.0 && low <= f.expected && f.expected <= high, "{}", context);
            prop_assert!(high.0 <= length, "{}", context);
            // What is about one unit, and not about what it waits for, saves no more than the
            // longest start of it.
            if let [name] = f.names.as_slice()
                && f.id != "chain-wait"
                && let Some(unit) = UNITS.iter().position(|u| u == name)
            {
                let all = boot.units.iter().filter(|(_, _, u)| *u == unit);
                let longest = all.map(|(_, length, _)| i64::from(*length)).max();
                let ms = high.0 / 1_000_000;
                prop_assert!(longest.is_none_or(|l| ms <= l), "{}, {:?} ms", context, longest);
            }
        }
    }

    #[test]
    fn without_times_nothing_is_measured(boot in boots()) {
        let (all, _) = found(&text(&boot, false));
        for f in &all {
            let is_measured = f.model.starts_with("measured") && f.saving.is_some();
            prop_assert!(!is_measured, "{}: {}", f.id, f.title);
        }
    }
}
