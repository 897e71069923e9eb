//! What a loader of the exact lab says, whose lines have virtual time.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::record;
use firstlight_analysis::{Finding, ImageFact, ImageKind, Place, SystemFacts, advice, phases};

const LOADER: &str = "source loader.txt loader-console
    clock counter virtual
    mark 0s power-on loader
    mark 8s kernel-entry kernel
    mark 12s first-light -\n";

fn found(text: &str, id: &str) -> Option<Finding> {
    let record = record(&format!("{LOADER}{text}"));
    let all = advice(&record, &phases(&record), &SystemFacts::default());
    all.findings.into_iter().find(|f| f.id == id)
}

/// Two partitions are read, 400 ms each; both images have half of what is read.
const LOADS: &str = "say 1s - NAND read: device 0 offset 0x200000, size 0x600000
    say 1.4s -  6291456 bytes read: OK
    say 1.41s - NAND read: device 0 offset 0x800000, size 0x800000
    say 1.81s -  8388608 bytes read: OK
    say 1.82s - ## Booting kernel from Legacy Image at 01000000 ...
    say 1.83s -    Data Size:    3145664 Bytes = 3.0 MiB
    say 1.84s - ## Loading init Ramdisk from Legacy Image at 01800000 ...
    say 1.85s -    Data Size:    4194240 Bytes = 4.0 MiB\n";

#[test]
fn each_load_is_held_against_its_own_image() {
    let both = found(LOADS, "loader-whole-partition").unwrap();
    assert_eq!(both.title, "The boot loader reads more than its images");
    assert_eq!(both.evidence.len(), 4);
    // Half of 800 ms, of which 95 %.
    assert_eq!(both.expected.0 / 1_000_000, 380);
    let one = LOADS.replace("3145664", "6291392");
    let one = found(&one, "loader-whole-partition").unwrap();
    assert_eq!(one.title, "The boot loader reads more than the kernel");
    assert_eq!(one.expected.0 / 1_000_000, 190);
    let none = LOADS
        .replace("3145664", "6291392")
        .replace("4194240", "8388544");
    assert!(found(&none, "loader-whole-partition").is_none());
    // A third load, a device tree's: whose each is, is not known.
    let third = "say 900ms -  20000 bytes read: OK\n";
    let unknown = format!("{third}{LOADS}");
    assert!(found(&unknown, "loader-whole-partition").is_none());
}

/// Twenty lines of 60 bytes with their ends, each so many milliseconds behind the last.
fn lines(ms: u32) -> String {
    let line = |i: u32| format!("say {}ms - {}\n", 100 + i * ms, "x".repeat(58));
    (0..20).map(line).collect()
}

#[test]
fn a_console_in_virtual_time_counts_if_the_loader_waits_for_it() {
    // 60 bytes take 5.2 ms at 115,200 baud.
    let waits = found(&lines(6), "loader-console").unwrap();
    assert_eq!(waits.treatment.as_deref(), Some("env=silent=1"));
    // 1,200 bytes, 104 ms; a log does not keep all that was written.
    assert_eq!(waits.expected.0 / 1_000_000, 104);
    assert_eq!(waits.saving.unwrap().1.0 / 1_000_000, 109);
    // What is written before the environment is read stays: all but two lines.
    let tail = "say 220ms - Loading Environment from NAND... OK\nsay 226ms - In: serial\n";
    let told = found(&format!("{}{tail}", lines(6)), "loader-console").unwrap();
    assert!(told.expected.0 < 10_000_000, "{}", told.expected.0);
    // At 9,600 baud they take 62.5 ms each, 1.25 s in all.
    let slow = found(&lines(63), "loader-console").unwrap();
    assert!(slow.why.contains("at 9600 baud"), "{}", slow.why);
    assert_eq!(slow.expected.0 / 1_000_000, 1_250);
    // An emulator's line takes no time.
    assert!(found(&lines(1), "loader-console").is_none());
}

/// 10,000,000 bytes of gzip are 17 instructions each on an ARM: 0.17 s at 1,000 BogoMIPS.
#[test]
fn unpacking_far_slower_than_the_processor_allows_lacks_caches() {
    let of = |text: &str, compression: &str| {
        let record = record(text);
        let system = SystemFacts {
            images: vec![ImageFact {
                place: Place {
                    source: "zImage".to_owned(),
                    offset: 0,
                },
                what: ImageKind::Kernel {
                    compression: compression.to_owned(),
                    packed: 2_800_000,
                    unpacked: 10_000_000,
                    signed: false,
                    variable_names: None,
                    initramfs: None,
                },
            }],
            ..SystemFacts::default()
        };
        let all = advice(&record, &phases(&record), &system).findings;
        all.into_iter().find(|f| f.id == "loader-caches")
    };
    let boot = "mark 0s power-on loader
        mark 1s decompression-start decompression
        mark 3s kernel-start kernel
        mark 8s startup-finished -
        say 3s 6 CPU: ARMv7 Processor [410fc075] revision 5 (ARMv7), cr=10c5387d
        say 3.1s 6 Calibrating delay loop... 1000.00 BogoMIPS (lpj=5000000)\n";
    let found = of(boot, "gzip").unwrap();
    assert!(found.title.contains("11 times"), "{}", found.title);
    // 1.83 s too long, of which 60 %.
    assert_eq!(found.expected.0 / 1_000_000, 1_098);
    // xz takes 1.07 s; nothing tells how fast the processor is; 0.8 s are not far slower.
    assert!(of(boot, "xz").is_none());
    assert!(of(&boot.replace("Calibrating delay loop", "x"), "gzip").is_none());
    assert!(of(&boot.replace("mark 3s kernel", "mark 1.8s kernel"), "gzip").is_none());
}
