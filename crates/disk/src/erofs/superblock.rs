//! The superblock: 128 bytes at byte 1024.

use crate::Error;
use crate::facts::{Facts, State, uuid};
use rawimage::Part;
use rawimage::bytes::{le16, le32, le64, text};

/// Where it begins.
pub(super) const AT: u64 = 1024;
/// All incompatible features that this knows, up to Linux 6.15.
const KNOWN: u32 = 0x7f;
/// Bit: the device table and the second algorithm.
pub(super) const DEVICE_TABLE: u32 = 0x8;
const MAGIC: u32 = 0xe0f5_e1e2;

/// Names of the features, as `dump.erofs -s` prints them.
const FEATURES: [(bool, u32, &str); 11] = [
    (false, 0x1, "superblock_checksum"),
    (false, 0x2, "mtime"),
    (false, 0x4, "xattr_filter"),
    (true, 0x1, "0padding"),
    (true, 0x2, "compr_cfgs"),
    (true, 0x4, "chunked_file"),
    (true, 0x8, "device_table"),
    (true, 0x10, "ztailpacking"),
    (true, 0x20, "fragments"),
    (true, 0x40, "xattr_prefixes"),
    (false, 0x10, "plain_xattr_pfx"),
];

/// Features that are known by name only, from Linux 6.16 and 6.17 on.
const NEWER: [(u32, &str); 2] = [
    (0x80, "48-bit block numbers"),
    (0x100, "compressed metadata"),
];

#[derive(Clone, Debug)]
pub(crate) struct Superblock {
    pub block_bits: u32,
    pub directory_bits: u32,
    pub root: u64,
    pub packed: u64,
    pub meta: u64,
    pub xattrs: u64,
    pub incompatible: u32,
    pub facts: Facts,
}

impl Superblock {
    pub(crate) fn read(volume: &Part<'_>) -> Result<Self, Error> {
        let bytes = volume.read(AT, 128)?;
        if bytes.len() < 128 || le32(&bytes, 0) != Some(MAGIC) {
            return Err(Error::corrupt(AT, "expected an erofs superblock"));
        }
        let n16 = |at| le16(&bytes, at).unwrap_or(0);
        let n32 = |at| le32(&bytes, at).unwrap_or(0);
        let n64 = |at| le64(&bytes, at).unwrap_or(0);
        let slice = |at: usize, len: usize| bytes.get(at..at + len).unwrap_or_default();
        let byte = |at: usize| u32::from(bytes.get(at).copied().unwrap_or(0));
        let bits = byte(12);
        if !(9..=16).contains(&bits) {
            return Err(Error::corrupt(
                AT + 12,
                format!("expected a block size exponent from 9 to 16, found {bits}"),
            ));
        }
        let incompatible = n32(80);
        let unknown = incompatible & !KNOWN;
        if unknown != 0 {
            let named: Vec<&str> = NEWER
                .iter()
                .filter(|(bit, _)| unknown & bit != 0)
                .map(|(_, name)| *name)
                .collect();
            let what = match named.as_slice() {
                [] => format!("erofs with the incompatible features {unknown:#x}"),
                named => format!("erofs with {}", named.join(" and ")),
            };
            return Err(Error::NotYet { what });
        }
        let compatible = n32(8);
        let used = FEATURES.iter().filter(|(is_incompatible, bit, _)| {
            let word = if *is_incompatible {
                incompatible
            } else {
                compatible
            };
            word & bit != 0
        });
        let blocks = u64::from(n32(36));
        let directory_bits = bits + byte(90);
        if directory_bits > 20 {
            return Err(Error::corrupt(
                AT + 90,
                format!("expected a directory block size, found 2^{directory_bits}"),
            ));
        }
        let facts = Facts {
            blocks,
            inodes: n64(16),
            label: text(slice(64, 16)),
            uuid: uuid(slice(48, 16)),
            features: used.map(|(_, _, name)| (*name).to_owned()).collect(),
            made: n64(24),
            ..Facts::bare("erofs", blocks << bits, 1 << bits, State::ReadOnly)
        };
        Ok(Self {
            block_bits: bits,
            directory_bits,
            root: u64::from(n16(14)),
            packed: n64(96),
            meta: u64::from(n32(40)) << bits,
            xattrs: u64::from(n32(44)) << bits,
            incompatible,
            facts,
        })
    }
}
