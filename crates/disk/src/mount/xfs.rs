//! xfs (`xfs_fs_fill_super`): the superblock, the search for the head of the log,
//! the root's inode, and the first blocks of each allocation group.
//!
//! The search reads the cycle numbers of the log's blocks by halves, and this does
//! too. What replaying a log asks for is in `xfs_log`.

use super::plan::{Plan, Step};
use super::xfs_log::{self, BASIC, RECORD_MAGIC, REQUEST};
use crate::Error;
use rawimage::bytes::{be16, be32, be64};
use rawimage::{MountState as State, Part};
use std::collections::BTreeSet;

/// The most that can be under way to the log, in units: 8 buffers of 256 KiB
/// (`XLOG_TOTAL_REC_SHIFT`), and one of them.
const UNDER_WAY: u64 = 4096;
const RECORD: u64 = 512;
/// The operation that ends a log in which nothing is to be replayed
/// (`XLOG_UNMOUNT_TRANS`).
const UNMOUNT: u8 = 0x20;
/// More allocation groups than this are not looked at one by one.
const MOST_GROUPS: u32 = 65_536;

/// Inodes of 256 bytes are read and written by so many bytes
/// (`XFS_INODE_BIG_CLUSTER_SIZE`).
const CLUSTER: u64 = 8192;

/// Fitted on `xfs`.
const WORK: u64 = 1_500_000;

pub(super) fn look(volume: &Part<'_>) -> Result<Plan, Error> {
    let sb = volume.read(0, 512)?;
    let n32 = |at| be32(&sb, at).unwrap_or(0);
    let n64 = |at| be64(&sb, at).unwrap_or(0);
    let byte = |at: usize| u32::from(sb.get(at).copied().unwrap_or(0));
    let (block_log, group_log) = (byte(120), byte(124));
    let sector = u64::from(be16(&sb, 102).unwrap_or(0));
    let groups = n32(88);
    if !(9..=16).contains(&block_log) || group_log > 31 || !(512..=65_536).contains(&sector) {
        return Err(Error::corrupt(
            120,
            "expected xfs block, group and sector sizes",
        ));
    }
    let block = 1_u64 << block_log;
    let group_bytes = u64::from(n32(84)).saturating_mul(block);
    let log_start = n64(48);
    // A block's number is that of its group, then that in the group.
    let place = |number: u64| {
        let within = number & ((1 << group_log) - 1);
        (number >> group_log)
            .saturating_mul(group_bytes)
            .saturating_add(within.saturating_mul(block))
    };
    let mut plan = Plan::new("xfs");
    plan.read(0, BASIC);
    plan.read(0, sector);
    let end = n64(8).saturating_mul(block);
    plan.read(end.saturating_sub(BASIC), BASIC);
    let units = u64::from(n32(96)).saturating_mul(block) / BASIC;
    let mut seen = BTreeSet::new();
    if log_start != 0 && units > 2 {
        // `xfs_ialloc_setup_geometry`: larger inodes, larger groups of them.
        let inode = u64::from(be16(&sb, 104).unwrap_or(0)).clamp(256, 2048);
        let mut log = Log {
            plan: &mut plan,
            replay: xfs_log::Log {
                volume,
                at: place(log_start),
                units,
                head: 0,
                last: 0,
                group: group_bytes,
                block,
                cluster: (CLUSTER * inode / 256).max(block),
            },
        };
        log.search()?;
        let replay = log.replay;
        if plan.state == State::Replay && plan.is_whole {
            match replay.replay(&mut plan)? {
                Some(read) => seen = read,
                None => plan.is_whole = false,
            }
            plan.read(0, sector);
        }
    }
    plan.work(WORK);
    // What the replay has read is in memory.
    let mut read = |at: u64, bytes: u64| {
        if !seen.contains(&at) {
            plan.read(at, bytes);
        }
    };
    read(2 * sector, sector);
    read(3 * block, block);
    read(16 * block, 4 * block.min(16_384));
    read(sector, sector);
    for group in 1..groups.min(MOST_GROUPS) {
        let at = u64::from(group).saturating_mul(group_bytes);
        read(at.saturating_add(sector), sector);
        read(at.saturating_add(2 * sector), sector);
    }
    // The log says that it is in use, and the superblock is written.
    let log = place(log_start);
    for at in [log, 0, log] {
        plan.steps.extend([Step::Flush, Step::Write(at, sector)]);
        plan.steps.push(Step::Settle);
    }
    plan.steps.push(Step::Flush);
    Ok(plan)
}

/// By how many units the kernel goes through so many: twice the largest power of two that
/// divides their number, so that an odd number is taken two by two.
fn piece(count: u64) -> u64 {
    2 << count.trailing_zeros().min(20)
}

struct Log<'v, 'p> {
    plan: &'p mut Plan,
    replay: xfs_log::Log<'v>,
}

impl Log<'_, '_> {
    /// The cycle that a block of the log was written in.
    fn cycle(&mut self, unit: u64) -> Result<u32, Error> {
        let at = self.replay.at.saturating_add(unit * BASIC);
        self.plan.read(at, BASIC);
        let head = self.replay.volume.read(at, 8)?;
        let cycle = match be32(&head, 0) {
            Some(RECORD_MAGIC) => be32(&head, 4),
            cycle => cycle,
        };
        Ok(cycle.unwrap_or(0))
    }

    /// The first block of a cycle, by halves (`xlog_find_cycle_start`).
    fn first_of(&mut self, cycle: u32) -> Result<u64, Error> {
        let (mut low, mut high) = (0, self.replay.units - 1);
        let mut middle = high / 2;
        while middle != low && middle != high {
            match self.cycle(middle)? == cycle {
                true => high = middle,
                false => low = middle,
            }
            middle = low.midpoint(high);
        }
        Ok(high)
    }

    /// Reads so many cycles that a later one is sure to be seen (`xlog_find_verify_cycle`).
    fn cycles(&mut self, from: u64, to: u64) {
        let count = to.saturating_sub(from);
        if count == 0 {
            return;
        }
        let piece = piece(count);
        let mut unit = from;
        while unit < to {
            let next = unit.saturating_add(piece).min(to);
            self.span(unit, next);
            unit = next;
        }
    }

    /// Overwrites units (`xlog_write_log_records`), in pieces as `cycles` has them, and
    /// waits for each.
    fn clear(&mut self, from: u64, count: u64) {
        if count == 0 {
            return;
        }
        let piece = piece(count);
        let mut done = 0;
        while done < count {
            let end = (done + piece).min(count);
            while done < end {
                let units = (REQUEST / BASIC).min(end - done);
                let at = self.replay.at.saturating_add((from + done) * BASIC);
                self.plan.steps.push(Step::Write(at, units * BASIC));
                done += units;
            }
            self.plan.steps.push(Step::Settle);
        }
    }

    fn span(&mut self, from: u64, to: u64) {
        let mut at = self.replay.at.saturating_add(from * BASIC);
        let end = self.replay.at.saturating_add(to * BASIC);
        while at < end {
            let bytes = REQUEST.min(end - at);
            self.plan.read(at, bytes);
            at += bytes;
        }
    }

    /// `xlog_find_head`, `xlog_find_tail` and `xlog_clear_stale_blocks`.
    fn search(&mut self) -> Result<(), Error> {
        let units = self.replay.units;
        let first = self.cycle(0)?;
        let last = self.cycle(units - 1)?;
        let head = if first == 0 {
            0
        } else if last == 0 {
            self.first_of(0)?
        } else {
            let last = self.cycle(0).and_then(|_| self.cycle(units - 1))?;
            match first == last {
                true => units,
                false => self.first_of(last)?,
            }
        };
        self.cycles(head.saturating_sub(UNDER_WAY), head);
        // A log that was never full is looked through as far back for its last record.
        let back = if last == 0 { UNDER_WAY } else { RECORD };
        self.span(head.saturating_sub(back), head);
        // Backwards to the last record, and what is in it.
        let mut record = None;
        for unit in (head.saturating_sub(RECORD)..head).rev() {
            let at = self.replay.at.saturating_add(unit * BASIC);
            self.plan.read(at, BASIC);
            if be32(&self.replay.volume.read(at, 4)?, 0) == Some(RECORD_MAGIC) {
                record = Some((unit, at));
                break;
            }
        }
        if let Some((unit, at)) = record {
            self.plan.read(at.saturating_add(BASIC), BASIC);
            let found = self.replay.volume.read(at, 2 * BASIC as usize)?;
            // One operation, and it says that the filesystem was unmounted.
            let operations = be32(&found, 40).unwrap_or(0);
            let flags = found.get(BASIC as usize + 9).copied().unwrap_or(0);
            if operations != 1 || flags & UNMOUNT == 0 {
                self.plan.state = State::Replay;
                (self.replay.head, self.replay.last) = (head, unit);
                self.plan.is_whole = self.replay.check(self.plan)?;
            }
        }
        // What could be taken for a part of the log is overwritten, as far as the tail.
        let free = match self.plan.state {
            State::Replay => self.replay.free()?,
            _ => units,
        };
        let count = UNDER_WAY.min(free);
        let first = count.min(units - head.min(units));
        self.clear(head, first);
        self.clear(0, count - first);
        Ok(())
    }
}
