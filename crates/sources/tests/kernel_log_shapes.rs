//! One log in every shape gives the same rows.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking"
)]

mod common;

use common::{assert_conserved, sample};
use firstlight_sources::kernel_log::KernelLog;
use firstlight_sources::{Input, Source};
use proptest::prelude::*;
use record::{Doubt, Record, Recorder, SpanKind};
use std::fmt::Write;

/// A line of a plain `dmesg`: its stamp in microseconds and its words.
struct Line<'a> {
    us: u64,
    text: &'a str,
}

impl Line<'_> {
    fn stamp(&self) -> String {
        format!("[{:5}.{:06}]", self.us / 1_000_000, self.us % 1_000_000)
    }

    /// The task that a kernel with CONFIG_PRINTK_CALLER would name.
    fn task<'t>(&'t self, last: &'t str) -> &'t str {
        match self.text.rsplit_once(" @ ") {
            Some((_, task)) if self.text.starts_with("calling  ") => task,
            _ => last,
        }
    }

    fn journal_json(&self, message: &serde_json::Value) -> String {
        let us = self.us;
        format!(
            "{{\"__CURSOR\":\"s=1\",\"__REALTIME_TIMESTAMP\":\"{}\",\
             \"__MONOTONIC_TIMESTAMP\":\"{}\",\"_SOURCE_MONOTONIC_TIMESTAMP\":\"{us}\",\
             \"_TRANSPORT\":\"kernel\",\"SYSLOG_IDENTIFIER\":\"kernel\",\
             \"PRIORITY\":\"6\",\"MESSAGE\":{message}}}",
            1_700_000_000_000_000 + us,
            us + 4_000_000,
        )
    }
}

fn parse(log: &str) -> Vec<Line<'_>> {
    log.lines()
        .map(|line| {
            let (stamp, text) = line.strip_prefix('[').unwrap().split_once("] ").unwrap();
            let us = stamp.trim().replace('.', "").parse().unwrap();
            Line { us, text }
        })
        .collect()
}

/// An initcall or a probe.
#[derive(Debug, PartialEq)]
struct Row {
    kind: SpanKind,
    name: String,
    track: Option<String>,
    start: Option<i64>,
    end: Option<i64>,
    reported: Option<i64>,
    outcome: Option<i32>,
    doubt: Option<record::Doubt>,
}

fn read(log: &[u8]) -> Record {
    let mut recorder = Recorder::new();
    let input = Input {
        name: "log",
        bytes: log,
    };
    KernelLog.read(input, &mut recorder);
    let record = recorder.finish();
    assert_conserved(&record);
    record
}

/// The rows, with times since the first `calling` line: logs on other clocks
/// have their zero elsewhere.
fn rows(record: &Record) -> Vec<Row> {
    let spans = || record.spans().iter();
    let calls = spans().filter(|s| s.kind == SpanKind::Initcall);
    let zero = calls.filter_map(|s| s.start).min().unwrap();
    let time = |t: Option<record::Nanos>| t.map(|t| (t - zero).get());
    let mut rows: Vec<Row> = spans()
        .map(|s| Row {
            kind: s.kind,
            name: record.name(s.name).to_owned(),
            track: s.track.map(|t| record.name(t).to_owned()),
            start: time(s.start),
            end: time(s.end),
            reported: s.reported.map(|t| t.get()),
            outcome: s.outcome,
            doubt: s.doubt,
        })
        .collect();
    rows.sort_by(|a, b| (a.start, a.end, &a.name).cmp(&(b.start, b.end, &b.name)));
    rows
}

/// Each shape, with its name and whether it names the task of each line.
fn shapes(log: &[Line<'_>]) -> Vec<(&'static str, bool, Vec<u8>)> {
    type Shape = fn(&Line<'_>, &str) -> String;
    let by_line: &[(&'static str, bool, Shape)] = &[
        ("dmesg -r", false, |l, _| {
            format!("<6>{} {}\n", l.stamp(), l.text)
        }),
        ("dmesg -x", false, |l, _| {
            format!("kern  :debug : {} {}\n", l.stamp(), l.text)
        }),
        ("caller", true, |l, task| {
            format!("{}[{:>6}] {}\n", l.stamp(), format!("T{task}"), l.text)
        }),
        ("caller -r", true, |l, task| {
            format!("<7>{}[{:>6}] {}\n", l.stamp(), format!("T{task}"), l.text)
        }),
        ("CRLF", false, |l, _| {
            format!("{} {}\r\n", l.stamp(), l.text)
        }),
        ("ANSI", false, |l, _| {
            format!("\x1b[32m{} \x1b[0m\x1b[33m{}\x1b[0m\n", l.stamp(), l.text)
        }),
        ("grabserial", false, |l, _| {
            let s = l.us as f64 / 1e6 + 7.5;
            format!("[{s:.6} 0.000100] {} {}\n", l.stamp(), l.text)
        }),
        ("grabserial -r", false, |l, _| {
            format!("[7.123456 0.000100] <6>{} {}\r\n", l.stamp(), l.text)
        }),
        ("labgrid", false, |l, _| {
            let s = l.us as f64 / 1e6 + 7.5;
            format!("[{s:12.6}] {} {}\n", l.stamp(), l.text)
        }),
        ("dmesg -d", false, |l, _| {
            let stamp = l.stamp();
            let stamp = stamp.trim_end_matches(']');
            format!("{stamp} <    0.000001>] {}\n", l.text)
        }),
        ("ts", false, |l, _| {
            let (s, us) = (1_795_312_448 + l.us / 1_000_000, l.us % 1_000_000);
            format!("{s}.{us:06} {} {}\n", l.stamp(), l.text)
        }),
        ("lava", false, |l, _| {
            let (s, us) = (l.us / 1_000_000, l.us % 1_000_000);
            format!(
                "2026-11-21T21:02:{s:02}.{us:06}  {} {}\n",
                l.stamp(),
                l.text
            )
        }),
        ("tera term", false, |l, _| {
            let (s, ms) = (l.us / 1_000_000, l.us / 1_000 % 1_000);
            format!(
                "[Sat Nov 21 21:02:{s:02}.{ms:03} 2026] {} {}\r\n",
                l.stamp(),
                l.text
            )
        }),
        ("syslog", false, |l, _| {
            format!("Nov 21 21:02:00 pc kernel: {} {}\n", l.stamp(), l.text)
        }),
        ("journal short-monotonic", false, |l, _| {
            format!("{} pc-1.local kernel: {}\n", l.stamp(), l.text)
        }),
        ("journal short-precise", false, |l, _| {
            let (s, us) = (l.us / 1_000_000, l.us % 1_000_000);
            format!("Nov 21 21:02:{s:02}.{us:06} pc kernel: {}\n", l.text)
        }),
        ("journal short-unix", false, |l, _| {
            let us = 1_795_294_920_000_000 + l.us;
            let (s, us) = (us / 1_000_000, us % 1_000_000);
            format!("{s}.{us:06} pc kernel: {}\n", l.text)
        }),
        ("journal json-sse", false, |l, _| {
            format!("data: {}\n\n", l.journal_json(&serde_json::json!(l.text)))
        }),
        ("journal json-seq", false, |l, _| {
            format!("\x1e{}\n", l.journal_json(&serde_json::json!(l.text)))
        }),
        ("journal json-pretty", false, |l, _| {
            let object = l.journal_json(&serde_json::json!(l.text));
            let object: serde_json::Value = serde_json::from_str(&object).unwrap();
            serde_json::to_string_pretty(&object).unwrap() + "\n"
        }),
        ("journal export", false, |l, _| {
            let us = l.us;
            format!(
                "__CURSOR=s=1\n__REALTIME_TIMESTAMP={}\n__MONOTONIC_TIMESTAMP={}\n\
                 _SOURCE_MONOTONIC_TIMESTAMP={us}\n_TRANSPORT=kernel\n\
                 SYSLOG_IDENTIFIER=kernel\nPRIORITY=6\nMESSAGE={}\n\n",
                1_700_000_000_000_000 + us,
                us + 4_000_000,
                l.text
            )
        }),
        ("journal short-iso-precise", false, |l, _| {
            let (s, us) = (l.us / 1_000_000, l.us % 1_000_000);
            format!(
                "2026-11-21T21:02:{s:02}.{us:06}+0100 pc kernel: {}\n",
                l.text
            )
        }),
        ("dmesg iso", false, |l, _| {
            let (s, us) = (l.us / 1_000_000, l.us % 1_000_000);
            format!("2026-11-21T21:02:{s:02},{us:06}+01:00 {}\n", l.text)
        }),
        ("journal json", false, |l, _| {
            l.journal_json(&serde_json::json!(l.text)) + "\n"
        }),
        ("journal json, bytes", false, |l, _| {
            l.journal_json(&serde_json::json!(l.text.as_bytes())) + "\n"
        }),
        ("kmsg", false, |l, _| kmsg(l, "")),
        ("kmsg, caller", true, |l, task| {
            kmsg(l, &format!(",caller=T{task}"))
        }),
    ];
    let mut all: Vec<_> = by_line
        .iter()
        .map(|&(name, caller, shape)| {
            let mut task = "0";
            let mut out = String::new();
            for line in log {
                task = line.task(task);
                // The end is printed by the task that began.
                let task = ending(log, line).unwrap_or(task);
                out.push_str(&shape(line, task));
            }
            (name, caller, out.into_bytes())
        })
        .collect();
    let mut last = 0;
    let (mut human, mut delta) = (String::new(), String::new());
    for (i, l) in log.iter().enumerate() {
        let since = l.us as f64 / 1e6 - last as f64 / 1e6;
        last = l.us;
        // The minute stands before the first line only: these logs are short.
        match i {
            0 => writeln!(human, "[Nov21 21:02] {}", l.text).unwrap(),
            _ if since < 10.0 => writeln!(human, "[  {since:+8.6}] {}", l.text).unwrap(),
            _ => writeln!(human, "[ {since:+9.6}] {}", l.text).unwrap(),
        }
        writeln!(delta, "[<{since:12.6}>] {}", l.text).unwrap();
    }
    all.push(("dmesg -H", false, human.into_bytes()));
    all.push(("dmesg --time-format=delta", false, delta.into_bytes()));
    let mut json = "{\n   \"dmesg\": [\n      {".to_owned();
    for (i, l) in log.iter().enumerate() {
        let comma = if i > 0 { "\n      },{" } else { "" };
        let time = l.stamp();
        let (time, text) = (time.trim_matches(['[', ']']), serde_json::json!(l.text));
        write!(
            json,
            "{comma}\n         \"pri\": 6,\n         \"time\": {time},\n         \"msg\": {text}"
        )
        .unwrap();
    }
    json.push_str("\n      }\n   ]\n}\n");
    all.push(("dmesg --json", false, json.into_bytes()));
    all
}

/// The task whose call `line` ends, by the oldest `calling` line that fits.
fn ending<'a>(log: &'a [Line<'_>], line: &Line<'_>) -> Option<&'a str> {
    let function = line
        .text
        .strip_prefix("initcall ")?
        .split_once(" returned ")?
        .0;
    let calls = log
        .iter()
        .filter_map(|l| l.text.strip_prefix("calling  ")?.split_once(" @ "));
    // Functions that are called once: all but modules that are loaded again.
    calls.filter(|c| c.0 == function).map(|c| c.1).next()
}

fn kmsg(line: &Line<'_>, caller: &str) -> String {
    let mut text = String::new();
    for c in line.text.chars() {
        match c {
            '\\' => text.push_str("\\x5c"),
            c => text.push(c),
        }
    }
    format!(
        "6,{},{},-{caller};{text}\n SUBSYSTEM=platform\n DEVICE=+platform:x\n",
        0, line.us
    )
}

/// Probes name no task unless the line does.
fn without_probe_tracks(mut rows: Vec<Row>) -> Vec<Row> {
    for row in &mut rows {
        if row.kind == SpanKind::Probe {
            row.track = None;
        }
    }
    rows
}

fn check_all(log: &str) {
    let expected = rows(&read(log.as_bytes()));
    assert!(!expected.is_empty());
    let lines = parse(log);
    for (name, caller, log) in shapes(&lines) {
        let best =
            firstlight_sources::sniff(&log).unwrap_or_else(|| panic!("{name}: no source knows it"));
        let hosts = ["labgrid", "ts", "lava", "tera term"];
        let host = name.starts_with("grabserial") || hosts.contains(&name);
        assert!(
            host != (best.name() == "kernel-log"),
            "{name}: read as {}",
            best.name()
        );
        // Under a host's stamps, the source of serial logs hands on the lines.
        let readers: &[&dyn Source] = match host {
            true => &[&KernelLog, best],
            false => &[&KernelLog],
        };
        for &reader in readers {
            let record = common::read(reader, &log);
            assert_conserved(&record);
            let mut found = rows(&record);
            if caller {
                found = without_probe_tracks(found);
            }
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(found, expected, "{name}, read as {}", reader.name());
            }
            assert_eq!(found.len(), expected.len(), "{name}");
        }
    }
}

#[test]
fn a_real_log_in_every_shape() {
    let Some(log) = sample("dmesg/x13s-dmesg.txt") else {
        return;
    };
    check_all(std::str::from_utf8(&log).unwrap());
}

const SMALL: &str = "\
[    0.000000] Linux version 6.1.0 (builder@host) #1 SMP
[    0.000000] Command line: root=/dev/vda initcall_debug
[    0.010000] calling  first_init+0x0/0x10 @ 1
[    0.012000] initcall first_init+0x0/0x10 returned 0 after 4000 usecs
[    0.020000] clocksource: Switched to clocksource tsc
[    0.030000] calling  outer_init+0x0/0x20 [outer] @ 7
[    0.031000] calling  inner_init+0x0/0x30 [inner] @ 8
[    0.035000] initcall inner_init+0x0/0x30 [inner] returned -19 after 3990 usecs
[    0.036000] probe of 1c20000.pcie returned -517 after 900 usecs
[    0.040000] initcall outer_init+0x0/0x20 [outer] returned 0 after 8990 usecs
[    0.050000] probe of Fixed MDIO bus.0 returned 517 after 10 usecs
[    0.060000] calling  printing_init+0x0/0x40 @ 1
[    0.070000] initcall printing_init+0x0/0x40 returned 0 after 20 usecs
";

/// Before the switch of the clock source a probe of 0.1 ms may be said to have taken a
/// whole tick; after it the number is the length, whole or not.
#[test]
fn probes_before_the_clock_source_switch_are_doubted() {
    let log = "\
[    0.000000] Linux version 6.1.0 (builder@host) #1 SMP
[    0.012000] probe of early returned 0 after 10000 usecs
[    0.020000] clocksource: Switched to clocksource tsc
[    0.040000] probe of late returned 0 after 10000 usecs
";
    let doubts = |log: &str| -> Vec<_> {
        let record = read(log.as_bytes());
        let spans = record.spans().iter();
        let probes = spans.map(|s| (record.name(s.name).to_owned(), s.doubt));
        probes.collect()
    };
    let named = |name: &str, doubt| (name.to_owned(), doubt);
    let early = named("early", Some(Doubt::JiffyClock));
    assert_eq!(doubts(log), [early, named("late", None)]);
    // The clock does not move in ticks.
    let fine = log.replacen("10000", "101", 1);
    assert_eq!(doubts(&fine), [named("early", None), named("late", None)]);
}

#[test]
fn a_small_log_in_every_shape() {
    check_all(SMALL);
}

/// `dmesg -T` and the journal's short forms say whole seconds: the rows are
/// the same but for their times, and a note says why.
#[test]
fn whole_seconds() {
    type Shape = fn(&Line<'_>) -> String;
    let shapes: [Shape; 3] = [
        |l| format!("[Sat Nov 21 21:02:0{} 2026] {}\n", l.us / 1_000_000, l.text),
        |l| format!("Nov 21 21:02:0{} pc kernel: {}\n", l.us / 1_000_000, l.text),
        |l| {
            format!(
                "2026-11-21T21:02:0{}+0100 pc kernel: {}\n",
                l.us / 1_000_000,
                l.text
            )
        },
    ];
    let words = |log: &[u8]| {
        let record = read(log);
        let mut words: Vec<_> = record
            .spans()
            .iter()
            .map(|s| {
                (
                    s.kind,
                    record.name(s.name).to_owned(),
                    s.reported,
                    s.outcome,
                )
            })
            .collect();
        words.sort_by(|a, b| a.1.cmp(&b.1));
        (words, record)
    };
    let (expected, _) = words(SMALL.as_bytes());
    for shape in shapes {
        let log: String = parse(SMALL).iter().map(shape).collect();
        assert_eq!(
            firstlight_sources::sniff(log.as_bytes()).unwrap().name(),
            "kernel-log"
        );
        let (found, record) = words(log.as_bytes());
        assert_eq!(found, expected);
        assert!(
            record
                .notes()
                .iter()
                .any(|n| n.kind.name == "coarse_stamps")
        );
        assert_eq!(record.clock().unwrap().name, "realtime");
        assert_eq!(record.clock().unwrap().resolution_ns, 1_000_000_000);
        assert!(record.spans().iter().all(|s| s.doubt.is_none()));
    }
}

/// Lines of every shape, and parts of them.
fn any_line() -> impl Strategy<Value = Vec<u8>> {
    let lines = parse(SMALL);
    let mut pool: Vec<Vec<u8>> = Vec::new();
    for (_, _, log) in shapes(&lines) {
        pool.extend(log.split(|b| *b == b'\n').map(<[u8]>::to_vec));
    }
    pool.extend([
        b"[    1.0".to_vec(),
        b"\x1b[".to_vec(),
        b"{\"MESSAGE\"".to_vec(),
        vec![0; 9],
    ]);
    prop_oneof![
        8 => prop::sample::select(pool),
        1 => prop::collection::vec(any::<u8>(), 0..40),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Whatever happens to a log, each line is counted once.
    #[test]
    fn every_line_is_an_event_or_noted(
        lines in prop::collection::vec(any_line(), 0..40),
        damages in prop::collection::vec(common::damage(), 0..6),
    ) {
        let mut log = lines.join(&b'\n');
        for damage in damages {
            log = damage.apply(&log);
        }
        let record = read(&log);
        let source = &record.sources()[0];
        let mut lines = log.split(|b| *b == b'\n').count() as u64;
        lines -= u64::from(log.is_empty() || log.ends_with(b"\n"));
        // In the JSON of dmesg a unit is an object, in some forms of a journal a record.
        let start = log.trim_ascii_start();
        let records = [&b"{"[..], b"\x1e", b"__CURSOR="];
        if !records.iter().any(|r| start.starts_with(r)) {
            prop_assert_eq!(source.units, lines);
        }
        let _ = KernelLog.sniff(&log);
    }

    /// A damaged real-looking log loses only the rows whose lines were hit.
    #[test]
    fn damage_stays_where_it_is(damage in common::damage()) {
        let whole = rows(&read(SMALL.as_bytes()));
        let record = read(&damage.apply(SMALL.as_bytes()));
        // The worst that one damage can do is to swap or glue two lines.
        let near = record.spans().iter().filter(|s| {
            let name = record.name(s.name);
            whole.iter().any(|w| w.name == name && w.reported == s.reported.map(|t| t.get()))
        });
        let cut = matches!(damage, common::Damage::Cut(_));
        prop_assert!(cut || near.count() + 4 >= whole.len());
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        read(&bytes);
        let _ = KernelLog.sniff(&bytes);
    }
}
