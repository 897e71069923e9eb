//! Each finding is found where its cause is, and nowhere else.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::record;
use firstlight_analysis::{Advice, Finding, SystemFacts, advice, phases};

fn advised(text: &str, system: &SystemFacts) -> Advice {
    let record = record(text);
    advice(&record, &phases(&record), system)
}

fn found(text: &str) -> Vec<Finding> {
    advised(text, &SystemFacts::default()).findings
}

fn ids(text: &str) -> Vec<&'static str> {
    found(text).iter().map(|f| f.id).collect()
}

const BOOT: &str = "mark 0s kernel-start kernel
    mark 4s userspace-start userspace
    mark 10s startup-finished -
    fact kernel.cmdline root=/dev/mmcblk0p2 rootwait CMDLINE\n";

/// A cause, the finding that it must give, its treatment, and the milliseconds
/// that it is expected to save, from and to.
type Planted = (&'static str, &'static str, Option<&'static str>, (i64, i64));

const PLANTED: [Planted; 51] = [
    (
        "rootdelay=5",
        "root-delay",
        Some("cmdline-=rootdelay=5"),
        (4_900, 5_000),
    ),
    (
        "x\nsay 1s 6 Waiting for root device /dev/mmcblk0p2...\nmark 3s root-mounted -",
        "root-wait",
        None,
        (900, 1_100),
    ),
    (
        "x\nsay 1s 3 VFS: Can't find ext4 filesystem\nsay 1.1s 3 cramfs: wrong magic\n\
         say 1.3s 6 VFS: Mounted root (squashfs filesystem) readonly on device 31:2.",
        "root-fstype",
        Some("cmdline+=rootfstype=squashfs"),
        (150, 300),
    ),
    (
        "udev.log_level=debug",
        "debug-words",
        Some("cmdline-=udev.log_level=debug"),
        (100, 300),
    ),
    (
        "x\nsay 1s 6 Calibrating delay loop... 996.14 BogoMIPS (lpj=4980736)\nsay 1.2s 6 pid_max: 32768",
        "delay-loop",
        Some("cmdline+=lpj=4980736"),
        (100, 200),
    ),
    (
        "ip=dhcp\nsay 1s 6 Sending DHCP requests ., OK\nsay 3.1s 6 IP-Config: Complete:",
        "network-autoconfig",
        Some("cmdline-=ip=dhcp"),
        (2_000, 2_100),
    ),
    (
        "x\nsay 5s 4 random: systemd: uninitialized urandom read (16 bytes read)\nsay 5.1s 6 a\n\
         say 7.1s 5 random: crng init done",
        "random-wait",
        Some("cmdline+=random.trust_cpu=on"),
        (1_000, 2_000),
    ),
    (
        "x\nsay 2s 6 EXT4-fs (mmcblk0p2): recovery required on readonly filesystem\n\
         say 2.5s 6 EXT4-fs (mmcblk0p2): recovery complete",
        "journal-replay",
        None,
        (400, 500),
    ),
    (
        "x\nsay 2s 6 ubi0: attaching mtd2\nsay 3s 6 ubi0: scanning is finished",
        "ubi-scan",
        Some("ubi-fastmap=on"),
        (700, 900),
    ),
    (
        "x\nsay 1s 6 a\nsay 4s 6 VFS: Mounted root (jffs2 filesystem) on device 31:3.",
        "jffs2-mount",
        Some("jffs2=summaries"),
        (2_000, 2_200),
    ),
    (
        "x\nsay 2s 6 raid6: sse2x1 gen() 1000 MB/s\nsay 2.4s 6 raid6: avx2x4 gen() 9000 MB/s",
        "raid-benchmarks",
        Some("config=CONFIG_RAID6_PQ_BENCHMARK=n"),
        (400, 400),
    ),
    (
        "x\nsay 1s 6 Trying to unpack rootfs image as initramfs...\n\
         say 2s 6 Freeing initrd memory: 34000K",
        "initramfs-unpacking",
        Some("initramfs=lz4"),
        (700, 720),
    ),
    (
        "x\nsay 1s 6 usb 1-1: new high-speed USB device\n\
         say 6.2s 3 usb 1-1: device descriptor read/64, error -110",
        "missing-hardware",
        None,
        (2_000, 3_000),
    ),
    (
        "x\nsay 1s 6 Lock dependency validator: Copyright (c) 2006 Red Hat",
        "debug-kernel",
        Some("config=CONFIG_PROVE_LOCKING=n"),
        // 77 % of the 4 s in which this kernel waits for no clock.
        (3_080, 3_080),
    ),
    (
        "x\nsay 1s 6 one thing\nsay 3s 6 another thing",
        "kernel-silence",
        None,
        (1_800, 1_800),
    ),
    (
        "x\nspan initcall 1s 1.4s foo_init+0x0/0x10 outcome=-19",
        "absent-devices",
        Some("cmdline+=initcall_blacklist=foo_init"),
        (390, 400),
    ),
    (
        "x\nspan initcall 1s 1.4s foo_init+0x0/0x10 outcome=0",
        "long-initcalls",
        None,
        (300, 330),
    ),
    (
        "x\nspan initcall 1s 1.35s isapnp_init outcome=0",
        "hardware-polls",
        Some("cmdline+=noisapnp"),
        (330, 350),
    ),
    (
        "x\nspan initcall 1s 1.4s crypto_algapi_init",
        "crypto-self-tests",
        Some("cmdline+=cryptomgr.notests"),
        (400, 400),
    ),
    (
        "x\nspan initcall 1s 1.2s load_system_certificate_list",
        "built-in-certificates",
        Some("cmdline+=initcall_blacklist=load_system_certificate_list"),
        (95, 100),
    ),
    (
        "cryptomgr.notests\nspan initcall 1s 1.2s load_system_certificate_list",
        "built-in-certificates",
        Some("cmdline+=initcall_blacklist=load_system_certificate_list"),
        (190, 200),
    ),
    (
        "x\nsay 1s 6 Mountpoint-cache hash table entries: 1024\n\
         say 1.109s 6 smpboot: CPU0: AMD QEMU Virtual CPU version 2.5+",
        "apic-timer",
        Some("cmdline+=nolapic_timer"),
        (109, 109),
    ),
    (
        "x\nsay 1s 6 Freeing unused kernel image (rodata/data gap) memory: 1108K\n\
         say 1.13s 6 x86/mm: Checked W+X mappings: passed, no W+X pages found.",
        "mapping-check",
        Some("cmdline+=rodata=off"),
        (130, 130),
    ),
    (
        "x\nsay 1s 6 ..TIMER: vector=0x30 apic1=0 pin1=2 apic2=-1 pin2=-1\n\
         say 1.04s 6 clocksource: tsc-early: mask: 0xffffffffffffffff",
        "timer-check",
        Some("cmdline+=no_timer_check"),
        (40, 40),
    ),
    (
        "x\nsay 1s 6 software IO TLB: area num 1.\nsay 1.1s 6 Memory: 207548K/523764K available",
        "bounce-buffers",
        Some("cmdline+=swiotlb=noforce"),
        (85, 90),
    ),
    (
        "slub_debug=FZPU",
        "debug-words",
        Some("cmdline-=slub_debug=FZPU"),
        (4_900, 5_100),
    ),
    (
        "x\nspan initcall 1s 1.3s init_kprobe_trace",
        "instrumentation",
        Some("cmdline+=initcall_blacklist=trace_eval_init"),
        (290, 300),
    ),
    (
        "x\nspan probe 1s 1.3s 3f300000.mmc outcome=0",
        "long-probes",
        None,
        (100, 300),
    ),
    (
        "x\nspan probe 1s 1.1s dev outcome=-517",
        "deferred-probes",
        None,
        (100, 100),
    ),
    (
        "x\nspan initcall 1s 1.04s init_btrfs_fs outcome=0",
        "unused-parts",
        Some("config=CONFIG_BTRFS_FS=m"),
        (35, 40),
    ),
    (
        "x\nspan unit 2s 8.207s udev-settle.service",
        "waiting-unit",
        Some("mask=udev-settle.service"),
        (3_000, 6_207),
    ),
    (
        "x\nspan unit 5s 9s NetworkManager-wait-online.service",
        "waiting-unit",
        Some("mask=NetworkManager-wait-online.service"),
        (1_000, 4_000),
    ),
    (
        "x\nspan unit 5s 6s apt-daily.service",
        "spare-unit",
        Some("mask=apt-daily.service"),
        (250, 1_000),
    ),
    (
        "x\nspan unit 5s 6s ldconfig.service",
        "rebuilt-at-boot",
        Some("mask=ldconfig.service"),
        (250, 1_000),
    ),
    (
        "x\nspan unit 5s 6s snapd.service",
        "optional-unit",
        Some("mask=snapd.service"),
        (250, 1_000),
    ),
    (
        "x\nspan unit 5s 6s systemd-fsck-root.service",
        "fsck-at-boot",
        Some("cmdline+=fsck.mode=skip"),
        (250, 1_000),
    ),
    (
        "x\nspan unit 5s 6s systemd-journal-flush.service",
        "journal-flush",
        Some("journald=volatile"),
        (250, 1_000),
    ),
    (
        "x\nmark 4.1s generators-start -\nmark 4.9s generators-finish -",
        "generators",
        None,
        (800, 800),
    ),
    (
        "x\nmark 4.1s systemd-started -\n\
         say 9s 3 systemd[1]: dev-sdb1.device: Timed out waiting for device dev-sdb1.device.",
        "device-timeout",
        None,
        (4_000, 5_000),
    ),
    (
        "x\nspan unit 8s 8.1s psplash-start.service",
        "splash-late",
        None,
        (0, 0),
    ),
    (
        "x\nsay 1s 6 ata1: SATA max UDMA/133\nsay 1.6s 6 ata1: SATA link down (SStatus 0)",
        "empty-ports",
        None,
        (380, 390),
    ),
    (
        "x\nsay 0.9s 6 ahci 0000:00:1f.2: AHCI 0001.0000 32 slots 6 ports\n\
         say 1s 6 ata1: SATA max UDMA/133\nsay 1.6s 6 ata1: SATA link down (SStatus 0)",
        "empty-ports",
        Some("cmdline+=initcall_blacklist=ahci_pci_driver_init"),
        (380, 390),
    ),
    (
        "x\nsay 0.9s 6 ahci f7e90000.sata: AHCI 0001.0000 32 slots 1 ports\n\
         say 1s 6 ata1: SATA max UDMA/133\nsay 1.6s 6 ata1: SATA link down (SStatus 0)",
        "empty-ports",
        None,
        (380, 390),
    ),
    (
        "x\nsay 0.9s 6 ahci 0000:00:1f.2: AHCI 0001.0000 32 slots 6 ports\n\
         say 1s 6 ata1: SATA max UDMA/133\nsay 1.1s 6 ata2: SATA link up 6.0 Gbps\n\
         say 1.6s 6 ata1: SATA link down (SStatus 0)",
        "empty-ports",
        None,
        (380, 390),
    ),
    (
        "x\nsay 1s 3 clocksource: Marking clocksource 'tsc' as unstable",
        "counter-unused",
        Some("cmdline+=tsc=reliable"),
        (50, 70),
    ),
    (
        "x\nsay 1s 6 EXT4-fs (sda1): mounting ext3 file system using the ext4 subsystem",
        "ext-indirect-blocks",
        None,
        (0, 0),
    ),
    (
        "x\nsay 1s 4 FAT-fs (sda1): Volume was not properly unmounted.",
        "unclean-filesystem",
        None,
        (0, 0),
    ),
    (
        "x\nsay 1s 4 EXT4-fs (sda1): warning: mounting fs with errors, running e2fsck is recommended",
        "unclean-filesystem",
        Some("ext=clean"),
        (0, 0),
    ),
    (
        "ro\nsay 1s 5 XFS (sda1): Starting recovery (logdev: internal)\n\
         say 1.5s 5 XFS (sda1): Ending recovery (logdev: internal)\nmark 1.6s root-mounted -",
        "journal-replay",
        Some("cmdline+=rootflags=norecovery"),
        (400, 500),
    ),
    (
        "x\nfact latency.tracer irqsoff\nfact latency.us 252014\n\
         fact latency.started ide_probe_port\nfact latency.ended ide_probe_port",
        "interrupts-off",
        None,
        (0, 0),
    ),
    (
        "console=ttyS0,9600\nsay 1s 6 a line of some length that is written to it",
        "console-speed",
        None,
        (0, 200),
    ),
];

#[test]
fn each_cause_is_found_with_its_figure_and_treatment() {
    for (cause, id, treatment, (from, to)) in PLANTED {
        let (words, rest) = cause.split_once('\n').unwrap_or((cause, ""));
        let text = format!("{}{rest}\n", BOOT.replace("CMDLINE", words));
        let all = found(&text);
        let Some(f) = all.iter().find(|f| f.id == id) else {
            // Too small to be told in a boot of ten seconds.
            assert_eq!(from, 0, "{id} is not among {:?}", ids(&text));
            continue;
        };
        assert_eq!(f.treatment.as_deref(), treatment, "{id}");
        let ms = f.expected.0 / 1_000_000;
        assert!(from <= ms && ms <= to, "{id}: {ms} ms");
        assert!(!f.evidence.is_empty(), "{id}");
        let (low, high) = f.saving.unwrap_or_default();
        assert!(low <= f.expected && f.expected <= high, "{id}");
    }
}

const CLEAN: [&str; 11] = [
    // A console with `quiet`: it was silent, and the kernel was not.
    "mark 0s kernel-start kernel\nmark 5s startup-finished -\nsay 1ms - CPU0: Spectre v2: system vulnerable\nsay 4s - board: ready",
    "mark 0s kernel-start kernel\nmark 1s userspace-start userspace\nmark 2s startup-finished -",
    "mark 0s kernel-start kernel\nmark 1s startup-finished -\nfact kernel.cmdline root=/dev/vda quiet",
    "mark 0s kernel-start kernel\nmark 2s startup-finished -\nfact kernel.cmdline console=ttyS0,115200 quiet\nsay 100ms 6 a\nsay 200ms 6 b",
    "mark 0s kernel-start kernel\nmark 2s startup-finished -\nspan initcall 1s 1.001s a_init\nspan initcall 1.1s 1.102s b_init",
    "mark 0s kernel-start kernel\nmark 1s userspace-start userspace\nmark 3s startup-finished -\nspan unit 1s 1.5s dbus.service\nspan unit 1.5s 2s ssh.service",
    "mark 0s kernel-start kernel\nmark 2s startup-finished -\nsay 100ms 6 Calibrating delay loop (skipped), value calculated using timer frequency.. 48.00 BogoMIPS (lpj=24000)\nsay 101ms 6 x",
    "mark 0s kernel-start kernel\nmark 2s startup-finished -\nsay 100ms 6 EXT4-fs (vda1): mounted filesystem with ordered data mode\nsay 110ms 6 VFS: Mounted root (ext4 filesystem) readonly on device 254:1.",
    "mark 0s kernel-start kernel\nmark 2s startup-finished -\nsay 100ms 6 ubi0: attaching mtd2\nsay 120ms 6 ubi0: attached by fastmap\nsay 130ms 6 ubi0: scanning is finished",
    "mark 0s kernel-start kernel\nmark 2s startup-finished -\nsay 1s 5 random: crng init done",
    "source a.log serial\nclock host wall\nmark 0s power-on firmware\nmark 100ms U-Boot loader\nmark 300ms kernel-start kernel\nmark 2s startup-finished -\nsay 120ms - Hit any key to stop autoboot:  0\nsay 121ms - ## Booting kernel from Legacy Image at 80007fc0 ...\nsay 122ms -    Load Address: 80008000\nsay 125ms -    XIP Kernel Image (no copy)\nsay 126ms - Starting kernel ...",
];

#[test]
fn clean_boots_give_nothing() {
    for text in CLEAN {
        assert_eq!(ids(text), Vec::<&str>::new(), "{text}");
    }
}

const LOADER: &str = "source board.log serial
    clock host wall
    mark 0s U-Boot~SPL loader
    mark 200ms U-Boot loader
    mark 8s kernel-start kernel
    mark 12s startup-finished -\n";

/// The board of Opdenacker's talk (Embedded Linux Conference, 2014): its stamps say 523 ms
/// for the checksum and 864 ms for the copy, far more than any model of a processor.
#[test]
fn the_stamps_of_a_slow_loader_count_in_full() {
    let text = "source console.log serial
        clock host wall
        mark 0s U-Boot loader
        mark 19s kernel-start kernel
        mark 25s startup-finished -
        say 16590578us - ## Booting kernel from Legacy Image at 21000000 ...
        say 16597986us -    Image Type:   ARM Linux Kernel Image (uncompressed)
        say 16602881us -    Data Size:    3464112 Bytes = 3.3 MiB
        say 16606542us -    Load Address: 20008000
        say 16611256us -    Verifying Checksum ... OK
        say 17134317us - ## Flattened Device Tree blob at 22000000
        say 17141707us -    Loading Kernel Image ... OK
        say 18005814us -    Loading Device Tree to 2bb12000, end 2bb1a0b6 ... OK\n";
    let all = found(text);
    for (id, stamps, title) in [
        (
            "loader-checksums",
            523_061_000,
            "checksums 1 image in 523.1 ms",
        ),
        (
            "moved-kernel",
            864_107_000,
            "copies the kernel for 864.1 ms",
        ),
    ] {
        let f = all.iter().find(|f| f.id == id).unwrap();
        assert_eq!(f.saving.unwrap().1.0, stamps, "{id}");
        assert!(f.expected.0 > stamps / 100 * 97, "{id}");
        assert!(f.title.contains(title), "{}", f.title);
    }
}

#[test]
fn a_loader_tells_what_it_waits_for() {
    let lines = "say 300ms - WARNING: Caches not enabled
        say 400ms - Hit any key to stop autoboot:  0
        say 3.4s - starting USB...
        say 5s - reading partition
        say 6s - 8388608 bytes read in 1000 ms (8 MiB/s)
        say 6.1s - ## Booting kernel from Legacy Image at 82000000 ...
        say 6.11s -    Image Type:   ARM Linux Kernel Image (uncompressed)
        say 6.12s -    Data Size:    3145728 Bytes = 3 MiB
        say 6.13s -    Load Address: 80008000
        say 6.14s -    Verifying Checksum ... OK
        say 6.2s -    Loading Kernel Image
        say 6.4s - Starting kernel ...\n";
    let text = format!("{LOADER}{lines}");
    let all = found(&text);
    for (id, from, to) in [
        ("boot-countdown", 2_900, 3_000),
        ("loader-caches", 3_000, 5_000),
        ("loader-probes", 1_500, 1_600),
        ("loader-whole-partition", 550, 650),
        ("loader-checksums", 40, 60),
        ("moved-kernel", 100, 200),
        ("falcon-mode", 3_799, 3_801),
    ] {
        let f = all.iter().find(|f| f.id == id);
        let f = f.unwrap_or_else(|| panic!("{id} is not in {:?}", ids(&text)));
        let ms = f.expected.0 / 1_000_000;
        assert!(from <= ms && ms <= to, "{id}: {ms} ms");
        assert!(f.on_critical_path, "{id}");
    }
    // A signed image is checked for a reason.
    let signed = text.replace(
        "Verifying Checksum",
        "Verifying Hash Integrity ... sha256,rsa2048:dev+",
    );
    assert!(!ids(&signed).contains(&"loader-checksums"));
    // Where there is flash and no memory, the copy is the loading.
    let memory = "say 8.1s 6   node   0: [mem 0x0000000080000000-0x000000009fffffff]\n";
    assert!(ids(&format!("{text}{memory}")).contains(&"moved-kernel"));
    let flash = text.replace("Image at 82000000", "Image at 04080000");
    assert!(!ids(&format!("{flash}{memory}")).contains(&"moved-kernel"));
    assert!(ids(&flash).contains(&"moved-kernel"));
}

/// A network interface takes until the next line, and where there is none, nothing does.
#[test]
fn a_loader_s_network_is_timed() {
    let probes = |net: &str| {
        let lines = format!("say 1s - Net:   {net}\nsay 1.4s - eth0: e1000#0\n");
        let all = found(&format!("{LOADER}{lines}"));
        let found = all.into_iter().find(|f| f.id == "loader-probes");
        found.map(|f| f.expected.0 / 1_000_000)
    };
    assert_eq!(probes("e1000: 52:54:00:12:34:56"), Some(380));
    assert_eq!(probes("No ethernet found."), None);
}

/// A loader's command begins before its first line, and ends behind the line that ends its wait.
#[test]
fn a_loader_s_search_for_usb_reaches_over_its_lines() {
    let lines = "say 1s - Err:   serial\nsay 1.02s - starting USB...\n\
                 say 1.03s - Bus usb@1: USB EHCI 1.00\n\
                 say 1.05s - scanning bus usb@1 for devices... 1 USB Device(s) found\n\
                 say 2.03s - scanning usb for storage devices... 0 Storage Device(s) found\n\
                 say 2.04s - eth0: e1000#0\nsay 2.07s - ## Booting kernel\n";
    let all = found(&format!("{LOADER}{lines}"));
    let one = all.into_iter().find(|f| f.id == "loader-probes").unwrap();
    let (low, high) = one.saving.unwrap();
    let ms = [low, one.expected, high].map(|t| t.0 / 1_000_000);
    // 1,020 ms behind the four lines, 20 before them and 30 behind the next one.
    assert_eq!(ms, [510, 969, 1_070]);
}

/// What falcon mode saves, by what the loader's lines say of the loading: at least,
/// expected and at most, in milliseconds.
#[test]
fn falcon_mode_leaves_the_loading() {
    let falcon = |lines: &str| {
        let spl = "say 50ms - Trying to boot from MMC1";
        let all = found(&format!("{LOADER}{spl}\n{lines}\n"));
        let found = all.into_iter().find(|f| f.id == "falcon-mode");
        let ms = |t: record::Nanos| t.0 / 1_000_000;
        found.map(|f| {
            let (low, high) = f.saving.unwrap();
            (ms(low), ms(f.expected), ms(high))
        })
    };
    // U-Boot proper takes 7.8 s, and SPL needs 150 ms to read it.
    for (lines, saved) in [
        // Files, with the time that U-Boot printed. The reading itself is not counted twice.
        (
            "say 1s - reading zImage\nsay 2s - 4308200 bytes read in 900 ms (4.6 MiB/s)\n\
             say 2.1s - 30000 bytes read in 100 ms (293 KiB/s)",
            (5_800, 6_800, 6_950),
        ),
        // Raw reads, by the stamps.
        (
            "say 1s - NAND read: device 0 offset 0x200000, size 0x400000\n\
             say 3s -  4194304 bytes read: OK",
            (3_800, 5_800, 5_950),
        ),
        (
            "say 1s - MMC read: dev # 0, block # 2048, count 8192 ... 8192 blocks read: OK\n\
             say 1.5s - ## Booting kernel from Legacy Image at 82000000 ...",
            (6_800, 7_300, 7_450),
        ),
        // A kernel that U-Boot decompresses, which SPL would have to do.
        (
            "say 1s - NAND read: device 0 offset 0x200000, size 0x400000\n\
             say 2s -  4194304 bytes read: OK\nsay 3s -    Uncompressing Kernel Image\n\
             say 5s - Starting kernel ...",
            (1_800, 4_800, 4_950),
        ),
        // From flash that the processor reads, the copy is the loading.
        (
            "say 1s -    Loading Kernel Image\nsay 1.5s - Starting kernel ...",
            (6_800, 7_300, 7_450),
        ),
        // A wait for a key goes without falcon mode.
        (
            "say 1s - Hit any key to stop autoboot:  0\n\
             say 3s - NAND read: device 0 offset 0x200000, size 0x400000\n\
             say 4s -  4194304 bytes read: OK",
            (3_800, 4_800, 4_950),
        ),
        // Nothing tells of the loading: 16 MiB less 64 bytes at 20 MB/s, or nothing saved.
        (
            "say 1s -    Data Size:    16777152 Bytes = 16 MiB",
            (0, 6_961, 7_111),
        ),
    ] {
        assert_eq!(falcon(lines), Some(saved), "{lines}");
    }
    // Another first stage, and another second one.
    for (first, second) in [("AT91Bootstrap", "U-Boot"), ("AT91Bootstrap", "barebox")] {
        let stages = LOADER
            .replace("U-Boot~SPL", first)
            .replace("U-Boot", second);
        let all = found(&format!("{stages}say 1s - x\n"));
        let found = all.iter().find(|f| f.id == "falcon-mode").unwrap();
        let title = format!("{first} could start the kernel directly, without 7.381 s of {second}");
        assert_eq!(found.title, title);
    }
    // The loading is all that U-Boot does.
    let all = "say 210ms - NAND read: device 0 offset 0x0, size 0x400000\n\
        say 7.95s -  4194304 bytes read: OK";
    assert_eq!(falcon(all), None);
    // Stages of its own instead of lines.
    let stages = "source bootstage bootstage
        clock host wall
        mark 100ms spl loader
        mark 300ms board_init_f loader
        mark 1s main_loop loader
        mark 3s bootm_start loader
        mark 4s kernel-start kernel
        mark 12s startup-finished -\n";
    let all = found(stages);
    let staged = all.iter().find(|f| f.id == "falcon-mode").unwrap();
    assert_eq!(staged.expected.0 / 1_000_000, 1_700);
}

/// Two scripts sleep at once, a third sleeps in the background until the end, and
/// what watches the boot sleeps too.
#[test]
fn sleeps_count_once_and_only_where_something_waits() {
    let mut text = format!("clock boot monotonic\n{BOOT}").replace("CMDLINE", "x");
    text += "process 20 sh 4s 9s parent=1\nprocess 21 sleep 4s 6s parent=20\n\
             process 30 sh 4s 9s parent=1\nprocess 31 sleep 5s 7s parent=30\n\
             process 40 sh 4s - parent=1\nprocess 50 bootchartd 4s - parent=1\n";
    for n in 0..6 {
        text += &format!("process {} sleep {}s {}s parent=40\n", 60 + n, 4 + n, 5 + n);
        text += &format!("process {} sleep {}s {}s parent=50\n", 70 + n, 4 + n, 5 + n);
    }
    let all = found(&text);
    let [sleeps] = all.as_slice() else {
        panic!("{all:?}");
    };
    assert_eq!(sleeps.id, "sleeping-programs");
    assert_eq!(sleeps.title, "Scripts sleep 3.000 s before first light");
}

#[test]
fn the_silent_ones_say_why() {
    let advice = advised(&BOOT.replace("CMDLINE", ""), &SystemFacts::default());
    assert_eq!(advice.findings, []);
    assert_eq!(advice.silent.len(), firstlight_analysis::CATALOGUE.len());
    assert!(advice.silent.iter().all(|s| !s.why.is_empty()));
}
