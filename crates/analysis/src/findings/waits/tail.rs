//! The stretch between the default target and the end of the last job.

use super::{links, worth};
use crate::findings::view::View;
use record::{Nanos, Phase, mark};

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
