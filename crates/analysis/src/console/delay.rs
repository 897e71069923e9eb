//! How late lines came out on the console.

use super::arrived::Line;
use super::written::by_source;
use crate::place::Place;
use record::{Clock, ClockKind, Nanos, Record};
use std::collections::HashMap;

/// How late lines came: their first character's arrival after their stamp.
///
/// The two clocks are related by the line that came soonest, so that its delay
/// is zero; every delay may be longer by what that line needed itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delay {
    /// How many lines have both times.
    pub lines: usize,
    /// How many of the kernel's lines in its log were never seen on the console:
    /// of too low a level for it, or lost. `None` without a kernel log.
    pub not_on_console: Option<usize>,
    /// The bound of the error; `None` if nothing relates the clocks.
    pub error: Option<Nanos>,
    /// The one in the middle.
    pub median: Nanos,
    /// 19 of 20 are no longer.
    pub most: Nanos,
    /// The longest.
    pub longest: Nanos,
    /// The latest lines, the latest first.
    pub latest: Vec<LateLine>,
}

/// A line and how late it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LateLine {
    /// What it says; empty for an initcall's.
    pub text: String,
    /// When the kernel stamped it.
    pub stamped: Nanos,
    /// When its first character arrived.
    pub arrived: Nanos,
    /// The difference.
    pub delay: Nanos,
    /// The evidence: the line in the console's log.
    pub place: Place,
}

/// How late lines came.
pub(super) fn delay(record: &Record, lines: &[Line<'_>], top: usize) -> Option<Delay> {
    let mut late: Vec<(Nanos, &Line<'_>)> = lines
        .iter()
        .filter_map(|l| Some((l.arrival.first - l.stamped?, l)))
        .collect();
    late.sort_by_key(|(delay, l)| (std::cmp::Reverse(*delay), l.arrival.origin));
    let longest = late.first()?.0;
    let of = |part: usize| {
        // From the longest on: the rest of a hundred parts are no longer.
        let at = late.len().saturating_mul(100 - part) / 100;
        late.get(at).map_or(longest, |l| l.0)
    };
    let error = |kind: ClockKind| {
        let clocks = record.clocks().iter();
        clocks
            .filter(|c| c.kind == kind)
            .find_map(|c: &Clock| c.error_ns)
    };
    let errors = error(ClockKind::Wall).zip(error(ClockKind::Printk));
    let error = errors.map(|(a, b)| Nanos(i64::try_from(a.saturating_add(b)).unwrap_or(i64::MAX)));
    let count = if top == 0 { late.len() } else { top };
    let latest = late.iter().take(count).map(|(delay, l)| LateLine {
        text: l.text.to_owned(),
        stamped: l.arrival.first - *delay,
        arrived: l.arrival.first,
        delay: *delay,
        place: Place::of(record, l.arrival.origin),
    });
    Some(Delay {
        lines: late.len(),
        not_on_console: not_on_console(record, lines),
        error,
        median: of(50),
        most: of(95),
        longest,
        latest: latest.collect(),
    })
}

/// How many lines of the kernel log, stamped while the console was watched,
/// never came out on it.
fn not_on_console(record: &Record, lines: &[Line<'_>]) -> Option<usize> {
    let log = by_source(record).max_by_key(|s| s.len())?;
    let stamps = || lines.iter().filter_map(|l| l.stamped);
    let (first, last) = (stamps().min()?, stamps().max()?);
    let mut on_console: HashMap<(&str, Option<Nanos>), usize> = HashMap::new();
    for line in lines.iter().filter(|l| !l.text.is_empty()) {
        *on_console.entry((line.text, line.stamped)).or_default() += 1;
    }
    let mut missing = 0;
    for message in log {
        let text = record.text(message);
        if text.is_empty() || message.at.is_none_or(|at| at < first || at > last) {
            continue;
        }
        match on_console.get_mut(&(text, message.at)) {
            Some(left) if *left > 0 => *left -= 1,
            _ => missing += 1,
        }
    }
    Some(missing)
}
