//! The index: a tree on flash that leads to every inode, name and piece of
//! data, with what the journal changes (`fs/ubifs/tnc.c`, `replay.c`).

use super::Error;
use super::journal::Journal;
use super::lebs::Lebs;
use super::master::Master;
use super::node::{Found, Header, kind};
use super::superblock::Superblock;
use rawimage::endian::{Endian, Fields};
use std::collections::BTreeMap;

/// The deepest tree.
const LEVELS: u16 = 512;
/// So many nodes can be worked with.
pub const MOST_NODES: usize = 1 << 21;
/// Bytes of a file in one data node.
pub const BLOCK: u64 = 4096;

/// What a key is for: the upper three bits of its second word.
pub mod key {
    /// An inode.
    pub const INODE: u32 = 0;
    /// A piece of a file, by its number.
    pub const DATA: u32 = 1;
    /// A name in a directory, by its hash.
    pub const DIRENT: u32 = 2;
    /// A name of an extended attribute, by its hash.
    pub const XATTR: u32 = 3;
    /// The lower bits: hash or number.
    pub const MASK: u32 = 0x1fff_ffff;
}

/// The key of a node: the inode that it belongs to, and type with hash or
/// number.
pub type Key = (u32, u32);

/// A node, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Its key.
    pub key: Key,
    /// The logical block.
    pub leb: u32,
    /// Where in it.
    pub offset: u32,
    /// How long it is.
    pub length: u32,
}

/// A part of the index that could not be read; what it leads to is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The logical block.
    pub leb: u32,
    /// Where in it.
    pub offset: u32,
}

/// All nodes, sorted by key.
#[derive(Debug, Default)]
pub struct Index {
    leaves: Vec<Leaf>,
    /// What could not be read.
    pub damage: Vec<Damage>,
    /// Lengths of files that a power cut left wrong, as the kernel mends them.
    pub sizes: BTreeMap<u32, u64>,
}

/// One step of the journal.
struct Step {
    sequence: u64,
    leaf: Leaf,
    what: What,
}

enum What {
    /// The node takes the place of the one before.
    Put,
    /// The node takes the place of the one with this name.
    PutName(Vec<u8>),
    /// The name is gone.
    RemoveName(Vec<u8>),
    /// The inode is gone, with all that belongs to it.
    RemoveInode,
    /// The file was cut from one length to another.
    Cut(u64, u64),
}

impl Index {
    /// Reads the tree, and the journal if `recover` or not.
    pub fn read(
        lebs: &Lebs,
        superblock: &Superblock,
        master: &Master,
        recover: bool,
    ) -> Result<(Self, Journal), Error> {
        let mut index = Self::default();
        index.tree(lebs, master)?;
        // Names with one hash stay in the order of the tree.
        index.leaves.sort_by_key(|l| l.key);
        let mut steps = Vec::new();
        let journal = Journal::read(
            lebs,
            superblock,
            master,
            recover,
            &mut |leb, found, node| {
                if steps.len() < MOST_NODES {
                    steps.extend(step(leb, found, node));
                }
            },
        )?;
        steps.sort_by_key(|s| s.sequence);
        index.replay(lebs, &steps, recover)?;
        Ok((index, journal))
    }

    /// The nodes with keys from `first` to `last`.
    pub fn range(&self, first: Key, last: Key) -> &[Leaf] {
        let start = self.leaves.partition_point(|l| l.key < first);
        let end = self.leaves.partition_point(|l| l.key <= last);
        self.leaves.get(start..end).unwrap_or_default()
    }

    /// The nodes of one type that belong to an inode.
    pub fn of(&self, ino: u32, kind: u32) -> &[Leaf] {
        let first = kind << 29;
        self.range((ino, first), (ino, first | key::MASK))
    }

    /// All inodes, ascending.
    pub fn inodes(&self) -> impl Iterator<Item = u32> {
        let inodes = self.leaves.iter().filter(|l| l.key.1 >> 29 == key::INODE);
        inodes.map(|l| l.key.0)
    }

    /// Walks the tree from its root.
    fn tree(&mut self, lebs: &Lebs, master: &Master) -> Result<(), Error> {
        // Each node takes room of its own.
        let mut most = lebs.length() / 48 + 1;
        let (leb, offset, length) = master.root;
        let mut to_do = vec![(leb, offset, length, LEVELS)];
        let mut bytes = Vec::new();
        while let Some((leb, offset, length, below)) = to_do.pop() {
            let node = match most.checked_sub(1) {
                Some(rest) => {
                    most = rest;
                    index_node(lebs, (leb, offset, length), below, &mut bytes)?
                }
                None => None,
            };
            let Some((level, size)) = node else {
                self.damage.push(Damage { leb, offset });
                continue;
            };
            let branches = bytes.get(28..).unwrap_or_default();
            let branches = branches.chunks_exact(size.max(20)).filter_map(branch);
            if level == 0 {
                if self.leaves.len() > MOST_NODES {
                    return Err(Error::TooManyNodes);
                }
                self.leaves.extend(branches);
            } else {
                let children = branches.map(|b| (b.leb, b.offset, b.length, level));
                to_do.extend(children);
            }
        }
        Ok(())
    }

    /// Applies the journal, in the order in which it was written.
    fn replay(&mut self, lebs: &Lebs, steps: &[Step], recover: bool) -> Result<(), Error> {
        let mut changed: BTreeMap<Key, Vec<Leaf>> = BTreeMap::new();
        // Whether the last word on an inode is that it is gone.
        let mut gone = BTreeMap::new();
        for step in steps {
            match step.what {
                What::RemoveInode => gone.insert(step.leaf.key.0, true),
                What::Put if step.leaf.key.1 >> 29 == key::INODE => {
                    gone.insert(step.leaf.key.0, false)
                }
                _ => None,
            };
        }
        for step in steps {
            let (ino, _) = step.leaf.key;
            match &step.what {
                What::Put => {
                    changed.insert(step.leaf.key, vec![step.leaf]);
                }
                What::PutName(name) | What::RemoveName(name) => {
                    let leaves = self.group(&mut changed, step.leaf.key);
                    let mut kept = Vec::new();
                    for leaf in leaves.drain(..) {
                        if name_of(lebs, &leaf)?.as_ref() != Some(name) {
                            kept.push(leaf);
                        }
                    }
                    *leaves = kept;
                    if matches!(step.what, What::PutName(_)) {
                        leaves.push(step.leaf);
                    }
                }
                What::RemoveInode if gone.get(&ino) == Some(&true) => {
                    self.remove(&mut changed, (ino, 0), (ino, u32::MAX));
                }
                What::RemoveInode => {}
                What::Cut(old, new) => {
                    let block = |at: u64| u32::try_from(at).unwrap_or(key::MASK).min(key::MASK);
                    let (first, last) = (new.div_ceil(BLOCK), old.saturating_sub(1) / BLOCK);
                    let data = key::DATA << 29;
                    let range = ((ino, data | block(first)), (ino, data | block(last)));
                    if range.0 <= range.1 {
                        self.remove(&mut changed, range.0, range.1);
                    }
                }
            }
        }
        if recover {
            self.mend_sizes(lebs, steps, &gone)?;
        }
        self.leaves.retain(|l| !changed.contains_key(&l.key));
        self.leaves.extend(changed.into_values().flatten());
        self.leaves.sort_by_key(|l| l.key);
        Ok(())
    }

    /// The nodes with one key, as they are after the steps so far.
    fn group<'c>(&self, changed: &'c mut BTreeMap<Key, Vec<Leaf>>, key: Key) -> &'c mut Vec<Leaf> {
        changed
            .entry(key)
            .or_insert_with(|| self.range(key, key).to_vec())
    }

    fn remove(&self, changed: &mut BTreeMap<Key, Vec<Leaf>>, first: Key, last: Key) {
        for leaf in self.range(first, last) {
            changed.insert(leaf.key, Vec::new());
        }
        for (_, leaves) in changed.range_mut(first..=last) {
            leaves.clear();
        }
    }

    /// Lengths of files whose data was written and whose inode was not
    /// (`ubifs_recover_size`).
    fn mend_sizes(
        &mut self,
        lebs: &Lebs,
        steps: &[Step],
        gone: &BTreeMap<u32, bool>,
    ) -> Result<(), Error> {
        let mut ends: BTreeMap<u32, (Option<u64>, u64)> = BTreeMap::new();
        for step in steps {
            let (ino, word) = step.leaf.key;
            let (size, end) = ends.entry(ino).or_default();
            match step.what {
                What::Put if word >> 29 == key::INODE => *size = inode_size(lebs, &step.leaf)?,
                What::Put if word >> 29 == key::DATA => {
                    let start = u64::from(word & key::MASK) * BLOCK;
                    let length = data_size(lebs, &step.leaf)?;
                    *end = (*end).max(start + length);
                }
                What::Cut(_, new) => *end = new,
                _ => {}
            }
        }
        for (ino, (size, end)) in ends {
            if gone.get(&ino) == Some(&true) {
                continue;
            }
            let before = match (size, self.of(ino, key::INODE).first()) {
                (Some(size), _) => Some(size),
                (None, Some(leaf)) => inode_size(lebs, leaf)?,
                (None, None) => None,
            };
            if before.is_some_and(|before| before < end) {
                self.sizes.insert(ino, end);
            }
        }
        Ok(())
    }
}

/// Reads an index node: its level, which is below another one's, and the length
/// of a branch.
fn index_node(
    lebs: &Lebs,
    (leb, offset, length): (u32, u32, u32),
    below: u16,
    bytes: &mut Vec<u8>,
) -> Result<Option<(u16, usize)>, Error> {
    if length > lebs.leb_size || u64::from(leb) >= lebs.count() {
        return Ok(None);
    }
    bytes.resize(length as usize, 0);
    match lebs.read(leb, offset, bytes) {
        Ok(()) => {}
        Err(e) if e.kind() == std::io::ErrorKind::InvalidInput => return Ok(None),
        Err(e) => return Err(Error::Read(e)),
    }
    let Ok(header) = Header::parse(bytes) else {
        return Ok(None);
    };
    let mut f = Fields::new(Endian::Little, bytes.get(24..).unwrap_or_default());
    let (Some(children), Some(level)) = (f.u16(), f.u16()) else {
        return Ok(None);
    };
    // A signed filesystem has a hash behind each branch.
    let size = (header.length as usize - 28).checked_div(children.into());
    let good = header.kind == kind::INDEX && header.length == length && level < below;
    Ok(size
        .filter(|size| good && *size >= 20)
        .map(|size| (level, size)))
}

fn branch(bytes: &[u8]) -> Option<Leaf> {
    let mut f = Fields::new(Endian::Little, bytes);
    let (leb, offset, length) = (f.u32()?, f.u32()?, f.u32()?);
    let key = (f.u32()?, f.u32()?);
    Some(Leaf {
        key,
        leb,
        offset,
        length,
    })
}

/// What a node of the journal means.
fn step(leb: u32, found: &Found, node: &[u8]) -> Option<Step> {
    let mut f = Fields::new(Endian::Little, node.get(24..)?);
    let (first, second) = (f.u32()?, f.u32()?);
    let field = |at: usize| {
        let mut f = Fields::new(Endian::Little, node.get(at..)?);
        f.u64()
    };
    let mut key = (first, second);
    let what = match found.header.kind {
        // Without links: the last name is gone.
        kind::INODE => {
            let mut links = Fields::new(Endian::Little, node.get(92..)?);
            match links.u32()? {
                0 => What::RemoveInode,
                _ => What::Put,
            }
        }
        kind::DATA => What::Put,
        kind::DIRENT | kind::XATTR => {
            let name = dirent_name(node)?.to_vec();
            match field(40)? {
                0 => What::RemoveName(name),
                _ => What::PutName(name),
            }
        }
        kind::TRUNCATION => {
            // It has no key: the inode alone stands in its place.
            key = (first, key::DATA << 29);
            What::Cut(field(40)?, field(48)?)
        }
        _ => return None,
    };
    Some(Step {
        sequence: found.header.sequence,
        leaf: Leaf {
            key,
            leb,
            offset: found.offset,
            length: found.header.length,
        },
        what,
    })
}

/// The name in a directory entry.
pub fn dirent_name(node: &[u8]) -> Option<&[u8]> {
    let mut f = Fields::new(Endian::Little, node.get(50..)?);
    let length = usize::from(f.u16()?);
    node.get(56..)?.get(..length)
}

/// Reads a node and checks that it is one of this type and length.
pub fn node(lebs: &Lebs, leaf: &Leaf, wanted: u8) -> Result<Option<Vec<u8>>, Error> {
    let most = 1 << 16;
    if leaf.length > most || u64::from(leaf.leb) >= lebs.count() {
        return Ok(None);
    }
    let mut bytes = vec![0; leaf.length as usize];
    match lebs.read(leaf.leb, leaf.offset, &mut bytes) {
        Ok(()) => {}
        Err(e) if e.kind() == std::io::ErrorKind::InvalidInput => return Ok(None),
        Err(e) => return Err(Error::Read(e)),
    }
    let header = Header::parse(&bytes);
    let good = header.is_ok_and(|h| h.kind == wanted && h.length == leaf.length);
    Ok(good.then_some(bytes))
}

fn name_of(lebs: &Lebs, leaf: &Leaf) -> Result<Option<Vec<u8>>, Error> {
    let wanted = match leaf.key.1 >> 29 {
        key::XATTR => kind::XATTR,
        _ => kind::DIRENT,
    };
    let node = node(lebs, leaf, wanted)?;
    Ok(node.and_then(|n| dirent_name(&n).map(<[u8]>::to_vec)))
}

fn inode_size(lebs: &Lebs, leaf: &Leaf) -> Result<Option<u64>, Error> {
    let node = node(lebs, leaf, kind::INODE)?;
    Ok(node.and_then(|n| Fields::new(Endian::Little, n.get(48..)?).u64()))
}

fn data_size(lebs: &Lebs, leaf: &Leaf) -> Result<u64, Error> {
    let node = node(lebs, leaf, kind::DATA)?;
    let size = node.and_then(|n| Fields::new(Endian::Little, n.get(40..)?).u32());
    Ok(size.map_or(0, u64::from).min(BLOCK))
}
