//! Compressed parts of version 7 files.

use std::io::Read;

/// The largest part of the header (event formats, kernel symbols) that is
/// unpacked. The symbols of a distribution's kernel take 12 MB.
pub(super) const LARGEST_SECTION: u64 = 64 << 20;

/// How a file's parts are packed: by the name in its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    /// Not at all.
    None,
    /// RFC 1950.
    Zlib,
    /// RFC 8878.
    Zstd,
    /// By something that this program does not know.
    Unknown,
}

impl Compression {
    /// The compression of this name (`trace-cmd list -c` names them).
    pub(super) fn named(name: &[u8]) -> Self {
        match name {
            b"none" | b"" => Self::None,
            b"zlib" => Self::Zlib,
            b"zstd" => Self::Zstd,
            _ => Self::Unknown,
        }
    }
}

/// Unpacks parts of one file.
#[derive(Default)]
pub(super) struct Unpacker {
    /// Its tables are large: they are made once.
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl Unpacker {
    /// What `packed` holds, which must be exactly `length` bytes, in place of
    /// what was in `bytes`. `None` if it holds anything else.
    pub(super) fn unpack(
        &mut self,
        compression: Compression,
        packed: &[u8],
        length: usize,
        bytes: &mut Vec<u8>,
    ) -> Option<()> {
        bytes.clear();
        bytes.try_reserve(length).ok()?;
        match compression {
            Compression::None => bytes.extend_from_slice(packed),
            Compression::Zlib => {
                let mut limited = flate2::read::ZlibDecoder::new(packed).take(length as u64 + 1);
                limited.read_to_end(bytes).ok()?;
            }
            Compression::Zstd => {
                let zstd = match &mut self.zstd {
                    Some(zstd) => zstd,
                    none => none.insert(zstd::bulk::Decompressor::new().ok()?),
                };
                zstd.decompress_to_buffer(packed, bytes).ok()?;
            }
            Compression::Unknown => return None,
        }
        (bytes.len() == length).then_some(())
    }
}

impl std::fmt::Debug for Unpacker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unpacker").finish_non_exhaustive()
    }
}
