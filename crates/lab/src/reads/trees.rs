//! The blocks of an ext4 that say where the content of its files lies.

use crate::layout::Ordered;
use disk::{Kind, Map};
use std::collections::BTreeMap;

/// Blocks that say where files lie.
pub(super) struct Trees {
    /// By the place of the file among all: where each block lies, in bytes.
    pub of: BTreeMap<usize, Vec<u64>>,
    /// The place of a file among all, by its inode.
    numbers: BTreeMap<u32, usize>,
    /// The size of the volume, in bytes.
    pub bytes: u64,
}

impl Trees {
    /// Those of a volume of `bytes` bytes, of the files with these inodes.
    pub fn read(map: &Map, numbers: BTreeMap<u32, usize>, bytes: u64) -> Self {
        let block = map.facts.block_size.max(1024) as usize;
        let mut of: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for extent in map.extents().filter(|e| e.kind == Kind::ExtentTree) {
            if let Some(file) = extent.inode.and_then(|n| numbers.get(&n)) {
                let end = extent.start.saturating_add(extent.len);
                let blocks = (extent.start..end).step_by(block);
                of.entry(*file).or_default().extend(blocks);
            }
        }
        Self { of, numbers, bytes }
    }

    /// Where they lie when the image is laid out.
    pub fn moved(mut self, done: &Ordered) -> Self {
        let numbers = done.inodes.numbers.iter();
        let old: BTreeMap<u32, u32> = numbers.map(|(old, new)| (*new, *old)).collect();
        let gone = &done.arrangement.old_nodes;
        for blocks in self.of.values_mut() {
            blocks.retain(|at| gone.binary_search(at).is_err());
        }
        for (inode, at) in &done.arrangement.nodes {
            let inode = old.get(inode).unwrap_or(inode);
            if let Some(file) = self.numbers.get(inode) {
                self.of.entry(*file).or_default().push(*at);
            }
        }
        self
    }
}
