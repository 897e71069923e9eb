//! What first light waited for, unit by unit.

use crate::phases::Phases;
use crate::place::Place;
use crate::spans;
use record::{DependencyKind, NameId, Nanos, Record, Span, SpanKind};
use std::collections::{BTreeMap, BTreeSet};

/// The units that a boot usually ends with, the last one first.
const LAST_UNITS: [&str; 3] = ["graphical.target", "multi-user.target", "default.target"];

/// A unit that first light waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainLink {
    /// The unit.
    pub unit: String,
    /// When it began to start.
    pub start: Nanos,
    /// When it was active.
    pub end: Nanos,
    /// How much of its time could go before the unit that waits for it would
    /// wait for another one instead.
    pub slack: Nanos,
    /// How much sooner the unit that waits for it could begin without it; `None` if
    /// that waits for nothing else.
    pub margin: Option<Nanos>,
    /// The evidence.
    pub origin: Place,
}

/// The time-critical chain of units, from the last one back: each began when
/// the one after it in the list was active, the latest of those that it is
/// ordered after. Empty without units that have starts, ends and dependencies.
///
/// It follows the order of units only. What a unit waits for by itself, such as
/// a device or a socket, is not in it.
#[must_use]
pub fn critical_chain(record: &Record, phases: &Phases) -> Vec<ChainLink> {
    let mut units: BTreeMap<NameId, Span> = BTreeMap::new();
    for &span in spans::distinct(record).iter() {
        if span.kind == SpanKind::Unit && span.end.is_some() {
            units.entry(span.name).or_insert(span);
        }
    }
    let mut after: BTreeMap<NameId, Vec<NameId>> = BTreeMap::new();
    for d in record.dependencies() {
        if d.kind == DependencyKind::After && units.contains_key(&d.to) {
            after.entry(d.from).or_default().push(d.to);
        }
    }
    let mut at = last_unit(record, phases, &units);
    let mut seen = BTreeSet::new();
    let mut chain = Vec::new();
    let mut slack = None;
    while let Some(span) = at.and_then(|name| units.get(&name)) {
        if !seen.insert(span.name) {
            break;
        }
        let end = span.end.unwrap_or_default();
        let start = span.start.unwrap_or(end);
        let length = (end - start).max(Nanos::ZERO);
        chain.push(ChainLink {
            unit: record.name(span.name).to_owned(),
            start,
            end,
            slack: slack.map_or(length, |s: Nanos| s.min(length)),
            margin: slack,
            origin: Place::of(record, span.origin),
        });
        // Those that were active when this one began, the latest first. One
        // that became active later was not waited for.
        let mut waited: Vec<(Nanos, NameId)> = after
            .get(&span.name)
            .into_iter()
            .flatten()
            .filter_map(|name| Some((units.get(name)?.end?, *name)))
            .filter(|(end, _)| *end <= start)
            .collect();
        waited.sort_by(|(end_a, a), (end_b, b)| {
            let by_name = || record.name(*a).cmp(record.name(*b));
            end_b.cmp(end_a).then_with(by_name)
        });
        waited.dedup_by_key(|w| w.1);
        slack = waited
            .first()
            .zip(waited.get(1))
            .map(|(first, second)| first.0 - second.0);
        at = waited.first().map(|w| w.1);
    }
    // A single unit waited for nothing that is known.
    if chain.len() < 2 {
        chain.clear();
    }
    chain
}

/// The unit that first light is, or that it waited for.
pub(crate) fn last_unit(
    record: &Record,
    phases: &Phases,
    units: &BTreeMap<NameId, Span>,
) -> Option<NameId> {
    let named = |wanted: &str| units.keys().copied().find(|n| record.name(*n) == wanted);
    let first_light = phases.first_light.as_ref();
    let end = phases.end();
    first_light
        .and_then(|f| named(&f.mark))
        .or_else(|| LAST_UNITS.iter().find_map(|n| named(n)))
        .or_else(|| {
            let in_time = units.values().filter(|s| s.end <= Some(end));
            let last = in_time.max_by(|a, b| {
                let by_name = || record.name(b.name).cmp(record.name(a.name));
                a.end.cmp(&b.end).then_with(by_name)
            });
            last.map(|s| s.name)
        })
}
