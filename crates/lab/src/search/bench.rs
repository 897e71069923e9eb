//! What was booted so far.

use super::judge::{Judge, JudgeError};
use super::outcome::{Health, Measured};
use super::sets::{masked, variants};
use super::sockets::sockets;
use super::trials::Trials;
use crate::error::LabError;
use crate::experiment::Experiment;
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
    booted: BTreeMap<String, Measured>,
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
        let trials = self.trials.run(experiment, 1)?;
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
            return Ok(self.measured(name)?.capture.clone());
        }
        let looked = (format!("{name}-recorded"), treatments.to_vec());
        let experiment = variants(&self.recorded, &[&looked])?;
        let trials = self.trials.run(&experiment, 1)?;
        self.boots += trials.len();
        match trials.first() {
            Some(trial) => Ok(self.settings.out.join(&trial.capture)),
            None => Err(nothing(name)),
        }
    }

    /// Boots sets of treatments that were not booted yet.
    pub fn boot(&mut self, sets: &[(String, Vec<Treatment>)]) -> Result<(), LabError> {
        let open: Vec<_> = sets
            .iter()
            .filter(|(name, _)| !self.booted.contains_key(name))
            .collect();
        if open.is_empty() {
            return Ok(());
        }
        let experiment = variants(&self.experiment, &open)?;
        let all = self.trials.run(&experiment, self.settings.ensemble)?;
        self.boots += all.len();
        for (name, treatments) in open {
            let mut times = Vec::new();
            let mut health = Vec::new();
            let mut capture = PathBuf::new();
            for trial in all.iter().filter(|t| t.id.variant == *name) {
                let path = self.settings.out.join(&trial.capture);
                if let Some(failure) = &trial.failure {
                    health.push(Health {
                        check: "first-light",
                        ok: false,
                        detail: failure.detail.clone(),
                    });
                    continue;
                }
                times.extend(self.judge.first_light(&path).map_err(of_capture(&path))?);
                if trial.id.perturbation == 0 {
                    health.extend(self.health(&path, &masked(treatments))?);
                    capture = path;
                }
            }
            let typical = self.judge.typical(&times);
            let measured = Measured {
                median: typical.map_or(Nanos(i64::MAX), |t| t.median),
                spread: typical.unwrap_or_default().spread,
                times,
                capture,
                health,
            };
            self.booted.insert(name.clone(), measured);
        }
        Ok(())
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

    pub fn measured(&self, name: &str) -> Result<&Measured, LabError> {
        self.booted.get(name).ok_or_else(|| nothing(name))
    }
}

fn nothing(name: &str) -> LabError {
    LabError::Bug {
        why: format!("{name} was not booted"),
    }
}
