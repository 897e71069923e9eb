//! xfs (`xfs_fs_fill_super`): the superblock, the search for the head of the log,
//! the root's inode, and the first blocks of each allocation group.
//!
//! The search reads the cycle numbers of the log's blocks by halves, and this does
//! too. What replaying a log does is not known from here: such a mount takes at
//! least what a clean one takes.

use super::plan::{Plan, Step};
use crate::Error;
use rawimage::bytes::{be16, be32, be64};
use rawimage::{MountState as State, Part};

/// The log's unit, bytes.
const BASIC: u64 = 512;
/// The most that can be under way to the log, in units: 8 buffers of 256 KiB
/// (`XLOG_TOTAL_REC_SHIFT`), and one of them.
const UNDER_WAY: u64 = 4096;
const RECORD: u64 = 512;
/// A record of the log begins with it.
const RECORD_MAGIC: u32 = 0xfeed_babe;
/// The operation that ends a log in which nothing is to be replayed
/// (`XLOG_UNMOUNT_TRANS`).
const UNMOUNT: u8 = 0x20;
/// So much is moved by one request, as the lab sets it (`max_sectors_kb`).
const REQUEST: u64 = 512 << 10;
/// More allocation groups than this are not looked at one by one.
const MOST_GROUPS: u32 = 65_536;

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
    if log_start != 0 && units > 2 {
        let mut log = Log {
            volume,
            at: place(log_start),
            units,
            plan: &mut plan,
        };
        log.search()?;
    }
    plan.work(WORK);
    plan.read(2 * sector, sector);
    plan.read(3 * block, block);
    plan.read(16 * block, 4 * block.min(16_384));
    plan.read(sector, sector);
    for group in 1..groups.min(MOST_GROUPS) {
        let at = u64::from(group).saturating_mul(group_bytes);
        plan.read(at.saturating_add(sector), sector);
        plan.read(at.saturating_add(2 * sector), sector);
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

struct Log<'a> {
    volume: &'a Part<'a>,
    at: u64,
    units: u64,
    plan: &'a mut Plan,
}

impl Log<'_> {
    /// The cycle that a block of the log was written in.
    fn cycle(&mut self, unit: u64) -> Result<u32, Error> {
        let at = self.at.saturating_add(unit * BASIC);
        self.plan.read(at, BASIC);
        let head = self.volume.read(at, 8)?;
        let cycle = match be32(&head, 0) {
            Some(RECORD_MAGIC) => be32(&head, 4),
            cycle => cycle,
        };
        Ok(cycle.unwrap_or(0))
    }

    /// The first block of a cycle, by halves (`xlog_find_cycle_start`).
    fn first_of(&mut self, cycle: u32) -> Result<u64, Error> {
        let (mut low, mut high) = (0, self.units - 1);
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

    fn span(&mut self, from: u64, to: u64) {
        let mut at = self.at.saturating_add(from * BASIC);
        let end = self.at.saturating_add(to * BASIC);
        while at < end {
            let bytes = REQUEST.min(end - at);
            self.plan.read(at, bytes);
            at += bytes;
        }
    }

    /// `xlog_find_head`, `xlog_find_tail` and `xlog_clear_stale_blocks`.
    fn search(&mut self) -> Result<(), Error> {
        let first = self.cycle(0)?;
        let last = self.cycle(self.units - 1)?;
        let head = if first == 0 {
            0
        } else if last == 0 {
            self.first_of(0)?
        } else {
            let last = self.cycle(0).and_then(|_| self.cycle(self.units - 1))?;
            match first == last {
                true => self.units,
                false => self.first_of(last)?,
            }
        };
        self.span(head.saturating_sub(UNDER_WAY), head);
        self.span(head.saturating_sub(RECORD), head);
        // Backwards to the last record, and what is in it.
        let mut record = None;
        for unit in (head.saturating_sub(RECORD)..head).rev() {
            let at = self.at.saturating_add(unit * BASIC);
            self.plan.read(at, BASIC);
            if be32(&self.volume.read(at, 4)?, 0) == Some(RECORD_MAGIC) {
                record = Some(at);
                break;
            }
        }
        if let Some(at) = record {
            self.plan.read(at.saturating_add(BASIC), BASIC);
            let found = self.volume.read(at, 2 * BASIC as usize)?;
            // One operation, and it says that the filesystem was unmounted.
            let operations = be32(&found, 40).unwrap_or(0);
            let flags = found.get(BASIC as usize + 9).copied().unwrap_or(0);
            if operations != 1 || flags & UNMOUNT == 0 {
                self.plan.state = State::Replay;
                self.plan.is_whole = false;
            }
        }
        // What could be taken for a part of the log is overwritten.
        let mut at = self.at.saturating_add(head * BASIC);
        let mut left = UNDER_WAY.min(self.units - head.min(self.units)) * BASIC;
        while left > 0 {
            let bytes = left.min(REQUEST);
            self.plan.steps.push(Step::Write(at, bytes));
            (at, left) = (at.saturating_add(bytes), left - bytes);
        }
        self.plan.steps.push(Step::Settle);
        Ok(())
    }
}
