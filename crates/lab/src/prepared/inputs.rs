//! Where the inputs of a plan are: in the cache or beside the plan, each in a file that is
//! named by its SHA-256.

use super::plan::Prepared;
use crate::cache::Cache;
use crate::error::{LabError, io_error};
use crate::files::HashedFile;
use crate::hex::hex;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// The folder of inputs, in the cache and beside plans.
pub(crate) const FOLDER: &str = "sha256";

/// Where inputs are looked for.
#[derive(Clone, Debug)]
pub struct InputFolders {
    /// Those that were found elsewhere are kept here.
    cache: Cache,
    /// Folders with a folder `sha256`.
    more: Vec<PathBuf>,
}

impl InputFolders {
    /// The cache, and in this order the folders `more`.
    ///
    /// # Errors
    /// If the cache cannot be made.
    pub fn new(more: Vec<PathBuf>) -> Result<Self, LabError> {
        let cache = Cache::open()?;
        Ok(Self { cache, more })
    }

    /// The cache.
    pub(super) fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Finds every input of `plan`, which is called `name`, checks its hash and keeps it in
    /// the cache.
    ///
    /// # Errors
    /// If one is nowhere, or is not what its name says.
    pub(super) fn find_all(&self, name: &str, plan: &mut Prepared) -> Result<(), LabError> {
        for file in plan.files_mut() {
            file.path = self.find(name, file)?;
        }
        Ok(())
    }

    fn find(&self, plan: &str, input: &HashedFile) -> Result<PathBuf, LabError> {
        let wrong = |why: String| LabError::Plan {
            name: plan.to_owned(),
            why,
        };
        let sha256 = &input.sha256;
        let is_hash = sha256.len() == 64 && sha256.bytes().all(|b| b.is_ascii_hexdigit());
        if !is_hash {
            return Err(wrong(format!(
                "the input `{sha256}` is not named by a SHA-256; make the plan again"
            )));
        }
        let own = self.cache.path(FOLDER).join(sha256);
        if own.is_file() && hex(&self.cache.hash_of(&own)?) == *sha256 {
            return Ok(own);
        }
        let place = |folder: &PathBuf| folder.join(FOLDER).join(sha256);
        let Some(found) = self.more.iter().map(place).find(|p| p.is_file()) else {
            return Err(wrong(format!(
                "the input {sha256} is neither in {} nor beside the plan; copy it from the \
                 folder `{FOLDER}` where the plan was made",
                self.cache.path(FOLDER).display()
            )));
        };
        keep(&found, &self.cache.path(FOLDER), sha256)?;
        Ok(own)
    }
}

/// Writes the inputs of `plan` into `folder`, each under its hash, for hosts that lack them.
///
/// # Errors
/// If one cannot be read or written, or was changed meanwhile.
pub(crate) fn export(plan: &mut Prepared, folder: &Path) -> Result<(), LabError> {
    let mut done = BTreeSet::new();
    for file in plan.files_mut() {
        let there = folder.join(FOLDER).join(&file.sha256);
        let whole = fs::metadata(&there).is_ok_and(|m| m.len() == file.bytes);
        if done.insert(file.sha256.clone()) && !whole {
            keep(&file.path, &folder.join(FOLDER), &file.sha256)?;
        }
    }
    Ok(())
}

/// Copies the file `from` into `folder` under its hash, checked, whole or not at all.
fn keep(from: &Path, folder: &Path, sha256: &str) -> Result<(), LabError> {
    let to = folder.join(sha256);
    let failed = || io_error(&to, "cannot be written");
    fs::create_dir_all(folder).map_err(failed())?;
    let mut new = tempfile::NamedTempFile::new_in(folder).map_err(failed())?;
    let mut input = File::open(from).map_err(io_error(from, "cannot be read"))?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    loop {
        let n = input
            .read(&mut buffer)
            .map_err(io_error(from, "cannot be read"))?;
        let Some(piece) = buffer.get(..n).filter(|p| !p.is_empty()) else {
            break;
        };
        hash.update(piece);
        bytes += n as u64;
        // Roots are mostly zeros, which stay holes.
        let written = match piece.iter().all(|b| *b == 0) {
            true => {
                std::io::Seek::seek(new.as_file_mut(), std::io::SeekFrom::Start(bytes)).map(|_| ())
            }
            false => new.write_all(piece),
        };
        written.map_err(failed())?;
    }
    if hex(&hash.finalize()) != sha256 {
        return Err(LabError::Plan {
            name: from.display().to_string(),
            why: format!("its contents do not have the SHA-256 {sha256}; copy it again"),
        });
    }
    let whole = || {
        new.as_file().set_len(bytes)?;
        new.as_file().sync_all()?;
        // The emulator opens a root for writing, and others use the same cache.
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        new.as_file().set_permissions(mode)?;
        new.persist(&to)?;
        Ok(())
    };
    whole().map_err(failed())
}

#[cfg(test)]
mod tests {
    use super::keep;
    use crate::artifacts::hash_bytes;
    use std::fs;

    #[test]
    fn an_input_is_kept_only_if_it_is_what_its_name_says() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("root");
        // Zeros at the end and in the middle are holes, and all the same there.
        let mut content = vec![1_u8; 10];
        content.resize(3 << 20, 0);
        content.push(2);
        content.resize(5 << 20, 0);
        fs::write(&from, &content).unwrap();
        let to = folder.path().join("sha256");
        let hash = hash_bytes(&content);
        keep(&from, &to, &hash).unwrap();
        assert_eq!(fs::read(to.join(&hash)).unwrap(), content);
        let other = hash_bytes(b"another");
        let said = keep(&from, &to, &other).unwrap_err().to_string();
        assert!(said.contains("do not have the SHA-256"), "{said}");
        assert!(!to.join(&other).exists());
        assert_eq!(fs::read_dir(&to).unwrap().count(), 1);
    }
}
