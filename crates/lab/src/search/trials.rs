//! What runs the boots of a search.

use crate::error::LabError;
use crate::event::Event;
use crate::experiment::Experiment;
use crate::run::{Hosts, Options, run};
use crate::trial::Trial;
use record::Nanos;
use std::path::PathBuf;
use treat::Treatment;

/// Runs sets of trials.
pub trait Trials {
    /// Boots every variant of `experiment` `ensemble` times, each time under another neutral
    /// perturbation, and returns a trial for each boot. What was booted before with the same
    /// inputs need not be booted again. A boot that fails is a trial with a failure.
    ///
    /// The variants are compared with the variant `against`. Who [interleaves](Self::interleaves)
    /// boots both in the same rounds, and no more often than the answer needs.
    ///
    /// # Errors
    /// If nothing can be booted at all.
    fn run(
        &mut self,
        experiment: &Experiment,
        ensemble: u32,
        against: Option<&str>,
    ) -> Result<Vec<Trial>, LabError>;

    /// Whether boots can be compared only with boots made beside them: those of a board,
    /// which change with time.
    fn interleaves(&self) -> bool {
        false
    }

    /// When first light of a trial came; `None`: its capture says it.
    fn light(&self, _trial: &Trial) -> Option<Nanos> {
        None
    }

    /// Why a treatment cannot be put onto what is booted, in a clause; `None`: it can.
    fn refuses(&self, _treatment: &Treatment) -> Option<String> {
        None
    }
}

/// Runs trials on this host, or where this host sends them.
pub struct Local<'a> {
    /// The folder for the trials.
    pub out: PathBuf,
    /// Who boots them.
    pub hosts: Hosts,
    /// Receives what happens.
    pub on: &'a mut dyn FnMut(Event),
}

impl Trials for Local<'_> {
    fn run(
        &mut self,
        experiment: &Experiment,
        ensemble: u32,
        _against: Option<&str>,
    ) -> Result<Vec<Trial>, LabError> {
        let options = Options::plain(&self.out, ensemble).by(&self.hosts);
        Ok(run(experiment, &options, self.on)?.trials)
    }
}
