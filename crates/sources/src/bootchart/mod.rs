//! Bootcharts: /proc files sampled over a boot.
//!
//! One form since 2004, written by many: bootchartd (a shell script), bootchart2
//! (a program in C), BusyBox' `bootchartd`, Android's init, and this project's
//! own agent. A gzipped tar holds them, or they lie side by side:
//!
//! | member | what it is |
//! |---|---|
//! | `header` | `key = value` |
//! | `proc_stat.log`, `proc_diskstats.log`, `proc_meminfo.log` | samples of the /proc file |
//! | `proc_ps.log` | samples of every /proc/PID/stat |
//! | `taskstats.log` | in its place in bootchart2: processor time and waits |
//! | `kernel_pacct` | process accounting, binary |
//! | `paternity.log`, `cmdline2.log` | forks and execs, in bootchart2 |
//! | `dmesg` | a kernel log, read as one |
//!
//! A sample is a line with the time since the boot in hundredths of a second,
//! the lines of the file, and a blank line. Units of the ledger are samples;
//! of the other members entries, records or lines.

mod accounting;
mod blocks;
mod disks;
mod header;
mod lists;
mod lives;
mod log;
mod memory;
mod notes;
mod ps;
mod stat;
mod taskstats;

use crate::kernel_log::KernelLog;
use crate::source::{Input, SNIFF_BYTES, Sniff, Source};
use crate::text;
use crate::unpack::{self, GZIP_MAGIC, MOST_UNPACKED, Problem};
use blocks::TICK_NS;
use log::Log;
use notes as note;
use record::{ClockKind, Nanos, Origin, Recorder, mark};

/// A bootchart: its archive, or its files one by one.
///
/// Stamps are on the clock `monotonic` (/proc/uptime, which also counts time
/// asleep; a boot does not sleep), or on a clock of their own if the collector
/// was started by hand and counts from then.
#[derive(Debug)]
pub struct Bootchart;

/// What a file of a bootchart is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Header,
    Stat,
    Disks,
    Memory,
    Processes,
    Tasks,
    Accounting,
    Parents,
    Commands,
    KernelLog,
}

/// The files' usual names.
const NAMES: [(&str, Kind); 10] = [
    ("header", Kind::Header),
    ("proc_stat.log", Kind::Stat),
    ("proc_diskstats.log", Kind::Disks),
    ("proc_meminfo.log", Kind::Memory),
    ("proc_ps.log", Kind::Processes),
    ("taskstats.log", Kind::Tasks),
    ("kernel_pacct", Kind::Accounting),
    ("paternity.log", Kind::Parents),
    ("cmdline2.log", Kind::Commands),
    ("dmesg", Kind::KernelLog),
];

impl Kind {
    /// By the file's name.
    fn named(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next()?;
        let known = NAMES.iter().find(|(n, _)| *n == name)?;
        Some(known.1)
    }

    /// Whether it is a log of samples.
    const fn is_sampled(self) -> bool {
        matches!(
            self,
            Self::Stat | Self::Disks | Self::Memory | Self::Processes | Self::Tasks
        )
    }

    /// By what the file holds.
    fn sniffed(head: &[u8]) -> Option<(Self, Sniff)> {
        let sure = |kind| Some((kind, Sniff::Yes));
        match accounting::sniff(head) {
            Sniff::No => {}
            found => return Some((Self::Accounting, found)),
        }
        let mut lines = text::lines(head)
            .map(|l| l.bytes)
            .filter(|l| !l.trim_ascii().is_empty());
        let first = lines.next()?;
        if blocks::stamp(first).is_some() {
            // Samples may hold nothing.
            let line = lines.take(100).find(|l| blocks::stamp(l).is_none())?;
            return match line {
                l if l.starts_with(b"cpu ") => sure(Self::Stat),
                l if l.starts_with(b"MemTotal:") => sure(Self::Memory),
                l if l.starts_with(b":") => sure(Self::Commands),
                l if ps::Stat::of(l).is_some() => sure(Self::Processes),
                l if disks::is_disk(l) => sure(Self::Disks),
                l if taskstats::is_task(l) => sure(Self::Tasks),
                _ => None,
            };
        }
        if lists::pair(first).is_some() {
            let mut rest = lines.take(20).peekable();
            let all = rest.peek().is_some() && rest.all(|l| lists::pair(l).is_some());
            return all.then_some((Self::Parents, Sniff::Maybe));
        }
        let key = |line: &[u8]| {
            let line = text::lossy(line);
            header::key_and_value(&line).map(|(k, _)| k.to_owned())
        };
        let known = |k: &str| k.starts_with("system.") || matches!(k, "title" | "profile.process");
        if key(first)? == "version" && lines.take(8).filter_map(key).any(|k| known(&k)) {
            return sure(Self::Header);
        }
        None
    }
}

impl Source for Bootchart {
    fn name(&self) -> &'static str {
        "bootchart"
    }

    fn description(&self) -> &'static str {
        "bootchart archive or one of its logs: `bootchart2`, `bootchartd`, or Android's bootchart"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        let of_tar = |tar: &[u8]| {
            let (members, _) = unpack::members(tar);
            let known = |m: &unpack::Member| Kind::named(&m.name).is_some();
            let capture = |m: &unpack::Member| m.name == agent::capture::MANIFEST;
            if members.iter().any(known) && !members.iter().any(capture) {
                Sniff::Yes
            } else {
                Sniff::No
            }
        };
        if head.starts_with(GZIP_MAGIC) {
            let tar = unpack::gunzip(head, SNIFF_BYTES).bytes;
            return if unpack::is_tar(&tar) {
                of_tar(&tar)
            } else {
                Sniff::No
            };
        }
        if unpack::is_tar(head) {
            return of_tar(head);
        }
        Kind::sniffed(head).map_or(Sniff::No, |(_, sure)| sure)
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        self.read_all(&[input], recorder);
    }

    /// An archive is a boot; files that are given one by one are one boot
    /// together.
    fn read_all(&self, inputs: &[Input<'_>], recorder: &mut Recorder) {
        let mut loose: Vec<Part<'_>> = Vec::new();
        for &input in inputs {
            if input.bytes.starts_with(GZIP_MAGIC) {
                let unpacked = unpack::gunzip(input.bytes, MOST_UNPACKED);
                archive(input.name, &unpacked.bytes, unpacked.problem, recorder);
            } else if unpack::is_tar(input.bytes) {
                archive(input.name, input.bytes, None, recorder);
            } else {
                let head = input.bytes.get(..SNIFF_BYTES).unwrap_or(input.bytes);
                let kind = Kind::named(input.name).or(Kind::sniffed(head).map(|(k, _)| k));
                match kind {
                    Some(kind) => loose.push(Part {
                        kind,
                        name: input.name.to_owned(),
                        bytes: input.bytes,
                    }),
                    None => nothing(input, recorder),
                }
            }
        }
        boot(&loose, recorder);
    }
}

/// An input in which nothing was found.
fn nothing(input: Input<'_>, recorder: &mut Recorder) {
    let source = recorder.source(input.name, Bootchart.name());
    if !input.bytes.is_empty() {
        let origin = Origin { source, offset: 0 };
        recorder.skipped(origin, &note::MEMBER_NOT_READ);
    }
}

/// A file of a bootchart.
struct Part<'a> {
    kind: Kind,
    name: String,
    bytes: &'a [u8],
}

/// Reads an archive. It is a source itself: its units are members.
fn archive(name: &str, tar: &[u8], problem: Option<Problem>, recorder: &mut Recorder) {
    let source = recorder.source(name, Bootchart.name());
    let origin = |offset: usize| Origin {
        source,
        offset: offset as u64,
    };
    let (members, whole) = unpack::members(tar);
    match problem {
        Some(Problem::TooLarge) => recorder.note(origin(0), &note::ARCHIVE_TOO_LARGE, String::new),
        Some(Problem::Damaged) => recorder.note(origin(0), &note::ARCHIVE_DAMAGED, String::new),
        None if !whole => recorder.note(origin(0), &note::ARCHIVE_DAMAGED, String::new),
        None => {}
    }
    let mut parts = Vec::new();
    for member in members {
        let bytes = tar.get(member.place.clone()).unwrap_or_default();
        let kind = Kind::named(&member.name);
        match kind.filter(|_| !bytes.is_empty()) {
            Some(kind) => {
                let name = format!("{name}/{}", member.name.trim_start_matches("./"));
                parts.push(Part { kind, name, bytes });
                recorder.took(source);
            }
            None => recorder.skipped(origin(member.place.start), &note::MEMBER_NOT_READ),
        }
    }
    boot(&parts, recorder);
}

/// Reads the files of one boot.
fn boot(parts: &[Part<'_>], recorder: &mut Recorder) {
    if parts.is_empty() {
        return;
    }
    let machine = of_kind(parts, Kind::Stat).next();
    let machine = machine.map_or_else(stat::Machine::default, |p| stat::first(p.bytes));
    let births = of_kind(parts, Kind::Processes).next();
    let births = births.map_or_else(ps::Births::default, |p| ps::Births::of(p.bytes));
    let relative =
        is_relative(&machine) || machine.first.is_none() && births.offset > MOST_DRIFT_NS;
    let clock = if relative {
        recorder.clock("bootchart", ClockKind::Monotonic, TICK_NS.unsigned_abs())
    } else {
        recorder.clock("monotonic", ClockKind::Monotonic, TICK_NS.unsigned_abs())
    };
    let mut first: Option<(i64, Origin)> = None;
    let mut announce = |part: &Part<'_>, recorder: &mut Recorder| {
        let source = recorder.source(&part.name, Bootchart.name());
        let at = part.kind.is_sampled().then(|| stamps(part.bytes).next());
        if let Some(at) = at.flatten()
            && first.is_none_or(|(f, _)| at < f)
        {
            first = Some((at, Origin { source, offset: 0 }));
        }
        source
    };
    let mut processes = Vec::new();
    let mut boot_times = Vec::new();
    for part in parts {
        let log = |name, source| Log {
            bytes: part.bytes,
            source,
            clock,
            name,
            empty: match part.kind {
                Kind::Tasks => &note::QUIET_SAMPLE,
                _ => &note::EMPTY_SAMPLE,
            },
        };
        match part.kind {
            Kind::Header => header::read(part.bytes, announce(part, recorder), recorder),
            Kind::Stat => {
                let log = log("proc_stat", announce(part, recorder));
                boot_times = stat::read(&log, recorder);
            }
            Kind::Disks => disks::read(&log("proc_diskstats", announce(part, recorder)), recorder),
            Kind::Memory => memory::read(&log("proc_meminfo", announce(part, recorder)), recorder),
            Kind::Processes => {
                let log = log("proc_ps", announce(part, recorder));
                processes.extend(ps::read(&log, births, recorder));
                if births.offset != 0 {
                    let detail = || {
                        format!(
                            "by {}, within {}",
                            Nanos(births.offset),
                            Nanos(births.error)
                        )
                    };
                    recorder.note(log.origin(0), &note::BIRTHS_MOVED, detail);
                }
            }
            Kind::Tasks => {
                let log = log("taskstats", announce(part, recorder));
                processes.extend(taskstats::read(&log, recorder));
            }
            Kind::KernelLog => KernelLog.read(
                Input {
                    name: &part.name,
                    bytes: part.bytes,
                },
                recorder,
            ),
            Kind::Accounting | Kind::Parents | Kind::Commands => {}
        }
    }
    let (mut commands, mut parents) = Default::default();
    for part in parts {
        match part.kind {
            Kind::Commands => {
                commands = lists::command_lines(part.bytes, announce(part, recorder), recorder);
            }
            Kind::Parents => {
                parents = lists::parents(part.bytes, announce(part, recorder), recorder);
            }
            _ => {}
        }
    }
    lists::apply(&mut processes, &commands, &parents);
    for part in of_kind(parts, Kind::Accounting) {
        let around = accounting::Around {
            source: announce(part, recorder),
            clock,
            boot_times: &boot_times,
        };
        accounting::read(part.bytes, around, &mut processes, recorder);
    }
    for process in processes {
        recorder.process(process);
    }
    let Some((at, origin)) = first else {
        return;
    };
    if relative {
        recorder.note(origin, &note::RELATIVE_STAMPS, String::new);
        recorder.mark(clock, "collector-started", 0, None, origin);
    } else {
        recorder.mark(clock, mark::KERNEL_CLOCK_START, 0, None, origin);
    }
    recorder.mark(clock, "first-sample", at, None, origin);
}

fn of_kind<'p, 'a>(
    parts: &'p [Part<'a>],
    kind: Kind,
) -> impl Iterator<Item = &'p Part<'a>> + use<'p, 'a> {
    parts.iter().filter(move |p| p.kind == kind)
}

/// How far ticks and uptime of an old kernel may drift apart.
const MOST_DRIFT_NS: i64 = 10_000_000_000;

/// Whether the processors had run for longer at the first sample than its
/// stamp says, so that stamps do not count from the boot. Ticks that nobody
/// counted (a processor that was off) only make that time shorter.
fn is_relative(machine: &stat::Machine) -> bool {
    const AT_LEAST_NS: u64 = 5_000_000_000;
    let Some((at, ticks)) = machine.first else {
        return false;
    };
    let ran = ticks / machine.cpus.max(1);
    let ran = ran.saturating_mul(TICK_NS.unsigned_abs());
    ran > at
        .unsigned_abs()
        .saturating_mul(2)
        .saturating_add(AT_LEAST_NS)
}

/// The stamps of a log.
fn stamps(log: &[u8]) -> impl Iterator<Item = i64> {
    blocks::pieces(log).filter_map(|piece| match piece {
        blocks::Piece::Block(block) => Some(block.at),
        _ => None,
    })
}
