//! The text of traces, and KFT's logs and tables: the corpus, and what happens
//! to text on its way.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;

use common::{assert_conserved, check_corpus, damage, read, show, workspace};
use firstlight_sources::Source;
use firstlight_sources::ftrace::{Ftrace, TraceDat};
use firstlight_sources::kft::Kft;
use proptest::prelude::*;
use record::Record;

fn corpus(name: &str) -> Vec<u8> {
    std::fs::read(workspace().join("corpus").join(name)).unwrap()
}

#[test]
fn the_corpus() {
    check_corpus("ftrace");
    check_corpus("kft");
}

/// The same events as text and as bytes.
#[test]
fn a_report_says_what_its_file_says() {
    let report = read(&Ftrace, &corpus("ftrace/report.txt"));
    for file in ["ftrace/modprobe-6.dat", "ftrace/modprobe-7.dat"] {
        let bytes = read(&TraceDat, &corpus(file));
        // The report's first line is no event.
        assert_eq!(report.sources()[0].units, bytes.sources()[0].units + 1);
        // Stamps in text end at the microsecond.
        let spans = |record: &Record| -> Vec<(String, i64)> {
            let spans = record.spans().iter();
            spans
                .map(|s| {
                    let took = s.wall().unwrap().get();
                    (record.name(s.name).to_owned(), (took + 500) / 1_000)
                })
                .collect()
        };
        let (text, exact) = (spans(&report), spans(&bytes));
        assert_eq!(text.len(), exact.len());
        for ((name, took), (of, exact)) in text.iter().zip(&exact) {
            assert_eq!(name, of);
            assert!(took.abs_diff(*exact) <= 1, "{name}: {took} {exact}");
        }
        let processes = |record: &Record| -> Vec<(u32, String)> {
            let processes = record.processes().iter();
            let mut all: Vec<(u32, String)> = processes
                .map(|p| (p.pid, record.name(p.name).to_owned()))
                .collect();
            all.sort();
            all
        };
        assert_eq!(processes(&report), processes(&bytes));
        assert_eq!(report.slices().len(), bytes.slices().len());
        assert_eq!(report.wakes().len(), bytes.wakes().len());
        // The rings of two processors are not in the order of time.
        let text = |record: &Record| -> Vec<String> {
            let messages = record.messages().iter();
            let mut all: Vec<_> = messages.map(|m| (m.at, record.text(m))).collect();
            all.sort_by_key(|(at, _)| *at);
            all.into_iter().map(|(_, text)| text.to_owned()).collect()
        };
        assert_eq!(text(&report), text(&bytes));
    }
}

/// Every input is known by its first bytes, and as nothing else.
#[test]
fn formats_are_known_by_their_first_bytes() {
    for (file, name) in [
        ("ftrace/trace.txt", "ftrace"),
        ("ftrace/trace_pipe.txt", "ftrace"),
        ("ftrace/report.txt", "ftrace"),
        ("ftrace/graph.txt", "ftrace"),
        ("ftrace/function.txt", "ftrace"),
        ("ftrace/latency.txt", "ftrace"),
        ("ftrace/modprobe-6.dat", "trace.dat"),
        ("ftrace/modprobe-7.dat", "trace.dat"),
        ("kft/log", "kft"),
        ("kft/raw", "kft"),
        ("kft/table", "kft"),
        ("kft/tree", "kft"),
    ] {
        let found = firstlight_sources::sniff(&corpus(file)).map(Source::name);
        assert_eq!(found, Some(name), "{file}");
    }
    for file in [
        "kernel-log/caller",
        "serial/board.log",
        "systemd/small.show",
    ] {
        let path = workspace().join("corpus").join(file);
        let path = if path.is_dir() {
            path.join("input")
        } else {
            path
        };
        let bytes = std::fs::read(path).unwrap();
        for source in [&Ftrace as &dyn Source, &TraceDat, &Kft] {
            assert_ne!(
                source.sniff(&bytes),
                firstlight_sources::Sniff::Yes,
                "{file}"
            );
        }
    }
}

const TEXTS: [&str; 10] = [
    "ftrace/trace.txt",
    "ftrace/trace_pipe.txt",
    "ftrace/report.txt",
    "ftrace/graph.txt",
    "ftrace/graph-latency.txt",
    "ftrace/function.txt",
    "ftrace/latency.txt",
    "kft/log",
    "kft/table",
    "kft/tree",
];

fn source(file: &str) -> &'static dyn Source {
    match file.starts_with("kft") {
        true => &Kft,
        false => &Ftrace,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_text_is_read_to_its_end(
        which in 0..TEXTS.len(),
        damage in prop::collection::vec(damage(), 1..8),
    ) {
        let file = TEXTS[which];
        let mut bytes = corpus(file);
        for d in damage {
            bytes = d.apply(&bytes);
        }
        let record = read(source(file), &bytes);
        assert_conserved(&record);
        // The same bytes give the same record.
        prop_assert_eq!(show(&record), show(&read(source(file), &bytes)));
    }
}

/// Cut at each of 200 places.
#[test]
fn cut_text_is_read_to_its_end() {
    for file in TEXTS {
        let bytes = corpus(file);
        for cut in (0..bytes.len()).step_by((bytes.len() / 200).max(1)) {
            assert_conserved(&read(source(file), &bytes[..cut]));
        }
    }
}

/// What names and lines without end would take of memory is bounded.
#[test]
fn absurd_text_is_read_to_its_end() {
    let long = vec![b'x'; 300_000];
    let deep = " 0)               |  f() {\n".repeat(10_000).into_bytes();
    let names: Vec<u8> = (0..30_000_u32)
        .flat_map(|i| format!("    a-{i} [000] 1.0: event_{i}: x\n").into_bytes())
        .collect();
    for bytes in [long, deep, names] {
        let text = [&b"# tracer: nop\n"[..], &bytes].concat();
        assert_conserved(&read(&Ftrace, &text));
        let log = [&b" Entry Delta PID Function Called At\n"[..], &bytes].concat();
        assert_conserved(&read(&Kft, &log));
    }
}

/// The agent's probes where files are opened, as `trace-cmd report` and the kernel print them.
#[test]
fn opened_files_and_those_that_are_looked_for_in_vain() {
    use record::AccessKind::{Miss, Open};
    let text = b"# tracer: nop\n\
        ld-7 [000]     1.000100: firstlight_open:      (ffffffff8137d360) filename=\"/opt/liba.so\"\n\
        ld-7 [000]     1.000130: firstlight_opened:    (ffffffff8137d360 <- ffffffff8136404f) ret=-2\n\
        ld-7 [000]     1.000200: firstlight_open: (do_filp_open+0x0/0x110) filename=\"/lib/liba.so\"\n\
        ld-7 [000]     1.000260: firstlight_opened: (do_sys_openat2+0x9f/0x150 <- do_filp_open) ret=-131391536694016\n\
        ld-7 [000]     1.000300: firstlight_open: (do_filp_open+0x0/0x110) filename=\"/secret\"\n\
        ld-7 [000]     1.000310: firstlight_opened: (do_sys_openat2+0x9f/0x150 <- do_filp_open) ret=-13\n";
    let record = read(&Ftrace, text);
    let looks = record.accesses().iter().map(|a| {
        let took = a.took.get().unwrap().get() / 1_000;
        (a.kind, record.name(a.path.unwrap()), took, a.pid)
    });
    assert_eq!(
        looks.collect::<Vec<_>>(),
        [
            (Miss, "/opt/liba.so", 30, Some(7)),
            (Open, "/lib/liba.so", 60, Some(7))
        ]
    );
}
