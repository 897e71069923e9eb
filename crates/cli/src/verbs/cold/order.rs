//! A program's files one behind the other, and back.

use crate::progress;
use crate::verbs::image::relocate::ForNow;
use agent::access::AccessList;
use anyhow::{Context, Result, bail};
use capture::accesses::mounts::{Mount, mounts};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use views::json::{ColdMoved, ColdSkipped};

/// Moves what a list names, or what of it lies below a folder, on each ext4 that has some
/// of it; says first what it does.
pub fn apply(list: &AccessList, below: Option<&Path>) -> Result<Vec<(PathBuf, ForNow)>> {
    let mounts = mounts()?;
    // The list has no links and no relative paths.
    let below = match below {
        Some(folder) => {
            let real = folder.canonicalize();
            Some(real.with_context(|| format!("{}: cannot be found", folder.display()))?)
        }
        None => None,
    };
    let below = below.as_deref();
    let mut entries: Vec<_> = list.entries.iter().filter(|e| !e.is_device()).collect();
    entries.sort_by_key(|e| e.ranges.iter().map(|r| r.first_us).min());
    let mut places: Vec<(&Mount, Vec<Vec<u8>>)> = Vec::new();
    let mut elsewhere = 0;
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
            elsewhere += 1;
            continue;
        }
        let Ok(inside) = path.strip_prefix(&mount.place) else {
            continue;
        };
        let inside = inside.as_os_str().as_bytes().to_vec();
        match places.iter_mut().find(|(m, _)| m.place == mount.place) {
            Some((_, paths)) => paths.push(inside),
            None => places.push((mount, vec![inside])),
        }
    }
    if places.is_empty() {
        let below = below.map_or_else(String::new, |b| format!(" below {}", b.display()));
        bail!(
            "none of what it reads{below} is on a mounted ext4, and only there can files be put \
             elsewhere in place; {elsewhere} files are on other filesystems"
        );
    }
    progress::clear();
    let mut lies = Vec::new();
    for (mount, paths) in places {
        anstream::eprintln!(
            "firstlight: {}: {} files are put one behind the other, and back after the runs",
            mount.place.display(),
            paths.len()
        );
        lies.push((mount.place.clone(), ForNow::apply(&mount.place, &paths)?));
    }
    Ok(lies)
}

/// Puts all back.
pub fn undo(lies: Vec<(PathBuf, ForNow)>, notes: &mut Vec<String>) -> Result<Vec<ColdMoved>> {
    let mut all = Vec::new();
    // The last first: one filesystem may be mounted at two places.
    for (place, mut lies) in lies.into_iter().rev() {
        progress::say("putting the files back");
        let skipped = std::mem::take(&mut lies.skipped);
        let skipped = skipped.into_iter().map(|s| ColdSkipped {
            path: String::from_utf8_lossy(&s.path).into_owned(),
            reason: s.reason,
        });
        let mut moved = ColdMoved {
            place: place.display().to_string(),
            files: lies.files(),
            bytes: lies.bytes(),
            discontinuities_before: lies.before.discontinuities,
            discontinuities: lies.after.discontinuities,
            skipped: skipped.collect(),
            is_back: false,
        };
        let stay = lies.undo()?;
        moved.is_back = stay.is_empty();
        if let Some(first) = stay.first() {
            notes.push(format!(
                "{}: {} of its files are not in their original places, the first is {} ({}); \
                 their content is intact",
                moved.place,
                stay.len(),
                String::from_utf8_lossy(&first.path),
                first.reason
            ));
        }
        all.push(moved);
    }
    Ok(all)
}
