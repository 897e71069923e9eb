//! Files that boots are made of.

use crate::artifacts::{Cache, hash_bytes};
use crate::capture::hex;
use crate::error::{LabError, io_error};
use std::fs;
use std::path::{Path, PathBuf};

/// A file that decides how a machine boots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HashedFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// SHA-256 of its content.
    pub sha256: String,
}

impl HashedFile {
    /// The file at `path`, of which `content` was read.
    #[must_use]
    pub fn of(path: PathBuf, content: &[u8]) -> Self {
        Self {
            path,
            bytes: content.len() as u64,
            sha256: hash_bytes(content),
        }
    }

    /// The large file at `path`, whose hash `cache` may know.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn large(path: PathBuf, cache: &Cache) -> Result<Self, LabError> {
        let meta = fs::metadata(&path).map_err(io_error(&path, "cannot be read"))?;
        Ok(Self {
            bytes: meta.len(),
            sha256: hex(&cache.hash_of(&path)?),
            path,
        })
    }

    /// Writes `content` as the file `name` in `folder`, which is made if need be.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(folder: &Path, name: &str, content: &[u8]) -> Result<Self, LabError> {
        let path = folder.join(name);
        fs::create_dir_all(folder).map_err(io_error(folder, "cannot be made"))?;
        fs::write(&path, content).map_err(io_error(&path, "cannot be written"))?;
        Ok(Self::of(path, content))
    }
}

/// All of a file.
///
/// # Errors
/// If it cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>, LabError> {
    fs::read(path).map_err(io_error(path, "cannot be read"))
}
