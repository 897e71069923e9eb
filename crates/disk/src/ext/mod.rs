//! ext2, ext3 and ext4.

pub mod arrange;
mod checksum;
mod directory;
mod group;
pub mod inline;
mod inode;
mod reader;
pub mod renumber;
pub mod superblock;
#[cfg(test)]
mod tests;
mod tree;

use crate::build::{Builder, Sharing};
use crate::error::Error;
use crate::map::{Inode as Known, Kind, Map};
use checksum::Sums;
use group::Table;
use inode::{Inode, flag};
use rawimage::FileType;
use rawimage::Part;
use reader::Reader;
use std::collections::HashSet;
use std::io;
use superblock::{Superblock, ro_compat};
use tree::{Found, Run};

/// The root's inode (`EXT4_ROOT_INO`).
pub(crate) const ROOT: u32 = 2;
const BAD_BLOCKS: u32 = 1;
const RESIZE: u32 = 7;
/// So much of an inode table is read at once, in bytes.
const CHUNK: u64 = 1 << 20;
/// `filetype` of the incompatible features.
const FILETYPE: u32 = 0x2;

impl Reader<'_, '_> {
    fn names(&mut self, directory: u32, block: &[u8]) {
        let has_types = self.sb.has(1, FILETYPE);
        let map = &mut self.map;
        let mut refused = false;
        let sound = directory::entries(block, has_types, &mut |inode, name| {
            if !matches!(name, b"." | b"..") {
                refused |= !map.names.add(directory, name, inode);
            }
        });
        if refused {
            map.note(format!(
                "directory {directory}: contains invalid file names"
            ));
        }
        if !sound {
            map.note(format!("directory {directory}: a block is damaged"));
        }
    }

    fn kind_of(&self, number: u32, inode: &Inode<'_>) -> Kind {
        let sb = self.sb;
        let is = |n: u32| n != 0 && n == number;
        if number == BAD_BLOCKS {
            Kind::BadBlocks
        } else if is(sb.journal) {
            Kind::Journal
        } else if sb.quotas.into_iter().any(is) {
            Kind::Quota
        } else if is(sb.orphan_file) {
            Kind::OrphanFile
        } else if inode.flags() & flag::EA_INODE != 0 {
            Kind::Xattr
        } else {
            match inode.file_type() {
                FileType::Directory => Kind::Directory,
                FileType::Symlink => Kind::Symlink,
                _ => Kind::File,
            }
        }
    }

    /// Takes one inode that is in use.
    fn inode(&mut self, number: u32, inode: &Inode<'_>) -> io::Result<()> {
        let kind = self.kind_of(number, inode);
        self.map.inodes.push(Known {
            number,
            size: inode.size(),
            kind,
        });
        let xattr = inode.xattr_block();
        if xattr != 0 && self.is_inside(xattr, 1, number) && self.followed.insert(xattr) {
            self.map.add(xattr, 1, Kind::Xattr, number, 0);
        }
        let file_type = inode.file_type();
        let has_content = matches!(
            file_type,
            FileType::File | FileType::Directory | FileType::Symlink
        );
        // Inodes that the filesystem keeps for itself have no type, often.
        let is_kept = number < 11 && file_type == FileType::Unknown;
        if !(has_content || is_kept) {
            return Ok(());
        }
        let root = inode.root();
        if inode.flags() & flag::INLINE_DATA != 0 {
            self.inline(number, inode, kind);
            return Ok(());
        }
        if file_type == FileType::Symlink && inode.is_fast_symlink(self.sb.block_size) {
            let length = usize::try_from(inode.size()).unwrap_or(0);
            let target = root.get(..length).unwrap_or_default();
            self.map.names.add_target(number, target);
            return Ok(());
        }
        let mut content = Content { number, kind };
        self.generation = inode.generation();
        if inode.flags() & flag::EXTENTS != 0 {
            tree::extents(self, number, root, &mut content)
        } else if number == RESIZE {
            self.resize(root);
            Ok(())
        } else {
            tree::indirect(self, number, root, &mut content)
        }
    }

    /// Content that lies in the inode itself.
    fn inline(&mut self, number: u32, inode: &Inode<'_>, kind: Kind) {
        let root = inode.root();
        match kind {
            Kind::Directory => {
                // The first four bytes are the parent's number.
                self.names(number, root.get(4..).unwrap_or_default());
                self.names(number, inode.inline_rest());
            }
            Kind::Symlink => {
                let mut target = [root, inode.inline_rest()].concat();
                target.truncate(usize::try_from(inode.size()).unwrap_or(0));
                self.map.names.add_target(number, &target);
            }
            _ => {}
        }
    }

    /// The inode that keeps room for descriptors has one double indirect
    /// block; what that leads to is known from the groups.
    fn resize(&mut self, root: &[u8]) {
        let block = rawimage::bytes::le32(root, 13 * 4).unwrap_or(0);
        let block = u64::from(block);
        if block != 0 && self.is_inside(block, 1, RESIZE) {
            self.map.add(block, 1, Kind::ResizeInode, RESIZE, 0);
        }
    }

    fn table(&mut self, table: &Table) -> io::Result<()> {
        let size = u64::from(self.sb.inode_size);
        let start = table.block.saturating_mul(u64::from(self.sb.block_size));
        let length = u64::from(table.used) * size;
        let mut done = 0;
        while done < length {
            let want = (length - done).min(CHUNK);
            let bytes = self.volume.read(
                start.saturating_add(done),
                usize::try_from(want).unwrap_or(0),
            )?;
            self.cut |= (bytes.len() as u64) < want;
            let first = u64::from(table.first) + done / size;
            let inodes = bytes.chunks_exact(usize::from(self.sb.inode_size));
            for (bytes, number) in inodes.zip(first..) {
                let inode = Inode::new(bytes);
                let Ok(number) = u32::try_from(number) else {
                    break;
                };
                // As e2fsprogs does: without a name it is free, but for those
                // that the filesystem keeps for itself.
                if inode.links() == 0 && !(number == BAD_BLOCKS || number == RESIZE) {
                    continue;
                }
                self.inode(number, &inode)?;
            }
            if (bytes.len() as u64) < want {
                break;
            }
            done += want;
        }
        Ok(())
    }

    /// Files that were deleted while they were open.
    fn orphans(&mut self, tables: &[Table]) -> io::Result<()> {
        let mut next = self.sb.last_orphan;
        let mut seen = HashSet::new();
        while next != 0 && seen.insert(next) {
            let at = tables.partition_point(|t| t.first <= next);
            let Some(table) = at.checked_sub(1).and_then(|at| tables.get(at)) else {
                break;
            };
            let size = u64::from(self.sb.inode_size);
            let start = table.block.saturating_mul(u64::from(self.sb.block_size));
            let at = u64::from(next - table.first).saturating_mul(size);
            let bytes = self
                .volume
                .read(start.saturating_add(at), usize::from(self.sb.inode_size))?;
            let inode = Inode::new(&bytes);
            if next >= table.first.saturating_add(table.used) || inode.mode() == 0 {
                self.map.note(format!(
                    "the orphan list refers to inode {next}, which is free"
                ));
                break;
            }
            if inode.links() == 0 {
                self.inode(next, &inode)?;
            }
            next = inode.next_orphan();
        }
        Ok(())
    }
}

/// Adds the content of one inode to the map.
struct Content {
    number: u32,
    kind: Kind,
}

impl Found for Content {
    fn run(&mut self, reader: &mut Reader<'_, '_>, run: Run) -> io::Result<()> {
        let Run {
            logical,
            physical,
            len,
        } = run;
        reader
            .map
            .add(physical, len, self.kind, self.number, logical);
        match self.kind {
            Kind::Directory => {
                for block in physical..physical + len {
                    if reader.directory_blocks == 0 {
                        reader
                            .map
                            .note("the directories claim more blocks than the filesystem has");
                        return Ok(());
                    }
                    reader.directory_blocks -= 1;
                    if let Some(bytes) = reader.read_block(block)? {
                        reader.names(self.number, &bytes);
                    }
                }
            }
            Kind::Symlink if logical == 0 => {
                if let Some(bytes) = reader.read_block(physical)? {
                    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
                    let target = bytes.get(..end).unwrap_or_default();
                    reader.map.names.add_target(self.number, target);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn metadata(&mut self, reader: &mut Reader<'_, '_>, block: u64, kind: Kind) {
        reader.map.add(block, 1, kind, self.number, 0);
    }
}

/// Where a journal lies.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    /// Its pieces: the first block in it, where that lies, how many.
    runs: Vec<(u64, u64, u64)>,
    /// The blocks that say so.
    pub metadata: Vec<u64>,
    /// Whether they are extents, and not numbers of blocks.
    pub has_extents: bool,
}

impl Journal {
    /// Where a block of it lies.
    pub(crate) fn block(&self, number: u64) -> Option<u64> {
        let after = self.runs.partition_point(|r| r.0 <= number);
        let (logical, physical, len) = self.runs.get(after.checked_sub(1)?)?;
        let within = number - logical;
        (within < *len).then(|| physical + within)
    }
}

impl Found for Journal {
    fn run(&mut self, _: &mut Reader<'_, '_>, run: Run) -> io::Result<()> {
        self.runs.push((run.logical, run.physical, run.len));
        Ok(())
    }

    fn metadata(&mut self, _: &mut Reader<'_, '_>, block: u64, _: Kind) {
        self.metadata.push(block);
    }
}

/// Where the journal lies. Its inode is expected in the first group, as the kernel
/// has it.
pub(crate) fn journal(volume: &Part<'_>, sb: &Superblock) -> Result<Journal, Error> {
    let mut found = Journal::default();
    let Some((table, _)) = first_table(volume, sb)? else {
        return Ok(found);
    };
    let number = sb.journal;
    let at = u64::from(number.saturating_sub(1)).saturating_mul(u64::from(sb.inode_size));
    let at = table
        .saturating_mul(u64::from(sb.block_size))
        .saturating_add(at);
    let bytes = volume.read(at, usize::from(sb.inode_size))?;
    let inode = Inode::new(&bytes);
    found.has_extents = inode.flags() & flag::EXTENTS != 0;
    let most = (sb.blocks.min(volume.len() / 12 + 1024)).saturating_add(1024);
    let mut reader = Reader {
        volume,
        sb,
        map: Builder::new(u64::from(sb.block_size), ROOT, most),
        followed: HashSet::new(),
        directory_blocks: 0,
        cut: false,
        sums: Sums::of(sb, &volume.read(superblock::AT, 1024)?),
        generation: inode.generation(),
    };
    match found.has_extents {
        true => tree::extents(&mut reader, number, inode.root(), &mut found)?,
        false => tree::indirect(&mut reader, number, inode.root(), &mut found)?,
    }
    found.runs.sort_unstable();
    Ok(found)
}

/// The first block of the inode table of the first group, and how many of its
/// inodes may be in use.
pub(crate) fn first_table(volume: &Part<'_>, sb: &Superblock) -> Result<Option<(u64, u32)>, Error> {
    group::first_table(volume, sb)
}

/// The block with descriptors number `index`.
pub(crate) fn descriptor_block(sb: &Superblock, index: u64) -> u64 {
    group::place(sb, index)
}

/// What the superblock says.
///
/// # Errors
/// There is none, or it is damaged or uses what cannot be read.
pub(super) fn facts(volume: &Part<'_>) -> Result<super::Facts, Error> {
    Ok(Superblock::read(volume)?.facts)
}

/// Maps an ext2, ext3 or ext4 filesystem.
///
/// # Errors
/// It is none, is damaged in its superblock or descriptors, or uses what
/// cannot be read; and whatever reading says.
pub fn map(volume: &Part<'_>) -> Result<Map, Error> {
    let sb = Superblock::read(volume)?;
    // Every piece has at least one block of the filesystem, or one extent of
    // twelve bytes that says so: an image has no more.
    let most = sb.blocks.min(volume.len() / 12 + 1024).saturating_add(1024);
    let mut builder = Builder::new(u64::from(sb.block_size), ROOT, most);
    let tables = group::groups(volume, &sb, &mut builder)?;
    if sb.mmp != 0 && sb.mmp < sb.blocks {
        builder.add(sb.mmp, 1, Kind::Mmp, 0, 0);
    }
    let mut reader = Reader {
        volume,
        sb: &sb,
        map: builder,
        followed: HashSet::new(),
        directory_blocks: sb.blocks,
        cut: false,
        sums: Sums::of(&sb, &volume.read(superblock::AT, 1024)?),
        generation: 0,
    };
    for table in &tables {
        reader.table(table)?;
    }
    reader.orphans(&tables)?;
    if sb.facts.state == super::State::NeedsRecovery {
        reader
            .map
            .note("the journal must be replayed; the map shows the state before that");
    }
    if reader.cut {
        let (has, needs) = (volume.len(), sb.facts.bytes);
        reader.map.note(format!(
            "the image is truncated: it has {has} of {needs} bytes; the rest is omitted"
        ));
    }
    let sharing = match sb.has(2, ro_compat::SHARED_BLOCKS) {
        true => Sharing::Told("shared_blocks"),
        false => Sharing::Damage,
    };
    Ok(reader.map.finish(sb.facts.clone(), sharing))
}
