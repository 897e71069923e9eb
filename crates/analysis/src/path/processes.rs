//! Processes: who ran, who waited for storage, and who woke whom.
//!
//! The way back from first light, task by task: a task that runs came from
//! where it began to run; one that could run and did not, from those that had
//! the processor; one that slept, from the task that woke it; a new one, from
//! the task that forked it. Where two tasks meet, because one waits for the
//! other, the one that waits could not have gone on earlier than it began to
//! wait: that bounds what is saved by a quicker other.

use super::activity::{About, Activities, Doer};
use super::calls::{self, Call};
use super::graph::NodeId;
use super::report::PathKind;
use crate::place::Place;
use crate::spans;
use record::{NameId, Nanos, Origin, Process, Record, Slice, Span, TaskState, Wake};
use std::collections::{HashMap, HashSet};

/// The most steps back, so that a trace of any length ends.
const MOST_STEPS: usize = 200_000;

/// How often the way may go from task to task at one instant.
const MOST_JUMPS: u32 = 16;

/// The most items: each is computed anew with half its length.
const MOST_ITEMS: usize = 2_000;

/// Clocks nearer than this tell who printed a line. Early stamps of a kernel log are
/// known to a tick, 10 ms at most, which bounds the whole clock's error though those of
/// modules are known far better. Clocks that are only taken as equal are 110 ms apart
/// at worst.
const NEAR: Nanos = Nanos::from_millis(11);

/// A stretch of the way, the latest first.
#[derive(Clone, Debug)]
struct Stretch {
    kind: PathKind,
    name: String,
    start: Nanos,
    end: Nanos,
    origin: Option<Origin>,
    /// The initcall that did it.
    call: Option<NameId>,
    /// The task that ran or waited.
    pid: u32,
}

/// A place on the way where a task waited for another one.
#[derive(Clone, Copy, Debug)]
struct Meeting {
    /// How many stretches were there: the one before is what came after it.
    at: usize,
    /// The task that waited.
    pid: u32,
    /// When it began to wait.
    own_end: Nanos,
    /// When the way came to that task again, earlier.
    from: Option<Nanos>,
}

/// A task of the kernel that has worked for less than this when the boot ends did not end it:
/// those of RCU and of timers take some microseconds each.
const BRIEF: Nanos = Nanos::from_micros(100);

/// What a trace says of the tasks of a boot.
pub(super) struct Tasks<'r> {
    record: &'r Record,
    /// Slices of each task, by start.
    slices: HashMap<u32, Vec<&'r Slice>>,
    /// Running slices of each processor, by start.
    running: HashMap<Option<u32>, Vec<&'r Slice>>,
    wakes: HashMap<u32, Vec<&'r Wake>>,
    processes: HashMap<u32, Vec<&'r Process>>,
    /// Calls of modules and drivers in each task, by start.
    calls: HashMap<u32, Vec<Call>>,
}

impl<'r> Tasks<'r> {
    pub(super) fn new(record: &'r Record) -> Self {
        let mut tasks = Self {
            record,
            slices: HashMap::new(),
            running: HashMap::new(),
            wakes: HashMap::new(),
            processes: HashMap::new(),
            calls: HashMap::new(),
        };
        for slice in record.slices() {
            tasks.slices.entry(slice.pid).or_default().push(slice);
            // What a sampler saw is no switch of tasks.
            if slice.state == TaskState::Running && slice.busy.is_none() {
                tasks.running.entry(slice.cpu).or_default().push(slice);
            }
        }
        for wake in record.wakes() {
            tasks.wakes.entry(wake.pid).or_default().push(wake);
        }
        for process in record.processes() {
            tasks
                .processes
                .entry(process.pid)
                .or_default()
                .push(process);
        }
        for span in record.spans() {
            let (Some(kind), Some(start), Some(end)) =
                (PathKind::of_call(span), span.start, span.end)
            else {
                continue;
            };
            let pid = spans::task(record, span);
            // The log does not say who probed, but the one that did printed the line.
            let printer = || tasks.printer(span, end);
            let Some(pid) = pid.or_else(|| printer().filter(|_| kind != PathKind::Initcall)) else {
                continue;
            };
            tasks.calls.entry(pid).or_default().push(Call {
                kind,
                name: record.name(span.name).to_owned(),
                start,
                end,
                origin: span.origin,
                initcall: (kind == PathKind::Initcall).then_some(span.name),
                latest: end,
            });
        }
        for calls in tasks.calls.values_mut() {
            calls::arrange(calls);
        }
        tasks
    }

    /// Who had the one processor when a line was printed, if the trace goes so far and
    /// its clock is near enough to the line's.
    fn printer(&self, span: &Span, at: Nanos) -> Option<u32> {
        if self.running.len() != 1 {
            return None;
        }
        let slices = self.running.values().next()?;
        let after = slices.partition_point(|s| s.start < at);
        let slice = slices.get(after.checked_sub(1)?)?;
        let error = |clock: record::ClockId| self.record.clocks().get(clock.index())?.error_ns;
        let apart = match slice.clock == span.clock() {
            true => 0,
            false => error(slice.clock)?.saturating_add(error(span.clock())?),
        };
        let near = i64::try_from(apart).is_ok_and(|apart| Nanos(apart) < NEAR);
        (near && at <= slice.end).then_some(slice.pid)
    }

    /// The process of this id at a time.
    fn process(&self, pid: u32, at: Nanos) -> Option<&'r Process> {
        let all = self.processes.get(&pid)?;
        let begun = |p: &&&Process| p.start.unwrap_or(p.first_seen) <= at;
        all.iter()
            .rev()
            .find(begun)
            .or_else(|| all.first())
            .copied()
    }

    /// What each task did, by start.
    pub(super) fn slices(&self) -> impl Iterator<Item = (u32, &[&'r Slice])> {
        self.slices.iter().map(|(pid, all)| (*pid, all.as_slice()))
    }

    /// How many processors tasks ran on.
    pub(super) fn processors(&self) -> usize {
        self.running.len()
    }

    /// Who forked the task that has this id then, and when.
    pub(super) fn born(&self, pid: u32, at: Nanos) -> Option<(u32, Nanos)> {
        let process = self.process(pid, at)?;
        process.parent.zip(process.start)
    }

    /// Tasks that do what others ask of them, in whatever order they ask: those of
    /// the kernel, and those that several other programs wake which they did not fork,
    /// by themselves or through a task of the kernel, as a disk's requests reach a server.
    pub(super) fn servers(&self) -> HashSet<u32> {
        const SEVERAL: usize = 4;
        let mut servers: HashSet<u32> = HashSet::new();
        for (&pid, processes) in &self.processes {
            if processes.iter().any(|p| p.kernel_thread) {
                servers.insert(pid);
            }
        }
        for (&pid, wakes) in &self.wakes {
            let others = wakes.iter().filter_map(|w| self.asker(w));
            let others: HashSet<u32> = others
                .filter(|p| p.pid != pid && p.parent != Some(pid))
                .map(|p| p.pid)
                .collect();
            if others.len() >= SEVERAL {
                servers.insert(pid);
            }
        }
        servers
    }

    /// The program that wakes a task, or has a task of the kernel do so.
    fn asker(&self, wake: &Wake) -> Option<&'r Process> {
        let is_program = |p: &&Process| !p.kernel_thread;
        let by = self.process(wake.by, wake.at)?;
        if is_program(&by) {
            return Some(by);
        }
        let before = self.waker(wake.by, Nanos::ZERO, wake.at)?;
        self.process(before.by, before.at).filter(is_program)
    }

    /// Each task that was seen to be forked, its parent, and when.
    pub(super) fn births(&self) -> impl Iterator<Item = (u32, u32, Nanos)> {
        let processes = self.record.processes().iter();
        processes.filter_map(|p| Some((p.pid, p.parent?, p.start?)))
    }

    fn name(&self, pid: u32, at: Nanos) -> String {
        let name = self.process(pid, at).map(|p| self.record.name(p.name));
        format!("{} ({pid})", name.unwrap_or("task"))
    }

    /// The last slice of a task that began before `at`.
    fn slice_before(&self, pid: u32, at: Nanos) -> Option<&'r Slice> {
        let all = self.slices.get(&pid)?;
        let after = all.partition_point(|s| s.start < at);
        all.get(after.checked_sub(1)?).copied()
    }

    /// Who was on a processor last at `at`: where several were, the one that
    /// began last. A task of the kernel that had just begun came between by chance: then
    /// it is the program before it.
    pub(super) fn running_at(&self, at: Nanos) -> Option<u32> {
        let last = |all: &Vec<&'r Slice>, counts: &dyn Fn(&Slice) -> bool| {
            let after = all.partition_point(|s| s.start < at);
            let mut before = all.get(..after)?.iter().rev();
            before.find(|s| counts(s)).copied()
        };
        let is_program = |s: &Slice| {
            let process = self.process(s.pid, s.start);
            process.is_some_and(|p| !p.kernel_thread)
        };
        let is_brief = |s: &Slice| at - s.start < BRIEF && !is_program(s);
        let of = |counts: &dyn Fn(&Slice) -> bool| {
            let ran = self.running.values().filter_map(|all| last(all, counts));
            ran.max_by_key(|s| (s.end.min(at), s.start, s.pid))
        };
        let any = of(&|_| true)?;
        let program = is_brief(any).then(|| of(&is_program)).flatten();
        Some(program.unwrap_or(any).pid)
    }

    /// What a running stretch is: calls of modules and drivers where it lies in
    /// some, else the task's own work. The latest first.
    fn work(&self, pid: u32, start: Nanos, end: Nanos, origin: Origin, way: &mut Vec<Stretch>) {
        for (start, end, call) in self.pieces(pid, start, end) {
            way.push(match call {
                Some(call) => call.stretch(pid, start, end),
                None => Stretch {
                    kind: PathKind::Process,
                    name: self.name(pid, end),
                    start,
                    end,
                    origin: Some(origin),
                    call: None,
                    pid,
                },
            });
        }
    }

    /// A stretch of a task, cut where longer calls of it begin and end.
    fn pieces(&self, pid: u32, start: Nanos, end: Nanos) -> Vec<(Nanos, Nanos, Option<&Call>)> {
        let calls = self.calls.get(&pid).map_or(&[][..], Vec::as_slice);
        calls::pieces(calls, start, end)
    }

    /// Where a task went on when it got the processor that it waited for.
    fn runs_then(&self, waiting: &Slice) -> Option<&'r Slice> {
        let all = self.slices.get(&waiting.pid)?;
        let next = all.partition_point(|s| s.start < waiting.end);
        let next = all.get(next).copied()?;
        (next.state == TaskState::Running && next.start == waiting.end).then_some(next)
    }

    /// Those that had the processor while a task waited for it, the latest
    /// first.
    fn others(&self, waiting: &Slice, from: Nanos, until: Nanos, way: &mut Vec<Stretch>) {
        let start = waiting.start.max(from);
        let cpu = waiting.cpu.or_else(|| self.runs_then(waiting)?.cpu);
        let all = self.running.get(&cpu).map_or(&[][..], Vec::as_slice);
        let after = all.partition_point(|s| s.start < until);
        let mut at = until;
        for other in all.get(..after).unwrap_or_default().iter().rev() {
            if other.end <= start || at <= start {
                break;
            }
            let (begin, end) = (other.start.max(start), other.end.min(at));
            if begin >= end || other.pid == waiting.pid {
                continue;
            }
            self.processor(waiting.pid, end, at, way);
            self.work(other.pid, begin, end, other.origin, way);
            at = begin;
        }
        self.processor(waiting.pid, start, at, way);
    }

    fn processor(&self, pid: u32, start: Nanos, end: Nanos, way: &mut Vec<Stretch>) {
        if start < end {
            way.push(Stretch {
                kind: PathKind::Wait,
                name: format!("{} waits for a CPU", self.name(pid, end)),
                start,
                end,
                origin: None,
                call: None,
                pid,
            });
        }
    }

    /// What a task waited for where signals do not reach it.
    fn storage(&self, slice: &Slice, start: Nanos, end: Nanos) -> Stretch {
        let requests = self.record.requests();
        let after = requests.partition_point(|r| r.first() < Some(end));
        // Requests that were under way, the last of them first.
        const LOOKED_AT: usize = 1_000;
        let latest = requests.get(..after).unwrap_or_default();
        let under_way = latest.iter().rev().take(LOOKED_AT).find(|r| {
            let ended = r.completed.get().is_none_or(|c| c > start);
            r.pid == Some(slice.pid) && ended
        });
        let name = self.name(slice.pid, end);
        let name = match under_way {
            Some(r) => format!(
                "{name} waits for a {} of {}",
                r.operation.as_str(),
                r.device
            ),
            None => format!("{name} waits for storage or a lock"),
        };
        Stretch {
            kind: PathKind::Io,
            name,
            start,
            end,
            origin: Some(slice.origin),
            call: None,
            pid: slice.pid,
        }
    }

    /// The way back from `end` to `from`.
    fn way(&self, from: Nanos, end: Nanos) -> Option<(Vec<Stretch>, Vec<Meeting>)> {
        let (mut pid, mut at) = (self.running_at(end)?, end);
        let mut way: Vec<Stretch> = Vec::new();
        let mut meetings: Vec<Meeting> = Vec::new();
        let mut jumps = 0;
        for _ in 0..MOST_STEPS {
            if at <= from {
                break;
            }
            let slice = self.slice_before(pid, at).filter(|s| s.end > from);
            if let Some(s) = slice
                && s.end >= at
                && !matches!(s.state, TaskState::Sleeping | TaskState::Zombie)
            {
                let start = s.start.max(from);
                match s.state {
                    TaskState::Running => self.work(pid, start, at, s.origin, &mut way),
                    TaskState::Runnable => self.others(s, from, at, &mut way),
                    _ => way.push(self.storage(s, start, at)),
                }
                at = start;
                jumps = 0;
                continue;
            }
            // It slept, or it was not there yet.
            let process = self.process(pid, at);
            let born = process.and_then(|p| p.start);
            let born = born.filter(|b| *b > from && *b <= at);
            let asleep_from = match slice {
                Some(s) if s.end >= at => s.start,
                Some(s) => s.end,
                None => born.unwrap_or(from),
            };
            let asleep_from = asleep_from.max(born.unwrap_or(from)).max(from);
            let next = self
                .waker(pid, asleep_from, at)
                .map(|w| (w.by, w.at, true))
                .or_else(|| {
                    let parent = process?.parent.filter(|p| *p != 0 && *p != pid)?;
                    let born = born.filter(|b| slice.is_none_or(|s| s.start < *b))?;
                    Some((parent, born, false))
                });
            let (by, when, met) = match next {
                Some(next) if next.1 > from && jumps < MOST_JUMPS => next,
                // Nothing is known of what came before.
                _ if slice.is_none() || asleep_from >= at => {
                    self.asleep(pid, from, at, &mut way);
                    break;
                }
                _ => {
                    self.asleep(pid, asleep_from, at, &mut way);
                    at = asleep_from;
                    jumps = 0;
                    continue;
                }
            };
            jumps = if when < at { 0 } else { jumps + 1 };
            self.asleep(pid, when, at, &mut way);
            if met {
                meetings.push(Meeting {
                    at: way.len(),
                    pid,
                    own_end: asleep_from,
                    from: None,
                });
            }
            for m in meetings
                .iter_mut()
                .filter(|m| m.pid == by && m.from.is_none())
            {
                m.from = Some(when);
            }
            (pid, at) = (by, when);
        }
        Some((way, meetings))
    }

    /// The task that woke `pid` last while it slept. An interrupt wakes as the
    /// task that it interrupts, so one that did not run then is none.
    pub(super) fn waker(&self, pid: u32, from: Nanos, until: Nanos) -> Option<&'r Wake> {
        let all = self.wakes.get(&pid)?;
        let after = all.partition_point(|w| w.at <= until);
        let wake = all.get(after.checked_sub(1)?).copied()?;
        let ran = self.slice_before(wake.by, wake.at);
        let ran = ran.is_some_and(|s| s.state == TaskState::Running && s.end >= wake.at);
        let fits = wake.at >= from && wake.by != 0 && wake.by != pid;
        (fits && ran).then_some(wake)
    }

    /// A task that slept, and nobody is known to have woken it. In a probe that is
    /// the probe's: it waits for its device.
    fn asleep(&self, pid: u32, start: Nanos, end: Nanos, way: &mut Vec<Stretch>) {
        for (start, end, call) in self.pieces(pid, start, end) {
            let probe = call.filter(|c| c.kind != PathKind::Initcall);
            if let Some(probe) = probe {
                way.push(probe.stretch(pid, start, end));
            } else {
                way.push(Stretch {
                    kind: PathKind::Wait,
                    name: format!("{} sleeps (timer or device)", self.name(pid, end)),
                    start,
                    end,
                    origin: None,
                    call: None,
                    pid,
                });
            }
        }
    }
}

impl Call {
    /// A part of it, as `pid` did it.
    fn stretch(&self, pid: u32, start: Nanos, end: Nanos) -> Stretch {
        Stretch {
            kind: self.kind,
            name: self.name.clone(),
            start,
            end,
            origin: Some(self.origin),
            call: self.initcall,
            pid,
        }
    }
}

/// Adds the way through the tasks to first light; gives its last stretch.
/// `None` without a trace of tasks that reaches there.
pub(super) fn until(
    all: &mut Activities<'_>,
    before: Option<NodeId>,
    end: Nanos,
) -> Option<NodeId> {
    let record = all.record;
    let from = before.map_or(Nanos::ZERO, |b| all.graph.end(b));
    if record.wakes().is_empty() || end <= from {
        return None;
    }
    let tasks = Tasks::new(record);
    let (way, meetings) = tasks.way(from, end)?;
    let reached = way.last().map(|s| s.start)?;
    let (way, meetings) = shorter(way, meetings);

    let mut last = all.fill(
        before,
        reached,
        PathKind::Wait,
        "before the task trace starts",
    );
    // The nodes of the way so far, by their ends.
    let mut done: Vec<(Nanos, NodeId)> = last.iter().map(|l| (all.graph.end(*l), *l)).collect();
    for (number, stretch) in way.into_iter().enumerate().rev() {
        let mut after: Vec<NodeId> = last.into_iter().collect();
        for m in meetings.iter().filter(|m| m.at == number + 1) {
            let start = m.from.unwrap_or(from).max(from).min(m.own_end);
            let anchor = done.partition_point(|(end, _)| *end <= start);
            let anchor = anchor.checked_sub(1).and_then(|i| done.get(i));
            let anchor: Vec<NodeId> = anchor.iter().map(|a| a.1).collect();
            let about = About {
                kind: PathKind::Process,
                name: tasks.name(m.pid, m.own_end),
                start,
                end: m.own_end,
                origin: None,
                call: None,
                by: Doer::Task(m.pid),
            };
            after.push(all.add(about, &anchor));
        }
        let about = About {
            kind: stretch.kind,
            name: stretch.name,
            start: stretch.start,
            end: stretch.end,
            origin: stretch.origin.map(|o| Place::of(record, o)),
            call: stretch.call,
            by: Doer::Task(stretch.pid),
        };
        let node = all.add(about, &after);
        done.push((stretch.end, node));
        last = Some(node);
    }
    last
}

/// The way with neighbours of one name as one, and with the shortest stretches
/// in their neighbours, until it is short enough.
fn shorter(mut way: Vec<Stretch>, mut meetings: Vec<Meeting>) -> (Vec<Stretch>, Vec<Meeting>) {
    let mut shortest = Nanos::ZERO;
    loop {
        let mut merged: Vec<Stretch> = Vec::with_capacity(way.len());
        let mut place = vec![0_usize; way.len() + 1];
        for (number, stretch) in way.into_iter().enumerate() {
            let meets = meetings.iter().any(|m| m.at == number);
            let length = stretch.end - stretch.start;
            match merged.last_mut() {
                Some(later)
                    if later.kind == stretch.kind
                        && later.name == stretch.name
                        && later.call == stretch.call
                        && !meets =>
                {
                    later.start = stretch.start;
                    later.origin = stretch.origin.or(later.origin);
                }
                Some(later) if length < shortest => later.start = stretch.start,
                _ => merged.push(stretch),
            }
            if let Some(p) = place.get_mut(number + 1) {
                *p = merged.len();
            }
        }
        for m in &mut meetings {
            m.at = place.get(m.at).copied().unwrap_or(0);
        }
        way = merged;
        if way.len() <= MOST_ITEMS {
            return (way, meetings);
        }
        shortest = Nanos((shortest.get() * 2).max(1_000));
    }
}
