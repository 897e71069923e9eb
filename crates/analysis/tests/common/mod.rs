//! Records by hand, in a tiny text form, one event a line:
//!
//! ```text
//! source boot.log kernel-log          what follows is from this source
//! clock printk printk                 and on this clock (name, kind)
//! relate serial 1.5s printk 0s        two clocks, read at one instant
//! mark 0s kernel-start kernel         an instant; `-`: begins no phase
//! span initcall 1ms 2ms foo_init reported=3us doubt=overlap outcome=-517 track=1
//! say 1.5s 6 any text                 a message of level 6
//! after a.service b.service           a unit that is ordered after another
//! fact kernel.cmdline quiet root=x    holds for the whole boot
//! note data_loss lost_thing 3 what it means
//! ```
//!
//! Times are `5s`, `1.5ms`, `2us`, `7ns` or `-` for none. A line's origin is
//! its byte in the text.
#![allow(dead_code, reason = "each test binary uses a part")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a malformed test is a failed test"
)]

use record::{
    ClockId, ClockKind, DependencyKind, Doubt, NoteKind, Origin, Phase, Record, Recorder, Severity,
    SpanKind,
};

const PHASES: [Phase; 7] = [
    Phase::Firmware,
    Phase::Loader,
    Phase::Decompression,
    Phase::Kernel,
    Phase::Initrd,
    Phase::Userspace,
    Phase::App,
];

/// `1.5ms` in nanoseconds, `-` as `None`.
pub fn time(text: &str) -> Option<i64> {
    let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    if text == "-" {
        return None;
    }
    let (number, unit) = units
        .iter()
        .find_map(|(name, ns)| Some((text.strip_suffix(name)?, ns)))
        .unwrap_or_else(|| panic!("no unit: {text}"));
    let number: f64 = number.parse().unwrap_or_else(|_| panic!("no time: {text}"));
    Some((number * unit).round() as i64)
}

pub fn phase(word: &str) -> Option<Phase> {
    PHASES.into_iter().find(|p| p.as_str() == word)
}

fn kind(word: &str) -> ClockKind {
    let kinds = [
        ClockKind::Virtual,
        ClockKind::Counter,
        ClockKind::Wall,
        ClockKind::Printk,
        ClockKind::Monotonic,
    ];
    kinds.into_iter().find(|k| k.as_str() == word).unwrap()
}

fn doubt(word: &str) -> Option<Doubt> {
    let doubts = [
        Doubt::Overlap,
        Doubt::JiffyClock,
        Doubt::Console,
        Doubt::LostStart,
        Doubt::LostEnd,
    ];
    doubts.into_iter().find(|d| d.as_str() == word)
}

/// Formats and kinds are constants elsewhere; a test can afford to leak a few.
fn leak(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

fn note(severity: &str, name: &str, advice: &str) -> NoteKind {
    let severities = [Severity::Info, Severity::Doubt, Severity::DataLoss];
    NoteKind {
        name: leak(name),
        severity: severities
            .into_iter()
            .find(|s| s.as_str() == severity)
            .unwrap(),
        advice: leak(advice),
    }
}

/// The record that `text` describes. Without a `source` line it is from
/// `test.log`, and without a `clock` line on the clock `printk`.
pub fn record(text: &str) -> Record {
    let mut rec = Recorder::new();
    let mut source = None;
    let mut clock: Option<ClockId> = None;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let at = offset;
        offset += line.len() as u64;
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let rest = |n: usize| line.splitn(n + 1, ' ').nth(n).unwrap_or("").trim();
        if words[0] == "source" {
            let format = leak(words[2]);
            source = Some(rec.source(words[1], format));
            continue;
        }
        if words[0] == "clock" {
            clock = Some(rec.clock(words[1], kind(words[2]), 1));
            continue;
        }
        let source = *source.get_or_insert_with(|| rec.source("test.log", "kernel-log"));
        let on = *clock.get_or_insert_with(|| rec.clock("printk", ClockKind::Printk, 1));
        let origin = Origin { source, offset: at };
        match words[0] {
            "relate" => {
                let a = rec.clock(words[1], ClockKind::Wall, 1);
                let b = rec.clock(words[3], ClockKind::Wall, 1);
                let (at_a, at_b) = (time(words[2]).unwrap(), time(words[4]).unwrap());
                rec.relate((a, at_a), (b, at_b), 1_000, Some(origin));
            }
            "mark" => {
                let begins = words.get(3).and_then(|p| phase(p));
                let name = words[2].replace('~', " ");
                rec.mark(on, &name, time(words[1]).unwrap(), begins, origin);
            }
            "span" => {
                let kind = SpanKind::ALL.into_iter().find(|k| k.as_str() == words[1]);
                // A module's initcall is two words: `fuse_init [fuse]`.
                let first = words[4].replace('~', " ");
                let module = words.get(5).filter(|w| w.starts_with('['));
                let name = match module {
                    Some(module) => rec.name(&format!("{first} {module}")),
                    None => rec.name(&first),
                };
                let value = |key: &str| {
                    let mut found = words[5..].iter().filter_map(|w| w.split_once('='));
                    found.find(|(k, _)| *k == key).map(|(_, v)| v.to_owned())
                };
                let track = value("track").map(|t| rec.name(&format!("task {t}")));
                let span = rec.span_of(on, kind.unwrap(), name, origin);
                rec.span(
                    span.start(time(words[2]))
                        .end(time(words[3]))
                        .track(track)
                        .reported(value("reported").and_then(|t| time(&t)))
                        .outcome(value("outcome").map(|o| o.parse().unwrap()))
                        .doubt(value("doubt").and_then(|d| doubt(&d))),
                );
            }
            "say" => {
                let level = words[2].parse().ok();
                rec.message(on, time(words[1]), level, rest(3), origin);
            }
            "after" => rec.dependency(words[1], words[2], DependencyKind::After, origin),
            "fact" => rec.fact(words[1], rest(2), origin),
            "note" => {
                let kind = note(words[1], words[2], rest(4));
                let count: u64 = words[3].parse().unwrap();
                rec.skipped(origin, &kind);
                for _ in 1..count {
                    rec.skipped(origin, &kind);
                }
                continue;
            }
            other => panic!("no such event: {other}"),
        }
        rec.took(source);
    }
    rec.finish()
}
