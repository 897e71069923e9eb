//! Kernel images of 32-bit ARM that unpack themselves.
//!
//! Sources: Linux' `arch/arm/boot/compressed/head.S` and `vmlinux.lds.S`. The
//! image does not say where its packed kernel begins; since Linux 4.15 it says
//! where that ends.

use super::{Payload, payload};
use rawimage::bytes::{Part, be32, le32};
use rawimage::compression::{Compression, LIMIT};
use std::io;

const MAGIC_AT: usize = 0x24;
const MAGIC: u32 = 0x016f_2818;
const ENDIAN_MARK: u32 = 0x0403_0201;
const TABLE_MARK: u32 = 0x4545_4545;
const TABLE_MAGIC: u32 = 0x5a53_4c4b;

/// So many places are tried where a packed kernel could begin.
const MOST_TRIES: usize = 64;
/// A kernel is at least so long; shorter streams are something else.
const SHORTEST: u64 = 1 << 16;

/// What a zImage says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZImage {
    /// Whether its header's numbers are big-endian.
    pub is_big_endian: bool,
    /// Whether the kernel is big-endian: its code may be little-endian all the
    /// same.
    pub kernel_is_big_endian: Option<bool>,
    /// Where it must be loaded; 0 if it may lie anywhere.
    pub start: u32,
    /// Its length, bytes. What follows is not part of it.
    pub size: u64,
    /// How much memory the unpacked kernel needs beside its own size: since
    /// Linux 4.15.
    pub bss_size: Option<u32>,
    /// How far behind the start of memory the unpacked kernel goes.
    pub text_offset: Option<u32>,
    /// The packed kernel.
    pub payload: Option<Payload>,
    /// Whether a device tree is appended to it: where, and how long.
    pub appended_dtb: Option<(u64, u64)>,
}

/// Whether an image begins like a zImage.
#[must_use]
pub fn is_zimage(head: &[u8]) -> bool {
    le32(head, MAGIC_AT) == Some(MAGIC) || be32(head, MAGIC_AT) == Some(MAGIC)
}

/// The length that the header says, bytes; `None` if it is no zImage.
#[must_use]
pub fn stated_size(head: &[u8]) -> Option<u64> {
    let number = |at: usize| match be32(head, MAGIC_AT) {
        Some(MAGIC) => be32(head, at),
        _ => le32(head, at),
    };
    let size = number(0x2c)?.wrapping_sub(number(0x28)?);
    is_zimage(head).then_some(u64::from(size))
}

/// Reads the image that `part` begins with; `None` if it is none. `limit`: how many
/// bytes its packed kernel is unpacked to, to see what is in it.
///
/// # Errors
/// What reading says.
pub fn read(part: &Part<'_>, limit: u64) -> io::Result<Option<ZImage>> {
    let head = part.read(0, 0x40)?;
    if !is_zimage(&head) {
        return Ok(None);
    }
    let is_big_endian = be32(&head, MAGIC_AT) == Some(MAGIC);
    let number = |bytes: &[u8], at: usize| match is_big_endian {
        true => be32(bytes, at),
        false => le32(bytes, at),
    };
    let start = number(&head, 0x28).unwrap_or(0);
    let end = number(&head, 0x2c).unwrap_or(0);
    let size = u64::from(end.wrapping_sub(start));
    let mark = (le32(&head, 0x30), be32(&head, 0x30));
    let table = number(&head, 0x38).filter(|_| number(&head, 0x34) == Some(TABLE_MARK));
    let table = match table {
        Some(at) => part.read(u64::from(at), 28)?,
        None => Vec::new(),
    };
    let table = Some(table).filter(|t| number(t, 4) == Some(TABLE_MAGIC));
    // Its first word is the number of those that follow.
    let words = table.as_deref().and_then(|t| number(t, 0)).unwrap_or(0) as usize;
    let entry = |i: usize| number(table.as_deref()?, 4 * i).filter(|_| i <= words);
    let whole = part.part(0, size);
    // Where the unpacked size stands: the last four bytes of the packed kernel.
    let piggy_end = entry(2).map(|at| u64::from(at) + 4);
    let piggy_end = piggy_end.filter(|end| *end <= whole.len());
    let dtb = part.read(size, 8)?;
    let appended_dtb = (dtb.starts_with(&crate::fdt::MAGIC))
        .then(|| be32(&dtb, 4))
        .flatten();
    Ok(Some(ZImage {
        is_big_endian,
        kernel_is_big_endian: match mark {
            (Some(ENDIAN_MARK), _) => Some(false),
            (_, Some(ENDIAN_MARK)) => Some(true),
            _ => None,
        },
        start,
        size,
        bss_size: entry(3),
        text_offset: entry(4),
        payload: find(&whole, piggy_end, limit)?,
        appended_dtb: appended_dtb.map(|length| (size, u64::from(length))),
    }))
}

/// Looks for the packed kernel: the first stream that unpacks whole, to the size
/// that the image says, or, if it does not say, to the size of a kernel.
fn find(image: &Part<'_>, end: Option<u64>, limit: u64) -> io::Result<Option<Payload>> {
    const WINDOW: usize = 1 << 20;
    let stated = match end {
        Some(end) => super::fields::size_before(image, end)?,
        None => None,
    };
    let end = end.unwrap_or(image.len());
    let mut tries = 0;
    let mut best: Option<Payload> = None;
    let mut start = 0x40;
    while start < end {
        let bytes = image.read(start, WINDOW + 32)?;
        for at in candidates(&bytes).filter(|at| *at < WINDOW) {
            let offset = start + at as u64;
            let rest = bytes.get(at..).unwrap_or_default();
            let Some(compression) = Compression::detect(rest).filter(|_| offset < end) else {
                continue;
            };
            tries += 1;
            if tries > MOST_TRIES {
                return Ok(best);
            }
            let behind = match (compression, stated) {
                (Compression::Gzip, _) | (_, None) => 0,
                _ => 4,
            };
            let length = (end - offset).saturating_sub(behind);
            let found = payload(
                image,
                (offset, length),
                compression,
                stated,
                limit.min(LIMIT),
            )?;
            let fits = match (found.unpacked, stated) {
                (Some(unpacked), Some(stated)) => unpacked == stated,
                (Some(unpacked), None) => unpacked >= SHORTEST,
                _ => false,
            };
            if fits {
                return Ok(Some(found));
            }
            // If none fits, the longest is told, with what is wrong with it.
            let longer = best.as_ref().is_none_or(|b| b.packed < found.packed);
            if longer && found.packed >= SHORTEST {
                best = Some(found);
            }
        }
        start += WINDOW as u64;
    }
    Ok(best)
}

/// Where the first byte of a stream's magic number stands.
fn candidates(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let first = |at: &usize| {
        let two = bytes.get(*at..).and_then(|b| b.first_chunk::<2>());
        matches!(
            two,
            Some(
                [0x1f, 0x8b]
                    | [b'B', b'Z']
                    | [0x5d, 0]
                    | [0xfd, b'7']
                    | [0x89, b'L']
                    | [0x02, 0x21]
                    | [0x28, 0xb5]
            )
        )
    };
    (0..bytes.len()).filter(first)
}
