//! Where the nodes of each inode and directory are.
//!
//! A few words for each node, so that an image of gigabytes can be read in
//! little memory: names and data stay on flash until they are asked for.

use super::error::Error;
use super::loss::{Loss, Lost};
use super::node::{
    COMPATIBILITY, COMPATIBLE_DELETE, Content, Fault, HEADER, Header, Node, crc, padded,
};
use super::walk::{Item, Walk};
use crate::transfer::TransferError;
use rawimage::ReadAt;
use rawimage::endian::Endian;

/// A place in the image, in units of four bytes: 16 GiB at most.
pub(super) type Place = u32;

/// An inode node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct InodeAt {
    pub ino: u32,
    pub version: u32,
    pub at: Place,
}

/// A directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DirentAt {
    pub parent: u32,
    /// Checksum of the name.
    pub hash: u32,
    pub version: u32,
    pub at: Place,
    pub ino: u32,
}

/// An extended attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct XattrAt {
    pub xid: u32,
    pub version: u32,
    pub at: Place,
}

/// A reference to an extended attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct XrefAt {
    pub ino: u32,
    pub xid: u32,
    pub sequence: u32,
}

/// All nodes of an image.
#[derive(Debug, Default)]
pub(super) struct Index {
    pub inodes: Vec<InodeAt>,
    pub dirents: Vec<DirentAt>,
    pub xattrs: Vec<XattrAt>,
    pub xrefs: Vec<XrefAt>,
    /// Nodes that the kernel would not use.
    pub lost: Vec<Lost>,
    /// The first node of an unknown type that may not be ignored.
    pub unknown: Option<(u64, u16)>,
}

impl Index {
    /// Walks all blocks.
    pub fn build(image: &dyn ReadAt, endian: Endian, erase_size: u32) -> Result<Self, Error> {
        let length = image.length().map_err(TransferError::Length)?;
        if length / 4 > u64::from(Place::MAX) {
            return Err(Error::TooLong { length });
        }
        let mut index = Self::default();
        let size = u64::from(erase_size.max(4096));
        let mut buffer = vec![0; usize::try_from(size.min(length)).unwrap_or(0)];
        let mut start = 0;
        while start < length {
            let take = usize::try_from(size.min(length - start)).unwrap_or(0);
            let block = &mut buffer[..take];
            image
                .read_exact_at(start, block)
                .map_err(|source| TransferError::Read {
                    offset: start,
                    length: take,
                    source,
                })?;
            for item in Walk::new(endian, block) {
                index.item(start, item);
            }
            start += take as u64;
            make_room(&mut index.inodes, start, length);
            make_room(&mut index.dirents, start, length);
        }
        index.inodes.sort_unstable();
        index.dirents.sort_unstable();
        index.xattrs.sort_unstable();
        index.xrefs.sort_unstable();
        index.lost.sort_by_key(|l| l.why);
        Ok(index)
    }

    fn lose(&mut self, why: Loss, bytes: u64, first: u64) {
        let count = 1;
        let lost = Lost {
            why,
            count,
            bytes,
            first,
        };
        Lost::add(&mut self.lost, lost);
    }

    fn item(&mut self, start: u64, item: Item) {
        match item {
            Item::Garbage { offset, length } => {
                self.lose(Loss::Garbage, length as u64, start + offset as u64);
            }
            Item::Damaged(offset, fault) => {
                let bytes = match fault {
                    Fault::NodeCrc { length }
                    | Fault::DataCrc { length }
                    | Fault::NameCrc { length } => padded(length),
                    _ => 4,
                };
                self.lose(Loss::of(fault), bytes, start + offset as u64);
            }
            Item::Node(offset, node) if node.obsolete => {
                let at = start + offset as u64;
                self.lose(Loss::Obsolete, padded(node.length), at);
            }
            Item::Node(offset, node) => self.node(start + offset as u64, &node),
        }
    }

    fn node(&mut self, place: u64, node: &Node) {
        // Blocks begin at multiples of four, and so do nodes in them.
        let Ok(at) = Place::try_from(place / 4) else {
            return;
        };
        match node.content {
            Content::Inode(n) => self.inodes.push(InodeAt {
                ino: n.ino,
                version: n.version,
                at,
            }),
            Content::Dirent(n) => self.dirents.push(DirentAt {
                parent: n.parent,
                hash: crc(n.name),
                version: n.version,
                at,
                ino: n.ino,
            }),
            Content::Xattr(n) => self.xattrs.push(XattrAt {
                xid: n.xid,
                version: n.version,
                at,
            }),
            Content::Xref(n) => self.xrefs.push(XrefAt {
                ino: n.ino,
                xid: n.xid,
                sequence: n.sequence,
            }),
            Content::Unknown(kind) => {
                if kind & COMPATIBILITY == COMPATIBLE_DELETE {
                    self.lose(Loss::Unknown, padded(node.length), place);
                } else {
                    self.unknown.get_or_insert((place, kind));
                }
            }
            Content::Cleanmarker | Content::Padding | Content::Summary => {}
        }
    }

    /// The nodes of an inode, the oldest first.
    pub fn inode(&self, ino: u32) -> &[InodeAt] {
        range(&self.inodes, |n| n.ino, ino)
    }

    /// The entries of a directory.
    pub fn directory(&self, ino: u32) -> &[DirentAt] {
        range(&self.dirents, |n| n.parent, ino)
    }

    /// The references of an inode to attributes.
    pub fn references(&self, ino: u32) -> &[XrefAt] {
        range(&self.xrefs, |n| n.ino, ino)
    }

    /// The newest version of an attribute.
    pub fn attribute(&self, xid: u32) -> Option<&XattrAt> {
        range(&self.xattrs, |n| n.xid, xid).last()
    }
}

/// How full a list is when more room is made, and how much more than by its rate
/// is asked for: one part of so many.
const SLACK: usize = 16;
/// The most that is asked for at once, entries. What is never used takes no memory,
/// but must not be refused either.
const MOST_ROOM: usize = 1 << 24;

/// Makes room for what the rest of an image will hold if it is as the part up to
/// `at`. A list that grows by doubling is there twice each time that it does.
fn make_room<T>(list: &mut Vec<T>, at: u64, length: u64) {
    let free = list.capacity() - list.len();
    if at == 0 || free > list.len() / SLACK {
        return;
    }
    let expected = u128::from(length - at.min(length)) * list.len() as u128 / u128::from(at);
    let more = usize::try_from(expected)
        .unwrap_or(MOST_ROOM)
        .min(MOST_ROOM);
    // Where there is not so much, it grows as it is filled.
    list.try_reserve_exact(more + more / SLACK + list.len() / SLACK)
        .ok();
}

/// Those of a sorted list with a key.
fn range<T>(list: &[T], key: impl Fn(&T) -> u32, wanted: u32) -> &[T] {
    let start = list.partition_point(|n| key(n) < wanted);
    let rest = list.get(start..).unwrap_or_default();
    let count = rest.partition_point(|n| key(n) == wanted);
    rest.get(..count).unwrap_or_default()
}

/// A window over the image: nodes that are near each other are read at once.
#[derive(Debug)]
pub(super) struct Window {
    endian: Endian,
    ahead: u64,
    start: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// A window of at least `ahead` bytes.
    pub fn new(endian: Endian, ahead: u64) -> Self {
        Self {
            endian,
            ahead,
            start: 0,
            bytes: Vec::new(),
        }
    }

    /// `count` bytes at `at`, or fewer at the end of the image.
    fn get(&mut self, image: &dyn ReadAt, at: u64, count: u64) -> Result<&[u8], Error> {
        let held = self.start + self.bytes.len() as u64;
        if at < self.start || at.saturating_add(count) > held {
            let length = image.length().map_err(TransferError::Length)?;
            let take = count.max(self.ahead).min(length.saturating_sub(at));
            let take = usize::try_from(take).unwrap_or(0);
            self.bytes.resize(take, 0);
            self.start = at;
            let read = image.read_exact_at(at, &mut self.bytes);
            if let Err(source) = read {
                self.bytes.clear();
                return Err(TransferError::Read {
                    offset: at,
                    length: take,
                    source,
                }
                .into());
            }
        }
        let from = usize::try_from(at - self.start).unwrap_or(usize::MAX);
        let rest = self.bytes.get(from..).unwrap_or_default();
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        Ok(rest.get(..count).unwrap_or(rest))
    }

    /// The node at a place of the index. It was good when the index was built;
    /// an image that changes meanwhile is an error.
    pub fn node(&mut self, image: &dyn ReadAt, place: Place) -> Result<Node<'_>, Error> {
        let at = u64::from(place) * 4;
        let endian = self.endian;
        let changed = Error::Changed { offset: at };
        let head = self.get(image, at, HEADER as u64)?;
        let Ok(header) = Header::parse(endian, head) else {
            return Err(changed);
        };
        let whole = self.get(image, at, u64::from(header.length))?;
        Node::parse(endian, whole).map_err(|_| changed)
    }
}
