//! How far Android is, as its events tell (`boot_progress_*` in
//! frameworks/base/services/core/java/com/android/server/EventLogTags.logtags): each has the time
//! since the kernel started, in milliseconds.

use super::LEAST;
use crate::findings::found::Found;
use crate::findings::text::waits as text;
use crate::findings::view::{Line, View, number};
use record::Nanos;

/// How the name of such an event begins.
pub(in crate::findings) const PROGRESS: &str = "boot_progress_";

/// A shorter stretch between two events is usual, and so is a smaller part of all of them, in
/// percent.
const LONG: Nanos = Nanos(2_000_000_000);
const LONG_PERCENT: i64 = 15;

/// How many are told.
const MOST: usize = 3;

/// Of work that can be less: packages, classes and services.
const PARTS: (i64, i64, i64) = (10, 45, 90);

/// The event of a line, and its time.
fn event<'a>(line: &Line<'a>) -> Option<(&'a str, Nanos)> {
    let name = line.behind(PROGRESS)?;
    let end = name.find(|c: char| !c.is_ascii_lowercase() && c != '_')?;
    let (name, rest) = name.split_at(end);
    // With or without the number of the process between.
    let (_, time) = rest.split_once(": ")?;
    let ms = number(time.trim_start_matches('['))?;
    let ms = i64::try_from(ms).ok()?;
    Some((name, Nanos(ms.checked_mul(1_000_000)?)))
}

/// The longest stretches between two events.
pub(in crate::findings) fn progress(view: &View<'_>) -> Vec<Found> {
    let events = view.said(PROGRESS).filter_map(|l| Some((event(&l)?, l)));
    let events: Vec<((&str, Nanos), Line<'_>)> = events.collect();
    let last = events.last().map_or(Nanos::ZERO, |((_, at), _)| *at);
    let least = LONG.max(Nanos(last.0 / 100 * LONG_PERCENT)).max(LEAST);
    let pairs = events.iter().zip(events.iter().skip(1));
    let mut long: Vec<_> = pairs
        .map(|(from, to)| (to.0.1 - from.0.1, from, to))
        .filter(|(time, ..)| *time >= least)
        .collect();
    long.sort_by_key(|(time, from, _)| (std::cmp::Reverse(*time), from.1.at));
    let found = long.into_iter().take(MOST).map(|(time, from, to)| {
        let (low, expected, high) = PARTS;
        let ((before, _), (after, _)) = (from.0, to.0);
        Found::new()
            .title(text::android(before, after, time))
            .why(text::android_why(after))
            .evidence([view.quote(&from.1), view.quote(&to.1)])
            .parts(time, low, expected, high)
            .within(time)
            .names([after, before])
    });
    found.collect()
}
