//! The journal of ext3 and ext4 (`fs/jbd2/recovery.c`): its superblock, and if it
//! is replayed, each block of it that is used, and all writes that it asks for.

use super::plan::{Plan, Step};
use crate::Error;
use crate::ext::{Journal, superblock::Superblock};
use rawimage::bytes::be32;
use rawimage::{MountState as State, Part};
use std::collections::BTreeSet;

/// What each block of a journal that is no data begins with.
const MAGIC: u32 = 0xc03b_3998;
/// Kinds of blocks (`h_blocktype`).
const DESCRIPTOR: u32 = 1;
const COMMIT: u32 = 2;
const REVOKE: u32 = 5;
/// The journal is read ahead by so many bytes.
const AHEAD: u64 = 128 << 10;
/// One request moves no more, as the lab sets it (`max_sectors_kb`).
const REQUEST: u64 = 512 << 10;
/// No more blocks of a journal are followed: 4 GiB of blocks of 4 KiB.
const MOST: u64 = 1 << 20;

/// What a block costs that is replayed: found, its checksum, copied, marked,
/// written. Fitted on `ext4-replay`.
const BLOCK: u64 = 5_000;

/// Bits of the journal's incompatible features.
mod incompat {
    pub const WIDE: u32 = 0x2;
    pub const CHECKSUM_2: u32 = 0x8;
    pub const CHECKSUM_3: u32 = 0x10;
}

/// Bits of a tag's flags.
mod tag {
    pub const SAME_UUID: u32 = 2;
    pub const LAST: u32 = 8;
}

/// Adds what opening `journal` asks for, and replaying it if `plan` says so.
pub(super) fn look(
    volume: &Part<'_>,
    sb: &Superblock,
    journal: &Journal,
    plan: &mut Plan,
) -> Result<(), Error> {
    let size = u64::from(sb.block_size);
    let Some(first) = journal.block(0) else {
        return Ok(());
    };
    // The way to the first block, if it is long.
    for block in journal.metadata.iter().filter(|_| journal.has_extents) {
        plan.read(block.saturating_mul(size), size);
    }
    plan.read(first.saturating_mul(size), size);
    if plan.state == State::Replay {
        let header = volume.read(first.saturating_mul(size), 1024)?;
        let n32 = |at| be32(&header, at).unwrap_or(0);
        let mut replay = Replay {
            volume,
            journal,
            plan,
            size,
            length: u64::from(n32(16)).min(MOST),
            first: u64::from(n32(20)),
            features: n32(40),
            asked: BTreeSet::new(),
            targets: BTreeSet::new(),
        };
        replay.run(u64::from(n32(28)), n32(24))?;
        let writes = std::mem::take(&mut replay.targets);
        write_back(plan, &writes, size);
        // The journal says that it is empty, twice; then the filesystem that it
        // need not be replayed.
        for at in [first.saturating_mul(size), first.saturating_mul(size), 0] {
            plan.steps
                .extend([Step::Write(at, size), Step::Settle, Step::Flush]);
        }
    }
    // `ext4_setup_system_zone`: where all of the journal lies.
    for block in journal.metadata.iter().filter(|_| !journal.has_extents) {
        plan.read(block.saturating_mul(size), size);
    }
    Ok(())
}

struct Replay<'a> {
    volume: &'a Part<'a>,
    journal: &'a Journal,
    plan: &'a mut Plan,
    size: u64,
    length: u64,
    first: u64,
    features: u32,
    /// Blocks of the journal that were asked for.
    asked: BTreeSet<u64>,
    /// Blocks that are to be written.
    targets: BTreeSet<u64>,
}

impl Replay<'_> {
    /// Reads a block of the journal, and ahead of it (`jread`).
    fn read(&mut self, number: u64) -> Result<Vec<u8>, Error> {
        if self.asked.insert(number) {
            self.ask(number);
            let end = number.saturating_add(AHEAD / self.size).min(self.length);
            for next in number..end {
                if self.asked.insert(next) {
                    self.ask(next);
                }
            }
        }
        let Some(block) = self.journal.block(number) else {
            return Ok(Vec::new());
        };
        let at = block.saturating_mul(self.size);
        self.plan.steps.push(Step::Wait(at));
        Ok(self
            .volume
            .read(at, usize::try_from(self.size).unwrap_or(0))?)
    }

    fn ask(&mut self, number: u64) {
        if let Some(block) = self.journal.block(number) {
            let at = block.saturating_mul(self.size);
            self.plan.steps.push(Step::Ahead(at, self.size));
        }
    }

    fn wrap(&self, number: u64) -> u64 {
        match number < self.length {
            true => number,
            false => number - self.length + self.first,
        }
    }

    /// The passes: what there is, and then each block of it.
    fn run(&mut self, start: u64, sequence: u32) -> Result<(), Error> {
        if start == 0 || start >= self.length || self.first >= self.length {
            return Ok(());
        }
        let (mut at, mut sequence) = (start, sequence);
        let mut data = Vec::new();
        let mut transaction = Vec::new();
        let mut left = self.length;
        while left > 0 {
            left -= 1;
            let block = self.read(at)?;
            at = self.wrap(at + 1);
            let kind = be32(&block, 4);
            if be32(&block, 0) != Some(MAGIC) || be32(&block, 8) != Some(sequence) {
                break;
            }
            match kind {
                Some(DESCRIPTOR) => {
                    for target in self.tags(&block) {
                        transaction.push((at, target));
                        at = self.wrap(at + 1);
                        left = left.saturating_sub(1);
                    }
                }
                Some(COMMIT) => {
                    data.append(&mut transaction);
                    sequence = sequence.wrapping_add(1);
                }
                Some(REVOKE) => {}
                _ => break,
            }
        }
        for (number, target) in data {
            self.read(number)?;
            self.plan.work(BLOCK);
            self.targets.insert(target);
        }
        Ok(())
    }

    /// Where the blocks behind a descriptor belong.
    fn tags(&self, block: &[u8]) -> Vec<u64> {
        let has = |bit| self.features & bit != 0;
        let wide = has(incompat::WIDE);
        // `journal_tag_bytes`.
        let length = match (has(incompat::CHECKSUM_3), wide) {
            (true, _) => 16,
            (false, true) if has(incompat::CHECKSUM_2) => 14,
            (false, true) => 12,
            (false, false) if has(incompat::CHECKSUM_2) => 10,
            (false, false) => 8,
        };
        let end =
            block
                .len()
                .saturating_sub(match has(incompat::CHECKSUM_2 | incompat::CHECKSUM_3) {
                    true => 4,
                    false => 0,
                });
        let mut at = 12_usize;
        let mut found = Vec::new();
        while at + length <= end {
            let tag = block.get(at..).unwrap_or_default();
            let low = u64::from(be32(tag, 0).unwrap_or(0));
            let flags = match has(incompat::CHECKSUM_3) {
                true => be32(tag, 4).unwrap_or(0),
                // A checksum of two bytes, then the flags.
                false => be32(tag, 4).unwrap_or(0) & 0xffff,
            };
            let high = if wide { be32(tag, 8).unwrap_or(0) } else { 0 };
            found.push(low | u64::from(high) << 32);
            at += length + if flags & tag::SAME_UUID == 0 { 16 } else { 0 };
            if flags & tag::LAST != 0 {
                break;
            }
        }
        found
    }
}

/// The blocks in order of place, neighbours in one request (`sync_blockdev`).
fn write_back(plan: &mut Plan, blocks: &BTreeSet<u64>, size: u64) {
    let mut open: Option<(u64, u64)> = None;
    for block in blocks {
        let at = block.saturating_mul(size);
        match &mut open {
            Some((start, bytes)) if *start + *bytes == at && *bytes + size <= REQUEST => {
                *bytes += size;
            }
            _ => {
                if let Some((start, bytes)) = open {
                    plan.steps.push(Step::Write(start, bytes));
                }
                open = Some((at, size));
            }
        }
    }
    if let Some((start, bytes)) = open {
        plan.steps.push(Step::Write(start, bytes));
    }
    plan.steps.extend([Step::Settle, Step::Flush]);
}
