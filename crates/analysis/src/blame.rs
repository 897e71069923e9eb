//! What took longest.

use crate::kernel_work::works;
use crate::phases::{Phases, phases};
use crate::place::Place;
use crate::processes;
pub use crate::row::{BlameKind, BlameRow};
use crate::spans;
use crate::unknown::least;
use crate::unpacking::{self, unpacking};
use record::{Nanos, Record, Span, SpanKind};
use std::cmp::Ordering;

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
/// processes: these two are what the others are part of. The phases and their stages stand
/// for all where there is nothing else. Processes are in the
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
        return of_phases(phases, Vec::new(), top);
    }
    if kind == Some(BlameKind::Process) {
        return of_processes(record, top);
    }
    let spans = spans::distinct(record);
    let of_kind = |s: &&Span| kind.is_none_or(|k| k == BlameKind::from(s.kind));
    let has_stages = kind.is_none_or(|k| k == BlameKind::Stage);
    let read = match has_stages {
        true => read_from_lines(record, phases),
        false => Vec::new(),
    };
    let (longest, mut total_rows) = first(spans.iter().filter(of_kind), top, |a, b| {
        b.duration()
            .cmp(&a.duration())
            .then_with(|| a.start.or(a.end).cmp(&b.start.or(b.end)))
            .then_with(|| record.name(a.name).cmp(record.name(b.name)))
    });
    // A boot of which nothing but its phases is known took time, too.
    if kind.is_none() && total_rows == 0 {
        return of_phases(phases, read, top);
    }
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
        parent: None,
        cpu: None,
        origin: Place::of(record, s.origin),
    };
    let mut rows: Vec<BlameRow> = longest.into_iter().map(row).collect();
    total_rows += read.len();
    for row in read {
        let at = rows.partition_point(|r| r.duration() >= row.wall);
        rows.insert(at, row);
    }
    if top > 0 {
        rows.truncate(top);
    }
    Blame { rows, total_rows }
}

/// What lines of the kernel's log tell that took time, and that no initcall has: the unpacking
/// of the initramfs, and where no initcall was recorded all works that are long enough to be
/// told.
fn read_from_lines(record: &Record, phases: &Phases) -> Vec<BlameRow> {
    let stage =
        |name, start, end, place| BlameRow::between(BlameKind::Stage, name, (start, end), place);
    let unpacking = unpacking(record).filter(|u| !u.within_call);
    let unpacking = unpacking.map(|u| {
        let name = unpacking::NAME.to_owned();
        stage(name, u.start, u.end, u.place(record))
    });
    let mut rows: Vec<BlameRow> = unpacking.into_iter().collect();
    if spans::distinct(record)
        .iter()
        .any(|s| s.kind == SpanKind::Initcall)
    {
        return rows;
    }
    let begin = phases.phases.first().map_or(Nanos::ZERO, |p| p.start);
    let least = least(begin, phases.booted(record));
    let works = works(record, phases).into_iter();
    let works = works.filter(|w| w.end - w.start >= least);
    rows.extend(works.map(|w| stage(w.name.clone(), w.start, w.end, w.place(record))));
    rows
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

/// The phases and their stages, and what else is known of them.
fn of_phases(phases: &Phases, others: Vec<BlameRow>, top: usize) -> Blame {
    let row = |name: String, start, end, origin: &Place| {
        BlameRow::between(BlameKind::Phase, name, (start, end), origin.clone())
    };
    let mut rows: Vec<BlameRow> = Vec::new();
    for p in &phases.phases {
        let name = p.name.as_str();
        rows.push(row(name.to_owned(), p.start, p.end, &p.origin));
        let stages = p.stages.iter();
        rows.extend(stages.map(|s| row(format!("{name}: {}", s.name), s.start, s.end, &p.origin)));
    }
    rows.extend(others);
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
