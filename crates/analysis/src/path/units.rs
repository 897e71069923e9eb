//! Units, each after those that it is ordered after.

use super::activity::{About, Activities, Doer};
use super::gate::Gate;
use super::graph::NodeId;
use super::order::{self, Unit};
use super::report::{PathKind, UnitOrder};
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
pub(super) const AT_ONCE: Nanos = Nanos::from_millis(200);

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

/// Adds the units on the way to first light; gives the last of it, and how their order
/// is known. `None` if it is known less than `least`.
pub(super) fn until(
    all: &mut Activities<'_>,
    phases: &Phases,
    before: Option<NodeId>,
    least: UnitOrder,
) -> Option<(NodeId, UnitOrder)> {
    let record = all.record;
    let end = phases.end();
    let (order, units) = order::ordered(record, end)?;
    if order < least {
        return None;
    }
    let manager = manager(all, before, end);
    let nodes = add(all, &units, &manager, order);
    let first_light = phases.first_light.as_ref();
    if first_light.is_some_and(|f| f.mark == mark::STARTUP_FINISHED) {
        return Some((when_all_are_done(all, &units, &nodes, end)?, order));
    }
    let (known, _) = known(record, end);
    let by_name = |name: &str| units.iter().position(|u| u.name == name);
    let last = last_unit(record, phases, &known).and_then(|l| by_name(record.name(l)));
    let last = nodes.get(last?).copied().flatten()?;
    let last = all.fill(Some(last), end, PathKind::Wait, UNTIL_FIRST_LIGHT)?;
    Some((last, order))
}

/// What first light comes after, if it is no unit.
pub(super) const UNTIL_FIRST_LIGHT: &str = "until first light";

/// Adds what the first process does before it starts units; gives the last of it.
fn manager(all: &mut Activities<'_>, before: Option<NodeId>, end: Nanos) -> Vec<NodeId> {
    let mut manager = before;
    let started = before.map_or(Nanos::ZERO, |b| all.graph.end(b));
    for (name, what) in MANAGER {
        if let Some(at) = all.record.mark(name).map(|m| m.at)
            && at >= started
            && at <= end
        {
            manager = all.fill(manager, at, PathKind::Phase, what);
        }
    }
    manager.into_iter().collect()
}

/// Adds units, which stand behind those that they wait for; gives the node of each.
fn add(
    all: &mut Activities<'_>,
    units: &[Unit<'_>],
    manager: &[NodeId],
    order: UnitOrder,
) -> Vec<Option<NodeId>> {
    let mut nodes: Vec<Option<NodeId>> = vec![None; units.len()];
    for (i, unit) in units.iter().enumerate() {
        let waits = unit.after.iter();
        let mut waits: Vec<NodeId> = waits
            .filter_map(|a| nodes.get(*a).copied().flatten())
            .collect();
        match unit.seen {
            Some((start, _)) => waits.extend(done_by(all, manager, start)),
            None => waits.extend(manager),
        }
        let ready = waits.iter().map(|w| all.graph.end(*w)).max();
        let ready = ready.unwrap_or(Nanos::ZERO);
        let (start, end) = unit.seen.unwrap_or((ready, ready + unit.length));
        let about = About {
            kind: PathKind::Unit,
            name: unit.name.to_owned(),
            start,
            end,
            origin: unit.span.map(|s| Place::of(all.record, s.origin)),
            call: None,
            by: unit.span.map_or(Doer::Nobody, |s| Doer::Unit(s.name)),
        };
        // Where not all is known that a unit waits for, it may have waited for that.
        let guard = (order == UnitOrder::Known)
            .then(|| guard(all, &about, &waits, manager))
            .flatten();
        let node = all.add_guarded(about, &waits, guard);
        if unit.seen.is_none() {
            all.placed.insert(node);
        }
        if let Some(place) = nodes.get_mut(i) {
            *place = Some(node);
        }
    }
    nodes
}

/// What the first process had done by a time, or what was done before it ran: units can
/// begin before it has done all.
fn done_by(all: &Activities<'_>, manager: &[NodeId], start: Nanos) -> Option<NodeId> {
    let mut at = manager.last().copied();
    while let Some(id) = at {
        if all.graph.end(id) <= start {
            break;
        }
        at = all.graph.waited_for(id);
    }
    at
}

/// The boot is over for systemd when no unit is left that it starts.
fn when_all_are_done(
    all: &mut Activities<'_>,
    units: &[Unit<'_>],
    nodes: &[Option<NodeId>],
    end: Nanos,
) -> Option<NodeId> {
    // These become active by themselves, or at once.
    let is_started = |name: &str| {
        let kind = name.rsplit_once('.').map_or("", |(_, kind)| kind);
        !matches!(kind, "device" | "scope" | "slice")
    };
    let started = units.iter().zip(nodes).filter(|(u, _)| is_started(u.name));
    let done = started.filter_map(|(_, n)| *n);
    let done: Vec<NodeId> = done.filter(|n| all.graph.end(*n) <= end).collect();
    let start = done.iter().map(|n| all.graph.end(*n)).max()?;
    let about = About {
        kind: PathKind::Wait,
        name: UNTIL_FIRST_LIGHT.to_owned(),
        start,
        end,
        origin: None,
        call: None,
        by: Doer::Nobody,
    };
    Some(all.add(about, &done))
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

/// From when on a device is all that a unit waits for, which began when the device was
/// there: when the last of the others was that the unit is ordered after. What made the
/// device come that late is not known, but nothing else held the unit up from then on.
fn alone(units: &[Unit<'_>], device: usize) -> Option<Nanos> {
    let of = units.get(device).filter(|u| u.name.ends_with(".device"))?;
    let (_, there) = of.seen?;
    let waiters = units.iter().filter(|u| u.after.contains(&device));
    let at_once = waiters.filter(|u| {
        let start = u.seen.map(|(start, _)| start);
        start.is_some_and(|s| s >= there && s < there + AT_ONCE)
    });
    let last_of_others = at_once.filter_map(|u| {
        let others = u.after.iter().filter(|at| **at != device);
        let ends = others.filter_map(|at| Some(units.get(*at)?.seen?.1));
        ends.max().filter(|end| *end <= there)
    });
    last_of_others.max()
}

/// The times in which a device was all that a unit waited for: from, to, and which one.
pub(crate) fn device_waits(record: &Record, end: Nanos) -> Vec<(Nanos, Nanos, &str)> {
    let Some((UnitOrder::Known, units)) = order::ordered(record, end) else {
        return Vec::new();
    };
    let wait = |(i, unit): (usize, &Unit<'_>)| {
        let (_, there) = unit.seen?;
        let name = record.name(unit.span?.name);
        Some((alone(&units, i)?, there, name))
    };
    units.iter().enumerate().filter_map(wait).collect()
}
