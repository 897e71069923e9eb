//! How a trial's capture leaves the machine.
//!
//! The lab gives the machine a piece of persistent memory that is a file of the
//! host. The agent writes the capture's tar into it:
//!
//! | bytes | what |
//! |---|---|
//! | 0..8 | `FLPAYLD1` |
//! | 8..16 | the length of the tar, little-endian |
//! | 16.. | the tar |
//!
//! The header is written last. Without it there is no payload, or a torn one.

use std::io::{self, Read, Seek, SeekFrom, Write};

/// The first eight bytes: the kind, and the version of the format.
pub const MAGIC: [u8; 8] = *b"FLPAYLD1";

/// The length of the header, and the place of the tar, in bytes.
pub const HEADER_BYTES: u64 = 16;

/// Why there is no payload to be had.
#[derive(Debug, thiserror::Error)]
pub enum PayloadError {
    /// Nothing was written.
    #[error(
        "the payload is missing because the agent did not finish; check the end of the console log"
    )]
    Absent,
    /// Something was written, but not the header.
    #[error(
        "the payload is incomplete: it begins with {found:02x?} instead of `FLPAYLD1`, because \
         the machine stopped while the agent wrote; check the end of the console log"
    )]
    Torn {
        /// The first eight bytes.
        found: [u8; 8],
    },
    /// The memory ends before the tar does.
    #[error(
        "the payload is truncated: its header states {length} bytes, but the file contains \
         {held}; check that the disk is not full and run the trial again"
    )]
    Cut {
        /// What the header says, in bytes.
        length: u64,
        /// What is there, in bytes.
        held: u64,
    },
    /// The header promises more than the reader takes.
    #[error(
        "the payload states a length of {length} bytes, above the limit of {limit}; run the trial \
         again"
    )]
    TooLarge {
        /// What the header says, in bytes.
        length: u64,
        /// The limit, in bytes.
        limit: u64,
    },
    /// The payload's memory cannot hold the tar.
    #[error(
        "the capture has {length} bytes, but the payload memory has {room}; record less in the \
         trial"
    )]
    NoRoom {
        /// The tar's length, in bytes.
        length: u64,
        /// The room behind the header, in bytes.
        room: u64,
    },
    /// The file or device could not be read or written.
    #[error("cannot access the payload memory: {0}")]
    Io(#[from] io::Error),
}

/// The sixteen bytes that make a tar of `length` bytes a payload.
#[must_use]
pub fn header(length: u64) -> [u8; 16] {
    let mut header = [0; 16];
    header[..8].copy_from_slice(&MAGIC);
    header[8..].copy_from_slice(&length.to_le_bytes());
    header
}

/// Writes `tar` into `out`, which holds `room` bytes: the old header away, the
/// tar, then the new header, each on the medium before the next (`sync`).
///
/// # Errors
/// If `out` is too small, or cannot be written.
pub fn write_payload<W: Write + Seek>(
    out: &mut W,
    room: u64,
    tar: &[u8],
    sync: impl Fn(&mut W) -> io::Result<()>,
) -> Result<(), PayloadError> {
    let write = |out: &mut W| out.write_all(tar);
    write_payload_with(out, room, tar.len() as u64, sync, write)
}

/// As [`write_payload`], of a tar of `length` bytes that `write` writes.
///
/// # Errors
/// If `out` is too small, or cannot be written.
pub fn write_payload_with<W: Write + Seek>(
    out: &mut W,
    room: u64,
    length: u64,
    sync: impl Fn(&mut W) -> io::Result<()>,
    write: impl FnOnce(&mut W) -> io::Result<()>,
) -> Result<(), PayloadError> {
    let room = room.saturating_sub(HEADER_BYTES);
    if length > room {
        return Err(PayloadError::NoRoom { length, room });
    }
    out.rewind()?;
    out.write_all(&[0; HEADER_BYTES as usize])?;
    sync(out)?;
    write(out)?;
    sync(out)?;
    out.seek(SeekFrom::Start(0))?;
    out.write_all(&header(length))?;
    sync(out)?;
    Ok(())
}

/// Reads the tar from a payload, if it has at most `limit` bytes.
///
/// Memory grows with what is there, not with what the header promises.
///
/// # Errors
/// If the payload is absent, torn, cut or too large, or cannot be read.
pub fn read_payload(mut from: impl Read, limit: u64) -> Result<Vec<u8>, PayloadError> {
    let mut head = Vec::new();
    from.by_ref().take(HEADER_BYTES).read_to_end(&mut head)?;
    let magic: [u8; 8] = head
        .get(..8)
        .and_then(|b| b.try_into().ok())
        .unwrap_or_default();
    let length: Option<[u8; 8]> = head.get(8..).and_then(|b| b.try_into().ok());
    if magic != MAGIC {
        // The first block of a tar is never empty.
        let mut start = head;
        from.take(512).read_to_end(&mut start)?;
        return Err(if start.iter().all(|b| *b == 0) {
            PayloadError::Absent
        } else {
            PayloadError::Torn { found: magic }
        });
    }
    let Some(length) = length.map(u64::from_le_bytes) else {
        return Err(PayloadError::Cut {
            length: HEADER_BYTES,
            held: head.len() as u64,
        });
    };
    if length > limit {
        return Err(PayloadError::TooLarge { length, limit });
    }
    let mut tar = Vec::new();
    from.take(length).read_to_end(&mut tar)?;
    let held = tar.len() as u64;
    if held != length {
        return Err(PayloadError::Cut { length, held });
    }
    Ok(tar)
}
