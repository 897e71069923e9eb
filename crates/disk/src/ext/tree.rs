//! Where the content of a file lies: extents, and the block numbers of ext2.

use super::reader::Reader;
use crate::map::Kind;
use rawimage::bytes::{le16, le32};
use std::io;

const EXTENT_MAGIC: u16 = 0xf30a;
/// Trees are at most so deep (`EXT4_MAX_EXTENT_DEPTH`).
const DEEPEST: u16 = 5;
/// An extent with a greater length is one that was never written, and as long
/// as what is above this.
const INITIALISED: u16 = 32_768;

/// A piece of a file: in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Where in the file.
    pub logical: u64,
    /// Where in the filesystem.
    pub physical: u64,
    /// How many.
    pub len: u64,
}

/// What following a file's pieces comes upon.
pub(super) trait Found {
    /// Content.
    fn run(&mut self, reader: &mut Reader<'_, '_>, run: Run) -> io::Result<()>;
    /// A block that says where content lies.
    fn metadata(&mut self, reader: &mut Reader<'_, '_>, block: u64, kind: Kind);
}

/// Follows a tree of extents from the 60 bytes in an inode.
pub(super) fn extents(
    reader: &mut Reader<'_, '_>,
    inode: u32,
    root: &[u8],
    found: &mut dyn Found,
) -> io::Result<()> {
    extent_node(reader, inode, root, DEEPEST + 1, found)
}

fn extent_node(
    reader: &mut Reader<'_, '_>,
    inode: u32,
    node: &[u8],
    above: u16,
    found: &mut dyn Found,
) -> io::Result<()> {
    let depth = le16(node, 6).unwrap_or(u16::MAX);
    if le16(node, 0) != Some(EXTENT_MAGIC) || depth >= above {
        reader
            .map
            .note(format!("inode {inode}: its extent tree is damaged"));
        return Ok(());
    }
    let count = usize::from(le16(node, 2).unwrap_or(0));
    let entries = node.get(12..).unwrap_or_default().chunks_exact(12);
    for entry in entries.take(count) {
        let n16 = |at| le16(entry, at).unwrap_or(0);
        let n32 = |at| le32(entry, at).unwrap_or(0);
        let logical = u64::from(n32(0));
        if depth > 0 {
            let block = u64::from(n32(4)) | u64::from(n16(8)) << 32;
            let Some(bytes) = reader.metadata_block(block, inode)? else {
                continue;
            };
            if reader.sums.extents_hold(inode, reader.generation, &bytes) == Some(false) {
                reader.map.note(format!(
                    "inode {inode}: block {block} of its extent tree has a wrong checksum; the \
                     kernel refuses to read the file there"
                ));
            }
            found.metadata(reader, block, Kind::ExtentTree);
            extent_node(reader, inode, &bytes, depth, found)?;
            continue;
        }
        let len = match n16(4) {
            len if len <= INITIALISED => len,
            len => len - INITIALISED,
        };
        let run = Run {
            logical,
            physical: u64::from(n32(8)) | u64::from(n16(6)) << 32,
            len: u64::from(len),
        };
        if run.len > 0 && reader.is_inside(run.physical, run.len, inode) {
            found.run(reader, run)?;
        }
    }
    Ok(())
}

/// Follows block numbers: twelve of content, and one each of a single, double
/// and triple indirect block.
pub(super) fn indirect(
    reader: &mut Reader<'_, '_>,
    inode: u32,
    root: &[u8],
    found: &mut dyn Found,
) -> io::Result<()> {
    let mut pending = Pending { run: None };
    let per_block = u64::from(reader.sb.block_size / 4);
    let mut logical: u64 = 0;
    for (at, entry) in root.chunks_exact(4).take(15).enumerate() {
        let block = u64::from(le32(entry, 0).unwrap_or(0));
        let depth = u32::try_from(at.saturating_sub(11)).unwrap_or(0);
        let covers = per_block.pow(depth);
        if block != 0 {
            indirect_node(reader, inode, block, depth, logical, &mut pending, found)?;
        }
        logical += covers;
    }
    pending.flush(reader, found)
}

fn indirect_node(
    reader: &mut Reader<'_, '_>,
    inode: u32,
    block: u64,
    depth: u32,
    logical: u64,
    pending: &mut Pending,
    found: &mut dyn Found,
) -> io::Result<()> {
    if depth == 0 {
        if reader.is_inside(block, 1, inode) {
            pending.add(reader, logical, block, found)?;
        }
        return Ok(());
    }
    let Some(bytes) = reader.metadata_block(block, inode)? else {
        return Ok(());
    };
    found.metadata(reader, block, Kind::IndirectBlock);
    let covers = u64::from(reader.sb.block_size / 4).pow(depth - 1);
    for (entry, at) in bytes.chunks_exact(4).zip(0_u64..) {
        let next = u64::from(le32(entry, 0).unwrap_or(0));
        if next != 0 {
            let logical = logical + at * covers;
            indirect_node(reader, inode, next, depth - 1, logical, pending, found)?;
        }
    }
    Ok(())
}

/// Joins single blocks that follow each other.
struct Pending {
    run: Option<Run>,
}

impl Pending {
    fn add(
        &mut self,
        reader: &mut Reader<'_, '_>,
        logical: u64,
        physical: u64,
        found: &mut dyn Found,
    ) -> io::Result<()> {
        if let Some(run) = &mut self.run
            && run.logical + run.len == logical
            && run.physical + run.len == physical
        {
            run.len += 1;
            return Ok(());
        }
        self.flush(reader, found)?;
        self.run = Some(Run {
            logical,
            physical,
            len: 1,
        });
        Ok(())
    }

    fn flush(&mut self, reader: &mut Reader<'_, '_>, found: &mut dyn Found) -> io::Result<()> {
        match self.run.take() {
            Some(run) => found.run(reader, run),
            None => Ok(()),
        }
    }
}
