//! What the modules' errors share.

use std::io;
use std::path::{Path, PathBuf};

/// A file that could not be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {what}: {why}", .path.display())]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// What went wrong: `cannot be read`.
    pub what: &'static str,
    /// What the system says.
    pub why: io::Error,
}

impl FileError {
    /// For `map_err`: this went wrong with `path`.
    pub fn of(path: &Path, what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |why| Self {
            path: path.to_owned(),
            what,
            why,
        }
    }
}
