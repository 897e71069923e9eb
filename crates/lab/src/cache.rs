//! The folder of what the lab makes or fetches once and keeps.

use crate::error::{LabError, io_error};
use crate::hex::hex;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The folder in which artifacts are kept: `FIRSTLIGHT_CACHE`, else `firstlight`
/// in `XDG_CACHE_HOME`, else in `~/.cache`.
#[derive(Clone, Debug)]
pub struct Cache {
    pub(crate) folder: PathBuf,
}

/// The artifact in the making; others wait until this goes away.
#[derive(Debug)]
pub(crate) struct Making {
    /// A new folder on the cache's file system, to be renamed when it is whole.
    pub(crate) folder: tempfile::TempDir,
    _lock: File,
}

impl Cache {
    /// Finds the folder, and makes it if need be.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn open() -> Result<Self, LabError> {
        let folder = Self::place();
        fs::create_dir_all(&folder).map_err(io_error(
            &folder,
            "cannot be created; set FIRSTLIGHT_CACHE to another folder",
        ))?;
        // Kernels and roots are named to other programs, wherever those run.
        let folder = fs::canonicalize(&folder).unwrap_or(folder);
        Ok(Self { folder })
    }

    /// The folder where it is or would be; it may not be there.
    #[must_use]
    pub(crate) fn in_place() -> Self {
        Self {
            folder: Self::place(),
        }
    }

    /// Where the folder is or would be.
    #[must_use]
    pub fn place() -> PathBuf {
        let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty());
        if let Some(folder) = set("FIRSTLIGHT_CACHE") {
            return folder.into();
        }
        let cache = set("XDG_CACHE_HOME").map(PathBuf::from);
        let home = || PathBuf::from(set("HOME").unwrap_or_else(|| "/root".into())).join(".cache");
        cache.unwrap_or_else(home).join("firstlight")
    }

    /// A file or folder in the cache.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The SHA-256 of a file. It is remembered for as long as the file has the
    /// same size, inode and time of change.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn hash_of(&self, path: &Path) -> Result<Vec<u8>, LabError> {
        let failed = || io_error(path, "cannot be read");
        let path = fs::canonicalize(path).map_err(failed())?;
        let meta = fs::metadata(&path).map_err(failed())?;
        let identity = format!(
            "{}\n{} {} {} {}.{}",
            path.display(),
            meta.dev(),
            meta.ino(),
            meta.len(),
            meta.mtime(),
            meta.mtime_nsec()
        );
        let known = self.path(&format!("hashes/{}", hash_bytes(identity.as_bytes())));
        if let Ok(hash) = fs::read(&known)
            && hash.len() == 32
        {
            return Ok(hash);
        }
        let mut file = File::open(&path).map_err(failed())?;
        let mut hash = Sha256::new();
        let mut buffer = vec![0; 1 << 20];
        loop {
            match file.read(&mut buffer).map_err(failed())? {
                0 => break,
                n => hash.update(&buffer[..n]),
            }
        }
        let hash = hash.finalize().to_vec();
        self.write(&known, &hash)?;
        Ok(hash)
    }

    /// Writes a file of the cache: whole or not at all.
    ///
    /// # Errors
    /// If that cannot be done.
    pub(crate) fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), LabError> {
        let folder = path.parent().unwrap_or(&self.folder);
        let write = || {
            fs::create_dir_all(folder)?;
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(bytes)?;
            file.persist(path)?;
            Ok(())
        };
        write().map_err(io_error(path, "cannot be written"))
    }

    /// Begins an artifact called `name`. Another run that makes the same one is
    /// waited for: look again whether it is there.
    pub(crate) fn make(&self, name: &str) -> Result<Making, LabError> {
        let path = self.path(&format!("{name}.lock"));
        let failed = || io_error(&path, "cannot be locked");
        let lock = File::create(&path).map_err(failed())?;
        lock.lock().map_err(failed())?;
        let new = format!("{name}.new-");
        self.sweep(&new);
        let folder = tempfile::Builder::new()
            .prefix(&new)
            .tempdir_in(&self.folder)
            .map_err(io_error(
                &self.folder,
                "cannot create a temporary folder in it",
            ))?;
        // Others may read what is in it, and mmdebstrap insists.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(folder.path(), open).map_err(io_error(
            folder.path(),
            "cannot be made readable for other users",
        ))?;
        Ok(Making {
            folder,
            _lock: lock,
        })
    }

    /// Removes what runs that were killed left of an artifact in the making. The caller has
    /// its lock, so nobody makes it now.
    fn sweep(&self, new: &str) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(new) {
                // What cannot be removed is in nobody's way.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// The SHA-256 of `bytes`, as hexadecimal digits.
#[must_use]
pub fn hash_bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::Cache;
    use std::fs;

    #[test]
    fn what_a_killed_run_left_goes_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache {
            folder: folder.path().to_owned(),
        };
        for name in ["kernel.new-dead/boot", "kernel-arm64.new-alive", "kernel"] {
            fs::create_dir_all(cache.path(name)).unwrap();
        }
        let making = cache.make("kernel").unwrap();
        assert!(making.folder.path().is_dir());
        assert!(!cache.path("kernel.new-dead").exists());
        assert!(cache.path("kernel-arm64.new-alive").exists());
        assert!(cache.path("kernel").exists());
    }
}
