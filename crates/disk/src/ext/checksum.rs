//! The sums over metadata: CRC-32C where the filesystem has `metadata_csum`, and
//! CRC-16 over descriptors where it has only `uninit_bg`.

use super::superblock::{Superblock, ro_compat};
use rawimage::bytes::{le16, le32};

/// The polynomial of Castagnoli, its bits reversed.
const POLYNOMIAL: u32 = 0x82f6_3b78;
/// `x^16 + x^15 + x^2 + 1`, its bits reversed (`lib/crc16.c` of Linux).
const POLYNOMIAL_16: u16 = 0xa001;
/// `metadata_csum_seed`: the seed is in the superblock, so that the UUID can change.
const CSUM_SEED: u32 = 0x2000;

/// CRC-32C as ext4 takes it: nothing is inverted, before or after.
pub(super) fn crc32c(start: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(start, |crc, byte| {
        let index = (crc ^ u32::from(*byte)) & 0xff;
        (crc >> 8) ^ TABLE.get(index as usize).copied().unwrap_or(0)
    })
}

const TABLE: [u32; 256] = table();

#[allow(clippy::indexing_slicing, reason = "the index is below 256")]
const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut number = 0;
    while number < 256 {
        let mut value = number as u32;
        let mut bit = 0;
        while bit < 8 {
            let odd = value & 1;
            value = (value >> 1) ^ (POLYNOMIAL * odd);
            bit += 1;
        }
        table[number] = value;
        number += 1;
    }
    table
}

/// CRC-16 as the kernel takes it.
pub(super) fn crc16(start: u16, bytes: &[u8]) -> u16 {
    bytes.iter().fold(start, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte), |crc, _| {
            let odd = crc & 1;
            (crc >> 1) ^ (POLYNOMIAL_16 * odd)
        })
    })
}

/// What the sums of a filesystem begin with.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sums {
    /// All metadata has sums; the seed.
    All(u32),
    /// Only descriptors have: what their sum begins with.
    Descriptors(u16),
    /// There are none.
    None,
}

impl Sums {
    /// Those of a filesystem with this superblock, of which `raw` are the bytes.
    pub(super) fn of(sb: &Superblock, raw: &[u8]) -> Self {
        let uuid = raw.get(0x68..0x78).unwrap_or_default();
        if sb.has(2, ro_compat::METADATA_CSUM) {
            return Self::All(match sb.has(1, CSUM_SEED) {
                true => le32(raw, 0x270).unwrap_or(0),
                false => crc32c(!0, uuid),
            });
        }
        match sb.has(2, ro_compat::GDT_CSUM) {
            true => Self::Descriptors(crc16(!0, uuid)),
            false => Self::None,
        }
    }

    /// The seed of what belongs to an inode.
    fn inode_seed(self, number: u32, generation: u32) -> Option<u32> {
        let Self::All(seed) = self else { return None };
        let seed = crc32c(seed, &number.to_le_bytes());
        Some(crc32c(seed, &generation.to_le_bytes()))
    }

    /// Puts the sum of an inode into its bytes.
    pub(super) fn inode(self, number: u32, inode: &mut [u8]) {
        let generation = le32(inode, 0x64).unwrap_or(0);
        let Some(seed) = self.inode_seed(number, generation) else {
            return;
        };
        // The upper half lies behind byte 128, if the inode has so much.
        let extra = u32::from(inode.get(0x80).copied().unwrap_or(0));
        let is_wide = inode.len() > 128 && extra >= 4;
        put(inode, 0x7c, &[0; 2]);
        if is_wide {
            put(inode, 0x82, &[0; 2]);
        }
        let [a, b, c, d] = crc32c(seed, inode).to_le_bytes();
        put(inode, 0x7c, &[a, b]);
        if is_wide {
            put(inode, 0x82, &[c, d]);
        }
    }

    /// Puts the sum of a block with `most` extents behind them.
    pub(super) fn extents(self, number: u32, generation: u32, block: &mut [u8], most: usize) {
        let Some(seed) = self.inode_seed(number, generation) else {
            return;
        };
        let tail = 12 + 12 * most;
        let sum = crc32c(seed, block.get(..tail).unwrap_or_default());
        put(block, tail, &sum.to_le_bytes());
    }

    /// Whether the sum of a block of extents is right; `None` if there is none.
    pub(super) fn extents_hold(self, number: u32, generation: u32, block: &[u8]) -> Option<bool> {
        let seed = self.inode_seed(number, generation)?;
        let tail = 12 + 12 * usize::from(le16(block, 4)?);
        let Some(stored) = le32(block, tail) else {
            return Some(false);
        };
        Some(stored == crc32c(seed, block.get(..tail)?))
    }

    /// Whether directories and inodes have sums.
    pub(super) fn cover_all(self) -> bool {
        matches!(self, Self::All(_))
    }

    /// Where the sum of a directory's block lies, and what it has to be: of a block of
    /// its index if it `may_be_index`, and looks like one. `None` if there is no room
    /// for one, or no block has sums (`ext4_dirblock_csum`, `ext4_dx_csum`).
    pub(super) fn directory(
        self,
        (number, generation): (u32, u32),
        block: &[u8],
        may_be_index: bool,
    ) -> Option<(usize, u32)> {
        let seed = self.inode_seed(number, generation)?;
        if let Some(head) = may_be_index.then(|| index_head(block)).flatten() {
            // After what precedes them: how many entries fit, and how many there are,
            // which take the place of the first.
            let most = usize::from(le16(block, head)?);
            let count = usize::from(le16(block, head + 2)?);
            let tail = head + 8 * most;
            let sum = crc32c(seed, block.get(..head + 8 * count.min(most))?);
            let sum = crc32c(sum, block.get(tail..tail + 4)?);
            block.get(tail + 4..tail + 8)?;
            return Some((tail + 4, crc32c(sum, &[0; 4])));
        }
        // An entry without a name, of 12 bytes and the type 0xde.
        let tail = block.len().checked_sub(12)?;
        match block.get(tail..)? {
            [0, 0, 0, 0, 12, 0, 0, 0xde, ..] => Some((tail + 8, crc32c(seed, block.get(..tail)?))),
            _ => None,
        }
    }

    /// The sum of a bitmap of blocks.
    pub(super) fn bitmap(self, bitmap: &[u8]) -> Option<u32> {
        let Self::All(seed) = self else { return None };
        Some(crc32c(seed, bitmap))
    }

    /// Puts the sum of a group's descriptor into it.
    pub(super) fn descriptor(self, group: u32, descriptor: &mut [u8]) {
        put(descriptor, 0x1e, &[0; 2]);
        let group = group.to_le_bytes();
        let sum = match self {
            Self::None => return,
            Self::All(seed) => crc32c(crc32c(seed, &group), descriptor) & 0xffff,
            Self::Descriptors(seed) => {
                let head = descriptor.get(..0x1e).unwrap_or_default();
                let rest = descriptor.get(0x20..).unwrap_or_default();
                u32::from(crc16(crc16(crc16(seed, &group), head), rest))
            }
        };
        let [a, b, ..] = sum.to_le_bytes();
        put(descriptor, 0x1e, &[a, b]);
    }

    /// Puts the sum of the superblock's 1024 bytes behind them.
    pub(super) fn superblock(self, raw: &mut [u8]) {
        if let Self::All(_) = self {
            let sum = crc32c(!0, raw.get(..0x3fc).unwrap_or_default());
            put(raw, 0x3fc, &sum.to_le_bytes());
        }
    }
}

/// Where the entries of a block of a directory's index begin: behind `.`, `..` and what
/// says how it hashes, or behind an entry that takes the whole block
/// (`get_dx_countlimit`).
fn index_head(block: &[u8]) -> Option<usize> {
    let length = |at: usize| le16(block, at).map(usize::from);
    // A length of 64 KiB has no room in 16 bits.
    let whole = match length(4)? {
        0 | 0xffff => 65_536,
        stated => stated,
    };
    if le32(block, 0)? == 0 && whole == block.len() {
        return Some(8);
    }
    let is_root = whole == 12 && length(16)? + 12 == block.len();
    (is_root && le32(block, 24)? == 0 && block.get(29) == Some(&8)).then_some(32)
}

/// Puts `what` at byte `at`, if there is room.
pub(super) fn put(bytes: &mut [u8], at: usize, what: &[u8]) {
    let room = bytes.get_mut(at..).and_then(|b| b.get_mut(..what.len()));
    if let Some(room) = room {
        room.copy_from_slice(what);
    }
}

#[cfg(test)]
mod tests {
    use super::{crc16, crc32c};

    #[test]
    fn the_sums_are_those_of_the_catalogues() {
        // The check values of CRC-32C (with its inversion) and CRC-16/ARC.
        assert_eq!(!crc32c(!0, b"123456789"), 0xe306_9283);
        assert_eq!(crc16(0, b"123456789"), 0xbb3d);
    }
}
