//! Folders that are no captures: their files, as if each had been named.

use crate::Say;
use crate::bytes::MAX_RAW_BYTES;
use crate::error::{On, Result, refuse};
use crate::format::{self, Format};
use agent::capture;
use std::path::{Path, PathBuf};

/// The most files of a folder that are looked at.
pub const MOST_FILES: usize = 1_000;

/// How many names of files that were left out, or of captures, are said.
const MOST_NAMED: usize = 3;

/// The folder of a trial of the lab in which its capture lies.
const OF_A_TRIAL: &str = "capture";

/// `paths`, with the files of each folder that is no capture in its place, and the capture
/// in place of its trial. What is in no known format there is left out, and said.
pub fn expanded(paths: &[PathBuf], say: &Say) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in paths {
        if !path.is_dir() || is_capture(path) {
            all.push(path.clone());
        } else if is_capture(&path.join(OF_A_TRIAL)) {
            all.push(path.join(OF_A_TRIAL));
        } else {
            all.extend(files(path, say)?);
        }
    }
    Ok(all)
}

fn is_capture(folder: &Path) -> bool {
    folder.join(capture::MANIFEST).is_file()
}

/// Captures below a folder, at most `most`, in the order of their names. Folders in
/// captures, links and more than four levels are not looked into.
fn captures_below(folder: &Path, most: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut level = vec![folder.to_owned()];
    for _ in 0..4 {
        let mut next = Vec::new();
        for entry in level.iter().filter_map(|f| std::fs::read_dir(f).ok()) {
            let inner = entry.flatten().take(MOST_FILES);
            let folders = inner.filter(|e| e.file_type().is_ok_and(|t| t.is_dir()));
            next.extend(folders.map(|e| e.path()));
            if next.len() > MOST_FILES {
                break;
            }
        }
        next.sort();
        let (captures, others) = next.into_iter().partition(|f| is_capture(f));
        found.extend::<Vec<_>>(captures);
        level = others;
    }
    found.truncate(most);
    found
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
        let captures = captures_below(folder, MOST_NAMED);
        if !captures.is_empty() {
            let names: Vec<_> = captures.iter().map(|c| c.display().to_string()).collect();
            refuse!(
                "{shown}: not one boot but captures below it; name one of them, such as {}",
                names.join(", ")
            );
        }
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
