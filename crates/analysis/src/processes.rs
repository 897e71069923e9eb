//! Processes as things that took time.

use crate::place::Place;
use crate::row::{BlameKind, BlameRow};
use record::{Nanos, Process, Record, TaskState};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// A row for each process, in the record's order.
pub(crate) fn rows(record: &Record) -> Vec<BlameRow> {
    let ran = running(record);
    let row = |(at, p): (usize, &Process)| {
        let split = match (p.user, p.system) {
            (None, None) => None,
            (user, system) => Some(user.unwrap_or_default() + system.unwrap_or_default()),
        };
        BlameRow {
            kind: BlameKind::Process,
            name: record.name(p.name).to_owned(),
            start: p.start,
            end: p.end,
            wall: p.start.zip(p.end).map(|(start, end)| end - start),
            reported: None,
            doubt: None,
            outcome: p.exit,
            pid: Some(p.pid),
            cpu: split.or_else(|| ran.get(&at).copied()),
            origin: Place::of(record, p.origin),
        }
    };
    record.processes().iter().enumerate().map(row).collect()
}

/// How long each process was on a processor, by its place in the record, as far
/// as its slices tell.
fn running(record: &Record) -> BTreeMap<usize, Nanos> {
    let mut by_pid: BTreeMap<u32, Vec<(Nanos, usize)>> = BTreeMap::new();
    for (at, p) in record.processes().iter().enumerate() {
        let begin = p.start.unwrap_or(p.first_seen);
        by_pid.entry(p.pid).or_default().push((begin, at));
    }
    let mut ran: BTreeMap<usize, Nanos> = BTreeMap::new();
    for slice in record.slices() {
        let whole = (slice.state == TaskState::Running).then(|| slice.end - slice.start);
        let (Some(busy), Some(of_pid)) = (slice.busy.or(whole), by_pid.get(&slice.pid)) else {
            continue;
        };
        // Of those that had this id one after the other: the last one that had
        // begun.
        let begun = of_pid.iter().rev().find(|(begin, _)| *begin <= slice.end);
        if let Some((_, at)) = begun.or(of_pid.first()) {
            let sum = ran.entry(*at).or_default();
            *sum = *sum + busy;
        }
    }
    ran
}

/// The order of processes: what used most processor time first, then what took
/// longest to end. Most live as long as the boot, and took little of it.
pub(crate) fn order(a: &BlameRow, b: &BlameRow) -> Ordering {
    (b.cpu, b.wall)
        .cmp(&(a.cpu, a.wall))
        .then_with(|| (a.start, &a.name, a.pid).cmp(&(b.start, &b.name, b.pid)))
}
