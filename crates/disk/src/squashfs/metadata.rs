//! Blocks of metadata: 8 KiB each, packed one by one.

use super::superblock::{Compressor, Superblock};
use crate::Error;
use rawimage::Part;
use rawimage::bytes::{le16, le32, le64};
use std::io::Read;

/// What a block holds, at most and as a rule.
const BLOCK: usize = 8192;
/// Bit of a block's header: it lies as it is.
const PLAIN: u16 = 0x8000;
/// No more metadata is unpacked: as much as 30 million inodes have.
const MOST: usize = 1 << 30;

/// Metadata blocks that follow each other, unpacked.
#[derive(Debug, Default)]
pub(super) struct Region {
    pub data: Vec<u8>,
    /// Where it begins in the image, and where it ends.
    pub start: u64,
    pub end: u64,
    /// It ended early.
    pub cut: bool,
    /// For each block: its place behind `start`, and that of its first byte in
    /// `data`.
    blocks: Vec<(u32, usize)>,
}

impl Region {
    /// Where in `data` something is: in the block that begins `block` bytes
    /// into the region, `offset` bytes into what it holds.
    pub(super) fn position(&self, block: u32, offset: u16) -> Option<usize> {
        let at = self.blocks.binary_search_by_key(&block, |b| b.0).ok()?;
        self.blocks.get(at)?.1.checked_add(usize::from(offset))
    }

    /// The number of the root directory's inode, where this region is the inode table.
    pub(super) fn root_number(&self, sb: &Superblock) -> u32 {
        let block = u32::try_from(sb.root >> 16).unwrap_or(u32::MAX);
        let offset = u16::try_from(sb.root & 0xffff).unwrap_or(0);
        let at = self.position(block, offset);
        let header = at.and_then(|at| self.data.get(at..)).unwrap_or_default();
        le32(header, 12).unwrap_or(0)
    }
}

/// Unpacks what a compressor of squashfs made, up to `most` bytes.
pub(super) fn unpack(compressor: Compressor, packed: &[u8], most: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let limit = most as u64;
    match compressor {
        Compressor::Gzip => {
            let reader = flate2::read::ZlibDecoder::new(packed);
            reader.take(limit).read_to_end(&mut out).ok()?;
        }
        Compressor::Xz | Compressor::Lzma => {
            let memory = rawimage::compression::MEMORY;
            let stream = match compressor {
                Compressor::Xz => liblzma::stream::Stream::new_stream_decoder(memory, 0),
                _ => liblzma::stream::Stream::new_lzma_decoder(memory),
            };
            let reader = liblzma::bufread::XzDecoder::new_stream(packed, stream.ok()?);
            reader.take(limit).read_to_end(&mut out).ok()?;
        }
        Compressor::Zstd => {
            let reader = zstd::Decoder::with_buffer(packed).ok()?;
            reader.take(limit).read_to_end(&mut out).ok()?;
        }
        Compressor::Lz4 => {
            out.resize(most, 0);
            let length = lz4_flex::block::decompress_into(packed, &mut out).ok()?;
            out.truncate(length);
        }
        Compressor::Lzo => {
            out.resize(most, 0);
            let length = lzokay::decompress::decompress(packed, &mut out).ok()?;
            out.truncate(length);
        }
    }
    Some(out)
}

/// One block: what it holds, and where the next one begins.
fn block(volume: &Part<'_>, sb: &Superblock, at: u64) -> Result<Option<(Vec<u8>, u64)>, Error> {
    let Some(header) = le16(&volume.read(at, 2)?, 0) else {
        return Ok(None);
    };
    // A length of zero stands for 32 KiB, which no block has.
    let length = usize::from(header & !PLAIN);
    let start = at.saturating_add(2);
    let stored = volume.read(start, length)?;
    if length == 0 || stored.len() < length {
        return Ok(None);
    }
    let data = match header & PLAIN {
        0 => unpack(sb.compressor, &stored, BLOCK),
        _ => Some(stored),
    };
    let next = start.saturating_add(length as u64);
    Ok(data.filter(|d| d.len() <= BLOCK).map(|d| (d, next)))
}

/// Unpacks all blocks from `start` up to `end`.
pub(super) fn region(
    volume: &Part<'_>,
    sb: &Superblock,
    start: u64,
    end: u64,
) -> Result<Region, Error> {
    let mut found = Region {
        start,
        end: start,
        ..Region::default()
    };
    while found.end < end {
        let Some((data, next)) = block(volume, sb, found.end)? else {
            found.cut = true;
            break;
        };
        if found.data.len() + data.len() > MOST {
            return Err(Error::NotYet {
                what: format!("squashfs with more than {MOST} bytes of metadata"),
            });
        }
        let Ok(place) = u32::try_from(found.end - start) else {
            found.cut = true;
            break;
        };
        found.blocks.push((place, found.data.len()));
        found.data.extend_from_slice(&data);
        found.end = next;
    }
    Ok(found)
}

/// Where the blocks of a table begin, of which `table` is the list: one of
/// them has 8 KiB of the table's `bytes`.
fn pointers(volume: &Part<'_>, table: u64, bytes: u64) -> Result<Vec<u64>, Error> {
    let count = bytes.div_ceil(BLOCK as u64);
    // The list cannot be longer than the image.
    let length = count.saturating_mul(8).min(volume.len());
    let list = volume.read(table, usize::try_from(length).unwrap_or(0))?;
    Ok(list.chunks_exact(8).filter_map(|c| le64(c, 0)).collect())
}

/// Unpacks a table of `bytes` bytes that `table` is the list of blocks of.
pub(super) fn table_blocks(
    volume: &Part<'_>,
    sb: &Superblock,
    table: u64,
    bytes: u64,
) -> Result<Region, Error> {
    let mut found = Region::default();
    for at in pointers(volume, table, bytes)? {
        match block(volume, sb, at)? {
            Some((data, _)) if found.data.len() + data.len() <= MOST => {
                found.data.extend_from_slice(&data);
            }
            _ => {
                found.cut = true;
                break;
            }
        }
    }
    Ok(found)
}

/// Where a block lies: its header says how long it is.
fn extent(volume: &Part<'_>, at: u64) -> Result<Option<(u64, u64)>, Error> {
    let header = volume.read(at, 2)?;
    let length = le16(&header, 0).map(|h| u64::from(h & !PLAIN));
    Ok(length.map(|l| (at, at.saturating_add(2 + l))))
}

/// Where a table lies: its blocks, and the list of them.
pub(super) fn places(
    volume: &Part<'_>,
    _sb: &Superblock,
    table: u64,
    bytes: u64,
) -> Result<Vec<(u64, u64)>, Error> {
    let pointers = pointers(volume, table, bytes)?;
    let mut places = Vec::new();
    for at in &pointers {
        places.extend(extent(volume, *at)?);
    }
    places.push((table, table.saturating_add(pointers.len() as u64 * 8)));
    Ok(places)
}

/// Where attributes lie: values, the table of where they begin, and a header
/// of 16 bytes with the list of that table's blocks.
pub(super) fn xattr_places(volume: &Part<'_>, sb: &Superblock) -> Result<Vec<(u64, u64)>, Error> {
    let header = volume.read(sb.xattr_table, 16)?;
    let (Some(values), Some(count)) = (le64(&header, 0), le32(&header, 8)) else {
        return Ok(Vec::new());
    };
    let list = sb.xattr_table.saturating_add(16);
    let mut places = places(volume, sb, list, u64::from(count) * 16)?;
    places.push((sb.xattr_table, list));
    // The values lie before the first block of the table.
    let first = places.first().map_or(values, |p| p.0);
    if values < first {
        places.push((values, first));
    }
    Ok(places)
}
