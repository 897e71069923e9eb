//! The kinds of compression, and how each is recognized.

use std::fmt;

/// The first bytes of lzop's container.
pub(super) const LZOP_MAGIC: [u8; 9] = [0x89, b'L', b'Z', b'O', 0, 0x0d, 0x0a, 0x1a, 0x0a];
/// The first bytes of a legacy LZ4 stream.
pub(super) const LZ4_MAGIC: [u8; 4] = [0x02, 0x21, 0x4c, 0x18];

/// How something is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Compression {
    /// Not at all.
    None,
    /// Deflate, with gzip's header.
    Gzip,
    /// Burrows-Wheeler.
    Bzip2,
    /// LZMA with the 13-byte header of the LZMA utilities.
    Lzma,
    /// LZMA2 in the xz container.
    Xz,
    /// LZO1X in lzop's container.
    Lzo,
    /// LZ4 in its first, "legacy" container: the one that Linux reads.
    Lz4,
    /// LZ4 in its frame container: the one that U-Boot reads, and Linux does
    /// not.
    Lz4Frame,
    /// Zstandard.
    Zstd,
}

impl Compression {
    /// All, in the order of their age.
    pub const ALL: [Self; 9] = [
        Self::None,
        Self::Gzip,
        Self::Bzip2,
        Self::Lzma,
        Self::Xz,
        Self::Lzo,
        Self::Lz4,
        Self::Lz4Frame,
        Self::Zstd,
    ];

    /// The word used on the command line and in every output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Bzip2 => "bzip2",
            Self::Lzma => "lzma",
            Self::Xz => "xz",
            Self::Lzo => "lzo",
            Self::Lz4 => "lz4",
            Self::Lz4Frame => "lz4-frame",
            Self::Zstd => "zstd",
        }
    }

    /// The one of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.name() == name)
    }

    /// Whether Linux unpacks it, as a kernel or as an initramfs, if it was
    /// configured to (`lib/decompress.c`).
    #[must_use]
    pub const fn is_read_by_linux(self) -> bool {
        !matches!(self, Self::Lz4Frame)
    }

    /// Recognises a stream by its first bytes. Linux looks at two of them
    /// only; more are wanted here, so that other data is not taken for one.
    #[must_use]
    pub fn detect(bytes: &[u8]) -> Option<Self> {
        let table: [(&[u8], Self); 7] = [
            (&[0x1f, 0x8b, 8], Self::Gzip),
            (b"BZh", Self::Bzip2),
            (&[0xfd, b'7', b'z', b'X', b'Z', 0], Self::Xz),
            (&LZOP_MAGIC, Self::Lzo),
            (&LZ4_MAGIC, Self::Lz4),
            (&[0x04, 0x22, 0x4d, 0x18], Self::Lz4Frame),
            (&[0x28, 0xb5, 0x2f, 0xfd], Self::Zstd),
        ];
        let known = table.iter().find(|(magic, _)| bytes.starts_with(magic));
        match known {
            Some((_, Self::Bzip2)) => {
                // The block size is a digit.
                let digit = bytes.get(3).is_some_and(|b| (b'1'..=b'9').contains(b));
                digit.then_some(Self::Bzip2)
            }
            Some((_, found)) => Some(*found),
            None => is_lzma(bytes).then_some(Self::Lzma),
        }
    }
}

/// The header of the LZMA utilities has no magic number: properties (as good as
/// always 0x5d), the size of the dictionary, a power of two or one and a half of
/// one, and the unpacked size, or all ones.
fn is_lzma(bytes: &[u8]) -> bool {
    let dictionary = crate::bytes::le32(bytes, 1);
    let size = crate::bytes::le64(bytes, 5);
    let (Some(0x5d), Some(dictionary), Some(size)) = (bytes.first(), dictionary, size) else {
        return false;
    };
    let usual = dictionary.is_power_of_two()
        || dictionary.is_multiple_of(3) && (dictionary / 3).is_power_of_two();
    // The first byte of the range coder is always zero.
    usual
        && dictionary >= 1 << 12
        && (size == u64::MAX || size < 1 << 38)
        && bytes.get(13).is_none_or(|b| *b == 0)
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
