//! Phases of which nothing but their length is known.

use super::worth;
use crate::findings::evidence::Evidence;
use crate::findings::found::Found;
use crate::findings::text::waits as text;
use crate::findings::view::View;
use crate::phases::PhaseRow;
use record::{Nanos, Phase};

/// Of the phase: a rule of thumb. Published changes took a tenth to four fifths away.
const PARTS: (i64, i64, i64) = (10, 40, 50);

/// The phases that an input gives no more than the length of.
pub(in crate::findings) fn opaque(view: &View<'_>) -> Vec<Found> {
    let least = worth(view);
    let rows = view.phases.phases.iter();
    let long = rows.filter(|p| p.name < Phase::Userspace && p.end - p.start >= least);
    let summed_up = |p: &&PhaseRow| {
        let mut sources = view.record.sources().iter();
        let source = sources.find(|s| s.name == p.origin.source);
        source.is_some_and(|s| s.format.starts_with("systemd"))
    };
    let opaque = long
        .filter(summed_up)
        .filter(|p| p.stages.is_empty() && !is_known(view, p));
    let found = opaque.map(|row| {
        let time = row.end - row.start;
        let (low, expected, high) = PARTS;
        Found::new()
            .title(text::phase(text::phase_name(row.name), time))
            .why(text::phase_why(row.name))
            .evidence([Evidence {
                text: text::took(row.name.as_str(), time, row.start, row.end),
                place: row.origin.clone(),
            }])
            .parts(time, low, expected, high)
            .within(time)
            .names([row.name.as_str()])
    });
    found.collect()
}

/// Whether anything is known of what happened in a phase.
fn is_known(view: &View<'_>, row: &PhaseRow) -> bool {
    let inside = |at: Option<Nanos>| at.is_some_and(|t| row.start <= t && t < row.end);
    let record = view.record;
    record.messages().iter().any(|m| inside(m.at))
        || record
            .spans()
            .iter()
            .any(|s| inside(s.start) || inside(s.end))
}
