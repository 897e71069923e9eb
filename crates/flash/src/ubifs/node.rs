//! The nodes of UBIFS (`fs/ubifs/ubifs-media.h` of Linux). All fields are
//! little-endian, and each node begins with the same 24 bytes at a multiple of
//! eight:
//!
//! ```text
//! 0 u32 magic 0x06101831  4 u32 CRC of 8..  8 u64 sequence number
//! 16 u32 length  20 u8 type  21 u8 group
//! ```

use super::lebs::Lebs;
use crate::ubi::crc;
use rawimage::endian::{Endian, Fields};
use std::fmt;
use std::io;

/// The magic number of every node.
pub const MAGIC: u32 = 0x0610_1831;
/// Length of the header that all nodes share.
pub const HEADER: usize = 24;
/// The byte that fills small gaps between nodes.
const PADDING: u8 = 0xce;

/// Types of nodes.
pub mod kind {
    /// An inode.
    pub const INODE: u8 = 0;
    /// A piece of a file.
    pub const DATA: u8 = 1;
    /// A directory entry.
    pub const DIRENT: u8 = 2;
    /// The name of an extended attribute.
    pub const XATTR: u8 = 3;
    /// A file was cut.
    pub const TRUNCATION: u8 = 4;
    /// A gap.
    pub const PADDING: u8 = 5;
    /// The superblock.
    pub const SUPERBLOCK: u8 = 6;
    /// The master node.
    pub const MASTER: u8 = 7;
    /// A block of the journal.
    pub const REFERENCE: u8 = 8;
    /// A part of the index.
    pub const INDEX: u8 = 9;
    /// The start of a commit.
    pub const COMMIT: u8 = 10;
    /// Inodes without a name that are still open.
    pub const ORPHANS: u8 = 11;
    /// A signature of the nodes before.
    pub const AUTHENTICATION: u8 = 12;
    /// A signature of the superblock.
    pub const SIGNATURE: u8 = 13;
}

/// A node belongs together with the next one.
pub const IN_GROUP: u8 = 1;

/// The shortest and longest length of each type (`init_constants_early`).
const LENGTHS: [(u32, u32); 14] = [
    (160, 160 + 4096),
    (48, 48 + 4096),
    (56, 56 + 256),
    (56, 56 + 256),
    (56, 56),
    (28, 28),
    (4096, 4096),
    (512, 512),
    (64, 64),
    (28 + 20, u32::MAX),
    (32, 32),
    (32, u32::MAX),
    (24, 24 + 64),
    (64, u32::MAX),
];

/// Why there is no node at some place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No magic number.
    Magic,
    /// An unknown type, or a length that the type cannot have.
    Length,
    /// A wrong checksum.
    Crc,
    /// Another type than was expected.
    Kind {
        /// The type.
        found: u8,
    },
    /// The fields contradict each other.
    Fields,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Magic => write!(f, "no magic number {MAGIC:#010x}"),
            Self::Length => write!(f, "impossible type or length"),
            Self::Crc => write!(f, "wrong checksum"),
            Self::Kind { found } => write!(f, "unexpected type {found}"),
            Self::Fields => write!(f, "impossible fields"),
        }
    }
}

/// The header of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Orders all nodes.
    pub sequence: u64,
    /// Length of the node, bytes.
    pub length: u32,
    /// Its type.
    pub kind: u8,
    /// Whether it belongs together with others.
    pub group: u8,
}

impl Header {
    /// Reads and checks the node at the front of `bytes`, which end where its
    /// logical block ends.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Self, Fault> {
        let mut f = Fields::new(Endian::Little, bytes);
        if f.u32() != Some(MAGIC) {
            return Err(Fault::Magic);
        }
        let fields = (|| Some((f.u32()?, f.u64()?, f.u32()?, f.u8()?, f.u8()?)))();
        let (stored, sequence, length, kind, group) = fields.ok_or(Fault::Length)?;
        let (least, most) = LENGTHS
            .get(usize::from(kind))
            .copied()
            .ok_or(Fault::Length)?;
        if !(least..=most).contains(&length) {
            return Err(Fault::Length);
        }
        let whole = bytes.get(8..length as usize).ok_or(Fault::Length)?;
        if crc(whole) != stored {
            return Err(Fault::Crc);
        }
        Ok(Self {
            sequence,
            length,
            kind,
            group,
        })
    }
}

/// Lays a node out: `body` is all that follows the header.
#[must_use]
pub fn bytes(kind: u8, sequence: u64, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(HEADER + body.len()).unwrap_or(u32::MAX);
    let mut node = MAGIC.to_le_bytes().to_vec();
    node.extend([0; 4]);
    node.extend(sequence.to_le_bytes());
    node.extend(length.to_le_bytes());
    node.extend([kind, 0, 0, 0]);
    node.extend(body);
    let sum = crc(node.get(8..).unwrap_or_default());
    if let Some(place) = node.get_mut(4..8) {
        place.copy_from_slice(&sum.to_le_bytes());
    }
    node
}

/// A node in a logical block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it is.
    pub offset: u32,
    /// Its header.
    pub header: Header,
}

/// What is in a logical block.
#[derive(Debug, Default)]
pub struct Scan {
    /// The bytes, from the place where the scan began.
    pub bytes: Vec<u8>,
    /// Where the scan began.
    pub start: u32,
    /// The nodes, without padding.
    pub nodes: Vec<Found>,
    /// Where the nodes end.
    pub end: u32,
    /// What is wrong there, if there is more than erased space.
    pub broken: Option<Fault>,
}

impl Scan {
    /// Reads a logical block from `offset` on (`ubifs_scan`).
    ///
    /// # Errors
    /// What reading says.
    pub fn of(lebs: &Lebs, number: u32, offset: u32) -> io::Result<Self> {
        let is_there = u64::from(number) < lebs.count();
        let length = match is_there {
            true => lebs.leb_size.saturating_sub(offset) as usize,
            // Past the end all is erased.
            false => 0,
        };
        let mut scan = Self {
            bytes: vec![0; length],
            start: offset,
            end: offset,
            ..Self::default()
        };
        lebs.read(number, offset, &mut scan.bytes)?;
        let mut at = 0;
        while let Some(rest) = scan.bytes.get(at..).filter(|rest| rest.len() >= 8) {
            let step = match Header::parse(rest) {
                Ok(header) if header.kind == kind::PADDING => padding(rest),
                Ok(header) => {
                    let offset = scan.start + u32::try_from(at).unwrap_or(u32::MAX);
                    scan.nodes.push(Found { offset, header });
                    Some((header.length as usize).next_multiple_of(8))
                }
                Err(Fault::Magic) if rest.starts_with(&[0xff; 4]) => {
                    let erased = rest.iter().all(|b| *b == 0xff);
                    scan.broken = (!erased).then_some(Fault::Magic);
                    break;
                }
                Err(Fault::Magic) => match gap(rest) {
                    0 => {
                        scan.broken = Some(Fault::Magic);
                        None
                    }
                    gap => Some(gap),
                },
                Err(fault) => {
                    scan.broken = Some(fault);
                    None
                }
            };
            let Some(step) = step else {
                scan.broken.get_or_insert(Fault::Fields);
                break;
            };
            at += step;
        }
        let end = scan.start + u32::try_from(at).unwrap_or(u32::MAX);
        scan.end = end.min(lebs.leb_size);
        Ok(scan)
    }

    /// The bytes of a node.
    #[must_use]
    pub fn node(&self, found: &Found) -> &[u8] {
        let at = (found.offset - self.start) as usize;
        let end = at + found.header.length as usize;
        self.bytes.get(at..end).unwrap_or_default()
    }
}

/// How far a padding node reaches.
fn padding(node: &[u8]) -> Option<usize> {
    let mut f = Fields::new(Endian::Little, node.get(HEADER..)?);
    let length = 28_usize.checked_add(f.u32()? as usize)?;
    (length.is_multiple_of(8) && length <= node.len()).then_some(length)
}

/// How many padding bytes there are: up to 28, and a multiple of eight.
fn gap(bytes: &[u8]) -> usize {
    let count = bytes.iter().take(28).take_while(|b| **b == PADDING).count();
    if count.is_multiple_of(8) { count } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_node_is_read_back(sequence: u64, body in proptest::collection::vec(any::<u8>(), 136..300)) {
            let node = bytes(kind::INODE, sequence, &body);
            let header = Header::parse(&node).map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert_eq!((header.sequence, header.length as usize), (sequence, node.len()));
        }

        #[test]
        fn a_flipped_bit_is_noticed(bit in 0_usize..160 * 8) {
            let mut node = bytes(kind::INODE, 7, &[3; 136]);
            node[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Header::parse(&node).is_err());
        }
    }
}
