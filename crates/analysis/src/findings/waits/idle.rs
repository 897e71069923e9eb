//! Stretches of the userspace in which no unit was starting, where the times of all units are
//! known but their order is not, as in a plot.

use super::{tail, worth};
use crate::findings::found::Found;
use crate::findings::text::waits as text;
use crate::findings::view::View;
use crate::spans;
use record::{Nanos, Span, SpanKind};

/// A shorter one is usual.
const LEAST: Nanos = Nanos(3_000_000_000);

/// How many are told.
const MOST: usize = 2;

/// A log with fewer units than this has not all of them.
const FEWEST: usize = 20;

/// What starts when somebody logs in: no boot waits for that.
const OF_LOGIN: [&str; 4] = ["user@", "user-", "session-", "run-user-"];

/// The stretches, the longest first, and how much of one is saved, in percent. A device appears
/// whenever it does: none ends with one.
pub(super) fn stretches(view: &View<'_>, (low, expected, high): (i64, i64, i64)) -> Vec<Found> {
    let record = view.record;
    let spans = spans::distinct(record);
    let begin = tail::userspace(view);
    let is_boots = |s: &&Span| {
        let name = record.name(s.name);
        s.kind == SpanKind::Unit && !OF_LOGIN.iter().any(|l| name.starts_with(l))
    };
    let timed = spans.iter().filter(is_boots).filter_map(|s| {
        let (from, to) = s.start.zip(s.end)?;
        (from >= begin).then_some((from, to.max(from), s))
    });
    let mut units: Vec<(Nanos, Nanos, &Span)> = timed.collect();
    if units.len() < FEWEST || !record.dependencies().is_empty() || !is_plot(view) {
        return Vec::new();
    }
    units.sort_by_key(|u| (u.0, u.1));
    let least = worth(view).max(LEAST);
    let mut found: Vec<(Nanos, &Span, &Span)> = Vec::new();
    let mut last: Option<(Nanos, &Span)> = None;
    for (from, to, unit) in units {
        let from = from.min(view.phases.end());
        if let Some((end, before)) = last
            && from - end >= least
            && !record.name(unit.name).ends_with(".device")
        {
            found.push((from - end, before, unit));
        }
        if last.is_none_or(|(end, _)| to >= end) {
            last = Some((to, unit));
        }
    }
    found.sort_by_key(|f| std::cmp::Reverse(f.0));
    let found = found.into_iter().take(MOST).map(|(time, before, after)| {
        let name = |s: &Span| record.name(s.name).to_owned();
        let of = |s: &Span| {
            let (from, to) = (s.start.unwrap_or_default(), s.end.unwrap_or_default());
            view.evidence(text::took(name(s), to - from, from, to), s.origin)
        };
        Found::new()
            .title(text::wait(name(after), time, name(before)))
            .why(text::idle_why(&name(after)))
            .evidence([of(before), of(after)])
            .parts(time, low, expected, high)
            .within(time)
            .names([name(after), name(before)])
    });
    found.collect()
}

/// Whether the times are from systemd itself, which has all of its units.
fn is_plot(view: &View<'_>) -> bool {
    let mut sources = view.record.sources().iter();
    sources.any(|s| s.format.starts_with("systemd-plot"))
}
