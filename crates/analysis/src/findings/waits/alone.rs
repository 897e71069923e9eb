//! A unit that takes most of the userspace while little else runs: something waited for it,
//! even where no order of units is known.

use crate::findings::known_units::is_spare;
use crate::findings::view::View;
use crate::spans;
use record::{Nanos, Phase, SpanKind};

/// The unit takes this part of the userspace or more, and all others together at most this
/// part of its time, in percent.
const MOST_OF: i64 = 50;
const OTHERS: i64 = 60;

/// Of a list that a screen cut the end is missing: its shortest row is longer than this part
/// of the userspace. What is missing is shorter than that row, as the list is sorted.
const CUT_PARTS: i64 = 50;

/// What is saved of it, least and expected, in percent: of a whole list, and of one that was
/// cut.
const WHOLE: (i64, i64) = (60, 90);
const CUT: (i64, i64) = (30, 75);

/// The least and the expected saving of a unit that nothing else explains the userspace
/// without; `None` if others could.
pub(in crate::findings) fn alone(view: &View<'_>, unit: &str) -> Option<(Nanos, Nanos)> {
    // What a timer starts runs after the boot as well as in it.
    if is_spare(unit) {
        return None;
    }
    let spans = spans::distinct(view.record);
    let times = spans.iter().filter(|s| s.kind == SpanKind::Unit);
    let times = times.filter_map(|s| Some((view.record.name(s.name), s.duration()?)));
    let work: Vec<(&str, Nanos)> = times.filter(|(name, _)| !is_device(name)).collect();
    let time = work.iter().find(|(name, _)| *name == unit)?.1;
    let longest = work.iter().map(|w| w.1).max()?;
    // Every unit of a boot is over when the userspace is.
    let userspace = match view.length(Phase::Userspace) {
        Nanos::ZERO => longest,
        known => known,
    };
    let others = work.iter().filter(|(name, _)| *name != unit);
    let others = others.fold(Nanos::ZERO, |sum, w| sum + w.1);
    let is_most = time <= userspace && time.0 >= userspace.0 / 100 * MOST_OF;
    if (work.len() < 2 && view.length(Phase::Userspace) == Nanos::ZERO)
        || !is_most
        || others.0 > time.0 / 100 * OTHERS
    {
        return None;
    }
    // A log with their times has all of them.
    let has_times = spans
        .iter()
        .any(|s| s.kind == SpanKind::Unit && s.start.is_some());
    let shortest = work.iter().map(|w| w.1).min()?;
    let is_cut = !has_times && shortest.0 > userspace.0 / CUT_PARTS;
    let (least, expected) = match is_cut {
        true => CUT,
        false => WHOLE,
    };
    let part = |percent: i64| Nanos(time.0 / 100 * percent);
    Some((part(least), part(expected)))
}

/// A device is there when it is there: that is no job's work.
pub(super) fn is_device(unit: &str) -> bool {
    unit.ends_with(".device") || unit.starts_with("dev-disk-") || unit.starts_with("sys-devices-")
}
