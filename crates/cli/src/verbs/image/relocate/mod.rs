//! `firstlight image relocate`: files put one behind the other on disk, in the
//! order in which they are read.

mod files;
mod for_now;
mod mover;

use super::args::Relocate as Args;
use super::list::paths;
use crate::out::Out;
use crate::{progress, size};
use anyhow::{Context, Result, bail};
pub use files::Skipped;
use files::Wanted;
pub use for_now::ForNow;
use rustix::fs::{Mode, OFlags};
use serde_json::json;
use std::os::fd::OwnedFd;
use views::terminal::layout::{GOOD, PLAIN, Screen, WARN, clean, left, right};
use views::thousands;

/// So many skipped files are named on the screen.
const ROWS: usize = 8;

/// How files lie, in an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// How often what comes next does not follow what came last.
    pub discontinuities: u64,
    /// The sum of the jumps, in bytes.
    pub distance: u64,
}

pub fn run(args: &Args, out: &mut Out) -> Result<()> {
    let shown = args.root.display().to_string();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(&args.root, flags, Mode::empty())
        .with_context(|| format!("{shown}: cannot be opened as a folder"))?;
    let list = paths(&args.files)?;
    if list.is_empty() {
        bail!(
            "{}: names no file; expected one path in a line",
            args.files.display()
        );
    }
    check(&root, &shown)?;
    progress::say("looking where the files lie");
    let (wanted, mut skipped) = files::find(&root, &list, args.apply)?;
    if wanted.is_empty() {
        progress::clear();
        let reason = skipped
            .first()
            .map_or("none is there", |s| s.reason.as_str());
        bail!(
            "{shown}: none of the {} files in {} can be put elsewhere: {reason}",
            list.len(),
            args.files.display()
        );
    }
    let before = files::layout(Wanted::all_extents(&wanted));
    let mut after = None;
    if args.apply {
        skipped.extend(mover::apply(&root, &shown, &wanted)?.skipped);
        progress::say("checking where they lie now");
        rustix::fs::syncfs(&root).with_context(|| format!("{shown}: cannot be synced"))?;
        let now = files::look_again(wanted.clone())?;
        after = Some(files::layout(Wanted::all_extents(&now)));
    }
    progress::clear();
    let report = Report {
        root: shown,
        files: wanted.len() as u64,
        bytes: wanted.iter().map(Wanted::bytes).sum(),
        before,
        after,
        skipped,
    };
    match out.json {
        true => out.text(&report.json()),
        false => out.text(&report.screen(out)),
    }
}

/// Whether the kernel can exchange blocks here.
fn check(root: &OwnedFd, shown: &str) -> Result<()> {
    /// `EXT4_SUPER_MAGIC`, also that of ext2 and ext3.
    const EXT4: i64 = 0xef53;
    let about = rustix::fs::fstatfs(root).with_context(|| format!("{shown}: cannot be asked"))?;
    // The type of the field differs between architectures.
    #[allow(
        clippy::unnecessary_cast,
        clippy::useless_conversion,
        reason = "see above"
    )]
    let (kind, block) = (about.f_type as i64, about.f_bsize as i64);
    if kind != EXT4 {
        bail!("{shown}: is no ext4, and only there can files be put elsewhere in place");
    }
    let page = i64::try_from(rustix::param::page_size()).unwrap_or(0);
    if block != page {
        bail!(
            "{shown}: has blocks of {block} bytes and this machine has pages of {page}; the kernel \
             exchanges blocks one by one only where both are equal"
        );
    }
    Ok(())
}

struct Report {
    root: String,
    files: u64,
    bytes: u64,
    before: Layout,
    after: Option<Layout>,
    skipped: Vec<Skipped>,
}

impl Report {
    fn json(&self) -> String {
        let layout = |l: &Layout| json!({ "discontinuities": l.discontinuities, "distance_bytes": l.distance });
        let skipped = self
            .skipped
            .iter()
            .map(|s| json!({ "path": String::from_utf8_lossy(&s.path), "reason": s.reason }));
        views::json::text(&json!({
            "schema": "firstlight.image.relocate/1",
            "root": self.root,
            "applied": self.after.is_some(),
            "files": self.files,
            "bytes": self.bytes,
            "before": layout(&self.before),
            "after": self.after.as_ref().map(layout),
            "skipped": skipped.collect::<Vec<_>>(),
        }))
    }

    fn screen(&self, out: &Out) -> String {
        let mut screen = Screen::new(&out.style);
        let about = format!(
            "{} files, {}",
            thousands(self.files),
            size::show(self.bytes)
        );
        screen.heading(&self.root, &about);
        screen.blank();
        let mut row = |what: &str, l: &Layout| {
            screen.line(&format!(
                "  {}  {} discontinuities in the order of the list, {} of jumps",
                left(what, 6),
                right(&thousands(l.discontinuities), 9),
                size::show(l.distance)
            ));
        };
        row(
            if self.after.is_some() {
                "before"
            } else {
                "now"
            },
            &self.before,
        );
        if let Some(after) = &self.after {
            row("after", after);
        }
        for s in self.skipped.iter().take(ROWS) {
            let text = format!(
                "left where it was: {}: {}",
                String::from_utf8_lossy(&s.path),
                s.reason
            );
            screen.wrapped("  ", 2, WARN, &clean(&text));
        }
        if let Some(more) = self.skipped.len().checked_sub(ROWS).filter(|m| *m > 0) {
            let text = format!(
                "and {} more were left where they were",
                thousands(more as u64)
            );
            screen.wrapped("  ", 2, WARN, &text);
        }
        screen.blank();
        match self.after {
            Some(after) if after.discontinuities < self.before.discontinuities => {
                screen.wrapped(
                    "  ",
                    2,
                    GOOD,
                    "Every file has the content, owner, mode and times that it had.",
                );
            }
            Some(_) => {
                let text = "They lie no better than before: there is no free space in one piece that is \
                            large enough.";
                screen.wrapped("  ", 2, WARN, text);
            }
            None => {
                let text = format!(
                    "The plan: {} in one piece of free space, and file by file the kernel exchanges \
                     blocks with it, journalled; content, owner, mode and times stay. Nothing was \
                     changed; --apply does it.",
                    size::show(self.bytes)
                );
                screen.wrapped("  ", 2, PLAIN, &text);
            }
        }
        screen.finish()
    }
}
