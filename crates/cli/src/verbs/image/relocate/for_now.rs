//! A relocation that is taken back.

use super::files::{self, Skipped, Wanted};
use super::mover::{self, Done};
use super::{Layout, check};
use agent::extents::Extent;
use anyhow::{Context, Result, bail};
use rustix::fs::{Mode, OFlags};
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
    pub fn apply(root: &Path, list: &[Vec<u8>]) -> Result<Self> {
        let shown = root.display().to_string();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(root, flags, Mode::empty())
            .with_context(|| format!("{shown}: cannot be opened as a folder"))?;
        check(&root, &shown)?;
        let (wanted, mut skipped) = files::find(&root, list, true)?;
        if wanted.is_empty() {
            let reason = skipped
                .first()
                .map_or("none is there", |s| s.reason.as_str());
            bail!("{shown}: none of its files can be put elsewhere: {reason}");
        }
        let mut done = mover::apply(&root, &shown, &wanted)?;
        skipped.append(&mut done.skipped);
        let mut moved = Self {
            before: files::layout(Wanted::all_extents(&wanted)),
            after: files::layout(Wanted::all_extents(&wanted)),
            root,
            shown,
            wanted,
            done: Some(done),
            skipped,
        };
        moved.after = files::layout(Wanted::all_extents(&moved.look()?));
        Ok(moved)
    }

    /// The files that were to be moved.
    pub fn files(&self) -> u64 {
        self.wanted.len() as u64
    }

    /// Their length.
    pub fn bytes(&self) -> u64 {
        self.wanted.iter().map(Wanted::bytes).sum()
    }

    /// Puts them back: those that do not lie where they lay, and why.
    pub fn undo(mut self) -> Result<Vec<Skipped>> {
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

    fn look(&self) -> Result<Vec<Wanted>> {
        let root = &self.root;
        rustix::fs::syncfs(root).with_context(|| format!("{}: cannot be synced", self.shown))?;
        files::look_again(self.wanted.clone())
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
