//! Tasks that share processors, played through event by event.
//!
//! A *job* is what a task does from one sleep to the next. It begins when all
//! that it waits for has happened, and while it runs it lets others begin. Which
//! task runs is decided as Linux' fair scheduler does it: the one that has had
//! the least. One that has had its turn goes at the next tick of the clock, while
//! others want to (`kernel/sched/fair.c` before Linux 6.6).

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

/// From one tick of the clock to the next, at 250 Hz (`CONFIG_HZ`).
pub(super) const TICK: i64 = 4_000_000;

/// In so long each task that wants a processor gets its turn, but none is shorter
/// than the least (`sysctl_sched_latency`, `sysctl_sched_min_granularity`). A task
/// that slept is put half of it ahead of the others.
const LATENCY: i64 = 6_000_000;
const LEAST_TURN: i64 = 750_000;

/// It takes the processor at once from one that has had so much more
/// (`sysctl_sched_wakeup_granularity`).
const GRANULARITY: i64 = 1_000_000;

/// What a task does from one sleep to the next. Times are nanoseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Job {
    /// Which task.
    pub task: usize,
    /// Processor time.
    pub work: i64,
    /// No sooner than this.
    pub not_before: i64,
    /// How many jobs have to let it begin.
    pub needs: u32,
    /// Jobs that it lets begin, each after so much of its work; by that.
    pub signals: Vec<(i64, usize)>,
    /// Jobs that begin so long after its end.
    pub followers: Vec<(i64, usize)>,
}

/// Where the boot ends: after so much of a job's work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Goal {
    pub job: usize,
    pub work: i64,
}

/// A task as it is being played.
#[derive(Clone, Debug, Default)]
struct Task {
    /// Jobs that could begin, the first of which it is at.
    ready: VecDeque<usize>,
    /// How much of that one is done, and how many of its signals are given.
    done: i64,
    signalled: usize,
    /// The processor time that it counts as having had; a new one has none yet.
    had: Option<i64>,
}

struct Play<'j> {
    jobs: &'j [Job],
    needs: Vec<u32>,
    tasks: Vec<Task>,
    /// What happens by itself: jobs that a time lets begin.
    timers: BinaryHeap<Reverse<(i64, usize)>>,
    /// Tasks that want a processor, by what they have had.
    waiting: BTreeSet<(i64, usize)>,
    /// What runs on each processor, and since when.
    running: Vec<Option<(usize, i64)>>,
    now: i64,
    /// The time of a tick of the clock.
    phase: i64,
    /// What the one that has had least has had; it never shrinks.
    least: i64,
}

/// When the goal is reached, from `start` on; `None` if it never is. At `tick`
/// there is one.
pub(super) fn play(
    jobs: &[Job],
    processors: usize,
    (start, tick): (i64, i64),
    goal: Goal,
) -> Option<i64> {
    let tasks = jobs.iter().map(|j| j.task + 1).max()?;
    let mut play = Play {
        jobs,
        needs: jobs.iter().map(|j| j.needs).collect(),
        tasks: vec![Task::default(); tasks],
        timers: BinaryHeap::new(),
        waiting: BTreeSet::new(),
        running: vec![None; processors.max(1)],
        now: start,
        phase: tick,
        least: 0,
    };
    for (id, job) in jobs.iter().enumerate() {
        if job.needs == 0 {
            play.timers.push(Reverse((job.not_before.max(start), id)));
        }
    }
    play.until(goal)
}

impl Play<'_> {
    fn until(&mut self, goal: Goal) -> Option<i64> {
        loop {
            self.see_least();
            while let Some(Reverse((at, id))) = self.timers.peek().copied()
                && at <= self.now
            {
                self.timers.pop();
                self.arrived(id);
            }
            self.fill();
            // What comes next: a timer, a processor's next signal or end, or the
            // end of its turn.
            let timer = self.timers.peek().map(|Reverse((at, _))| *at);
            let wanted = !self.waiting.is_empty();
            let tick = self.next_tick();
            let turns = self.running.iter().flatten().filter_map(|&(task, _)| {
                let next = self.now + self.next(task, goal)?;
                Some(if wanted { next.min(tick) } else { next })
            });
            let at = turns.chain(timer).min()?;
            let passed = at - self.now;
            self.now = at;
            for processor in 0..self.running.len() {
                if let Some(end) = self.run(processor, passed, goal) {
                    return Some(end);
                }
            }
        }
    }

    /// How long until a running task's next signal or end, or until the goal.
    fn next(&self, task: usize, goal: Goal) -> Option<i64> {
        let t = self.tasks.get(task)?;
        let id = *t.ready.front()?;
        let job = self.jobs.get(id)?;
        let until = job.signals.get(t.signalled).map_or(job.work, |s| s.0);
        let until = if id == goal.job {
            until.min(goal.work)
        } else {
            until
        };
        Some((until.min(job.work) - t.done).max(0))
    }

    /// What was waited for by a job has happened once more.
    fn arrived(&mut self, id: usize) {
        let Some(needs) = self.needs.get_mut(id) else {
            return;
        };
        *needs = needs.saturating_sub(1);
        if *needs == 0 {
            let not_before = self.jobs.get(id).map_or(0, |j| j.not_before);
            if not_before > self.now {
                self.timers.push(Reverse((not_before, id)));
            } else {
                self.ready(id);
            }
        }
    }

    /// A job can begin when its task comes to it.
    fn ready(&mut self, id: usize) {
        let Some(job) = self.jobs.get(id) else { return };
        let first_had = self.first_had();
        let ahead = self.least - self.scaled(LATENCY) / 2;
        let Some(task) = self.tasks.get_mut(job.task) else {
            return;
        };
        task.ready.push_back(id);
        if task.ready.len() > 1 {
            return;
        }
        let is_new = task.had.is_none();
        // A new task lets those go on that were there (`START_DEBIT`).
        let had = task.had.map_or(first_had, |had| had.max(ahead));
        task.had = Some(had);
        self.waiting.insert((had, job.task));
        if is_new || self.running.iter().any(Option::is_none) {
            return;
        }
        // From whom has had the most.
        let most = self
            .running
            .iter()
            .enumerate()
            .filter_map(|(place, r)| Some((self.tasks.get((*r)?.0)?.had?, place)))
            .max();
        if let Some((others, place)) = most
            && others - had > self.scaled(GRANULARITY)
        {
            self.give_up(place);
        }
    }

    /// What a time of the scheduler's is on so many processors
    /// (`SCHED_TUNABLESCALING_LOG`).
    fn scaled(&self, time: i64) -> i64 {
        let processors = self.running.len().clamp(1, 8);
        time * i64::from(1 + processors.ilog2())
    }

    /// How long a turn is if so many more than those that run want a processor.
    fn turn(&self, more: usize) -> i64 {
        let tasks = 1 + more.div_ceil(self.running.len().max(1));
        let tasks = i64::try_from(tasks).unwrap_or(i64::MAX);
        (self.scaled(LATENCY) / tasks).max(self.scaled(LEAST_TURN))
    }

    /// What a new task counts as having had.
    fn first_had(&self) -> i64 {
        let running = self.running.iter().flatten();
        let maker = running.filter_map(|r| self.tasks.get(r.0)?.had).min();
        let behind = self.least + self.turn(self.waiting.len() + 1);
        maker.map_or(behind, |had| had.max(behind))
    }

    /// The next tick of the clock.
    fn next_tick(&self) -> i64 {
        self.now + TICK - (self.now - self.phase).rem_euclid(TICK)
    }

    /// Whether a task that has run since then goes at this tick (`check_preempt_tick`).
    fn has_had_its_turn(&self, task: usize, since: i64) -> bool {
        let (ran, turn) = (self.now - since, self.turn(self.waiting.len()));
        let least = self.waiting.first().map(|w| w.0);
        let had = self.tasks.get(task).and_then(|t| t.had);
        let ahead = had.zip(least).map_or(0, |(had, least)| had - least);
        ran > turn || ran >= self.scaled(LEAST_TURN) && ahead > turn
    }

    /// The task on a processor goes back to those that wait for one.
    fn give_up(&mut self, processor: usize) {
        if let Some(place) = self.running.get_mut(processor)
            && let Some((task, _)) = place.take()
            && let Some(had) = self.tasks.get(task).and_then(|t| t.had)
        {
            self.waiting.insert((had, task));
        }
    }

    /// Gives processors to those that have had least.
    fn fill(&mut self) {
        for place in &mut self.running {
            if place.is_none()
                && let Some((_, task)) = self.waiting.pop_first()
            {
                *place = Some((task, self.now));
            }
        }
    }

    /// Those that wake are put beside the one that has had least.
    fn see_least(&mut self) {
        let running = self.running.iter().flatten();
        let had = running.filter_map(|r| self.tasks.get(r.0)?.had);
        let least = had.chain(self.waiting.first().map(|w| w.0)).min();
        self.least = self.least.max(least.unwrap_or(self.least));
    }

    /// A processor has run for so long. Gives the time if the goal is reached.
    fn run(&mut self, processor: usize, passed: i64, goal: Goal) -> Option<i64> {
        let (task, since) = (*self.running.get(processor)?)?;
        let t = self.tasks.get_mut(task)?;
        t.done += passed;
        t.had = t.had.map(|had| had + passed);
        let (id, done) = (*t.ready.front()?, t.done);
        let job = self.jobs.get(id)?;
        if id == goal.job && done >= goal.work.min(job.work) {
            return Some(self.now);
        }
        while let Some(&(at, other)) = job.signals.get(self.tasks.get(task)?.signalled)
            && (at <= done || done >= job.work)
        {
            self.tasks.get_mut(task)?.signalled += 1;
            self.arrived(other);
        }
        if done >= job.work {
            for &(lag, other) in &job.followers {
                self.timers.push(Reverse((self.now + lag.max(0), other)));
            }
            let t = self.tasks.get_mut(task)?;
            t.ready.pop_front();
            (t.done, t.signalled) = (0, 0);
            if t.ready.is_empty() {
                // It may have lost the processor to one that it woke.
                if let Some(had) = t.had {
                    self.waiting.remove(&(had, task));
                }
                if self.running.get(processor)?.is_some_and(|r| r.0 == task) {
                    *self.running.get_mut(processor)? = None;
                }
                return None;
            }
        }
        let runs = self.running.get(processor)?.is_some_and(|r| r.0 == task);
        let tick = (self.now - self.phase).rem_euclid(TICK) == 0;
        if runs && tick && !self.waiting.is_empty() && self.has_had_its_turn(task, since) {
            self.give_up(processor);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Goal, Job, play};

    const MS: i64 = 1_000_000;

    fn job(task: usize, work: i64) -> Job {
        Job {
            task,
            work: work * MS,
            ..Job::default()
        }
    }

    /// A sleep of so many milliseconds, then work; meanwhile another task works.
    fn end(sleep: i64, work: i64, other: i64, processors: usize) -> Option<i64> {
        let mut jobs = vec![job(0, 0), job(0, work), job(1, other)];
        jobs[0].followers.push((sleep * MS, 1));
        jobs[1].needs = 1;
        // The sleep begins before.
        jobs[2].not_before = MS;
        let goal = Goal {
            job: 1,
            work: work * MS,
        };
        play(&jobs, processors, (0, 0), goal).map(|ns| ns / MS)
    }

    #[test]
    fn a_sleep_is_over_sooner_but_the_work_of_others_stays() {
        assert_eq!(end(100, 50, 0, 1), Some(150));
        // The other is done while the first one sleeps.
        assert_eq!(end(100, 50, 80, 1), Some(150));
        // Half the sleep: what is left of the other shares the processor.
        let shared = end(50, 50, 80, 1).unwrap();
        assert!((120..=131).contains(&shared), "{shared}");
        // Not on two.
        assert_eq!(end(50, 50, 80, 2), Some(100));
    }

    #[test]
    fn two_that_want_one_processor_share_it() {
        let jobs = vec![job(0, 40), job(1, 40), job(2, 40)];
        let goal = |job, work: i64| Goal {
            job,
            work: work * MS,
        };
        let ends = [0, 1, 2].map(|job| play(&jobs, 1, (0, 0), goal(job, 40)));
        assert_eq!(ends.into_iter().max(), Some(Some(120 * MS)));
        assert!(ends.iter().all(|e| *e >= Some(110 * MS)), "{ends:?}");
        let half = play(&jobs, 1, (0, 0), goal(0, 20)).unwrap() / MS;
        assert!((44..=60).contains(&half), "{half}");
    }

    #[test]
    fn a_turn_ends_at_a_tick_and_not_before() {
        // One works. The other sleeps, and wakes at `wakes`. It takes the processor, and
        // has it until the second tick: at the first it has had less than a turn.
        let at = |wakes: i64, work: i64| {
            let mut jobs = vec![job(0, 100), job(1, 0), job(1, 20)];
            jobs[1].followers.push((wakes * MS, 2));
            jobs[2].needs = 1;
            let work = work * MS;
            play(&jobs, 1, (0, 0), Goal { job: 2, work }).map(|ns| ns / MS)
        };
        assert_eq!((at(14, 6), at(14, 7)), (Some(20), Some(25)));
        assert_eq!((at(15, 5), at(15, 6)), (Some(20), Some(25)));
    }

    #[test]
    fn a_job_begins_when_all_that_it_waits_for_has_happened() {
        let mut jobs = vec![job(0, 30), job(1, 10), job(2, 5)];
        jobs[0].signals.push((20 * MS, 2));
        jobs[1].signals.push((10 * MS, 2));
        jobs[2].needs = 2;
        let goal = Goal {
            job: 2,
            work: 5 * MS,
        };
        assert_eq!(play(&jobs, 2, (7 * MS, 0), goal), Some(32 * MS));
    }

    #[test]
    fn what_never_begins_is_none() {
        let mut jobs = vec![job(0, 1), job(1, 1)];
        jobs[1].needs = 1;
        let goal = Goal { job: 1, work: MS };
        assert_eq!(play(&jobs, 1, (0, 0), goal), None);
        assert_eq!(play(&[], 1, (0, 0), goal), None);
    }
}
