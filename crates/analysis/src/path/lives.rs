//! Processes by their lives alone, where no trace says who woke whom.
//!
//! A script waits for each program that it starts, so what a process did last before a time
//! is what its child did that ended last before it, and before that child began, what the
//! child before did. Programs that go on are not waited for. It is a guess: a child may run
//! beside its parent.

use super::activity::{About, Activities, Doer};
use super::graph::NodeId;
use super::report::PathKind;
use crate::place::Place;
use record::{Nanos, Process, Record};
use std::collections::BTreeMap;

/// The most items.
const MOST_ITEMS: usize = 2_000;

/// The first process.
const INIT: u32 = 1;

/// Adds the lives on the way to `end`; gives the last of it. `None` without processes that
/// end before.
pub(super) fn until(
    all: &mut Activities<'_>,
    before: Option<NodeId>,
    end: Nanos,
) -> Option<NodeId> {
    let record = all.record;
    let from = before.map_or(Nanos::ZERO, |b| all.graph.end(b));
    let lives = Lives::new(record, from, end)?;
    let way = lives.way();
    if way.len() < 2 {
        return None;
    }
    let mut last = before;
    for (life, start, end) in way.into_iter().rev() {
        let process = life.map(|l| l.process);
        let name = process.map_or("init", |p| record.name(p.name));
        let pid = process.map_or(INIT, |p| p.pid);
        let about = About {
            kind: PathKind::Process,
            name: format!("{name} ({pid})"),
            start,
            end,
            origin: process.map(|p| Place::of(record, p.origin)),
            call: None,
            by: Doer::Task(pid),
        };
        last = Some(all.follow(last, about));
    }
    last
}

/// A process, and when it lived.
#[derive(Clone, Copy)]
struct Life<'r> {
    process: &'r Process,
    start: Nanos,
    end: Nanos,
}

/// A stretch of the way, of nobody: of the first process.
type Stretch<'a, 'r> = (Option<&'a Life<'r>>, Nanos, Nanos);

struct Lives<'r> {
    all: Vec<Life<'r>>,
    /// The children of each, by their ends; under `None` those of the first process, and
    /// of processes that were not seen.
    children: BTreeMap<Option<usize>, Vec<usize>>,
    from: Nanos,
    end: Nanos,
}

impl<'r> Lives<'r> {
    fn new(record: &'r Record, from: Nanos, end: Nanos) -> Option<Self> {
        let programs = record.processes().iter().filter(|p| !p.kernel_thread);
        let lives = programs.map(|process| Life {
            process,
            start: process.start.unwrap_or(process.first_seen).max(from),
            end: process.end.unwrap_or(process.last_seen),
        });
        // One that is seen to the end goes on.
        let over = lives.filter(|l| l.start < l.end && l.end <= end);
        let mut all: Vec<Life<'r>> = over.filter(|l| l.process.pid != INIT).collect();
        all.sort_by_key(|l| (l.end, l.start, l.process.pid));
        if all.is_empty() {
            return None;
        }
        let mut by_pid: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (at, life) in all.iter().enumerate() {
            by_pid.entry(life.process.pid).or_default().push(at);
        }
        let mut children: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
        for (at, life) in all.iter().enumerate() {
            let known = life.process.parent.and_then(|p| by_pid.get(&p));
            let alive = |p: &&usize| {
                let parent = all.get(**p);
                parent.is_some_and(|p| p.start <= life.start && life.end <= p.end)
            };
            let parent = known.and_then(|all| all.iter().find(alive)).copied();
            let parent = parent.filter(|p| *p != at);
            // What a process that goes on has started is its own affair.
            let is_of_init = life.process.parent.is_none_or(|p| p <= INIT);
            if parent.is_some() || is_of_init {
                children.entry(parent).or_default().push(at);
            }
        }
        Some(Self {
            all,
            children,
            from,
            end,
        })
    }

    /// The way back from the end, the latest first.
    fn way(&self) -> Vec<Stretch<'_, 'r>> {
        let mut way: Vec<Stretch<'_, 'r>> = Vec::new();
        // Whose time it is, from when, and how far back it is told.
        let mut open: Vec<(Option<usize>, Nanos)> = vec![(None, self.from)];
        let mut at = self.end;
        while let Some(&(of, start)) = open.last() {
            let children = self.children.get(&of).map_or(&[][..], Vec::as_slice);
            let over = children.partition_point(|c| self.all.get(*c).is_some_and(|l| l.end <= at));
            let child = over.checked_sub(1).and_then(|i| children.get(i)).copied();
            let life = child.and_then(|c| self.all.get(c));
            let own = of.and_then(|o| self.all.get(o));
            let next = life.filter(|l| l.end > start && way.len() < MOST_ITEMS);
            let until = next.map_or(start, |l| l.end);
            if until < at {
                way.push((own, until, at));
                at = until;
            }
            match (child, next) {
                (Some(child), Some(life)) => open.push((Some(child), life.start.max(start))),
                _ => {
                    open.pop();
                }
            }
        }
        way
    }
}
