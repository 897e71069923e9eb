//! The parts of version 7 files: options that say where sections are, and
//! sections, compressed or not (trace-cmd.dat.v7(5)).

use super::compress::{Compression, LARGEST_SECTION, Unpacker};
use super::cursor::{Cursor, Damage, Order};
use std::borrow::Cow;

/// The section that is a list of options, and the option that ends one.
const OPTIONS_DONE: u16 = 0;

/// The flag of a section that is compressed.
const COMPRESSED: u16 = 1;

/// A file has some dozen options and one list of them for each that was
/// written late; a damaged one could have them without end.
const MOST_OPTIONS: usize = 100_000;

/// Something that the file says of itself, by the number of the option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    /// The option's number.
    pub id: u16,
    /// Its data.
    pub data: Cow<'a, [u8]>,
    /// Where it stands in the file.
    pub place: u64,
}

/// The content of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Section<'a> {
    /// All of it, unpacked.
    pub bytes: Cow<'a, [u8]>,
    /// Where it begins in the file, packed or not.
    pub place: u64,
    /// Whether it was packed.
    pub packed: bool,
}

impl Section<'_> {
    /// At its start.
    pub(super) fn cursor(&self, order: Order) -> Cursor<'_> {
        Cursor::inside(&self.bytes, self.place, self.packed, order)
    }
}

/// Whether the section whose head stands at `at` is compressed, and where its
/// content begins.
pub(super) fn head(
    file: &[u8],
    at: u64,
    id: u16,
    order: Order,
) -> Result<(bool, Cursor<'_>), Damage> {
    let expected = "a section of trace.dat version 7";
    let outside = Damage { at, expected };
    let start = usize::try_from(at).map_err(|_| outside)?;
    let mut cursor = Cursor::new(file, start, order);
    if cursor.u16(expected)? != id {
        return Err(outside);
    }
    let flags = cursor.u16(expected)?;
    cursor.u32(expected)?;
    cursor.u64(expected)?;
    Ok((flags & COMPRESSED != 0, cursor))
}

/// The section at `at`, up to its end in the file. An uncompressed section
/// does not say reliably how long it is, and need not: its content does.
pub(super) fn section<'a>(
    file: &'a [u8],
    at: u64,
    id: u16,
    order: Order,
    compression: Compression,
    unpacker: &mut Unpacker,
) -> Result<Section<'a>, Damage> {
    let (packed, mut cursor) = head(file, at, id, order)?;
    let place = cursor.place();
    if !packed {
        let bytes = Cow::Borrowed(cursor.rest());
        return Ok(Section {
            bytes,
            place,
            packed,
        });
    }
    let expected = "a compressed section";
    let length = cursor.u32(expected)?;
    let unpacked = u64::from(cursor.u32(expected)?);
    let content = cursor.take(length.into(), expected)?;
    let too_large = Damage {
        at: place,
        expected: "a section of at most 64 MiB",
    };
    if unpacked > LARGEST_SECTION {
        return Err(too_large);
    }
    let length = usize::try_from(unpacked).map_err(|_| too_large)?;
    let mut bytes = Vec::new();
    unpacker
        .unpack(compression, content, length, &mut bytes)
        .ok_or(Damage {
            at: place,
            expected: "data compressed as the file header says",
        })?;
    Ok(Section {
        bytes: Cow::Owned(bytes),
        place,
        packed,
    })
}

/// All options, from the list at `at` on. What was read before damage is kept.
pub(super) fn options<'a>(
    file: &'a [u8],
    mut at: u64,
    order: Order,
    compression: Compression,
    unpacker: &mut Unpacker,
) -> (Vec<Entry<'a>>, Option<Damage>) {
    let mut entries = Vec::new();
    while at != 0 && entries.len() < MOST_OPTIONS {
        let list = match section(file, at, OPTIONS_DONE, order, compression, unpacker) {
            Ok(list) => list,
            Err(damage) => return (entries, Some(damage)),
        };
        let next = match &list.bytes {
            Cow::Borrowed(bytes) => {
                let cursor = Cursor::new(file, file.len() - bytes.len(), order);
                list_of(cursor, &mut |id, data, place| {
                    let data = Cow::Borrowed(data);
                    entries.push(Entry { id, data, place });
                })
            }
            Cow::Owned(_) => list_of(list.cursor(order), &mut |id, data, place| {
                let data = Cow::Owned(data.to_vec());
                entries.push(Entry { id, data, place });
            }),
        };
        match next {
            // Lists are written one after the other.
            Ok(next) if next == 0 || next > at => at = next,
            Ok(_) => {
                let expected = "a further list of options";
                return (entries, Some(Damage { at, expected }));
            }
            Err(damage) => return (entries, Some(damage)),
        }
    }
    (entries, None)
}

/// Gives each option of a list to `take`; where the next list is, or 0.
fn list_of<'a>(
    mut cursor: Cursor<'a>,
    take: &mut impl FnMut(u16, &'a [u8], u64),
) -> Result<u64, Damage> {
    let expected = "a trace.dat option";
    for _ in 0..MOST_OPTIONS {
        let id = cursor.u16(expected)?;
        let length = cursor.u32(expected)?;
        let place = cursor.place();
        if id == OPTIONS_DONE {
            return match length {
                8 => cursor.u64(expected),
                _ => Ok(0),
            };
        }
        take(id, cursor.take(length.into(), expected)?, place);
    }
    Ok(0)
}
