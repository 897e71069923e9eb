//! An entry of the journal on the disk.

use super::super::content::{Content, Metadata};
use super::super::error::{FileError, io_error};
use super::super::plan::Plan;
use super::super::tree::{Target, split};
use super::fault::Fault;
use crate::durable;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The version of the format.
pub(super) const FORMAT: u32 = 1;

/// What a treatment does is decided.
pub(super) const COMMIT: &str = "commit";
/// It is done.
pub(super) const DONE: &str = "done";
/// It is being taken back.
pub(super) const UNDO: &str = "undo";
/// Taking it back is decided.
pub(super) const UNDO_COMMIT: &str = "undo-commit";

/// How long what `done` says of a folder is at most, beyond its name.
const STAMP: usize = 64;

/// A time stamp: seconds and nanoseconds.
pub(super) type Moment = (i64, i64);

/// What an entry's `entry.json` holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Format {
    /// The kind of the file, and its version.
    pub firstlight_treatment: u32,
    /// The treatment's text.
    pub treatment: String,
    /// What was treated, without links.
    pub target: PathBuf,
    /// What changes, in order.
    pub steps: Vec<Step>,
    /// Folders that are made, outer ones first.
    pub made: Vec<String>,
    /// The folders whose time of change a treatment moves, with their times of
    /// reading and of writing.
    pub folders: Vec<(String, Moment, Moment)>,
}

/// A path that changes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Step {
    /// The path in the tree.
    pub path: String,
    /// `absent`, `file` (its bytes are in `old/N`) or `link TO`.
    pub before: String,
    /// The same of what it becomes (`new/N`).
    pub after: String,
    /// What it is beside its bytes, if it is there.
    pub metadata: Option<Metadata>,
}

/// An entry.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub number: u32,
    pub folder: PathBuf,
    pub format: Format,
}

/// Writes a file and brings it to the disk. What it had stays its own until then:
/// the disk may be full.
fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = File::options();
    let mut file = options
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)?;
    file.sync_all()
}

impl Entry {
    /// Reads an entry.
    pub fn read(side: &Path, number: u32) -> Result<Self, FileError> {
        let folder = side.join(format!("{number:04}"));
        let path = folder.join("entry.json");
        let bytes = fs::read(&path).map_err(io_error(&path, "cannot be read"))?;
        let damaged = |why: String| FileError::Damaged {
            entry: folder.clone(),
            why,
        };
        let format: Format = serde_json::from_slice(&bytes)
            .map_err(|e| damaged(format!("entry.json is not a valid journal entry ({e})")))?;
        if format.firstlight_treatment != FORMAT {
            return Err(damaged(format!(
                "entry.json has version {}, but this program supports version {}",
                format.firstlight_treatment, FORMAT
            )));
        }
        Ok(Self {
            number,
            folder,
            format,
        })
    }

    /// Writes what a plan changes, whole or not at all.
    pub fn write(
        target: &Target,
        side: &Path,
        number: u32,
        plan: &Plan,
        fault: Fault<'_>,
    ) -> Result<Self, FileError> {
        let mut made = Vec::new();
        let mut folders: Vec<(String, Moment, Moment)> = Vec::new();
        for change in &plan.changes {
            let mut missing = split(&change.path).0.to_owned();
            let mut new = Vec::new();
            // Up to the first folder that is there: its time will move.
            let at = loop {
                if let Some(fd) = target.folder(&missing)? {
                    break fd;
                }
                new.push(missing.clone());
                missing = split(&missing).0.to_owned();
            };
            let stat = rustix::fs::fstat(&at)
                .map_err(|e| io_error(target.outer(&missing), "cannot be read")(e.into()))?;
            let about = Metadata::of(&stat);
            if !folders.iter().any(|(f, ..)| *f == missing) {
                folders.push((missing, about.read, about.written));
            }
            new.reverse();
            made.extend(
                new.into_iter()
                    .filter(|n| !made.contains(n))
                    .collect::<Vec<_>>(),
            );
        }
        let steps = plan.changes.iter().map(|c| Step {
            path: c.path.clone(),
            before: kind(&c.before),
            after: kind(&c.after),
            metadata: c.metadata.clone(),
        });
        let format = Format {
            firstlight_treatment: FORMAT,
            treatment: plan.treatment.clone(),
            target: target.named(),
            steps: steps.collect(),
            made,
            folders,
        };
        let folder = side.join(format!("{number:04}"));
        let beside = side.join(format!("{number:04}.new"));
        let mut write = || -> io::Result<()> {
            fault("entry")?;
            fs::create_dir(&beside)?;
            for (name, of) in [("old", 0), ("new", 1)] {
                fs::create_dir(beside.join(name))?;
                for (i, change) in plan.changes.iter().enumerate() {
                    let content = if of == 0 {
                        &change.before
                    } else {
                        &change.after
                    };
                    if let Content::File(bytes) = content {
                        fault("entry-file")?;
                        put(&beside.join(name).join(i.to_string()), bytes)?;
                    }
                }
                durable::folder(&beside.join(name))?;
            }
            // Room for what is said in the end: a disk that is full by then cannot
            // leave a change that nothing tells of.
            let room = format
                .folders
                .iter()
                .map(|f| f.0.len() + STAMP)
                .sum::<usize>();
            put(
                &beside.join(format!("{DONE}.new")),
                &vec![b' '; room + STAMP],
            )?;
            put(&beside.join(format!("{COMMIT}.new")), b"")?;
            fault("entry-json")?;
            let mut text = serde_json::to_vec_pretty(&format)?;
            text.push(b'\n');
            put(&beside.join("entry.json"), &text)?;
            durable::folder(&beside)?;
            fault("entry-rename")?;
            fs::rename(&beside, &folder)?;
            durable::folder(side)
        };
        write().map_err(io_error(&beside, "cannot be written"))?;
        Ok(Self {
            number,
            folder,
            format,
        })
    }

    /// Whether a mark stands in the entry.
    pub fn has(&self, mark: &str) -> bool {
        self.folder.join(mark).symlink_metadata().is_ok()
    }

    /// Sets a mark.
    pub fn mark(&self, mark: &str, bytes: &[u8], fault: Fault<'_>) -> Result<(), FileError> {
        let path = self.folder.join(mark);
        let beside = self.folder.join(format!("{mark}.new"));
        let write = || -> io::Result<()> {
            put(&beside, bytes)?;
            fs::rename(&beside, &path)?;
            durable::folder(&self.folder)
        };
        fault(mark)
            .and_then(|()| write())
            .map_err(io_error(&path, "cannot be written"))
    }

    /// Takes a mark away.
    pub fn unmark(&self, mark: &str, fault: Fault<'_>) -> Result<(), FileError> {
        let path = self.folder.join(mark);
        fault("unmark")
            .and_then(|()| fs::remove_file(&path))
            .and_then(|()| durable::folder(&self.folder))
            .map_err(io_error(&path, "cannot be removed"))
    }

    /// Says that all is done, and what times folders have now.
    pub fn mark_done(&self, target: &Target, fault: Fault<'_>) -> Result<(), FileError> {
        let mut now = Vec::new();
        for (folder, ..) in &self.format.folders {
            if let Some(fd) = target.folder(folder)? {
                let stat = rustix::fs::fstat(&fd)
                    .map_err(|e| io_error(target.outer(folder), "cannot be read")(e.into()))?;
                now.push((folder.clone(), Metadata::of(&stat).written));
            }
        }
        let bytes = serde_json::to_vec(&now).unwrap_or_default();
        self.mark(DONE, &bytes, fault)
    }

    /// What folders' times were when the treatment was done.
    pub fn times_when_done(&self) -> Vec<(String, (i64, i64))> {
        let bytes = fs::read(self.folder.join(DONE)).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// The folders whose times the undo puts back.
    pub fn restored(&self) -> Vec<String> {
        let bytes = fs::read(self.folder.join(UNDO)).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// What a step finds, or makes.
    pub fn content(&self, at: usize, before: bool) -> Result<Content, FileError> {
        let Some(step) = self.format.steps.get(at) else {
            return Ok(Content::Absent);
        };
        match before {
            true => stored(&self.folder, "old", at, &step.before),
            false => stored(&self.folder, "new", at, &step.after),
        }
    }

    /// Removes the entry, at once for whoever looks.
    pub fn remove(&self, fault: Fault<'_>) -> Result<(), FileError> {
        let gone = self.folder.with_extension("gone");
        fault("remove-entry")
            .and_then(|()| fs::rename(&self.folder, &gone))
            // Else half of an entry may be there after a power cut.
            .and_then(|()| durable::parent(&gone))
            .and_then(|()| fault("delete-entry"))
            .and_then(|()| fs::remove_dir_all(&gone))
            .map_err(io_error(&self.folder, "cannot be removed"))
    }
}

/// What a stored content is: its bytes in a file of the entry, or said.
fn stored(entry: &Path, folder: &str, at: usize, kind: &str) -> Result<Content, FileError> {
    match kind {
        "absent" => Ok(Content::Absent),
        "file" => {
            let path = entry.join(folder).join(at.to_string());
            let bytes = fs::read(&path).map_err(io_error(&path, "cannot be read"))?;
            Ok(Content::File(bytes))
        }
        link => Ok(Content::Link(
            link.strip_prefix("link ").unwrap_or(link).to_owned(),
        )),
    }
}

/// How a content is written down.
fn kind(content: &Content) -> String {
    match content {
        Content::Absent => "absent".to_owned(),
        Content::File(_) => "file".to_owned(),
        Content::Link(to) => format!("link {to}"),
    }
}
