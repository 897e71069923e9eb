//! Results of exact trials that several runs, users and machines share.
//!
//! An exact trial is a pure function of its inputs, so it never needs to run twice
//! anywhere. A folder or a bucket ([`place`]) holds one entry for each result:
//! `ab/abcdef….tar.zst`, named by the trial's fingerprint ([`crate::entry`]).
//!
//! An entry that is cut, foreign or changed is refused, and replaced by what is booted in
//! its place. One that was made to deceive, with the right sums, is found by auditing: some
//! results are booted again, and their digests must be equal.

#[cfg(feature = "s3")]
mod bucket;
mod folder;
mod place;

use crate::entry::{self, Found, LIMIT};
use crate::error::{Disagreement, LabError};
use crate::machine::Machine;
use crate::trial::{Plan, Purpose, Trial};
use folder::Folder;
use place::{Answer, Place};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// How many results are taken for each one that is booted again, unless asked
/// otherwise.
pub const AUDIT_EVERY: u32 = 100;

/// How a place in a bucket begins.
const BUCKET: &str = "s3://";

/// So many results are held in memory at once.
const AT_ONCE: usize = 256;

/// Where results are shared, and how often one of them is checked.
#[derive(Clone, Debug)]
pub struct Shared {
    place: Arc<dyn Place>,
    /// One result in so many is booted again, by chance; 0: none, 1: all.
    pub audit_every: u32,
    /// After a run the oldest entries are removed until all together have at most so many
    /// bytes; `None`: nothing is removed.
    pub limit_bytes: Option<u64>,
}

/// What is known of a trial that was looked for.
pub(crate) enum Known {
    /// Its result.
    Hit(Box<Found>),
    /// Nothing that can be used: a sentence.
    Refused(String),
    /// There is none.
    Nothing,
}

impl Shared {
    /// The results in `place`, a folder or `s3://BUCKET/PREFIX`.
    ///
    /// # Errors
    /// If it is no place, or this program knows no buckets.
    pub fn named(place: &str) -> Result<Self, LabError> {
        match place.starts_with(BUCKET) {
            true => bucket(place),
            false => Ok(Self::in_folder(Path::new(place))),
        }
    }

    /// The results in a folder.
    #[must_use]
    pub fn in_folder(folder: &Path) -> Self {
        Self::at(Arc::new(Folder(folder.to_owned())))
    }

    fn at(place: Arc<dyn Place>) -> Self {
        Self {
            place,
            audit_every: AUDIT_EVERY,
            limit_bytes: None,
        }
    }

    /// Whether this found result is to be booted again.
    pub(crate) fn audits(&self) -> bool {
        match self.audit_every {
            0 => false,
            every => fastrand::u32(0..every) == 0,
        }
    }

    /// Looks for the results of `fingerprints`, computed by `emulator`; each is told as it
    /// comes, with its place among them.
    ///
    /// # Errors
    /// A sentence, if the place does not answer.
    pub(crate) fn look_up(
        &self,
        fingerprints: &[&str],
        emulator: &str,
        tell: &mut dyn FnMut(usize, Known) -> Result<(), LabError>,
    ) -> Result<Result<(), String>, LabError> {
        let mut at = 0;
        for some in fingerprints.chunks(AT_ONCE) {
            let keys: Vec<String> = some.iter().map(|f| key(f)).collect();
            let answers = match self.place.get(&keys, LIMIT) {
                Ok(answers) => answers,
                Err(why) => {
                    let text = format!("the shared results cannot be read: {why}");
                    return Ok(Err(text));
                }
            };
            for ((fingerprint, key), answer) in some.iter().zip(&keys).zip(answers) {
                tell(at, self.known(key, answer, fingerprint, emulator))?;
                at += 1;
            }
        }
        Ok(Ok(()))
    }

    fn known(&self, key: &str, answer: Answer, fingerprint: &str, emulator: &str) -> Known {
        let found = match answer {
            Ok(None) => return Known::Nothing,
            Ok(Some(bytes)) => entry::unpack(&bytes, fingerprint, emulator)
                .map_err(|why| format!("the shared result is damaged or not ours: {why}")),
            Err(why) => Err(why),
        };
        let found = found.and_then(|found| match found.trial.host_failed() {
            true => Err("the shared result is a failure of its host".to_owned()),
            false => Ok(found),
        });
        let name = self.place.name(key);
        match found {
            Ok(mut found) => {
                found.made_by = format!("{}, in {name}", found.made_by);
                Known::Hit(Box::new(found))
            }
            Err(why) => Known::Refused(format!("{name}: {why}; the trial is booted")),
        }
    }

    /// Keeps `trial`, which `machine` booted and whose capture is in the output folder
    /// `out`. An entry that exists is kept, unless `replaced` is set. A trial
    /// that the host ended is not kept: it has no result.
    ///
    /// # Errors
    /// A sentence, if it cannot be read or written.
    pub(crate) fn put(
        &self,
        trial: &Trial,
        out: &Path,
        machine: &dyn Machine,
        replaced: bool,
    ) -> Result<(), String> {
        if trial.host_failed() {
            return Ok(());
        }
        let bytes = entry::pack(trial, out, machine).map_err(|e| e.to_string())?;
        self.place.put(&key(&trial.fingerprint), bytes, replaced)
    }

    /// Removes the oldest entries until the others are within the limit; how many, and
    /// their bytes. Those that this run `used` go last.
    ///
    /// # Errors
    /// A sentence, if they are not known or one cannot be removed.
    pub(crate) fn prune(&self, used: &BTreeSet<&str>) -> Result<(usize, u64), String> {
        let Some(limit) = self.limit_bytes else {
            return Ok((0, 0));
        };
        let used: BTreeSet<String> = used.iter().map(|f| key(f)).collect();
        let mut items = self.place.list()?;
        items.sort_by_cached_key(|i| (used.contains(&i.key), i.written, i.key.clone()));
        let mut total: u64 = items.iter().map(|i| i.bytes).sum();
        let mut removed = (0, 0);
        for item in items {
            if total <= limit {
                break;
            }
            self.place.remove(&item.key)?;
            total = total.saturating_sub(item.bytes);
            removed = (removed.0 + 1, removed.1 + item.bytes);
        }
        Ok(removed)
    }
}

/// Holds a shared result against the same trial, booted `here`.
///
/// # Errors
/// If their digests differ.
pub(crate) fn audited(shared: Found, here: Option<&Trial>) -> Result<(), LabError> {
    match here {
        Some(here) if here.host_failed() => Ok(()),
        Some(here) if here.digest != shared.trial.digest => Err(Box::new(Disagreement {
            trial: here.id.clone(),
            made_by: shared.made_by,
            shared: shared.trial.digest,
            here: here.digest.clone(),
        })
        .into()),
        _ => Ok(()),
    }
}

#[cfg(feature = "s3")]
fn bucket(url: &str) -> Result<Shared, LabError> {
    let bucket = remote::Bucket::open(url).map_err(|e| LabError::Shared(e.to_string()))?;
    Ok(Shared::at(Arc::new(bucket)))
}

#[cfg(not(feature = "s3"))]
fn bucket(url: &str) -> Result<Shared, LabError> {
    Err(LabError::Shared(format!(
        "{url}: this program was built without S3; build it with `cargo build --release \
         --features s3`, or name a folder"
    )))
}

/// The key of the result `fingerprint`.
fn key(fingerprint: &str) -> String {
    let group = fingerprint.get(..2).unwrap_or("00");
    format!("{group}/{fingerprint}.tar.zst")
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
