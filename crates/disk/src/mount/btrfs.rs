//! btrfs (`btrfs_mount`): the superblock three times (to find the devices, to open
//! them, to check them), the tree of chunks, the tree of roots, and the roots of
//! the others.
//!
//! Only the superblock is looked at: the place of the other nodes is not known, and
//! how many there are is what a new filesystem with few files has. One that was
//! used for long has a deeper tree of extents and of files, and more block groups.

use super::plan::Plan;
use crate::Error;
use rawimage::bytes::{le32, le64};
use rawimage::{MountState as State, Part};

/// Where the superblock is, and how long.
const AT: u64 = 64 << 10;
const LENGTH: u64 = 4096;

/// Nodes of trees, if those of chunks and roots have one node each. Fitted on
/// `btrfs`.
const NODES: u64 = 13;
/// How far apart they lie, about, bytes: more than a disk reads in passing.
const APART: u64 = 128 << 10;
/// Fitted on `btrfs`.
const WORK: u64 = 2_150_000;
/// The first mount; fitted on `btrfs`.
const FIRST: u64 = 236_000;

pub(super) fn look(volume: &Part<'_>) -> Result<Plan, Error> {
    let sb = volume.read(AT, 4096)?;
    let node = u64::from(le32(&sb, 0x94).unwrap_or(0));
    if !(4096..=65_536).contains(&node) || !node.is_power_of_two() {
        return Err(Error::corrupt(
            AT + 0x94,
            format!("expected a node size, found {node}"),
        ));
    }
    let level = |at: usize| u64::from(sb.get(at).copied().unwrap_or(0).min(8));
    let mut plan = Plan::new("btrfs");
    plan.first = FIRST;
    for _ in 0..3 {
        plan.read(AT, LENGTH);
    }
    let nodes = NODES + level(0xc6) + level(0xc7);
    // Where they lie is told by the tree of chunks; they are not read in the order
    // of place, so that a disk seeks for each.
    let first = le64(&sb, 0x58).unwrap_or(0).min(volume.len());
    for number in (0..nodes).rev() {
        plan.read(first.saturating_add(number * APART), node);
    }
    plan.work(WORK);
    if le64(&sb, 0x60) != Some(0) {
        plan.state = State::Replay;
        plan.is_whole = false;
    }
    Ok(plan)
}
