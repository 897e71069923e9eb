//! The work of a boot: processor time, where it counts instructions.
//!
//! In virtual time a processor that works takes the same time for the same instructions, whoever
//! ran before. So work varies less from boot to boot than when things begin and end, and a busy
//! order of processes does not hide a change of it. Outside the lab processor time is no
//! count, and captures end long after the boot.

use super::kind::TimeKind;
use crate::row::BlameKind;
use crate::spans;
use crate::stable_name::stable;
use record::{ClockKind, Nanos, Record, Slice, SpanKind, TaskState};
use std::collections::BTreeMap;

/// What the work of all is called that a trace of the scheduler shows.
pub const WORK_TRACED: &str = "work until first light";
/// What the work of all units is called, as systemd counts it.
pub const WORK_OF_UNITS: &str = "work of all units";

/// systemd itself, which also answers the agent that takes the capture.
const SYSTEMD: &str = "init.scope";
/// The agent's own unit.
const AGENT: &str = "firstlight-agent.service";
/// Units of these kinds are the sum of others.
const SUMS: &str = ".slice";

/// What says that a trace does not have all switches.
const INCOMPLETE: [&str; 2] = ["events_lost", "table_full"];

/// The work of everything in `record` that has one, and of all until `first_light`.
pub(super) fn work(record: &Record, first_light: Option<Nanos>) -> Vec<(TimeKind, String, Nanos)> {
    if record.clock().map(|c| c.kind) != Some(ClockKind::Virtual) {
        return Vec::new();
    }
    let units = units(record);
    let mut all = Vec::new();
    if !units.is_empty() {
        let sum = units.values().fold(Nanos::ZERO, |sum, ns| sum + *ns);
        all.push((TimeKind::Work, WORK_OF_UNITS.to_owned(), sum));
    }
    let of = |kind: BlameKind| {
        move |(name, ns): (String, Nanos)| (TimeKind::WorkOf(kind), format!("work of {name}"), ns)
    };
    all.extend(units.into_iter().map(of(BlameKind::Unit)));
    if let Some(processor) = Processor::of(record) {
        all.extend(first_light.map(|to| {
            let worked = processor.worked(to);
            (TimeKind::Work, WORK_TRACED.to_owned(), worked)
        }));
        let processes = processes(record).into_iter();
        all.extend(processes.map(of(BlameKind::Process)));
        let initcalls = initcalls(record, &processor).into_iter();
        all.extend(initcalls.map(of(BlameKind::Initcall)));
        let waits = first_light.map(|to| waits(record, to));
        let waits = waits.unwrap_or_default().into_iter();
        let kind = TimeKind::WaitOf(BlameKind::Process);
        all.extend(waits.map(|(name, ns)| (kind, format!("wait of {name}"), ns)));
    }
    all
}

/// How long the processes that ended until `to` neither ran nor could have run, by name: they
/// slept, or waited for a device or another process.
fn waits(record: &Record, to: Nanos) -> BTreeMap<String, Nanos> {
    let mut active: BTreeMap<u32, Vec<(Nanos, Nanos)>> = BTreeMap::new();
    let is_active = |s: &&Slice| matches!(s.state, TaskState::Running | TaskState::Runnable);
    for slice in record.slices().iter().filter(is_active) {
        let of_id = active.entry(slice.pid).or_default();
        of_id.push((slice.start, slice.end));
    }
    let mut waits: BTreeMap<String, Nanos> = BTreeMap::new();
    for process in record.processes() {
        let (Some(start), Some(end)) = (process.start, process.end.filter(|e| *e <= to)) else {
            continue;
        };
        let of_id = active.get(&process.pid).map_or(&[][..], Vec::as_slice);
        // Slices of one task come one after the other.
        let first = of_id.partition_point(|s| s.1 <= start);
        let within = of_id.iter().skip(first).take_while(|s| s.0 < end);
        let ran = within.map(|s| s.1.min(end) - s.0.max(start));
        let idle = ran.fold(end - start, |left, ns| left - ns);
        let sum = waits.entry(stable(record.name(process.name))).or_default();
        *sum = *sum + idle;
    }
    waits
}

/// Units by systemd's account, which is kept after a unit has ended.
fn units(record: &Record) -> BTreeMap<String, Nanos> {
    let mut units: BTreeMap<String, Nanos> = BTreeMap::new();
    for span in record.spans().iter().filter(|s| s.kind == SpanKind::Unit) {
        let name = record.name(span.name);
        if name == SYSTEMD || name == AGENT || name.ends_with(SUMS) {
            continue;
        }
        if let Some(ns) = span.processor {
            units.insert(stable(name), ns);
        }
    }
    units
}

/// Processes by name: which of several is which may change from boot to boot.
fn processes(record: &Record) -> BTreeMap<String, Nanos> {
    let mut processes: BTreeMap<String, Nanos> = BTreeMap::new();
    for row in crate::processes::rows(record) {
        if let Some(ns) = row.cpu {
            let sum = processes.entry(stable(&row.name)).or_default();
            *sum = *sum + ns;
        }
    }
    processes
}

/// The initcalls, without what interrupted or preempted them, by name.
fn initcalls(record: &Record, processor: &Processor) -> BTreeMap<String, Nanos> {
    let mut initcalls: BTreeMap<String, Nanos> = BTreeMap::new();
    let distinct = spans::distinct(record);
    for span in distinct.iter().filter(|s| s.kind == SpanKind::Initcall) {
        let (Some(start), Some(end)) = (span.start, span.end) else {
            continue;
        };
        // Those of the kernel itself are the first process's.
        let task = spans::task(record, span).unwrap_or(1);
        let sum = initcalls.entry(stable(record.name(span.name))).or_default();
        *sum = *sum + processor.of_task(task, (start, end));
    }
    initcalls
}

/// Who was on the only processor when, as a trace of the scheduler says it.
struct Processor {
    /// The first switch: before it the first process worked.
    from: Nanos,
    /// Task, begin, end, by begin.
    turns: Vec<(u32, Nanos, Nanos)>,
    /// The turns of each task, by their places.
    of_task: BTreeMap<u32, Vec<usize>>,
}

impl Processor {
    /// `None` if no trace has all switches, or there are several processors.
    fn of(record: &Record) -> Option<Self> {
        let notes = record.notes().iter();
        let mut names = notes.map(|n| n.kind.name);
        if names.any(|name| INCOMPLETE.contains(&name)) {
            return None;
        }
        let slices = record.slices().iter();
        // What was sampled is no switch.
        let running = slices.filter(|s| s.state == TaskState::Running && s.busy.is_none());
        let turns: Vec<_> = running.map(|s| (s.pid, s.start, s.end)).collect();
        let is_alone = turns.windows(2).all(|w| w[1].1 >= w[0].2);
        let mut of_task: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (place, (pid, ..)) in turns.iter().enumerate() {
            of_task.entry(*pid).or_default().push(place);
        }
        let from = turns.first()?.1;
        is_alone.then_some(Self {
            from,
            turns,
            of_task,
        })
    }

    /// How long it worked until `to`, from time zero.
    fn worked(&self, to: Nanos) -> Nanos {
        let turns = self.turns.iter().take_while(|t| t.1 < to);
        let ran = turns.map(|t| t.2.min(to) - t.1);
        ran.fold(self.from.min(to), |sum, ns| sum + ns)
    }

    /// How long it worked for a task from `start` to `end`.
    fn of_task(&self, task: u32, (start, end): (Nanos, Nanos)) -> Nanos {
        let before = match task {
            1 => (self.from.min(end) - start).max(Nanos::ZERO),
            _ => Nanos::ZERO,
        };
        let places = self.of_task.get(&task).map_or(&[][..], Vec::as_slice);
        let turn = |place: &usize| self.turns.get(*place).copied().unwrap_or_default();
        let first = places.partition_point(|p| turn(p).2 <= start);
        let places = places.get(first..).unwrap_or_default();
        let turns = places.iter().map(turn).take_while(|t| t.1 < end);
        let ran = turns.map(|t| t.2.min(end) - t.1.max(start));
        ran.fold(before, |sum, ns| sum + ns)
    }
}
