//! What took longest.

use crate::phases::{Phases, phases};
use crate::place::Place;
use crate::processes;
use crate::spans;
use record::{Doubt, Nanos, Record, Span, SpanKind};
use std::cmp::Ordering;

/// What kind of thing a row of [`Blame`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlameKind {
    /// A kernel or module initcall.
    Initcall,
    /// A driver probing a device.
    Probe,
    /// A systemd unit that starts.
    Unit,
    /// A process.
    Process,
    /// A file that was read.
    File,
    /// A part of firmware or a loader that they timed themselves.
    Stage,
    /// A part of the boot.
    Phase,
}

impl BlameKind {
    /// Every kind, in the order of output.
    pub const ALL: [Self; 7] = [
        Self::Initcall,
        Self::Probe,
        Self::Unit,
        Self::Process,
        Self::File,
        Self::Stage,
        Self::Phase,
    ];

    /// The word used in every output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Initcall => "initcall",
            Self::Probe => "probe",
            Self::Unit => "unit",
            Self::Process => "process",
            Self::File => "file",
            Self::Stage => "stage",
            Self::Phase => "phase",
        }
    }

    /// The kind of this word.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|k| k.as_str() == word)
    }
}

impl From<SpanKind> for BlameKind {
    fn from(kind: SpanKind) -> Self {
        match kind {
            SpanKind::Initcall => Self::Initcall,
            SpanKind::Probe => Self::Probe,
            SpanKind::Unit => Self::Unit,
            SpanKind::Process => Self::Process,
            SpanKind::File => Self::File,
            SpanKind::Stage => Self::Stage,
        }
    }
}

/// Something that took time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlameRow {
    /// What kind of thing.
    pub kind: BlameKind,
    /// Which one.
    pub name: String,
    /// When it began; `None` if its start was never seen.
    pub start: Option<Nanos>,
    /// When it ended; `None` if its end was never seen.
    pub end: Option<Nanos>,
    /// End minus start, by the stamps.
    pub wall: Option<Nanos>,
    /// The duration that the source itself states.
    pub reported: Option<Nanos>,
    /// Why the numbers should not be taken at face value.
    pub doubt: Option<Doubt>,
    /// What it returned: 0, or an error number.
    pub outcome: Option<i32>,
    /// The id on the target of a process, or of the task that ran an initcall or a
    /// probe, where a source says it.
    pub pid: Option<u32>,
    /// Processor time that a process used, where a source says it.
    pub cpu: Option<Nanos>,
    /// The evidence.
    pub origin: Place,
}

impl BlameRow {
    /// The best duration there is: the stamps', else the reported one.
    #[must_use]
    pub fn duration(&self) -> Option<Nanos> {
        self.wall.or(self.reported)
    }
}

/// What took longest, longest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blame {
    /// The rows asked for. Ties go by start, then by name; rows without any
    /// duration come last.
    pub rows: Vec<BlameRow>,
    /// How many rows there are in all.
    pub total_rows: usize,
}

/// What took longest: things of one kind, or of every kind but phases and
/// processes: these two are what the others are part of. Processes are in the
/// order of the processor time that they used. `top` limits the rows; 0 gives
/// all.
#[must_use]
pub fn blame(record: &Record, kind: Option<BlameKind>, top: usize) -> Blame {
    blame_with(record, &phases(record), kind, top)
}

/// [`blame`], with phases that are already known.
#[must_use]
pub fn blame_with(record: &Record, phases: &Phases, kind: Option<BlameKind>, top: usize) -> Blame {
    if kind == Some(BlameKind::Phase) {
        return of_phases(phases, top);
    }
    if kind == Some(BlameKind::Process) {
        return of_processes(record, top);
    }
    let spans = spans::distinct(record);
    let of_kind = |s: &&Span| kind.is_none_or(|k| k == BlameKind::from(s.kind));
    let (longest, total_rows) = first(spans.iter().filter(of_kind), top, |a, b| {
        b.duration()
            .cmp(&a.duration())
            .then_with(|| a.start.or(a.end).cmp(&b.start.or(b.end)))
            .then_with(|| record.name(a.name).cmp(record.name(b.name)))
    });
    let row = |s: &Span| BlameRow {
        kind: s.kind.into(),
        name: record.name(s.name).to_owned(),
        start: s.start,
        end: s.end,
        wall: s.wall(),
        reported: s.reported,
        doubt: s.doubt,
        outcome: s.outcome,
        pid: spans::task(record, s),
        cpu: None,
        origin: Place::of(record, s.origin),
    };
    Blame {
        rows: longest.into_iter().map(row).collect(),
        total_rows,
    }
}

/// The first `top` of `items` in this order (all, if `top` is 0), sorted, equal
/// ones as they come; and how many items there are. Holds no more than twice
/// `top` of them at a time.
fn first<'a, T>(
    items: impl Iterator<Item = &'a T>,
    top: usize,
    order: impl Fn(&T, &T) -> Ordering,
) -> (Vec<&'a T>, usize) {
    let mut kept: Vec<&T> = Vec::new();
    // The last of the first `top`, once there are so many.
    let mut last: Option<&T> = None;
    let mut count = 0;
    for item in items {
        count += 1;
        if last.is_some_and(|l| order(item, l).is_ge()) {
            continue;
        }
        kept.push(item);
        if top > 0 && kept.len() >= top.saturating_mul(2) {
            kept.sort_by(|a, b| order(a, b));
            kept.truncate(top);
            last = kept.last().copied();
        }
    }
    kept.sort_by(|a, b| order(a, b));
    if top > 0 {
        kept.truncate(top);
    }
    (kept, count)
}

fn of_processes(record: &Record, top: usize) -> Blame {
    let mut rows = processes::rows(record);
    let total_rows = rows.len();
    rows.sort_by(processes::order);
    if top > 0 {
        rows.truncate(top);
    }
    Blame { rows, total_rows }
}

fn of_phases(phases: &Phases, top: usize) -> Blame {
    let row = |p: &crate::PhaseRow| BlameRow {
        kind: BlameKind::Phase,
        name: p.name.as_str().to_owned(),
        start: Some(p.start),
        end: Some(p.end),
        wall: Some(p.end - p.start),
        reported: None,
        doubt: None,
        outcome: None,
        pid: None,
        cpu: None,
        origin: p.origin.clone(),
    };
    let mut rows: Vec<BlameRow> = phases.phases.iter().map(row).collect();
    let total_rows = rows.len();
    rows.sort_by(|a, b| (b.wall, a.start).cmp(&(a.wall, b.start)));
    if top > 0 {
        rows.truncate(top);
    }
    Blame { rows, total_rows }
}

#[cfg(test)]
mod tests {
    use super::first;

    #[test]
    fn the_first_few_are_those_of_a_full_stable_sort() {
        // Multiplication spreads them; the second number tells equals apart.
        let items: Vec<(u32, usize)> = (0..200).map(|i| (i * 37 % 40, i as usize)).collect();
        let order = |a: &(u32, usize), b: &(u32, usize)| a.0.cmp(&b.0);
        let mut sorted: Vec<_> = items.iter().collect();
        sorted.sort_by(|a, b| order(a, b));
        for top in [1, 2, 3, 7, 40, 199, 200, 201, usize::MAX] {
            let wanted = &sorted[..top.min(items.len())];
            assert_eq!(first(items.iter(), top, order), (wanted.to_vec(), 200));
        }
        assert_eq!(first(items.iter(), 0, order), (sorted, 200));
    }
}
