//! What a trial boots on.

use crate::error::LabError;
use crate::pc::Stages;
use crate::trial::{Failure, Plan};
use std::path::Path;
use treat::BootSpec;

/// Boots trials.
pub trait Machine: Sync {
    /// The machine in words, for captures.
    fn description(&self) -> String;

    /// Everything that decides how `spec` boots, as `key = value` lines. The
    /// same lines, the same boot.
    fn inputs(&self, spec: &BootSpec) -> String;

    /// Boots `plan` to its end. `work` is an empty folder for its files; `seen`
    /// is told how the console grows: bytes so far, last line.
    ///
    /// # Errors
    /// If the trial cannot be run at all. A boot that fails is a [`Boot`].
    fn boot(
        &self,
        plan: &Plan,
        work: &Path,
        seen: &mut dyn FnMut(u64, &str),
    ) -> Result<Boot, LabError>;
}

/// What a boot left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Boot {
    /// What it wrote to its console.
    pub console: Vec<u8>,
    /// The tar that the agent handed out.
    pub payload: Option<Vec<u8>>,
    /// When firmware and decompression ended, if that is known.
    pub stages: Option<Stages>,
    /// Why it failed, if it did.
    pub failure: Option<Failure>,
    /// What is doubtful, in sentences.
    pub notes: Vec<String>,
}
