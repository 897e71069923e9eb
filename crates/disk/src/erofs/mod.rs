//! erofs, packed and not.

mod inode;
mod packed;
mod superblock;
#[cfg(test)]
mod tests;

use crate::build::{Builder, Sharing};
use crate::error::Error;
use crate::map::{Inode as Known, Kind, Map};
use inode::{Inode, Layout};
use packed::{Compact, Entry, Header};
use rawimage::FileType;
use rawimage::Part;
use rawimage::bytes::{le16, le32, le64};
use std::collections::{HashSet, VecDeque};
pub(crate) use superblock::Superblock;
use superblock::{AT, DEVICE_TABLE};

/// A block that is a hole.
const HOLE: u32 = u32::MAX;

struct Reader<'a, 'v> {
    volume: &'a Part<'v>,
    sb: Superblock,
    map: Builder,
    /// So many bytes of directories and indexes may still be read: in a sound
    /// image each of them belongs to one file.
    left: u64,
    packed: bool,
}

/// A piece of a file as its inode tells: place, length, offset, in bytes.
struct Piece {
    start: u64,
    len: u64,
    offset: u64,
    is_packed: bool,
}

/// What the superblock says.
///
/// # Errors
/// There is none, or it is damaged or uses what cannot be read.
pub(super) fn facts(volume: &Part<'_>) -> Result<super::Facts, Error> {
    Ok(Superblock::read(volume)?.facts)
}

/// Maps an erofs.
///
/// # Errors
/// It is none, is damaged in its superblock, or uses what cannot be read; and
/// whatever reading says.
pub fn map(volume: &Part<'_>) -> Result<Map, Error> {
    let sb = Superblock::read(volume)?;
    let root = u32::try_from(sb.root).unwrap_or(0);
    let most = volume.len() / 2 + 4096;
    let mut map = Builder::new(1, root, most);
    map.add(AT, 128, Kind::Superblock, 0, 0);
    map.add(0, AT, Kind::BootBlock, 0, 0);
    let mut reader = Reader {
        volume,
        sb,
        map,
        left: volume.len().saturating_mul(2).saturating_add(1 << 20),
        packed: false,
    };
    reader.walk()?;
    let Reader {
        mut map,
        mut sb,
        packed,
        ..
    } = reader;
    if packed {
        let algorithms = match sb.incompatible & 0x2 {
            0 => "lz4",
            _ => "according to the configuration in the image",
        };
        sb.facts.compression = Some(algorithms.to_owned());
    }
    if sb.facts.bytes > volume.len() {
        map.note(format!(
            "the image is truncated: it has {} of {} bytes",
            volume.len(),
            sb.facts.bytes
        ));
    }
    Ok(map.finish(sb.facts, Sharing::Usual))
}

impl Reader<'_, '_> {
    /// Every file that a name leads to, from the root on.
    fn walk(&mut self) -> Result<(), Error> {
        let mut seen = HashSet::new();
        let mut queue = VecDeque::from([self.sb.root]);
        let mut first = u64::MAX;
        if self.sb.packed != 0 && self.sb.incompatible & 0x20 != 0 {
            queue.push_back(self.sb.packed);
        }
        seen.extend(queue.iter().copied());
        while let Some(nid) = queue.pop_front() {
            let Ok(number) = u32::try_from(nid) else {
                self.map
                    .note(format!("the offset of inode {nid} overflows"));
                continue;
            };
            let Some(inode) = Inode::read(self.volume, &self.sb, nid)? else {
                self.map.note(format!("inode {nid} does not exist"));
                continue;
            };
            first = first.min(inode.at);
            let kind = match inode.file_type {
                _ if nid == self.sb.packed && nid != self.sb.root => Kind::Fragment,
                FileType::Directory => Kind::Directory,
                FileType::Symlink => Kind::Symlink,
                _ => Kind::File,
            };
            self.map.inodes.push(Known {
                number,
                size: inode.size,
                kind,
            });
            self.map
                .add(inode.at, inode.length, Kind::InodeTable, number, 0);
            if matches!(kind, Kind::File | Kind::Fragment) && inode.file_type != FileType::File {
                continue;
            }
            let pieces = self.pieces(number, &inode)?;
            for p in &pieces {
                if p.is_packed {
                    self.map.add_packed(p.start, p.len, kind, number, p.offset);
                } else {
                    self.map.add(p.start, p.len, kind, number, p.offset);
                }
            }
            match kind {
                Kind::Directory => {
                    for child in self.directory(number, &inode, &pieces)? {
                        if seen.insert(child) {
                            queue.push_back(child);
                        }
                    }
                }
                Kind::Symlink => {
                    let target = self.content(&inode, &pieces, 65_536)?;
                    self.map.names.add_target(number, &target);
                }
                _ => {}
            }
        }
        if self.sb.xattrs > AT && self.sb.xattrs < first && first < u64::MAX {
            let len = first - self.sb.xattrs;
            self.map.add(self.sb.xattrs, len, Kind::Xattr, 0, 0);
        }
        Ok(())
    }

    /// Takes from what may still be read; `false` with a note if it is used up.
    fn may_read(&mut self, number: u32, bytes: u64) -> bool {
        let ok = self.left.checked_sub(bytes);
        match ok {
            Some(left) => self.left = left,
            None => self
                .map
                .note(format!("inode {number} is larger than the image")),
        }
        ok.is_some()
    }

    fn pieces(&mut self, number: u32, inode: &Inode) -> Result<Vec<Piece>, Error> {
        let bits = self.sb.block_bits;
        let block = 1_u64 << bits;
        let plain = |start, len, offset| Piece {
            start,
            len,
            offset,
            is_packed: false,
        };
        if inode.size == 0 {
            return Ok(Vec::new());
        }
        match inode.layout {
            Layout::Plain | Layout::Inline => {
                let start = u64::from(inode.union) << bits;
                let tail = match inode.layout {
                    Layout::Inline => inode.size % block,
                    _ => 0,
                };
                let whole = inode.size - tail;
                let mut pieces = Vec::new();
                if whole > 0 && inode.union != HOLE {
                    let len = whole.checked_next_multiple_of(block).unwrap_or(whole);
                    pieces.push(plain(start, len, 0));
                }
                if tail > 0 {
                    pieces.push(plain(inode.end(), tail, whole));
                }
                let end = self.volume.len();
                if pieces.iter().any(|p| p.start.saturating_add(p.len) > end) {
                    self.map
                        .note(format!("inode {number} is past the end of the image"));
                }
                pieces.retain(|p| p.start < end);
                Ok(pieces)
            }
            Layout::Chunks => self.chunks(number, inode),
            Layout::PackedFull | Layout::PackedCompact => self.packed(number, inode),
        }
    }

    /// Pieces of equal size, each with an entry of four or eight bytes.
    fn chunks(&mut self, number: u32, inode: &Inode) -> Result<Vec<Piece>, Error> {
        let bits = self.sb.block_bits + (inode.union & 0x1f);
        let has_indexes = inode.union & 0x20 != 0;
        if bits >= 63 {
            self.map.note(format!(
                "inode {number} has chunks of 2^{bits} bytes, an unsupported size"
            ));
            return Ok(Vec::new());
        }
        let chunk = 1_u64 << bits;
        let count = inode.size.div_ceil(chunk);
        let entry: u64 = if has_indexes { 8 } else { 4 };
        let bytes = count.saturating_mul(entry);
        if !self.may_read(number, bytes) {
            return Ok(Vec::new());
        }
        let at = inode.end().next_multiple_of(entry);
        self.map.add(at, bytes, Kind::ExtentTree, number, 0);
        let table = self.volume.read(at, usize::try_from(bytes).unwrap_or(0))?;
        let mut pieces: Vec<Piece> = Vec::new();
        let mut elsewhere = false;
        for (e, i) in table.chunks_exact(if has_indexes { 8 } else { 4 }).zip(0..) {
            let block = le32(e, if has_indexes { 4 } else { 0 }).unwrap_or(HOLE);
            let device = if has_indexes {
                le16(e, 2).unwrap_or(0)
            } else {
                0
            };
            if block == HOLE {
                continue;
            }
            if device != 0 && self.sb.incompatible & DEVICE_TABLE != 0 {
                elsewhere = true;
                continue;
            }
            let offset: u64 = i * chunk;
            let len = chunk.min(inode.size.saturating_sub(offset));
            let len = len.next_multiple_of(1 << self.sb.block_bits);
            pieces.push(Piece {
                start: u64::from(block) << self.sb.block_bits,
                len,
                offset,
                is_packed: false,
            });
        }
        if elsewhere {
            self.map
                .note(format!("inode {number}: some data is on another device"));
        }
        Ok(pieces)
    }

    fn packed(&mut self, number: u32, inode: &Inode) -> Result<Vec<Piece>, Error> {
        self.packed = true;
        let at = inode.end().next_multiple_of(8);
        let header = Header::parse(&self.volume.read(at, 8)?, self.sb.block_bits);
        let Some(header) = header else {
            self.map
                .note(format!("inode {number}: the index is missing"));
            return Ok(Vec::new());
        };
        if header.is_whole_in_fragment {
            self.map.add(at, 8, Kind::ExtentTree, number, 0);
            return Ok(Vec::new());
        }
        let clusters = inode.size.div_ceil(1 << header.cluster_bits);
        let blocks = inode.size.div_ceil(1 << self.sb.block_bits);
        let compact = Compact::of(&header, at + 8, blocks);
        let (start, bytes) = match inode.layout {
            Layout::PackedCompact => (at + 8, compact.bytes()),
            _ => (at + 16, clusters.saturating_mul(8)),
        };
        if !self.may_read(number, bytes) {
            return Ok(Vec::new());
        }
        self.map.add(
            at,
            (start - at).saturating_add(bytes),
            Kind::ExtentTree,
            number,
            0,
        );
        let table = self
            .volume
            .read(start, usize::try_from(bytes).unwrap_or(0))?;
        let entries = match inode.layout {
            Layout::PackedCompact => compact.read(&header, &table),
            _ => Some(packed::full(&header, &table)),
        };
        let Some(entries) = entries else {
            self.map
                .note(format!("inode {number}: the index is damaged"));
            return Ok(Vec::new());
        };
        let behind = match inode.layout {
            Layout::PackedCompact => compact.end(),
            _ => bytes,
        };
        Ok(self.clusters(&header, &entries, inode.size, start.saturating_add(behind)))
    }

    /// Physical clusters, from what the index says of logical ones.
    fn clusters(&self, header: &Header, entries: &[Entry], size: u64, behind: u64) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let cluster = 1_u64 << header.cluster_bits;
        for (i, entry) in entries.iter().enumerate() {
            let Entry::Head {
                offset,
                block,
                is_plain,
            } = *entry
            else {
                continue;
            };
            let len = match entries.get(i + 1) {
                Some(Entry::Goes { blocks: Some(n) }) if !is_plain => {
                    u64::from(*n) << self.sb.block_bits
                }
                _ => cluster,
            };
            let offset = (i as u64 * cluster).saturating_add(u64::from(offset));
            // A head at the end of the file only says where the last one ends.
            if offset >= size {
                break;
            }
            pieces.push(Piece {
                start: u64::from(block) << self.sb.block_bits,
                len,
                offset,
                is_packed: true,
            });
        }
        // The last one may lie behind the index, or with others in a file that
        // has no name.
        if header.has_fragment() {
            pieces.pop();
        } else if header.has_inline_tail()
            && let Some(last) = pieces.last_mut()
        {
            last.start = behind;
            last.len = u64::from(header.inline_size);
        }
        let end = self.volume.len();
        pieces.retain(|p| p.len > 0 && p.start < end);
        pieces
    }

    /// The first `most` bytes of what is not packed.
    fn content(&self, inode: &Inode, pieces: &[Piece], most: usize) -> Result<Vec<u8>, Error> {
        let mut all = Vec::new();
        let size = usize::try_from(inode.size).unwrap_or(most).min(most);
        for piece in pieces.iter().filter(|p| !p.is_packed) {
            let len = usize::try_from(piece.len).unwrap_or(most);
            all.extend(
                self.volume
                    .read(piece.start, len.min(size - all.len().min(size)))?,
            );
        }
        all.truncate(size);
        Ok(all)
    }

    /// The inodes that a directory leads to; its names go into the map.
    fn directory(
        &mut self,
        number: u32,
        inode: &Inode,
        pieces: &[Piece],
    ) -> Result<Vec<u64>, Error> {
        let mut children = Vec::new();
        let block = 1_u64 << self.sb.directory_bits;
        let mut sound = pieces.iter().all(|p| !p.is_packed);
        for piece in pieces.iter().filter(|p| !p.is_packed) {
            let mut done = 0;
            let len = piece.len.min(inode.size.saturating_sub(piece.offset));
            while done < len {
                let want = block.min(len - done);
                if !self.may_read(number, want) {
                    return Ok(children);
                }
                let bytes = self.volume.read(
                    piece.start.saturating_add(done),
                    usize::try_from(want).unwrap_or(0),
                )?;
                let map = &mut self.map;
                sound &= names(&bytes, &mut |name, nid| {
                    if !matches!(name, b"." | b"..") {
                        if let Ok(inode) = u32::try_from(nid) {
                            map.names.add(number, name, inode);
                        }
                        children.push(nid);
                    }
                });
                if bytes.is_empty() {
                    break;
                }
                done += want;
            }
        }
        if !sound {
            self.map.note(format!("directory {number} is damaged"));
        }
        Ok(children)
    }
}

/// The names in one block of a directory: entries of twelve bytes, then the
/// names. `false` if it is damaged.
fn names(block: &[u8], each: &mut dyn FnMut(&[u8], u64)) -> bool {
    let name_at = |i: usize| le16(block, i * 12 + 8).map(usize::from);
    let Some(first) = name_at(0).filter(|f| *f >= 12 && *f % 12 == 0 && *f <= block.len()) else {
        return false;
    };
    let count = first / 12;
    for i in 0..count {
        let start = name_at(i).unwrap_or(usize::MAX);
        let end = match i + 1 < count {
            true => name_at(i + 1).unwrap_or(0),
            false => block.len(),
        };
        let Some(name) = block.get(start..end) else {
            return false;
        };
        // The last name ends with the block, or with a NUL.
        let length = name.iter().position(|b| *b == 0).unwrap_or(name.len());
        let name = name.get(..length).unwrap_or_default();
        if let Some(nid) = le64(block, i * 12) {
            each(name, nid);
        }
    }
    true
}
