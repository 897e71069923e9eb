//! Trials on a cluster that Slurm manages.
//!
//! The output folder has to be one that the nodes see. Plans are written there, submitted
//! as array jobs, and each task boots a few of them with `lab trial`. Nothing is kept
//! about what was submitted: the jobs' name stands for the output folder, and their comment
//! names the list of plans. So whoever comes after a submitter that was cut finds the jobs
//! in Slurm's queue and the results in the folder.

mod queue;
mod script;

use super::command::ATTEMPTS;
use super::outbox::{Outbox, batches};
use crate::artifacts::hash_bytes;
use crate::error::LabError;
use crate::event::Event;
use crate::trial::Trial;
use queue::{Queue, Task};
use script::{List, Needs};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// How trials are run on a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slurm {
    /// More options of `sbatch`: a partition, an account, a constraint.
    pub sbatch: Vec<String>,
    /// How many trials a task boots, one after another; `None`: as many as take half a
    /// minute, as long as there are many tasks.
    pub batch: Option<usize>,
}

/// How long the trials of a task should take together, so that starting it does not count.
const TASK_S: f64 = 30.0;

/// So many tasks at least there should be before they boot several trials each.
const TASKS: usize = 16;

/// How often results are looked for, and how often the queue is.
const COLLECT_EVERY: Duration = Duration::from_millis(200);
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// In so many looks one after another a trial has to be missing before it is lost: its
/// result may be on its way to this host.
const LOOKS: u32 = 3;

/// What happened.
pub enum Told {
    /// Something to be shown.
    Event(Event),
    /// The trial of this number ended.
    Ended(usize, Box<Trial>),
}

/// A trial that is waited for.
#[derive(Default)]
struct Waiting {
    /// How often it was submitted.
    attempts: u32,
    /// In how many looks it was not in the queue.
    missing: u32,
    /// Whether it was seen running.
    runs: bool,
}

/// Boots the trials `open`; each takes about `expected_s` seconds.
///
/// # Errors
/// If one cannot be submitted, or no node brings its result.
pub fn boot_all(
    slurm: &Slurm,
    outbox: &Outbox<'_>,
    open: &[usize],
    (exact, expected_s): (bool, f64),
    tell: &mut dyn FnMut(Told) -> Result<(), LabError>,
) -> Result<(), LabError> {
    if open.is_empty() {
        return Ok(());
    }
    let mut needs = Needs::new(exact);
    for i in open {
        let (_, prepared) = outbox.export(*i)?;
        needs.add(&prepared);
    }
    let folder = outbox.folder();
    let name = hash_bytes(folder.to_string_lossy().as_bytes());
    let mut run = Run {
        queue: Queue::new(&format!("firstlight-{}", name.get(..16).unwrap_or(&name))),
        slurm,
        outbox,
        needs,
        size: size(slurm, open.len(), expected_s),
        waiting: open.iter().map(|i| (*i, Waiting::default())).collect(),
        silent: false,
    };
    let there = run.queue.tasks().map_err(|why| LabError::Plan {
        name: "slurm".into(),
        why: format!("{why}; check that `squeue` works on this host"),
    })?;
    let under_way = run.seen(&there);
    if !under_way.is_empty() {
        let text = format!("{} trials are in Slurm's queue already", under_way.len());
        tell(Told::Event(Event::Note { text }))?;
    }
    let missing = open.iter().filter(|i| !under_way.contains(i));
    run.submit(&missing.copied().collect::<Vec<_>>(), &BTreeSet::new())?;
    run.finish(tell)
}

/// How many trials a task boots.
fn size(slurm: &Slurm, open: usize, expected_s: f64) -> usize {
    let several = (TASK_S / expected_s.max(0.1)).ceil() as usize;
    slurm
        .batch
        .unwrap_or_else(|| several.min(open / TASKS))
        .max(1)
}

struct Run<'a> {
    queue: Queue,
    slurm: &'a Slurm,
    outbox: &'a Outbox<'a>,
    needs: Needs,
    /// How many trials a task boots.
    size: usize,
    waiting: BTreeMap<usize, Waiting>,
    /// Whether the controller does not answer.
    silent: bool,
}

impl Run<'_> {
    /// The trials of these tasks that are waited for.
    fn seen(&self, tasks: &[Task]) -> BTreeSet<usize> {
        let names = self.names(tasks);
        let numbers = names.iter().flatten();
        let numbers = numbers.filter_map(|name| self.outbox.numbered(name));
        numbers.filter(|i| self.waiting.contains_key(i)).collect()
    }

    /// The names of the plans of each task. Each list is read once.
    fn names(&self, tasks: &[Task]) -> Vec<Vec<String>> {
        let mut lists = BTreeMap::new();
        let names = tasks.iter().map(|task| {
            let list = lists
                .entry(&task.list)
                .or_insert_with(|| List::named(&self.outbox.folder(), &task.list).lines());
            list.get(task.index).cloned().unwrap_or_default()
        });
        names.collect()
    }

    /// Submits the trials `open` as array jobs, not to the nodes `but`.
    fn submit(&mut self, open: &[usize], but: &BTreeSet<String>) -> Result<(), LabError> {
        let exact = self.needs.exact();
        let groups = batches(self.outbox.plans(), open, exact, self.size);
        for groups in groups.chunks(queue::MOST_TASKS) {
            let mut lines = Vec::new();
            for group in groups {
                let names = group.iter().map(|i| Ok(self.outbox.job(*i)?.name));
                lines.push(names.collect::<Result<Vec<_>, LabError>>()?);
            }
            let list = List::write(&self.outbox.folder(), &lines)?;
            let size = groups.iter().map(Vec::len).max().unwrap_or(1);
            let mut words = self.needs.words(size);
            words.extend(self.queue.constraint(self.outbox.emulator()));
            words.extend(self.slurm.sbatch.iter().cloned());
            self.queue.submit(&list, lines.len(), &words, but)?;
        }
        for i in open {
            let waiting = self.waiting.entry(*i).or_default();
            waiting.attempts += 1;
            (waiting.missing, waiting.runs) = (0, false);
        }
        Ok(())
    }

    fn finish(
        &mut self,
        tell: &mut dyn FnMut(Told) -> Result<(), LabError>,
    ) -> Result<(), LabError> {
        let mut looked = Instant::now();
        let mut failed = Ok(());
        while !self.waiting.is_empty() {
            std::thread::sleep(COLLECT_EVERY);
            let mut lost = self.collect(tell)?;
            if looked.elapsed() >= LOOK_EVERY {
                lost.extend(self.look(tell)?);
                looked = Instant::now();
            }
            let mut again = Vec::new();
            let mut nodes = BTreeSet::new();
            for (i, why) in lost {
                let job = self.outbox.job(i)?;
                nodes.extend(script::failed_on(&self.outbox.folder(), &job.name));
                let attempts = self.waiting.get(&i).map_or(0, |w| w.attempts);
                if attempts < ATTEMPTS {
                    let text = format!(
                        "{}: attempt {} failed: {why}; submitting it again",
                        job.name,
                        attempts.max(1)
                    );
                    tell(Told::Event(Event::Note { text }))?;
                    again.push(i);
                    continue;
                }
                self.waiting.remove(&i);
                failed = failed.and(Err(LabError::Plan {
                    name: job.name,
                    why: format!(
                        "no node brought a result in {ATTEMPTS} attempts: {why}; see slurm-*.log \
                         in {} and run again to continue",
                        self.outbox.folder().display()
                    ),
                }));
            }
            if !again.is_empty() {
                self.submit(&again, &nodes)?;
            }
        }
        failed
    }

    /// Keeps what has come; gives the trials whose result is of no use, and why.
    fn collect(
        &mut self,
        tell: &mut dyn FnMut(Told) -> Result<(), LabError>,
    ) -> Result<Vec<(usize, String)>, LabError> {
        let mut lost = Vec::new();
        let arrived = self.outbox.arrived().into_iter();
        let numbers: Vec<usize> = arrived.filter(|i| self.waiting.contains_key(i)).collect();
        for i in numbers {
            let last = self.waiting.get(&i).is_none_or(|w| w.attempts >= ATTEMPTS);
            match self.outbox.collect(i) {
                Ok(None) => {}
                Ok(Some(trial)) if last || !trial.host_failed() => {
                    self.waiting.remove(&i);
                    tell(Told::Ended(i, Box::new(trial)))?;
                }
                Ok(Some(trial)) => {
                    self.outbox.discard(i);
                    let why = trial.failure.map_or_else(String::new, |f| f.detail);
                    lost.push((i, why));
                }
                Err(why) => {
                    self.outbox.discard(i);
                    lost.push((i, format!("its result is damaged or not ours: {why}")));
                }
            }
        }
        Ok(lost)
    }

    /// Looks into the queue; gives the trials that are in it no more, and why.
    fn look(
        &mut self,
        tell: &mut dyn FnMut(Told) -> Result<(), LabError>,
    ) -> Result<Vec<(usize, String)>, LabError> {
        let tasks = match self.queue.tasks() {
            Ok(tasks) => tasks,
            Err(why) => {
                if !self.silent {
                    let text = format!("Slurm does not answer ({why}); waiting for it");
                    tell(Told::Event(Event::Note { text }))?;
                }
                self.silent = true;
                return Ok(Vec::new());
            }
        };
        if self.silent {
            let text = "Slurm answers again".to_owned();
            tell(Told::Event(Event::Note { text }))?;
        }
        self.silent = false;
        // Slurm holds what it could not start, until somebody releases it.
        let (held, tasks): (Vec<Task>, Vec<Task>) = tasks.into_iter().partition(Task::is_held);
        for task in &held {
            self.queue.cancel(task);
        }
        self.say_what_runs(&tasks, tell)?;
        let there = self.seen(&tasks);
        let mut lost = Vec::new();
        for (i, waiting) in &mut self.waiting {
            if there.contains(i) {
                waiting.missing = 0;
                continue;
            }
            waiting.missing += 1;
            if waiting.missing >= LOOKS {
                lost.push((*i, "its task ended without a result".to_owned()));
            }
        }
        Ok(lost)
    }

    fn say_what_runs(
        &mut self,
        tasks: &[Task],
        tell: &mut dyn FnMut(Told) -> Result<(), LabError>,
    ) -> Result<(), LabError> {
        let running: Vec<Task> = tasks.iter().filter(|t| t.runs()).cloned().collect();
        for (task, names) in running.iter().zip(self.names(&running)) {
            // Those of a task run one after another.
            let mut open = names.into_iter();
            let next = open.find_map(|name| {
                let i = self.outbox.numbered(&name)?;
                self.waiting.contains_key(&i).then_some(i)
            });
            let Some((i, waiting)) = next.and_then(|i| Some((i, self.waiting.get_mut(&i)?))) else {
                continue;
            };
            if !std::mem::replace(&mut waiting.runs, true) {
                let trial = self.outbox.plan(i)?.id.clone();
                tell(Told::Event(Event::PowerOn {
                    trial: trial.clone(),
                }))?;
                tell(Told::Event(Event::Console {
                    trial,
                    bytes: 0,
                    last_line: format!("runs on {}", task.node),
                }))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Slurm, size};

    #[test]
    fn short_trials_share_a_task_if_there_are_many() {
        let auto = Slurm::default();
        assert_eq!(size(&auto, 200, 4.0), 8);
        assert_eq!(size(&auto, 200, 40.0), 1);
        assert_eq!(size(&auto, 4, 1.0), 1);
        assert_eq!(size(&auto, 10_000, 0.0), 300);
        let two = Slurm {
            batch: Some(2),
            ..Slurm::default()
        };
        assert_eq!(size(&two, 4, 40.0), 2);
    }
}
