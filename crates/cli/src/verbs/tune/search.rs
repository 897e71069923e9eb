//! The search: which sets are booted, and what is kept.

use super::alone::one_by_one;
use super::health::sockets;
use super::reading;
use crate::args::Tune;
use crate::progress;
use crate::verbs::lab as lab_verb;
use analysis::{Confidence, HealthCheck, Options, Verdict, effect, median, range};
use anyhow::{Result, bail};
use lab::{BASELINE, Experiment, Variant};
use record::{Nanos, Record};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use treat::Treatment;

/// The lab, with what it has booted so far.
pub struct Lab {
    /// With what it records, for the boots that are looked at.
    recorded: Experiment,
    /// With nothing recorded, for the boots that are measured.
    pub(super) experiment: Experiment,
    pub(super) out: PathBuf,
    pub(super) ensemble: u32,
    jobs: Option<NonZeroUsize>,
    booted: BTreeMap<String, Measured>,
    /// The boot whose health the others must have, and its capture.
    healthy: Option<(Record, PathBuf)>,
    boots: usize,
    /// At most so many treatments are tried: each costs two boots or more.
    tries: usize,
    /// How much of the saving the kept set has at least, in percent.
    enough: i64,
    /// At most so many treatments are left out in turn.
    left_out: usize,
}

/// A set of treatments, booted.
#[derive(Clone, Debug)]
pub struct Measured {
    /// First light of each boot of its ensemble.
    pub times: Vec<Nanos>,
    /// Where the capture of the first one is.
    pub capture: PathBuf,
    /// Whether it does what the baseline does.
    pub health: Vec<HealthCheck>,
}

impl Measured {
    pub fn median(&self) -> Nanos {
        median(&self.times).unwrap_or(Nanos(i64::MAX))
    }

    pub(super) fn is_healthy(&self) -> bool {
        !self.times.is_empty() && self.health.iter().all(|h| h.ok)
    }

    pub(super) fn trouble(&self) -> String {
        let broken = self.health.iter().filter(|h| !h.ok);
        let told: Vec<&str> = broken.map(|h| h.detail.as_str()).collect();
        match told.is_empty() {
            true => "first light never came".to_owned(),
            false => told.join("; "),
        }
    }

    fn spread(&self) -> Nanos {
        range(&self.times).map_or(Nanos::ZERO, |(a, b)| b - a)
    }
}

/// A treatment that is kept.
#[derive(Clone, Debug)]
pub struct Kept {
    pub treatment: Treatment,
    /// How much later first light comes without it, and how far innocent changes alone
    /// move the two; `None`: it was not left out.
    pub share: Option<(Nanos, Nanos)>,
}

/// A treatment that is not.
#[derive(Clone, Debug)]
pub struct Dropped {
    pub treatment: String,
    pub why: String,
}

/// What came of it.
#[derive(Debug)]
pub struct Found {
    pub baseline: Measured,
    pub best: Measured,
    /// What the largest set that helps brings.
    pub whole: Nanos,
    pub kept: Vec<Kept>,
    pub dropped: Vec<Dropped>,
    pub boots: usize,
    /// What first light waits for in the best boot, the longest first.
    pub limits: Vec<(String, Nanos)>,
}

/// How a set is run: nothing is recorded that costs.
pub fn options(out: &Path, ensemble: u32) -> lab::Options {
    lab::Options {
        out: out.to_owned(),
        jobs: None,
        ensemble,
        check_exact: false,
        recording_cost: false,
    }
}

/// How many boots each set gets.
pub fn ensemble(experiment: &Experiment, args: &Tune) -> u32 {
    args.ensemble.unwrap_or(experiment.base.ensemble).get()
}

/// The treatments that are known before the first boot: those of the
/// experiment's variants, and those that the user named.
pub fn candidates(experiment: &Experiment, with: &[String]) -> Result<Vec<Treatment>> {
    let mut all: Vec<Treatment> = Vec::new();
    let of_variants = experiment.variants.iter().flat_map(|v| v.treatments.iter());
    for treatment in of_variants {
        if !all.contains(treatment) {
            all.push(treatment.clone());
        }
    }
    for text in with {
        let treatment = Treatment::parse(text)?;
        if !all.contains(&treatment) {
            all.push(treatment);
        }
    }
    Ok(all)
}

/// A finding's treatment as the lab can do it.
pub fn in_lab(text: &str) -> Option<Treatment> {
    // What keeps the journal in memory leaves nothing to flush.
    let text = match text {
        "journald=volatile" => "mask=systemd-journal-flush.service",
        other => other,
    };
    Treatment::parse(text).ok()
}

impl Lab {
    pub fn new(experiment: Experiment, out: PathBuf, args: &Tune) -> Result<Self> {
        let ensemble = ensemble(&experiment, args);
        Ok(Self {
            recorded: experiment.clone(),
            experiment: experiment.unrecorded(),
            out,
            ensemble,
            jobs: args.jobs,
            booted: BTreeMap::new(),
            healthy: None,
            boots: 0,
            tries: args.tries.max(1),
            enough: args.enough.into(),
            left_out: args.leave_out.unwrap_or(usize::MAX),
        })
    }

    /// Boots an experiment of one variant; where its capture is.
    pub(super) fn boot_once(&mut self, experiment: &Experiment) -> Result<PathBuf> {
        let outcome = lab_verb::boot(experiment, &self.options(1), true)?;
        self.boots += outcome.trials.len();
        let Some(trial) = outcome.trials.first() else {
            bail!("nothing was booted");
        };
        match &trial.failure {
            None => Ok(self.out.join(&trial.capture)),
            Some(failure) => bail!(
                "the boot that records what is read failed: {}",
                failure.detail
            ),
        }
    }

    fn options(&self, ensemble: u32) -> lab::Options {
        lab::Options {
            jobs: self.jobs,
            ..options(&self.out, ensemble)
        }
    }

    /// The boot of a set with everything recorded that the experiment asks for.
    fn look(&mut self, name: &str, treatments: &[Treatment]) -> Result<Record> {
        if !self.recorded.base.recording.is_noticed() {
            return lab_verb::record(&self.measured(name)?.capture);
        }
        let looked = [(format!("{name}-recorded"), treatments.to_vec())];
        let experiment = variants(&self.recorded, &looked.iter().collect::<Vec<_>>())?;
        let outcome = lab_verb::boot(&experiment, &self.options(1), true)?;
        self.boots += outcome.trials.len();
        match outcome.trials.first() {
            Some(trial) => lab_verb::record(&self.out.join(&trial.capture)),
            None => bail!("the set {name} was not booted"),
        }
    }

    /// Boots sets of treatments that were not booted yet.
    pub(super) fn boot(&mut self, sets: &[(String, Vec<Treatment>)], ensemble: u32) -> Result<()> {
        let open: Vec<_> = sets
            .iter()
            .filter(|(name, _)| !self.booted.contains_key(name))
            .collect();
        if open.is_empty() {
            return Ok(());
        }
        let experiment = variants(&self.experiment, &open)?;
        let outcome = lab_verb::boot(&experiment, &self.options(ensemble), true)?;
        self.boots += outcome.trials.len();
        for (name, treatments) in open {
            let mut times = Vec::new();
            let mut health = Vec::new();
            let mut capture = PathBuf::new();
            let trials = outcome.trials.iter().filter(|t| t.id.variant == *name);
            for trial in trials {
                let path = self.out.join(&trial.capture);
                if let Some(failure) = &trial.failure {
                    health.push(HealthCheck {
                        check: "first-light",
                        ok: false,
                        detail: failure.detail.clone(),
                    });
                    continue;
                }
                let record = lab_verb::record(&path)?;
                let phases = analysis::phases_with(&record, &Options::default());
                times.extend(phases.first_light.as_ref().map(|f| f.at));
                if trial.id.perturbation == 0 {
                    let masked = masked(treatments);
                    match &self.healthy {
                        Some((before, of)) => {
                            health.extend(analysis::health(before, &record, &phases, &masked));
                            health.push(sockets(of, &path, &masked));
                        }
                        None => {
                            health.extend(analysis::health(&record, &record, &phases, &masked));
                            self.healthy = Some((record, path.clone()));
                        }
                    }
                    capture = path;
                }
            }
            let failed = health.iter().any(|h| !h.ok);
            if failed {
                times.clear();
            }
            let measured = Measured {
                times,
                capture,
                health,
            };
            self.booted.insert(name.clone(), measured);
        }
        Ok(())
    }

    pub(super) fn measured(&self, name: &str) -> Result<&Measured> {
        match self.booted.get(name) {
            Some(measured) => Ok(measured),
            None => bail!("the set {name} was not booted"),
        }
    }
}

/// The experiment with these sets as its variants.
fn variants(of: &Experiment, sets: &[&(String, Vec<Treatment>)]) -> Result<Experiment> {
    let Some(base) = of.variants.first().map(|b| &b.spec) else {
        bail!("the experiment has no baseline");
    };
    let mut variants = Vec::new();
    for (name, treatments) in sets {
        let mut spec = base.clone();
        for treatment in treatments {
            // A word that is not there needs not be taken away.
            if let Ok((after, _)) = treatment.apply(&spec) {
                spec = after;
            }
        }
        variants.push(Variant {
            name: name.clone(),
            treatments: treatments.clone(),
            spec,
        });
    }
    Ok(Experiment {
        variants,
        ..of.clone()
    })
}

fn masked(treatments: &[Treatment]) -> Vec<String> {
    let of = |t: &Treatment| match t {
        Treatment::Mask(unit) => Some(unit.clone()),
        _ => None,
    };
    treatments.iter().filter_map(of).collect()
}

/// Some of `all`, by their numbers: its name and its treatments.
pub(super) fn set(all: &[Treatment], numbers: &[usize]) -> (String, Vec<Treatment>) {
    let of = numbers.iter().filter_map(|i| all.get(*i).cloned());
    (name(numbers), of.collect())
}

/// The name of a set: `set-1-3`, by the numbers of its treatments.
pub(super) fn name(set: &[usize]) -> String {
    let numbers: Vec<String> = set.iter().map(|i| (i + 1).to_string()).collect();
    format!("set-{}", numbers.join("-"))
}

/// Adds what the findings of a boot recommend and the lab can do; which of it
/// promises most.
fn recommended(
    record: &Record,
    experiment: &Experiment,
    all: &mut Vec<Treatment>,
    dropped: &mut Vec<Dropped>,
) -> Option<Treatment> {
    let cmdline = experiment.base.recording.words.join(" ");
    let phases = analysis::phases_with(record, &Options::default());
    let advice = analysis::advice(record, &phases, &analysis::SystemFacts::default());
    let mut most = None;
    for finding in advice.findings {
        let own = experiment.loader_treatment(finding.id);
        let Some(text) = own.map(|t| t.to_string()).or(finding.treatment) else {
            continue;
        };
        // What has no number and is a rule of thumb is not worth a boot, but
        // for what virtual time alone does not show.
        let blind = finding.saving.is_none() && finding.confidence == Confidence::Low;
        match in_lab(&text) {
            // What the lab records by is no cause of the boot's.
            Some(Treatment::RemoveWord(word)) if cmdline.contains(&word) => {}
            Some(treatment) => {
                if !blind && !all.contains(&treatment) {
                    all.push(treatment.clone());
                }
                most.get_or_insert(treatment);
            }
            None => dropped.push(Dropped {
                treatment: text,
                why: "the lab cannot do this; `firstlight treat` can".to_owned(),
            }),
        }
    }
    most
}

/// Tries treatments alone and together, and keeps what helps.
pub fn search(lab: &mut Lab, with: &[String]) -> Result<Found> {
    let ensemble = lab.ensemble;
    let mut all = candidates(&lab.experiment, with)?;
    let mut dropped = Vec::new();
    progress::say("the baseline".to_owned());
    lab.boot(&[(BASELINE.to_owned(), Vec::new())], ensemble)?;
    let baseline = lab.measured(BASELINE)?.clone();
    if baseline.times.is_empty() {
        bail!(
            "the baseline never came to first light ({}); nothing can be compared with it",
            baseline.trouble()
        );
    }
    let seen = lab.look(BASELINE, &[])?;
    let named = all.len();
    let most = recommended(&seen, &lab.recorded, &mut all, &mut dropped);
    let tried = all.get(..lab.tries).unwrap_or(&all);
    match reading::treatments(lab, tried, &mut dropped) {
        // They promise more than most findings.
        Ok(found) => {
            all.splice(named..named, found);
        }
        Err(why) => dropped.push(Dropped {
            treatment: "order=LIST, prefetch=LIST".to_owned(),
            why: format!("not tried: {why:#}"),
        }),
    }
    for surplus in all.split_off(all.len().min(lab.tries)) {
        dropped.push(Dropped {
            treatment: surplus.to_string(),
            why: format!("not tried: {} others promise more (--tries)", lab.tries),
        });
    }
    if all.is_empty() {
        bail!("no finding of this boot has a treatment that the lab can do; name one by --with");
    }
    let set = |numbers: &[usize]| set(&all, numbers);

    // All together first: if that boot is sound, each is left out of it in turn. These
    // boots are half as many as with each alone besides, and short ones.
    let everything: Vec<usize> = (0..all.len()).collect();
    lab.boot(&[set(&everything)], ensemble)?;
    let together = lab.measured(&name(&everything))?;
    let sooner = effect(&baseline.times, &together.times);
    let sooner = sooner.is_some_and(|e| e.verdict == Verdict::Faster);
    let best = match together.is_healthy() && sooner {
        true => everything,
        false => one_by_one(lab, &all, &baseline, most.as_ref(), &mut dropped)?,
    };
    if best.is_empty() {
        return Ok(Found {
            whole: baseline.median(),
            best: baseline.clone(),
            limits: limits(&seen),
            baseline,
            kept: Vec::new(),
            dropped,
            boots: lab.boots,
        });
    }

    // Each left out of the best set: its share is what is missing then. Those that
    // promise least first, if not all are.
    let whole = lab.measured(&name(&best))?.clone();
    let without = |i: usize| -> Vec<usize> { best.iter().copied().filter(|b| *b != i).collect() };
    let (unmeasured, asked) = best.split_at(best.len() - best.len().min(lab.left_out));
    if best.len() > 1 {
        let sets: Vec<_> = asked.iter().map(|i| set(&without(*i))).collect();
        lab.boot(&sets, ensemble)?;
    }
    let mut shares = Vec::new();
    for i in asked {
        let rest = without(*i);
        let missing = match rest.is_empty() {
            true => &baseline,
            false => lab.measured(&name(&rest))?,
        };
        shares.push(match effect(&missing.times, &whole.times) {
            // Without it the boot breaks: it cannot be left out.
            None => (baseline.median() - whole.median(), whole.spread()),
            Some(e) if e.verdict == Verdict::Faster => (Nanos::ZERO - e.delta, e.spread),
            Some(e) => (Nanos::ZERO, e.spread),
        });
    }
    let saving = baseline.median() - whole.median();
    let only: Vec<Nanos> = shares.iter().map(|s| s.0).collect();
    let (order, mut count) = analysis::smallest(&only, saving, lab.enough);
    let chosen = loop {
        count = count.clamp(usize::from(unmeasured.is_empty()), asked.len());
        let largest = order.iter().take(count).filter_map(|o| asked.get(*o));
        let mut chosen: Vec<usize> = unmeasured.iter().chain(largest).copied().collect();
        chosen.sort_unstable();
        if count == asked.len() {
            break chosen;
        }
        lab.boot(&[set(&chosen)], ensemble)?;
        let measured = lab.measured(&name(&chosen))?;
        let enough = measured.is_healthy()
            && analysis::is_enough(
                baseline.median(),
                whole.median(),
                measured.median(),
                lab.enough,
            );
        if enough {
            break chosen;
        }
        count += 1;
    };
    let mut kept: Vec<Kept> = Vec::new();
    for i in unmeasured {
        kept.extend(all.get(*i).cloned().map(|treatment| Kept {
            treatment,
            share: None,
        }));
    }
    for o in order {
        let (Some(i), Some((share, spread))) = (asked.get(o), shares.get(o)) else {
            continue;
        };
        let Some(treatment) = all.get(*i).cloned() else {
            continue;
        };
        match chosen.contains(i) {
            true => kept.push(Kept {
                treatment,
                share: Some((*share, *spread)),
            }),
            false => dropped.push(Dropped {
                treatment: treatment.to_string(),
                why: match *share {
                    Nanos::ZERO => "no effect: without it first light comes no later".to_owned(),
                    share => format!(
                        "it brings {share}: the set without it has {} % of the saving or more",
                        lab.enough
                    ),
                },
            }),
        }
    }
    let best = lab.measured(&name(&chosen))?.clone();
    let (of_best, treatments) = set(&chosen);
    let seen = lab.look(&of_best, &treatments)?;
    Ok(Found {
        limits: limits(&seen),
        whole: whole.median(),
        baseline,
        best,
        kept,
        dropped,
        boots: lab.boots,
    })
}

/// What first light waits for, the longest first.
fn limits(record: &Record) -> Vec<(String, Nanos)> {
    let phases = analysis::phases_with(record, &Options::default());
    let path = analysis::critical_path(record, &phases);
    let mut items: Vec<(String, Nanos)> = path
        .items
        .into_iter()
        .map(|i| (i.name, i.end - i.start))
        .collect();
    items.sort_by_key(|(name, length)| (std::cmp::Reverse(*length), name.clone()));
    items.truncate(5);
    items
}
