//! What logs of strangers taught: a console that its flush gives away,
//! a processor that crawls, a line without words.
#![allow(clippy::unwrap_used, reason = "tests")]

mod advised;
mod common;

use advised::{found, of, range_ms};
use common::record;
use firstlight_analysis::{SystemFacts, advice, phases};

/// A log of a hundred lines of 96 bytes on the console each, the console after them, and a
/// second of other lines; `before` and `after` are the seconds around the line of the console.
fn flush(cmdline: &str, before: f64, after: f64) -> String {
    let mut text = format!("source dmesg.txt kernel-log\nclock printk printk\n{cmdline}");
    text += "mark 0s kernel-start kernel\n";
    let words = "x".repeat(75);
    for line in 0..100 {
        text += &format!("say {}ms 6 l{line:03}{words}\n", 100 + line);
    }
    let enabled = 0.2 + before;
    text += &format!("say {enabled}s 6 printk: console [ttyS0] enabled\n");
    let next = enabled + after;
    for line in 0..100 {
        let at = next + 0.1 * f64::from(line);
        text += &format!("say {at}s 6 m{line:03}{words}\n");
    }
    text
}

#[test]
fn the_flush_of_a_console_tells_its_rate() {
    // 9,600 bytes in 10 s are 9,600 baud, whatever the command line leaves out.
    let text = flush(
        "fact kernel.cmdline root=/dev/sda console=ttyS0\n",
        10.0,
        0.01,
    );
    let all = found(&text);
    let console = of(&all, "console-output").unwrap();
    let (low, expected, high) = range_ms(console);
    // 200 lines, each a tenth of a second.
    assert!((9_500..=10_100).contains(&low), "{low}");
    assert!((19_500..=20_200).contains(&expected), "{expected}");
    assert!((19_500..=20_200).contains(&high), "{high}");
    assert!(console.why.contains("9600 baud"), "{}", console.why);
    // The flush itself is no silence whose cause nobody knows.
    assert!(of(&all, "kernel-silence").is_none());
}

#[test]
fn a_flush_behind_the_line_of_its_console_shows_a_console_without_a_word() {
    let text = flush("", 0.001, 0.833);
    let all = found(&text);
    let console = of(&all, "console-output").unwrap();
    assert!(console.why.contains("115200 baud"), "{}", console.why);
    assert!(of(&all, "kernel-silence").is_none());
    // A silence that fits no rate is what it was.
    let all = found(&flush("", 0.001, 3.1));
    assert!(of(&all, "console-output").is_none());
    assert!(of(&all, "kernel-silence").is_some());
}

#[test]
fn an_unpacking_that_crawls_is_the_processors() {
    let text = |end: &str| {
        format!(
            "source dmesg.txt kernel-log\nclock printk printk\nmark 0s kernel-start kernel\n\
             say 6s 6 Trying to unpack rootfs image as initramfs...\n\
             say {end} 6 Freeing initrd memory: 5600K\n"
        )
    };
    let all = found(&text("26s"));
    assert_eq!(
        range_ms(of(&all, "initramfs-unpacking").unwrap()),
        (10_000, 18_000, 19_600)
    );
    let all = found(&text("8s"));
    assert_eq!(range_ms(of(&all, "initramfs-unpacking").unwrap()).0, 0);
}

#[test]
fn a_line_without_words_names_nothing() {
    let all = found(
        "source dmesg.txt kernel-log\nclock printk printk\nmark 0s kernel-start kernel\n\
         say 1s 6 xenbus: waiting for devices\nsay 31s 6  \nsay 31.002s 6 xenbus: timed out\n",
    );
    let silence = of(&all, "kernel-silence").unwrap();
    assert!(
        silence.title.contains("`xenbus: timed out`"),
        "{}",
        silence.title
    );
}

#[test]
fn a_console_saves_no_more_than_the_stamps_leave_room_for() {
    // A hundred lines of a hundred bytes need 0.87 s at 115,200 baud. They come in half a
    // second, and the log is silent for as long as the console may still write.
    let words = "x".repeat(83);
    let log = |idle: &str| {
        let mut text = "source dmesg.txt kernel-log\nclock printk printk\n\
             fact kernel.cmdline console=ttyS0,115200\nmark 0s kernel-start kernel\n"
            .to_owned();
        for line in 0..100 {
            text += &format!("say {}ms 6 {words}\n", 5 * (line + 1));
        }
        text + &format!("say {idle} 6 done\n")
    };
    let (_, expected, high) = range_ms(of(&found(&log("0.6s")), "console-output").unwrap());
    assert!((585..=605).contains(&expected), "{expected}");
    assert_eq!(expected, high);
    let (_, expected, _) = range_ms(of(&found(&log("9s")), "console-output").unwrap());
    assert!((860..=880).contains(&expected), "{expected}");
}

#[test]
fn probes_beside_one_another_are_not_one_after_another() {
    let of_probes = |spans: &str| {
        let text = format!(
            "source dmesg.txt kernel-log\nclock printk printk\nmark 0s kernel-start kernel\n\
             {spans}say 1.4s 6 Run /init as init process\nmark 1.4s first-userspace userspace\n\
             mark 2s first-light -\n"
        );
        let all = found(&text).into_iter();
        all.filter(|f| f.id == "long-probes").collect::<Vec<_>>()
    };
    let beside = of_probes(
        "span probe 0.2696s 0.6164s 1c00000.pcie\nspan probe 0.2697s 1.3459s 1c10000.pcie\n",
    );
    assert_eq!(beside.len(), 1, "{beside:?}");
    assert_eq!(beside[0].names, ["1c10000.pcie"]);
    assert_eq!(range_ms(&beside[0]), (215, 914, 1_076));
    let after =
        of_probes("span probe 0.1s 0.4s 1c00000.pcie\nspan probe 0.4s 1.3459s 1c10000.pcie\n");
    assert!(
        after[0].title.contains("one after another"),
        "{}",
        after[0].title
    );
}

#[test]
fn an_initrd_of_which_a_log_says_nothing_is_told() {
    let text = |within: &str| {
        format!(
            "source dmesg.txt kernel-log\nclock printk printk\nmark 0s kernel-start kernel\n\
             say 0.5s 6 clk: Disabling unused clocks\nmark 0.754s init-run initrd\n\
             say 0.754s 6 Run /init as init process\n{within}\
             mark 2.003s systemd-start userspace\n\
             say 2.003s 6 systemd[1]: System time advanced\nmark 3s first-light -\n"
        )
    };
    let all = found(&text(""));
    let phase = of(&all, "opaque-phase").unwrap();
    assert_eq!(phase.names, ["initrd"]);
    assert_eq!(range_ms(phase), (124, 562, 1_224));
    assert!(of(&found(&text("say 1.2s 6 sda: found\n")), "opaque-phase").is_none());
}

#[test]
fn an_initramfs_that_waits_in_a_log_without_an_end_is_told() {
    let text = |program: &str| {
        format!(
            "source dmesg.txt kernel-log\nclock printk printk\nmark 0s kernel-start kernel\n\
             mark 2s first-userspace userspace\nsay 2s 6 systemd[1]: Started the hook.\n\
             say 3s 6 {program}[273]: Starting\nsay 150s 4 {program}[273]: Warning: timeout\n"
        )
    };
    let all = found(&text("dracut-initqueue"));
    let silence = all.iter().find(|f| f.names.contains(&"initrd".to_owned()));
    assert_eq!(range_ms(silence.unwrap()), (44_100, 110_250, 147_000));
    // A program behind the boot is idle.
    let all = found(&text("cron"));
    assert!(
        all.iter()
            .all(|f| f.expected < record::Nanos(1_000_000_000))
    );
}

#[test]
fn what_our_own_agent_does_between_its_lines_is_no_finding() {
    let text = |last: &str| {
        let mut text = "source dmesg.txt kernel-log\nclock printk printk\n".to_owned();
        text += "mark 0s kernel-start kernel\n";
        for line in 0..20 {
            text += &format!("say {}ms 6 l{line:03}\n", 100 + line);
        }
        text += "mark 1s initrd-start initrd\nsay 1s 6 Run /init as init process\n";
        text += "say 1001ms 6 firstlight: mark initrd-start\nsay 1100ms 6 nd_pmem: loaded\n";
        text += &format!("say 2600ms 6 {last}\nmark 2700ms userspace-start userspace\n");
        text + "say 3s 6 end\n"
    };
    let of_stretch = |last: &str| {
        let all = found(&text(last));
        let silent = all.iter().filter(|f| f.id.ends_with("-silence"));
        silent.filter(|f| f.title.contains(last)).count()
    };
    assert_eq!(of_stretch("firstlight: mark userspace-start"), 0);
    // Another's line behind the same silence is a finding.
    assert_eq!(of_stretch("EXT4-fs (sda1): mounted"), 1);
}

#[test]
fn a_flush_of_a_log_without_a_start_is_told_although_its_rate_is_unknown() {
    // The mark and the line have one origin in a log.
    let found_in = |name: &str, gap: &str| {
        let mut rec = record::Recorder::new();
        let source = rec.source("dmesg.txt", "kernel-log");
        let clock = rec.clock("printk", record::ClockKind::Printk, 1_000);
        let at = |offset| record::Origin { source, offset };
        let ns: i64 = gap.parse::<i64>().unwrap() * 1_000_000;
        rec.mark(
            clock,
            record::mark::KERNEL_CLOCK_START,
            0,
            Some(record::Phase::Kernel),
            at(0),
        );
        rec.message(
            clock,
            Some(2_200_000_000),
            Some(6),
            "soc:serial: a port",
            at(10),
        );
        let line = format!("printk: console [{name}] enabled");
        rec.message(clock, Some(ns), Some(6), &line, at(20));
        rec.mark(clock, record::mark::CONSOLE_ENABLED, ns, None, at(20));
        rec.message(clock, Some(ns + 5_000_000), Some(6), "power: ready", at(30));
        let record = rec.finish();
        advice(&record, &phases(&record), &SystemFacts::default()).findings
    };
    let all = found_in("ttyS0", "3700");
    let console = of(&all, "console-output").unwrap();
    assert_eq!(range_ms(console), (750, 1_425, 1_500));
    assert_eq!(console.treatment.as_deref(), Some("cmdline+=quiet"));
    assert!(of(&found_in("tty0", "3700"), "console-output").is_none());
    // The initcall of the console is no line.
    let all = found(
        "source dmesg.txt kernel-log\nclock printk printk\nmark 0s kernel-clock-start kernel\n\
         say 190ms 6 a line\nspan initcall 200ms 1600ms univ8250_console_init+0x0/0x2b\n\
         say 1500ms 6 printk: console [ttyS0] enabled\nsay 1700ms 6 next\n",
    );
    assert_eq!(
        range_ms(of(&all, "console-output").unwrap()),
        (650, 1_235, 1_300)
    );
    assert!(of(&found_in("ttyS0", "2300"), "console-output").is_none());
}

#[test]
fn a_disk_that_does_not_answer_has_a_word_of_the_command_line() {
    let all = found(
        "source dmesg.txt kernel-log\nclock printk printk\nmark 0s kernel-start kernel\n\
         say 1s 6 ata3: SATA link up 6.0 Gbps\n\
         say 16s 4 ata3.01: qc timeout after 15000 msecs (cmd 0x47)\n\
         say 16.1s 6 ata3.01: configured for UDMA/133\n",
    );
    let silence = of(&all, "kernel-silence").unwrap();
    assert_eq!(
        silence.treatment.as_deref(),
        Some("cmdline+=libata.force=3.01:nodmalog")
    );
}

#[test]
fn a_whole_timeout_of_firmware_is_the_firmwares() {
    let range = |end: &str| {
        let all = found(&format!(
            "source dmesg.txt kernel-log\nclock printk printk\nmark 0s kernel-start kernel\n\
             say 8s 4 wifi 1: Falling back to sysfs fallback for: a/b.bin\n\
             say {end} 6 wifi 1: using none\n"
        ));
        range_ms(of(&all, "missing-hardware").unwrap())
    };
    assert_eq!(range("69s"), (24_400, 51_850, 61_000));
    assert_eq!(range("18s"), (0, 5_000, 10_000));
}

/// Since 4.18 the kernel says it in other words.
#[test]
fn each_wait_for_a_program_that_brings_firmware_is_told_once() {
    let all = found(
        "source dmesg.txt kernel-log\nclock printk printk\nmark 0s kernel-start kernel\n\
         say 4s 4 wifi 1: Direct firmware load for a-2.bin failed with error -2\n\
         say 4s 4 wifi 1: Falling back to user helper\n\
         say 65s 4 wifi 1: Direct firmware load for a-1.bin failed with error -2\n\
         say 65s 4 wifi 1: Falling back to user helper\n\
         say 125s 6 wifi 1: loaded version 0\n",
    );
    let firmware = of(&all, "missing-hardware").unwrap();
    assert_eq!(range_ms(firmware), (48_400, 102_850, 121_000));
    assert!(
        firmware.title.contains("(2 messages in the log)"),
        "{}",
        firmware.title
    );
    let fallback = Some("config=CONFIG_FW_LOADER_USER_HELPER_FALLBACK=n");
    assert_eq!(firmware.treatment.as_deref(), fallback);
    assert!(of(&all, "kernel-silence").is_none(), "{all:?}");
}

#[test]
fn a_silence_of_a_minute_is_no_wait_for_firmware_by_its_length_alone() {
    let why = |before: &str, after: &str| {
        let all = found(&format!(
            "source dmesg.txt kernel-log\nclock printk printk\nmark 0s kernel-start kernel\n\
             say 4s 6 {before}\nsay 64.5s 6 {after}\nsay 65s 6 the end\n"
        ));
        of(&all, "kernel-silence").unwrap().why.clone()
    };
    let is_firmware = |why: String| why.contains("firmware file");
    assert!(!is_firmware(why(
        "usb 1-1: new device",
        "md0: detected capacity"
    )));
    assert!(is_firmware(why(
        "usb 1-1: new device",
        "wifi: loaded firmware version 1"
    )));
}

#[test]
fn a_silence_that_ends_a_scan_is_told_once() {
    let all = found(
        "source dmesg.txt kernel-log\nclock printk printk\nmark 0s kernel-start kernel\n\
         say 2s 5 ubi0: attaching mtd4\nsay 2.5s 6 usb 1-1: new device\n\
         say 4.5s 5 ubi0: scanning is finished\nsay 4.6s 5 ubi0: attached mtd4\n",
    );
    assert!(of(&all, "ubi-scan").is_some());
    assert!(
        all.iter()
            .all(|f| f.id != "kernel-silence" || !f.title.contains("scanning"))
    );
}

#[test]
fn a_program_that_gives_up_did_not_idle() {
    let log = |words: &str| {
        format!(
            "source journal.txt kernel-log\nclock wall wall\n\
             say 10s 6 udevd[7]: a rule\nsay 118s 6 online[9]: {words}\n"
        )
    };
    let all = found(&log("Event loop failed: Connection timed out"));
    assert_eq!(
        range_ms(of(&all, "program-silence").unwrap()),
        (32_400, 81_000, 108_000)
    );
    assert!(found(&log("hello")).is_empty());
}

#[test]
fn what_takes_longer_than_the_boot_is_not_in_it() {
    let log = |time: &str| {
        format!(
            "source blame.txt systemd-analyze\nclock monotonic monotonic\n\
             mark 0s kernel-start kernel\nmark 5s userspace-start userspace\n\
             mark 45s startup-finished -\nspan unit - - cache.service reported={time}\n\
             span unit - - other.service reported=9s\n"
        )
    };
    let names = |time: &str| -> Vec<String> {
        found(&log(time))
            .into_iter()
            .flat_map(|f| f.names)
            .collect()
    };
    assert!(names("39s").contains(&"cache.service".to_owned()));
    assert!(!names("90s").contains(&"cache.service".to_owned()));
}

#[test]
fn old_kernels_measure_xor_without_a_name_in_the_results() {
    let lines = |call: &str| {
        format!(
            "source dmesg.txt kernel-log\nclock printk printk\nmark 0s kernel-start kernel\n\
             {call}say 100ms 6 xor: measuring software checksum speed\n\
             say 110ms 6 8regs     :  3952.000 MB/sec\nsay 130ms 6 xor: using function: 8regs\n\
             say 200ms 6 next\n"
        )
    };
    let all = found(&lines(""));
    let xor = of(&all, "raid-benchmarks").unwrap();
    assert_eq!(
        (range_ms(xor), xor.treatment.as_deref()),
        ((15, 30, 30), None)
    );
    let all = found(&lines(
        "span initcall 99ms 131ms calibrate_xor_blocks+0x0/0x134\n",
    ));
    assert_eq!(range_ms(of(&all, "raid-benchmarks").unwrap()), (16, 32, 32));
}

#[test]
fn a_probe_of_an_excerpt_without_stamps_is_told() {
    let all = found(
        "source mail.txt kernel-log\nclock printk printk\n\
         span probe - - fe3a0000.usb reported=60ms outcome=1\n\
         span probe - - fe3b0000.usb reported=5ms outcome=1\n",
    );
    let probes: Vec<_> = all.iter().filter(|f| f.id == "long-probes").collect();
    assert_eq!(probes.len(), 1);
    assert_eq!(range_ms(probes[0]), (12, 51, 60));
}

#[test]
fn a_read_of_the_loader_before_a_log_is_told() {
    let all = found(
        "source console.txt kernel-log\nclock printk printk\n\
         say - 6 22567424 bytes read in 35000 ms (629 KiB/s)\nsay - 6 276 bytes read in 7 ms\n\
         mark 0s kernel-start kernel\nsay 1s 6 a line\nmark 4s first-light -\n",
    );
    let read = of(&all, "loader-stages").unwrap();
    assert!(
        read.title.contains("reading 22567424 bytes"),
        "{}",
        read.title
    );
    // At 20 MB/s it takes 1.128 s.
    assert_eq!(range_ms(read), (14_000, 28_000, 33_871));
    assert!(read.why.contains("0.6 MB/s"), "{}", read.why);
    // At 2 MB/s this one takes 2 s of its 40.
    let all = found(
        "source console.txt kernel-log\nclock printk printk\n\
         say - 6 4000000 bytes read in 40000 ms (97.7 KiB/s)\n\
         mark 0s kernel-start kernel\nsay 1s 6 a line\nmark 4s first-light -\n",
    );
    let read = of(&all, "loader-stages").unwrap();
    assert_eq!(range_ms(read), (16_000, 38_000, 39_800));
}

/// A line that says how long a read took explains the silence before it; and behind its last
/// line the loader is silent because it has ended.
#[test]
fn a_silence_of_the_loader_is_a_read_or_the_kernels() {
    let all = found(
        "source console.txt serial\nclock serial wall\n\
         say 0s 6 U-Boot 2024.01\nsay 1s 6 171 bytes read in 11 ms (14.6 KiB/s)\n\
         say 3150ms 6 34558464 bytes read in 2110 ms (15.6 MiB/s)\n\
         say 3200ms 6 Starting kernel ...\n\
         mark 7s kernel-start kernel\nsay 7s 6 Linux version 6.1\nmark 9s first-light -\n",
    );
    let stages: Vec<_> = all.iter().filter(|f| f.id == "loader-stages").collect();
    let titles: Vec<&str> = stages.iter().map(|f| f.title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "The boot loader takes 2.110 s for reading 34558464 bytes",
            "The boot loader writes nothing for 1.000 s after `U-Boot 2024.01`"
        ]
    );
    assert_eq!(range_ms(stages[0]), (211, 1_055, 2_004));
}

/// What a loader timed itself explains the silence in it, and an image that it read has a name.
#[test]
fn an_image_that_the_loader_timed_is_a_read_and_no_silence() {
    let all = found(
        "source loader.log serial\nclock serial counter\nmark 0s power-on firmware\n\
         mark 100ms SBL1 loader\nsay 200ms 6 Modem Image Loaded, Start\n\
         say 210ms 6 Image Auth, Start\nsay 1210ms 6 more\nsay 2210ms 6 done\n\
         span stage 200ms 1200ms Modem~Image~Load,~9000000~bytes reported=1s\n",
    );
    let titles: Vec<&str> = all.iter().map(|f| f.title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "The boot loader writes nothing for 1.000 s after `more`",
            "The boot loader takes 1.000 s for `Modem Image Load`, which reads 9000000 bytes",
        ]
    );
    assert!(all[1].why.contains("9.0 MB/s"), "{}", all[1].why);
}

/// What an early console wrote before the kernel's clock ran is in none of its times.
#[test]
fn an_early_console_writes_before_the_clock_runs() {
    let log = |early: &str| {
        let line = "x".repeat(98);
        let zero: String = (0..20).map(|_| format!("say 0s 6 {line}\n")).collect();
        let later: String = (1..21)
            .map(|i| format!("say {}ms 6 {line}\n", i * 20))
            .collect();
        format!(
            "source log.txt kernel-log\nclock printk printk\nmark 0s kernel-start kernel\n\
             fact kernel.cmdline console=ttyS0,115200\n{early}{zero}{later}\
             mark 420ms first-light -\n"
        )
    };
    let of = |log: &str| {
        let all = found(log);
        let one = all.into_iter().find(|f| f.id == "console-output").unwrap();
        (range_ms(&one), one.why)
    };
    let (late, _) = of(&log(""));
    let (early, why) = of(&log("say 0s 6 bootconsole [early0] enabled\n"));
    // Forty lines take 347 ms without an early console, and 174 ms in the times with one.
    assert!(late.1 > 330 && late.1 < 420, "{late:?}");
    assert!(early.1 > 165 && early.1 < 200, "{early:?}");
    assert!(early.2 > 330, "{early:?}");
    assert!(why.contains("before the kernel's clock runs"), "{why}");
}

#[test]
fn a_device_to_resume_from_that_is_not_there_is_waited_for() {
    let log = |before: &str, at: &str| {
        format!(
            "source console.txt console\nclock serial wall\n\
             say {before} 6 Begin: Running /scripts/local-premount ...\n\
             say {at} 6 Gave up waiting for suspend/resume device\n"
        )
    };
    let all = found(&log("-", "-"));
    let wait = of(&all, "resume-wait").unwrap();
    assert_eq!(range_ms(wait), (15_000, 28_500, 30_000));
    assert_eq!(wait.treatment.as_deref(), Some("cmdline+=noresume"));
    let all = found(&log("3s", "23s"));
    assert_eq!(
        range_ms(of(&all, "resume-wait").unwrap()),
        (10_000, 19_000, 20_000)
    );
}

#[test]
fn two_lines_of_a_mail_have_a_silence() {
    let all = found(
        "source mail.txt kernel-log\nclock printk printk\nmark 0s kernel-clock-start kernel\n\
         say 1.4s - ahci 0000:00:17.0: 6 ports\nsay 6.9s - ata1: SATA link up 6.0 Gbps\n",
    );
    assert_eq!(
        range_ms(of(&all, "kernel-silence").unwrap()),
        (2_750, 4_950, 5_500)
    );
}

#[test]
fn the_longest_parts_of_cloud_init_are_told() {
    let all = found(
        "source cloud-init.log cloud-init\nclock monotonic monotonic\n\
         mark 0s start -\nmark 40s cloud-init-finished -\n\
         span stage 0s 1s cloud-init/init-local\n\
         span stage 2s 5s cloud-init/init-network/config-growpart\n\
         span stage 6s 7.9s cloud-init/init-network/config-ssh\n\
         span stage 8s 34s cloud-init/modules-final/config-package_update_upgrade_install\n",
    );
    let parts: Vec<_> = all.iter().filter(|f| f.id == "cloud-init-part").collect();
    assert_eq!(parts.len(), 3);
    assert_eq!(range_ms(parts[0]), (0, 13_000, 26_000));
    assert!(parts[0].why.contains("package servers"), "{}", parts[0].why);
    assert_eq!(parts[0].names[0], "config-package_update_upgrade_install");
    assert_eq!(range_ms(parts[1]), (600, 2_400, 3_000));
    assert!(!parts[0].on_critical_path);
    // Host keys: which kind takes so long is said.
    assert!(parts[2].why.contains("ssh_genkeytypes"), "{}", parts[2].why);
}

/// A kernel's log of a machine that ran for two hours: its kernel, its initrd, its first
/// program, and a line of a stick that was pulled out.
const HOURS: &str = "source dmesg.txt kernel-log
clock printk printk
mark 0s kernel-start kernel
say 0.5s 6 Trying to unpack rootfs image as initramfs...
say 0.9s 6 Freeing initrd memory: 16616K
say 1s 3 clocksource: Marking clocksource 'tsc' as unstable
mark 1.2s initrd-start initrd
say 1.3s 6 x1-pcie ca400000.pcie: iATU: unroll T, 8 ob, 8 ib
say 2.3s 6 x1-pcie ca400000.pcie: Phy link never came up
mark 3.2s userspace-start userspace
say 7200s 6 usb 1-1: USB disconnect, device number 2
";

#[test]
fn a_machine_that_ran_for_hours_booted_in_seconds() {
    let all = found(HOURS);
    // 0.4 s are nothing of two hours, and much of 3.2 s.
    assert!(of(&all, "initramfs-unpacking").is_some());
    let record = record(HOURS);
    let ids: Vec<_> = firstlight_analysis::findings(&record)
        .iter()
        .map(|f| f.id)
        .collect();
    assert!(ids.contains(&"initramfs-unpacking"), "{ids:?}");
    // One percent of the two seconds behind the kernel, not of two hours.
    let counter = of(&all, "counter-unused").unwrap();
    assert_eq!(range_ms(counter), (0, 20, 100));
}

#[test]
fn a_silence_between_two_lines_of_one_driver_names_it() {
    let all = found(HOURS);
    let silences = all.iter().filter(|f| f.id == "kernel-silence");
    let mut of_driver = silences.filter(|f| f.title.contains("Phy link never came up"));
    let why = &of_driver.next().unwrap().why;
    assert!(why.contains("`x1-pcie ca400000.pcie`"), "{why}");
    // The kernel's own warning takes time to print, and is no wait.
    let trace = "source x kernel-log
clock printk printk
mark 0s kernel-start kernel
say 0.1s 6 a: registered
say 0.2s 4 Modules linked in:
say 2s 4 CR2: 0000000000000038
say 2.1s 6 b: registered
mark 3s userspace-start userspace
";
    assert!(of(&found(trace), "kernel-silence").is_none());
}

/// The line of a clock in between names nothing that was waited for.
#[test]
fn a_stick_with_the_root_is_given_a_second() {
    let text = |words: &str| {
        format!(
            "source dmesg.txt kernel-log
clock printk printk
mark 0s kernel-start kernel
say 0.1s 6 Command line: root=/dev/sda rootwait {words}
say 1s 6 Waiting for root device /dev/sda...
say 1.4s 6 usb-storage 1-1:1.0: USB Mass Storage device detected
say 1.41s 6 scsi host0: usb-storage 1-1:1.0
say 2.2s 6 tsc: Refined TSC clocksource calibration: 999.999 MHz
say 2.4s 6 scsi 0:0:0:0: Direct-Access     QEMU     QEMU HARDDISK
say 2.5s 6 EXT4-fs (sda): mounted filesystem with ordered data mode
mark 2.5s root-mounted
mark 2.6s userspace-start userspace
"
        )
    };
    let all = found(&text(""));
    let f = of(&all, "root-wait").unwrap();
    assert_eq!(range_ms(f), (700, 1_000, 1_500));
    assert_eq!(
        f.treatment.as_deref(),
        Some("cmdline+=usb-storage.delay_use=0")
    );
    assert!(f.evidence.iter().all(|e| !e.text.contains("tsc:")));
    // Asked at once, it is a wait as any other.
    let at_once = text("").replace("say 2.4s 6 scsi 0", "say 1.45s 6 scsi 0");
    assert_eq!(
        range_ms(of(&found(&at_once), "root-wait").unwrap()),
        (0, 750, 1_500)
    );
}

#[test]
fn the_wait_for_the_root_is_told_once() {
    let text = "source dmesg.txt kernel-log
clock printk printk
mark 0s kernel-start kernel
say 0.5s 6 a: registered
say 1s 6 Waiting for root device /dev/mmcblk1p3...
say 1.4s 6 mmcblk1: p1 p2 p3
say 2s 6 EXT4-fs (mmcblk1p3): mounted filesystem with ordered data mode
mark 2s root-mounted
mark 2.1s userspace-start userspace
";
    let all = found(text);
    assert_eq!(range_ms(of(&all, "root-wait").unwrap()), (0, 500, 1_000));
    let titles: Vec<_> = all
        .iter()
        .filter(|f| f.id == "kernel-silence")
        .map(|f| &f.title)
        .collect();
    assert!(
        titles.iter().all(|t| t.contains("Waiting for root")),
        "{titles:?}"
    );
}

/// The ring buffer of a kernel that has run for hours holds nothing of its boot: a mount and a
/// silence in it are of no boot.
#[test]
fn a_log_that_begins_long_after_the_boot_tells_nothing_of_it() {
    let text = |first: &str, more: &str| {
        format!(
            "source dmesg.txt kernel-log\nclock printk printk\n\
             mark 0s kernel-clock-start kernel\n{more}\
             say {first} 6 loop1: detected capacity change from 0 to 131072\n\
             say 26151s 6 EXT4-fs (loop1): mounted filesystem\nmark 26151s root-mounted -\n\
             say 27151s 6 TCP: request_sock_TCP: Possible SYN flooding\n"
        )
    };
    let of = |text: &str| {
        let record = record(text);
        let phases = phases(&record);
        let advice = advice(&record, &phases, &SystemFacts::default());
        let notes = firstlight_analysis::ledger(&record).notes;
        let is_noted = notes.iter().any(|n| n.kind == "no_boot");
        (phases, advice, is_noted)
    };
    let (parts, late, is_noted) = of(&text("26149s", ""));
    assert!(parts.is_over && is_noted && late.is_over);
    assert_eq!(parts.phases, []);
    assert_eq!(parts.milestones, []);
    assert_eq!(late.findings, []);
    // A line within the first minutes, a kernel that frees its memory, and an end are of a boot.
    for (first, more) in [
        ("299s", ""),
        ("26149s", "mark 26150s memory-freed -\n"),
        ("26149s", "mark 27000s startup-finished -\n"),
    ] {
        let (parts, _, is_noted) = of(&text(first, more));
        assert!(!parts.is_over && !is_noted, "{first} {more}");
        assert!(!parts.phases.is_empty());
    }
}

/// A log in which all lines complain is a quiet console's, but who gave up has waited; and the
/// wait before, which was in vain as well, may be of the same cause.
#[test]
fn who_gave_up_has_waited_on_a_quiet_console_too() {
    let all = found(
        "source dmesg.txt kernel-log\nclock printk printk\n\
         mark 0s kernel-clock-start kernel\nsay 4s 3 foo 0000:00:01.0: *ERROR* failed to do that\n\
         say 4.8s 3 foo 0000:00:01.0: *ERROR* no answer (-110)\n\
         say 14.8s 3 foo 0000:00:01.0: *ERROR* this timed out\n\
         say 18s 3 bar: *ERROR* failed to do it\n",
    );
    let silences: Vec<_> = all.iter().filter(|f| f.id == "kernel-silence").collect();
    assert_eq!(silences.len(), 1);
    assert_eq!(range_ms(silences[0]), (5_000, 9_000, 10_800));
    assert!(!silences[0].names.iter().any(|n| n.contains("deferred")));
    assert!(silences[0].names.iter().any(|n| n == "foo"));
}

/// What ends with a mount is init's, from udev's first line to the last mount.
#[test]
fn init_mounts_when_udev_and_fsck_are_done() {
    let all = found(
        "source dmesg.txt kernel-log\nclock printk printk\n\
         mark 0s kernel-start kernel\nsay 0s 5 Linux version 2.6.28\n\
         say 4s 6 udev: starting version 141\nsay 5s 6 input: Keys as /class/input/input3\n\
         say 15s 6 Adding 1000k swap on /dev/sda3.  Priority:-1 extents:1 across:1000k\n\
         say 16s 6 EXT3 FS on sda1, internal journal\nsay 17s 6 loop: module loaded\n",
    );
    let silence = all.iter().find(|f| f.id == "kernel-silence").unwrap();
    assert_eq!(range_ms(silence), (5_000, 9_000, 12_000));
    assert!(silence.why.contains("udevadm settle"), "{}", silence.why);
    assert!(silence.names.iter().any(|n| n == "fsck"));
}

#[test]
fn an_old_calibration_has_no_number_to_pass() {
    let all = found(
        "source dmesg.txt kernel-log\nclock printk printk\n\
         mark 0s kernel-start kernel\nsay 0s 5 Linux version 2.4.20\n\
         say 10ms 6 Calibrating delay loop... 900.00 BogoMIPS\nsay 260ms 6 Memory: 1k\n\
         mark 2s first-light -\n",
    );
    let delay = of(&all, "delay-loop").unwrap();
    assert_eq!(range_ms(delay), (25, 250, 250));
    assert_eq!(delay.treatment, None);
}

/// A device that times out at a multiple of 90 s was waited for again and again; at another
/// moment its job began late.
#[test]
fn a_device_may_time_out_more_than_once() {
    let of_time = |at: &str| {
        let all = found(&format!(
            "source journal.txt kernel-log\nclock realtime wall\n\
             mark 5s userspace-start userspace\n\
             say {at} - systemd[1]: Timed out waiting for device dev-x.device.\n\
             mark 200s startup-finished -\n",
        ));
        let timeout = of(&all, "device-timeout").unwrap();
        (
            range_ms(timeout).2,
            timeout.why.contains("2 times in a row"),
        )
    };
    assert_eq!(of_time("187s"), (180_000, true));
    assert_eq!(of_time("96s"), (90_000, false));
    assert_eq!(of_time("150s"), (90_000, false));
    assert_eq!(of_time("45s"), (40_000, false));
}

#[test]
fn a_device_whose_driver_failed_does_not_come() {
    let log = |driver: &str, more: &str| {
        found(&format!(
            "source dmesg.txt kernel-log\nclock printk printk\nmark 0s kernel-clock-start kernel\n\
             say 1s 4 {driver}: probe of ABCD:00 failed with error -1\n\
             say 2s 6 systemd[1]: Expecting device dev-tpmrm0.device - /dev/tpmrm0...\n{more}",
        ))
    };
    let all = log("tpm_tis", "");
    let device = of(&all, "device-timeout").unwrap();
    assert_eq!(range_ms(device), (0, 81_000, 90_000));
    assert!(device.title.contains("driver failed"), "{}", device.title);
    let all = log("tpm_tis", "mark 32s first-light -\n");
    assert_eq!(range_ms(of(&all, "device-timeout").unwrap()).2, 30_000);
    assert!(of(&log("other", ""), "device-timeout").is_none());
    let came = "say 3s 6 systemd[1]: Found device dev-tpmrm0.device - /dev/tpmrm0.\n";
    assert!(of(&log("tpm_tis", came), "device-timeout").is_none());
}

/// What is short in a boot of a second is long in a guest's of a tenth.
#[test]
fn a_short_silence_counts_in_a_short_boot() {
    let of_length = |light: &str| {
        let all = found(&format!(
            "source dmesg.txt kernel-log\nclock printk printk\nmark 0s kernel-clock-start kernel\n\
             say 60ms 6 foo: a driver\nsay 90ms 6 bar: another driver\n\
             say 99ms 6 x: line\nsay {light} 6 y: line\n",
        ));
        all.iter()
            .any(|f| f.id == "kernel-silence" && f.title.contains("30.0 ms"))
    };
    assert!(of_length("100ms"));
    assert!(!of_length("400ms"));
}

/// What a probe of seconds computes is little: the next one goes on meanwhile, on one processor too.
#[test]
fn long_probes_hardly_compute() {
    let range = |each: u32| {
        let [a, b, end] = [1_000 + each, 1_000 + 2 * each, 1_100 + 2 * each];
        let all = found(&format!(
            "source dmesg.txt kernel-log\nclock printk printk\nmark 0s kernel-start kernel\n\
             say 1ms 6 SLUB: HWalign=64, Order=0-3, MinObjects=0, CPUs=1, Nodes=1\n\
             span probe 1000ms {a}ms 0000:00:01.0 outcome=0\n\
             span probe {a}ms {b}ms 0000:00:02.0 outcome=0\n\
             mark {end}ms first-userspace userspace\nmark {end}ms first-light -\n"
        ));
        range_ms(of(&all, "long-probes").unwrap())
    };
    // Both at once, and 100 ms behind them: of 6,100 ms at least 3,000 stay. A tenth of the first
    // one holds up the second one: 2,800 ms, and 85 % of that.
    assert_eq!(range(3_000), (0, 2_380, 3_100));
    // Of shorter ones it is 30 %: of 700 ms 390 stay.
    assert_eq!(range(300), (0, 263, 400));
}

/// systemd says of a device that never came that its job timed out, too. An excerpt may have
/// that line alone, and how long it lasted since systemd expected the device.
#[test]
fn a_job_that_timed_out_names_its_device() {
    let log = "source journal kernel-log
        say 3s 6 systemd[1]: Expecting device dev-vdb.device - /dev/vdb...
        say 5s 6 systemd[1]: Started a.service.
        say 63s 4 systemd[1]: dev-vdb.device: Job dev-vdb.device/start timed out.
        say 64s 6 systemd[1]: Reached target b.target.
    ";
    let all = found(log);
    let device = of(&all, "device-timeout").unwrap();
    assert_eq!(device.names, ["dev-vdb.device"]);
    assert_eq!(range_ms(device), (30_000, 57_000, 60_000));
}

/// A driver that waits for a device in vain does so for each device, and more than once.
#[test]
fn waits_that_end_with_the_same_words_are_one_finding() {
    let log = "source dmesg.txt kernel-log\nclock printk printk\n\
        mark 0s kernel-start kernel\nsay 1s 6 probing\n\
        say 6s 3 foo1: no answer (0x10)\nsay 11.2s 3 foo1: no answer (0x11)\n\
        say 16s 3 foo2: no answer (0x10)\nsay 16.1s 6 sd 0:0:0:0: [sda] disk\n\
        say 19s 3 foo3: no answer (0x10)\nsay 27s 6 NET: Registered protocol family 2\n";
    let all = found(log);
    let waits = all.iter().filter(|f| f.id == "kernel-silence");
    let waits: Vec<_> = waits.collect();
    let titles: Vec<&str> = waits.iter().map(|f| f.title.as_str()).collect();
    assert!(
        titles[0].contains("waits 3 times, 15.000 s in total"),
        "{titles:?}"
    );
    assert_eq!(range_ms(waits[0]), (7_500, 13_500, 15_000));
    for device in ["foo1", "foo2"] {
        assert!(waits[0].names.iter().any(|n| n == device), "{device}");
    }
    // One that is much shorter is another wait, and so is one that ends otherwise.
    assert_eq!(titles.len(), 3, "{titles:?}");
}

/// A driver has more than one word for a device that does not answer.
#[test]
fn waits_that_end_with_complaints_of_one_device_are_one_finding() {
    let all = found(
        "source dmesg.txt kernel-log\nclock printk printk\n\
         mark 0s kernel-start kernel\nsay 1s 6 disk3: found\n\
         say 6s 4 disk3: slow to respond, please wait\nsay 16s 3 disk3: reset failed\n\
         say 46s 3 disk3: no answer, timed out\nsay 46.1s 6 disk4: found\n\
         say 52s 3 disk4: reset failed\nsay 53s 6 NET: Registered protocol family 2\n",
    );
    let waits = all.iter().filter(|f| f.id == "kernel-silence");
    let titles: Vec<&str> = waits.map(|f| f.title.as_str()).collect();
    assert!(
        titles[0].contains("waits 3 times, 45.000 s in total"),
        "{titles:?}"
    );
    assert!(
        titles[1].contains("before `disk4: reset failed`"),
        "{titles:?}"
    );
}
