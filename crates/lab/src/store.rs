//! The output folder: one folder a trial, and a journal of all.
//!
//! `trials/VARIANT/K/trial.json` is written last, by a rename: where it is, the
//! trial is whole. `trials.jsonl` has the same objects, one a line, in the order
//! in which trials ended. It can be cut anywhere, and is mended from the others.

use crate::error::{LabError, io_error};
use crate::files;
use crate::journal::{Journal, Line};
use crate::trial::{self, TRIAL_FILE, TRIALS, Trial, TrialId};
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The journal's name.
const JOURNAL: &str = "trials.jsonl";

/// Where trials are until they end.
const BEGUN: &str = "begun";

/// With more trials than this, one wait for the whole disk is shorter than a wait for each of
/// their files.
const FEW: usize = 4;

/// An output folder in use.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    journal: Journal<Trial>,
}

impl Line for Trial {
    const VERSION: u32 = trial::VERSION;

    fn version(&self) -> u32 {
        self.firstlight_trial
    }
}

impl Store {
    /// Opens or makes the folder. What is torn at the journal's end is cut off.
    ///
    /// # Errors
    /// If the folder cannot be used, or another run uses it.
    pub fn open(folder: &Path) -> Result<Self, LabError> {
        fs::create_dir_all(folder).map_err(io_error(folder, "cannot be created"))?;
        let journal = Journal::open(folder.join(JOURNAL))?;
        // What a run that was cut off had begun. Its emulators may still write there: then the
        // trial that begins anew there removes it.
        let _ = fs::remove_dir_all(folder.join(BEGUN));
        Ok(Self {
            folder: folder.to_owned(),
            journal,
        })
    }

    /// The output folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The trials that the journal has, in the order in which they ended.
    #[must_use]
    pub fn kept(&self) -> &[Trial] {
        self.journal.lines()
    }

    fn folder_of(&self, id: &TrialId) -> PathBuf {
        self.folder.join(id.folder())
    }

    /// The whole trial of the same inputs, if there is one from an earlier run.
    #[must_use]
    pub fn finished(&self, id: &TrialId, fingerprint: &str) -> Option<Trial> {
        let bytes = fs::read(self.folder_of(id).join(TRIAL_FILE)).ok()?;
        let trial: Trial = serde_json::from_slice(&bytes).ok()?;
        let same = trial.firstlight_trial == trial::VERSION
            && trial.id == *id
            && trial.fingerprint == fingerprint;
        let there = self.folder.join(&trial.capture).is_dir();
        (same && there && !trial.host_failed()).then_some(trial)
    }

    /// Says that a trial is whole: its own file first, then the journal.
    ///
    /// # Errors
    /// If that cannot be written.
    pub fn keep(&mut self, trial: &Trial) -> Result<(), LabError> {
        self.keep_all(&[trial])
    }

    /// Records that these trials are complete. A record that exists is not written again.
    ///
    /// # Errors
    /// If that cannot be written. Then all of them may be missing.
    pub fn keep_all(&mut self, trials: &[&Trial]) -> Result<(), LabError> {
        let mut new = Vec::new();
        for trial in trials {
            let folder = self.folder_of(&trial.id);
            let (path, beside) = (folder.join(TRIAL_FILE), folder.join("trial.json.new"));
            let text = serde_json::to_vec_pretty(trial);
            let mut text = text.map_err(|e| LabError::Bug { why: e.to_string() })?;
            text.push(b'\n');
            if fs::read(&path).is_ok_and(|there| there == text) {
                continue;
            }
            fs::write(&beside, text).map_err(io_error(&beside, "cannot be written"))?;
            new.push((folder, beside, path));
        }
        self.to_disk(new.iter().map(|(folder, _, _)| folder))?;
        for (_, beside, path) in &new {
            fs::rename(beside, path).map_err(io_error(path, "cannot be written"))?;
        }
        let unknown = trials.iter().filter(|t| !self.kept().contains(t));
        let lines = unknown.map(|t| Trial::clone(t)).collect();
        self.journal.add_all(lines)
    }

    /// Waits until the files in these folders of trials are on the disk.
    fn to_disk<'a>(
        &self,
        folders: impl ExactSizeIterator<Item = &'a PathBuf>,
    ) -> Result<(), LabError> {
        if folders.len() > FEW {
            let synced = File::open(&self.folder).and_then(|f| Ok(rustix::fs::syncfs(f)?));
            return synced.map_err(io_error(&self.folder, "cannot be written"));
        }
        for folder in folders {
            for name in files::below(folder)? {
                let path = folder.join(name);
                File::open(&path)
                    .and_then(|file| file.sync_data())
                    .map_err(io_error(&path, "cannot be written"))?;
            }
        }
        Ok(())
    }
}

impl Drop for Store {
    /// Removes the folders of trials that began, which are empty if all ended. Before, another
    /// trial may be about to begin in one of them.
    fn drop(&mut self) {
        let begun = self.folder.join(BEGUN);
        for variant in fs::read_dir(&begun).into_iter().flatten().flatten() {
            let _ = fs::remove_dir(variant.path());
        }
        let _ = fs::remove_dir(&begun);
    }
}

/// The trials that the journal of the output folder `out` names, as far as it can
/// be read. Nothing is changed.
#[must_use]
pub fn stored(out: &Path) -> Vec<Trial> {
    let journal = fs::read(out.join(JOURNAL)).unwrap_or_default();
    let lines = journal.split(|b| *b == b'\n');
    lines
        .filter_map(|line| serde_json::from_slice::<Trial>(line).ok())
        .filter(|t| t.firstlight_trial == trial::VERSION && out.join(&t.capture).is_dir())
        .filter(|t| !t.host_failed())
        .collect()
}

/// Makes a folder for a trial that begins, empty: `begun/VARIANT/K` in the output folder `out`.
/// A trial of earlier inputs stays until this one takes its place (see [`take_place`]).
///
/// # Errors
/// If that cannot be done.
pub fn begin(out: &Path, id: &TrialId) -> Result<PathBuf, LabError> {
    let folder = begun(out, id);
    empty(&folder)?;
    Ok(folder)
}

/// Makes what [`begin`] gave the trial's folder.
///
/// # Errors
/// If that cannot be done.
pub fn take_place(out: &Path, id: &TrialId) -> Result<(), LabError> {
    let begun = begun(out, id);
    let folder = clear(out, id)?;
    fs::rename(&begun, &folder).map_err(io_error(&folder, "cannot be written"))
}

fn begun(out: &Path, id: &TrialId) -> PathBuf {
    let folder = id.folder();
    out.join(BEGUN)
        .join(folder.strip_prefix(TRIALS).unwrap_or(&folder))
}

/// Makes a folder that has nothing in it.
fn empty(folder: &Path) -> Result<(), LabError> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(io_error(folder, "cannot be emptied")(e)),
        _ => fs::create_dir_all(folder).map_err(io_error(folder, "cannot be created")),
    }
}

/// Makes a trial's folder in the output folder `out`, empty.
///
/// # Errors
/// If that cannot be done.
pub fn clear(out: &Path, id: &TrialId) -> Result<PathBuf, LabError> {
    let folder = out.join(id.folder());
    // First what says that the trial is whole.
    match fs::remove_file(folder.join(TRIAL_FILE)) {
        Err(e) if e.kind() != ErrorKind::NotFound => {
            return Err(io_error(&folder, "cannot be removed")(e));
        }
        _ => empty(&folder)?,
    }
    Ok(folder)
}
