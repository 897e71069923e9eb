//! Which blocks of a filesystem are free, and the taking and giving of them.

use super::super::checksum::{Sums, put};
use super::super::group;
use super::super::superblock::{AT, Superblock};
use super::error::ArrangeError;
use crate::map::{Kind, Map};
use rawimage::Part;
use rawimage::bytes::{le16, le32};
use std::collections::{BTreeMap, BTreeSet};

/// The bitmap of a group's blocks was never written (`EXT4_BG_BLOCK_UNINIT`).
const BLOCK_UNINIT: u16 = 2;

/// A run of blocks: the first one, and how many.
pub(super) type Run = (u64, u64);

/// The bitmaps and descriptors of all groups.
pub(super) struct Space<'a> {
    sb: &'a Superblock,
    sums: Sums,
    raw: Vec<u8>,
    descriptors: Vec<Vec<u8>>,
    bitmaps: BTreeMap<u64, Vec<u8>>,
    changed: BTreeSet<u64>,
    /// Blocks given back, less those taken.
    balance: i64,
}

impl<'a> Space<'a> {
    /// Reads all bitmaps. `map` says what lies in groups whose bitmap was never
    /// written, and has to agree with the others.
    pub(super) fn read(
        volume: &Part<'_>,
        sb: &'a Superblock,
        map: &Map,
    ) -> Result<Self, ArrangeError> {
        let raw = volume.read(AT, 1024)?;
        let mut space = Self {
            sb,
            sums: Sums::of(sb, &raw),
            raw,
            descriptors: Vec::new(),
            bitmaps: BTreeMap::new(),
            changed: BTreeSet::new(),
            balance: 0,
        };
        let size = u64::from(sb.block_size);
        for group in 0..sb.groups() {
            let at = group::descriptor_at(sb, group);
            let descriptor = volume.read(at, usize::from(sb.descriptor_size))?;
            let bitmap_at = space.bitmap_at(&descriptor).saturating_mul(size);
            let length = space.bitmap_bytes();
            let is_new = le16(&descriptor, 0x12).unwrap_or(0) & BLOCK_UNINIT != 0
                && !matches!(space.sums, Sums::None);
            let bitmap = match is_new {
                true => vec![0; length],
                false => volume.read(bitmap_at, length)?,
            };
            if bitmap.len() < length || descriptor.len() < usize::from(sb.descriptor_size) {
                return Err(ArrangeError::Cut { group });
            }
            space.descriptors.push(descriptor);
            space.bitmaps.insert(group, bitmap);
            space.compare(group, is_new, map)?;
        }
        Ok(space)
    }

    pub(super) fn sums(&self) -> Sums {
        self.sums
    }

    fn bitmap_bytes(&self) -> usize {
        (self.sb.blocks_per_group / 8) as usize
    }

    fn bitmap_at(&self, descriptor: &[u8]) -> u64 {
        group::wide(self.sb, descriptor, 0, 0x20)
    }

    /// Where an inode lies, in bytes.
    pub(super) fn inode_at(&self, number: u32) -> Option<u64> {
        let group = number.checked_sub(1)? / self.sb.inodes_per_group;
        group::inode_at(self.sb, self.descriptors.get(group as usize)?, number)
    }

    /// Holds a group's bitmap against the map, or makes it of that.
    fn compare(&mut self, group: u64, is_new: bool, map: &Map) -> Result<(), ArrangeError> {
        let size = u64::from(self.sb.block_size);
        let first = self.sb.first_block(group);
        let end = self.sb.first_block(group + 1).min(self.sb.blocks);
        let mut used: Vec<Run> = Vec::new();
        map.pieces(first * size, (end - first) * size, &mut |piece| {
            if piece.kind != Kind::Unmapped {
                used.push((piece.start / size, piece.len.div_ceil(size)));
            }
        });
        for (start, blocks) in used {
            for block in start..start + blocks {
                if is_new {
                    self.set(block, true);
                } else if !self.is_used(block) {
                    return Err(ArrangeError::Bitmap { group, block });
                }
            }
        }
        if is_new {
            // What lies behind the end of the last group counts as used.
            for block in end..self.sb.first_block(group + 1) {
                self.set(block, true);
            }
        }
        Ok(())
    }

    fn bit(&self, block: u64) -> Option<(u64, usize, u8)> {
        let within = block.checked_sub(u64::from(self.sb.first_data_block))?;
        let per_group = u64::from(self.sb.blocks_per_group);
        let bit = within % per_group;
        let byte = usize::try_from(bit / 8).ok()?;
        Some((within / per_group, byte, 1 << (bit % 8)))
    }

    pub(super) fn is_used(&self, block: u64) -> bool {
        let Some((group, byte, mask)) = self.bit(block) else {
            return true;
        };
        let bitmap = self.bitmaps.get(&group).and_then(|b| b.get(byte));
        bitmap.is_none_or(|b| b & mask != 0)
    }

    fn set(&mut self, block: u64, used: bool) {
        let Some((group, byte, mask)) = self.bit(block) else {
            return;
        };
        let bitmap = self.bitmaps.get_mut(&group).and_then(|b| b.get_mut(byte));
        match (bitmap, used) {
            (Some(bits), true) => *bits |= mask,
            (Some(bits), false) => *bits &= !mask,
            (None, _) => {}
        }
    }

    /// Takes a free block, or gives one back.
    pub(super) fn change(&mut self, block: u64, used: bool) {
        let Some((group, ..)) = self.bit(block) else {
            return;
        };
        if self.is_used(block) == used {
            return;
        }
        self.set(block, used);
        self.changed.insert(group);
        self.balance += if used { -1 } else { 1 };
        let more = if used { -1 } else { 1 };
        if let Some(descriptor) = usize::try_from(group)
            .ok()
            .and_then(|g| self.descriptors.get_mut(g))
        {
            let free = group::count(self.sb, descriptor, 0xc, 0x2c).saturating_add_signed(more);
            group::put_halves(self.sb, descriptor, (0xc, 0x2c), free);
        }
    }

    /// Room for `blocks` blocks, in as few runs as there can be, in their order; `None` if
    /// there is not so much. Nothing is taken.
    pub(super) fn room(&self, blocks: u64) -> Option<Vec<Run>> {
        let mut runs: Vec<Run> = Vec::new();
        for block in u64::from(self.sb.first_data_block)..self.sb.blocks {
            if self.is_used(block) {
                continue;
            }
            match runs.last_mut() {
                Some((start, length)) if *start + *length == block => *length += 1,
                _ => runs.push((block, 1)),
            }
        }
        // The smallest that holds all; else the largest ones.
        let fits = runs.iter().filter(|r| r.1 >= blocks).min_by_key(|r| r.1);
        if let Some((start, _)) = fits {
            return Some(vec![(*start, blocks)]);
        }
        runs.sort_by_key(|r| std::cmp::Reverse(r.1));
        let mut left = blocks;
        let mut taken = Vec::new();
        for (start, length) in runs {
            let take = length.min(left);
            if take > 0 {
                taken.push((start, take));
            }
            left -= take;
        }
        // In their order on the disk: each way is the shortest, and leads forwards.
        taken.sort_unstable();
        (left == 0).then_some(taken)
    }

    /// What has to be written: places in bytes, and what goes there.
    pub(super) fn writes(mut self) -> Vec<(u64, Vec<u8>)> {
        let mut writes = Vec::new();
        let size = u64::from(self.sb.block_size);
        for group in std::mem::take(&mut self.changed) {
            let at = group::descriptor_at(self.sb, group);
            let (Ok(index), Some(bitmap)) = (usize::try_from(group), self.bitmaps.get(&group))
            else {
                continue;
            };
            let Some(mut descriptor) = self.descriptors.get(index).cloned() else {
                continue;
            };
            let flags = le16(&descriptor, 0x12).unwrap_or(0) & !BLOCK_UNINIT;
            if !matches!(self.sums, Sums::None) {
                put(&mut descriptor, 0x12, &flags.to_le_bytes());
            }
            if let Some(sum) = self.sums.bitmap(bitmap) {
                group::put_halves(self.sb, &mut descriptor, (0x18, 0x38), sum);
            }
            let number = u32::try_from(group).unwrap_or(u32::MAX);
            self.sums.descriptor(number, &mut descriptor);
            // A block holds the bitmap, and ones behind it.
            let mut block = bitmap.clone();
            block.resize(usize::try_from(size).unwrap_or(bitmap.len()), 0xff);
            writes.push((self.bitmap_at(&descriptor).saturating_mul(size), block));
            writes.push((at, descriptor));
        }
        let low = u64::from(le32(&self.raw, 0xc).unwrap_or(0));
        let high = u64::from(le32(&self.raw, 0x158).unwrap_or(0));
        let free = (low | high << 32).saturating_add_signed(self.balance);
        let [a, b, c, d, e, f, g, h] = free.to_le_bytes();
        put(&mut self.raw, 0xc, &[a, b, c, d]);
        if self.sb.descriptor_size >= 64 {
            put(&mut self.raw, 0x158, &[e, f, g, h]);
        }
        self.sums.superblock(&mut self.raw);
        writes.push((AT, self.raw));
        writes
    }
}
