//! What a root holds that its boot does not need, and what its kernel tests.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::record;
use firstlight_analysis::{
    Finding, ImageFact, ImageKind, Library, Place, RootTree, SystemFacts, advice, phases,
};
use record::Nanos;

const BOOT: &str = "mark 0s kernel-start kernel
    mark 1s userspace-start userspace
    mark 3s startup-finished -\n";

fn found(text: &str, root: RootTree, id: &str) -> Vec<Finding> {
    let record = record(&format!("{BOOT}{text}"));
    let system = SystemFacts {
        root: Some(root),
        ..SystemFacts::default()
    };
    let advice = advice(&record, &phases(&record), &system);
    advice.findings.into_iter().filter(|f| f.id == id).collect()
}

fn library(name: &str, more: &[&str]) -> (String, Library) {
    let names = more.iter().chain([&name]).map(|n| (*n).to_owned());
    let library = Library {
        bytes: 400_000,
        names: names.collect(),
    };
    (format!("usr/lib/{name}"), library)
}

/// `app` names one library, which names another; a third is named by itself alone, and
/// the fourth by the third alone.
fn tree() -> RootTree {
    let mut tree = RootTree {
        source: "/r".to_owned(),
        libraries: [
            library("libone.so.1.0", &["libone.so.1"]),
            library("libtwo.so.2", &[]),
            library("libthree.so.3", &[]),
            library("libfour.so.4", &[]),
            library("libnss_files.so.2", &[]),
        ]
        .into(),
        ..RootTree::default()
    };
    for (name, by) in [
        ("libone.so.1", "usr/bin/app"),
        ("libtwo.so.2", "usr/lib/libone.so.1.0"),
        ("libthree.so.3", "usr/lib/libthree.so.3"),
        ("libfour.so.4", "usr/lib/libthree.so.3"),
    ] {
        let mentions = tree.mentions.entry(name.to_owned()).or_default();
        mentions.insert(by.to_owned());
    }
    tree
}

#[test]
fn libraries_that_nothing_in_use_names_are_told() {
    let found_there = found("", tree(), "spare-libraries");
    let f = found_there.first().unwrap();
    let told: Vec<&str> = f.evidence.iter().map(|e| &*e.place.source).collect();
    assert_eq!(
        told,
        ["/r/usr/lib/libfour.so.4", "/r/usr/lib/libthree.so.3"]
    );
    assert_eq!(
        (f.expected, f.saving.unwrap().1),
        (Nanos::ZERO, Nanos::from_millis(40))
    );
    // A program that names them, by dlopen or else.
    let mut all = tree();
    let by = all.mentions.get_mut("libthree.so.3").unwrap();
    by.insert("usr/bin/app".to_owned());
    assert!(found("", all, "spare-libraries").is_empty());
    assert!(found("", RootTree::default(), "spare-libraries").is_empty());
}

#[test]
fn tests_of_the_kernel_are_told_one_by_one() {
    let text = "span initcall 100ms 140ms locking_selftest\n\
                span initcall 200ms 225ms test_kstrtox_init\n\
                span initcall 300ms 301ms bpf_prog_test_run_init\n\
                span initcall 400ms 900ms crypto_algapi_init\n\
                span initcall 910ms 990ms latest_driver_init\n\
                span initcall 400ms 400100us atomics_selftest\n";
    let tests = found(text, RootTree::default(), "kernel-self-tests");
    let told: Vec<&str> = tests
        .iter()
        .filter_map(|f| f.treatment.as_deref())
        .collect();
    let wanted = [
        "cmdline+=initcall_blacklist=locking_selftest",
        "cmdline+=initcall_blacklist=test_kstrtox_init",
    ];
    assert_eq!(told, wanted);
    assert_eq!(tests[0].expected, Nanos::from_millis(40));
}

#[test]
fn many_files_of_languages_are_told() {
    let opens = |n: u32, folder: &str| -> String {
        let each = (0..n).map(|i| format!("open {}us {folder}/f{i}\n", 1_100_000 + i));
        each.collect()
    };
    let told = |text: &str| found(text, RootTree::default(), "languages-and-fonts");
    let both = opens(600, "/usr/share/locale/de") + &opens(500, "/etc/fonts/conf.d");
    let titles: Vec<String> = told(&both).into_iter().map(|f| f.title).collect();
    let wanted = [
        "600 locale files are looked up 600 times",
        "500 font files are looked up 500 times",
    ];
    assert_eq!(titles, wanted);
    assert!(told(&opens(5, "/usr/share/locale/de")).is_empty());
}

/// What a process does from one such file to the next is reading it, unless it takes long
/// or looks at something else in between.
#[test]
fn files_of_languages_are_read_until_the_next_one_is_opened() {
    let opens = |between: &str| -> String {
        let each = (0..100).map(|i| {
            let at = 1_100 + i * 3;
            format!("open-by 7 {at}ms /usr/share/locale/l{i}\n{between}")
        });
        each.collect()
    };
    let high = |text: &str| {
        let all = found(text, RootTree::default(), "languages-and-fonts");
        all.first().and_then(|f| f.saving).map(|(_, high)| high)
    };
    // 99 times 3 ms, and the last one is opened.
    let read = Nanos(99 * 3_000_000 + 20_000);
    assert_eq!(high(&opens("")), Some(read));
    // Another process's opens are its own.
    assert_eq!(high(&opens("open-by 8 1200ms /etc/x\n")), Some(read));
    // Where something else is opened in between, that step is not counted.
    let apart = opens("").replace("1103ms", "1103ms /etc/y\nopen-by 7 1103ms");
    let one_less = Nanos(98 * 3_000_000 + 2 * 20_000);
    assert_eq!(high(&apart), Some(one_less));
}

/// Files of tracers can be left out beside the longest of what prepares them.
#[test]
fn tracers_and_their_files_are_told_apart() {
    let text = "span initcall 100ms 140ms init_kprobe_trace\n\
                span initcall 200ms 242ms tracer_init_tracefs\n";
    let both = found(text, RootTree::default(), "instrumentation");
    let told: Vec<_> = both
        .iter()
        .map(|f| (f.treatment.as_deref().unwrap(), f.expected))
        .collect();
    let wanted = [
        (
            "cmdline+=initcall_blacklist=tracer_init_tracefs",
            Nanos::from_millis(42),
        ),
        (
            "cmdline+=initcall_blacklist=trace_eval_init",
            Nanos::from_millis(40),
        ),
    ];
    assert_eq!(told, wanted);
}

/// What debuggers read is unpacked with the rest of a root that lies in the initramfs.
#[test]
fn symbols_in_an_initramfs_take_their_share_of_its_unpacking() {
    let tree = RootTree {
        source: "/r".to_owned(),
        unstripped: [("bin/app".to_owned(), 10 << 20)].into(),
        ..RootTree::default()
    };
    let archive = ImageFact {
        place: Place {
            source: "initramfs".to_owned(),
            offset: 0,
        },
        what: ImageKind::Initramfs {
            compression: "gzip".to_owned(),
            packed: 16 << 20,
            unpacked: 40 << 20,
            entries: 9,
        },
    };
    let system = SystemFacts {
        root: Some(tree),
        images: vec![archive],
        ..SystemFacts::default()
    };
    let told = |root: &str| {
        let text = format!(
            "source boot.log kernel-log\nclock printk printk\nmark 0s kernel-clock-start kernel\n\
             {root}say 200ms 6 Trying to unpack rootfs image as initramfs...\n\
             say 600ms 6 Freeing initrd memory: 8192K\nmark 9s startup-finished -\n"
        );
        let record = record(&text);
        let all = advice(&record, &phases(&record), &system).findings;
        let f = all.into_iter().find(|f| f.id == "unstripped").unwrap();
        (f.expected, f.saving.unwrap())
    };
    // A quarter of the bytes, of which gzip makes 2.4 MiB of 16: 15 % of 400 ms.
    let (expected, (low, high)) = told("fact root.filesystem rootfs\n");
    let rounded = [low, expected, high].map(|t| (t.0 + 500_000) / 1_000_000);
    assert_eq!(rounded, [18, 60, 66]);
    // On a device they are never read: a tenth of what they take at 20 MB/s.
    let (expected, (low, _)) = told("");
    assert_eq!((expected, low), (Nanos(52_428_800), Nanos::ZERO));
}

/// Four fifths of an initramfs go that has the drivers of every machine: of its unpacking, which
/// the log shows, and of its loading.
#[test]
fn modules_for_every_machine_take_their_share_of_the_unpacking() {
    let told = |log: &str| {
        let tree = RootTree {
            source: "/r".to_owned(),
            texts: [(
                "etc/initramfs-tools/initramfs.conf".to_owned(),
                "MODULES=most\n".to_owned(),
            )]
            .into(),
            ..RootTree::default()
        };
        let system = SystemFacts {
            root: Some(tree),
            ..SystemFacts::default()
        };
        let text = format!(
            "source boot.log kernel-log\nclock printk printk\nmark 0s kernel-clock-start kernel\n\
             {log}mark 9s startup-finished -\n"
        );
        let record = record(&text);
        let all = advice(&record, &phases(&record), &system).findings;
        let f = all
            .into_iter()
            .find(|f| f.id == "initramfs-modules")
            .unwrap();
        let (low, high) = f.saving.unwrap();
        [low, f.expected, high].map(|t| t.0 / 1_000_000)
    };
    // 20 MiB at 60 MB/s, if the log does not show it.
    assert_eq!(told(""), [34, 349, 1_398]);
    // 0.8 of 1 s, and 24 MB at 60 MB/s.
    let log = "say 200ms 6 Trying to unpack rootfs image as initramfs...\n\
               say 1200ms 6 Freeing initrd memory: 29297K\n";
    assert_eq!(told(log), [280, 1_200, 2_600]);
}
