//! What filesystems and requests tell of the storage.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::record;
use firstlight_analysis::{
    Directory, Filesystem, Finding, ImageFact, ImageKind, Place, SystemFacts, advice, phases,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

const BOOT: &str = "mark 0s kernel-start kernel
    mark 1s userspace-start userspace
    mark 2s startup-finished -\n";

fn image(what: ImageKind) -> ImageFact {
    let place = Place {
        source: "image".to_owned(),
        offset: 0,
    };
    ImageFact { place, what }
}

fn found_with(text: &str, images: Vec<ImageFact>) -> Vec<Finding> {
    let record = record(&format!("{BOOT}{text}"));
    let system = SystemFacts {
        images,
        ..SystemFacts::default()
    };
    advice(&record, &phases(&record), &system).findings
}

fn one(text: &str, images: Vec<ImageFact>, id: &str) -> Option<Finding> {
    found_with(text, images).into_iter().find(|f| f.id == id)
}

/// A device that takes 1 ms for a command and 100 MB/s: ten small reads far apart, then
/// a stream of 128 KiB each, asked `kept` microseconds before the device gets it.
fn reads(kept: u64, windows: u64, apart: u64) -> String {
    let mut text = String::new();
    let (mut at, mut sector) = (1_000_000_u64, 0_u64);
    let mut read = |bytes: u64, sector: u64| {
        let took = 1_000 + bytes / 100;
        text.push_str(&format!(
            "request read {sector} {bytes} {}us {at}us {}us\n",
            at - kept,
            at + took
        ));
        at += took + kept;
    };
    for n in 0..10 {
        read(4_096, 1_000_000 + n * 10_000);
    }
    for _ in 0..windows {
        read(131_072, sector);
        sector += 256 + apart;
    }
    text
}

#[test]
fn small_reads_far_apart_are_worth_a_list() {
    // 400 reads of 4 KiB and ten of 128 KiB: 1 ms each beside 30 ms for 2.9 MB at 100
    // MB/s, within 600 ms.
    let text = |pause: u64| {
        let each = (0..400_u64).map(|n| {
            let at = 1_000_000 + n * pause;
            format!(
                "request read {} 4096 {at}us {at}us {}us\n",
                n * 99_999 % 1_000_000,
                at + 1_041
            )
        });
        let small: String = each.collect();
        let large = (0..10_u64).map(|n| {
            let at = 1_000_000 + 400 * pause + n * 2_400;
            let sector = 2_000_000 + n * 9_999;
            format!(
                "request read {sector} 131072 {at}us {at}us {}us\n",
                at + 2_311
            )
        });
        small + &large.collect::<String>()
    };
    let f = one(&text(1_500), Vec::new(), "small-reads").unwrap();
    let busy = 400 * 1_041 + 10 * 2_311;
    let stream = (400 * 4_096 + 10 * 131_072) / 100;
    let us = f.expected.0 / 1_000;
    // 90 million instructions at the 500 million a second that are assumed.
    // Half of the device's time, as nobody recorded who ran.
    let wanted = busy / 2 - stream / 4 - 180_000;
    assert!((us - wanted).abs() < 1_000, "{us} {wanted}");
    assert!(f.expected <= f.saving.unwrap().1);
    assert!(f.why.contains("410 reads"), "{}", f.why);
    // Where it is known who ran, the time in which nobody did is what was waited for: here
    // of each small read all but its first 541 us.
    let ran: String = (0..400_u64)
        .map(|n| {
            let at = 1_000_000 + n * 1_500;
            format!("slice 9 running {at}us {}us\n", at + 541)
        })
        .collect();
    let f = one(&(text(1_500) + &ran), Vec::new(), "small-reads").unwrap();
    let us = f.expected.0 / 1_000;
    let wanted = 400 * 500 + 10 * 2_311 - stream / 4 - 180_000;
    assert!((us - wanted).abs() < 1_000, "{us} {wanted}");
    // Who computes all the while waits for nothing.
    let all = "slice 9 running 1000000us 1700000us\n";
    assert!(one(&(text(1_500) + all), Vec::new(), "small-reads").is_none());
    // Few of them are not worth it.
    let few: String = text(1_500)
        .lines()
        .take(100)
        .map(|l| format!("{l}\n"))
        .collect();
    assert!(one(&few, Vec::new(), "small-reads").is_none());
}

#[test]
fn a_stream_in_small_steps_is_read_ahead_too_little() {
    let f = one(&reads(0, 100, 0), Vec::new(), "read-ahead").unwrap();
    // 99 commands go on, of which 75 are spared, each 1 ms.
    let (low, high) = f.saving.unwrap();
    assert_eq!((low.0, (high.0 + 500_000) / 1_000_000), (0, 75));
    assert_eq!(f.expected, high);
    assert!(f.why.contains("131072 bytes"), "{}", f.why);
    // Only the root's disk has a name.
    assert_eq!(f.treatment, None);
    let of_root = format!("{}fact root.device /dev/sda2\n", reads(0, 100, 0));
    let f = one(&of_root, Vec::new(), "read-ahead").unwrap();
    assert_eq!(f.treatment.as_deref(), Some("read-ahead=sda:512"));
    // Who computes for 2 ms between two reads does not wait for the device.
    assert!(one(&reads(2_000, 100, 0), Vec::new(), "read-ahead").is_none());
    // What lies apart is no stream; and of few reads nothing is known.
    assert!(one(&reads(0, 100, 8), Vec::new(), "read-ahead").is_none());
    assert!(one(&reads(0, 4, 0), Vec::new(), "read-ahead").is_none());
}

#[test]
fn pieces_of_one_read_are_no_steps_of_reading_ahead() {
    // Of each two commands the second was queued when the first one was: the device's
    // limit cut one read of 256 KiB.
    let mut text = reads(0, 0, 0);
    let each = 1_000 + 1_311;
    for n in 0..50_u64 {
        let at = 1_100_000 + n * (2 * each + 5_000);
        for piece in 0..2 {
            let from = at + piece * each;
            text.push_str(&format!(
                "request read {} 131072 {at}us {from}us {}us\n",
                n * 1_024 + piece * 256,
                from + each
            ));
        }
    }
    assert!(one(&text, Vec::new(), "read-ahead").is_none());
}

#[test]
fn a_read_with_an_error_and_a_freak_tell_nothing_of_the_device() {
    let plain = one(&reads(0, 100, 0), Vec::new(), "read-ahead").unwrap();
    let odd = "request read 900000 131072 1.9s 1.9s 1900001us";
    let failed = format!("{odd} error=-5\n").repeat(50);
    for lines in [failed, format!("{odd}\n")] {
        let text = format!("{}{lines}", reads(0, 100, 0));
        let f = one(&text, Vec::new(), "read-ahead").unwrap();
        assert_eq!(f.expected, plain.expected, "{lines}");
    }
}

#[test]
fn reads_that_are_kept_while_the_device_rests_are_told() {
    // Forty of 240 reads are kept for 2 ms; all others are handed on in 10 us.
    let text = |kept: u64| {
        let each = (0..240_u64).map(|n| {
            let at = 900_000 + n * 4_000;
            let wait = if n % 6 == 0 { kept } else { 10 };
            format!(
                "request read {} 4096 {}us {at}us {}us device=179:0\n",
                n * 99,
                at - wait,
                at + 1_000
            )
        });
        each.collect::<String>()
    };
    let f = one(&text(2_000), Vec::new(), "io-scheduler").unwrap();
    assert_eq!(f.saving.unwrap().1.0 / 1_000, 40 * 1_990);
    // No scheduler has brought it back yet.
    assert_eq!(f.expected, record::Nanos::ZERO);
    assert!(one(&text(10), Vec::new(), "io-scheduler").is_none());
    // While the device works on another one, waiting is no loss.
    let busy = "request write 0 512 800ms 800ms 2s device=179:0\n";
    let busy = format!("{}{busy}", text(2_000));
    assert!(one(&busy, Vec::new(), "io-scheduler").is_none());
    // Jitter is none; and a disk may turn, unless something says that it does not.
    assert!(one(&text(900), Vec::new(), "io-scheduler").is_none());
    for disk in ["8:0", "254:0", "259:0"] {
        let text = text(2_000).replace("179:0", disk);
        assert!(one(&text, Vec::new(), "io-scheduler").is_none(), "{disk}");
    }
    let nvme = text(2_000).replace("179:0", "259:0");
    let nvme = format!("{nvme}say 300ms 6 nvme nvme0: pci function 0000:00:03.0\n");
    assert!(one(&nvme, Vec::new(), "io-scheduler").is_some());
}

fn directory(path: &str, bytes: u64, names: u64) -> Directory {
    Directory {
        path: path.to_owned(),
        bytes,
        names,
    }
}

fn ext(features: &[&str], change: impl FnOnce(&mut Filesystem)) -> Vec<ImageFact> {
    let mut fs = Filesystem {
        filesystem: "ext4".to_owned(),
        features: features.iter().map(|f| (*f).to_owned()).collect(),
        used: 13_107_200,
        ..Filesystem::default()
    };
    change(&mut fs);
    vec![image(ImageKind::Filesystem(fs))]
}

#[test]
fn lists_of_blocks_cost_two_commands_each() {
    let images = || ext(&[], |f| f.indirect_blocks = 40);
    // All of the 13 MB are read.
    let f = one(&reads(0, 100, 0), images(), "ext-indirect-blocks").unwrap();
    let ms = f.expected.0 / 1_000_000;
    assert!((80..=82).contains(&ms), "{ms}");
    assert!(f.evidence[0].text.contains("40 mapping blocks"));
    assert!(f.why.contains("if the root is on it"), "{}", f.why);
    assert!(one("", images(), "ext-indirect-blocks").is_none());
    assert!(
        one(
            &reads(0, 100, 0),
            ext(&["extent"], |_| ()),
            "ext-indirect-blocks"
        )
        .is_none()
    );
}

#[test]
fn a_directory_without_an_index_costs_what_is_looked_up_in_it() {
    let images = || {
        ext(&[], |f| {
            f.unindexed = vec![directory("/var/spool", 2_000_000, 83_000)]
        })
    };
    let id = "directory-index";
    let quiet = one("", images(), id).unwrap();
    assert_eq!(quiet.saving, None);
    let opens: String = (0..50)
        .map(|n| format!("open 1500ms /var/spool/{n}\n"))
        .collect();
    let f = one(&opens, images(), id).unwrap();
    // 83,000 names, 20 instructions each at 500 MIPS, half of them, fifty times.
    let ms = f.expected.0 / 1_000_000;
    assert_eq!(ms, 83);
    // A speed that nothing tells may be far off.
    assert_eq!(f.saving.unwrap().0.0, 0);
    assert!(f.why.contains("500 million instructions"), "{}", f.why);
    let measured = format!("{opens}say 1ms 6 Calibrating delay loop... 250.00 BogoMIPS (lpj=1)\n");
    let measured = one(&measured, images(), id).unwrap();
    assert!(measured.expected.0 / 1_000_000 == 166);
    assert!(measured.saving.unwrap().0.0 > 0 && !measured.why.contains("assumed"));
    // What is opened again is known, and what lies below is looked for there.
    let again: String = (0..50)
        .map(|n| {
            format!(
                "open 1500ms /var/spool/{0}/{n}\nopen 1500ms /var/spool/{0}\n",
                n % 5
            )
        })
        .collect();
    let again = one(&again, images(), id).unwrap();
    assert!(again.why.contains("5 names were"), "{}", again.why);
    assert!(again.expected.0 * 9 < f.expected.0);
    let elsewhere = "open 1500ms /var/spooler/a\n".repeat(50);
    assert_eq!(one(&elsewhere, images(), id).unwrap().saving, None);
    assert!(one(&opens, ext(&["dir_index"], |_| ()), id).is_none());
    // No directory is larger than what is in use, and of many the largest are told.
    let many = ext(&[], |f| {
        f.used = 90_000;
        f.unindexed = (0..9_u64)
            .map(|n| directory(&format!("/{n}"), 70_000 + n * 10_000, 2_000))
            .collect();
    });
    let told = found_with("", many);
    let told: Vec<_> = told.iter().filter(|f| f.id == id).collect();
    assert_eq!(told.len(), 3);
    assert!(
        told.iter()
            .all(|f| f.evidence[0].text.contains("90000 bytes"))
    );
}

#[test]
fn a_journal_on_a_card_is_told_with_what_is_lost_without() {
    let commits: String = (0..20)
        .map(|n| {
            format!(
                "request write 8 4096 {0}ms {0}ms {1}ms\n",
                1_000 + n * 20,
                1_010 + n * 20
            )
        })
        .collect();
    let id = "journal-on-flash";
    let of = |root: &str, device: &str| {
        let commits = commits.replace('\n', &format!(" device={device}\n"));
        format!("fact root.device {root}\nfact root.filesystem ext4\n{commits}")
    };
    let card = of("/dev/mmcblk0p2", "179:0");
    let f = one(&card, Vec::new(), id).unwrap();
    assert_eq!(f.saving.unwrap().1.0 / 1_000_000, 200);
    assert!(f.cost.contains("power failure"));
    let disk = of("/dev/sda2", "8:0");
    assert!(one(&disk, Vec::new(), id).is_none());
    let stick = |name: &str| {
        format!("{disk}say 500ms 5 sd 0:0:0:0: [{name}] Attached SCSI removable disk\n")
    };
    assert!(one(&stick("sda"), Vec::new(), id).is_some());
    // A stick beside the root is not the root; what another device writes is not the root's;
    // and an error is no commit.
    for other in ["sdb", "sdaa", "", "x"] {
        assert!(one(&stick(other), Vec::new(), id).is_none(), "{other}");
    }
    assert!(one(&of("/dev/mmcblk0p2", "8:0"), Vec::new(), id).is_none());
    let beside = format!("{card}request write 8 4096 1.5s 1.5s 1.7s device=8:0\n");
    let beside = one(&beside, Vec::new(), id).unwrap();
    assert_eq!(beside.saving, f.saving);
    let failed = card.replace("device=", "error=-5 device=");
    assert!(one(&failed, Vec::new(), id).is_none());
    let plain = card.replace("ext4", "ext2");
    assert!(one(&plain, Vec::new(), id).is_none());
    assert!(one(&plain, ext(&["has_journal"], |_| ()), id).is_some());
    // The image decides, whatever it is mounted as.
    assert!(one(&card, ext(&["extent"], |_| ()), id).is_none());
}

#[test]
fn a_root_that_is_read_unpacked_from_a_slow_device_could_be_packed() {
    // 13 MB at 2 MB/s.
    let slow: String = (0..100)
        .map(|n| {
            let at = 1_000_000 + n * 9_000;
            format!(
                "request read {} 131072 {at}us {at}us {}us\n",
                n * 256,
                at + 8_500
            )
        })
        .chain((0..10).map(|n| format!("request read {} 4096 {n}ms {n}ms {n}900us\n", n * 9_999)))
        .collect();
    let on = |kind: &str, reads: &str| format!("fact root.filesystem {kind}\n{reads}");
    let f = one(&on("ext4", &slow), Vec::new(), "root-unpacked").unwrap();
    assert!(f.title.contains("uncompressed"), "{}", f.title);
    assert!(f.expected.0 > 100_000_000, "{}", f.expected);
    assert!(f.why.contains("if the root is on it"), "{}", f.why);
    assert!(one(&on("squashfs", &slow), Vec::new(), "root-unpacked").is_none());
    // Where the root's name maps to a device, that one counts, and writes until first light.
    let write = "request write 9 4096 1.5s 1.5s 1.6s\nrequest write 9 4096 2.5s 2.5s 2.6s\n";
    let named = |root: &str| format!("fact root.device {root}\n{}{write}", on("ext4", &slow));
    let f = one(&named("/dev/sda2"), Vec::new(), "root-unpacked").unwrap();
    assert!(!f.why.contains("if the root is on it"), "{}", f.why);
    assert!(f.why.contains("wrote 4096 bytes until"), "{}", f.why);
    let beside = format!(
        "{}request read 0 4096 1s 1s 1.1s device=8:16\n",
        named("/dev/sdb2")
    );
    assert!(one(&beside, Vec::new(), "root-unpacked").is_none());
    assert!(one(&on("ext4", ""), Vec::new(), "root-unpacked").is_none());
    assert!(one(&slow, Vec::new(), "root-unpacked").is_none());
}

#[test]
fn modules_that_nobody_loads_are_unpacked_for_nothing() {
    let unpacking = "say 200ms 6 Trying to unpack rootfs image as initramfs...\n\
        say 600ms 6 Freeing initrd memory: 30000K\n";
    let archive = |unused: u64| {
        let modules: BTreeMap<String, u64> = [("ext4", 1 << 20), ("xfs", unused), ("nbd", 50_000)]
            .map(|(name, bytes)| (name.to_owned(), bytes))
            .into();
        vec![image(ImageKind::InitramfsModules {
            modules,
            unpacked: 40 << 20,
        })]
    };
    let id = "initramfs-unused-modules";
    let list = "fact module.ext4 983040\nfact module.nbd 61440\n";
    let f = one(&format!("{list}{unpacking}"), archive(20 << 20), id).unwrap();
    // Half of 400 ms.
    assert_eq!(f.expected.0 / 1_000_000, 200);
    assert!(f.evidence[0].text.contains("xfs"), "{}", f.evidence[0].text);
    assert_eq!(f.treatment, None);
    assert!(
        f.evidence[0]
            .text
            .ends_with("1 of them (20971520 bytes) is not loaded: xfs")
    );
    assert!(f.why.contains("refer to this time"), "{}", f.why);
    // 200 ms of the unpacking are left for another packing, and its finding says so.
    let text = format!("{list}{unpacking}");
    let rest = one(&text, archive(20 << 20), "initramfs-unpacking").unwrap();
    assert!(rest.saving.unwrap().1.0 <= 200_000_000);
    assert!(rest.why.contains("refer to this time"), "{}", rest.why);
    let whole = one(unpacking, archive(20 << 20), "initramfs-unpacking").unwrap();
    assert!(whole.saving.unwrap().1.0 > 300_000_000);
    // By the model gzip takes longer than it took: what was measured is the most.
    let packed = |ms: u64| {
        let text = unpacking.replace("600ms", &format!("{}ms", 200 + ms));
        let mut images = archive(20 << 20);
        images.push(image(ImageKind::Initramfs {
            compression: "xz".to_owned(),
            packed: 8 << 20,
            unpacked: 40 << 20,
            entries: 9,
        }));
        found_with(&text, images)
            .into_iter()
            .find(|f| f.id == "initramfs-compression")
            .unwrap()
    };
    for ms in [100, 400] {
        let f = packed(ms);
        assert!(f.saving.unwrap().1.0 <= i64::try_from(ms).unwrap() * 1_000_000);
        assert!(f.why.contains("refer to this time"), "{}", f.why);
    }
    // All are loaded; few are not; and without a list nobody knows.
    let all = format!("{list}fact module.xfs 1\n{unpacking}");
    assert!(one(&all, archive(20 << 20), id).is_none());
    assert!(one(&format!("{list}{unpacking}"), archive(9_000), id).is_none());
    assert!(one(unpacking, archive(20 << 20), id).is_none());
    // Without its lines there is no figure.
    assert_eq!(one(list, archive(20 << 20), id).unwrap().saving, None);
}

#[test]
fn options_of_what_is_mounted_on_a_device_are_told() {
    let id = "mount-options";
    let f = one(
        "fact mount./data ext4 /dev/sda3 rw,sync,relatime\n",
        Vec::new(),
        id,
    )
    .unwrap();
    // No fstab was seen that has it.
    assert_eq!(f.treatment, None);
    // A short interval of commits is one, the usual and a long one are none.
    let short = "fact mount./data ext4 /dev/sda3 rw,commit=1\n";
    let f = one(short, Vec::new(), id).unwrap();
    assert!(f.title.contains("`commit=1`"), "{}", f.title);
    // One device, mounted twice.
    let twice = "fact mount./data ext4 /dev/sda3 rw,sync\nfact mount./srv ext4 /dev/sda3 rw,sync\n";
    let of = found_with(twice, Vec::new());
    assert_eq!(of.iter().filter(|f| f.id == id).count(), 1);
    assert!(f.evidence[0].text.contains("/dev/sda3 on /data"));
    for silent in [
        "fact mount./data ext4 /dev/sda3 rw,relatime\n",
        "fact mount./run tmpfs tmpfs rw,sync\n",
        "fact mount./data ext4 /dev/sda3 ro,sync\n",
        "fact mount./data ext4 /dev/sda3 rw,commit=5\n",
        "fact mount./data ext4 /dev/sda3 rw,commit=0\n",
        "fact mount./data xfs /dev/sda3 rw,commit=1\n",
        "fact mount./data btrfs /dev/sda3 rw,commit=30\n",
        "fact mount./data f2fs /dev/sda3 rw,discard\n",
        "fact mount./snap squashfs /dev/loop0 rw,sync\n",
        "fact mount./data ext4\n",
        "fact mount. \n",
    ] {
        assert!(one(silent, Vec::new(), id).is_none(), "{silent}");
    }
}

proptest! {
    /// Whatever stands in an image or a trace: ranges stay in order, and nothing stops.
    #[test]
    fn hostile_figures_keep_the_ranges_in_order(
        used: u64, blocks: u64, bytes: u64, unpacked: u64, sector: u64, size: u64,
        at in 0..2_000_000_u64, took in 0..5_000_000_u64,
    ) {
        let mut images = ext(&["has_journal"], |f| {
            f.used = used;
            f.indirect_blocks = blocks;
            f.unindexed = vec![directory("/x", bytes, used)];
        });
        images.push(image(ImageKind::Cramfs { packed: bytes, in_place: used }));
        images.push(image(ImageKind::InitramfsModules {
            modules: [("a".to_owned(), bytes), ("b".to_owned(), used)].into(),
            unpacked,
        }));
        let text = format!(
            "{}request read {sector} {size} 0us {at}us {}us\nopen 1ms /x/y\n\
             fact module.ext4 1\nfact root.device /dev/mmcblk0\nfact root.filesystem ext4\n\
             say 100ms 5 physmap-flash 0.flash: physmap platform flash device: [mem 0x0-0x1]\n\
             process 7 app 1ms - command=/bin/app\n\
             request read 1 {bytes} 1ms {at}us {took}us pid=7\n\
             say 200ms 6 Unpacking initramfs...\nsay 600ms 6 Freeing initrd memory: 3K\n",
            reads(at % 100, 30, 0),
            at + took
        );
        for f in found_with(&text, images) {
            if let Some((low, high)) = f.saving {
                prop_assert!(low.0 >= 0 && low <= f.expected && f.expected <= high, "{f:?}");
            }
        }
    }
}

#[test]
fn a_search_for_partitions_is_found_by_whose_reads_they_are() {
    let text = |task: &str| {
        format!(
            "request read 1024 4096 1000000us 1000000us 1018000us task={task}\n\
             request read 2048 4096 1020000us 1020000us 1040000us task={task}\n"
        )
    };
    let found = one(&text("systemd-gpt-aut"), Vec::new(), "partition-search").unwrap();
    // The 38 ms that the device took: systemd waits for its generators.
    assert_eq!(found.expected, record::Nanos::from_millis(38));
    // Its program is longer than a page, and what lies around the pages as well.
    let longer = "request read 9 65536 900000us 900000us 950000us task=systemd-gpt-aut\n\
                  request read 1032 65536 1040000us 1040000us 1050000us task=systemd-gpt-aut\n\
                  mark 900ms generators-start -\nmark 1070ms generators-finish -\n";
    let whole = one(
        &(text("systemd-gpt-aut") + longer),
        Vec::new(),
        "partition-search",
    )
    .unwrap();
    assert_eq!(whole.expected, record::Nanos::from_millis(48));
    // At most what all generators take.
    assert_eq!(whole.saving.unwrap().1, record::Nanos::from_millis(170));
    assert_eq!(
        found.treatment.as_deref(),
        Some("cmdline+=systemd.gpt_auto=no")
    );
    assert_eq!(
        one(&text("systemd-udevd"), Vec::new(), "partition-search"),
        None
    );
}
