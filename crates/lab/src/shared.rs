//! Results of exact trials that several runs, users and machines share.
//!
//! An exact trial is a pure function of its inputs, so it never needs to run twice
//! anywhere. A folder, local or on NFS, or a bucket of an S3 store holds one file for each
//! result: `ab/abcdef….tar.zst`, named by the trial's fingerprint ([`crate::entry`]). A
//! file appears whole or not at all, so writers need no lock; of two with the same result
//! either may stay.
//!
//! An entry that is cut, foreign or changed is refused. One that was made to deceive, with
//! the right sums, is found by auditing: some results are booted again, and their digests
//! must be equal.

use crate::entry::{self, Found, LIMIT};
use crate::error::{Disagreement, LabError};
use crate::machine::Machine;
use crate::trial::{Plan, Purpose, Trial};
use std::path::Path;
use store::Place;

/// How many results are taken for each one that is booted again, unless asked
/// otherwise.
pub const AUDIT_EVERY: u32 = 100;

/// Where results are shared, and how often one of them is checked.
#[derive(Clone, Debug)]
pub struct Shared {
    /// The folder or bucket.
    pub place: Place,
    /// One result in so many is booted again, by chance; 0: none, 1: all.
    pub audit_every: u32,
}

/// The name of the result `fingerprint`.
fn name(fingerprint: &str) -> String {
    let group = fingerprint.get(..2).unwrap_or("00");
    format!("{group}/{fingerprint}.tar.zst")
}

impl Shared {
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
        let name = name(fingerprint);
        let refused =
            |why: String| format!("{}: {why}; the trial is booted", self.place.path_of(&name));
        let bytes = match self.place.get(&name, LIMIT) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(None),
            Err(e) => return Err(refused(format!("the shared result cannot be read: {e}"))),
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
                path: self.place.path_of(&name(&here.fingerprint)),
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
        let name = name(&trial.fingerprint);
        if trial.host_failed() {
            return Ok(());
        }
        let cannot = |e: std::io::Error| LabError::Plan {
            name: self.place.path_of(&name),
            why: format!("cannot be written: {e}"),
        };
        if self.place.has(&name).map_err(cannot)? {
            return Ok(());
        }
        let bytes = entry::pack(trial, out, machine)?;
        self.place.put(&name, &bytes).map_err(cannot)
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
