//! Counts and sums, by kind.

use crate::processes;
use crate::row::BlameKind;
use crate::spans;
use record::{Nanos, Record, Span, SpanKind};
use std::collections::BTreeSet;

/// The error number of a deferred probe, `EPROBE_DEFER`. Logs show it with
/// both signs.
const EPROBE_DEFER: u32 = 517;

/// Facts on all things of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindSummary {
    /// What kind of thing.
    pub kind: BlameKind,
    /// How many there are.
    pub count: usize,
    /// The sum of their durations; of processes: of the processor time that
    /// they used. Overlapping things are counted twice.
    pub sum: Nanos,
    /// How long at least one of them ran, by the stamps; 0 for processes, of
    /// which one always lives.
    pub busy: Nanos,
}

/// Facts on the spans of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// One for each kind that occurs, in the order of output.
    pub kinds: Vec<KindSummary>,
    /// Probes that were put off (`EPROBE_DEFER`).
    pub deferrals: usize,
    /// On how many devices.
    pub deferred_devices: usize,
    /// How long the probes that were put off took, together.
    pub deferral_time: Nanos,
}

pub(crate) fn is_deferral(span: &Span) -> bool {
    span.kind == SpanKind::Probe && span.outcome.map(i32::unsigned_abs) == Some(EPROBE_DEFER)
}

/// Counts and sums, by kind.
#[must_use]
pub fn summary(record: &Record) -> Summary {
    let spans = spans::distinct(record);
    let mut summary = Summary::default();
    for kind in SpanKind::ALL {
        let of_kind: Vec<&Span> = spans.iter().filter(|s| s.kind == kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        let durations = of_kind.iter().filter_map(|s| s.duration());
        summary.kinds.push(KindSummary {
            kind: kind.into(),
            count: of_kind.len(),
            sum: durations.fold(Nanos::ZERO, |a, b| a + b),
            busy: union(of_kind.iter().filter_map(|s| Some((s.start?, s.end?)))),
        });
    }
    let processes = processes::rows(record);
    if !processes.is_empty() {
        let used = processes.iter().filter_map(|p| p.cpu);
        summary.kinds.push(KindSummary {
            kind: BlameKind::Process,
            count: processes.len(),
            sum: used.fold(Nanos::ZERO, |a, b| a + b),
            busy: Nanos::ZERO,
        });
    }
    let mut devices = BTreeSet::new();
    for span in spans.iter().filter(|s| is_deferral(s)) {
        summary.deferrals += 1;
        summary.deferral_time =
            summary.deferral_time + span.duration().unwrap_or_default().max(Nanos::ZERO);
        devices.insert(span.name);
    }
    summary.deferred_devices = devices.len();
    summary
}

/// The length of the union of intervals. Reversed ones count as empty.
pub(crate) fn union(intervals: impl Iterator<Item = (Nanos, Nanos)>) -> Nanos {
    let merged = merged(intervals).into_iter();
    merged.fold(Nanos::ZERO, |sum, (from, to)| sum + (to - from))
}

/// The union of intervals, as intervals in order that do not touch. Reversed ones count
/// as empty.
pub(crate) fn merged(intervals: impl Iterator<Item = (Nanos, Nanos)>) -> Vec<(Nanos, Nanos)> {
    let mut sorted: Vec<(Nanos, Nanos)> = intervals.filter(|(from, to)| from < to).collect();
    sorted.sort_unstable();
    let mut all: Vec<(Nanos, Nanos)> = Vec::new();
    for (from, to) in sorted {
        match all.last_mut() {
            Some((_, end)) if *end >= from => *end = (*end).max(to),
            _ => all.push((from, to)),
        }
    }
    all
}
