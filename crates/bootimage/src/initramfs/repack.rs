//! The same archives, packed in another way.

use super::{Initramfs, Segment, read};
use crate::cpio::{self, Reader};
use rawimage::bytes::Part;
use rawimage::compression::{Compression, Decoder, Failure, encode};
use sha2::{Digest, Sha256};
use std::io::{self, Write};

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repacked {
    /// What was read.
    pub before: Initramfs,
    /// How many segments were left as they were, because they are read before
    /// anything can be unpacked.
    pub kept: usize,
    /// How many bytes were written.
    pub bytes: u64,
}

/// Why an initramfs cannot be packed anew.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RepackError {
    /// There is nothing in it.
    #[error("the file contains no archive; pass an initramfs image")]
    Empty,
    /// A segment cannot be read, so it cannot be packed either.
    #[error("cannot recompress the segment at byte {offset}: {problem}")]
    Damaged {
        /// Where it begins.
        offset: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// Something follows that is no archive.
    #[error(
        "byte {offset} begins neither an archive nor a stream that Linux decompresses; truncate \
         the file there first"
    )]
    Junk {
        /// Where it begins.
        offset: u64,
    },
    /// Linux does not unpack that.
    #[error("Linux cannot decompress {0}; choose another compression")]
    NotForLinux(Compression),
    /// Unpacking failed.
    #[error(transparent)]
    Unpack(#[from] Failure),
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Packs each segment anew, and leaves those that are read early as they are.
/// Every entry keeps every byte; what changes is only how it is packed.
///
/// # Errors
/// The initramfs is damaged, or reading or writing fails.
pub fn repack(
    image: &Part<'_>,
    compression: Compression,
    limit: u64,
    out: &mut dyn Write,
) -> Result<Repacked, RepackError> {
    if !compression.is_read_by_linux() {
        return Err(RepackError::NotForLinux(compression));
    }
    let before = read(image, limit)?;
    if let Some(offset) = before.junk {
        return Err(RepackError::Junk { offset });
    }
    let damaged = before
        .segments
        .iter()
        .find_map(|s| Some((s, s.problem.as_ref()?)));
    if let Some((segment, problem)) = damaged {
        return Err(RepackError::Damaged {
            offset: segment.offset,
            problem: problem.clone(),
        });
    }
    if before.segments.is_empty() {
        return Err(RepackError::Empty);
    }
    let mut counted = Counted { out, bytes: 0 };
    let mut kept = 0;
    let last = before.segments.len() - 1;
    for (i, segment) in before.segments.iter().enumerate() {
        if stays(segment) {
            // With the zeros behind it, which often bring what follows to a
            // page.
            let all = segment.size + segment.padding;
            io::copy(&mut image.part(segment.offset, all).cursor(), &mut counted)?;
            kept += 1;
        } else {
            let part = image.part(segment.offset, segment.size);
            let mut decoder = Decoder::new(segment.compression, &part, limit.max(part.len()))?;
            encode(compression, &mut decoder, &mut counted)?;
            // A stream of LZ4 has no end but zeros, or what is no length.
            if compression == Compression::Lz4 && i < last {
                counted.write_all(&[0; 4])?;
            }
        }
        if i < last {
            counted.align()?;
        }
    }
    let bytes = counted.bytes;
    Ok(Repacked {
        before,
        kept,
        bytes,
    })
}

/// Whether a segment is read before anything can be unpacked.
fn stays(segment: &Segment) -> bool {
    segment.compression == Compression::None && segment.is_only_early
}

struct Counted<'a> {
    out: &'a mut dyn Write,
    bytes: u64,
}

impl Counted<'_> {
    /// An archive that is not packed begins at a multiple of 4.
    fn align(&mut self) -> io::Result<()> {
        let missing = self.bytes.next_multiple_of(4) - self.bytes;
        for _ in 0..missing {
            self.write_all(&[0])?;
        }
        Ok(())
    }
}

impl Write for Counted<'_> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let written = self.out.write(buf)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A digest over all entries, in order: every field, name and byte of content;
/// not over how they are packed. Two initramfs with the same digest unpack to
/// the same files.
///
/// # Errors
/// The initramfs is damaged, or cannot be read.
pub fn fingerprint(image: &Part<'_>, limit: u64) -> Result<[u8; 32], RepackError> {
    let found = read(image, limit)?;
    if let Some(offset) = found.junk {
        return Err(RepackError::Junk { offset });
    }
    let mut digest = Sha256::new();
    for segment in &found.segments {
        if let Err(error) = add(image, segment, limit, &mut digest) {
            return Err(RepackError::Damaged {
                offset: segment.offset,
                problem: error.to_string(),
            });
        }
    }
    Ok(digest.finalize().into())
}

fn add(
    image: &Part<'_>,
    segment: &Segment,
    limit: u64,
    digest: &mut Sha256,
) -> Result<(), cpio::Error> {
    let part = image.part(segment.offset, segment.size);
    let decoder = Decoder::new(segment.compression, &part, limit.max(part.len()));
    let mut reader = Reader::new(decoder.map_err(io::Error::from)?);
    let mut between = false;
    while let Some(entry) = reader.next(between)? {
        between = entry.is_trailer();
        if between {
            continue;
        }
        let (major, minor) = entry.device;
        let fields = [
            entry.ino,
            entry.mode,
            entry.uid,
            entry.gid,
            entry.links,
            entry.mtime,
            entry.size,
            major,
            minor,
            entry.checksum.unwrap_or(0),
        ];
        for field in fields {
            digest.update(field.to_le_bytes());
        }
        digest.update((entry.name.len() as u64).to_le_bytes());
        digest.update(&entry.name);
        reader.content(&entry, &mut |piece| digest.update(piece))?;
    }
    Ok(())
}
