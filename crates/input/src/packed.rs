//! Logs that somebody packed, or that Windows wrote: what is in them.

use crate::bytes::Bytes;
use crate::error::{Result, refuse};
use crate::types::Raw;
use rawimage::Part;
use rawimage::compression::{Compression, Decoder, Failure};
use sources::SNIFF_BYTES;
use std::fs::File;
use std::io::{Read, Seek};

/// Whether these bytes begin what zstd packed: a frame, or what its readers step over.
pub fn is_zstd(head: &[u8]) -> bool {
    compression(head) == Some(Compression::Zstd)
}

/// Whether these bytes begin what a program packed.
pub fn is_packed(head: &[u8]) -> bool {
    compression(head).is_some()
}

/// Whether these bytes begin a text in UTF-16, with its byte order mark.
pub fn is_utf16(head: &[u8]) -> bool {
    head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff])
}

/// How these bytes are packed; `None` if they are not.
pub(crate) fn compression(head: &[u8]) -> Option<Compression> {
    match skippable(head) {
        Some(_) => Some(Compression::Zstd),
        None => Compression::detect(head).filter(|c| *c != Compression::None),
    }
}

/// The length of the skippable frame of zstd that these bytes begin with (RFC 8878,
/// 3.1.2); `pzstd` writes one before each of its frames.
fn skippable(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d, ..] => {
            let length = u32::from_le_bytes([*a, *b, *c, *d]);
            usize::try_from(length).ok()?.checked_add(8)
        }
        _ => None,
    }
}

/// A log that was packed by itself, such as `dmesg.gz`, or that stands in UTF-16, as
/// PowerShell writes what a program prints; `None` if it is none. Offsets of evidence are
/// those in what was unpacked, which may have at most `most` bytes.
pub fn log(name: &str, head: &[u8], mut file: File, most: u64) -> Result<Option<Raw>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(most).read_to_end(&mut bytes)?;
    let from = from_utf16(&bytes).map(|text| ("in UTF-16", text));
    let from = from.or_else(|| Some(("packed", unpacked(head, &bytes, most)?)));
    let Some((form, (bytes, damage))) = from else {
        return Ok(None);
    };
    let head = bytes.get(..SNIFF_BYTES).unwrap_or(&bytes);
    let Some(source) = sources::sniff(head) else {
        return Ok(None);
    };
    if bytes.len() as u64 >= most {
        refuse!(
            "{name}: {form}, and unpacks to more than the {most} bytes that a log may have; \
             unpack it, and give the part that is one boot"
        );
    }
    if let Some(damage) = damage {
        refuse!(
            "{name}: {form}, and damaged behind the first {} bytes of what is in it ({damage}); \
             expected a whole file: make plain text of what there is of it, and give that",
            bytes.len()
        );
    }
    Ok(Some(Raw {
        name: name.to_owned(),
        source,
        bytes: Bytes::Read(bytes),
    }))
}

/// What could be read of a file, and why that is not all.
type Whole = (Vec<u8>, Option<String>);

/// A log that somebody packed, unpacked to at most `most` bytes; `None` if `head` is not
/// packed. All members are read, as `cat a.gz b.gz`, `pbzip2` and `pzstd` put them in a
/// row, and zeros behind them, which fill up a block of a tape or a flash.
fn unpacked(head: &[u8], bytes: &[u8], most: u64) -> Option<Whole> {
    let compression = compression(head)?;
    let mut out = Vec::new();
    let mut rest = bytes;
    loop {
        let at = bytes.len() - rest.len();
        if rest.iter().all(|b| *b == 0) {
            return Some((out, None));
        }
        if let Some(length) = skippable(rest).filter(|_| compression == Compression::Zstd) {
            match rest.get(length..) {
                Some(behind) => rest = behind,
                None => return Some((out, Some(Failure::Truncated.to_string()))),
            }
            continue;
        }
        if Compression::detect(rest) != Some(compression) {
            let damage = format!(
                "byte {at} of the file begins neither a further {compression} stream nor padding"
            );
            return Some((out, Some(damage)));
        }
        match member(compression, rest, most, &mut out) {
            Ok(Some(behind)) => rest = behind,
            Ok(None) => return Some((out, Some(Failure::Truncated.to_string()))),
            Err(failure) => return Some((out, Some(failure.to_string()))),
        }
    }
}

/// Adds to `out`, which may have `most` bytes, what the first stream of `bytes` holds;
/// what is behind that stream.
fn member<'a>(
    compression: Compression,
    bytes: &'a [u8],
    most: u64,
    out: &mut Vec<u8>,
) -> std::result::Result<Option<&'a [u8]>, Failure> {
    let part = Part::whole(&bytes).map_err(Failure::from)?;
    let left = most.saturating_sub(out.len() as u64);
    let mut decoder = Decoder::new(compression, &part, left)?;
    decoder
        .read_to_end(out)
        .map_err(|e| match Failure::from(e) {
            Failure::TooLong { .. } => Failure::TooLong { limit: most },
            other => other,
        })?;
    let taken = usize::try_from(decoder.consumed()).unwrap_or(usize::MAX);
    Ok(bytes.get(taken.max(1)..))
}

/// Text of UTF-16 that begins with its byte order mark, as UTF-8.
fn from_utf16(bytes: &[u8]) -> Option<Whole> {
    let number: fn([u8; 2]) -> u16 = match bytes {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return None,
    };
    let (pairs, half) = bytes.get(2..)?.as_chunks::<2>();
    let units = pairs.iter().map(|pair| number(*pair));
    let mut text = String::new();
    let mut at = 2;
    for c in char::decode_utf16(units) {
        let Ok(c) = c else {
            let damage = format!("byte {at} of the file begins half of a pair");
            return Some((text.into_bytes(), Some(damage)));
        };
        text.push(c);
        at += 2 * c.len_utf16();
    }
    let damage = (!half.is_empty()).then(|| "the last byte is half of a character".to_owned());
    Some((text.into_bytes(), damage))
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

/// Whether these bytes begin a tar. POSIX ustar and GNU tar: the magic stands at byte 257
/// of the first header.
pub fn tar_magic(head: &[u8]) -> bool {
    head.get(257..262) == Some(b"ustar")
}
