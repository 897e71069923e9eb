//! What made a result, by digests: `made-by.json` in the folder of each result.

use crate::artifacts::{Cache, hash_bytes};
use crate::emulator::{Program, Qemu};
use crate::error::{LabError, io_error};
use crate::trial::Trial;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The file's name.
const FILE: &str = "made-by.json";

/// What the boots of a result were made from.
#[derive(Debug, Default)]
pub(crate) struct Made {
    emulators: BTreeSet<String>,
    /// Of each boot, in order.
    artifacts: Vec<String>,
}

impl Made {
    /// Adds a boot: the digests of its emulator with its parts, and of what was booted.
    pub(crate) fn add(&mut self, emulator: String, artifacts: String) {
        self.emulators.insert(emulator);
        self.artifacts.push(artifacts);
    }

    /// Adds the boots of an experiment by an emulator; a board has none.
    pub(crate) fn add_trials(
        &mut self,
        program: Option<Program>,
        trials: &[Trial],
        cache: &Cache,
    ) -> Result<(), LabError> {
        if let Some(program) = program {
            let qemu = Qemu::find(program, cache)?;
            self.emulators
                .insert(hash_bytes(qemu.identity().as_bytes()));
        }
        let fingerprints = trials.iter().map(|t| t.fingerprint.clone());
        self.artifacts.extend(fingerprints);
        Ok(())
    }

    /// SHA-256 of all `artifacts`, and of the `emulator` if there is one.
    pub(crate) fn digests(&self) -> BTreeMap<String, String> {
        let mut digests =
            BTreeMap::from([("artifacts".to_owned(), together(self.artifacts.iter()))]);
        if !self.emulators.is_empty() {
            digests.insert("emulator".to_owned(), together(self.emulators.iter()));
        }
        digests
    }

    /// Writes the digests into the folder `out`.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn keep(&self, out: &Path) -> Result<(), LabError> {
        let path = out.join(FILE);
        let text = serde_json::to_vec_pretty(&self.digests())
            .map_err(|e| LabError::Bug { why: e.to_string() })?;
        fs::write(&path, text).map_err(io_error(&path, "cannot be written"))
    }
}

fn together<'a>(digests: impl Iterator<Item = &'a String>) -> String {
    let all: Vec<&str> = digests.map(String::as_str).collect();
    hash_bytes(all.join("\n").as_bytes())
}
