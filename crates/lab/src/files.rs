//! Files that boots are made of.

use crate::cache::{Cache, hash_bytes};
use crate::error::{LabError, io_error};
use crate::hex::hex;
use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat2};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// A file that decides how a machine boots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HashedFile {
    /// Where it is on this host.
    #[serde(skip)]
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
        fs::create_dir_all(folder).map_err(io_error(folder, "cannot be created"))?;
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

/// The files in a folder and its folders, by their names from there.
///
/// # Errors
/// If a folder cannot be listed.
pub fn below(folder: &Path) -> Result<Vec<String>, LabError> {
    let mut names = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        let failed = || io_error(&next, "cannot be listed");
        for entry in fs::read_dir(&next).map_err(failed())? {
            let path = entry.map_err(failed())?.path();
            if path.is_dir() {
                open.push(path);
            } else if let Ok(name) = path.strip_prefix(folder) {
                names.push(name.to_string_lossy().into_owned());
            }
        }
    }
    Ok(names)
}

/// The folder `name` of `tree`, links followed with `tree` as the root, as a system
/// booted from it does; `None` if nothing has that name.
///
/// # Errors
/// If it leads to no folder of the tree.
pub fn folder_within(tree: &Path, name: &str) -> Result<Option<OwnedFd>, LabError> {
    let path = tree.join(name);
    let failed = |e: Errno| io_error(&path, "cannot be opened")(e.into());
    let folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = open(tree, folder, Mode::empty()).map_err(failed)?;
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    match openat2(&root, name, folder, Mode::empty(), resolve) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT) if fs::symlink_metadata(&path).is_err() => Ok(None),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Err(LabError::Tree {
            path,
            why: "the link leads to no folder in this tree; create the folder or remove the link"
                .into(),
        }),
        Err(e) => Err(failed(e)),
    }
}
