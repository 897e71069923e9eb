//! What a loader timed, whatever form it came in.

use super::notes::{COUNTER, OTHER_REPORT};
use record::{ClockId, ClockKind, Nanos, Origin, Phase, Recorder, SourceId, SpanKind, mark};

/// The clock that firmware and loaders read: the processor's counter, which
/// runs since its reset.
const CLOCK: &str = "counter";

/// Times are in microseconds.
const STEP_NS: u64 = 1_000;

/// A counter that shows more than this at the first mark ran before the loader
/// set it: from reset. A loader that starts its own timer marks its first stage
/// some microseconds later.
const FROM_RESET_US: u64 = 1_000;

/// The name of the mark that U-Boot makes at zero.
const RESET: &str = "reset";

/// The names of the marks at which a loader hands over to the kernel.
const HANDOFF: &str = "start_kernel";

/// What a loader timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Time {
    /// When it passed a mark, in microseconds of its counter.
    Mark(u64),
    /// How long it was at something, all times together, in microseconds.
    Accumulated(u64),
}

/// A record of a loader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub name: String,
    pub time: Time,
    pub origin: Origin,
}

/// All records of one boot. Reports that were printed one after the other are
/// brought together: a later one has what an earlier one has, and more.
#[derive(Debug, Default)]
pub(super) struct Table {
    entries: Vec<Entry>,
}

impl Table {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The latest mark.
    pub(super) fn last(&self) -> Option<(&str, u64)> {
        let marks = self.entries.iter().filter_map(|e| match e.time {
            Time::Mark(us) => Some((us, e.name.as_str())),
            Time::Accumulated(_) => None,
        });
        marks.max_by_key(|m| m.0).map(|(us, name)| (name, us))
    }

    /// Whether the loader says in it that it hands over to the kernel.
    pub(super) fn is_final(&self) -> bool {
        self.last().is_some_and(|(name, _)| name == HANDOFF)
    }

    /// Takes another report. `false` if it is not of the same boot: it lacks a
    /// mark, or has it at another time.
    pub(super) fn merge(&mut self, report: Vec<Entry>) -> bool {
        let marks = |entries: &[Entry]| -> Vec<(String, Time)> {
            let marks = entries.iter().filter(|e| matches!(e.time, Time::Mark(_)));
            let mut marks: Vec<_> = marks.map(|e| (e.name.clone(), e.time)).collect();
            marks.sort_by(|a, b| a.0.cmp(&b.0).then(key(a.1).cmp(&key(b.1))));
            marks
        };
        let mut new = marks(&report).into_iter();
        if !marks(&self.entries)
            .iter()
            .all(|old| new.any(|n| n == *old))
        {
            return false;
        }
        // The evidence of what was there before stays the first.
        let mut known = std::mem::take(&mut self.entries);
        for mut entry in report {
            let same = |k: &Entry| match (k.time, entry.time) {
                (Time::Mark(_), Time::Mark(_)) => (&k.name, k.time) == (&entry.name, entry.time),
                (Time::Accumulated(_), Time::Accumulated(_)) => k.name == entry.name,
                _ => false,
            };
            if let Some(at) = known.iter().position(same)
                && matches!(entry.time, Time::Mark(_))
            {
                entry.origin = known.swap_remove(at).origin;
            }
            self.entries.push(entry);
        }
        true
    }

    /// Records the marks, what lay between them, and what was accumulated.
    pub(super) fn record(self, clock: ClockId, recorder: &mut Recorder) {
        let mut marks: Vec<(u64, &Entry)> = Vec::new();
        for entry in &self.entries {
            match entry.time {
                Time::Mark(us) => marks.push((us, entry)),
                Time::Accumulated(us) => {
                    let name = recorder.name(&entry.name);
                    let span = recorder
                        .span_of(clock, SpanKind::Stage, name, entry.origin)
                        .reported(Some(ns(us)));
                    recorder.span(span);
                }
            }
        }
        marks.sort_by_key(|m| m.0);
        let mut before: Option<(u64, String)> = None;
        let mut seen: Vec<(&str, u32)> = Vec::new();
        let own = marks.iter().position(|m| m.1.name != RESET);
        for (at, (us, entry)) in marks.iter().enumerate() {
            let (us, origin) = (*us, entry.origin);
            // Several phases of a loader mark their ends by the same words.
            let count = match seen.iter_mut().find(|s| s.0 == entry.name) {
                Some(known) => {
                    known.1 += 1;
                    known.1
                }
                None => {
                    seen.push((&entry.name, 1));
                    1
                }
            };
            let name = match count {
                1 => entry.name.clone(),
                n => format!("{} ({n})", entry.name),
            };
            let begins = if entry.name == RESET {
                let first = own.and_then(|at| marks.get(at)).map(|m| m.0);
                let from_reset = us == 0 && first.is_some_and(|f| f >= FROM_RESET_US);
                if from_reset {
                    let firmware = Some(Phase::Firmware);
                    recorder.mark(clock, mark::POWER_ON, 0, firmware, origin);
                    recorder.note(origin, &COUNTER, String::new);
                }
                None
            } else if entry.name == HANDOFF {
                Some(Phase::Decompression)
            } else if own.is_some_and(|own| at >= own) {
                Some(Phase::Loader)
            } else {
                None
            };
            recorder.mark(clock, &name, ns(us), begins, origin);
            if let Some((from, what)) = before.replace((us, name.clone())) {
                step(clock, (from, &what), (us, &name), origin, recorder);
            }
        }
    }

    /// Notes a report that was not taken.
    pub(super) fn refuse(origin: Origin, recorder: &mut Recorder) {
        recorder.note(origin, &OTHER_REPORT, String::new);
    }
}

fn key(time: Time) -> u64 {
    match time {
        Time::Mark(us) | Time::Accumulated(us) => us,
    }
}

/// The clock that firmware and loaders read.
pub(crate) fn clock(recorder: &mut Recorder) -> ClockId {
    recorder.clock(CLOCK, ClockKind::Counter, STEP_NS)
}

/// Records the time between two marks.
pub(crate) fn step(
    clock: ClockId,
    (from, before): (u64, &str),
    (to, after): (u64, &str),
    origin: Origin,
    recorder: &mut Recorder,
) {
    let name = recorder.name(&format!("{before} -> {after}"));
    let span = recorder
        .span_of(clock, SpanKind::Stage, name, origin)
        .start(Some(ns(from)))
        .end(Some(ns(to)));
    recorder.span(span);
}

/// Microseconds as nanoseconds; 292 years are the most.
pub(crate) fn ns(us: u64) -> i64 {
    Nanos::from_micros(i64::try_from(us).unwrap_or(i64::MAX)).get()
}

/// A table that one source has from one file.
pub(super) fn alone(table: Table, recorder: &mut Recorder) {
    if !table.is_empty() {
        let clock = clock(recorder);
        table.record(clock, recorder);
    }
}

/// An entry's place in a file.
pub(super) fn at(source: SourceId, offset: usize) -> Origin {
    Origin {
        source,
        offset: offset as u64,
    }
}
