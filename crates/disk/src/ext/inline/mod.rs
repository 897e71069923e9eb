//! Small files of an ext4 image moved into their inodes (`inline_data`).
//!
//! A file that lies in its inode needs no read of its own: the inode is read in any case.
//!
//! Fields and sums: the kernel's `fs/ext4/ext4.h`, `fs/ext4/inline.c`, and its
//! `Documentation/filesystems/ext4/`.

#[cfg(test)]
mod tests;

use super::arrange::tree::Tree;
use super::arrange::{ArrangeError, check};
use super::checksum::{Sums, put};
use super::inode::{Inode, flag};
use super::renumber::Tables;
use super::superblock::{AT, Superblock, compat, incompat};
use crate::Edited;
use crate::map::{Kind, Map};
use rawimage::bytes::le32;
use rawimage::{FileType, Part};

/// Files that cannot lie in their inodes, or that somebody has signed or encrypted.
const KEPT: u32 =
    flag::INLINE_DATA | flag::ENCRYPT | flag::EA_INODE | flag::VERITY | flag::JOURNAL_DATA;

/// Moves the content of files that have room in their inodes there, where `map` is the map of
/// `image`. Returns how many these are, each of which has freed a block.
///
/// The bitmaps still count the freed blocks: `e2fsck -f -y` puts that right, and copies the
/// feature into the other superblocks.
///
/// # Errors
/// The image cannot be read, is not clean, is damaged, or has no inodes with room or no
/// extents; then `image` is to be forgotten.
pub fn move_inline(image: &mut Edited<'_>, map: &Map) -> Result<u64, ArrangeError> {
    let volume = Part::whole(image)?;
    let sb = Superblock::read(&volume)?;
    check(&volume, &sb)?;
    // With the older formats the kernel's drivers for ext2 and ext3 would no longer mount it.
    if !sb.has(1, incompat::EXTENTS) {
        return Err(ArrangeError::NoExtents);
    }
    if sb.inode_size <= 128 {
        return Err(ArrangeError::SmallInodes);
    }
    let mut raw = volume.read(AT, 1024)?;
    let sums = Sums::of(&sb, &raw);
    let tables = Tables::read(&volume)?;
    let limit = u64::from(sb.inode_size).min(u64::from(sb.block_size));
    let small = map
        .inodes()
        .iter()
        .filter(|i| i.kind == Kind::File && (1..=limit).contains(&i.size))
        .filter(|i| i.number >= sb.first_inode);
    let mut changed = Vec::new();
    for number in small.map(|i| i.number) {
        let at = tables.place(number).unwrap_or(u64::MAX);
        let bytes = volume.read(at, usize::from(sb.inode_size))?;
        let inode = Inode::new(&bytes);
        if bytes.len() < usize::from(sb.inode_size)
            || inode.file_type() != FileType::File
            || inode.links() == 0
            || inode.flags() & KEPT != 0
            || inode.flags() & flag::EXTENTS == 0
        {
            continue;
        }
        let damaged = || ArrangeError::Inode { inode: number };
        let mut again = bytes.clone();
        sums.inode(number, &mut again);
        if again != bytes {
            return Err(damaged());
        }
        let tree = Tree::read(&volume, inode.root(), sb.block_size)?.ok_or_else(damaged)?;
        // A block that was reserved and never written reads as zeros, whatever is in it.
        let [only] = tree.pieces.as_slice() else {
            continue;
        };
        if !only.written || (only.logical, only.len) != (0, 1) {
            continue;
        }
        let size = usize::try_from(inode.size()).unwrap_or(usize::MAX);
        let place = only.physical.saturating_mul(u64::from(sb.block_size));
        let block = volume.read(place, sb.block_size as usize)?;
        let content = block.get(..size).ok_or_else(damaged)?;
        let Some(mut new) = inode.with_inline_data(content, sb.block_size) else {
            continue;
        };
        sums.inode(number, &mut new);
        changed.push((at, new));
    }
    if changed.is_empty() {
        return Ok(0);
    }
    let features = |word: usize, bit: u32| le32(&raw, word).unwrap_or(0) | bit;
    let (compatible, incompatible) = (
        features(0x5c, compat::EXT_ATTR),
        features(0x60, incompat::INLINE_DATA),
    );
    put(&mut raw, 0x5c, &compatible.to_le_bytes());
    put(&mut raw, 0x60, &incompatible.to_le_bytes());
    sums.superblock(&mut raw);
    image.put(AT, &raw)?;
    for (at, bytes) in &changed {
        image.put(*at, bytes)?;
    }
    Ok(changed.len() as u64)
}
