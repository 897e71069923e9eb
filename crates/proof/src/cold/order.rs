//! A program's files one behind the other, and back.

use super::wanted::ColdEvent;
use crate::error::{Error, Result};
use agent::access::AccessList;
use capture::cold::places::places;
use std::path::{Path, PathBuf};
use treat::relocate::ForNow;
use views::json::{ColdMoved, ColdSkipped};

/// Moves what a list names, or what of it lies below a folder, on each ext4 that has some
/// of it; says first what it does.
pub(super) fn apply(
    list: &AccessList,
    below: Option<&Path>,
    tell: &mut dyn FnMut(ColdEvent),
) -> Result<Vec<(PathBuf, ForNow)>> {
    let places = places(list, below)?;
    if places.ext4.is_empty() {
        let below = below.map_or_else(String::new, |b| format!(" below {}", b.display()));
        return Err(Error::Unfit(format!(
            "none of what it reads{below} is on a mounted ext4, and only there can files be put \
             elsewhere in place; {} files are on other filesystems",
            places.elsewhere
        )));
    }
    let mut lies = Vec::new();
    for (mount, paths) in places.ext4 {
        tell(ColdEvent::Line(format!(
            "{}: {} files are put one behind the other, and back after the runs",
            mount.place.display(),
            paths.len()
        )));
        let moved = ForNow::apply(&mount.place, &paths)?;
        lies.push((mount.place, moved));
    }
    Ok(lies)
}

/// Puts all back.
pub(super) fn undo(
    lies: Vec<(PathBuf, ForNow)>,
    notes: &mut Vec<String>,
    tell: &mut dyn FnMut(ColdEvent),
) -> Result<Vec<ColdMoved>> {
    let mut all = Vec::new();
    // The last first: one filesystem may be mounted at two places.
    for (place, mut lies) in lies.into_iter().rev() {
        tell(ColdEvent::Now("putting the files back".into()));
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
