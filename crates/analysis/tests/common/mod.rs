//! Records by hand, in a tiny text form, one event a line:
//!
//! ```text
//! source boot.log kernel-log          what follows is from this source
//! clock printk printk                 and on this clock (name, kind; a step, if it is coarse)
//! relate serial 1.5s printk 0s        two clocks, read at one instant
//! mark 0s kernel-start kernel         an instant; `-`: begins no phase
//! span initcall 1ms 2ms foo_init reported=3us doubt=overlap outcome=-517 track=1 cpu=1ms
//! say 1.5s 6 any text                 a message of level 6
//! after a.service b.service           a unit that is ordered after another
//! wants a.service b.service           a unit that pulls in another
//! request read 8 4096 1ms 2ms 3ms     of sector 8, 4096 bytes: queued, issued, completed;
//!                                     then device=179:0 error=-5 pid=7, if not 8:0,
//!                                     success and unknown
//! open 1ms /etc/fstab                 a file is opened
//! open-by 7 1ms /etc/fstab            by process 7
//! fact kernel.cmdline quiet root=x    holds for the whole boot
//! note data_loss lost_thing 3 what it means
//! slice 7 running 1ms 2ms             what task 7 did
//! wake 1ms 7 8                        task 7 woke task 8
//! process 7 sh 1ms 2ms parent=1       a life; then command=/bin/sh, or kernel: a task of it
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
    ClockId, ClockKind, DependencyKind, Doubt, Nanos, NoteKind, Origin, Phase, Record, Recorder,
    Severity, SpanKind, TaskState,
};

/// One processor, every switch of tasks and every wake: `settle` waits for the work of
/// `udevd`, and only then `last` begins, which runs at once, before the first process goes on.
pub const SETTLES: &str = "\
source trace.dat trace.dat
clock boot monotonic
mark 0s kernel-start kernel
mark 1s userspace-start userspace
mark 2s first-light -
say 500ms 6 smp: Brought up 1 node, 1 CPU
process 1 init 0ms -
process 7 settle 1040ms 1720ms parent=1
process 8 udevd 1020ms - parent=1
process 9 last 1730ms 1960ms parent=1
slice 1 running 1000ms 1100ms
slice 8 runnable 1020ms 1110ms
slice 7 runnable 1040ms 1100ms
slice 7 running 1100ms 1110ms
slice 8 running 1110ms 1710ms
wake 1710ms 8 7
slice 7 running 1710ms 1720ms
wake 1720ms 7 1
slice 1 running 1720ms 1735ms
slice 9 runnable 1730ms 1735ms
slice 9 running 1735ms 1740ms
slice 1 runnable 1735ms 1740ms
slice 1 running 1740ms 1760ms
wake 1760ms 1 9
slice 9 running 1760ms 1960ms
wake 1960ms 9 1
slice 1 running 1960ms 2000ms
span unit 1020ms 1090ms udevd.service
span unit 1040ms 1725ms systemd-udev-settle.service
span unit 1730ms 1965ms last.service
span unit 1970ms 1970ms multi-user.target
after systemd-udev-settle.service udevd.service
after last.service systemd-udev-settle.service
after multi-user.target last.service
";

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

fn state(word: &str) -> TaskState {
    let states = [
        TaskState::Running,
        TaskState::Runnable,
        TaskState::Blocked,
        TaskState::Sleeping,
    ];
    states.into_iter().find(|s| s.as_str() == word).unwrap()
}

fn doubt(word: &str) -> Option<Doubt> {
    let doubts = [
        Doubt::Overlap,
        Doubt::JiffyClock,
        Doubt::Console,
        Doubt::LostStart,
        Doubt::LostEnd,
        Doubt::TickClock,
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

/// `read 8 4096 1ms 2ms 3ms`: a write is one of metadata, which somebody waits for.
fn request(words: &[&str], clock: ClockId, origin: Origin) -> record::Request {
    let all = record::Operation::ALL;
    let operation = all.into_iter().find(|o| o.as_str() == words[1]).unwrap();
    let at = |n: usize| time(words[n]).map(Nanos).into();
    let is_write = operation == record::Operation::Write;
    let more = |key: &str| words.iter().find_map(|w| w.strip_prefix(key));
    let device = more("device=").unwrap_or("8:0").split_once(':').unwrap();
    record::Request {
        device: record::Device {
            major: device.0.parse().unwrap(),
            minor: device.1.parse().unwrap(),
        },
        operation,
        sector: words[2].parse().unwrap(),
        bytes: words[3].parse().unwrap(),
        queued: at(4),
        issued: at(5),
        reissued: None.into(),
        completed: at(6),
        merged: 0,
        read_ahead: false,
        metadata: is_write,
        sync: is_write,
        error: more("error=").map_or(0, |e| e.parse().unwrap()),
        pid: more("pid=").map(|p| p.parse().unwrap()),
        task: None,
        origin,
        clock,
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
            let step = words.get(3).map_or(1, |s| time(s).unwrap().unsigned_abs());
            clock = Some(rec.clock(words[1], kind(words[2]), step));
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
                        .processor(value("cpu").and_then(|t| time(&t)))
                        .doubt(value("doubt").and_then(|d| doubt(&d))),
                );
            }
            "say" => {
                let level = words[2].parse().ok();
                rec.message(on, time(words[1]), level, rest(3), origin);
            }
            "wants" => rec.dependency(words[1], words[2], DependencyKind::Wants, origin),
            "request" => {
                let task = words.iter().find_map(|w| w.strip_prefix("task="));
                let task = task.map(|t| rec.name(t));
                rec.request(record::Request {
                    task,
                    ..request(&words, on, origin)
                });
            }
            "open" | "open-by" | "miss-by" => {
                // The process stands before the time.
                let is_by = usize::from(words[0] != "open");
                let pid = (is_by == 1).then(|| words[1].parse().unwrap());
                let path = rec.name(rest(2 + is_by));
                rec.access(record::Access {
                    kind: match words[0] {
                        "miss-by" => record::AccessKind::Miss,
                        _ => record::AccessKind::Open,
                    },
                    device: None,
                    inode: None,
                    path: Some(path),
                    offset: 0,
                    bytes: 0,
                    at: Nanos(time(words[1 + is_by]).unwrap()),
                    took: None.into(),
                    pid,
                    task: None,
                    origin,
                    clock: on,
                });
            }
            "after" => rec.dependency(words[1], words[2], DependencyKind::After, origin),
            "slice" => rec.slice(record::Slice {
                pid: words[1].parse().unwrap(),
                state: state(words[2]),
                start: Nanos(time(words[3]).unwrap()),
                end: Nanos(time(words[4]).unwrap()),
                busy: None,
                cpu: Some(0),
                origin,
                clock: on,
            }),
            "wake" => rec.wake(record::Wake {
                at: Nanos(time(words[1]).unwrap()),
                by: words[2].parse().unwrap(),
                pid: words[3].parse().unwrap(),
                origin,
                clock: on,
            }),
            "process" => {
                let name = rec.name(words[2]);
                let (start, end) = (time(words[3]), time(words[4]));
                let parent = words.get(5).and_then(|w| w.strip_prefix("parent="));
                let command = words.iter().find_map(|w| w.strip_prefix("command="));
                let command = command.map(|c| rec.name(c));
                rec.process(record::Process {
                    pid: words[1].parse().unwrap(),
                    parent: parent.map(|p| p.parse().unwrap()),
                    name,
                    command,
                    start: start.map(Nanos),
                    end: end.map(Nanos),
                    first_seen: Nanos(start.unwrap_or(0)),
                    last_seen: Nanos(end.or(start).unwrap_or(0)),
                    user: None,
                    system: None,
                    kernel_thread: words.contains(&"kernel"),
                    exit: None,
                    origin,
                    clock: on,
                });
            }
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
