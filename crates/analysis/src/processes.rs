//! Processes as things that took time.

use crate::place::Place;
use crate::row::{BlameKind, BlameRow};
use record::{NameId, Nanos, Process, Record, TaskState};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// A row for each process, in the record's order.
pub(crate) fn rows(record: &Record) -> Vec<BlameRow> {
    let ran = running(record);
    let parents = Parents::of(record);
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
            parent: parents.name(p).map(|name| record.name(name).to_owned()),
            cpu: split.or_else(|| ran.get(&at).copied()),
            origin: Place::of(record, p.origin),
        }
    };
    record.processes().iter().enumerate().map(row).collect()
}

/// Who forked whom: the processes of each id, by the time from which they are known.
struct Parents<'r>(BTreeMap<u32, Vec<(Nanos, &'r Process)>>);

impl<'r> Parents<'r> {
    fn of(record: &'r Record) -> Self {
        let mut all: BTreeMap<u32, Vec<(Nanos, &Process)>> = BTreeMap::new();
        for p in record.processes() {
            let from = p.start.unwrap_or(p.first_seen);
            all.entry(p.pid).or_default().push((from, p));
        }
        for of_id in all.values_mut() {
            of_id.sort_by_key(|(from, _)| *from);
        }
        Self(all)
    }

    /// The name of the process that forked `child`: the last one of that id that there was
    /// then. A parent that is known from later on only is not told.
    fn name(&self, child: &Process) -> Option<NameId> {
        let at = child.start.unwrap_or(child.first_seen);
        let of_id = self.0.get(&child.parent?)?;
        let begun = of_id.partition_point(|(from, _)| *from <= at);
        let (_, parent) = of_id.get(begun.checked_sub(1)?)?;
        Some(parent.name)
    }
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

#[cfg(test)]
mod tests {
    use super::rows;
    use record::{ClockKind, Nanos, Origin, Process, Recorder};

    #[test]
    fn a_process_names_the_one_that_forked_it() {
        let mut recorder = Recorder::new();
        let source = recorder.source("trace.dat", "trace-cmd");
        let origin = Origin { source, offset: 0 };
        let clock = recorder.clock("trace", ClockKind::Monotonic, 1);
        // An id that two processes had one after the other.
        for (pid, parent, name, start, end) in [
            (7, Some(1), "rcS", 100, Some(200)),
            (8, Some(7), "sleep", 150, Some(190)),
            (7, Some(1), "S10app", 300, None),
            (9, Some(7), "sleep", 350, Some(390)),
            (10, Some(5), "orphan", 400, None),
        ] {
            let name = recorder.name(name);
            recorder.process(Process {
                pid,
                parent,
                name,
                command: None,
                start: Some(Nanos(start)),
                end: end.map(Nanos),
                first_seen: Nanos(start),
                last_seen: Nanos(end.unwrap_or(start)),
                user: None,
                system: None,
                kernel_thread: false,
                exit: None,
                origin,
                clock,
            });
        }
        let rows = rows(&recorder.finish());
        let parents: Vec<_> = rows.iter().map(|r| r.parent.as_deref()).collect();
        assert_eq!(parents, [None, Some("rcS"), None, Some("S10app"), None]);
    }
}
