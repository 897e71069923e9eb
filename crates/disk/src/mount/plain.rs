//! Filesystems that cannot be written: a superblock and the root's inode.

use super::plan::Plan;
use crate::Error;
use crate::erofs::Superblock;
use rawimage::Part;

/// Fitted on `erofs`.
const EROFS: u64 = 30_000;
/// The first mount.
const EROFS_FIRST: u64 = 44_000;
/// Fitted on `romfs`.
const ROMFS: u64 = 12_000;
/// The first mount.
const ROMFS_FIRST: u64 = 16_000;
/// As romfs; nothing was fitted.
const CRAMFS: u64 = 12_000;

/// The page that the page cache reads at once.
const PAGE: u64 = 4096;

/// `erofs_fc_fill_super`: the page with the superblock, and that with the root's
/// inode.
pub(super) fn erofs(volume: &Part<'_>) -> Result<Plan, Error> {
    // What Firstlight cannot read has no forecast either.
    let sb = Superblock::read(volume)?;
    let inode = sb.meta + sb.root * 32;
    let mut plan = Plan::new("erofs");
    plan.first = EROFS_FIRST;
    plan.read(0, PAGE);
    let page = inode / PAGE * PAGE;
    if page != 0 {
        plan.read(page, PAGE);
    }
    plan.work(EROFS);
    Ok(plan)
}

/// `romfs_fill_super`: the first 1024 bytes; the root's inode lies in them, unless
/// the volume's name is longer than that.
pub(super) fn romfs(volume: &Part<'_>) -> Result<Plan, Error> {
    let head = volume.read(16, 1024)?;
    let name = head.iter().position(|b| *b == 0).unwrap_or(head.len()) as u64;
    let root = (16 + name + 1).next_multiple_of(16);
    let mut plan = Plan::new("romfs");
    plan.first = ROMFS_FIRST;
    plan.read(0, 1024);
    if root + 16 > 1024 {
        plan.read(root / 1024 * 1024, 1024);
    }
    plan.work(ROMFS);
    Ok(plan)
}

/// `cramfs_read_super`: the superblock with the root's inode, by way of a buffer of
/// four pages (`BLKS_PER_BUF`), for which the readahead takes twice as many
/// (`get_init_ra_size`).
pub(super) fn cramfs(volume: &Part<'_>) -> Result<Plan, Error> {
    let mut plan = Plan::new("cramfs");
    plan.read(0, volume.len().min(8 * PAGE));
    plan.work(CRAMFS);
    Ok(plan)
}
