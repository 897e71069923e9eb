//! Shared results in a folder, local or on NFS. A file is written beside and renamed, so
//! writers need no lock; of two with the same result either may stay.

use super::place::{Answer, Item, Place, too_large};
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A folder; it is made when the first entry is kept.
#[derive(Clone, Debug)]
pub struct Folder(pub PathBuf);

/// How the name of an entry ends. What else lies in the folder is not ours.
const END: &str = ".tar.zst";

impl Folder {
    fn file(&self, key: &str) -> PathBuf {
        self.0.join(key)
    }

    fn read(&self, key: &str, most: u64) -> Answer {
        let path = self.file(key);
        match fs::metadata(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Ok(meta) if meta.len() > most => Err(too_large(most)),
            _ => match fs::read(&path) {
                // Somebody removed it meanwhile.
                Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
                read => read
                    .map(Some)
                    .map_err(|e| format!("the shared result cannot be read: {e}")),
            },
        }
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let parent = path.parent().unwrap_or(&self.0);
        fs::create_dir_all(parent)?;
        let mut beside = tempfile::NamedTempFile::new_in(parent)?;
        beside.write_all(bytes)?;
        beside.as_file().sync_all()?;
        // Others take results too, by whatever account they run under.
        let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        beside.as_file().set_permissions(readable)?;
        beside.persist(path)?;
        Ok(())
    }

    fn items(&self) -> io::Result<Vec<Item>> {
        let mut items = Vec::new();
        for group in entries(&self.0)? {
            // A file of somebody else's has no files below it.
            for entry in entries(&group.path()).unwrap_or_default() {
                let (Ok(meta), path) = (entry.metadata(), entry.path()) else {
                    continue;
                };
                let key = path.strip_prefix(&self.0).unwrap_or(&path);
                let key = key.to_string_lossy().into_owned();
                if meta.is_file() && key.ends_with(END) {
                    items.push(Item {
                        key,
                        bytes: meta.len(),
                        written: meta.modified()?,
                    });
                }
            }
        }
        Ok(items)
    }
}

/// What is in a folder; nothing if it is not there.
fn entries(folder: &Path) -> io::Result<Vec<fs::DirEntry>> {
    match fs::read_dir(folder) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        read => read?.collect(),
    }
}

impl Place for Folder {
    fn name(&self, key: &str) -> String {
        self.file(key).display().to_string()
    }

    fn get(&self, keys: &[String], most: u64) -> Result<Vec<Answer>, String> {
        Ok(keys.iter().map(|key| self.read(key, most)).collect())
    }

    fn put(&self, key: &str, bytes: Vec<u8>, replaced: bool) -> Result<(), String> {
        let path = self.file(key);
        if !replaced && path.is_file() {
            return Ok(());
        }
        self.write(&path, &bytes)
            .map_err(|e| format!("{}: cannot be written: {e}", path.display()))
    }

    fn list(&self) -> Result<Vec<Item>, String> {
        self.items()
            .map_err(|e| format!("{}: cannot be read: {e}", self.0.display()))
    }

    fn remove(&self, key: &str) -> Result<(), String> {
        let path = self.file(key);
        match fs::remove_file(&path) {
            Err(e) if e.kind() != ErrorKind::NotFound => {
                Err(format!("{}: cannot be removed: {e}", path.display()))
            }
            _ => Ok(()),
        }
    }
}
