//! The stretch between the default target and the end of the last job.

use super::links::{is_as_long, links, printed};
use super::worth;
use crate::findings::known_units::waits_outside;
use crate::findings::view::View;
use crate::spans;
use record::{Nanos, Phase, SpanKind, mark};

/// When userspace began.
pub(super) fn userspace(view: &View<'_>) -> Nanos {
    let rows = &view.phases.phases;
    let row = rows.iter().find(|p| p.name >= Phase::Userspace);
    row.map_or(Nanos::ZERO, |p| p.start)
}

/// When the default target was reached, and how long systemd was busy after that.
pub(super) fn tail(view: &View<'_>) -> Option<(Nanos, Nanos)> {
    let first_light = view.phases.first_light.as_ref()?;
    (first_light.mark == mark::STARTUP_FINISHED).then_some(())?;
    let (links, _) = links(view);
    let of_mark = |m: &record::Mark| {
        let name = view.record.name(m.name);
        name.ends_with(".target").then_some(m.at)
    };
    let marks = view.record.marks().iter().filter_map(of_mark);
    let target = marks.chain(links.first().map(|l| l.end)).max()?;
    let tail = first_light.at - target;
    (tail >= worth(view)).then_some((target, tail))
}

/// How much of the userspace of a printed chain may be work, which goes faster if another unit
/// is gone, and what comes behind the chain: all but the units that wait for what is outside of
/// the machine, and waits on the chain that are as long as one of those. `None`: no chain was printed.
pub(in crate::findings) fn work_of_chain(view: &View<'_>) -> Option<Nanos> {
    let links = printed(view)?;
    let spans = spans::distinct(view.record);
    let units = spans.iter().filter(|s| s.kind == SpanKind::Unit);
    let waiting = units.filter(|s| waits_outside(view.record.name(s.name)));
    let waiting: Vec<Nanos> = waiting.filter_map(record::Span::duration).collect();
    let own = links.iter().filter(|l| waits_outside(&l.unit));
    let own = own.map(|l| l.end - l.start);
    let between = links.iter().zip(links.iter().skip(1));
    let between = between
        .map(|(later, earlier)| later.start - earlier.end)
        .filter(|wait| waiting.iter().any(|time| is_as_long(*time, *wait)));
    let waited = own.chain(between).fold(Nanos::ZERO, |sum, t| sum + t);
    let end = links.first()?.end;
    let behind = tail(view).map_or(Nanos::ZERO, |(_, tail)| tail);
    Some((end - userspace(view) - waited).max(Nanos::ZERO) + behind)
}
