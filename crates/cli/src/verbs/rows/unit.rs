//! What one boot is made of, before it is read.

use anyhow::Result;
use std::fs::File;
use std::path::PathBuf;

/// The input of one boot.
pub enum Unit {
    /// Paths of a capture, or of files of one boot.
    Paths {
        name: String,
        paths: Vec<PathBuf>,
        /// How many files of the folder were left out, because their format is unknown.
        left_out: u64,
    },
    /// Members of an archive.
    Members { name: String, members: Vec<Member> },
    /// An input that holds no boot, and why.
    Bad { name: String, reason: String },
}

/// A member of an archive, unpacked.
pub struct Member {
    pub name: String,
    pub file: File,
    /// Seconds since 1970.
    pub written: Option<u64>,
}

/// Takes each unit as it is found.
pub type Give<'a> = dyn FnMut(Unit) -> Result<()> + 'a;

impl Unit {
    pub fn of_path(path: PathBuf) -> Self {
        Self::Paths {
            name: path.display().to_string(),
            paths: vec![path],
            left_out: 0,
        }
    }

    /// How many open files it keeps.
    pub fn open_files(&self) -> usize {
        match self {
            Self::Members { members, .. } => members.len(),
            _ => 0,
        }
    }
}
