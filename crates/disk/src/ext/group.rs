//! Block groups: their descriptors, and the metadata that lies in them.

use super::checksum::put;
use super::superblock::{Superblock, incompat, ro_compat};
use crate::Error;
use crate::build::Builder;
use crate::map::Kind;
use rawimage::Part;
use rawimage::bytes::{le16, le32};

/// The inode that owns the room for more descriptors.
const RESIZE_INODE: u32 = 7;
/// The inode table of a group was never written.
pub(super) const INODE_UNINIT: u16 = 1;

/// Where the inodes of a group lie, and how many of them may be in use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    /// The number of its first inode.
    pub first: u32,
    /// Its first block.
    pub block: u64,
    /// So many of its inodes may be in use.
    pub used: u32,
}

/// Adds what every group holds to the map, and says where the inodes lie.
pub(super) fn groups(
    volume: &Part<'_>,
    sb: &Superblock,
    map: &mut Builder,
) -> Result<Vec<Table>, Error> {
    let size = u64::from(sb.block_size);
    if sb.first_data_block > 0 {
        map.add(0, u64::from(sb.first_data_block), Kind::BootBlock, 0, 0);
    }
    let per_block = size / u64::from(sb.descriptor_size);
    let groups = sb.groups();
    let descriptor_blocks = groups.div_ceil(per_block.max(1));
    let meta_bg = sb.has(1, incompat::META_BG);
    let old_blocks = match meta_bg {
        true => u64::from(sb.first_meta_bg).min(descriptor_blocks),
        false => descriptor_blocks,
    };
    let itable_blocks = (u64::from(sb.inodes_per_group) * u64::from(sb.inode_size)).div_ceil(size);
    let mut tables = Vec::new();
    let mut block = Vec::new();
    for group in 0..groups {
        copies(sb, map, group, old_blocks, meta_bg, per_block);
        let index = group / per_block.max(1);
        if group % per_block.max(1) == 0 {
            let at = descriptor_block(sb, index, old_blocks, per_block);
            block = volume.read(at.saturating_mul(size), sb.block_size as usize)?;
            if (block.len() as u64) < size {
                return Err(Error::corrupt(
                    at.saturating_mul(size),
                    format!(
                        "expected the descriptors of group {group}, found the end of the image"
                    ),
                ));
            }
        }
        let within = (group % per_block.max(1)) * u64::from(sb.descriptor_size);
        let within = usize::try_from(within).unwrap_or(0);
        let descriptor = block.get(within..).unwrap_or_default();
        let found = Descriptor::of(descriptor, sb);
        let inside = |at: u64| at >= u64::from(sb.first_data_block) && at < sb.blocks;
        for bitmap in [found.block_bitmap, found.inode_bitmap] {
            match inside(bitmap) {
                true => map.add(bitmap, 1, Kind::Bitmap, 0, 0),
                false => map.note(format!("group {group}: block {bitmap} is not a bitmap")),
            }
        }
        let end = found.inode_table.checked_add(itable_blocks);
        if !inside(found.inode_table) || end.is_none_or(|e| e > sb.blocks) {
            map.note(format!(
                "group {group}: block {} is not an inode table; its inodes are omitted",
                found.inode_table
            ));
            continue;
        }
        map.add(found.inode_table, itable_blocks, Kind::InodeTable, 0, 0);
        let first = group
            .checked_mul(u64::from(sb.inodes_per_group))
            .and_then(|n| u32::try_from(n + 1).ok());
        let Some(first) = first.filter(|f| *f <= sb.inodes) else {
            continue;
        };
        tables.push(Table {
            first,
            block: found.inode_table,
            used: found.used.min(sb.inodes - (first - 1)),
        });
    }
    Ok(distinct(tables, itable_blocks, map))
}

/// The tables that do not lie in one another: a damaged image could have one
/// table read a million times.
fn distinct(mut tables: Vec<Table>, blocks: u64, map: &mut Builder) -> Vec<Table> {
    tables.sort_by_key(|t| t.block);
    let all = tables.len();
    let mut end = 0;
    tables.retain(|t| {
        let keep = t.block >= end;
        if keep {
            end = t.block.saturating_add(blocks);
        }
        keep
    });
    if tables.len() < all {
        map.note(format!(
            "{} inode tables overlap others and are omitted",
            all - tables.len()
        ));
    }
    tables.sort_by_key(|t| t.first);
    tables
}

/// Where the descriptor of a group lies, in bytes.
pub(super) fn descriptor_at(sb: &Superblock, group: u64) -> u64 {
    let size = u64::from(sb.block_size);
    let each = u64::from(sb.descriptor_size);
    let per_block = (size / each).max(1);
    let block = place(sb, group / per_block);
    block.saturating_mul(size) + group % per_block * each
}

/// A number of a descriptor: its lower 32 bits, and the upper ones where descriptors
/// have them.
pub(super) fn wide(sb: &Superblock, descriptor: &[u8], low: usize, high: usize) -> u64 {
    let high = match sb.descriptor_size >= 64 {
        true => le32(descriptor, high).unwrap_or(0),
        false => 0,
    };
    u64::from(le32(descriptor, low).unwrap_or(0)) | u64::from(high) << 32
}

/// A count of a descriptor: its lower 16 bits, and the upper ones where descriptors
/// have them.
pub(super) fn count(sb: &Superblock, descriptor: &[u8], low: usize, high: usize) -> u32 {
    let n16 = |at: usize| u32::from(le16(descriptor, at).unwrap_or(0));
    match sb.descriptor_size >= 64 {
        true => n16(low) | n16(high) << 16,
        false => n16(low),
    }
}

/// Puts such a count, or a sum, into a descriptor.
pub(super) fn put_halves(
    sb: &Superblock,
    descriptor: &mut [u8],
    (low, high): (usize, usize),
    n: u32,
) {
    let [a, b, c, d] = n.to_le_bytes();
    put(descriptor, low, &[a, b]);
    if sb.descriptor_size >= 64 {
        put(descriptor, high, &[c, d]);
    }
}

/// Where an inode lies in bytes, if a group's descriptor says so.
pub(super) fn inode_at(sb: &Superblock, descriptor: &[u8], number: u32) -> Option<u64> {
    let table = wide(sb, descriptor, 8, 0x28).checked_mul(u64::from(sb.block_size))?;
    let index = number.checked_sub(1)? % sb.inodes_per_group;
    table.checked_add(u64::from(index) * u64::from(sb.inode_size))
}

/// The block with descriptors number `index`.
pub(super) fn place(sb: &Superblock, index: u64) -> u64 {
    let per_block = (u64::from(sb.block_size) / u64::from(sb.descriptor_size)).max(1);
    let blocks = sb.groups().div_ceil(per_block);
    let old_blocks = match sb.has(1, incompat::META_BG) {
        true => u64::from(sb.first_meta_bg).min(blocks),
        false => blocks,
    };
    descriptor_block(sb, index, old_blocks, per_block)
}

/// The inode table of the first group: its first block, and how many of its inodes
/// may be in use.
pub(super) fn first_table(volume: &Part<'_>, sb: &Superblock) -> Result<Option<(u64, u32)>, Error> {
    let at = place(sb, 0).saturating_mul(u64::from(sb.block_size));
    let bytes = volume.read(at, usize::from(sb.descriptor_size))?;
    let found = Descriptor::of(&bytes, sb);
    let inside = (u64::from(sb.first_data_block)..sb.blocks).contains(&found.inode_table);
    Ok(inside.then_some((found.inode_table, found.used)))
}

/// The block with descriptors number `index` (`ext4_descriptor_loc`).
fn descriptor_block(sb: &Superblock, index: u64, old_blocks: u64, per_block: u64) -> u64 {
    // With blocks of 1 KiB and no block before the first, the superblock is in
    // block 1.
    let shift = u64::from(sb.block_size == 1024 && sb.first_data_block == 0);
    if index < old_blocks {
        return u64::from(sb.first_data_block) + 1 + index + shift;
    }
    let group = index.saturating_mul(per_block);
    let shift = if group == 0 { shift } else { 0 };
    sb.first_block(group) + u64::from(sb.has_copy(group)) + shift
}

/// Adds the superblock of a group, if it has one, and descriptors.
fn copies(
    sb: &Superblock,
    map: &mut Builder,
    group: u64,
    old_blocks: u64,
    meta_bg: bool,
    per_block: u64,
) {
    let mut at = sb.first_block(group);
    let end = sb.blocks.min(sb.first_block(group + 1));
    let mut put = |len: u64, kind, inode| {
        let len = len.min(end.saturating_sub(at));
        if len > 0 {
            map.add(at, len, kind, inode, 0);
        }
        at += len;
    };
    let has_copy = sb.has_copy(group);
    if has_copy {
        let first = group == 0 && sb.block_size == 1024 && sb.first_data_block == 0;
        put(1 + u64::from(first), Kind::Superblock, 0);
    }
    let meta = group / per_block.max(1);
    if !meta_bg || meta < old_blocks {
        if has_copy {
            put(old_blocks, Kind::GroupDescriptors, 0);
            let reserved = u64::from(sb.reserved_descriptors);
            if !meta_bg {
                put(reserved, Kind::ReservedDescriptors, RESIZE_INODE);
            }
        }
    } else if matches!(group % per_block.max(1), 0 | 1) || group % per_block.max(1) == per_block - 1
    {
        // The first, the second and the last group of each meta group.
        put(1, Kind::GroupDescriptors, 0);
    }
}

struct Descriptor {
    block_bitmap: u64,
    inode_bitmap: u64,
    inode_table: u64,
    used: u32,
}

impl Descriptor {
    fn of(bytes: &[u8], sb: &Superblock) -> Self {
        let mut unused = 0;
        // Only with checksums do descriptors say what was never written.
        if sb.has(2, ro_compat::GDT_CSUM | ro_compat::METADATA_CSUM) {
            unused = match le16(bytes, 0x12).unwrap_or(0) & INODE_UNINIT {
                0 => count(sb, bytes, 0x1c, 0x32),
                _ => sb.inodes_per_group,
            };
        }
        Self {
            block_bitmap: wide(sb, bytes, 0, 0x20),
            inode_bitmap: wide(sb, bytes, 4, 0x24),
            inode_table: wide(sb, bytes, 8, 0x28),
            used: sb.inodes_per_group.saturating_sub(unused),
        }
    }
}
