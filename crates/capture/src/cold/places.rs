//! On which mounted filesystems the files of a list lie.

use crate::accesses::mounts::{Mount, mounts};
use crate::error::FileError;
use agent::access::AccessList;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Files that can be put elsewhere in place.
#[derive(Debug, Default)]
pub struct Places {
    /// Each mounted ext4, and the paths of its files from there on, in the order of
    /// first need.
    pub ext4: Vec<(Mount, Vec<Vec<u8>>)>,
    /// How many files are on other filesystems.
    pub elsewhere: u64,
}

/// Where the files of a list lie, or what of it lies below a folder.
///
/// # Errors
/// The folder cannot be found, or the mounts are not known.
pub fn places(list: &AccessList, below: Option<&Path>) -> Result<Places, FileError> {
    let mounts = mounts()?;
    // The list has no links and no relative paths.
    let below = match below {
        Some(folder) => {
            let real = folder.canonicalize();
            Some(real.map_err(FileError::of(folder, "cannot be found"))?)
        }
        None => None,
    };
    let below = below.as_deref();
    let mut entries: Vec<_> = list.entries.iter().filter(|e| !e.is_device()).collect();
    entries.sort_by_key(|e| e.ranges.iter().map(|r| r.first_us).min());
    let mut found = Places::default();
    for entry in entries {
        let path = Path::new(OsStr::from_bytes(&entry.path));
        if below.is_some_and(|b| !path.starts_with(b)) {
            continue;
        }
        let holds = mounts.iter().filter(|m| path.starts_with(&m.place));
        let Some(mount) = holds.max_by_key(|m| m.place.as_os_str().len()) else {
            continue;
        };
        if mount.kind != "ext4" {
            found.elsewhere += 1;
            continue;
        }
        let Ok(inside) = path.strip_prefix(&mount.place) else {
            continue;
        };
        let inside = inside.as_os_str().as_bytes().to_vec();
        match found.ext4.iter_mut().find(|(m, _)| m.place == mount.place) {
            Some((_, paths)) => paths.push(inside),
            None => found.ext4.push((mount.clone(), vec![inside])),
        }
    }
    Ok(found)
}
