//! The machine `replay`: stored captures in place of boots.
//!
//! It takes the output folder of an earlier run. So an experiment's logic, its
//! tables and what they are made of can be tried without an emulator, and in
//! milliseconds.

use crate::artifacts::hash_bytes;
use crate::boot::Boot;
use crate::capture::CONSOLE;
use crate::error::{LabError, io_error};
use crate::files::{below, read};
use crate::machine::Machine;
use crate::trial::{Plan, Purpose, TRIAL_FILE, Trial, TrialId};
use agent::capture::{MANIFEST, Member};
use std::path::{Path, PathBuf};

/// An earlier run's output folder.
#[derive(Debug)]
pub struct Replay {
    folder: PathBuf,
}

impl Replay {
    /// The output folder `folder`.
    ///
    /// # Errors
    /// If it holds no trials.
    pub fn open(folder: &Path) -> Result<Self, LabError> {
        if folder.join("trials").is_dir() {
            return Ok(Self {
                folder: folder.to_owned(),
            });
        }
        Err(LabError::Output {
            path: folder.to_owned(),
            why: "not the output of an earlier run (no folder `trials`); set `replay` to one"
                .into(),
        })
    }

    /// Where the stored trial is: the second boot of the same inputs may be the
    /// first.
    fn stored(&self, id: &TrialId) -> PathBuf {
        let own = self.folder.join(id.folder());
        if own.is_dir() || id.purpose != Purpose::Again {
            return own;
        }
        let first = TrialId {
            purpose: Purpose::Result,
            ..id.clone()
        };
        self.folder.join(first.folder())
    }
}

impl Machine for Replay {
    fn description(&self) -> String {
        format!("replay of {}", self.folder.display())
    }

    fn inputs(&self, plan: &Plan) -> Result<String, LabError> {
        let stored = self.stored(&plan.id);
        // What cannot be read now is an error of the boot.
        let hash = |name: &str| {
            read(&stored.join(name)).map_or_else(|_| "none".into(), |b| hash_bytes(&b))
        };
        Ok(format!(
            "replay = {}\ntrial = {}\nmanifest = {}\ncmdline = {}\n",
            stored.display(),
            hash(TRIAL_FILE),
            hash(&format!("capture/{MANIFEST}")),
            plan.spec.cmdline
        ))
    }

    fn boot(
        &self,
        plan: &Plan,
        _work: &Path,
        seen: &mut dyn FnMut(u64, &str),
    ) -> Result<Boot, LabError> {
        let stored = self.stored(&plan.id);
        let file = stored.join(TRIAL_FILE);
        let unfit = |why: String| LabError::Output {
            path: file.clone(),
            why,
        };
        if !file.is_file() {
            return Err(unfit(format!(
                "no stored boot of {}; remove it from the experiment, reduce the ensemble, or run \
                 it on a machine",
                plan.id
            )));
        }
        let trial: Trial = serde_json::from_slice(&read(&file)?)
            .map_err(|e| unfit(format!("not a trial file: {e}")))?;
        let capture = stored.join("capture");
        let mut names = below(&capture)?;
        // The manifest is a capture's first member.
        names.sort_by_key(|n| (n != MANIFEST, n.clone()));
        let mut members: Vec<Member> = Vec::new();
        for name in names {
            let path = capture.join(&name);
            let bytes = std::fs::read(&path).map_err(io_error(&path, "cannot be read"))?;
            members.push((name, bytes));
        }
        let console = members.iter().find(|m| m.0 == CONSOLE);
        let console = console.map(|m| m.1.clone()).unwrap_or_default();
        seen(console.len() as u64, "from an earlier run");
        Ok(Boot {
            console,
            stored: Some(members),
            failure: trial.failure,
            notes: trial.notes,
            ..Boot::default()
        })
    }
}
