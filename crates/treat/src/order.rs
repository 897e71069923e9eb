//! An order of access in the form that an image builder takes.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The highest and the lowest rank of `mksquashfs -sort`.
const RANKS: (i64, i64) = (32_767, -32_768);

/// A path that is left out, and why.
pub type Skipped = (Vec<u8>, &'static str);

/// What was made, and what not.
#[derive(Clone, Debug)]
pub struct Made {
    /// For the builder.
    pub text: Vec<u8>,
    /// How many files of the list are in it.
    pub files: u64,
    /// Those that are not.
    pub skipped: Vec<Skipped>,
}

/// A folder that cannot be listed.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot be listed", .folder.display())]
pub struct Unlisted {
    folder: PathBuf,
    source: io::Error,
}

/// A path without the slash in front.
fn relative(path: &[u8]) -> &[u8] {
    let start = path.iter().position(|b| *b != b'/').unwrap_or(path.len());
    path.get(start..).unwrap_or_default()
}

/// What of a list is there once, and is a file below the root.
fn chosen(
    list: &[Vec<u8>],
    root: Option<&Path>,
    folders_too: bool,
) -> (Vec<Vec<u8>>, Vec<Skipped>) {
    let (mut good, mut skipped) = (Vec::new(), Vec::new());
    let mut seen = HashSet::new();
    for path in list {
        let name = relative(path);
        if !seen.insert(name.to_vec()) {
            continue;
        }
        let unsafe_part = |p: &[u8]| matches!(p, b".." | b"." | b"");
        let reason = if name.split(|b| *b == b'/').any(unsafe_part) {
            Some("it is no plain path")
        } else if let Some(root) = root {
            let full = root.join(OsStr::from_bytes(name));
            match std::fs::symlink_metadata(full) {
                Ok(about) if about.is_dir() && !folders_too => Some("it is a folder"),
                Ok(_) => None,
                Err(_) => Some("it is not there"),
            }
        } else {
            None
        };
        match reason {
            Some(reason) => skipped.push((path.clone(), reason)),
            None => good.push(name.to_vec()),
        }
    }
    (good, skipped)
}

/// A list for `-sort`: a name below the source folder, a blank, a rank. The
/// highest rank lies first in the image.
#[must_use]
pub fn mksquashfs(list: &[Vec<u8>], root: Option<&Path>) -> Made {
    let (good, mut skipped) = chosen(list, root, false);
    let (high, low) = RANKS;
    let span = usize::try_from(high - low).unwrap_or(0);
    // More files than ranks share ranks: neighbours do.
    let step = good.len().div_ceil(span + 1).max(1);
    let mut text = Vec::new();
    let mut files = 0;
    for (number, name) in good.iter().enumerate() {
        // The list is read as words, and a blank ends a name unless it is
        // escaped; a line break cannot be written.
        if name.contains(&b'\n') {
            skipped.push((name.clone(), "mksquashfs takes no line break in a name"));
            continue;
        }
        for byte in name {
            if matches!(byte, b' ' | b'\t' | b'\\') {
                text.push(b'\\');
            }
            text.push(*byte);
        }
        let rank = high - i64::try_from(number / step).unwrap_or(0);
        text.extend_from_slice(format!(" {rank}\n").as_bytes());
        files += 1;
    }
    Made {
        text,
        files,
        skipped,
    }
}

/// The names of an archive, in order: for `tar --no-recursion -T` and for
/// `cpio -o`. Folders come before what is in them, the files of the list
/// before all others. With `null` names end in NUL, else in a line break.
///
/// # Errors
/// A folder cannot be listed.
pub fn archive(list: &[Vec<u8>], root: &Path, null: bool) -> Result<Made, Unlisted> {
    let (good, mut skipped) = chosen(list, Some(root), true);
    let separator = if null { b'\0' } else { b'\n' };
    let mut text = Vec::new();
    let mut written = HashSet::new();
    let mut files = 0;
    let mut put = |name: &[u8], text: &mut Vec<u8>| {
        // The folders on the way, first.
        let ends = name.iter().enumerate().filter(|(_, b)| **b == b'/');
        let parents: Vec<&[u8]> = ends.filter_map(|(at, _)| name.get(..at)).collect();
        for part in parents.into_iter().chain([name]) {
            if written.insert(part.to_vec()) {
                text.extend_from_slice(part);
                text.push(separator);
            }
        }
    };
    for name in &good {
        if separator == b'\n' && name.contains(&b'\n') {
            skipped.push((name.clone(), "a line break is in its name; say --null"));
            continue;
        }
        put(name, &mut text);
        files += 1;
    }
    for name in everything(root)? {
        if separator == b'\n' && name.contains(&b'\n') {
            skipped.push((name, "a line break is in its name; say --null"));
            continue;
        }
        put(&name, &mut text);
    }
    Ok(Made {
        text,
        files,
        skipped,
    })
}

/// All names below a folder, in byte order; links are not followed.
fn everything(root: &Path) -> Result<Vec<Vec<u8>>, Unlisted> {
    let mut names = Vec::new();
    let mut folders = vec![Vec::new()];
    while let Some(folder) = folders.pop() {
        let full = root.join(OsStr::from_bytes(&folder));
        let unlisted = |source| Unlisted {
            folder: full.clone(),
            source,
        };
        let entries = std::fs::read_dir(&full).map_err(unlisted)?;
        for entry in entries {
            let entry = entry.map_err(unlisted)?;
            let mut name = folder.clone();
            if !name.is_empty() {
                name.push(b'/');
            }
            name.extend_from_slice(entry.file_name().as_bytes());
            if entry.file_type().map_err(unlisted)?.is_dir() {
                folders.push(name.clone());
            }
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}
