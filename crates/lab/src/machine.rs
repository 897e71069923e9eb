//! What a trial boots on.

use crate::boot::Boot;
use crate::error::LabError;
use crate::prepared::Prepared;
use crate::trial::Plan;
use std::path::Path;

/// Boots trials.
pub trait Machine: Sync {
    /// The machine in words, for captures.
    fn description(&self) -> String;

    /// Whether the same inputs give the same boot, in virtual time; else boots run
    /// in real time.
    fn is_exact(&self) -> bool {
        true
    }

    /// The emulator that computes its boots, in words; empty if there is none.
    fn emulator(&self) -> String {
        String::new()
    }

    /// Everything that decides how `plan` boots, as `key = value` lines. The
    /// same lines, the same boot, if it is exact.
    ///
    /// # Errors
    /// If a file of it is not there, or does not fit.
    fn inputs(&self, plan: &Plan) -> Result<String, LabError>;

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

    /// `plan` in the form that another host boots.
    ///
    /// # Errors
    /// If there is none: not every machine can be had elsewhere.
    fn prepared(&self, plan: &Plan) -> Result<Prepared, LabError> {
        Err(LabError::Plan {
            name: plan.id.to_string(),
            why: format!("{} boots only on this host", self.description()),
        })
    }
}
