//! A relocation that is taken back.

use super::error::Error;
use super::files::{self, Skipped, Wanted};
use super::layout::{Layout, layout};
use super::mover::{self, Done};
use super::place::{check, open};
use agent::extents::Extent;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Files of one mounted ext4 that lie one behind the other as long as this lives. The
/// old places belong to a file without a name meanwhile; should the machine end, it is
/// gone, and the files are whole at their new places.
pub struct ForNow {
    root: OwnedFd,
    shown: String,
    wanted: Vec<Wanted>,
    done: Option<Done>,
    /// How they lay.
    pub before: Layout,
    /// How they lie.
    pub after: Layout,
    /// What stayed where it was.
    pub skipped: Vec<Skipped>,
}

impl ForNow {
    /// Moves the files of `list`, whose paths begin at `root`, in that order.
    ///
    /// # Errors
    /// `root` is no ext4, none of the files can be moved, or the system says.
    pub fn apply(root: &Path, list: &[Vec<u8>]) -> Result<Self, Error> {
        let shown = root.display().to_string();
        let root = open(root)?;
        check(&root, &shown)?;
        let (wanted, mut skipped) = files::find(&root, &shown, list, true)?;
        if wanted.is_empty() {
            let reason = skipped
                .first()
                .map_or("none is there", |s| s.reason.as_str());
            let why = format!("none of its files can be put elsewhere: {reason}");
            return Err(Error::unusable(&shown, why));
        }
        let total = wanted.iter().map(Wanted::bytes).sum();
        // What they bring is measured, not foretold: in as few pieces as can be had.
        let pieces = |space: &[Extent]| layout(space).discontinuities;
        let donor = mover::donor(&root, &shown, total, &pieces)?;
        let mut done = mover::apply(&root, &wanted, donor, &|_| {});
        skipped.append(&mut done.skipped);
        let mut moved = Self {
            before: layout(Wanted::all_extents(&wanted)),
            after: layout(Wanted::all_extents(&wanted)),
            root,
            shown,
            wanted,
            done: Some(done),
            skipped,
        };
        moved.after = layout(Wanted::all_extents(&moved.look()?));
        Ok(moved)
    }

    /// The files that were to be moved.
    #[must_use]
    pub fn files(&self) -> u64 {
        self.wanted.len() as u64
    }

    /// Their length, bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.wanted.iter().map(Wanted::bytes).sum()
    }

    /// Puts them back: those that do not lie where they lay, and why.
    ///
    /// # Errors
    /// Where they lie cannot be looked at.
    pub fn undo(mut self) -> Result<Vec<Skipped>, Error> {
        let mut stay = self.back();
        let now = self.look()?;
        for (was, is) in self.wanted.iter().zip(&now) {
            let told = stay.iter().any(|s| s.path == was.path);
            if !told && joined(&was.extents) != joined(&is.extents) {
                stay.push(Skipped {
                    path: was.path.clone(),
                    reason: "it was written to meanwhile".to_owned(),
                });
            }
        }
        Ok(stay)
    }

    fn back(&mut self) -> Vec<Skipped> {
        let done = self.done.take();
        done.map_or_else(Vec::new, |done| done.undo(&self.root, &self.wanted))
    }

    fn look(&self) -> Result<Vec<Wanted>, Error> {
        let root = &self.root;
        rustix::fs::syncfs(root).map_err(Error::io(&self.shown, "cannot be synced"))?;
        files::look_again(self.wanted.clone())
            .map_err(Error::io(&self.shown, "its files cannot be looked at"))
    }
}

/// Extents, those that follow each other as one.
fn joined(extents: &[Extent]) -> Vec<Extent> {
    let mut all: Vec<Extent> = Vec::new();
    for extent in extents {
        match all.last_mut() {
            Some(last)
                if last.offset.saturating_add(last.bytes) == extent.offset
                    && last.physical.saturating_add(last.bytes) == extent.physical =>
            {
                last.bytes = last.bytes.saturating_add(extent.bytes);
            }
            _ => all.push(*extent),
        }
    }
    all
}

impl Drop for ForNow {
    fn drop(&mut self) {
        self.back();
    }
}
