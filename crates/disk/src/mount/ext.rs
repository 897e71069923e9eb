//! ext2, ext3 and ext4 (`ext4_fill_super`): the superblock in the smallest unit,
//! then in a block; the descriptors of groups; the root's inode, with the inode
//! table ahead of it; the journal's superblock, and the journal if it is replayed.

use super::journal;
use super::plan::{Plan, Step};
use crate::Error;
use crate::ext::{self, superblock::Superblock};
use rawimage::{MountState as State, Part};

/// So many blocks of an inode table are read together (`inode_readahead_blks`).
const TABLE_AHEAD: u64 = 32;
/// More descriptors than this are not looked at one by one, blocks.
const MOST_DESCRIPTORS: u64 = 1 << 16;

/// Fitted on `ext2` and `ext4`.
const WORK: u64 = 220_000;
/// The first mount; fitted on `ext2`, as are those of other filesystems.
const FIRST: u64 = 352_000;
/// A group of blocks. An estimate.
const GROUP: u64 = 3_000;

pub(super) fn look(volume: &Part<'_>) -> Result<Plan, Error> {
    let sb = Superblock::read(volume)?;
    let size = u64::from(sb.block_size);
    let mut plan = Plan::new(sb.facts.filesystem);
    plan.first = FIRST;
    plan.read(1024, 1024);
    if size != 1024 {
        plan.read(0, size);
    }
    let groups = sb.groups();
    let per_block = (size / u64::from(sb.descriptor_size)).max(1);
    let descriptors = groups.div_ceil(per_block).min(MOST_DESCRIPTORS);
    let places: Vec<u64> = (0..descriptors)
        .map(|index| ext::descriptor_block(&sb, index).saturating_mul(size))
        .collect();
    plan.steps
        .extend(places.iter().map(|at| Step::Ahead(*at, size)));
    plan.steps.extend(places.iter().map(|at| Step::Wait(*at)));
    plan.work(WORK.saturating_add(groups.saturating_mul(GROUP)));
    let table = ext::first_table(volume, &sb)?;
    if let Some((block, used)) = table {
        root_inode(&mut plan, &sb, block, used);
    }
    if sb.journal != 0 {
        let journal = ext::journal(volume, &sb)?;
        if sb.facts.state == crate::State::NeedsRecovery {
            plan.state = State::Replay;
        }
        journal::look(volume, &sb, &journal, &mut plan)?;
    }
    Ok(plan)
}

/// `__ext4_get_inode_loc`: the block with the inode, and in one go what of its
/// table lies behind it.
fn root_inode(plan: &mut Plan, sb: &Superblock, table: u64, used: u32) {
    let size = u64::from(sb.block_size);
    let per_block = (size / u64::from(sb.inode_size)).max(1);
    // The root is the second inode; it lies in the first block of the table.
    let window = (table & !(TABLE_AHEAD - 1)).max(table);
    let last =
        (window.saturating_add(TABLE_AHEAD)).min(table.saturating_add(u64::from(used) / per_block));
    let at = table.saturating_mul(size);
    if last > table {
        // Behind the block itself, up to the last one.
        let ahead = Step::Ahead(at.saturating_add(size), (last - table) * size);
        plan.steps.push(ahead);
    }
    plan.read(at, size);
}
