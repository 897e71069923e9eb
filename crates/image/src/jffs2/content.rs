//! What is in a file: the newest node that holds each part of it.

use super::decompress::{self, Decompressor, Failure};
use super::error::Error;
use super::filesystem::Filesystem;
use super::index::{Place, Window};
use super::node::Content;
use std::collections::BTreeMap;

/// Takes the pieces of a file, each with its place in it.
pub type Pieces<'f> = dyn FnMut(u32, Piece) -> std::io::Result<()> + 'f;

/// A piece of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// These bytes.
    Data(&'a [u8]),
    /// So many zeros.
    Zeros(u32),
    /// So many bytes that no node holds; a mount gives zeros. The kernel and
    /// `mkfs.jffs2` write a node for each hole, so that something is missing.
    Gap(u32),
    /// So many bytes that could not be had, and why; a mount gives an error.
    Lost(u32, Failure),
}

/// How much is read at once.
const FILE_WINDOW: u64 = 128 * 1024;

/// So many decompressed nodes are kept of those that newer ones split up.
const KEPT: usize = 8;

/// Reads files one after another, with one window and one decompressor.
pub(super) struct Reader<'f> {
    filesystem: &'f Filesystem<'f>,
    window: Window,
    decompressor: Decompressor,
    extents: Vec<Extent>,
    /// Data of split nodes, the last used at the end.
    kept: Vec<(Place, Vec<u8>)>,
}

/// A part of a file, and the node that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    start: u32,
    end: u32,
    /// Where in the file the node's data begins.
    origin: u32,
    at: Place,
}

impl<'f> Reader<'f> {
    pub fn new(filesystem: &'f Filesystem<'f>) -> Self {
        Self {
            filesystem,
            window: Window::new(filesystem.endian(), FILE_WINDOW),
            decompressor: Decompressor::default(),
            extents: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// Finds out which node holds each part of a file, and the file's length.
    fn extents(&mut self, ino: u32) -> Result<u32, Error> {
        self.extents.clear();
        let mut size = 0;
        let mut in_order = true;
        let image = self.filesystem.image.get();
        for node in self.filesystem.index.inode(ino) {
            let Content::Inode(inode) = self.window.node(image, node.at)?.content else {
                continue;
            };
            size = inode.isize;
            let (start, end) = (inode.offset, inode.offset.saturating_add(inode.dsize));
            if start == end {
                continue;
            }
            in_order &= self.extents.last().is_none_or(|last| last.end <= start);
            self.extents.push(Extent {
                start,
                end,
                origin: start,
                at: node.at,
            });
        }
        if !in_order {
            let mut map = BTreeMap::new();
            for extent in &self.extents {
                overlay(&mut map, *extent);
            }
            self.extents = map.into_values().collect();
        }
        Ok(size)
    }

    /// Hands out all of a file, from front to end.
    pub fn file(&mut self, ino: u32, pieces: &mut Pieces) -> Result<(), Error> {
        let size = self.extents(ino)?;
        let extents = std::mem::take(&mut self.extents);
        let mut at = 0;
        for extent in &extents {
            let end = extent.end.min(size);
            if extent.start >= size {
                break;
            }
            if extent.start > at {
                pieces(at, Piece::Gap(extent.start - at)).map_err(Error::Write)?;
            }
            self.extent(*extent, end, pieces)?;
            at = end;
        }
        if at < size {
            pieces(at, Piece::Gap(size - at)).map_err(Error::Write)?;
        }
        self.extents = extents;
        Ok(())
    }

    /// Hands out one extent up to `end`.
    fn extent(&mut self, extent: Extent, end: u32, pieces: &mut Pieces) -> Result<(), Error> {
        let length = end - extent.start;
        let skip = (extent.start - extent.origin) as usize;
        if let Some(i) = self.kept.iter().position(|(at, _)| *at == extent.at) {
            let kept = self.kept.remove(i);
            pieces(extent.start, part(&kept.1, skip, length)).map_err(Error::Write)?;
            self.kept.push(kept);
            return Ok(());
        }
        let image = self.filesystem.image.get();
        let Content::Inode(inode) = self.window.node(image, extent.at)?.content else {
            return Ok(());
        };
        if inode.compression == decompress::kind::ZERO {
            return pieces(extent.start, Piece::Zeros(length)).map_err(Error::Write);
        }
        let kind = inode.compression;
        let run = self.decompressor.run(kind, inode.data, inode.dsize);
        let piece = match run {
            Ok(data) => {
                let split = length < inode.dsize && kind != decompress::kind::NONE;
                if split {
                    if self.kept.len() == KEPT {
                        self.kept.remove(0);
                    }
                    self.kept.push((extent.at, data.to_vec()));
                }
                part(data, skip, length)
            }
            Err(why) => Piece::Lost(length, why),
        };
        pieces(extent.start, piece).map_err(Error::Write)
    }
}

/// `length` bytes of a node's data.
fn part(data: &[u8], skip: usize, length: u32) -> Piece<'_> {
    let rest = data.get(skip..).unwrap_or_default();
    match rest.get(..length as usize) {
        Some(part) => Piece::Data(part),
        None => Piece::Lost(length, Failure::Corrupt),
    }
}

/// Lays an extent over those in `map`, by start, which do not overlap.
fn overlay(map: &mut BTreeMap<u32, Extent>, new: Extent) {
    // The one that begins before and reaches into it.
    if let Some((_, before)) = map.range_mut(..new.start).next_back()
        && before.end > new.start
    {
        let mut tail = *before;
        before.end = new.start;
        if tail.end > new.end {
            tail.start = new.end;
            map.insert(tail.start, tail);
        }
    }
    // Those that begin in it.
    while let Some((&start, _)) = map.range(new.start..new.end).next() {
        if let Some(mut covered) = map.remove(&start)
            && covered.end > new.end
        {
            covered.start = new.end;
            map.insert(covered.start, covered);
        }
    }
    map.insert(new.start, new);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn overlaying_is_painting(writes in proptest::collection::vec((0_u32..50, 1_u32..30), 0..40)) {
            let mut painted = [None; 100];
            let mut map = BTreeMap::new();
            for (at, (start, length)) in writes.iter().enumerate() {
                let (at, end) = (at as u32, start + length);
                overlay(&mut map, Extent { start: *start, end, origin: *start, at });
                painted[*start as usize..end as usize].fill(Some(at));
            }
            let mut seen = [None; 100];
            for (start, extent) in &map {
                prop_assert_eq!(*start, extent.start);
                for byte in &mut seen[extent.start as usize..extent.end as usize] {
                    prop_assert!(byte.is_none(), "extents overlap");
                    *byte = Some(extent.at);
                }
            }
            prop_assert_eq!(seen, painted);
        }
    }
}
