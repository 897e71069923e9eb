//! The extents of one file: read, changed, and written again.

use super::super::checksum::{Sums, put};
use rawimage::Part;
use rawimage::bytes::{le16, le32};
use std::collections::BTreeMap;
use std::io;

const MAGIC: u16 = 0xf30a;
/// An extent longer than this was never written, and is as long as what is above.
const INITIALISED: u16 = 32_768;
/// So many extents, or blocks of them, fit into an inode.
const IN_INODE: usize = 4;
/// So many blocks of extents are read of one file.
const MOST_NODES: usize = 1024;
/// Trees are at most so deep (`EXT4_MAX_EXTENT_DEPTH`).
const DEEPEST: u16 = 5;

/// A piece of a file, in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Piece {
    pub logical: u64,
    pub physical: u64,
    pub len: u64,
    /// Whether it has content: else it reads as zeros.
    pub written: bool,
}

/// Where a file's content lies.
#[derive(Debug, Default)]
pub(in super::super) struct Tree {
    /// In order, without overlap.
    pub pieces: Vec<Piece>,
    /// The blocks that say so.
    pub nodes: Vec<u64>,
}

impl Tree {
    /// Reads the tree whose root is the 60 bytes in an inode; `None` if it is
    /// damaged.
    pub(in super::super) fn read(
        volume: &Part<'_>,
        root: &[u8],
        block_size: u32,
    ) -> io::Result<Option<Self>> {
        let mut tree = Self::default();
        if !tree.node(volume, root, block_size, DEEPEST + 1)? {
            return Ok(None);
        }
        let mut end = 0;
        let in_order = tree.pieces.iter().all(|p| {
            let follows = p.logical >= end;
            end = p.logical.saturating_add(p.len);
            follows
        });
        Ok(in_order.then_some(tree))
    }

    fn node(&mut self, volume: &Part<'_>, node: &[u8], size: u32, above: u16) -> io::Result<bool> {
        let depth = le16(node, 6).unwrap_or(u16::MAX);
        if le16(node, 0) != Some(MAGIC) || depth >= above {
            return Ok(false);
        }
        let count = usize::from(le16(node, 2).unwrap_or(0));
        let entries = node.get(12..).unwrap_or_default().chunks_exact(12);
        for entry in entries.take(count) {
            let n16 = |at| le16(entry, at).unwrap_or(0);
            let n32 = |at| le32(entry, at).unwrap_or(0);
            if depth > 0 {
                let block = u64::from(n32(4)) | u64::from(n16(8)) << 32;
                // A tree that leads to itself has no end; one of more nodes could not be
                // written again.
                if self.nodes.len() >= MOST_NODES {
                    return Ok(false);
                }
                self.nodes.push(block);
                let at = block.saturating_mul(u64::from(size));
                let below = volume.read(at, size as usize)?;
                if !self.node(volume, &below, size, depth)? {
                    return Ok(false);
                }
                continue;
            }
            let (len, written) = match n16(4) {
                len if len <= INITIALISED => (len, true),
                len => (len - INITIALISED, false),
            };
            self.pieces.push(Piece {
                logical: u64::from(n32(0)),
                physical: u64::from(n32(8)) | u64::from(n16(6)) << 32,
                len: u64::from(len),
                written,
            });
        }
        Ok(true)
    }

    /// Where a block of the file lies, if it has content.
    pub(super) fn place(&self, logical: u64) -> Option<u64> {
        let after = self.pieces.partition_point(|p| p.logical <= logical);
        let piece = self.pieces.get(after.checked_sub(1)?)?;
        let within = logical - piece.logical;
        (within < piece.len && piece.written).then(|| piece.physical + within)
    }

    /// The pieces when some blocks of the file (the key) lie elsewhere.
    pub(super) fn moved(&self, to: &BTreeMap<u64, u64>) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut add = |new: Piece| {
            let most = u64::from(INITIALISED) - u64::from(!new.written);
            match pieces.last_mut() {
                Some(last)
                    if last.written == new.written
                        && last.logical + last.len == new.logical
                        && last.physical + last.len == new.physical
                        && last.len + new.len <= most =>
                {
                    last.len += new.len;
                }
                _ => pieces.push(new),
            }
        };
        for piece in &self.pieces {
            let end = piece.logical + piece.len;
            let mut at = piece.logical;
            while at < end {
                let (physical, until) = match to.get(&at) {
                    Some(physical) if piece.written => (*physical, at + 1),
                    _ => {
                        let next = to.range(at + 1..end).next().map_or(end, |(l, _)| *l);
                        (piece.physical + (at - piece.logical), next)
                    }
                };
                add(Piece {
                    logical: at,
                    physical,
                    len: until - at,
                    written: piece.written,
                });
                at = until;
            }
        }
        pieces
    }
}

/// How many extents a block holds.
pub(super) const fn per_block(block_size: u32) -> usize {
    (block_size as usize - 12) / 12
}

/// How many blocks of extents so many pieces need; `None` if it is more than an
/// inode can name.
pub(super) fn nodes_for(pieces: usize, block_size: u32) -> Option<usize> {
    if pieces <= IN_INODE {
        return Some(0);
    }
    let nodes = pieces.div_ceil(per_block(block_size));
    (nodes <= IN_INODE).then_some(nodes)
}

/// The 60 bytes for the inode, and the blocks of extents at `nodes`.
pub(super) fn written(
    pieces: &[Piece],
    nodes: &[u64],
    block_size: u32,
    sums: Sums,
    (inode, generation): (u32, u32),
) -> (Vec<u8>, Vec<(u64, Vec<u8>)>) {
    let mut root = vec![0; 60];
    if nodes.is_empty() {
        header(&mut root, pieces.len(), IN_INODE, 0);
        for (number, piece) in pieces.iter().enumerate() {
            put(&mut root, 12 + 12 * number, &extent(piece));
        }
        return (root, Vec::new());
    }
    header(&mut root, nodes.len(), IN_INODE, 1);
    let most = per_block(block_size);
    let mut blocks = Vec::new();
    for (number, (at, part)) in nodes.iter().zip(pieces.chunks(most)).enumerate() {
        let mut block = vec![0; block_size as usize];
        header(&mut block, part.len(), most, 0);
        for (place, piece) in part.iter().enumerate() {
            put(&mut block, 12 + 12 * place, &extent(piece));
        }
        sums.extents(inode, generation, &mut block, most);
        let first = part.first().map_or(0, |p| p.logical);
        let mut index = [0; 12];
        put(&mut index, 0, &low(first));
        put(&mut index, 4, &low(*at));
        put(&mut index, 8, &high(*at));
        put(&mut root, 12 + 12 * number, &index);
        blocks.push((at.saturating_mul(u64::from(block_size)), block));
    }
    (root, blocks)
}

fn header(node: &mut [u8], entries: usize, most: usize, depth: u16) {
    let n16 = |n: usize| u16::try_from(n).unwrap_or(u16::MAX).to_le_bytes();
    put(node, 0, &MAGIC.to_le_bytes());
    put(node, 2, &n16(entries));
    put(node, 4, &n16(most));
    put(node, 6, &depth.to_le_bytes());
}

fn extent(piece: &Piece) -> [u8; 12] {
    let length = u16::try_from(piece.len).unwrap_or(0);
    let length = match piece.written {
        true => length,
        false => length.saturating_add(INITIALISED),
    };
    let mut bytes = [0; 12];
    put(&mut bytes, 0, &low(piece.logical));
    put(&mut bytes, 4, &length.to_le_bytes());
    put(&mut bytes, 6, &high(piece.physical));
    put(&mut bytes, 8, &low(piece.physical));
    bytes
}

/// The lower 32 bits.
fn low(n: u64) -> [u8; 4] {
    let [a, b, c, d, ..] = n.to_le_bytes();
    [a, b, c, d]
}

/// The 16 bits above them.
fn high(n: u64) -> [u8; 2] {
    let [_, _, _, _, a, b, ..] = n.to_le_bytes();
    [a, b]
}
