//! What was booted so far.

use super::judge::{Judge, JudgeError};
use super::outcome::{Health, Measured};
use super::sets::{masked, variants};
use super::sockets::sockets;
use super::trials::Trials;
use crate::error::LabError;
use crate::experiment::Experiment;
use crate::trial::Trial;
use record::Nanos;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use treat::Treatment;

/// How a search goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The folder that the captures of trials are in, and for what the search itself writes.
    pub out: PathBuf,
    /// How many boots each set gets.
    pub ensemble: u32,
    /// At most so many treatments are tried: each costs two boots or more.
    pub tries: usize,
    /// How much of the saving the kept set has at least, in percent.
    pub enough: u8,
    /// At most so many treatments are left out in turn; `None`: all.
    pub leave_out: Option<usize>,
    /// What may be tried without being named.
    pub policy: Policy,
    /// Treatments that are not tried, as texts.
    pub without: Vec<String>,
    /// What treatments, as texts, save elsewhere: what saves most there is tried first, and what
    /// saves nothing there last.
    pub forecast: BTreeMap<String, Nanos>,
}

/// What a search may try that nobody named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Nothing that takes a protection away.
    #[default]
    Product,
    /// Everything.
    Lab,
}

/// Boots sets of treatments, and remembers what was booted.
pub(super) struct Bench<'a> {
    trials: &'a mut dyn Trials,
    pub judge: &'a mut dyn Judge,
    pub settings: &'a Settings,
    /// With what it records, for the boots that are looked at.
    pub recorded: Experiment,
    /// With nothing recorded, for the boots that are measured.
    pub experiment: Experiment,
    /// By the set's name and, where boots are made beside each other, that of the set that it
    /// was compared with.
    booted: BTreeMap<(String, Option<String>), Measured>,
    /// The capture of the boot whose health the others must have.
    healthy: Option<PathBuf>,
    pub boots: usize,
}

/// An error of the judge about a capture.
pub(super) fn of_capture(capture: &Path) -> impl FnOnce(JudgeError) -> LabError + '_ {
    move |source| LabError::Judge {
        capture: capture.to_owned(),
        source,
    }
}

impl<'a> Bench<'a> {
    pub fn new(
        experiment: &Experiment,
        settings: &'a Settings,
        trials: &'a mut dyn Trials,
        judge: &'a mut dyn Judge,
    ) -> Self {
        Self {
            trials,
            judge,
            settings,
            recorded: experiment.clone(),
            experiment: experiment.unrecorded(),
            booted: BTreeMap::new(),
            healthy: None,
            boots: 0,
        }
    }

    /// Boots an experiment of one variant once; where its capture is.
    pub fn boot_once(&mut self, experiment: &Experiment) -> Result<PathBuf, LabError> {
        let trials = self.trials.run(experiment, 1, None)?;
        self.boots += trials.len();
        let Some(trial) = trials.first() else {
            return Err(nothing("the variant"));
        };
        match &trial.failure {
            None => Ok(self.settings.out.join(&trial.capture)),
            Some(failure) => Err(LabError::Search(format!(
                "the boot that records file accesses failed: {}",
                failure.detail
            ))),
        }
    }

    /// The capture of a boot of a set with everything recorded that the experiment asks for.
    pub fn look(&mut self, name: &str, treatments: &[Treatment]) -> Result<PathBuf, LabError> {
        if !self.recorded.base.recording.is_noticed() {
            return Ok(self.last(name)?.capture.clone());
        }
        let looked = (format!("{name}-recorded"), treatments.to_vec());
        let experiment = variants(&self.recorded, &[&looked])?;
        let trials = self.trials.run(&experiment, 1, None)?;
        self.boots += trials.len();
        match trials.first() {
            Some(trial) => Ok(self.settings.out.join(&trial.capture)),
            None => Err(nothing(name)),
        }
    }

    /// Why a treatment cannot be tried, in a clause; `None`: it can.
    pub fn refuses(&self, treatment: &Treatment) -> Option<String> {
        self.trials.refuses(treatment)
    }

    /// The set that boots are kept by, if they are made beside it.
    fn beside(&self, against: &str) -> Option<String> {
        self.trials.interleaves().then(|| against.to_owned())
    }

    /// Boots sets of treatments that were not booted yet, to be compared with the set
    /// `against`; `None`: with nothing.
    pub fn boot(
        &mut self,
        against: Option<&(String, Vec<Treatment>)>,
        sets: &[(String, Vec<Treatment>)],
    ) -> Result<(), LabError> {
        let reference = against.and_then(|(name, _)| self.beside(name));
        let key = |name: &str| (name.to_owned(), reference.clone());
        let open: Vec<_> = sets
            .iter()
            .filter(|(name, _)| !self.booted.contains_key(&key(name)))
            .collect();
        if open.is_empty() {
            return Ok(());
        }
        self.judge.compares(open.len(), self.settings.ensemble);
        let also = against.filter(|_| reference.is_some());
        let all: Vec<_> = also.into_iter().chain(open.iter().copied()).collect();
        let experiment = variants(&self.experiment, &all)?;
        let ensemble = self.settings.ensemble;
        let all = self
            .trials
            .run(&experiment, ensemble, reference.as_deref())?;
        self.boots += all.len();
        let beside = match &reference {
            Some(reference) => self.times(&all, reference)?,
            None => Vec::new(),
        };
        for (name, treatments) in open {
            let mine = || all.iter().filter(|t| t.id.variant == *name);
            let failures = mine().filter_map(|t| t.failure.as_ref());
            let failures = failures.map(|failure| Health {
                check: "first-light",
                ok: false,
                detail: failure.detail.clone(),
            });
            let mut health: Vec<Health> = failures.collect();
            let mut capture = PathBuf::new();
            if let Some(first) = mine().find(|t| t.failure.is_none()) {
                capture = self.settings.out.join(&first.capture);
                health.extend(self.health(&capture, &masked(treatments))?);
            }
            let times = self.times(&all, name)?;
            let typical = self.judge.typical(&times);
            let measured = Measured {
                median: typical.map_or(Nanos(i64::MAX), |t| t.median),
                spread: typical.unwrap_or_default().spread,
                times,
                beside: beside.clone(),
                capture,
                health,
            };
            self.booted.insert(key(name), measured);
        }
        Ok(())
    }

    /// First light of the boots of one set.
    fn times(&mut self, all: &[Trial], name: &str) -> Result<Vec<Nanos>, LabError> {
        let mut times = Vec::new();
        for trial in all {
            if trial.id.variant != name || trial.failure.is_some() {
                continue;
            }
            if let Some(light) = self.trials.light(trial) {
                times.push(light);
                continue;
            }
            let path = self.settings.out.join(&trial.capture);
            times.extend(self.judge.first_light(&path).map_err(of_capture(&path))?);
        }
        Ok(times)
    }

    /// Whether the boot of a capture does what the first boot did.
    fn health(&mut self, capture: &Path, masked: &[String]) -> Result<Vec<Health>, LabError> {
        let before = self.healthy.get_or_insert_with(|| capture.to_owned());
        let judged = self.judge.health(before, capture, masked);
        let mut health = judged.map_err(of_capture(capture))?;
        if *before != capture {
            health.push(sockets(before, capture, masked));
        }
        Ok(health)
    }

    /// What was measured of a set beside the set `against`.
    pub fn measured(&self, name: &str, against: &str) -> Result<&Measured, LabError> {
        let key = (name.to_owned(), self.beside(against));
        self.booted.get(&key).ok_or_else(|| nothing(name))
    }

    /// What was measured of a set, beside whichever other one.
    pub fn last(&self, name: &str) -> Result<&Measured, LabError> {
        let mut mine = self.booted.iter().filter(|((of, _), _)| of == name);
        let measured = mine.next_back().map(|(_, measured)| measured);
        measured.ok_or_else(|| nothing(name))
    }
}

fn nothing(name: &str) -> LabError {
    LabError::Bug {
        why: format!("{name} was not booted"),
    }
}
