//! What is added to a store.

use crate::beside;
use anyhow::{Context, Result, bail};
use history::{HEAD, HEAD_FILE};
use input::history::store::is_one;
use std::io::Write;
use std::path::Path;

/// Makes sure that there is a store at `path`.
pub fn made(path: &Path) -> Result<()> {
    if is_one(path)? {
        return Ok(());
    }
    let mut entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    // A store that was cut off before it was one.
    if entries.any(|e| !capture::beside::is_unfinished(&e.file_name())) {
        let shown = path.display();
        bail!("{shown}: is no history and not empty; name a new folder");
    }
    capture::beside::folder(path)?;
    put(&path.join(HEAD_FILE), HEAD.as_bytes())
}

/// Writes bytes below `folder` of the store; the name, and whether they are new.
pub fn add(store: &Path, folder: &str, bytes: &[u8]) -> Result<(String, bool)> {
    let name = format!("{folder}/{}", history::name_of(bytes));
    let path = store.join(&name);
    if std::fs::read(&path).is_ok_and(|old| old == bytes) {
        return Ok((name, false));
    }
    if let Some(folder) = path.parent() {
        capture::beside::folder(folder)?;
    }
    put(&path, bytes)?;
    Ok((name, true))
}

fn put(path: &Path, bytes: &[u8]) -> Result<()> {
    beside::write(path, |file| {
        let written = file.write_all(bytes);
        written.with_context(|| format!("{}: cannot be written", path.display()))
    })
}
