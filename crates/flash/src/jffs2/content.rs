//! What is in a file: the newest node that holds each part of it.

use super::decompress::{self, Decompressor};
use super::error::Error;
use super::index::{Index, Place, Window};
use super::node::Content;
use crate::files::{Failure, Piece, Pieces};
use crate::transfer::TransferError;
use rawimage::ReadAt;
use rawimage::endian::Endian;
use std::collections::BTreeMap;

/// How much is read at once.
const FILE_WINDOW: u64 = 128 * 1024;

/// So many decompressed nodes are kept of those that newer ones split up.
const KEPT: usize = 8;

/// Reads files one after another, with one window and one decompressor.
pub(super) struct Reader {
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

impl Reader {
    pub fn new(endian: Endian) -> Self {
        Self {
            window: Window::new(endian, FILE_WINDOW),
            decompressor: Decompressor::default(),
            extents: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// Finds out which node holds each part of a file, and the file's length.
    fn extents(&mut self, image: &dyn ReadAt, index: &Index, ino: u32) -> Result<u32, Error> {
        self.extents.clear();
        let mut size = 0;
        let mut in_order = true;
        for node in index.inode(ino) {
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
    pub fn file(
        &mut self,
        image: &dyn ReadAt,
        index: &Index,
        ino: u32,
        pieces: &mut Pieces,
    ) -> Result<(), Error> {
        let size = self.extents(image, index, ino)?;
        let extents = std::mem::take(&mut self.extents);
        let mut at = 0;
        for extent in &extents {
            let end = extent.end.min(size);
            if extent.start >= size {
                break;
            }
            if extent.start > at {
                pieces(at.into(), Piece::Gap((extent.start - at).into()))
                    .map_err(TransferError::Write)?;
            }
            self.extent(image, *extent, end, pieces)?;
            at = end;
        }
        if at < size {
            pieces(at.into(), Piece::Gap((size - at).into())).map_err(TransferError::Write)?;
        }
        self.extents = extents;
        Ok(())
    }

    /// Hands out one extent up to `end`.
    fn extent(
        &mut self,
        image: &dyn ReadAt,
        extent: Extent,
        end: u32,
        pieces: &mut Pieces,
    ) -> Result<(), Error> {
        let at = u64::from(extent.start);
        let length = end - extent.start;
        let skip = (extent.start - extent.origin) as usize;
        if let Some(i) = self.kept.iter().position(|(at, _)| *at == extent.at) {
            let kept = self.kept.remove(i);
            pieces(at, part(&kept.1, skip, length)).map_err(TransferError::Write)?;
            self.kept.push(kept);
            return Ok(());
        }
        let Content::Inode(inode) = self.window.node(image, extent.at)?.content else {
            return Ok(());
        };
        if inode.compression == decompress::kind::ZERO {
            return Ok(pieces(at, Piece::Zeros(length.into())).map_err(TransferError::Write)?);
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
            Err(why) => Piece::Lost(length.into(), why),
        };
        Ok(pieces(at, piece).map_err(TransferError::Write)?)
    }
}

/// `length` bytes of a node's data.
fn part(data: &[u8], skip: usize, length: u32) -> Piece<'_> {
    let rest = data.get(skip..).unwrap_or_default();
    match rest.get(..length as usize) {
        Some(part) => Piece::Data(part),
        None => Piece::Lost(length.into(), Failure::Corrupt),
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
