//! A result in one file: what was booted, by whom and under which emulator, and its
//! capture.
//!
//! It is a tar under zstd. Its first member says what it is and has the SHA-256 of the
//! others, so a result that is cut, foreign or changed is refused. `lab trial` writes such
//! files, and shared results are kept as such.

use crate::capture;
use crate::error::{LabError, io_error};
use crate::hex::hex;
use crate::machine::Machine;
use crate::store;
use crate::trial::{self, Plan, TRIAL_FILE, Trial};
use agent::capture::{Limits, MANIFEST, Member, read_tar, write_tar};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

/// The version of a result's file.
const VERSION: u32 = 1;

/// Its first member.
const ENTRY: &str = "entry.json";

/// The largest file that is read, in bytes.
pub const LIMIT: u64 = 256 << 20;

/// zstd's own default.
const LEVEL: i32 = 3;

/// What a result says of itself.
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
    /// The emulator that computed it.
    emulator: String,
}

/// A result that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The trial, with the id that it was booted under.
    pub trial: Trial,
    /// Its capture.
    pub members: Vec<Member>,
    /// Who booted it.
    pub made_by: String,
}

/// The file of `trial`, which `machine` booted and whose capture is in the output folder
/// `out`.
///
/// # Errors
/// If the capture cannot be read.
pub fn pack(trial: &Trial, out: &Path, machine: &dyn Machine) -> Result<Vec<u8>, LabError> {
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
        emulator: machine.emulator(),
    };
    let text = serde_json::to_vec_pretty(&entry).map_err(|e| bug(e.to_string()))?;
    members.insert(0, (ENTRY.into(), text));
    let write = || {
        let mut zstd = zstd::Encoder::new(Vec::new(), LEVEL)?;
        write_tar(&mut zstd, &members)?;
        zstd.finish()
    };
    write().map_err(io_error(out, "cannot be packed"))
}

/// Reads the file of a result: that of the trial `fingerprint`, computed by `emulator`.
///
/// # Errors
/// A clause that says why it is refused.
pub fn unpack(bytes: &[u8], fingerprint: &str, emulator: &str) -> Result<Found, String> {
    let tar = zstd::Decoder::new(bytes).map_err(|e| e.to_string())?;
    let members = read_tar(tar, Limits::default()).map_err(|e| e.to_string())?;
    checked(members, fingerprint, emulator)
}

fn checked(mut members: Vec<Member>, fingerprint: &str, emulator: &str) -> Result<Found, String> {
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
    if entry.emulator != emulator {
        return Err(format!(
            "the emulator {} computed it, and not {emulator}",
            entry.emulator
        ));
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

/// Puts a found result into the output folder `out`, as the trial of `plan`.
///
/// # Errors
/// If it cannot be written.
pub fn adopt(found: Found, plan: &Plan, out: &Path) -> Result<Trial, LabError> {
    let folder = store::clear(out, &plan.id)?;
    capture::write(&folder.join("capture"), &found.members)?;
    let mut trial = found.trial;
    trial.id = plan.id.clone();
    trial.capture = plan.id.folder().join("capture");
    Ok(trial)
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
