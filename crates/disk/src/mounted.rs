//! A filesystem that is mounted, as the kernel shows it: its tree, and where
//! the content of its files lies (`Documentation/filesystems/fiemap.rst`).
//!
//! The kernel says nothing of metadata there, so none is in such a map.

use crate::build::{Builder, Sharing};
use crate::facts::{Facts, State};
use crate::map::{Inode, Kind, Map};
use std::collections::HashMap;

/// What places are counted in, in bytes: no device has smaller blocks.
const UNIT: u64 = 512;

/// A map of a mounted filesystem, as it is put together.
pub struct Mounted {
    builder: Builder,
    facts: Facts,
    /// Inode numbers beyond 32 bits, and those that stand for them.
    large: HashMap<u64, u32>,
}

impl Mounted {
    /// A filesystem of `bytes`, in blocks of `block_size`, whose root has the
    /// inode `root`.
    #[must_use]
    pub fn new(filesystem: &'static str, bytes: u64, block_size: u32, root: u64) -> Self {
        let facts = Facts {
            blocks: bytes.checked_div(u64::from(block_size)).unwrap_or(0),
            ..Facts::bare(filesystem, bytes, block_size, State::NotClean)
        };
        let mut large = HashMap::new();
        let root = short(&mut large, root);
        Self {
            builder: Builder::new(UNIT, root, bytes / UNIT),
            facts,
            large,
        }
    }

    /// `inode` has the name `name` in the directory `parent`.
    pub fn name(&mut self, parent: u64, name: &[u8], inode: u64) {
        let (parent, inode) = (self.number(parent), self.number(inode));
        self.builder.names.add(parent, name, inode);
    }

    /// The symbolic link `inode` leads to `target`.
    pub fn target(&mut self, inode: u64, target: &[u8]) {
        let inode = self.number(inode);
        self.builder.names.add_target(inode, target);
    }

    /// There is an inode, with a content of `size` bytes.
    pub fn inode(&mut self, inode: u64, size: u64, kind: Kind) {
        let number = self.number(inode);
        self.builder.inodes.push(Inode { number, size, kind });
    }

    /// `len` bytes of an inode's content, from `offset` on, lie at byte `start`
    /// of the filesystem's device.
    pub fn extent(&mut self, inode: u64, kind: Kind, start: u64, len: u64, offset: u64) {
        let inode = self.number(inode);
        let first = start / UNIT;
        let units = start.saturating_add(len).div_ceil(UNIT) - first;
        self.builder.add(first, units, kind, inode, offset / UNIT);
    }

    /// Something is doubtful.
    pub fn note(&mut self, text: String) {
        self.builder.note(text);
    }

    /// The map. Files that share blocks on purpose (reflinks) are each told.
    #[must_use]
    pub fn finish(mut self) -> Map {
        if !self.large.is_empty() {
            let text = format!(
                "{} inodes have numbers beyond 32 bits; substitute numbers from {} down are shown \
                 instead",
                self.large.len(),
                u32::MAX
            );
            self.builder.note(text);
        }
        self.facts.inodes = self.builder.inodes.len() as u64;
        let block = u64::from(self.facts.block_size).max(UNIT);
        let mut map = self.builder.finish(self.facts, Sharing::Usual);
        // Files are read in whole blocks, however fine places are counted.
        map.block = block;
        map
    }

    fn number(&mut self, inode: u64) -> u32 {
        short(&mut self.large, inode)
    }
}

/// An inode's number, or the one that stands for it.
fn short(large: &mut HashMap<u64, u32>, inode: u64) -> u32 {
    if let Ok(number) = u32::try_from(inode) {
        return number;
    }
    let next = u32::MAX.saturating_sub(u32::try_from(large.len()).unwrap_or(u32::MAX));
    *large.entry(inode).or_insert(next)
}

#[cfg(test)]
mod tests {
    use super::Mounted;
    use crate::Kind;

    #[test]
    fn what_the_kernel_says_is_found_both_ways() {
        let mut mounted = Mounted::new("xfs", 1 << 30, 4096, 128);
        let large = (1 << 40) + 5;
        mounted.name(128, b"etc", 131);
        mounted.name(131, b"fstab", large);
        mounted.name(128, b"link", 140);
        mounted.target(140, b"etc/fstab");
        mounted.inode(large, 9000, Kind::File);
        mounted.extent(large, Kind::File, 1 << 20, 8192, 0);
        mounted.extent(large, Kind::File, 1 << 24, 4096, 8192);
        let map = mounted.finish();
        let inode = map.find(b"/link").unwrap();
        assert_eq!(map.find(b"/etc/fstab"), Some(inode));
        assert_eq!(map.path(inode).unwrap(), b"/etc/fstab");
        let extents = map.extents_of(&[inode]);
        let places: Vec<_> = extents[0]
            .iter()
            .map(|e| (e.start, e.len, e.offset))
            .collect();
        assert_eq!(
            places,
            [(1 << 20, 8192, Some(0)), (1 << 24, 4096, Some(8192))]
        );
        let mut pieces = Vec::new();
        map.pieces((1 << 24) - 512, 1024, &mut |e| {
            pieces.push((e.kind, e.len, e.offset))
        });
        assert_eq!(
            pieces,
            [(Kind::Unmapped, 512, None), (Kind::File, 512, Some(8192))]
        );
        assert!(map.notes[0].starts_with("1 inodes have numbers beyond 32 bits"));
    }
}
