//! An experiment from plan to results.

use crate::arm_virt::ArmVirt;
use crate::capture::{self, CONSOLE};
use crate::error::{LabError, io_error};
use crate::event::Event;
use crate::experiment::{Experiment, Platform};
use crate::files::below;
use crate::machine::{Boot, Machine};
use crate::pc::Pc;
use crate::replay::Replay;
use crate::store::{self, Store};
use crate::trial::{self, Failure, Plan, Reason, Trial, TrialId};
use crate::{artifacts, console};
use agent::capture::{CaptureError, Member};
use sha2::{Digest, Sha256};
use std::collections::VecDeque;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// How an experiment is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder for the results. What it holds of an earlier run of the same
    /// inputs is not run again.
    pub out: PathBuf,
    /// How many machines run at once; `None`: one a core of the host.
    pub jobs: Option<NonZeroUsize>,
    /// How many boots each variant gets: one as it is, the others each with an
    /// innocent word on the command line.
    pub ensemble: u32,
    /// Whether the first boot of each variant is done a second time and compared.
    pub check_exact: bool,
}

/// What came of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// All trials, variant by variant, perturbation by perturbation.
    pub trials: Vec<Trial>,
    /// One a variant, if that was asked for.
    pub exact: Vec<ExactCheck>,
}

/// Two boots of the same inputs, compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactCheck {
    /// The variant.
    pub variant: String,
    /// The digests of both.
    pub digests: [String; 2],
    /// Where they first differ; `None`: nowhere.
    pub difference: Option<Difference>,
}

/// The first place at which two captures differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The file in the capture.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The byte of the file, counted from 0.
    pub byte: usize,
    /// The line in the first boot and in the second; empty where one has ended.
    pub lines: [String; 2],
}

/// Runs an experiment on the machine that it names.
///
/// # Errors
/// If it cannot be run: a tool or file is missing, or the output folder cannot
/// be written. A trial that does not boot is a result.
pub fn run(
    experiment: &Experiment,
    options: &Options,
    on: &mut dyn FnMut(Event),
) -> Result<Outcome, LabError> {
    let cache = artifacts::Cache::open()?;
    let machine = prepare(experiment, &cache, &options.out, &mut |text| {
        on(Event::Note { text });
    })?;
    run_on(machine.as_ref(), experiment, options, on)
}

/// The machine that `experiment` names, with all that it needs.
fn prepare(
    experiment: &Experiment,
    cache: &artifacts::Cache,
    out: &Path,
    say: &mut dyn FnMut(String),
) -> Result<Box<dyn Machine>, LabError> {
    Ok(match &experiment.base.platform {
        Platform::Pc => Box::new(Pc::prepare(experiment, cache, out, say)?),
        Platform::ArmVirt { .. } => Box::new(ArmVirt::prepare(experiment, cache, out, say)?),
        Platform::Replay(folder) => Box::new(Replay::open(folder)?),
    })
}

/// Runs an experiment on `machine`.
///
/// # Errors
/// As [`run`].
pub fn run_on(
    machine: &dyn Machine,
    experiment: &Experiment,
    options: &Options,
    on: &mut dyn FnMut(Event),
) -> Result<Outcome, LabError> {
    let mut store = Store::open(&options.out)?;
    let plans = plan(experiment, options);
    let mut results: Vec<Option<Trial>> = Vec::new();
    let mut open = VecDeque::new();
    for (i, plan) in plans.iter().enumerate() {
        let found = store.finished(&plan.id, &fingerprint(machine, plan));
        if found.is_none() {
            open.push_back(i);
        }
        results.push(found);
    }
    let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let jobs = options.jobs.unwrap_or_else(cores).get();
    on(Event::Planned {
        trials: plans.len(),
        reused: results.iter().flatten().count(),
        jobs,
    });
    for trial in results.iter().flatten() {
        store.keep(trial)?;
        on(Event::Finished {
            trial: Box::new(trial.clone()),
            reused: true,
        });
    }
    boot_all(machine, &plans, open, jobs, &mut store, &mut results, on)?;
    let mut trials: Vec<Trial> = results.into_iter().flatten().collect();
    trials.sort_by_key(|t| {
        let variants = experiment.variants.iter();
        let place = variants.map(|v| &v.name).position(|n| *n == t.id.variant);
        (place, t.id.perturbation, t.id.repeat)
    });
    let (repeats, trials): (Vec<_>, Vec<_>) = trials.into_iter().partition(|t| t.id.repeat);
    let exact = repeats
        .iter()
        .filter_map(|second| {
            let same = |t: &&Trial| t.id.variant == second.id.variant && t.id.perturbation == 0;
            let first = trials.iter().find(same)?;
            Some(compare(&options.out, first, second))
        })
        .collect::<Result<_, _>>()?;
    Ok(Outcome { trials, exact })
}

/// All trials, in the order of running: what says most comes first.
fn plan(experiment: &Experiment, options: &Options) -> Vec<Plan> {
    let mut plans = Vec::new();
    for perturbation in 0..options.ensemble.max(1) {
        for repeat in [false, true] {
            if repeat && !(options.check_exact && perturbation == 0) {
                continue;
            }
            for variant in &experiment.variants {
                let mut spec = variant.spec.clone();
                if perturbation > 0 {
                    spec.cmdline.add(&innocent_word(perturbation));
                }
                plans.push(Plan {
                    id: TrialId {
                        variant: variant.name.clone(),
                        perturbation,
                        repeat,
                    },
                    spec,
                });
            }
        }
    }
    plans
}

/// A word that no program looks at: to the kernel it is a parameter of a module
/// that is not there, and it is not handed on to init. Its length differs from
/// one to the next.
fn innocent_word(perturbation: u32) -> String {
    let more = usize::try_from(perturbation).unwrap_or(0) * 7 % 61;
    format!("firstlight.perturb={perturbation}{}", "x".repeat(more))
}

fn fingerprint(machine: &dyn Machine, plan: &Plan) -> String {
    let mut hash = Sha256::new();
    hash.update(machine.inputs(plan));
    capture::hex(&hash.finalize())
}

enum Message {
    Event(Event),
    Ended(usize, Box<Result<Trial, LabError>>),
}

/// Boots the trials of `open`, several at once, and keeps each as it ends.
fn boot_all(
    machine: &dyn Machine,
    plans: &[Plan],
    open: VecDeque<usize>,
    jobs: usize,
    store: &mut Store,
    results: &mut [Option<Trial>],
    on: &mut dyn FnMut(Event),
) -> Result<(), LabError> {
    let jobs = jobs.min(open.len());
    let queue = Mutex::new(open);
    let queue = || queue.lock().unwrap_or_else(PoisonError::into_inner);
    let out = store.folder().to_owned();
    let (send, receive) = channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let (send, queue, out) = (send.clone(), &queue, &out);
            scope.spawn(move || {
                loop {
                    // Not in the loop's head: the lock would last for the body.
                    let next = queue().pop_front();
                    let Some((i, plan)) = next.and_then(|i| Some((i, plans.get(i)?))) else {
                        return;
                    };
                    let ended = Box::new(boot_one(machine, plan, out, &send));
                    if ended.is_err() {
                        // What runs may end; nothing new begins.
                        queue().clear();
                    }
                    if send.send(Message::Ended(i, ended)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        let mut done = Ok(());
        for message in receive {
            let kept = match message {
                Message::Event(event) => {
                    on(event);
                    continue;
                }
                Message::Ended(i, ended) => (*ended).and_then(|trial| {
                    store.keep(&trial)?;
                    if let Some(slot) = results.get_mut(i) {
                        *slot = Some(trial.clone());
                    }
                    on(Event::Finished {
                        trial: Box::new(trial),
                        reused: false,
                    });
                    Ok(())
                }),
            };
            if kept.is_err() {
                queue().clear();
                done = done.and(kept);
            }
        }
        done
    })
}

/// Boots one trial and writes its capture.
fn boot_one(
    machine: &dyn Machine,
    plan: &Plan,
    out: &Path,
    send: &Sender<Message>,
) -> Result<Trial, LabError> {
    let tell = |event| {
        // The other end listens for as long as there are machines.
        let _ = send.send(Message::Event(event));
    };
    let folder = store::clear(out, &plan.id)?;
    let work = folder.join("work");
    fs::create_dir(&work).map_err(io_error(&work, "cannot be made"))?;
    tell(Event::PowerOn {
        trial: plan.id.clone(),
    });
    let begin = Instant::now();
    let mut boot = machine.boot(plan, &work, &mut |bytes, last_line| {
        tell(Event::Console {
            trial: plan.id.clone(),
            bytes,
            last_line: last_line.to_owned(),
        });
    })?;
    let wall_s = begin.elapsed().as_secs_f64();
    let (digest, members, virtual_end_ns) = taken(machine, plan, &mut boot)?;
    capture::write(&folder.join("capture"), &members)?;
    fs::remove_dir_all(&work).map_err(io_error(&work, "cannot be removed"))?;
    Ok(Trial {
        firstlight_trial: trial::VERSION,
        id: plan.id.clone(),
        fingerprint: fingerprint(machine, plan),
        digest,
        capture: plan.id.folder().join("capture"),
        virtual_end_ns,
        wall_s,
        failure: boot.failure,
        kernel: plan.spec.kernel.as_str().to_owned(),
        cmdline: plan.spec.cmdline.to_string(),
        notes: boot.notes,
    })
}

/// The digest of a boot, its capture, and the last time that the target read.
fn taken(
    machine: &dyn Machine,
    plan: &Plan,
    boot: &mut Boot,
) -> Result<(String, Vec<Member>, Option<u64>), LabError> {
    let bug = |e: CaptureError| LabError::Bug { why: e.to_string() };
    if let Some(members) = boot.stored.take() {
        let end = capture::end_of_stored(&members);
        return Ok((capture::digest_of_stored(&members), members, end));
    }
    let digest = capture::digest(boot);
    let (description, cmdline) = (machine.description(), plan.spec.cmdline.to_string());
    let (members, end) = capture::members(boot, &description, &cmdline).or_else(|e| {
        boot.payload = None;
        boot.failure.get_or_insert_with(|| Failure {
            reason: Reason::Payload,
            detail: e.to_string(),
            last_lines: console::last_lines(&boot.console),
        });
        capture::members(boot, &description, &cmdline).map_err(bug)
    })?;
    Ok((digest, members, end))
}

fn compare(out: &Path, first: &Trial, second: &Trial) -> Result<ExactCheck, LabError> {
    let difference = match first.digest == second.digest {
        true => None,
        false => Some(difference(
            &out.join(&first.capture),
            &out.join(&second.capture),
        )?),
    };
    Ok(ExactCheck {
        variant: first.id.variant.clone(),
        digests: [first.digest.clone(), second.digest.clone()],
        difference,
    })
}

/// The first difference: in the console, else in the first file by name.
fn difference(first: &Path, second: &Path) -> Result<Difference, LabError> {
    let mut names = below(first)?;
    names.extend(below(second)?);
    names.sort_by_key(|n| (n != CONSOLE, n.clone()));
    names.dedup();
    for name in names {
        // A file that is not there differs from its first byte.
        let read = |folder: &Path| fs::read(folder.join(&name)).unwrap_or_default();
        if let Some(difference) = first_difference(&name, &read(first), &read(second)) {
            return Ok(difference);
        }
    }
    Err(LabError::Bug {
        why: "two digests differ, and what they were made of does not".into(),
    })
}

fn first_difference(file: &str, a: &[u8], b: &[u8]) -> Option<Difference> {
    if a == b {
        return None;
    }
    let byte = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let start = a[..byte]
        .iter()
        .rposition(|c| *c == b'\n')
        .map_or(0, |i| i + 1);
    let line = |bytes: &[u8]| {
        let rest = bytes.get(start..).unwrap_or_default();
        console::plain(rest.split(|c| *c == b'\n').next().unwrap_or(rest))
    };
    Some(Difference {
        file: file.to_owned(),
        line: a[..start].iter().filter(|c| **c == b'\n').count() + 1,
        byte,
        lines: [line(a), line(b)],
    })
}

#[cfg(test)]
mod tests {
    use super::{first_difference, innocent_word};

    #[test]
    fn the_first_difference_has_its_line_and_byte() {
        assert_eq!(first_difference("x", b"a\nb", b"a\nb"), None);
        let d = first_difference("x", b"a\nbcd\ne", b"a\nbXd\nf").unwrap();
        assert_eq!((d.line, d.byte), (2, 3));
        assert_eq!(d.lines, ["bcd", "bXd"]);
        let d = first_difference("x", b"a\n", b"").unwrap();
        assert_eq!((d.line, d.byte), (1, 0));
        assert_eq!(d.lines, ["a", ""]);
    }

    #[test]
    fn innocent_words_differ_in_length() {
        let words: Vec<_> = (1..20).map(innocent_word).collect();
        let lengths: std::collections::BTreeSet<_> = words.iter().map(String::len).collect();
        assert!(lengths.len() > 15, "{words:?}");
    }
}
