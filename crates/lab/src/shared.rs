//! Results of exact trials that several runs, users and machines share.
//!
//! An exact trial is a pure function of its inputs, so it never needs to run
//! twice anywhere. A folder, local or on NFS, holds one file for each result:
//! `ab/abcdef….tar.zst`, named by the trial's fingerprint. Its first member says
//! what it is, who made it, and the SHA-256 of the others. A file is written
//! beside and renamed, so writers need no lock; of two with the same result
//! either may stay.
//!
//! An entry that is cut, foreign or changed is refused. One that was made to
//! deceive, with the right sums, is found by auditing: some results are booted
//! again, and their digests must be equal.

use crate::capture::{self, hex};
use crate::error::{Disagreement, LabError, io_error};
use crate::store;
use crate::trial::{self, Plan, Purpose, TRIAL_FILE, Trial};
use agent::capture::{Limits, MANIFEST, Member, read_tar, write_tar};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The version of an entry.
const VERSION: u32 = 1;

/// The first member of an entry.
const ENTRY: &str = "entry.json";

/// The largest entry that is read, in compressed bytes.
const LIMIT: u64 = 256 << 20;

/// zstd's own default.
const LEVEL: i32 = 3;

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

/// What an entry says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// The format's version; always the first key.
    firstlight_result: u32,
    /// Of the trial.
    fingerprint: String,
    /// SHA-256 over the names and contents of all other members.
    sha256: String,
    /// The host that booted it, and the program.
    made_by: String,
}

/// A result that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The trial, with the id that it was booted under.
    pub trial: Trial,
    /// Its capture.
    pub members: Vec<Member>,
    /// Who booted it.
    pub made_by: String,
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

    /// The result of `fingerprint`, if it is there.
    ///
    /// # Errors
    /// A sentence that says why the entry that is there is refused.
    pub(crate) fn get(&self, fingerprint: &str) -> Result<Option<Found>, String> {
        let path = self.file(fingerprint);
        let refused = |why: String| format!("{}: {why}; the trial is booted", path.display());
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(refused(format!("the shared result cannot be read: {e}"))),
        };
        if file.metadata().map_or(u64::MAX, |m| m.len()) > LIMIT {
            return Err(refused("the shared result is larger than 256 MiB".into()));
        }
        let found = zstd::Decoder::new(file)
            .map_err(|e| e.to_string())
            .and_then(|tar| read_tar(tar, Limits::default()).map_err(|e| e.to_string()))
            .and_then(|members| unpack(members, fingerprint));
        found
            .map(Some)
            .map_err(|why| refused(format!("the shared result is damaged or not ours: {why}")))
    }

    /// Holds a shared result against the same trial, booted `here`.
    ///
    /// # Errors
    /// If their digests differ.
    pub(crate) fn audited(&self, shared: Found, here: Option<&Trial>) -> Result<(), LabError> {
        match here {
            Some(here)
                if here
                    .failure
                    .as_ref()
                    .is_some_and(|f| f.reason.depends_on_host()) =>
            {
                Ok(())
            }
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

    /// Keeps `trial`, whose capture is in the output folder `out`. What is there
    /// already stays, and what the host ended is no result.
    ///
    /// # Errors
    /// If it cannot be read or written.
    pub(crate) fn put(&self, trial: &Trial, out: &Path) -> Result<(), LabError> {
        let path = self.file(&trial.fingerprint);
        let host = trial.failure.as_ref().map(|f| f.reason.depends_on_host());
        if path.is_file() || host == Some(true) {
            return Ok(());
        }
        let bug = |why: String| LabError::Bug { why };
        let mut members = folder_members(&out.join(&trial.capture))?;
        let mut text = serde_json::to_vec_pretty(trial).map_err(|e| bug(e.to_string()))?;
        text.push(b'\n');
        members.insert(0, (TRIAL_FILE.into(), text));
        let entry = Entry {
            firstlight_result: VERSION,
            fingerprint: trial.fingerprint.clone(),
            sha256: sum(&members),
            made_by: format!(
                "{}, firstlight {}",
                rustix::system::uname().nodename().to_string_lossy(),
                env!("CARGO_PKG_VERSION")
            ),
        };
        let text = serde_json::to_vec_pretty(&entry).map_err(|e| bug(e.to_string()))?;
        members.insert(0, (ENTRY.into(), text));
        let parent = path.parent().unwrap_or(&self.folder);
        let write = || {
            fs::create_dir_all(parent)?;
            let mut beside = tempfile::NamedTempFile::new_in(parent)?;
            let mut zstd = zstd::Encoder::new(beside.as_file_mut(), LEVEL)?;
            write_tar(&mut zstd, &members)?;
            zstd.finish()?.flush()?;
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
    let folder = store::clear(out, &plan.id)?;
    capture::write(&folder.join("capture"), &found.members)?;
    let mut trial = found.trial;
    trial.id = plan.id.clone();
    trial.capture = plan.id.folder().join("capture");
    trial.shared_by = Some(found.made_by);
    Ok(trial)
}

fn unpack(mut members: Vec<Member>, fingerprint: &str) -> Result<Found, String> {
    let mut next = |wanted: &str| match members.first() {
        Some((name, _)) if name == wanted => Ok(members.remove(0)),
        _ => Err(format!("its next member is not {wanted}")),
    };
    let (_, entry) = next(ENTRY)?;
    let entry: Entry = serde_json::from_slice(&entry).map_err(|e| format!("{ENTRY}: {e}"))?;
    if entry.firstlight_result != VERSION {
        let found = entry.firstlight_result;
        return Err(format!(
            "it has version {found}, and this program reads {VERSION}"
        ));
    }
    let text = next(TRIAL_FILE)?;
    let trial: Trial = serde_json::from_slice(&text.1).map_err(|e| format!("{TRIAL_FILE}: {e}"))?;
    let whole: Vec<Member> = std::iter::once(text)
        .chain(members.iter().cloned())
        .collect();
    if entry.sha256 != sum(&whole) {
        return Err("its contents do not have the sum that it states".into());
    }
    let same = |found: &str| found == fingerprint;
    if !same(&entry.fingerprint) || !same(&trial.fingerprint) {
        return Err("it is of a trial with another fingerprint".into());
    }
    if trial.firstlight_trial != trial::VERSION {
        return Err("its trial has another version".into());
    }
    Ok(Found {
        trial,
        members,
        made_by: entry.made_by,
    })
}

/// The members of the capture in `folder`: the manifest first, the others by name.
fn folder_members(folder: &Path) -> Result<Vec<Member>, LabError> {
    let mut members = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        let here = folder.join(&below);
        let failed = || io_error(&here, "cannot be read");
        for entry in fs::read_dir(&here).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            let name = below.join(entry.file_name());
            if entry.file_type().map_err(failed())?.is_dir() {
                open.push(name);
                continue;
            }
            let bytes = fs::read(entry.path()).map_err(failed())?;
            members.push((name.to_string_lossy().into_owned(), bytes));
        }
    }
    members.sort_by(|a, b| (a.0 != MANIFEST, &a.0).cmp(&(b.0 != MANIFEST, &b.0)));
    Ok(members)
}

/// SHA-256 over names and contents, each after its length.
fn sum(members: &[Member]) -> String {
    let mut hash = Sha256::new();
    for part in members.iter().flat_map(|(n, b)| [n.as_bytes(), b]) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hex(&hash.finalize())
}
