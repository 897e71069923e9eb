//! Logs that somebody packed, or that Windows wrote: what is in them.

use super::{Bytes, MAX_RAW_BYTES, Raw, kernel_image, tar_magic};
use anyhow::{Result, bail};
use sources::SNIFF_BYTES;
use std::fs::File;
use std::io::{Read, Seek};

/// What a compressed tar of zstd begins with (RFC 8878).
pub const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// A log that was packed by itself, such as `dmesg.gz`, or that stands in UTF-16, as
/// PowerShell writes what a program prints; `None` if it is none. Offsets of evidence are
/// those in what was unpacked.
pub fn log(name: &str, head: &[u8], mut file: File) -> Result<Option<Raw>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(MAX_RAW_BYTES).read_to_end(&mut bytes)?;
    let (bytes, damage) = match from_utf16(&bytes) {
        Some(text) => (text, None),
        None => match kernel_image::unpacked(head, &bytes, MAX_RAW_BYTES) {
            Some(unpacked) => unpacked,
            None => return Ok(None),
        },
    };
    let head = bytes.get(..SNIFF_BYTES).unwrap_or(&bytes);
    let Some(source) = sources::sniff(head) else {
        return Ok(None);
    };
    if let Some(damage) = damage {
        bail!(
            "{name}: packed, and damaged behind the first {} bytes of what is in it ({damage}); \
             expected a whole file: unpack what there is of it, and give that",
            bytes.len()
        );
    }
    Ok(Some(Raw {
        name: name.to_owned(),
        source,
        bytes: Bytes::Read(bytes),
    }))
}

/// Text of UTF-16 that begins with its byte order mark, as UTF-8.
fn from_utf16(bytes: &[u8]) -> Option<Vec<u8>> {
    let number: fn([u8; 2]) -> u16 = match bytes {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return None,
    };
    let (pairs, _) = bytes.get(2..)?.as_chunks::<2>();
    let units = pairs.iter().map(|pair| number(*pair));
    let text: String = char::decode_utf16(units)
        .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    Some(text.into_bytes())
}

/// Whether what zstd packed is a tar that no source reads by itself: a capture, or what
/// is damaged so early that nothing can be said of it.
pub fn holds_capture(file: &mut File) -> Result<bool> {
    file.rewind()?;
    let mut head = Vec::new();
    let packed = zstd::Decoder::new(&mut *file)?;
    let whole = packed.take(SNIFF_BYTES as u64).read_to_end(&mut head);
    let early = whole.is_err() && head.len() < 512;
    Ok(early || tar_magic(&head) && !sources::is_archive_of_others(&head))
}
