//! Inodes: 32 bytes, or 64 where that is too narrow.

use super::superblock::Superblock;
use rawimage::FileType;
use rawimage::Part;
use rawimage::bytes::{le16, le32, le64};
use std::io;

/// How the content of a file is laid out (`EROFS_INODE_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Whole blocks, one after the other.
    Plain,
    /// Packed, with an index of eight bytes for each logical cluster.
    PackedFull,
    /// Whole blocks, and the rest behind the inode.
    Inline,
    /// Packed, with a dense index.
    PackedCompact,
    /// Pieces of equal size, each with a place of its own.
    Chunks,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Inode {
    /// Where it lies.
    pub at: u64,
    /// How long it is with its attributes.
    pub length: u64,
    pub layout: Layout,
    pub file_type: FileType,
    pub size: u64,
    /// A block, or the format of chunks.
    pub union: u32,
}

impl Inode {
    /// Where the content or the index behind it begins.
    pub(super) fn end(&self) -> u64 {
        self.at.saturating_add(self.length)
    }

    /// Reads an inode. `None` if there is none.
    pub(super) fn read(volume: &Part<'_>, sb: &Superblock, nid: u64) -> io::Result<Option<Self>> {
        let at = nid.checked_mul(32).and_then(|at| at.checked_add(sb.meta));
        let Some(at) = at else {
            return Ok(None);
        };
        Ok(Self::parse(&volume.read(at, 64)?, at))
    }

    fn parse(bytes: &[u8], at: u64) -> Option<Self> {
        let format = le16(bytes, 0)?;
        let is_long = format & 1 == 1;
        let layout = match (format >> 1) & 7 {
            0 => Layout::Plain,
            1 => Layout::PackedFull,
            2 => Layout::Inline,
            3 => Layout::PackedCompact,
            4 => Layout::Chunks,
            _ => return None,
        };
        let size = match is_long {
            true => le64(bytes, 8)?,
            false => u64::from(le32(bytes, 8)?),
        };
        let own = if is_long { 64 } else { 32 };
        bytes.get(..own)?;
        // A header of twelve bytes, and four for each further one.
        let xattrs = match le16(bytes, 2)? {
            0 => 0,
            count => 12 + 4 * (u64::from(count) - 1),
        };
        Some(Self {
            at,
            length: own as u64 + xattrs,
            layout,
            file_type: FileType::of_mode(u32::from(le16(bytes, 4)?)),
            size,
            union: le32(bytes, 16)?,
        })
    }
}
