//! What a kernel, its modules, a loader or an initramfs does while a log says nothing, and that
//! no finding saves more than the time that it looked at.
#![allow(clippy::unwrap_used, reason = "tests")]

mod advised;
mod common;

use advised::{found, ms, one};

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
