//! Following plans so that a crash leaves the old state or the new one, and
//! taking them back to the byte.
//!
//! Beside the target is its side folder. Each treatment has an entry there,
//! `0001`, `0002`, ...: the old bytes, the new ones, and what to do. Files are
//! written beside the ones that they will replace and synced (*staged*); then
//! the mark `commit` is written and synced; then each is renamed over the old
//! one; then the mark `done` is written. Whoever comes next finishes what has
//! its mark `commit`, and takes back what has not. Undoing goes the same way,
//! with the marks `undo` and `undo-commit`.

mod entry;
mod fault;
mod steps;

use super::error::{FileError, io_error};
use super::parse::FileTreatment;
use super::plan::{Basis, Plan};
use super::tree::Target;
use crate::durable;
use entry::{DONE, Entry};
pub use fault::Fault;
use rustix::fs::FlockOperation;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

/// What came of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    /// The target was treated already; nothing was changed.
    Already,
    /// It was changed; the entry's number is what undo goes by.
    Changed {
        /// The entry's number.
        entry: u32,
    },
}

/// A treatment that was applied and can be taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The entry's number.
    pub entry: u32,
    /// The treatment's text.
    pub treatment: String,
    /// The paths that it changed.
    pub paths: Vec<String>,
}

/// The lock of a side folder. It is given up by a word, not by closing: a program that is
/// being started by another thread has the descriptor, too, until it runs.
#[derive(Debug)]
struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // The end of this process gives it up in any case.
        let _ = rustix::fs::flock(&self.0, FlockOperation::Unlock);
    }
}

/// The journal of a target, locked.
#[derive(Debug)]
pub struct Journal<'t> {
    target: &'t Target,
    side: PathBuf,
    /// `None` as long as there is no side folder.
    lock: Option<Lock>,
    /// What was finished or taken back when the journal was opened.
    recovered: Vec<String>,
}

impl<'t> Journal<'t> {
    /// Opens the journal of a target, and finishes or takes back what an
    /// earlier run began. Makes no folder.
    ///
    /// # Errors
    /// If somebody else works on the target, or that cannot be finished.
    pub fn open(target: &'t Target, fault: Fault<'_>) -> Result<Self, FileError> {
        let mut journal = Self {
            target,
            side: target.side(),
            lock: None,
            recovered: Vec::new(),
        };
        if journal.side.is_dir() {
            journal.lock()?;
            journal.recover(fault)?;
            journal.clean(0);
            if !journal.side.is_dir() {
                journal.lock = None;
            }
        }
        Ok(journal)
    }

    /// The treatment that an earlier run began and that [`Self::open`] will finish or take
    /// back, and the last one of all, without opening the journal.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub fn begun_and_last(
        target: &'t Target,
    ) -> Result<(Option<String>, Option<String>), FileError> {
        let journal = Self {
            target,
            side: target.side(),
            lock: None,
            recovered: Vec::new(),
        };
        let entries = journal.entries()?;
        let begun = |e: &&Entry| !e.has(DONE) || e.has(entry::UNDO);
        let treatment = |e: &Entry| e.format.treatment.clone();
        let begun = entries.iter().find(begun).map(treatment);
        Ok((begun, entries.last().map(treatment)))
    }

    /// What an earlier run had begun, and what became of it, a sentence each.
    #[must_use]
    pub fn recovered(&self) -> &[String] {
        &self.recovered
    }

    fn lock(&mut self) -> Result<(), FileError> {
        let path = self.side.join("lock");
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(io_error(&path, "cannot be written"))?;
        let busy = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err();
        if busy {
            return Err(FileError::Busy {
                side: self.side.clone(),
            });
        }
        self.lock = Some(Lock(file));
        Ok(())
    }

    /// The numbers of all entries, the oldest first.
    fn numbers(&self) -> Result<Vec<u32>, FileError> {
        let cannot = "cannot be read";
        let mut numbers = Vec::new();
        if !self.side.is_dir() {
            return Ok(numbers);
        }
        for name in fs::read_dir(&self.side).map_err(io_error(&self.side, cannot))? {
            let name = name.map_err(io_error(&self.side, cannot))?.file_name();
            let number = name.to_str().filter(|n| n.len() == 4);
            numbers.extend(number.and_then(|n| n.parse::<u32>().ok()));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn entries(&self) -> Result<Vec<Entry>, FileError> {
        let numbers = self.numbers()?.into_iter();
        numbers.map(|n| Entry::read(&self.side, n)).collect()
    }

    /// What was applied and can be taken back, the oldest first.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub fn kept(&self) -> Result<Vec<Kept>, FileError> {
        let entries = self.entries()?.into_iter();
        let kept = entries.map(|e| Kept {
            entry: e.number,
            treatment: e.format.treatment.clone(),
            paths: e.format.steps.iter().map(|s| s.path.clone()).collect(),
        });
        Ok(kept.collect())
    }

    fn recover(&mut self, fault: Fault<'_>) -> Result<(), FileError> {
        for name in fs::read_dir(&self.side)
            .map_err(io_error(&self.side, "cannot be read"))?
            .flatten()
        {
            let text = name.file_name().to_string_lossy().into_owned();
            if text.ends_with(".new") || text.ends_with(".gone") {
                fault("clean")
                    .and_then(|()| fs::remove_dir_all(name.path()))
                    .map_err(io_error(name.path(), "cannot be removed"))?;
            }
        }
        for entry in self.entries()? {
            let what = entry.format.treatment.clone();
            if !entry.has(entry::COMMIT) {
                steps::unstage(self.target, &entry, steps::Way::Forth, fault)?;
                entry.remove(fault)?;
                self.recovered.push(format!(
                    "`{what}` was interrupted before its commit and was rolled back"
                ));
            } else if !entry.has(DONE) {
                steps::rename(self.target, &entry, steps::Way::Forth, fault)?;
                entry.mark_done(self.target, fault)?;
                self.recovered.push(format!(
                    "`{what}` was interrupted after its commit and is now finished"
                ));
            } else if entry.has(entry::UNDO_COMMIT) {
                steps::rename(self.target, &entry, steps::Way::Back, fault)?;
                steps::restore_folders(self.target, &entry, fault)?;
                entry.remove(fault)?;
                self.recovered.push(format!(
                    "the undo of `{what}` was interrupted after its commit and is \
                        now finished"
                ));
            } else if entry.has(entry::UNDO) {
                steps::unstage(self.target, &entry, steps::Way::Back, fault)?;
                entry.unmark(entry::UNDO, fault)?;
                self.recovered.push(format!(
                    "the undo of `{what}` was interrupted before its commit, so `{what}` stays \
                     applied"
                ));
            }
        }
        Ok(())
    }

    /// Applies a treatment. With `basis`, of a plan that was shown, only if
    /// the target is still what it was.
    ///
    /// # Errors
    /// One sentence; nothing is changed, or the next run finishes it.
    pub fn apply(
        &mut self,
        treatment: &FileTreatment,
        basis: Option<&[Basis]>,
        fault: Fault<'_>,
    ) -> Result<(Plan, Applied), FileError> {
        let plan = treatment.plan(self.target)?;
        if plan.is_empty() {
            return Ok((plan, Applied::Already));
        }
        let now = plan.basis();
        if let Some(basis) = basis.filter(|b| *b != now.as_slice()) {
            let other = now.iter().find(|b| !basis.contains(b));
            return Err(FileError::ChangedSince {
                path: other.map_or_else(String::new, |b| b.path.clone()),
            });
        }
        self.contradicts(treatment)?;
        if self.lock.is_none() {
            let made = fs::create_dir(&self.side);
            match made {
                Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(io_error(&self.side, "cannot be created")(e));
                }
                _ => {}
            }
            durable::parent(&self.side).map_err(io_error(&self.side, "cannot be created"))?;
            self.lock()?;
        }
        let number = self.numbers()?.last().map_or(1, |n| n + 1);
        let entry = Entry::write(self.target, &self.side, number, &plan, fault);
        let entry = entry.inspect_err(|_| self.clean(number))?;
        let staged = steps::stage(self.target, &entry, steps::Way::Forth, fault)
            .and_then(|()| steps::unchanged(self.target, &entry, steps::Way::Forth))
            .and_then(|()| entry.mark(entry::COMMIT, b"", fault));
        if let Err(e) = staged {
            // As the next run would; if that fails too, it will.
            let back = steps::unstage(self.target, &entry, steps::Way::Forth, fault);
            if back.is_ok() {
                let _ = entry.remove(fault);
                self.clean(number);
            }
            return Err(e);
        }
        steps::rename(self.target, &entry, steps::Way::Forth, fault)?;
        entry.mark_done(self.target, fault)?;
        Ok((plan, Applied::Changed { entry: number }))
    }

    /// Removes an entry that came to nothing, and the side folder if it is
    /// empty then.
    fn clean(&self, number: u32) {
        let _ = fs::remove_dir_all(self.side.join(format!("{number:04}.new")));
        if self.numbers().is_ok_and(|n| n.is_empty()) {
            let _ = fs::remove_file(self.side.join("lock"));
            let _ = fs::remove_dir(&self.side).and_then(|()| durable::parent(&self.side));
        }
    }

    /// Whether a treatment that was applied says the opposite.
    fn contradicts(&self, treatment: &FileTreatment) -> Result<(), FileError> {
        let text = treatment.to_string();
        let opposite = match text.split_once("+=") {
            Some(("cmdline", word)) => Some(format!("cmdline-={word}")),
            _ => text
                .strip_prefix("cmdline-=")
                .map(|word| format!("cmdline+={word}")),
        };
        let key = |t: &str| {
            let value = t.rfind('=')?;
            let form = t.starts_with("config=") || t.starts_with("env=");
            form.then(|| t.get(..value).map(str::to_owned))?
        };
        for kept in self.kept()? {
            let same_key = key(&text).is_some() && key(&kept.treatment) == key(&text);
            if opposite.as_deref() == Some(&kept.treatment) || same_key {
                return Err(FileError::Conflict {
                    treatment: text,
                    other: format!(
                        "`{}`, which was applied here; undo that first",
                        kept.treatment
                    ),
                });
            }
        }
        Ok(())
    }

    /// Takes back a treatment, or the last one.
    ///
    /// # Errors
    /// One sentence; nothing is changed, or the next run finishes it.
    pub fn undo(
        &mut self,
        treatment: Option<&FileTreatment>,
        fault: Fault<'_>,
    ) -> Result<Kept, FileError> {
        let entries = self.entries()?;
        let text = treatment.map(ToString::to_string);
        let wanted = |e: &&Entry| text.as_ref().is_none_or(|t| *t == e.format.treatment);
        let entry = entries.iter().rev().find(wanted);
        let Some(entry) = entry else {
            return Err(FileError::NotApplied {
                target: self.target.shown().to_owned(),
                what: text.map_or_else(|| "a treatment".to_owned(), |t| format!("`{t}`")),
            });
        };
        let touches = |e: &Entry, path: &str| e.format.steps.iter().any(|s| s.path == path);
        let later = entries.iter().rev().find(|later| {
            let same = entry.format.steps.iter().any(|s| touches(later, &s.path));
            later.number > entry.number && same
        });
        if let Some(later) = later {
            return Err(FileError::Later {
                treatment: entry.format.treatment.clone(),
                later: later.format.treatment.clone(),
            });
        }
        steps::unchanged(self.target, entry, steps::Way::Back)?;
        let folders =
            serde_json::to_vec(&steps::folders_to_restore(self.target, entry)?).unwrap_or_default();
        let staged = entry
            .mark(entry::UNDO, &folders, fault)
            .and_then(|()| steps::stage(self.target, entry, steps::Way::Back, fault))
            .and_then(|()| entry.mark(entry::UNDO_COMMIT, b"", fault));
        if let Err(e) = staged {
            let back = steps::unstage(self.target, entry, steps::Way::Back, fault);
            if back.is_ok() {
                let _ = entry.unmark(entry::UNDO, fault);
            }
            return Err(e);
        }
        let kept = Kept {
            entry: entry.number,
            treatment: entry.format.treatment.clone(),
            paths: entry.format.steps.iter().map(|s| s.path.clone()).collect(),
        };
        steps::rename(self.target, entry, steps::Way::Back, fault)?;
        steps::restore_folders(self.target, entry, fault)?;
        entry.remove(fault)?;
        self.clean(0);
        Ok(kept)
    }
}
