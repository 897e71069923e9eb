//! f2fs (`f2fs_fill_super`): both superblocks, both checkpoints, the summaries, the
//! tables of segments and of nodes, and the root's inode.
//!
//! What is written since the last checkpoint is looked for from the segments that
//! were written last on; how much that is is not known from here.

use super::plan::Plan;
use crate::Error;
use rawimage::bytes::{le32, le64};
use rawimage::{MountState as State, Part};

/// Where the superblock is.
const AT: u64 = 1024;
const BLOCK: u64 = 4096;
/// Blocks in a segment.
const SEGMENT: u64 = 512;
/// A block of the table of segments has so many (`SIT_ENTRY_PER_BLOCK`).
const SEGMENTS_A_BLOCK: u64 = 55;
/// So many blocks are asked for at once (`BIO_MAX_VECS`).
const AT_ONCE: u64 = 256;
/// The checkpoint was written at unmounting (`CP_UMOUNT_FLAG`).
const UNMOUNTED: u32 = 1;

/// Fitted on `f2fs`.
const WORK: u64 = 8_920_000;
/// The first mount; fitted on `f2fs`.
const FIRST: u64 = 263_000;

pub(super) fn look(volume: &Part<'_>) -> Result<Plan, Error> {
    let sb = volume.read(AT, 3072)?;
    let n32 = |at| u64::from(le32(&sb, at).unwrap_or(0));
    let logs = (n32(16), n32(20));
    if logs != (12, 9) {
        return Err(Error::corrupt(
            AT + 16,
            format!("expected block and segment size exponents 12 and 9, found {logs:?}"),
        ));
    }
    let main_segments = n32(68);
    let [cp, sit, nat, main] = [76, 80, 84, 92].map(|at| n32(at) * BLOCK);
    let mut plan = Plan::new("f2fs");
    plan.first = FIRST;
    plan.read(0, BLOCK);
    plan.read(BLOCK, BLOCK);
    // Of two checkpoints the one with the higher version counts.
    let mut newest = (0, 0, cp, 2);
    for at in [cp, cp.saturating_add(SEGMENT * BLOCK)] {
        let pack = volume.read(at, 160)?;
        let version = le64(&pack, 0).unwrap_or(0);
        let flags = le32(&pack, 132).unwrap_or(0);
        let blocks = u64::from(le32(&pack, 136).unwrap_or(0)).clamp(2, SEGMENT);
        plan.read(at, BLOCK);
        plan.read(at.saturating_add((blocks - 1) * BLOCK), BLOCK);
        if version > newest.0 {
            newest = (version, flags, at, blocks);
        }
    }
    let (_, flags, at, blocks) = newest;
    if blocks > 2 {
        plan.read(at.saturating_add(BLOCK), (blocks - 2) * BLOCK);
    }
    let mut left = main_segments.div_ceil(SEGMENTS_A_BLOCK).min(1 << 20);
    let mut place = sit;
    while left > 0 {
        let count = left.min(AT_ONCE);
        plan.read(place, count * BLOCK);
        (place, left) = (place.saturating_add(count * BLOCK), left - count);
    }
    plan.read(at.saturating_add((SEGMENT - 1) * BLOCK), BLOCK);
    plan.read(nat, 8 * BLOCK);
    plan.read(main, BLOCK);
    plan.read(main.saturating_add(BLOCK), BLOCK);
    plan.work(WORK);
    if flags & UNMOUNTED == 0 {
        plan.state = State::Replay;
        plan.is_whole = false;
    }
    Ok(plan)
}
