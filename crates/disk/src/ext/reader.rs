//! What the reading of one image carries from inode to inode.

use super::checksum::Sums;
use super::superblock::Superblock;
use crate::build::Builder;
use rawimage::Part;
use std::collections::HashSet;
use std::io;

/// What the reading of one image needs everywhere.
pub(super) struct Reader<'a, 'v> {
    pub volume: &'a Part<'v>,
    pub sb: &'a Superblock,
    pub map: Builder,
    /// Blocks of trees that were followed: none leads to itself.
    pub followed: HashSet<u64>,
    /// So many blocks of directories may still be read: no more than there are.
    pub directory_blocks: u64,
    /// Set where the image ends before the filesystem does.
    pub cut: bool,
    /// What its sums begin with.
    pub sums: Sums,
    /// The generation of the inode that is read: sums of its blocks begin with it.
    pub generation: u32,
}

impl Reader<'_, '_> {
    pub fn read_block(&mut self, block: u64) -> io::Result<Option<Vec<u8>>> {
        let size = u64::from(self.sb.block_size);
        let bytes = self
            .volume
            .read(block.saturating_mul(size), self.sb.block_size as usize)?;
        let whole = bytes.len() as u64 == size;
        self.cut |= !whole;
        Ok(whole.then_some(bytes))
    }

    /// Reads a block that says where content lies, once.
    pub fn metadata_block(&mut self, block: u64, inode: u32) -> io::Result<Option<Vec<u8>>> {
        if !self.is_inside(block, 1, inode) {
            return Ok(None);
        }
        if !self.followed.insert(block) {
            self.map.note(format!(
                "inode {inode}: block {block} maps the same content twice"
            ));
            return Ok(None);
        }
        self.read_block(block)
    }

    /// Whether blocks can be there; a note if not.
    pub fn is_inside(&mut self, first: u64, len: u64, inode: u32) -> bool {
        let end = first.checked_add(len);
        let low = u64::from(self.sb.first_data_block);
        let inside = first >= low && end.is_some_and(|e| e <= self.sb.blocks);
        if !inside {
            self.map.note(format!(
                "inode {inode}: blocks {first}+{len} are outside the filesystem"
            ));
        }
        inside
    }
}
