//! Units, each after those that it is ordered after.

use super::gate::Gate;
use super::graph::NodeId;
use super::{About, Activities, Doer, PathKind};
use crate::chain::last_unit;
use crate::phases::Phases;
use crate::place::Place;
use crate::spans;
use record::{DependencyKind, NameId, Nanos, Record, Span, SpanKind, mark};
use std::collections::{BTreeMap, BTreeSet};

/// What the first process does before it starts the first unit, in order.
const MANAGER: [(&str, &str); 5] = [
    (mark::SYSTEMD_STARTED, "systemd, before it runs"),
    ("generators-start", "systemd, before its generators"),
    ("generators-finish", "generators"),
    ("units-load-start", "systemd, before it loads units"),
    ("units-load-finish", "systemd loads its units"),
];

/// A unit that begins so soon after the last of those that it waits for began
/// because of it: a manager that has no processor for a while comes late by less.
const AT_ONCE: Nanos = Nanos::from_millis(200);

/// The units that were there by `end`, and those that each is ordered after.
fn known(
    record: &Record,
    end: Nanos,
) -> (BTreeMap<NameId, Span>, BTreeMap<NameId, BTreeSet<NameId>>) {
    let mut units: BTreeMap<NameId, Span> = BTreeMap::new();
    for &span in spans::distinct(record).iter() {
        let whole = span.start.is_some() && span.end.is_some_and(|e| e <= end);
        if span.kind == SpanKind::Unit && whole {
            units.entry(span.name).or_insert(span);
        }
    }
    let mut after: BTreeMap<NameId, BTreeSet<NameId>> = BTreeMap::new();
    for d in record.dependencies() {
        if d.kind == DependencyKind::After && units.contains_key(&d.to) {
            after.entry(d.from).or_default().insert(d.to);
        }
    }
    (units, after)
}

/// When each unit began and was there, and those that it is ordered after.
pub(super) fn gates(record: &Record, end: Nanos) -> Vec<Gate> {
    let (units, mut after) = known(record, end);
    let gate = |(unit, span): (NameId, Span)| {
        Some(Gate {
            unit,
            has_processes: has_processes(record.name(unit)),
            start: span.start?,
            end: span.end?,
            after: after.remove(&unit).into_iter().flatten().collect(),
        })
    };
    units.into_iter().filter_map(gate).collect()
}

/// Whether a unit begins with a process: the others are nothing but states.
fn has_processes(unit: &str) -> bool {
    let kind = unit.rsplit_once('.').map(|(_, kind)| kind);
    matches!(kind, Some("service" | "mount" | "swap"))
}

/// Adds the units on the way to first light; gives the last one. `None` if no
/// units with times and an order are known.
pub(super) fn until(
    all: &mut Activities<'_>,
    phases: &Phases,
    before: Option<NodeId>,
    end: Nanos,
) -> Option<NodeId> {
    let record = all.record;
    let (units, after) = known(record, end);
    if after.is_empty() {
        return None;
    }
    let last = last_unit(record, phases, &units)?;

    let mut manager = before;
    let started = before.map_or(Nanos::ZERO, |b| all.graph.end(b));
    for (name, what) in MANAGER {
        if let Some(at) = record.mark(name).map(|m| m.at)
            && at >= started
            && at <= end
        {
            manager = all.fill(manager, at, PathKind::Phase, what);
        }
    }
    let manager: Vec<NodeId> = manager.into_iter().collect();

    // By end: what a unit waited for was active before it began, so it stands
    // before it. Units that take no time are ordered by their dependencies.
    let mut order: Vec<Span> = units.values().copied().collect();
    let rank = |s: &Span| after.get(&s.name).map_or(0, BTreeSet::len);
    order.sort_by(|a, b| {
        (a.start.max(a.end), a.start, rank(a))
            .cmp(&(b.start.max(b.end), b.start, rank(b)))
            .then_with(|| record.name(a.name).cmp(record.name(b.name)))
    });
    let mut nodes: BTreeMap<NameId, NodeId> = BTreeMap::new();
    for span in order {
        let (Some(start), Some(unit_end)) = (span.start, span.end) else {
            continue;
        };
        let waits = after.get(&span.name).into_iter().flatten();
        let mut waits: Vec<NodeId> = waits.filter_map(|n| nodes.get(n).copied()).collect();
        waits.extend(&manager);
        let about = About {
            kind: PathKind::Unit,
            name: record.name(span.name).to_owned(),
            start,
            end: unit_end,
            origin: Some(Place::of(record, span.origin)),
            call: None,
            by: Doer::Unit(span.name),
        };
        let guard = guard(all, &about, &waits, &manager);
        nodes.insert(span.name, all.add_guarded(about, &waits, guard));
    }
    nodes.get(&last).copied()
}

/// What kept a unit from beginning, if it began long after all that it waits for:
/// it would not have begun earlier had those been quicker.
fn guard(
    all: &mut Activities<'_>,
    unit: &About,
    waits: &[NodeId],
    manager: &[NodeId],
) -> Option<NodeId> {
    let ready = |of: &[NodeId]| of.iter().map(|w| all.graph.end(*w)).max();
    let until = unit.start - AT_ONCE;
    let last = ready(waits).filter(|r| *r < until)?;
    let begun = ready(manager).unwrap_or_default();
    if last <= begun {
        return None;
    }
    let about = About {
        kind: PathKind::Wait,
        name: format!("before {}", unit.name),
        start: begun,
        end: until,
        origin: None,
        call: None,
        by: Doer::Task(1),
    };
    Some(all.add(about, manager))
}
