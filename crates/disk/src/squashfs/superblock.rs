//! The superblock: 96 bytes at the start.

use crate::Error;
use crate::facts::{Facts, State};
use rawimage::Part;
use rawimage::bytes::{be16, le16, le32, le64};

/// Its length in bytes.
pub(super) const SIZE: u64 = 96;
/// The place of a table that is not there.
pub(super) const NO_TABLE: u64 = u64::MAX;

/// Bits of the flags, and what `unsquashfs -s` says of them.
const FLAGS: [(u16, &str); 12] = [
    (0x1, "uncompressed inodes"),
    (0x2, "uncompressed data"),
    (0x4, "checked"),
    (0x8, "uncompressed fragments"),
    (0x10, "no fragments"),
    (0x20, "always fragments"),
    (0x40, "duplicates removed"),
    (0x80, "exportable"),
    (0x100, "uncompressed xattrs"),
    (0x200, "no xattrs"),
    (0x400, "compressor options"),
    (0x800, "uncompressed ids"),
];

/// How data is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compressor {
    Gzip,
    Lzma,
    Lzo,
    Xz,
    Lz4,
    Zstd,
}

impl Compressor {
    fn of(number: u16) -> Option<(Self, &'static str)> {
        Some(match number {
            1 => (Self::Gzip, "gzip"),
            2 => (Self::Lzma, "lzma"),
            3 => (Self::Lzo, "lzo"),
            4 => (Self::Xz, "xz"),
            5 => (Self::Lz4, "lz4"),
            6 => (Self::Zstd, "zstd"),
            _ => return None,
        })
    }
}

#[derive(Clone, Debug)]
pub(super) struct Superblock {
    pub inodes: u32,
    pub block_size: u32,
    pub fragments: u32,
    pub compressor: Compressor,
    pub ids: u16,
    pub root: u64,
    pub has_options: bool,
    pub id_table: u64,
    pub xattr_table: u64,
    pub inode_table: u64,
    pub directory_table: u64,
    pub fragment_table: u64,
    pub export_table: u64,
    pub facts: Facts,
}

impl Superblock {
    pub(super) fn read(volume: &Part<'_>) -> Result<Self, Error> {
        let bytes = volume.read(0, 96)?;
        if bytes.starts_with(b"sqsh") {
            let number = |at| be16(&bytes, at).unwrap_or(0);
            return Err(Error::NotYet {
                what: format!(
                    "big-endian squashfs {}.{} (before 4.0)",
                    number(28),
                    number(30)
                ),
            });
        }
        if bytes.len() < 96 || !bytes.starts_with(b"hsqs") {
            return Err(Error::corrupt(0, "expected a squashfs superblock"));
        }
        let n16 = |at| le16(&bytes, at).unwrap_or(0);
        let n32 = |at| le32(&bytes, at).unwrap_or(0);
        let n64 = |at| le64(&bytes, at).unwrap_or(0);
        let version = (n16(28), n16(30));
        if version != (4, 0) {
            return Err(Error::NotYet {
                what: format!("squashfs {}.{}", version.0, version.1),
            });
        }
        let Some((compressor, name)) = Compressor::of(n16(20)) else {
            return Err(Error::NotYet {
                what: format!("squashfs with the unknown compressor {}", n16(20)),
            });
        };
        let block_size = n32(12);
        if !(4096..=1 << 20).contains(&block_size) || u32::from(n16(22)) != block_size.ilog2() {
            return Err(Error::corrupt(
                12,
                format!("expected a block size with its exponent, found {block_size}"),
            ));
        }
        let flags = n16(24);
        let used = FLAGS.iter().filter(|(bit, _)| flags & bit != 0);
        let length = n64(40);
        let made = u64::from(n32(8));
        let facts = Facts {
            blocks: length.div_ceil(u64::from(block_size)),
            inodes: u64::from(n32(4)),
            features: used.map(|(_, name)| (*name).to_owned()).collect(),
            compression: Some(name.to_owned()),
            made,
            ..Facts::bare("squashfs", length, block_size, State::ReadOnly)
        };
        Ok(Self {
            inodes: n32(4),
            block_size,
            fragments: n32(16),
            compressor,
            ids: n16(26),
            root: n64(32),
            has_options: flags & 0x400 != 0,
            id_table: n64(48),
            xattr_table: n64(56),
            inode_table: n64(64),
            directory_table: n64(72),
            fragment_table: n64(80),
            export_table: n64(88),
            facts,
        })
    }

    /// Where the table of directories ends: where the next table's first block
    /// begins.
    pub(super) fn end_of_directories(&self, volume: &Part<'_>) -> Result<u64, Error> {
        let mut end = self.facts.bytes.min(volume.len());
        let lookups = [
            (self.fragment_table, self.fragments > 0),
            (self.export_table, true),
            (self.id_table, true),
        ];
        for (table, is_used) in lookups {
            if table == NO_TABLE || table <= self.directory_table {
                continue;
            }
            end = end.min(table);
            if is_used {
                let pointer = volume.read(table, 8)?;
                let first = le64(&pointer, 0).unwrap_or(NO_TABLE);
                if first > self.directory_table {
                    end = end.min(first);
                }
            }
        }
        Ok(end)
    }

    /// Where data begins: behind the superblock and the compressor's options.
    pub(super) fn data_start(&self, volume: &Part<'_>) -> Result<u64, Error> {
        match self.has_options {
            true => {
                let header = volume.read(SIZE, 2)?;
                let length = u64::from(le16(&header, 0).unwrap_or(0) & 0x7fff);
                Ok(SIZE + 2 + length)
            }
            false => Ok(SIZE),
        }
    }
}
