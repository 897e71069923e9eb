//! The summary at the end of an erase block (`fs/jffs2/summary.h`): what nodes
//! the block holds, so that a mount need not read them.
//!
//! ```text
//! node: 12 header  12 u32 entries  16 u32 clean marker size  20 u32 padded
//!       24 u32 CRC of all after 32  28 u32 CRC of 0..24  32 entries, 0xff ...
//! the last 8 bytes of the block: u32 offset of the node in the block, u32 magic
//! ```

use super::node::{HEADER, SUMMARY, crc, header, header_bytes, kind};
use rawimage::endian::{Endian, Fields};
use std::fmt;

/// The last word of a block that has a summary.
pub const MARKER_MAGIC: u32 = 0x0285_1885;
/// Length of the marker at the end of the block.
pub const MARKER: usize = 8;

/// One line of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry<'a> {
    /// An inode node.
    Inode {
        /// The inode's number.
        ino: u32,
        /// Its version.
        version: u32,
        /// Where the node is in the block.
        offset: u32,
        /// The node's length.
        length: u32,
    },
    /// A directory entry.
    Dirent {
        /// The node's length.
        length: u32,
        /// Where the node is in the block.
        offset: u32,
        /// The directory.
        parent: u32,
        /// Its version.
        version: u32,
        /// What the name means; 0 is "deleted".
        ino: u32,
        /// Type of the file, a `DT_` value.
        file_type: u8,
        /// The name, without a terminator.
        name: &'a [u8],
    },
    /// An extended attribute.
    Xattr {
        /// The attribute's number.
        xid: u32,
        /// Its version.
        version: u32,
        /// Where the node is in the block.
        offset: u32,
        /// The node's length.
        length: u32,
    },
    /// A reference to an extended attribute.
    Xref {
        /// Where the node is in the block.
        offset: u32,
    },
}

impl<'a> Entry<'a> {
    /// Appends the entry as it stands on flash. A name is cut at 255 bytes.
    pub(crate) fn write(&self, endian: Endian, out: &mut Vec<u8>) {
        let (kind, numbers): (u16, &[u32]) = match self {
            Self::Inode {
                ino,
                version,
                offset,
                length,
            } => (kind::INODE, &[*ino, *version, *offset, *length]),
            Self::Dirent {
                length,
                offset,
                parent,
                version,
                ino,
                ..
            } => (kind::DIRENT, &[*length, *offset, *parent, *version, *ino]),
            Self::Xattr {
                xid,
                version,
                offset,
                length,
            } => (kind::XATTR, &[*xid, *version, *offset, *length]),
            Self::Xref { offset } => (kind::XREF, &[*offset]),
        };
        out.extend(endian.put16(kind));
        for number in numbers {
            out.extend(endian.put32(*number));
        }
        if let Self::Dirent {
            file_type, name, ..
        } = self
        {
            let nsize = u8::try_from(name.len()).unwrap_or(u8::MAX);
            out.extend([nsize, *file_type]);
            out.extend(&name[..usize::from(nsize)]);
        }
    }

    fn read(f: &mut Fields<'a>) -> Option<Self> {
        Some(match f.u16()? {
            kind::INODE => Self::Inode {
                ino: f.u32()?,
                version: f.u32()?,
                offset: f.u32()?,
                length: f.u32()?,
            },
            kind::DIRENT => {
                let (length, offset) = (f.u32()?, f.u32()?);
                let (parent, version, ino) = (f.u32()?, f.u32()?, f.u32()?);
                let (nsize, file_type) = (f.u8()?, f.u8()?);
                Self::Dirent {
                    length,
                    offset,
                    parent,
                    version,
                    ino,
                    file_type,
                    name: f.bytes(usize::from(nsize))?,
                }
            }
            kind::XATTR => Self::Xattr {
                xid: f.u32()?,
                version: f.u32()?,
                offset: f.u32()?,
                length: f.u32()?,
            },
            kind::XREF => Self::Xref { offset: f.u32()? },
            _ => return None,
        })
    }

    /// Where the node that it speaks of is in the block.
    #[must_use]
    pub fn offset(&self) -> u32 {
        match self {
            Self::Inode { offset, .. }
            | Self::Dirent { offset, .. }
            | Self::Xattr { offset, .. }
            | Self::Xref { offset } => *offset,
        }
    }
}

/// One of the five conditions under which the kernel uses a summary
/// (`jffs2_sum_scan_sumnode()`). Where one fails, the whole block is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Condition {
    /// The last word of the block is the magic number.
    Marker,
    /// The checksum of the summary node's header.
    HeaderCrc,
    /// The node fills the block from where the marker says to the end.
    Length,
    /// The checksum of the node's fixed part.
    NodeCrc,
    /// The checksum of the entries.
    EntriesCrc,
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Marker => "the marker at the end of the block is missing",
            Self::HeaderCrc => "its header checksum is wrong",
            Self::Length => "its length does not extend to the end of the block",
            Self::NodeCrc => "its node checksum is wrong",
            Self::EntriesCrc => "the checksum of its entries is wrong",
        })
    }
}

/// A summary that fulfils all five conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary<'a> {
    /// Where the node begins in the block; it reaches to the end.
    pub offset: u32,
    /// How many entries it claims.
    pub count: u32,
    /// The clean marker size of the block; 0 if there is none.
    pub cleanmarker: u32,
    endian: Endian,
    body: &'a [u8],
}

/// Whether a block has a summary that the kernel will use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State<'a> {
    /// There is no marker at the end.
    Absent,
    /// There is a marker, and this is what is wrong with the node.
    Broken(Condition),
    /// The kernel uses it.
    Good(Summary<'a>),
}

/// The marker at the end of `block`: the offset that it gives.
#[must_use]
pub fn marker(endian: Endian, block: &[u8]) -> Option<u32> {
    let last = block.last_chunk::<MARKER>()?;
    let mut f = Fields::new(endian, last);
    let (offset, magic) = (f.u32()?, f.u32()?);
    (magic == MARKER_MAGIC).then_some(offset)
}

impl<'a> State<'a> {
    /// Looks at the end of `block`, a whole erase block.
    #[must_use]
    pub fn of(endian: Endian, block: &'a [u8]) -> Self {
        let Some(offset) = marker(endian, block) else {
            return Self::Absent;
        };
        match Self::node(endian, block, offset) {
            Ok(summary) => Self::Good(summary),
            Err(condition) => Self::Broken(condition),
        }
    }

    fn node(endian: Endian, block: &'a [u8], offset: u32) -> Result<Summary<'a>, Condition> {
        let node = block.get(offset as usize..).ok_or(Condition::Length)?;
        if node.len() < SUMMARY + MARKER {
            return Err(Condition::Length);
        }
        let mut f = Fields::new(endian, node);
        let fixed = (|| {
            f.u32()?;
            let (length, header_crc) = (f.u32()?, f.u32()?);
            let (count, cleanmarker, _padded) = (f.u32()?, f.u32()?, f.u32()?);
            Some((length, header_crc, count, cleanmarker, f.u32()?, f.u32()?))
        })();
        let (length, header_crc, count, cleanmarker, body_crc, node_crc) =
            fixed.ok_or(Condition::Length)?;
        // The kernel makes the header from what it expects, not from flash.
        if header_crc != crc(&header_bytes(endian, kind::SUMMARY, length)) {
            return Err(Condition::HeaderCrc);
        }
        if length as usize != node.len() {
            return Err(Condition::Length);
        }
        if node_crc != crc(node.get(..24).unwrap_or_default()) {
            return Err(Condition::NodeCrc);
        }
        let body = f.rest();
        if body_crc != crc(body) {
            return Err(Condition::EntriesCrc);
        }
        Ok(Summary {
            offset,
            count,
            cleanmarker,
            endian,
            body: &body[..body.len() - MARKER],
        })
    }
}

impl<'a> Summary<'a> {
    /// The node's length.
    #[must_use]
    pub fn length(&self) -> u32 {
        u32::try_from(SUMMARY + self.body.len() + MARKER).unwrap_or(u32::MAX)
    }

    /// The entries in order; `Err` once, as the last, where they cannot be read
    /// on (the kernel then reads the whole block).
    pub fn entries(&self) -> impl Iterator<Item = Result<Entry<'a>, Unreadable>> + use<'a> {
        let mut fields = Fields::new(self.endian, self.body);
        let mut left = self.count;
        std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let entry = Entry::read(&mut fields).ok_or(Unreadable);
            if entry.is_err() {
                left = 0;
            }
            Some(entry)
        })
    }
}

/// An entry of an unknown type, or more entries claimed than there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

/// Appends a summary node that fills `block` up to `erase_size`.
///
/// `entries` are `count` entries as they stand on flash. Returns `false`, and
/// writes nothing, where they do not fit.
pub(crate) fn write(
    endian: Endian,
    block: &mut Vec<u8>,
    erase_size: u32,
    entries: &[u8],
    count: u32,
    cleanmarker: u32,
) -> bool {
    let offset = block.len();
    let end = erase_size as usize;
    let Some(length) = end.checked_sub(offset) else {
        return false;
    };
    if length < SUMMARY + entries.len() + MARKER {
        return false;
    }
    let (Ok(offset32), Ok(length32)) = (u32::try_from(offset), u32::try_from(length)) else {
        return false;
    };
    block.extend(header(endian, kind::SUMMARY, length32));
    for number in [count, cleanmarker, 0] {
        block.extend(endian.put32(number));
    }
    let node_crc = crc(&block[offset..]);
    block.extend([0; 4]);
    block.extend(endian.put32(node_crc));
    block.extend(entries);
    block.resize(end - MARKER, 0xff);
    block.extend(endian.put32(offset32));
    block.extend(endian.put32(MARKER_MAGIC));
    let body_crc = endian.put32(crc(&block[offset + SUMMARY..]));
    block[offset + 2 * HEADER..][..4].copy_from_slice(&body_crc);
    true
}
