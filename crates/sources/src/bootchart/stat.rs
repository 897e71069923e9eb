//! `proc_stat.log`: what the processors did, from /proc/stat.

use super::blocks::{Piece, pieces};
use super::log::{Found, Log, permille};
use super::notes as note;
use crate::text::{self, Line};
use record::{Recorder, SeriesId, Unit};

/// Time of all processors since the boot, in ticks, by what they did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ticks {
    /// In the order of /proc/stat: user, nice, system, idle, iowait, irq,
    /// softirq, steal, guest, guest_nice. Kernel 2.4 has four.
    fields: [u64; FIELDS.len()],
}

const FIELDS: [&str; 10] = [
    "user",
    "nice",
    "system",
    "idle",
    "iowait",
    "irq",
    "softirq",
    "steal",
    "guest",
    "guest_nice",
];

/// The series, and which fields each sums up. Guests' time is part of `user`
/// and `nice` already.
const SERIES: [(&str, &[usize]); 5] = [
    ("cpu.user", &[0, 1]),
    ("cpu.system", &[2, 5, 6]),
    ("cpu.idle", &[3]),
    ("cpu.iowait", &[4]),
    ("cpu.steal", &[7]),
];

impl Ticks {
    /// The ticks of the line `cpu  56 0 880 ...`.
    fn of(line: &[u8]) -> Option<Self> {
        let mut rest = line.strip_prefix(b"cpu")?;
        if !rest.starts_with(b" ") {
            return None;
        }
        let mut ticks = Self::default();
        let mut count = 0_usize;
        for field in &mut ticks.fields {
            rest = text::without_indent(rest);
            let Some((value, tail)) = text::number(rest) else {
                break;
            };
            *field = value;
            count += 1;
            rest = tail;
        }
        (count >= 4).then_some(ticks)
    }

    /// Of all processors together.
    pub(super) fn total(&self) -> u64 {
        let all = SERIES.iter().map(|(_, fields)| self.sum(fields));
        all.fold(0, u64::saturating_add)
    }

    fn sum(&self, fields: &[usize]) -> u64 {
        let of = fields.iter().filter_map(|&f| self.fields.get(f));
        of.fold(0, |a, b| a.saturating_add(*b))
    }

    /// What was added since `before`, and whether anything went back.
    fn since(&self, before: &Self) -> (Self, bool) {
        let mut delta = Self::default();
        let mut back = false;
        let pairs = self.fields.iter().zip(&before.fields);
        for (d, (now, then)) in delta.fields.iter_mut().zip(pairs) {
            back |= now < then;
            *d = now.saturating_sub(*then);
        }
        (delta, back)
    }
}

/// What other logs need of this one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Machine {
    /// How many processors there are.
    pub cpus: u64,
    /// The first sample: when, and the time of all processors until then.
    pub first: Option<(i64, u64)>,
}

/// What the kernel took for the time of the boot, while it did: setting the
/// time of day moves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BootTime {
    /// In seconds since 1970.
    pub time_s: u64,
    /// The first and the last sample that say so.
    pub samples: (i64, i64),
}

/// One sample of /proc/stat.
#[derive(Debug, Default)]
struct Sample {
    ticks: Option<Ticks>,
    cpus: u64,
    boot_time: Option<u64>,
    /// Forks since the boot.
    forks: Option<u64>,
    running: Option<u64>,
    blocked: Option<u64>,
}

impl Sample {
    fn line(&mut self, line: Line<'_>) {
        let bytes = line.bytes.trim_ascii();
        if let Some(ticks) = Ticks::of(bytes) {
            self.ticks = Some(ticks);
            return;
        }
        if bytes.starts_with(b"cpu") {
            self.cpus += 1;
            return;
        }
        let value = |key: &[u8]| {
            let rest = bytes.strip_prefix(key)?.strip_prefix(b" ")?;
            text::number(rest).map(|(value, _)| value)
        };
        if let Some(time) = value(b"btime") {
            self.boot_time = Some(time);
        } else if let Some(forks) = value(b"processes") {
            self.forks = Some(forks);
        } else if let Some(running) = value(b"procs_running") {
            self.running = Some(running);
        } else if let Some(blocked) = value(b"procs_blocked") {
            self.blocked = Some(blocked);
        }
    }
}

/// Looks at the first sample only.
pub(super) fn first(bytes: &[u8]) -> Machine {
    let mut machine = Machine::default();
    for piece in pieces(bytes) {
        let Piece::Block(block) = piece else {
            continue;
        };
        let mut sample = Sample::default();
        block.lines().for_each(|line| sample.line(line));
        if let Some(ticks) = sample.ticks {
            machine.cpus = sample.cpus.max(1);
            machine.first = Some((block.at, ticks.total()));
            break;
        }
    }
    machine
}

/// Records series of what the processors did: thousandths of all of them since
/// the sample before. Gives the times of the boot.
pub(super) fn read(log: &Log<'_>, recorder: &mut Recorder) -> Vec<BootTime> {
    let mut boot_times: Vec<BootTime> = Vec::new();
    let mut series: Vec<SeriesId> = Vec::new();
    let mut tasks: Option<[SeriesId; 2]> = None;
    let mut first: Option<(Ticks, Option<u64>)> = None;
    let mut last: Option<(i64, Ticks)> = None;
    let mut forks = None;
    let mut cpus = 0;
    log.each_sample(recorder, |block, recorder| {
        let mut sample = Sample::default();
        block.lines().for_each(|line| sample.line(line));
        let Some(ticks) = sample.ticks else {
            return Found::Nothing;
        };
        let origin = log.origin(block.offset);
        if let Some(time_s) = sample.boot_time {
            match boot_times.last_mut() {
                // The kernel computes it anew each time, and rounds.
                Some(same) if same.time_s.abs_diff(time_s) <= 1 => same.samples.1 = block.at,
                _ => boot_times.push(BootTime {
                    time_s,
                    samples: (block.at, block.at),
                }),
            }
        }
        cpus = cpus.max(sample.cpus);
        forks = sample.forks.or(forks);
        if let (Some(running), Some(blocked)) = (sample.running, sample.blocked) {
            let ids = *tasks.get_or_insert_with(|| {
                ["tasks.running", "tasks.blocked"].map(|name| {
                    let name = recorder.name(name);
                    recorder.series(log.clock, (name, None), Unit::Count, origin)
                })
            });
            for (id, value) in ids.into_iter().zip([running, blocked]) {
                recorder.sample(id, block.at, i64::try_from(value).unwrap_or(i64::MAX));
            }
        }
        let Some((then, before)) = last else {
            first = Some((ticks, sample.forks));
            last = Some((block.at, ticks));
            return Found::Events;
        };
        let (delta, back) = ticks.since(&before);
        if back {
            recorder.note(origin, &note::COUNTER_BACK, String::new);
        }
        let total = delta.total();
        if block.at <= then || total == 0 {
            // Less than a tick apart: the next one tells more.
            return Found::Events;
        }
        if series.is_empty() {
            series.extend(SERIES.map(|(name, _)| {
                let name = recorder.name(name);
                recorder.series(log.clock, (name, None), Unit::Permille, origin)
            }));
        }
        for (id, (_, fields)) in series.iter().zip(SERIES) {
            recorder.sample(*id, block.at, permille(delta.sum(fields), total));
        }
        last = Some((block.at, ticks));
        Found::Events
    });
    if let (Some((first, first_forks)), Some((_, last))) = (first, last) {
        log.fact("cpus", cpus.max(1), recorder);
        let (delta, _) = last.since(&first);
        for (name, ticks) in FIELDS.iter().zip(delta.fields) {
            log.fact(&format!("{name}_ticks"), ticks, recorder);
        }
        if let (Some(first), Some(last)) = (first_forks, forks) {
            log.fact("forks", last.saturating_sub(first), recorder);
        }
    }
    boot_times
}
