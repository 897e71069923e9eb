//! What one boot is made of, before it is read.

use crate::error::Result;
use std::fs::File;
use std::path::PathBuf;

/// The input of one boot.
pub enum Unit {
    /// Paths of a capture, or of files of one boot.
    Paths {
        /// What to call the boot.
        name: String,
        /// Its files.
        paths: Vec<PathBuf>,
        /// How many files of the folder were left out, because their format is unknown.
        left_out: u64,
    },
    /// Members of an archive.
    Members {
        /// What to call the boot: the archive and a folder or file in it.
        name: String,
        /// Its files.
        members: Vec<Member>,
    },
    /// An entry of a history.
    Entry {
        /// The folder of the history.
        store: PathBuf,
        /// The file of the entry.
        path: PathBuf,
    },
    /// An input that holds no boot, and why.
    Bad {
        /// What to call it.
        name: String,
        /// One sentence.
        reason: String,
    },
}

/// A member of an archive, unpacked.
pub struct Member {
    /// Its path in the archive.
    pub name: String,
    /// Its content, at the start.
    pub file: File,
    /// Seconds since 1970.
    pub written: Option<u64>,
}

/// Takes each unit as it is found. What fails in it ends the search; see [`crate::Error::Taken`].
pub type Give<'a> = dyn FnMut(Unit) -> Result<()> + 'a;

impl Unit {
    /// The boot that a path holds.
    #[must_use]
    pub fn of_path(path: PathBuf) -> Self {
        Self::Paths {
            name: path.display().to_string(),
            paths: vec![path],
            left_out: 0,
        }
    }

    /// How many open files it keeps.
    #[must_use]
    pub fn open_files(&self) -> usize {
        match self {
            Self::Members { members, .. } => members.len(),
            _ => 0,
        }
    }
}
