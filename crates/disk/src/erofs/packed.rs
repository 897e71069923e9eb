//! The index of packed files: which logical clusters begin in which physical
//! one.
//!
//! Format: the kernel's `fs/erofs/erofs_fs.h`; how dense indexes are read:
//! `fs/erofs/zmap.c`.

use rawimage::bytes::{le16, le32};

/// Bits of the map header's advice.
const COMPACTED_2B: u16 = 0x1;
const BIG_1: u16 = 0x2;
const BIG_2: u16 = 0x4;
const INLINE: u16 = 0x8;
const FRAGMENT: u16 = 0x20;
/// A distance with this bit is how many blocks the physical cluster has.
const CBLKCNT: u32 = 1 << 11;
/// The low part of an entry has at least so many bits: one more than the number of
/// the bit [`CBLKCNT`].
const LEAST_LOW_BITS: u32 = 12;

/// The eight bytes in front of an index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub advice: u16,
    /// Bytes of packed data behind the index.
    pub inline_size: u16,
    /// The logarithm of the size of logical clusters.
    pub cluster_bits: u32,
    /// All of the file is in the packed inode.
    pub is_whole_in_fragment: bool,
}

impl Header {
    pub(super) fn parse(bytes: &[u8], block_bits: u32) -> Option<Self> {
        let cluster = bytes.get(7)?;
        Some(Self {
            advice: le16(bytes, 4)?,
            inline_size: le16(bytes, 2)?,
            cluster_bits: block_bits + u32::from(cluster & 7),
            is_whole_in_fragment: cluster & 0x80 != 0,
        })
    }

    pub(super) fn has_inline_tail(&self) -> bool {
        self.advice & INLINE != 0
    }

    pub(super) fn has_fragment(&self) -> bool {
        self.advice & FRAGMENT != 0
    }

    fn is_big(&self) -> bool {
        self.advice & (BIG_1 | BIG_2) != 0
    }
}

/// What an index says of one logical cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// Packed data begins in it: where in it, the block, and whether it is
    /// stored as it is.
    Head {
        offset: u32,
        block: u32,
        is_plain: bool,
    },
    /// It goes on; how many blocks the packed data has, if it is said here.
    Goes { blocks: Option<u32> },
}

/// How the dense index of a file is cut up: how many entries take four bytes
/// each, then two, then four again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compact {
    first: u64,
    middle: u64,
    last: u64,
}

impl Compact {
    /// `at`: where the index begins; `blocks`: how many the file has.
    pub(super) fn of(header: &Header, at: u64, blocks: u64) -> Self {
        let first = match (32 - at % 32) / 4 {
            8 => 0,
            n => n.min(blocks),
        };
        let middle = match header.advice & COMPACTED_2B {
            0 => 0,
            _ => (blocks - first) / 16 * 16,
        };
        Self {
            first,
            middle,
            last: blocks - first - middle,
        }
    }

    /// How many bytes the index has.
    pub(super) fn bytes(&self) -> u64 {
        // Entries of four bytes come in pairs.
        let pairs = |n: u64| n.div_ceil(2).saturating_mul(8);
        pairs(self.first)
            .saturating_add(self.middle.saturating_mul(2))
            .saturating_add(pairs(self.last))
    }

    /// Where the entry behind number `count` would begin, from the start of the
    /// index: packed data may lie there.
    pub(super) fn end(&self) -> u64 {
        self.bytes()
    }

    /// Reads all entries.
    pub(super) fn read(&self, header: &Header, bytes: &[u8]) -> Option<Vec<Entry>> {
        // As the kernel has it: entries of two bytes have room for 12 bits.
        if header.cluster_bits > 14 || (self.middle > 0 && header.cluster_bits > 12) {
            return None;
        }
        let mut all = Vec::new();
        let mut at = 0;
        for (count, per_pack, pack_bytes) in
            [(self.first, 2, 8), (self.middle, 16, 32), (self.last, 2, 8)]
        {
            let mut left = count;
            while left > 0 {
                let pack = bytes.get(at..at + pack_bytes)?;
                unpack(header, pack, per_pack, left.min(per_pack as u64), &mut all)?;
                at += pack_bytes;
                left = left.saturating_sub(per_pack as u64);
            }
        }
        Some(all)
    }
}

/// One pack: entries of a few bits, then the block that the first of them
/// counts from.
fn unpack(
    header: &Header,
    pack: &[u8],
    entries: usize,
    wanted: u64,
    all: &mut Vec<Entry>,
) -> Option<()> {
    let base = le32(pack, pack.len() - 4)?;
    let bits = (pack.len() - 4) * 8 / entries;
    // Smaller clusters do not make the offset narrower: a count of blocks has to
    // have room (`lobits` in `z_erofs_load_compact_lcluster`).
    let low_bits = header.cluster_bits.max(LEAST_LOW_BITS);
    let mask = (1_u32 << low_bits) - 1;
    let decode = |i: usize| -> Option<(u32, u32)> {
        let position = bits * i;
        // Four bytes reach into the base, and never behind it.
        let value = le32(pack, position / 8)? >> (position % 8);
        Some((value & mask, (value >> low_bits) & 3))
    };
    // How many blocks lie before the next head, counted from the base.
    let mut blocks = u32::from(!header.is_big());
    for i in 0..entries {
        if i as u64 >= wanted {
            break;
        }
        let (low, kind) = decode(i)?;
        if kind == 2 {
            let counted = low & CBLKCNT != 0 && header.is_big();
            let count = counted.then_some(low & !CBLKCNT);
            blocks = blocks.checked_add(count.unwrap_or(0))?;
            all.push(Entry::Goes { blocks: count });
            continue;
        }
        all.push(Entry::Head {
            offset: low,
            block: base.checked_add(blocks)?,
            is_plain: kind == 0,
        });
        let is_counted_next = header.is_big()
            && i + 1 < entries
            && decode(i + 1).is_some_and(|(low, kind)| kind == 2 && low & CBLKCNT != 0);
        blocks = blocks.checked_add(u32::from(!is_counted_next))?;
    }
    Some(())
}

/// Reads an index of eight bytes for each logical cluster.
pub(super) fn full(header: &Header, bytes: &[u8]) -> Vec<Entry> {
    let entry = |e: &[u8]| -> Option<Entry> {
        let kind = le16(e, 0)? & 3;
        if kind == 2 {
            let distance = u32::from(le16(e, 4)?);
            let counted = distance & CBLKCNT != 0 && header.is_big();
            let blocks = counted.then_some(distance & !CBLKCNT);
            return Some(Entry::Goes { blocks });
        }
        Some(Entry::Head {
            offset: u32::from(le16(e, 2)?),
            block: le32(e, 4)?,
            is_plain: kind == 0,
        })
    };
    bytes.chunks_exact(8).filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use super::{Compact, Entry, Header};

    /// Two entries of 16 bits and the block that they count from: a head at byte 100 of the
    /// first cluster, and one that goes on.
    #[test]
    fn small_clusters_have_twelve_bits_all_the_same() {
        let mut pack = (100_u16 | 1 << 12).to_le_bytes().to_vec();
        pack.extend((1_u16 | 2 << 12).to_le_bytes());
        pack.extend(7_u32.to_le_bytes());
        for cluster_bits in [9, 10, 11, 12] {
            let header = Header {
                advice: 0,
                inline_size: 0,
                cluster_bits,
                is_whole_in_fragment: false,
            };
            let entries = Compact::of(&header, 32, 2).read(&header, &pack).unwrap();
            let head = Entry::Head {
                offset: 100,
                block: 8,
                is_plain: false,
            };
            assert_eq!(entries, [head, Entry::Goes { blocks: None }]);
        }
    }
}
