//! An experiment from plan to results.

mod boot;
mod cost;
mod exact;
mod forecast;
pub(crate) mod options;
mod plan;

pub use cost::RecordingCost;
pub use exact::{Difference, ExactCheck};
pub use forecast::{Basis, Forecast, ForecastBoot, forecast};
pub use options::Options;

use crate::arm_virt::ArmVirt;
use crate::arm9::Arm9;
use crate::artifacts::Cache;
use crate::board;
use crate::capture;
use crate::emulated::Inputs;
use crate::error::LabError;
use crate::event::Event;
use crate::experiment::{Experiment, Platform};
use crate::machine::Machine;
use crate::pc::Pc;
use crate::replay::Replay;
use crate::shared;
use crate::store::Store;
use crate::trial::{Plan, Purpose, Trial};
use sha2::{Digest, Sha256};
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
    run_in(
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
    )
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
    let mode = experiment.base.mode;
    if options.check_exact && !mode.is_exact() {
        return Err(LabError::NotExact);
    }
    let mut plans = plan::plan(experiment, options);
    for plan in &mut plans {
        let words = experiment.base.recording.words.iter();
        let are_there = words.filter(|w| plan.spec.cmdline.contains(w));
        plan.recording = are_there.cloned().collect();
    }
    let shared = options.shared.as_ref().filter(|_| mode.is_exact());
    let mut results: Vec<Option<Trial>> = Vec::new();
    let mut open = VecDeque::new();
    let mut audits = Vec::new();
    for (i, plan) in plans.iter().enumerate() {
        let fingerprint = fingerprint(machine, plan);
        let mut found = store.finished(&plan.id, &fingerprint);
        let shared = shared.filter(|_| found.is_none() && shared::may_share(plan));
        match shared.map(|s| (s, s.get(&fingerprint))) {
            Some((s, Ok(Some(hit)))) if s.audits() => audits.push((i, hit)),
            Some((_, Ok(Some(hit)))) => found = Some(shared::adopt(hit, plan, store.folder())?),
            Some((_, Err(text))) => on(Event::Note { text }),
            Some((_, Ok(None))) | None => {}
        }
        if found.is_none() && audits.last().is_none_or(|(last, _)| *last != i) {
            open.push_back(i);
        }
        results.push(found);
    }
    let jobs = options.jobs(mode);
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
    let out = store.folder().to_owned();
    let mut on = |event: Event| {
        let said = match &event {
            Event::Finished {
                trial,
                reused: false,
            } => shared.and_then(|s| s.put(trial, &out).err()),
            _ => None,
        };
        on(event);
        if let Some(why) = said {
            let text = format!("this result is not shared: {why}");
            on(Event::Note { text });
        }
    };
    // First those that check what others booted: a difference ends the run.
    let first = audits.iter().map(|(i, _)| *i).collect();
    boot::boot_all(machine, &plans, first, jobs, store, &mut results, &mut on)?;
    if let Some(shared) = shared {
        for (i, hit) in audits {
            let here = results.get(i).and_then(Option::as_ref);
            shared.audited(hit, here)?;
        }
    }
    boot::boot_all(machine, &plans, open, jobs, store, &mut results, &mut on)?;
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

fn fingerprint(machine: &dyn Machine, plan: &Plan) -> String {
    let mut hash = Sha256::new();
    hash.update(machine.inputs(plan));
    capture::hex(&hash.finalize())
}
