//! Which numbers of inodes are free, and the taking and giving of them.

use super::super::checksum::Sums;
use super::super::group;
use super::super::superblock::{AT, Superblock};
use crate::Edited;
use crate::ext::arrange::ArrangeError;
use rawimage::Part;
use rawimage::bytes::le16;
use std::io;

/// So many blocks of a table the kernel reads at once, from such a multiple on
/// (`inode_readahead_blks`, as it is from the start).
const READ_AHEAD: u64 = 32;

/// The inodes of a group.
struct Group {
    descriptor: Vec<u8>,
    bitmap: Vec<u8>,
    /// So many of them may have been in use; what lies behind was never written.
    touched: u32,
    is_changed: bool,
}

/// The bitmaps of inodes, and the descriptors, of all groups.
pub(super) struct Numbers<'a> {
    sb: &'a Superblock,
    sums: Sums,
    groups: Vec<Group>,
}

impl<'a> Numbers<'a> {
    pub(super) fn read(volume: &Part<'_>, sb: &'a Superblock) -> Result<Self, ArrangeError> {
        let sums = Sums::of(sb, &volume.read(AT, 1024)?);
        let mut groups = Vec::new();
        let length = sb.inodes_per_group.div_ceil(8) as usize;
        // As the kernel asks for it (`ext4_fill_super`). Each group's bitmap has a block of
        // its own, so that they are no more than the image.
        let all = sb.groups().checked_mul(u64::from(sb.inodes_per_group));
        let bitmaps = sb.groups().checked_mul(u64::from(sb.block_size));
        if all != Some(u64::from(sb.inodes)) || bitmaps.is_none_or(|b| b > volume.len()) {
            return Err(ArrangeError::Inodes {
                inodes: sb.inodes,
                groups: sb.groups(),
                each: sb.inodes_per_group,
            });
        }
        let size = usize::from(sb.descriptor_size);
        for group in 0..sb.groups() {
            let descriptor = volume.read(group::descriptor_at(sb, group), size)?;
            let flags = le16(&descriptor, 0x12).unwrap_or(0);
            let has_flags = !matches!(sums, Sums::None);
            let is_new = has_flags && flags & group::INODE_UNINIT != 0;
            let at = group::wide(sb, &descriptor, 4, 0x24).saturating_mul(u64::from(sb.block_size));
            let bitmap = match is_new {
                true => vec![0; length],
                false => volume.read(at, length)?,
            };
            if bitmap.len() < length || descriptor.len() < size {
                return Err(ArrangeError::Cut { group });
            }
            let unused = match (has_flags, is_new) {
                (false, _) => 0,
                (true, false) => group::count(sb, &descriptor, 0x1c, 0x32),
                (true, true) => sb.inodes_per_group,
            };
            groups.push(Group {
                descriptor,
                bitmap,
                touched: sb.inodes_per_group.saturating_sub(unused),
                is_changed: false,
            });
        }
        Ok(Self { sb, sums, groups })
    }

    pub(super) fn sums(&self) -> Sums {
        self.sums
    }

    /// The group of a number, and its place in that.
    fn place(&self, number: u32) -> Option<(usize, u32)> {
        let index = number.checked_sub(1)?;
        let group = usize::try_from(index / self.sb.inodes_per_group).ok()?;
        Some((group, index % self.sb.inodes_per_group))
    }

    /// Where an inode lies, in bytes.
    pub(super) fn inode_at(&self, number: u32) -> Option<u64> {
        let (group, _) = self.place(number)?;
        group::inode_at(self.sb, &self.groups.get(group)?.descriptor, number)
    }

    pub(super) fn is_used(&self, number: u32) -> bool {
        let Some((group, index)) = self.place(number) else {
            return true;
        };
        let byte = self
            .groups
            .get(group)
            .and_then(|g| g.bitmap.get((index / 8) as usize));
        byte.is_none_or(|b| b & 1 << (index % 8) != 0)
    }

    /// `count` free numbers, or as many as there are: where the kernel's own read-ahead
    /// begins, if their inodes can lie one behind the other from there on; or from the
    /// start of a block; or in as few pieces as can be had.
    pub(super) fn free(&self, count: u32) -> Vec<u32> {
        let per_block = u64::from(self.sb.block_size) / u64::from(self.sb.inode_size).max(1);
        let size = u64::from(self.sb.block_size);
        let begins = |number: u32, every: u64| {
            self.place(number).is_some_and(|(group, index)| {
                let table = self.groups.get(group);
                let table = table.map_or(0, |g| group::wide(self.sb, &g.descriptor, 8, 0x28));
                let is_start = u64::from(index).is_multiple_of(per_block.max(1));
                let at = self.inode_at(number).unwrap_or(0) / size;
                is_start && (at.is_multiple_of(every) || at == table)
            })
        };
        let (mut aligned, mut whole) = (None, None);
        // Their first numbers and lengths.
        let mut runs: Vec<(u32, u32)> = Vec::new();
        // From behind, so that the length of the run from each number on is known.
        for number in (self.sb.first_inode..=self.sb.inodes).rev() {
            if self.is_used(number) {
                continue;
            }
            let run = match runs.last_mut() {
                Some((first, length)) if self.is_behind(number, *first) => {
                    *first = number;
                    *length += 1;
                    *length
                }
                _ => {
                    runs.push((number, 1));
                    1
                }
            };
            if run >= count && begins(number, 1) {
                whole = Some(number);
                if begins(number, READ_AHEAD) {
                    aligned = Some(number);
                }
            }
        }
        if let Some(first) = aligned.or(whole) {
            return (first..).take(count as usize).collect();
        }
        runs.sort_by_key(|(first, length)| (std::cmp::Reverse(*length), *first));
        let all = runs
            .iter()
            .flat_map(|(first, length)| (*first..).take(*length as usize));
        all.take(count as usize).collect()
    }

    /// Whether the inode `next` lies right behind that of `number`.
    pub(super) fn is_behind(&self, number: u32, next: u32) -> bool {
        let end = self
            .inode_at(number)
            .and_then(|at| at.checked_add(u64::from(self.sb.inode_size)));
        end.is_some() && end == self.inode_at(next)
    }

    /// Takes a number or gives it back, of a directory or of something else.
    pub(super) fn change(&mut self, number: u32, used: bool, is_directory: bool) {
        let sb = self.sb;
        let Some((group, index)) = self.place(number) else {
            return;
        };
        let Some(group) = self.groups.get_mut(group) else {
            return;
        };
        let bit = 1 << (index % 8);
        match group.bitmap.get_mut((index / 8) as usize) {
            Some(byte) if used => *byte |= bit,
            Some(byte) => *byte &= !bit,
            None => return,
        }
        group.is_changed = true;
        let more = if used { 1 } else { -1 };
        let mut add = |at: (usize, usize), more: i32| {
            let count = group::count(sb, &group.descriptor, at.0, at.1);
            let count = count.saturating_add_signed(more);
            group::put_halves(sb, &mut group.descriptor, at, count);
        };
        add((0xe, 0x2e), -more);
        if is_directory {
            add((0x10, 0x30), more);
        }
    }

    /// Clears what was never written in front of those of `taken`, and to the end of
    /// their last block: it counts as used from now on.
    pub(super) fn clear(&mut self, image: &mut Edited<'_>, taken: &[u32]) -> io::Result<()> {
        let size = u64::from(self.sb.inode_size);
        for number in taken {
            let Some((group, index)) = self.place(*number) else {
                continue;
            };
            let Some(first) = number.checked_sub(index) else {
                continue;
            };
            let Some(group) = self.groups.get_mut(group) else {
                continue;
            };
            if index < group.touched {
                continue;
            }
            let per_block = (self.sb.block_size / u32::from(self.sb.inode_size)).max(1);
            let end = (index + 1)
                .next_multiple_of(per_block)
                .min(self.sb.inodes_per_group);
            let from = group::inode_at(self.sb, &group.descriptor, first + group.touched);
            let Some(from) = from else { continue };
            let count = u64::from(end - group.touched);
            let zeros = vec![0; usize::try_from(count * size).unwrap_or(0)];
            image.put(from, &zeros)?;
            group.touched = end;
        }
        Ok(())
    }

    /// Writes what has changed.
    pub(super) fn write(mut self, image: &mut Edited<'_>) -> io::Result<()> {
        let has_flags = !matches!(self.sums, Sums::None);
        for (number, group) in (0..).zip(&mut self.groups) {
            if !group.is_changed {
                continue;
            }
            let descriptor = &mut group.descriptor;
            if has_flags {
                let flags = le16(descriptor, 0x12).unwrap_or(0) & !group::INODE_UNINIT;
                super::super::checksum::put(descriptor, 0x12, &flags.to_le_bytes());
                let unused = self.sb.inodes_per_group.saturating_sub(group.touched);
                group::put_halves(self.sb, descriptor, (0x1c, 0x32), unused);
            }
            if let Some(sum) = self.sums.bitmap(&group.bitmap) {
                group::put_halves(self.sb, descriptor, (0x1a, 0x3a), sum);
            }
            self.sums.descriptor(number, descriptor);
            // A block holds the bitmap, and ones behind it.
            let mut block = group.bitmap.clone();
            block.resize(self.sb.block_size as usize, 0xff);
            let at = group::wide(self.sb, descriptor, 4, 0x24);
            image.put(at.saturating_mul(u64::from(self.sb.block_size)), &block)?;
            image.put(group::descriptor_at(self.sb, u64::from(number)), descriptor)?;
        }
        Ok(())
    }
}
