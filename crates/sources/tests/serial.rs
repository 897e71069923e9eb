//! Stamped serial logs: others' samples, the corpus, and damaged input.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{assert_conserved, check_corpus, expected, read, sample, samples_in};
use firstlight_sources::serial::{Serial, Stages, stages_from_toml};
use firstlight_sources::{Input, Sniff, Source};
use proptest::prelude::*;
use record::{Message, Nanos, Phase, Record, mark};
use serde_json::Value;

fn us(seconds: &Value) -> i64 {
    (seconds.as_f64().unwrap() * 1e6).round() as i64
}

fn noted(record: &Record, kind: &str) -> u64 {
    let note = record.notes().iter().find(|n| n.kind.name == kind);
    note.map_or(0, |n| n.count)
}

/// The times of the lines that only the host stamped, in microseconds from the
/// log's own first zero.
fn times(record: &Record) -> Vec<i64> {
    let serial: Vec<&Message> = record.messages().iter().collect();
    let times = serial.iter().filter_map(|m| m.at);
    times.map(|t| t.get() / 1_000).collect()
}

#[test]
fn logs_of_grabserial_go_on_over_their_resets() {
    for name in samples_in("serial") {
        let (Some(bytes), Some(oracle)) = (sample(&name), expected(&name)) else {
            return;
        };
        let record = read(&Serial, &bytes);
        assert_conserved(&record);
        assert_eq!(
            Some(record.sources()[0].units),
            oracle["lines"].as_u64(),
            "{name}"
        );
        let resets = oracle["base_time_resets"].as_array().unwrap();
        assert_eq!(noted(&record, "base_time_reset"), resets.len() as u64);
        let all = times(&record);
        // Every line went forward, and all of them as long as the oracle says.
        assert!(all.is_sorted(), "{name}");
        let span = all.last().unwrap() - all.first().unwrap();
        let first = us(&oracle["first_s"]);
        let total = us(&oracle["total_span_s"]);
        assert!((span - (total - first)).abs() <= 1, "{name}: {span} us");
        // The reset is where the line before it stands.
        let reset = record.mark("base-time-reset").unwrap().at.get() / 1_000;
        let before = us(&resets[0]["last_before_s"]) - first;
        assert_eq!(reset - all[0], before, "{name}");
        // Lines of the oracle that carry no stamp are noted.
        let without = oracle["other_lines"].as_array().unwrap().len() as u64;
        let kinds = ["blank_line", "lines_elided", "capture_program_report"];
        let notes: u64 = kinds.iter().map(|k| noted(&record, k)).sum();
        assert_eq!(notes, without, "{name}: {:?}", record.notes());
    }
}

#[test]
fn the_longest_wait_of_a_sample_is_found() {
    for name in samples_in("serial") {
        let (Some(bytes), Some(oracle)) = (sample(&name), expected(&name)) else {
            return;
        };
        // Without the kernel's own stamps all messages are on one clock.
        if oracle["lines_with_printk_stamp"].as_u64() != Some(0) {
            continue;
        }
        let all = times(&read(&Serial, &bytes));
        let waits = all.windows(2).map(|w| w[1] - w[0]);
        let longest = waits.max().unwrap();
        let cut = name.contains("decompress");
        let delta = us(&oracle["largest_delta"]["delta_s"]);
        // What was cut out of that sample is longer than any printed wait.
        assert!(if cut {
            longest > delta
        } else {
            (longest - delta).abs() <= 1
        });
    }
}

#[test]
fn the_boards_go_through_their_stages() {
    for (name, stages) in [
        (
            "serial/grabserial-beaglebone.log",
            vec![
                ("U-Boot SPL", Phase::Loader, 647),
                ("U-Boot", Phase::Loader, 389_623),
                ("loader-finished", Phase::Decompression, 2_974_300),
                ("decompression-start", Phase::Decompression, 2_981_645),
            ],
        ),
        (
            "serial/grabserial-panda.log",
            vec![
                ("X-Loader", Phase::Loader, 1_908),
                ("U-Boot", Phase::Loader, 313_168),
                ("loader-finished", Phase::Decompression, 8_376_117),
                ("decompression-start", Phase::Decompression, 8_379_217),
                (mark::KERNEL_START, Phase::Kernel, 9_893_907),
            ],
        ),
    ] {
        let Some(bytes) = sample(name) else { return };
        let record = read(&Serial, &bytes);
        let first = stages[0].2;
        for (stage, phase, at_us) in stages {
            let found = record.mark(stage).unwrap();
            assert_eq!(found.at.get() / 1_000, at_us - first, "{stage}");
            assert_eq!(found.begins, Some(phase), "{stage}");
        }
    }
}

#[test]
fn the_kernels_clock_is_related_to_the_hosts() {
    let Some(bytes) = sample("serial/grabserial-beaglebone.log") else {
        return;
    };
    let record = read(&Serial, &bytes);
    // Of the 15 lines with both stamps, the one at 2.594316 s after the reset at
    // 2.974300 s has the least difference: the kernel stamped it 0.739415 s.
    let zero = record.mark("U-Boot SPL").unwrap().at.get() / 1_000 - 647;
    let kernel = record.mark(mark::KERNEL_CLOCK_START).unwrap().at.get() / 1_000 - zero;
    assert_eq!(kernel, 2_974_300 + 2_594_316 - 739_415);
    let printk = record.clocks().iter().find(|c| c.name == "printk").unwrap();
    let error = printk.error_ns.unwrap();
    assert_eq!(error, 1_166_000);
}

/// A log with both stamps of each line, where the truth is known.
#[test]
fn a_buffered_console_does_not_move_the_kernels_zero() {
    let mut log = String::from("# firstlight-serial 1\n");
    // The kernel's zero is at 3.0 s; its first 100 lines came out together at
    // 8.0 s, the others 2 ms after they were stamped, but for one at 0.2 ms.
    for i in 0..100 {
        let (at, stamp) = (8_000_000 + i * 10, i * 1_000);
        log += &line(at, stamp);
    }
    for i in 0..200 {
        let stamp = 5_100_000 + i * 5_000;
        let late = if i == 77 { 200 } else { 2_000 };
        log += &line(3_000_000 + stamp + late, stamp);
    }
    let record = read(&Serial, log.as_bytes());
    assert_conserved(&record);
    let printk = record.clocks().iter().find(|c| c.name == "printk").unwrap();
    let error = i64::try_from(printk.error_ns.unwrap()).unwrap();
    assert_eq!(error, 1_800_000);
    // Zero of the record is the kernel's; a line of both clocks tells where.
    let last = record.messages().last().unwrap().at.unwrap();
    assert_eq!(
        last - record.mark(mark::KERNEL_CLOCK_START).unwrap().at,
        Nanos(6_095_000_000)
    );
}

fn line(at_us: i64, stamp_us: i64) -> String {
    let seconds = |us: i64, digits: usize| {
        let fraction = format!("{:06}000", us % 1_000_000);
        format!("{}.{}", us / 1_000_000, &fraction[..digits])
    };
    let (first, last) = (seconds(at_us, 9), seconds(at_us + 100, 9));
    format!("{first} {last} [{:>12}] some words\n", seconds(stamp_us, 6))
}

#[test]
fn the_end_of_the_boot_before_is_left_out() {
    let log = "[0.100000 0.100000] [ 1234.000000] reboot: Restarting system\n\
               [1.000000 0.900000] U-Boot SPL 2023.01\n\
               [2.000000 1.000000] Starting kernel ...\n\
               [3.000000 1.000000] [    0.500000] Linux version 6.1\n\
               [4.000000 1.000000] [    1.500000] two\n\
               [5.000000 1.000000] [    2.500000] three\n\
               [9.000000 4.000000] U-Boot SPL 2023.01\n\
               [9.500000 0.500000] [    0.500000] Linux version 6.1\n";
    // The last boot is read; another one if it is asked for.
    let record = read(&Serial, log.as_bytes());
    assert_conserved(&record);
    assert_eq!(noted(&record, "other_boot"), 6);
    let boots = Serial.boots(log.as_bytes());
    assert_eq!(boots.len(), 3);
    let mut recorder = record::Recorder::new();
    let input = Input {
        name: "board.log",
        bytes: log.as_bytes(),
    };
    Serial.read_boot(input, boots[1].clone(), &mut recorder);
    let record = recorder.finish();
    assert_conserved(&record);
    assert_eq!(noted(&record, "other_boot"), 3);
    assert_eq!(record.zero(), "U-Boot SPL");
    assert_eq!(
        record.mark(mark::KERNEL_CLOCK_START).unwrap().at,
        Nanos(1_500_000_000)
    );
}

#[test]
fn a_loader_that_nobody_knows_begins_with_its_first_line() {
    let log = "[0000.100] [Own] version 1\n[0000.200] memory\n[0001.500] loads\n\
               [0002.600] jumps\n[    0.000000] Booting Linux on physical CPU 0x0\n\
               [    1.000000] x\n";
    let record = read(&Serial, log.as_bytes());
    assert_conserved(&record);
    assert_eq!(record.zero(), "loader");
    let at = |name: &str| record.mark(name).map(|m| m.at.0 / 1_000_000);
    assert_eq!(at(mark::KERNEL_CLOCK_START), Some(2_500));
}

#[test]
fn allwinners_loaders_stamp_their_own_lines() {
    let log = "[34]HELLO! BOOT0 is starting!\n[146]Entry_name        = dtb\n\n\
               U-Boot 2018.05\n\n[00.158]DRAM:  64 MiB\n[02.500]Starting kernel ...\n\
               [    0.000000] Linux version 5.4\n[    1.500000] x\n";
    let record = read(&Serial, log.as_bytes());
    assert_conserved(&record);
    let at = |name: &str| record.mark(name).map(|m| m.at.0 / 1_000_000);
    assert_eq!(at("BOOT0"), Some(0));
    assert_eq!(at(mark::KERNEL_CLOCK_START), Some(2_466));
}

/// Up to the kernel, whose stamps are its own.
#[test]
fn the_firmware_of_a_raspberry_pi_counts_from_power_on() {
    let log = "Raspberry Pi Bootcode\nRead File: start.elf, 2000000 (bytes)\n\
               MESS:00:00:01.212454:0: brfs: File read: /mfs/sd/config.txt\n\
               MESS:00:00:01.216673:0: brfs: File read: 209 bytes\n\
               MESS:00:00:02.500000:0: brfs: File read: /mfs/sd/kernel8.img\n\
               MESS:00:01:02.600000:0:NOTICE:  BL31: v2.11.0\n\
               [    0.000000] Booting Linux on physical CPU 0x0\n\
               [    0.000000] Linux version 6.1\n[    1.500000] x\n";
    let record = read(&Serial, log.as_bytes());
    assert_conserved(&record);
    assert_eq!(record.zero(), mark::POWER_ON);
    let at = |record: &Record, name: &str| record.mark(name).map(|m| m.at.0 / 1_000);
    assert_eq!(at(&record, "start.elf"), Some(1_212_454));
    assert_eq!(at(&record, "TF-A BL31"), Some(62_600_000));
    assert_eq!(at(&record, mark::KERNEL_CLOCK_START), Some(62_600_000));

    // As `vclog` and older firmware write it, in milliseconds.
    let log = "003681.579: brfs: File read: /mfs/sd/a.dtb\n003681.616: Loading 'a.dtb'\n\
               004121.144: brfs: File read: /mfs/sd/config.txt\n007136.902: brfs: File read: 9 bytes\n";
    let record = read(&Serial, log.as_bytes());
    assert_conserved(&record);
    assert_eq!(at(&record, "start.elf"), Some(3_681_579));
    assert_eq!(record.last().map(|end| end.0 / 1_000), Some(7_136_902));
    // Three of them may be anything.
    let few = log.lines().take(3).collect::<Vec<_>>().join("\n");
    assert!(matches!(Serial.sniff(few.as_bytes()), Sniff::No));
}

/// The times of a stage, in milliseconds: from, to, and how long the loader says that it took.
type Stage<'a> = (&'a str, Option<i64>, Option<i64>, Option<i64>);

fn stages(record: &Record) -> Vec<Stage<'_>> {
    let ms = |t: Option<Nanos>| t.map(|t| t.0 / 1_000_000);
    let spans = record.spans().iter();
    let mut all: Vec<_> = spans
        .map(|s| (record.name(s.name), ms(s.start), ms(s.end), ms(s.reported)))
        .collect();
    all.sort_unstable();
    all
}

#[test]
fn qualcomms_loaders_count_from_reset() {
    let log = std::fs::read(common::workspace().join("corpus/serial/qualcomm.log")).unwrap();
    let record = read(&Serial, &log);
    assert_conserved(&record);
    assert_eq!(record.zero(), mark::POWER_ON);
    assert_eq!(record.mark("SBL1").unwrap().at, Nanos(120_000_000));
    let some = |from, to, took| (Some(from), Some(to), Some(took));
    let expected = [
        ("APPSBL -  Image Load, 500000 bytes", some(1_201, 1_241, 40)),
        ("Image Auth", some(204, 224, 20)),
        ("MODEM Image Load, 9000000 bytes", some(200, 1_200, 1_000)),
        ("boot_flash_init", some(150, 180, 30)),
        // The boot ROM's lengths are all of its time.
        ("bootable_media_detect", some(4, 100, 96)),
        ("pbl_apps_init", some(0, 4, 4)),
        // Nothing tells when this began.
        ("sbl1_hw_init", (None, None, Some(2))),
    ];
    let expected: Vec<_> = expected.map(|(n, (f, t, l))| (n, f, t, l)).into();
    assert_eq!(stages(&record), expected);
    assert_eq!(Serial.sniff(&log), Sniff::Yes);
}

#[test]
fn a_counter_that_begins_anew_is_another_boot() {
    let one =
        "B -       100 - PBL, Start\nB -     90000 - SBL1, Start\nB -    100000 - SBL1, End\n";
    let log = format!("{one}{one}");
    assert_eq!(Serial.boots(log.as_bytes()).len(), 2);
    // Where a kernel stamps its lines, the log is the kernel's.
    let all = format!("{log}U-Boot 2016.01\n[    0.000000] Linux version 4.4\n");
    assert_ne!(Serial.sniff(all.as_bytes()), Sniff::Yes);
    assert_eq!(
        firstlight_sources::sniff(all.as_bytes()).map(Source::name),
        Some("kernel-log")
    );
}

#[test]
fn a_console_tells_when_units_began_and_were_there() {
    let log = "[1.000000 1.000000] U-Boot 2023.01\n\
               [5.000000 4.000000] [    0.500000] Linux version 6.1\n\
               [6.000000 1.000000]          Starting a.service - Thing A...\n\
               [6.500000 0.500000]          Starting Thing B...\n\
               [8.000000 1.500000] [  OK  ] Started a.service - Thing A.\n\
               [9.000000 1.000000] [  OK  ] Finished Thing B.\n";
    let record = read(&Serial, log.as_bytes());
    assert_conserved(&record);
    let spans = record.spans().iter();
    let spans: Vec<_> = spans
        .map(|s| (record.name(s.name), s.duration().unwrap().0 / 1_000_000))
        .collect();
    assert_eq!(spans, [("a.service", 2_000), ("Thing B", 2_500)]);
}

#[test]
fn the_scripts_of_an_initramfs_are_rows() {
    let log = "[1.000000 1.000000] U-Boot 2023.01\n\
               [5.000000 4.000000] [    0.500000] Linux version 6.1\n\
               [6.000000 1.000000] Begin: Loading essential drivers ... done.\n\
               [6.200000 0.200000] Begin: Running /scripts/init-premount ... done.\n\
               [6.500000 0.300000] [    2.000000] usb 1-1: new device\n\
               [6.700000 0.200000] Begin: Mounting root file system ... Begin: Running /scripts/local-top ... done.\n\
               [8.000000 1.300000] Begin: Waiting for root file system ... [    4.000000] sda: sda1\n\
               [8.900000 0.900000] done.\n\
               [9.000000 0.100000] done.\n\
               [9.100000 0.100000] Begin: Running /scripts/init-bottom ... done.\n";
    let record = read(&Serial, log.as_bytes());
    assert_conserved(&record);
    let spans = record.spans().iter();
    let mut spans: Vec<_> = spans
        .map(|s| (record.name(s.name), s.duration().unwrap().0 / 1_000_000))
        .collect();
    spans.sort_unstable();
    // The last one has no line behind it.
    assert_eq!(
        spans,
        [
            ("Loading essential drivers", 200),
            ("Mounting root file system", 2_300),
            ("Running /scripts/init-premount", 300),
            ("Running /scripts/local-top", 1_300),
            ("Waiting for root file system", 900),
        ]
    );
}

#[test]
fn a_users_stage_becomes_a_phase() {
    let own =
        "[[stage]]\nname = \"our bootloader\"\nphase = \"loader\"\ncontains = [\"OURBOOT\"]\n";
    let stages = stages_from_toml(own).unwrap().before(Stages::builtin());
    let source = Serial::with_stages(stages);
    let log = "[0.1 0.1] ** OURBOOT 7 **\n[0.2 0.1] Starting kernel ...\n";
    let record = read(&source, log.as_bytes());
    assert_eq!(
        record.mark("our bootloader").unwrap().begins,
        Some(Phase::Loader)
    );
    assert!(record.mark("loader-finished").is_some());
    assert!(
        read(&Serial, log.as_bytes())
            .mark("our bootloader")
            .is_none()
    );
}

#[test]
fn the_corpus_gives_what_it_gave() {
    check_corpus("serial");
}

/// What each input is known as. `None`: no source may take it.
#[test]
fn every_sample_is_known_for_what_it_is() {
    let mut wrong = Vec::new();
    for folder in [
        "dmesg",
        "serial",
        "systemd",
        "bootchart",
        "blktrace",
        "kft",
        "bootstage",
    ] {
        for name in samples_in(folder) {
            let Some(bytes) = sample(&name) else { return };
            let expected = match folder {
                "dmesg" => Some("kernel-log"),
                "serial" => Some("serial"),
                "systemd" if name.ends_with(".svg") => Some("systemd-plot"),
                "systemd" if name.ends_with(".txt") => Some("systemd-analyze"),
                "bootchart" => Some("bootchart"),
                "blktrace" | "bootstage" | "kft" => Some(folder),
                _ => None,
            };
            let found = firstlight_sources::sniff(&bytes).map(Source::name);
            if found != expected {
                wrong.push((name, found, expected));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_is_no_log_is_nothing() {
    // Numbers without a pattern: a linear congruence, Knuth's constants.
    let mut state = 1_u64;
    let random: Vec<u8> = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    })
    .take(200_000)
    .collect();
    for bytes in [
        &b""[..],
        &[0; 100_000],
        &[b'\n'; 1_000],
        &random,
        b"hello\n",
        b"{\"a\": 1}\n",
        b"<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>\n",
        b"PATH=/bin\nHOME=/root\n",
        b"Hit the road\n",
        b"12:00:01 something happened\n12:00:02 something else\n",
    ] {
        let found = firstlight_sources::sniff(bytes).map(Source::name);
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(20)]);
        assert_eq!(found, None, "{shown:?}");
    }
}

proptest! {
    #[test]
    fn damage_is_counted_and_never_fatal(
        name in prop::sample::select(vec!["board.log", "own.log", "tio.log"]),
        damages in proptest::collection::vec(common::damage(), 0..8),
    ) {
        let path = common::workspace().join("corpus/serial").join(name);
        let mut bytes = std::fs::read(path).unwrap();
        for damage in &damages {
            bytes = damage.apply(&bytes);
        }
        for source in firstlight_sources::SOURCES {
            source.sniff(&bytes);
            assert_conserved(&read(*source, &bytes));
        }
        let mut recorder = record::Recorder::new();
        Serial.read(Input { name, bytes: &bytes }, &mut recorder);
        let record = recorder.finish();
        prop_assert_eq!(record.sources()[0].units, common::lines(&bytes));
    }
}

#[test]
fn every_line_of_a_console_arrives() {
    let log = "# firstlight-serial 1\n\
        1.000000000 1.000500000 U-Boot 2026.01\r\n\
        2.000000000 3.000600000 Probing EDD... ok[    0.000000] Linux version 6.1\r\n\
        3.000700000 3.004000000 [    0.000100] Command line: quiet\r\n";
    let record = read(&Serial, log.as_bytes());
    let lines: Vec<_> = record
        .arrivals()
        .iter()
        .map(|a| (a.first.get(), a.bytes))
        .collect();
    // Behind other output, the kernel's text came with the end of the line.
    let at = |us: i64| (us - 1_000_000) * 1_000;
    assert_eq!(
        lines,
        [
            (at(1_000_000), 16),
            (at(3_000_600), 51),
            (at(3_000_700), 36)
        ]
    );
    let stamps: Vec<_> = record
        .arrivals()
        .iter()
        .map(|a| a.stamped.is_some())
        .collect();
    assert_eq!(stamps, [false, true, true]);
}
