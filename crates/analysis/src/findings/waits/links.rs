//! The chain of units that first light waited for, from what there is: the order of all
//! units, or the list that `systemd-analyze critical-chain` prints.

use crate::chain::critical_chain;
use crate::findings::view::View;
use crate::place::Place;
use crate::spans;
use record::{DependencyKind, NameId, Nanos, Span, SpanKind};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A unit of the chain.
#[derive(Clone, Debug)]
pub(in crate::findings) struct Link {
    pub unit: String,
    pub start: Nanos,
    pub end: Nanos,
    pub place: Place,
}

/// Each number of a printed chain is rounded by itself.
pub(super) const ROUNDING: Nanos = Nanos::from_millis(5);

/// The format of printed chains.
const CHAIN: &str = "systemd-analyze";

/// The chain, the last unit first, and whether it is a printed list, of which nothing is
/// known beside it.
pub(in crate::findings) fn links(view: &View<'_>) -> (Vec<Link>, bool) {
    match printed(view) {
        Some(links) => (links, true),
        None => {
            let chain = critical_chain(view.record, view.phases);
            let link = |l: crate::ChainLink| Link {
                unit: l.unit,
                start: l.start,
                end: l.end,
                place: l.origin,
            };
            (chain.into_iter().map(link).collect(), false)
        }
    }
}

/// Whether a unit of a printed chain is followed, somewhere on it, by a wait that the chain
/// does not explain and that is longer than the unit took: the cause of that wait may not
/// have waited for the unit. `None`: the unit is not on a printed chain.
pub(in crate::findings) fn is_before_a_longer_wait(view: &View<'_>, unit: &str) -> Option<bool> {
    let links = printed(view)?;
    let at = links.iter().position(|l| l.unit == unit)?;
    let (later, own) = (links.get(..=at)?, links.get(at)?);
    let time = own.end - own.start;
    let mut pairs = later.iter().zip(later.iter().skip(1));
    Some(pairs.any(|(later, earlier)| later.start - earlier.end > time))
}

/// A shorter wait may be as long as a unit by chance.
const NO_CHANCE: Nanos = Nanos::from_millis(1_000);

/// How long a unit beside a printed chain took, if a wait on that chain is as long, as far as
/// the rounding of both and a percent allow: the wait is for this unit.
pub(in crate::findings) fn fills_a_wait(view: &View<'_>, unit: &str) -> Option<Nanos> {
    let links = printed(view)?;
    let spans = spans::distinct(view.record);
    let mut units = spans.iter().filter(|s| s.kind == SpanKind::Unit);
    let span = units.find(|s| view.record.name(s.name) == unit)?;
    let time = span.duration().filter(|t| *t >= NO_CHANCE)?;
    if links.iter().any(|l| l.unit == unit) {
        return None;
    }
    let mut pairs = links.iter().zip(links.iter().skip(1));
    pairs
        .any(|(later, earlier)| is_as_long(time, later.start - earlier.end))
        .then_some(time)
}

/// Whether a unit takes as long as a wait.
pub(super) fn is_as_long(time: Nanos, wait: Nanos) -> bool {
    Nanos((time - wait).0.abs()) <= Nanos(wait.0 / 100) + ROUNDING
}

/// A list in which each unit stands behind one other. Units that started again later, and
/// so show a time behind that of their follower, are passed over.
pub(super) fn printed(view: &View<'_>) -> Option<Vec<Link>> {
    let record = view.record;
    if record.dependencies().is_empty() {
        return None;
    }
    let mut behind: BTreeMap<NameId, NameId> = BTreeMap::new();
    let mut followed = BTreeSet::new();
    for d in record.dependencies() {
        let source = record.source(d.origin.source);
        let is_list = source.is_some_and(|s| s.format == CHAIN);
        let is_after = d.kind == DependencyKind::After;
        // Lists of several units share their ends.
        let earlier = behind.insert(d.from, d.to);
        if !is_list || !is_after || earlier.is_some_and(|e| e != d.to) {
            return None;
        }
        followed.insert(d.to);
    }
    let roots = behind.keys().filter(|n| !followed.contains(*n));
    let mut spans: BTreeMap<NameId, Span> = BTreeMap::new();
    for &span in spans::distinct(record).iter() {
        if span.kind == SpanKind::Unit {
            spans.entry(span.name).or_insert(span);
        }
    }
    // Of several lists the one counts that ends last.
    let root = roots.max_by_key(|n| (spans.get(*n).and_then(|s| s.end), Reverse(record.name(**n))));
    let root = *root?;
    let mut links: Vec<Link> = Vec::new();
    let (mut at, mut seen) = (Some(root), BTreeSet::new());
    while let Some(name) = at.filter(|n| seen.insert(*n)) {
        if let Some(span) = spans.get(&name)
            && let (Some(start), Some(end)) = (span.start, span.end)
            && links.last().is_none_or(|l| end <= l.start + ROUNDING)
        {
            links.push(Link {
                unit: record.name(name).to_owned(),
                start,
                end,
                place: Place::of(record, span.origin),
            });
        }
        at = behind.get(&name).copied();
    }
    (links.len() > 1).then_some(links)
}
