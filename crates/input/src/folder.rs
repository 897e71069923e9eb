//! Folders that are no captures: their files, as if each had been named.

use crate::Say;
use crate::bytes::MAX_RAW_BYTES;
use crate::error::{On, Result, refuse};
use crate::format::{self, Format};
use agent::capture;
use std::path::{Path, PathBuf};

/// The most files of a folder that are looked at.
pub const MOST_FILES: usize = 1_000;

/// How many names of files that were left out are said.
const MOST_NAMED: usize = 3;

/// `paths`, with the files of each folder that is no capture in its place. What
/// is in no known format there is left out, and said.
pub fn expanded(paths: &[PathBuf], say: &Say) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in paths {
        if path.is_dir() && !path.join(capture::MANIFEST).is_file() {
            all.extend(files(path, say)?);
        } else {
            all.push(path.clone());
        }
    }
    Ok(all)
}

/// The files of a folder that is no capture, in known formats.
pub fn files(folder: &Path, say: &Say) -> Result<Vec<PathBuf>> {
    let shown = folder.display();
    let entries = std::fs::read_dir(folder).on(|| format!("{shown}: cannot be read"))?;
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .take(MOST_FILES)
        .map(|e| e.path())
        .filter(|p| std::fs::symlink_metadata(p).is_ok_and(|m| m.is_file()))
        .collect();
    found.sort();
    let (known, others): (Vec<PathBuf>, Vec<PathBuf>) = found.into_iter().partition(|p| knows(p));
    if known.is_empty() {
        refuse!(
            "{shown}: a directory without {} and without a file in a format that is known here; \
             expected a capture, or logs of one boot",
            capture::MANIFEST
        );
    }
    if !others.is_empty() {
        let names = others.iter().filter_map(|p| p.file_name());
        let names: Vec<_> = names
            .take(MOST_NAMED)
            .map(|n| n.to_string_lossy().into_owned())
            .collect();
        let (count, more) = (others.len(), others.len() > MOST_NAMED);
        let dots = if more { ", ..." } else { "" };
        say(format!(
            "{shown}: left out {count} in no known format: {}{dots}",
            names.join(", ")
        ));
    }
    Ok(known)
}

/// Whether a file is in a format that is known.
fn knows(path: &Path) -> bool {
    format::of_path(path, MAX_RAW_BYTES) != Format::Unknown
}
