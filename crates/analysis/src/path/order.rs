//! Units in an order in which each stands behind those that it waits for.
//!
//! The properties of units say all that each is ordered after. A critical chain names the
//! last one that each waited for. Where neither is there, or a unit is not in the chain,
//! it stands where it usually does ([`usual`]).

use super::report::UnitOrder;
use super::usual;
use crate::spans;
use record::{Dependency, DependencyKind, NameId, Nanos, Record, Span, SpanKind};
use std::collections::{BTreeMap, BTreeSet};

/// The format whose order is that of a critical chain.
const CHAIN: &str = "systemd-analyze";

/// A unit, and those before it that it waits for, by their places.
#[derive(Clone, Debug, Default)]
pub(super) struct Unit<'r> {
    pub name: &'r str,
    /// When it began and was active; `None` if the input does not show it.
    pub seen: Option<(Nanos, Nanos)>,
    /// How long it took to start.
    pub length: Nanos,
    /// `None` for a target that the input does not name.
    pub span: Option<Span>,
    pub after: Vec<usize>,
}

/// The units that were active by `end`, and how their order is known. `None` without any.
pub(super) fn ordered(record: &Record, end: Nanos) -> Option<(UnitOrder, Vec<Unit<'_>>)> {
    let (mut units, ids) = collected(record, end);
    let orders = || {
        let all = record.dependencies().iter();
        all.filter(|d| d.kind == DependencyKind::After)
    };
    let is_chain = |d: &&Dependency| {
        let source = record.source(d.origin.source);
        source.is_some_and(|s| s.format == CHAIN)
    };
    let has_times = |name: NameId| {
        let unit = ids.get(&name).and_then(|at| units.get(*at));
        unit.is_some_and(|u| u.seen.is_some())
    };
    let both = |d: &&Dependency| has_times(d.to) && has_times(d.from);
    let order = match (orders().any(|d| !is_chain(&d)), orders().any(|d| both(&d))) {
        (true, true) => UnitOrder::Known,
        (false, true) => UnitOrder::Chain,
        _ if ids.is_empty() => return None,
        _ => UnitOrder::Guessed,
    };
    let mut after: BTreeMap<NameId, BTreeSet<NameId>> = BTreeMap::new();
    for d in orders() {
        after.entry(d.from).or_default().insert(d.to);
    }
    if order == UnitOrder::Known {
        units.retain(|u| u.seen.is_some());
        let places = units.iter().enumerate();
        let ids = places.filter_map(|(at, u)| Some((u.span?.name, at)));
        let ids: BTreeMap<NameId, usize> = ids.collect();
        for unit in &mut units {
            let own = unit.span.and_then(|s| after.get(&s.name));
            let own = own.into_iter().flatten();
            unit.after = own.filter_map(|n| ids.get(n).copied()).collect();
        }
        return Some((order, sorted(units)));
    }
    through_late(&mut units, &ids, &after);
    as_usual(&mut units, |target| {
        let reached = record.mark(target).map(|m| m.at);
        reached.filter(|at| *at <= end)
    });
    if order == UnitOrder::Guessed {
        one_after_another(&mut units);
    }
    Some((order, sorted(units)))
}

/// The units that took part, by what is known of their times, and where each stands.
fn collected(record: &Record, end: Nanos) -> (Vec<Unit<'_>>, BTreeMap<NameId, usize>) {
    let mut units: Vec<Unit<'_>> = Vec::new();
    let mut ids: BTreeMap<NameId, usize> = BTreeMap::new();
    for &span in spans::distinct(record).iter() {
        if span.kind != SpanKind::Unit || ids.contains_key(&span.name) {
            continue;
        }
        let (seen, length) = match (span.start, span.end, span.reported) {
            (Some(start), Some(to), _) if to <= end => (Some((start, to)), to - start),
            (None, Some(to), length) if to <= end => {
                let length = length.unwrap_or_default().max(Nanos::ZERO);
                (Some((to - length, to)), length)
            }
            (None, None, Some(length)) => (None, length),
            _ => continue,
        };
        ids.insert(span.name, units.len());
        units.push(Unit {
            name: record.name(span.name),
            seen,
            length: length.max(Nanos::ZERO),
            span: Some(span),
            after: Vec::new(),
        });
    }
    (units, ids)
}

/// What each unit comes after by a chain. A unit that was active later than the one that
/// it stands under was not waited for: those under it may have been.
fn through_late(
    units: &mut [Unit<'_>],
    ids: &BTreeMap<NameId, usize>,
    after: &BTreeMap<NameId, BTreeSet<NameId>>,
) {
    let seen: Vec<Option<(Nanos, Nanos)>> = units.iter().map(|u| u.seen).collect();
    for unit in units {
        let (Some(span), Some((start, _))) = (unit.span, unit.seen) else {
            continue;
        };
        let mut open: Vec<NameId> = after
            .get(&span.name)
            .into_iter()
            .flatten()
            .copied()
            .collect();
        let mut known: BTreeSet<NameId> = open.iter().copied().collect();
        while let Some(name) = open.pop() {
            let place = ids.get(&name).copied();
            let times = place.and_then(|p| seen.get(p).copied().flatten());
            match (place, times) {
                (Some(place), Some((_, end))) if end <= start => unit.after.push(place),
                _ => {
                    let under = after.get(&name).into_iter().flatten();
                    open.extend(under.copied().filter(|n| known.insert(*n)));
                }
            }
        }
        unit.after.sort_unstable();
    }
}

/// Adds what units usually come after, and the targets between them, which were reached at
/// known times or are not seen.
fn as_usual(units: &mut Vec<Unit<'_>>, reached: impl Fn(&str) -> Option<Nanos>) {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, unit) in units.iter().enumerate() {
        places.entry(unit.name).or_insert(at);
    }
    for target in usual::TARGETS {
        places.entry(target).or_insert_with(|| {
            units.push(Unit {
                name: target,
                seen: reached(target).map(|at| (at, at)),
                ..Unit::default()
            });
            units.len() - 1
        });
    }
    let mut edges: Vec<(usize, usize)> = Vec::new();
    for (at, unit) in units.iter().enumerate() {
        let before = usual::after(unit.name).filter_map(|n| places.get(n));
        edges.extend(before.map(|b| (at, *b)));
        let target = usual::before(unit.name).and_then(|n| places.get(n));
        edges.extend(target.map(|t| (*t, at)));
    }
    let seen: Vec<Option<(Nanos, Nanos)>> = units.iter().map(|u| u.seen).collect();
    let times = |at: usize| seen.get(at).copied().flatten();
    for (at, before) in edges {
        // What is seen to be otherwise is otherwise.
        let is_late = match (times(at), times(before)) {
            (Some((start, _)), Some((_, end))) => end > start,
            _ => false,
        };
        if !is_late && let Some(unit) = units.get_mut(at) {
            unit.after.push(before);
        }
    }
}

/// What waits for a device goes on sooner than this after it appeared.
const AFTER_DEVICE: Nanos = Nanos(5_000_000_000);

/// Where nothing is known of the order, each unit comes after the one that ended last
/// before it began. Nothing waits for who logs in, nor for a device that was there long ago.
fn one_after_another(units: &mut [Unit<'_>]) {
    let places = units.iter().enumerate();
    let ends = places.filter_map(|(at, u)| {
        let (start, end) = u.seen?;
        let is_device = u.name.ends_with(".device");
        (start < end && !usual::is_of_login(u.name)).then_some((end, at, is_device))
    });
    let mut ends: Vec<(Nanos, usize, bool)> = ends.collect();
    ends.sort_unstable();
    for unit in units {
        let Some((start, _)) = unit.seen else {
            continue;
        };
        let before = ends.partition_point(|e| e.0 <= start);
        let mut before = ends.iter().take(before).rev();
        let last = before.find(|e| !e.2 || start - e.0 <= AFTER_DEVICE);
        unit.after.extend(last.map(|l| l.1));
    }
}

/// The units, each behind those that it waits for. Of a circle one order is left out.
fn sorted(mut units: Vec<Unit<'_>>) -> Vec<Unit<'_>> {
    let mut first: Vec<usize> = (0..units.len()).collect();
    // By end: what a unit waited for was active before it began.
    first.sort_by_key(|at| {
        units.get(*at).map(|u| {
            let times = u.seen.map(|(start, end)| (start.max(end), start));
            (u.seen.is_none(), times, u.after.len(), u.name)
        })
    });
    let mut places: Vec<Option<usize>> = vec![None; units.len()];
    let mut order: Vec<usize> = Vec::with_capacity(units.len());
    let mut is_open = vec![false; units.len()];
    for root in first {
        let mut stack = vec![(root, 0)];
        while let Some((at, next)) = stack.pop() {
            if places.get(at).copied().flatten().is_some() {
                continue;
            }
            if let Some(open) = is_open.get_mut(at) {
                *open = true;
            }
            let after = units.get(at).map_or(&[][..], |u| &u.after);
            if let Some(&before) = after.get(next) {
                stack.push((at, next + 1));
                let is_new = places.get(before) == Some(&None);
                if is_new && is_open.get(before) == Some(&false) {
                    stack.push((before, 0));
                }
                continue;
            }
            if let Some(place) = places.get_mut(at) {
                *place = Some(order.len());
            }
            order.push(at);
        }
    }
    let mut sorted = Vec::with_capacity(units.len());
    for (place, at) in order.into_iter().enumerate() {
        let Some(unit) = units.get_mut(at) else {
            continue;
        };
        let mut unit = std::mem::take(unit);
        let new = unit.after.iter().filter_map(|a| places.get(*a).copied());
        let new = new.flatten().filter(|a| *a < place);
        unit.after = new.collect();
        sorted.push(unit);
    }
    sorted
}
