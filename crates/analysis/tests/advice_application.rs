//! What an application reads and is relocated for, and where it is executed.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::record;
use firstlight_analysis::{
    Dynamic, Finding, ImageFact, ImageKind, Library, Place, RootTree, SystemFacts, advice, phases,
};
use record::Nanos;

const BOOT: &str = "mark 0s kernel-start kernel
    mark 1s userspace-start userspace
    mark 3s startup-finished -\n";

fn found(text: &str, system: &SystemFacts, id: &str) -> Vec<Finding> {
    let record = record(&format!("{BOOT}{text}"));
    let advice = advice(&record, &phases(&record), system);
    let one = advice.findings.into_iter().filter(|f| f.id == id);
    let one: Vec<Finding> = one.collect();
    // Who finds nothing says why.
    assert_ne!(one.is_empty(), advice.silent.iter().all(|s| s.id != id));
    one
}

fn none() -> SystemFacts {
    SystemFacts::default()
}

/// 40 reads of 64 KiB by process `pid`, 4 ms each and one after the other from `from` ms
/// on.
fn reads(pid: u32, from: u64) -> String {
    let each = (0..40_u64).map(|n| {
        let at = from + 4 * n;
        let sector = n * 10_000;
        format!(
            "request read {sector} 65536 {at}ms {at}ms {}ms pid={pid}\n",
            at + 4
        )
    });
    each.collect()
}

#[test]
fn an_application_that_reads_late_is_told_with_what_it_waits() {
    let text = format!(
        "process 1 init 900ms - parent=0\nprocess 7 app 2s - parent=1\n\
         process 8 cat 2001ms 2900ms parent=7\n{}{}",
        // A child of the application reads, and an init that is no part of it.
        reads(8, 2_010),
        reads(1, 1_100)
    );
    let all = found(&text, &none(), "application-reads");
    let f = all.first().unwrap();
    assert!(f.title.starts_with("app waits 160"), "{}", f.title);
    assert!(f.why.contains("40 reads (2621440 bytes)"), "{}", f.why);
    // The device rested for longer than the bytes take; what is left out is the work of
    // 2.5 MiB of 20, of 90 million instructions at 500 million a second.
    let wanted = 160_000_000 - 180_000_000 / 8;
    assert!((f.expected.0 - wanted).abs() < 1_000, "{}", f.expected);
    let saving = f.saving.unwrap();
    assert_eq!(saving.1, Nanos::from_millis(160));
    assert_eq!(f.evidence.len(), 2);
}

#[test]
fn where_nobody_is_the_application_or_the_device_was_busy_nothing_is_told() {
    let app = "process 1 init 900ms - parent=0\nprocess 7 app 2s - parent=1\n";
    for silent in [
        // Who asked is not known.
        format!("{app}{}", reads(8, 2_010)),
        // It is gone at first light.
        format!("process 7 app 2s 2500ms parent=1\n{}", reads(7, 2_010)),
        // It read after first light.
        format!("{app}{}", reads(7, 3_100)),
        reads(7, 2_010),
        app.to_owned(),
        // A login at the console is no application, and few reads need no list.
        format!("{}{}", app.replace(" app ", " agetty "), reads(7, 2_010)),
        format!(
            "{}{}",
            app.replace(" app ", " (udev-worker) "),
            reads(7, 2_010)
        ),
        format!(
            "{}{}",
            app.replace(" app ", " dbus-broker-lau "),
            reads(7, 2_010)
        ),
        format!("{app}request read 1 65536 2010ms 2010ms 2050ms pid=7\n"),
    ] {
        let all = found(&silent, &none(), "application-reads");
        assert!(all.is_empty(), "{all:?}");
    }
    // Who is called like one of those is none.
    for name in [" loginscreen ", " dbusview "] {
        let app = app.replace(" app ", name);
        let text = format!("{app}{}{}", reads(1, 1_100), reads(7, 2_010));
        assert_eq!(found(&text, &none(), "application-reads").len(), 1);
    }
    // Somebody else's reads fill the time before, to the last millisecond.
    let busy = "request read 9000000 100000000 1s 1s 2s\n";
    let text = format!("{app}fact x y\n{busy}{}", reads(7, 2_010));
    let with = found(&text, &none(), "application-reads");
    assert!(with.is_empty(), "{with:?}");
}

/// A program with 90,000 relocations without a symbol and a library, which has 2,000 with
/// one and 1,000 calls.
fn tree(binds_now: bool, has_gnu_hash: bool) -> SystemFacts {
    let program = Dynamic {
        needed: vec!["libx.so.1".to_owned(), "libmissing.so".to_owned()],
        relative: 80_000,
        packed: 10_000,
        has_gnu_hash: true,
        offset: 4_096,
        ..Dynamic::default()
    };
    let library = Dynamic {
        // Libraries may need each other.
        needed: vec!["libx.so.1".to_owned()],
        symbolic: 2_000,
        calls: 1_000,
        binds_now,
        has_gnu_hash,
        ..Dynamic::default()
    };
    let names = ["libx.so.1".to_owned()].into();
    let root = RootTree {
        source: "/r".to_owned(),
        libraries: [("usr/lib/libx.so.1".to_owned(), Library { bytes: 1, names })].into(),
        dynamic: [
            ("usr/bin/app".to_owned(), program),
            ("usr/lib/libx.so.1".to_owned(), library),
        ]
        .into(),
        ..RootTree::default()
    };
    SystemFacts {
        root: Some(root),
        ..SystemFacts::default()
    }
}

#[test]
fn relocations_are_counted_as_often_as_a_program_starts() {
    let text = "clock v virtual\nprocess 7 app 2s - parent=1 command=/bin/app\n\
                process 8 app 2100ms - parent=1 command=/usr/bin/app\n\
                process 9 app 4s - parent=1 command=/usr/bin/app\n";
    let expected = |now, gnu| {
        let all = found(text, &tree(now, gnu), "relocations");
        all.first().unwrap().expected.0
    };
    // Started twice from two files, an instruction a nanosecond in virtual time.
    let of = |symbolic: i64| 2 * (90_000 * 30 + symbolic * 830 + 2 * 300_000);
    assert_eq!(expected(false, true), of(2_000));
    assert_eq!(expected(true, true), of(3_000));
    assert_eq!(expected(false, false), of(6_000));
    let all = found(text, &tree(true, true), "relocations");
    let f = all.first().unwrap();
    let places: Vec<(&str, u64)> = f
        .evidence
        .iter()
        .map(|e| (&*e.place.source, e.place.offset))
        .collect();
    assert_eq!(places[0], ("/r/usr/bin/app", 4_096));
    assert_eq!(places[1], ("/r/usr/lib/libx.so.1", 0));
    assert!(f.why.contains("1000 of them are calls"), "{}", f.why);
    // musl's linker binds all calls at the start, whatever the file says.
    let mut musl = tree(false, true);
    let links = &mut musl.root.as_mut().unwrap().links;
    links.insert("lib/ld-musl-x86_64.so.1".to_owned(), "libc.so".to_owned());
    let all = found(text, &musl, "relocations");
    let f = all.first().unwrap();
    assert_eq!(f.expected.0, of(3_000));
    assert!(!f.why.contains("-z,lazy"), "{}", f.why);
}

#[test]
fn programs_that_did_not_start_are_not_told_of() {
    for silent in [
        "",
        "process 7 app 4s - parent=1 command=/usr/bin/app\n",
        "process 7 app 2s - parent=1 command=/usr/bin/other\n",
        "process 7 app 2s - parent=1\n",
    ] {
        assert!(found(silent, &tree(true, true), "relocations").is_empty());
    }
    let text = "process 7 app 2s - parent=1 command=/usr/bin/app\n";
    assert!(found(text, &none(), "relocations").is_empty());
}

#[test]
fn packed_programs_in_nor_flash_could_be_executed_there() {
    let of = |text: &str, what| {
        let place = Place {
            source: "root".to_owned(),
            offset: 0,
        };
        let system = SystemFacts {
            images: vec![ImageFact { place, what }],
            ..SystemFacts::default()
        };
        found(text, &system, "execute-in-place")
    };
    let nor = "say 100ms 5 physmap-flash 34000000.flash: physmap platform flash device: [mem]\n";
    let cramfs = |packed, in_place| ImageKind::Cramfs { packed, in_place };
    let all = of(nor, cramfs(2_000_000, 0));
    let f = all.first().unwrap();
    // 25 instructions a byte at 500 million a second, of which an application needs 67 %.
    assert_eq!(f.expected, Nanos::from_millis(67));
    assert_eq!(f.evidence.len(), 2);
    let jffs2 = ImageKind::Jffs2 {
        programs: 2_000_000,
        used_blocks: 1,
        summarised: 1,
        saves_ns: 0,
        mount_ns: 0,
        erased_ns: 0,
        erase_size: 131_072,
        blocks: 1,
    };
    let all = of(nor, jffs2);
    assert!(all.first().unwrap().why.contains("JFFS2 of its own"));
    assert!(of(nor, cramfs(0, 2_000_000)).is_empty());
    let nand = "say 100ms 6 nand: device found, Manufacturer ID: 0x20\n";
    assert!(of(nand, cramfs(2_000_000, 0)).is_empty());
    assert!(found(nor, &none(), "execute-in-place").is_empty());
}

/// 40 libraries that process 7 opens, 2 ms one after the other from 2 s on, and a failed look-up
/// of 1 ms before each.
fn libraries() -> String {
    let each = (0..40_u64).map(|n| {
        let at = 2_000 + 2 * n;
        format!(
            "miss-by 7 {at}ms /opt/lib{n}.so\nopen-by 7 {}ms /lib/lib{n}.so\n",
            at + 1
        )
    });
    each.collect()
}

#[test]
fn libraries_take_from_one_to_the_next() {
    let text = format!("{}open-by 7 2900ms /lib/later.so\n", libraries());
    let all = found(&text, &none(), "many-libraries");
    let f = all.first().unwrap();
    assert!(f.title.starts_with("41 libraries"), "{}", f.title);
    // 39 times 1 ms to the next look-up; the last of these and the one that comes after a pause
    // took 20 us each, which is assumed.
    let time = 39_000_000 + 2 * 20_000;
    assert_eq!(f.expected, Nanos(time / 100 * 80));
    assert_eq!(
        f.saving.unwrap(),
        (Nanos(time / 100 * 30), Nanos(time / 100 * 150))
    );
    // What the bytes alone take stays, where requests tell it: 8 reads of 4 KiB in 1 ms, and 8 of
    // 68 KiB in 2 ms, so that a mebibyte takes 16 ms.
    let read = |n: u64, bytes: u64, took: u64| {
        let at = 2_000 + 4 * n;
        let sector = n * 10_000;
        format!(
            "request read {sector} {bytes} {at}ms {at}ms {}ms pid=7\n",
            at + took
        )
    };
    let small: String = (0..10).map(|n| read(n, 4 << 10, 1)).collect();
    let large: String = (10..20).map(|n| read(n, 68 << 10, 2)).collect();
    let all = found(&format!("{text}{small}{large}"), &none(), "many-libraries");
    let bytes = all.first().unwrap();
    let stay = 720 * 1_000_000 / 64;
    let wanted = time - stay;
    assert!(
        (bytes.expected.0 - wanted).abs() < 1_000,
        "{}",
        bytes.expected
    );
    // Few are none of it.
    let few: String = text.lines().take(40).map(|l| format!("{l}\n")).collect();
    assert!(found(&few, &none(), "many-libraries").is_empty());
}
