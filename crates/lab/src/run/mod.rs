//! An experiment from plan to results.

mod boot;
mod cost;
mod exact;
mod fingerprint;
mod forecast;
mod known;
pub(crate) mod options;
mod plan;

pub(crate) use boot::boot_one;
pub use cost::RecordingCost;
pub use exact::{Difference, ExactCheck};
pub(crate) use forecast::emulated;
pub use forecast::{Basis, Forecast, ForecastBoot, forecast};
pub use options::{Hosts, Options};

use crate::arm_virt::ArmVirt;
use crate::arm9::Arm9;
use crate::artifacts::Cache;
use crate::board;
use crate::elsewhere::{self, Job, On, Outbox, Told};
use crate::emulated::Inputs;
use crate::error::LabError;
use crate::event::Event;
use crate::experiment::{Experiment, Platform};
use crate::machine::Machine;
use crate::made::Made;
use crate::pc::Pc;
use crate::replay::Replay;
use crate::shared;
use crate::store::Store;
use crate::trial::{Plan, Purpose, Trial};
use fingerprint::fingerprints;
use known::{Elsewhere, pruned};
use std::collections::VecDeque;
use std::path::Path;

/// What came of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// All trials, variant by variant, perturbation by perturbation.
    pub trials: Vec<Trial>,
    /// One a variant, if that was asked for.
    pub exact: Vec<ExactCheck>,
    /// What recording costs, one a variant, if that was asked for.
    pub recording: Vec<RecordingCost>,
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
    if let Platform::Board(_) = &experiment.base.platform {
        let care = board::Care::default();
        let run = board::run(experiment, options, &care, &mut board::AllRounds, on)?;
        let results = run.trials.into_iter().filter(|t| t.id.purpose.is_result());
        return Ok(Outcome {
            trials: results.collect(),
            exact: Vec::new(),
            recording: Vec::new(),
        });
    }
    // First: whoever else writes into this folder is not disturbed.
    let mut store = Store::open(&options.out)?;
    let cache = Cache::open()?;
    let machine = prepare(experiment, &cache, &options.out, &mut |text| {
        on(Event::Note { text });
    })?;
    let outcome = run_in(
        &mut store,
        machine.as_ref(),
        experiment,
        options,
        &mut |event| {
            if let Event::Finished {
                trial,
                reused: false,
            } = &event
            {
                forecast::remember(&cache, experiment, trial);
            }
            on(event);
        },
    )?;
    let mut made = Made::default();
    let program = emulated(&experiment.base.platform).map(|(program, _)| program);
    made.add_trials(program, &outcome.trials, &cache)?;
    made.keep(&options.out)?;
    Ok(outcome)
}

/// The machine that `experiment` names, with all that it needs.
fn prepare(
    experiment: &Experiment,
    cache: &Cache,
    out: &Path,
    say: &mut dyn FnMut(String),
) -> Result<Box<dyn Machine>, LabError> {
    let inputs = Inputs {
        experiment,
        cache,
        out,
        say,
    };
    Ok(match &experiment.base.platform {
        Platform::Pc => Box::new(Pc::prepare(inputs)?),
        Platform::ArmVirt { .. } => Box::new(ArmVirt::prepare(inputs)?),
        Platform::Arm9 { .. } => Box::new(Arm9::prepare(inputs)?),
        Platform::Replay(folder) => Box::new(Replay::open(folder)?),
        Platform::Board(_) => {
            let why = "a board among the lab's own machines".to_owned();
            return Err(LabError::Bug { why });
        }
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
    run_in(&mut store, machine, experiment, options, on)
}

fn run_in(
    store: &mut Store,
    machine: &dyn Machine,
    experiment: &Experiment,
    options: &Options,
    on: &mut dyn FnMut(Event),
) -> Result<Outcome, LabError> {
    let plans = planned(experiment, options)?;
    let mode = experiment.base.mode;
    let shared = options.shared.as_ref().filter(|_| mode.is_exact());
    let fingerprints = fingerprints(machine, &plans)?;
    let outbox = Outbox::new(machine, &plans, &fingerprints, store.folder());
    let mut results: Vec<Option<Trial>> = Vec::new();
    for (i, (plan, fingerprint)) in plans.iter().zip(&fingerprints).enumerate() {
        results.push(store.finished(&plan.id, fingerprint).or_else(|| {
            // What another host booted after the last run ended.
            let collected = outbox.collect(i).ok().flatten();
            collected.filter(|t| !t.host_failed())
        }));
    }
    let (shared, audits, refused) = match shared {
        Some(shared) => {
            let mut known = Elsewhere::default();
            let wanted = (plans.as_slice(), fingerprints.as_slice());
            let answers = known.find(shared, machine, wanted, store.folder(), &mut results, on)?;
            (answers.then_some(shared), known.audits, known.refused)
        }
        None => Default::default(),
    };
    let is_open = |i: &usize| {
        let is_missing = results.get(*i).is_some_and(Option::is_none);
        is_missing && audits.iter().all(|(audit, _)| audit != i)
    };
    let open: VecDeque<usize> = (0..plans.len()).filter(is_open).collect();
    let jobs = options.jobs(mode);
    on(Event::Planned {
        trials: plans.len(),
        reused: results.iter().flatten().count(),
        jobs,
    });
    let known: Vec<&Trial> = results.iter().flatten().collect();
    store.keep_all(&known)?;
    for trial in known {
        on(Event::Finished {
            trial: Box::new(trial.clone()),
            reused: true,
        });
    }
    let out = store.folder().to_owned();
    let mut on = |event: Event| {
        let said = match &event {
            Event::Finished {
                trial,
                reused: false,
            } => shared.and_then(|s| {
                let replaced = refused.contains(&trial.fingerprint);
                s.put(trial, &out, machine, replaced).err()
            }),
            _ => None,
        };
        on(event);
        if let Some(why) = said {
            let text = format!("this result is not shared: {why}");
            on(Event::Note { text });
        }
    };
    let mut boot = |open: VecDeque<usize>, results: &mut [Option<Trial>]| match &options.on {
        On::Host => {
            let out = store.folder().to_owned();
            let boot = |_: usize, plan: &Plan, tell: &mut dyn FnMut(Event)| {
                boot_one(machine, plan, &out, tell)
            };
            boot::boot_all(&boot, &plans, open, jobs, store, results, &mut on)
        }
        On::Command(command) => {
            let boot = |i: usize, _: &Plan, tell: &mut dyn FnMut(Event)| {
                elsewhere::boot_by(command, &outbox, i, tell)
            };
            boot::boot_all(&boot, &plans, open, jobs, store, results, &mut on)
        }
        On::Slurm(slurm) => {
            let expected = (mode.is_exact(), forecast::typical(experiment, options));
            let open: Vec<usize> = open.into();
            elsewhere::boot_on_slurm(slurm, &outbox, &open, expected, &mut |told| match told {
                Told::Event(event) => {
                    on(event);
                    Ok(())
                }
                Told::Ended(i, trial) => boot::keep(*trial, i, store, results, &mut on),
            })
        }
    };
    // First those that check what others booted: a difference ends the run.
    boot(audits.iter().map(|(i, _)| *i).collect(), &mut results)?;
    for (i, hit) in audits {
        let here = results.get(i).and_then(Option::as_ref);
        shared::audited(hit, here)?;
    }
    boot(open, &mut results)?;
    if let Some(shared) = shared {
        let used = fingerprints.iter().map(String::as_str).collect();
        if let Some(text) = pruned(shared, &used) {
            on(Event::Note { text });
        }
    }
    let mut all: Vec<Trial> = results.into_iter().flatten().collect();
    all.sort_by_key(|t| {
        let variants = experiment.variants.iter();
        let place = variants.map(|v| &v.name).position(|n| *n == t.id.variant);
        (place, t.id.perturbation, t.id.purpose)
    });
    let recording = cost::state(&options.out, &experiment.base.recording, &all)?;
    let again = |t: &Trial| t.id.purpose == Purpose::Again;
    let (repeats, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(again);
    let trials: Vec<Trial> = rest
        .into_iter()
        .filter(|t| t.id.purpose.is_result())
        .collect();
    let exact = repeats
        .iter()
        .filter_map(|second| {
            let same = |t: &&Trial| t.id.variant == second.id.variant && t.id.perturbation == 0;
            let first = trials.iter().find(same)?;
            Some(exact::compare(&options.out, first, second))
        })
        .collect::<Result<_, _>>()?;
    Ok(Outcome {
        trials,
        exact,
        recording,
    })
}

/// The trials of a run, with the words that only recording puts into their command lines.
///
/// # Errors
/// If the options do not fit the experiment.
fn planned(experiment: &Experiment, options: &Options) -> Result<Vec<Plan>, LabError> {
    let mode = experiment.base.mode;
    if options.check_exact && !mode.is_exact() {
        return Err(LabError::NotExact);
    }
    if let On::Command(command) = &options.on {
        elsewhere::check(command)?;
        if !mode.is_exact() {
            return Err(LabError::Plan {
                name: experiment.name.clone(),
                why: "in real time all variants of a round have to meet the same host, which a \
                      command for one trial cannot promise; use `--on slurm` or this host"
                    .into(),
            });
        }
    }
    let mut plans = plan::plan(experiment, options);
    for plan in &mut plans {
        let words = experiment.base.recording.words.iter();
        let are_there = words.filter(|w| plan.spec.cmdline.contains(w));
        plan.recording = are_there.cloned().collect();
    }
    Ok(plans)
}

/// Writes the plans of all trials that have no result yet, for other hosts to boot, in
/// groups of at most `size`; in real time each group is a round, which one host has to
/// boot. A later [`run`] into the same output folder collects the results.
///
/// # Errors
/// As [`run`].
pub fn prepare_elsewhere(
    experiment: &Experiment,
    options: &Options,
    most_groups: usize,
    on: &mut dyn FnMut(Event),
) -> Result<Vec<Vec<Job>>, LabError> {
    let store = Store::open(&options.out)?;
    let cache = Cache::open()?;
    let machine = prepare(experiment, &cache, &options.out, &mut |text| {
        on(Event::Note { text });
    })?;
    let machine = machine.as_ref();
    let plans = planned(experiment, options)?;
    let fingerprints = fingerprints(machine, &plans)?;
    let outbox = Outbox::new(machine, &plans, &fingerprints, store.folder());
    let mut open = Vec::new();
    for (i, (plan, fingerprint)) in plans.iter().zip(&fingerprints).enumerate() {
        if store.finished(&plan.id, fingerprint).is_none() {
            outbox.export(i)?;
            open.push(i);
        }
    }
    let exact = experiment.base.mode.is_exact();
    let size = open.len().div_ceil(most_groups.max(1));
    let groups = elsewhere::batches(&plans, &open, exact, size).into_iter();
    groups
        .map(|group| group.into_iter().map(|i| outbox.job(i)).collect())
        .collect()
}
