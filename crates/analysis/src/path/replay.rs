//! The boot again, with something of it taken away.
//!
//! A graph of who waited for whom does not know that two tasks want one
//! processor: with a sleep gone, what others did meanwhile is still to be done.
//! Where every switch of tasks and every wake was traced, the boot can be played
//! again ([`super::schedule`]): each task from sleep to sleep, each sleep ended
//! by what ended it. Timers and storage take as long as they took. A unit begins
//! in the first process when all that it is ordered after is there.

use super::gate::Gate;
use super::processes::Tasks;
use super::schedule::{Goal, Job, TICK, play};
use super::units;
use record::{NameId, Nanos, Record, TaskState};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The first process, which starts units.
const INIT: u32 = 1;

/// How far the boot as it is played may be from the boot as it was, in parts of
/// what is played: else the trace has not all that it takes.
const TRUST: i64 = 10;

/// What is made shorter: processor time, and what was waited for nobody who is known,
/// such as timers and storage.
#[derive(Clone, Debug, Default)]
pub(super) struct Less {
    /// Of these tasks.
    pub pids: HashSet<u32>,
    /// Within these times, one after the other.
    pub within: Vec<(Nanos, Nanos)>,
    /// How much of it goes, in thousandths.
    pub gone: u16,
    /// Whether the tasks are not there at all: then they wait for no other task either.
    pub absent: bool,
}

impl Less {
    /// Half of what these tasks do within these times.
    pub fn half(pids: HashSet<u32>, within: Vec<(Nanos, Nanos)>) -> Self {
        Self {
            pids,
            within,
            gone: 500,
            absent: false,
        }
    }

    /// What is left of a stretch of a task's work or wait.
    fn left(&self, pid: u32, start: Nanos, end: Nanos) -> i64 {
        let length = (end - start).get();
        if !self.pids.contains(&pid) {
            return length;
        }
        let first = self.within.partition_point(|w| w.1 <= start);
        let within = self.within.iter().skip(first);
        let shared = within
            .take_while(|w| w.0 < end)
            .map(|w| (end.min(w.1) - start.max(w.0)).get().max(0));
        let gone = i128::from(shared.sum::<i64>()) * i128::from(self.gone.min(1_000)) / 1_000;
        length - i64::try_from(gone).unwrap_or(length)
    }
}

/// What is left of a stretch with all of `less` gone, one after the other.
fn left(less: &[Less], pid: u32, start: Nanos, end: Nanos) -> i64 {
    let length = (end - start).get();
    let gone = less.iter().map(|l| length - l.left(pid, start, end));
    (length - gone.sum::<i64>()).max(0)
}

/// What a task did from one sleep to the next.
#[derive(Clone, Debug)]
struct Burst {
    pid: u32,
    /// When it could begin.
    ready: Nanos,
    /// When it had the processor.
    pieces: Vec<(Nanos, Nanos)>,
    end: Nanos,
    /// What let it begin.
    causes: Vec<Cause>,
    /// The units that begin with it.
    units: Vec<NameId>,
}

impl Burst {
    /// The processor time before `at` that is left.
    fn work(&self, at: Nanos, less: &[Less]) -> i64 {
        let before = self.pieces.iter().filter(|p| p.0 < at);
        before.map(|p| left(less, self.pid, p.0, p.1.min(at))).sum()
    }
}

/// What let a burst begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// A time after the end of a burst of the same task.
    Later(usize),
    /// Something that a burst did at this time.
    Done(usize, Nanos),
    /// The end of a burst of the same task: a program does one thing after another.
    Then(usize),
}

/// A traced boot that can be played again.
pub(super) struct Replay {
    bursts: Vec<Burst>,
    /// The burst of the same task before each of them.
    previous: Vec<Option<usize>>,
    processors: usize,
    tasks: HashMap<u32, usize>,
    from: Nanos,
    goal: (usize, Nanos),
    /// When a tick of the clock was.
    tick: i64,
    /// When the boot ends if nothing is taken away.
    whole: i64,
    /// The unit that a process belongs to.
    owners: BTreeMap<NameId, HashSet<u32>>,
}

/// The boot from `from` to its end, to be played again; `None` if its tasks were
/// not traced, or not well enough.
pub(super) fn of(record: &Record, from: Nanos, end: Nanos) -> Option<Replay> {
    if record.wakes().is_empty() || end <= from {
        return None;
    }

    Replay::of(&Tasks::new(record), &units::gates(record, end), from, end)
}

impl Replay {
    /// The boot from `from` to its end, as traced; `None` if the trace does not
    /// say enough for it to end when it did.
    fn of(tasks: &Tasks<'_>, gates: &[Gate], from: Nanos, end: Nanos) -> Option<Self> {
        let last = tasks.running_at(end)?;
        let mut bursts = bursts(tasks, from, end);
        let gates = &from_forks(gates, tasks);
        at_gates(&mut bursts, gates);
        // A unit's first process is there when the first process goes on behind the fork.
        bursts.sort_by_key(|b| (b.ready, b.units.is_empty(), b.end, b.pid));
        let mut by_task: HashMap<u32, Vec<usize>> = HashMap::new();
        for (id, burst) in bursts.iter().enumerate() {
            by_task.entry(burst.pid).or_default().push(id);
        }
        let mut servers = tasks.servers();
        // The first process is one if it starts units; else it is a script.
        match gates.is_empty() {
            true => servers.remove(&INIT),
            false => servers.insert(INIT),
        };
        let places = Places {
            bursts: &bursts,
            servers: &servers,
            by_task: &by_task,
        };
        let causes: Vec<Vec<Cause>> = (0..bursts.len())
            .map(|id| places.causes(tasks, gates, id, from))
            .collect();
        let goal = places.begun(last, end, true)?;
        let causes = places.without_asides(tasks, causes, goal);
        // Where nobody ran at the end, it came so long after the last one.
        let end = end.min(bursts.get(goal)?.end);
        let owners = places.owners(tasks, &causes);
        let previous = (0..bursts.len()).map(|id| places.previous(id)).collect();
        for (burst, causes) in bursts.iter_mut().zip(causes) {
            burst.causes = causes;
        }
        let numbers = by_task.keys().copied().collect::<BTreeSet<u32>>();
        let mut replay = Self {
            bursts,
            previous,
            processors: tasks.processors(),
            tasks: numbers.into_iter().zip(0..).collect(),
            from,
            goal: (goal, end),
            tick: tick(tasks),
            whole: 0,
            owners,
        };
        replay.whole = replay.end(&[], replay.processors)?;
        let off = (replay.whole - end.get()).abs();
        (off <= (end - from).get() / TRUST).then_some(replay)
    }

    /// How much earlier the boot ends with that taken away.
    pub(super) fn saving(&self, less: &[Less]) -> Option<Nanos> {
        Some(Nanos(self.whole - self.end(less, self.processors)?))
    }

    /// How much earlier the boot ends on so many processors; less than nothing if later.
    pub(super) fn saving_on(&self, processors: usize) -> Option<Nanos> {
        Some(Nanos(self.whole - self.end(&[], processors)?))
    }

    /// What tasks did themselves: their work, and what they waited for nobody who is
    /// known.
    pub(super) fn own_time(&self, pids: &HashSet<u32>) -> Nanos {
        let own = |b: &Burst| {
            let work = b.work(b.end, &[]);
            let waits = b.causes.iter().map(|c| match *c {
                Cause::Later(of) => self.bursts.get(of).map_or(0, |o| (b.ready - o.end).get()),
                Cause::Done(..) | Cause::Then(_) => 0,
            });
            work + waits.sum::<i64>()
        };
        let of_pids = self.bursts.iter().filter(|b| pids.contains(&b.pid));
        Nanos(of_pids.map(own).sum())
    }

    /// From when to when a task did what it did at this time: from its last sleep to
    /// the next.
    pub(super) fn burst_at(&self, pid: u32, at: Nanos) -> Option<(Nanos, Nanos)> {
        let holds = |b: &&Burst| b.pid == pid && at < b.end;
        let begun = self.bursts.partition_point(|b| b.ready <= at);
        let begun = self.bursts.get(..begun).unwrap_or_default();
        begun.iter().rev().find(holds).map(|b| (b.ready, b.end))
    }

    /// Where what is played begins.
    pub(super) const fn from(&self) -> Nanos {
        self.from
    }

    /// The processes that a unit is made of.
    pub(super) fn of_unit(&self, unit: NameId) -> Option<&HashSet<u32>> {
        self.owners.get(&unit)
    }

    /// What lets a burst begin with that taken away. A task that is not there waits for no other
    /// one after it was forked, and is past all that it did.
    fn kept(&self, id: usize, less: &[Less]) -> Cow<'_, [Cause]> {
        let Some(burst) = self.bursts.get(id) else {
            return Cow::Borrowed(&[]);
        };
        let previous = self.previous.get(id).copied().flatten();
        let Some((pids, previous)) = absent(less, burst.pid).zip(previous) else {
            return Cow::Borrowed(&burst.causes);
        };
        let is_own = |of: usize| self.bursts.get(of).is_some_and(|b| pids.contains(&b.pid));
        let mut causes = burst.causes.clone();
        causes.retain(|c| !matches!(c, Cause::Done(of, _) if !is_own(*of)));
        if causes.is_empty() && !burst.causes.is_empty() {
            causes.push(Cause::Then(previous));
        }
        Cow::Owned(causes)
    }

    fn end(&self, less: &[Less], processors: usize) -> Option<i64> {
        let mut jobs: Vec<Job> = self
            .bursts
            .iter()
            .map(|b| Job {
                task: self.tasks.get(&b.pid).copied().unwrap_or_default(),
                work: b.work(b.end, less),
                not_before: match b.causes.is_empty() {
                    true => b.ready.get(),
                    false => 0,
                },
                ..Job::default()
            })
            .collect();
        for (id, burst) in self.bursts.iter().enumerate() {
            for cause in self.kept(id, less).iter() {
                let (Cause::Later(of) | Cause::Done(of, _) | Cause::Then(of)) = *cause;
                let before = self.bursts.get(of)?;
                let job = jobs.get_mut(of)?;
                match *cause {
                    Cause::Later(_) => {
                        let wait = left(less, burst.pid, before.end, burst.ready);
                        job.followers.push((wait, id));
                    }
                    Cause::Then(_) => job.followers.push((0, id)),
                    Cause::Done(_, at) => job.signals.push((before.work(at, less), id)),
                }
                jobs.get_mut(id)?.needs += 1;
            }
        }
        for job in &mut jobs {
            job.signals.sort_unstable();
        }
        let (goal, at) = self.goal;
        let work = self.bursts.get(goal)?.work(at, less);
        play(
            &jobs,
            processors.max(1),
            (self.from.get(), self.tick),
            Goal { job: goal, work },
        )
    }
}

/// The tasks that are not there at all.
fn absent(less: &[Less], pid: u32) -> Option<&HashSet<u32>> {
    let absent = less.iter().filter(|l| l.absent);
    absent.map(|l| &l.pids).find(|pids| pids.contains(&pid))
}

/// When a tick of the clock was: most tasks that lose the processor while they could
/// go on lose it at a tick, and the others whenever another one wakes.
fn tick(tasks: &Tasks<'_>) -> i64 {
    /// The kernel's clock and the record's drift apart by about this in a boot.
    const STEP: i64 = 100_000;
    let mut at: BTreeMap<i64, usize> = BTreeMap::new();
    for (_, slices) in tasks.slices() {
        for pair in slices.windows(2) {
            let [ran, lost] = pair else { continue };
            let lost_it = ran.state == TaskState::Running && lost.state == TaskState::Runnable;
            if lost_it && ran.end == lost.start {
                let place = ran.end.get().rem_euclid(TICK) / STEP;
                *at.entry(place).or_default() += 1;
            }
        }
    }
    // Of equally many the first, so that equal boots give equal answers.
    let most = at
        .into_iter()
        .max_by_key(|(place, n)| (*n, std::cmp::Reverse(*place)));
    most.map_or(0, |(place, _)| place * STEP)
}

/// What each task did between its sleeps.
fn bursts(tasks: &Tasks<'_>, from: Nanos, end: Nanos) -> Vec<Burst> {
    let mut all = Vec::new();
    for (pid, slices) in tasks.slices() {
        let mut now: Option<Burst> = None;
        for slice in slices {
            let (start, stop) = (slice.start.max(from), slice.end.min(end));
            let works = matches!(slice.state, TaskState::Running | TaskState::Runnable);
            if start >= stop || !works || slice.busy.is_some() {
                continue;
            }
            if now.as_ref().is_none_or(|b| b.end < start) {
                all.extend(now.take());
            }
            let burst = now.get_or_insert_with(|| Burst {
                pid,
                ready: start,
                pieces: Vec::new(),
                end: start,
                causes: Vec::new(),
                units: Vec::new(),
            });
            if slice.state == TaskState::Running {
                burst.pieces.push((start.max(burst.end), stop));
            }
            burst.end = burst.end.max(stop);
        }
        all.extend(now);
    }
    all
}

/// How far a time that systemd gives may be from the trace's, at the least and at the most.
/// The clock that it reads and the trace's are half a millisecond apart in the seconds
/// after the kernel changes its clock source, and come together later.
const SKEW: (Nanos, Nanos) = (Nanos::from_micros(100), Nanos::from_millis(1));

/// How far the times that systemd gives are from the trace's in this boot: it takes them
/// while it runs, so one from between is off by the way to when it ran at least.
fn skew(gates: &[Gate], running: &[(Nanos, Nanos)]) -> Nanos {
    let off = gates.iter().flat_map(|g| [g.start, g.end]).map(|at| {
        let after = running.partition_point(|r| r.1 < at);
        let before = after.checked_sub(1).and_then(|n| running.get(n));
        let before = before.map_or(SKEW.1, |r| at - r.1);
        let after = running.get(after).map_or(SKEW.1, |r| r.0 - at);
        before.min(after)
    });
    off.fold(SKEW.0, Nanos::max).min(SKEW.1)
}

/// The units, each from where the first process forked for it. systemd says that a unit
/// began when it has forked: `service_spawn()` stands before `service_set_state()`, and
/// `mount_spawn()` before `mount_set_state()`.
fn from_forks(gates: &[Gate], tasks: &Tasks<'_>) -> Vec<Gate> {
    let by_first = tasks.births().filter(|(_, parent, _)| *parent == INIT);
    let mut forks: Vec<Nanos> = by_first.map(|(_, _, born)| born).collect();
    forks.sort_unstable();
    let mut gates = gates.to_vec();
    gates.sort_by_key(|g| (g.start, g.unit));
    let first = tasks.slices().filter(|(pid, _)| *pid == INIT);
    let slices: Vec<_> = first.flat_map(|(_, all)| all).collect();
    let of = |states: &[TaskState]| -> Vec<(Nanos, Nanos)> {
        let all = slices.iter().filter(|s| states.contains(&s.state));
        all.map(|s| (s.start, s.end)).collect()
    };
    let skew = skew(&gates, &of(&[TaskState::Running]));
    // It may have waited in the kernel: to put a child into its control group, which systemd
    // does before it takes the time, can take a grace period of RCU
    // (`cgroup_attach_task()`, under `cgroup_threadgroup_rwsem`).
    let awake = of(&[TaskState::Running, TaskState::Runnable, TaskState::Blocked]);
    // From the last one on: each has the last fork before it that no other has.
    let mut stamped: Option<&mut Gate> = None;
    for gate in gates.iter_mut().filter(|g| g.has_processes).rev() {
        let Some(later) = stamped.replace(gate) else {
            continue;
        };
        let earliest = stamped.as_ref().map_or(Nanos::ZERO, |g| g.start - skew);
        take_fork(later, &mut forks, earliest, (&awake, skew));
    }
    if let Some(first) = stamped {
        take_fork(first, &mut forks, Nanos::ZERO, (&awake, skew));
    }
    gates
}

/// Begins a unit at its fork, if that is after `earliest` and the first process did
/// not wait for events between: all the time it was `awake`.
fn take_fork(
    gate: &mut Gate,
    forks: &mut Vec<Nanos>,
    earliest: Nanos,
    (awake, skew): (&[(Nanos, Nanos)], Nanos),
) {
    forks.truncate(forks.partition_point(|born| *born <= gate.start));
    let Some(&born) = forks.last().filter(|born| **born >= earliest) else {
        return;
    };
    let first = awake.partition_point(|a| a.1 < born);
    let mut until = born;
    for (from, to) in awake.get(first..).unwrap_or_default() {
        if *from > until {
            break;
        }
        until = *to;
    }
    if until + skew >= gate.start {
        gate.start = born;
        forks.pop();
    }
}

/// Cuts what the first process does where it begins a unit.
fn at_gates(bursts: &mut Vec<Burst>, gates: &[Gate]) {
    let mut starts: BTreeMap<Nanos, Vec<NameId>> = BTreeMap::new();
    for gate in gates {
        starts.entry(gate.start).or_default().push(gate.unit);
    }
    let mut cut = Vec::new();
    for burst in bursts.iter_mut().filter(|b| b.pid == INIT) {
        let begun = burst.ready;
        for (&at, units) in starts.range(begun..burst.end).rev() {
            let mut rest = burst.clone();
            rest.ready = at;
            rest.pieces.retain_mut(|p| {
                p.0 = p.0.max(at);
                p.0 < p.1
            });
            rest.units.clone_from(units);
            burst.pieces.retain_mut(|p| {
                p.1 = p.1.min(at);
                p.0 < p.1
            });
            burst.end = at;
            cut.push(rest);
        }
    }
    bursts.append(&mut cut);
}

/// Where each task is when.
struct Places<'b> {
    bursts: &'b [Burst],
    servers: &'b HashSet<u32>,
    by_task: &'b HashMap<u32, Vec<usize>>,
}

impl Places<'_> {
    /// What a task was at at this time. At the place of a cut it is at what comes
    /// after it, or before.
    fn at(&self, pid: u32, at: Nanos, before: bool) -> Option<usize> {
        let id = self.begun(pid, at, before)?;
        (self.bursts.get(id)?.end >= at).then_some(id)
    }

    /// The last that a task began by then.
    fn begun(&self, pid: u32, at: Nanos, before: bool) -> Option<usize> {
        let all = self.by_task.get(&pid)?;
        let begun = |id: &usize| {
            self.bursts
                .get(*id)
                .is_some_and(|b| b.ready < at || b.ready == at && !before)
        };
        all.get(all.partition_point(begun).checked_sub(1)?).copied()
    }

    /// The burst of the same task before this one.
    fn previous(&self, id: usize) -> Option<usize> {
        let all = self.by_task.get(&self.bursts.get(id)?.pid)?;
        let place = all.binary_search(&id).ok()?;
        all.get(place.checked_sub(1)?).copied()
    }

    /// What let a burst begin.
    fn causes(&self, tasks: &Tasks<'_>, gates: &[Gate], id: usize, from: Nanos) -> Vec<Cause> {
        let Some(burst) = self.bursts.get(id) else {
            return Vec::new();
        };
        if burst.ready <= from {
            return Vec::new();
        }
        let mut causes: Vec<Cause> = Vec::new();
        let mut latest = from;
        for gate in gates.iter().filter(|g| burst.units.contains(&g.unit)) {
            let before = gates.iter().filter(|g| gate.after.contains(&g.unit));
            for other in before.filter(|g| g.end <= burst.ready) {
                // A target is there as soon as it begins.
                let ended = other.end > other.start;
                if let Some(of) = self.at(INIT, other.end, ended)
                    && of < id
                {
                    causes.push(Cause::Done(of, other.end));
                    latest = latest.max(other.end);
                }
            }
        }
        let previous = self.previous(id);
        // It went on where it was cut: what kept it was what it is ordered after,
        // if that came about in the same go.
        let goes_on = previous
            .and_then(|p| self.bursts.get(p))
            .is_some_and(|p| p.end == burst.ready);
        let begun = previous.map_or(burst.ready, |p| self.begin_of(p));
        if goes_on && latest >= begun && !causes.is_empty() {
            causes.dedup();
            return causes;
        }
        let slept = previous.and_then(|p| self.bursts.get(p)).map(|p| p.end);
        let cause = tasks
            .waker(burst.pid, slept.unwrap_or(from).max(from), burst.ready)
            .and_then(|w| Some(Cause::Done(self.at(w.by, w.at, false)?, w.at)))
            .or(previous.map(Cause::Later))
            .or_else(|| {
                let (parent, born) = tasks.born(burst.pid, burst.ready)?;
                Some(Cause::Done(self.at(parent, born, false)?, born))
            });
        let earlier = |c: &Cause| match *c {
            Cause::Later(of) | Cause::Done(of, _) | Cause::Then(of) => of < id,
        };
        causes.extend(cause.filter(earlier));
        // A server takes what comes as it comes.
        if let Some(previous) = previous
            && cause.is_some_and(|c| matches!(c, Cause::Done(..)))
            && !self.servers.contains(&burst.pid)
        {
            causes.push(Cause::Then(previous));
        }
        causes.dedup();
        causes
    }

    /// What let each burst begin, where those of which a task makes nothing do not
    /// keep it from going on: it was woken by a child's end, did nothing that others
    /// saw, and waits on. A child counts whose parent has gone on before, while it
    /// lived: a parent that waits for it does not.
    fn without_asides(
        &self,
        tasks: &Tasks<'_>,
        mut causes: Vec<Vec<Cause>>,
        goal: usize,
    ) -> Vec<Vec<Cause>> {
        let mut is_seen = vec![false; self.bursts.len()];
        for cause in causes.iter().flatten() {
            if let Cause::Done(of, _) = *cause
                && let Some(seen) = is_seen.get_mut(of)
            {
                *seen = true;
            }
        }
        if let Some(seen) = is_seen.get_mut(goal) {
            *seen = true;
        }
        let went_on = |pid: u32, born: Nanos, until: Nanos| {
            let own = self.by_task.get(&pid).map_or(&[][..], Vec::as_slice);
            let after =
                own.partition_point(|id| self.bursts.get(*id).is_some_and(|b| b.ready <= born));
            let later = own.get(after..).unwrap_or_default().iter();
            later
                .take_while(|id| self.bursts.get(**id).is_some_and(|b| b.ready < until))
                .any(|id| is_seen.get(*id) == Some(&true))
        };
        let is_aside = |id: usize| {
            let burst = self.bursts.get(id)?;
            let own = causes.get(id)?;
            let &Cause::Done(of, at) = own.iter().find(|c| matches!(c, Cause::Done(..)))? else {
                return None;
            };
            let child = self.bursts.get(of)?;
            let is_last = self.by_task.get(&child.pid)?.last() == Some(&of);
            let (parent, born) = tasks.born(child.pid, at)?;
            let aside = is_last && parent == burst.pid && is_seen.get(id) == Some(&false);
            (aside && went_on(parent, born, burst.ready)).then_some(())
        };
        let asides: Vec<bool> = (0..causes.len()).map(|id| is_aside(id).is_some()).collect();
        for id in 0..causes.len() {
            let before = |mut of: usize| {
                while asides.get(of) == Some(&true) {
                    of = self.previous(of)?;
                }
                Some(of)
            };
            let Some(own) = causes.get_mut(id) else {
                continue;
            };
            own.retain_mut(|cause| match cause {
                Cause::Then(_) if asides.get(id) == Some(&true) => false,
                Cause::Then(of) => before(*of).map(|b| *of = b).is_some(),
                _ => true,
            });
        }
        causes
    }

    /// When what a burst is a part of began.
    fn begin_of(&self, mut id: usize) -> Nanos {
        loop {
            let Some(burst) = self.bursts.get(id) else {
                return Nanos::ZERO;
            };
            match self.previous(id) {
                Some(p) if self.bursts.get(p).is_some_and(|p| p.end == burst.ready) => id = p,
                _ => return burst.ready,
            }
        }
    }

    /// The processes of each unit: those that the first process forks where it
    /// begins the unit, or as one of them has ended, and what they fork.
    fn owners(&self, tasks: &Tasks<'_>, causes: &[Vec<Cause>]) -> BTreeMap<NameId, HashSet<u32>> {
        let mut unit_of: HashMap<u32, NameId> = HashMap::new();
        let mut owners: BTreeMap<NameId, HashSet<u32>> = BTreeMap::new();
        for (pid, parent, born) in tasks.births() {
            let unit = match parent {
                INIT => self.at(INIT, born, false).and_then(|id| {
                    let own = self.bursts.get(id)?.units.last().copied();
                    own.or_else(|| match causes.get(id)?.first()? {
                        Cause::Done(of, _) => unit_of.get(&self.bursts.get(*of)?.pid).copied(),
                        Cause::Later(_) | Cause::Then(_) => None,
                    })
                }),
                _ => unit_of.get(&parent).copied(),
            };
            if let Some(unit) = unit {
                unit_of.insert(pid, unit);
                owners.entry(unit).or_default().insert(pid);
            }
        }
        owners
    }
}
