//! What systemd is still busy with when the default target was reached: `Startup finished`
//! comes when the last job is done.

use super::alone::is_device;
use super::links;
use super::tail::tail;
use crate::findings::evidence::Evidence;
use crate::findings::found::Found;
use crate::findings::known_units::{is_spare, is_told};
use crate::findings::remedies;
use crate::findings::text::waits as text;
use crate::findings::view::View;
use crate::path::is_early;
use crate::spans;
use record::{Nanos, SpanKind};

/// Of the stretch, if the longest unit beside the chain goes: the next one may be nearly
/// as long.
const PARTS: (i64, i64, i64) = (40, 90, 100);

/// Without a unit that could be it.
const UNKNOWN: (i64, i64, i64) = (20, 60, 100);

/// A shorter unit does not explain the stretch, in percent of it.
const EXPLAINS: i64 = 40;

/// The unit that the stretch after the target is for, most likely: the longest one beside
/// the chain.
pub(in crate::findings) fn late_unit(view: &View<'_>) -> Option<(String, Nanos)> {
    let (target, tail) = tail(view)?;
    let (links, _) = links(view);
    let on_chain = |name: &str| links.iter().any(|l| l.unit == name);
    let least = Nanos(tail.0 / 100 * EXPLAINS);
    let spans = spans::distinct(view.record);
    let late = spans.iter().filter(|s| s.kind == SpanKind::Unit);
    let late = late.filter_map(|s| {
        let time = match (s.start, s.end) {
            (Some(start), Some(end)) => (end - start.max(target)).max(Nanos::ZERO),
            _ => s.reported.filter(|t| !view.is_beyond_boot(*t))?,
        };
        let name = view.record.name(s.name);
        // A device is there when it is there: it is no job's work.
        let is_work = !is_device(name) && !is_early(name) && !on_chain(name);
        (is_work && time >= least).then_some((time, name))
    });
    let (time, name) = late.max_by_key(|(time, name)| (*time, std::cmp::Reverse(*name)))?;
    Some((name.to_owned(), time.min(tail)))
}

/// What is saved of a unit of which another rule tells, least and expected, if it is most
/// likely what systemd is still busy with behind the target: the longest such unit, or one
/// that a timer starts.
pub(in crate::findings) fn late_part(view: &View<'_>, unit: &str) -> Option<(Nanos, Nanos)> {
    let (target, tail) = tail(view)?;
    let is_longest = || late_unit(view).is_some_and(|(name, _)| name == unit);
    let (links, _) = links(view);
    if links.iter().any(|l| l.unit == unit) || !(is_spare(unit) || is_longest()) {
        return None;
    }
    let spans = spans::distinct(view.record);
    let units = spans.iter().filter(|s| s.kind == SpanKind::Unit);
    let mut of_unit = units.filter(|s| view.record.name(s.name) == unit);
    let span = of_unit.next()?;
    let time = match (span.start, span.end) {
        (Some(start), Some(end)) => (end - start.max(target)).max(Nanos::ZERO),
        _ => span.reported.filter(|t| !view.is_beyond_boot(*t))?,
    };
    let time = time.min(tail);
    let (least, expected, _) = PARTS;
    let part = |percent: i64| Nanos(time.0 / 100 * percent);
    (time >= Nanos(tail.0 / 100 * EXPLAINS)).then(|| (part(least), part(expected)))
}

/// The stretch between the default target and the end of the last job.
pub(in crate::findings) fn late(view: &View<'_>) -> Option<Found> {
    let (target, tail) = tail(view)?;
    let unit = late_unit(view);
    // Another rule tells of the unit, or of the timeout.
    if unit.as_ref().is_some_and(|(u, _)| is_told(u))
        || (unit.is_none() && super::timed_out(view).is_some())
    {
        return None;
    }
    let first_light = view.phases.first_light.as_ref()?;
    let evidence = Evidence {
        text: text::target(target, first_light.at),
        place: first_light.origin.clone(),
    };
    let found = Found::new().evidence([evidence]).within(tail);
    Some(match unit {
        Some((unit, time)) => {
            let (low, expected, high) = PARTS;
            found
                .title(text::late(&unit, time))
                .why(text::late_why(&unit, tail) + &remedies::more(&unit))
                .parts(time, low, expected, high)
                .names(remedies::names(&unit))
                .names([unit])
        }
        None => {
            let (low, expected, high) = UNKNOWN;
            found
                .title(text::busy(tail))
                .why(text::BUSY_WHY)
                .parts(tail, low, expected, high)
        }
    })
}
