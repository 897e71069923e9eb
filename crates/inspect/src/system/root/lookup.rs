//! Looking into a root without following its links.

use std::fs;
use std::path::Path;

/// Larger files are no scripts and no settings.
pub const MOST_TEXT: u64 = 1 << 20;

/// Whether a part of the path `inside` is a link.
pub fn is_link_on_the_way(root: &Path, inside: &str) -> bool {
    let mut at = root.to_owned();
    inside.split('/').any(|part| {
        at.push(part);
        at.symlink_metadata().is_ok_and(|m| m.is_symlink())
    })
}

/// The names in a folder, sorted; those that are no text are left out.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|e| e.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}
