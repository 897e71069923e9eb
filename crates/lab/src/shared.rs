//! Results of exact trials that several runs, users and machines share.
//!
//! An exact trial is a pure function of its inputs, so it never needs to run twice
//! anywhere. A folder, local or on NFS, holds one file for each result:
//! `ab/abcdef….tar.zst`, named by the trial's fingerprint ([`crate::entry`]). A file is
//! written beside and renamed, so writers need no lock; of two with the same result either
//! may stay.
//!
//! An entry that is cut, foreign or changed is refused. One that was made to deceive, with
//! the right sums, is found by auditing: some results are booted again, and their digests
//! must be equal.

use crate::entry::{self, Found, LIMIT};
use crate::error::{Disagreement, LabError, io_error};
use crate::machine::Machine;
use crate::trial::{Plan, Purpose, Trial};
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// How many results are taken for each one that is booted again, unless asked
/// otherwise.
pub const AUDIT_EVERY: u32 = 100;

/// Where results are shared, and how often one of them is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shared {
    /// The folder; it is made when the first result is kept.
    pub folder: PathBuf,
    /// One result in so many is booted again, by chance; 0: none, 1: all.
    pub audit_every: u32,
}

impl Shared {
    /// The file of the result `fingerprint`.
    fn file(&self, fingerprint: &str) -> PathBuf {
        let group = fingerprint.get(..2).unwrap_or("00");
        self.folder
            .join(group)
            .join(format!("{fingerprint}.tar.zst"))
    }

    /// Whether this found result is to be booted again.
    pub(crate) fn audits(&self) -> bool {
        match self.audit_every {
            0 => false,
            every => fastrand::u32(0..every) == 0,
        }
    }

    /// The result of `fingerprint`, computed by `emulator`, if it is there.
    ///
    /// # Errors
    /// A sentence that says why the entry that is there is refused.
    pub(crate) fn get(&self, fingerprint: &str, emulator: &str) -> Result<Option<Found>, String> {
        let path = self.file(fingerprint);
        let refused = |why: String| format!("{}: {why}; the trial is booted", path.display());
        let bytes = match fs::metadata(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Ok(meta) if meta.len() > LIMIT => {
                return Err(refused("the shared result is larger than 256 MiB".into()));
            }
            _ => fs::read(&path)
                .map_err(|e| refused(format!("the shared result cannot be read: {e}")))?,
        };
        entry::unpack(&bytes, fingerprint, emulator)
            .map(Some)
            .map_err(|why| refused(format!("the shared result is damaged or not ours: {why}")))
    }

    /// Holds a shared result against the same trial, booted `here`.
    ///
    /// # Errors
    /// If their digests differ.
    pub(crate) fn audited(&self, shared: Found, here: Option<&Trial>) -> Result<(), LabError> {
        match here {
            Some(here) if here.host_failed() => Ok(()),
            Some(here) if here.digest != shared.trial.digest => Err(Box::new(Disagreement {
                trial: here.id.clone(),
                made_by: shared.made_by,
                shared: shared.trial.digest,
                here: here.digest.clone(),
                path: self.file(&here.fingerprint),
            })
            .into()),
            _ => Ok(()),
        }
    }

    /// Keeps `trial`, which `machine` booted and whose capture is in the output folder
    /// `out`. What is there already stays, and what the host ended is no result.
    ///
    /// # Errors
    /// If it cannot be read or written.
    pub(crate) fn put(
        &self,
        trial: &Trial,
        out: &Path,
        machine: &dyn Machine,
    ) -> Result<(), LabError> {
        let path = self.file(&trial.fingerprint);
        if path.is_file() || trial.host_failed() {
            return Ok(());
        }
        let bytes = entry::pack(trial, out, machine)?;
        let parent = path.parent().unwrap_or(&self.folder);
        let write = || {
            fs::create_dir_all(parent)?;
            let mut beside = tempfile::NamedTempFile::new_in(parent)?;
            beside.write_all(&bytes)?;
            beside.as_file().sync_all()?;
            // Others take results too, by whatever account they run under.
            let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
            beside.as_file().set_permissions(readable)?;
            beside.persist(&path)?;
            Ok(())
        };
        write().map_err(io_error(&path, "cannot be written"))
    }
}

/// Whether a trial of this plan may come from another run: its own second boot
/// would be compared with itself.
pub(crate) fn may_share(plan: &Plan) -> bool {
    plan.id.purpose != Purpose::Again
}

/// Puts a found result into the output folder `out`, as the trial of `plan`.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn adopt(found: Found, plan: &Plan, out: &Path) -> Result<Trial, LabError> {
    let made_by = found.made_by.clone();
    let mut trial = entry::adopt(found, plan, out)?;
    trial.shared_by = Some(made_by);
    Ok(trial)
}
