//! What runs the boots of a search.

use crate::error::LabError;
use crate::event::Event;
use crate::experiment::Experiment;
use crate::run::{Hosts, Options, run};
use crate::trial::Trial;
use std::path::PathBuf;

/// Runs sets of trials.
pub trait Trials {
    /// Boots every variant of `experiment` `ensemble` times, each time under another neutral
    /// perturbation, and returns a trial for each boot. What was booted before with the same
    /// inputs need not be booted again. A boot that fails is a trial with a failure.
    ///
    /// # Errors
    /// If nothing can be booted at all.
    fn run(&mut self, experiment: &Experiment, ensemble: u32) -> Result<Vec<Trial>, LabError>;
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
    fn run(&mut self, experiment: &Experiment, ensemble: u32) -> Result<Vec<Trial>, LabError> {
        let options = Options::plain(&self.out, ensemble).by(&self.hosts);
        Ok(run(experiment, &options, self.on)?.trials)
    }
}
