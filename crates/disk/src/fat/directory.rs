//! Directories: short names, and the long ones before them.

use rawimage::Part;
use rawimage::bytes::{le16, le32};
use std::io;

const ENTRY: usize = 32;
const VOLUME: u8 = 0x08;
const DIRECTORY: u8 = 0x10;
/// The attributes of a part of a long name: read-only, hidden, system, volume.
const LONG: u8 = 0x0f;
/// The part of a long name that stands first is its last, and has this bit.
const LAST: u8 = 0x40;
/// A long name has at most so many parts of 13 units.
const MOST_PARTS: u8 = 20;
const DELETED: u8 = 0xe5;

/// A file or a directory.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The long name, or else the short one.
    pub name: String,
    /// The short name.
    pub short: String,
    pub is_directory: bool,
    /// Its first cluster; 0 if it has none.
    pub first: u32,
    pub size: u64,
}

/// What a directory holds.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub entries: Vec<Entry>,
    /// The name of the filesystem; it stands in the root.
    pub label: Option<String>,
    /// How many long names do not belong to the short name behind them.
    pub damaged: u64,
}

/// A long name as far as its parts were read.
#[derive(Default)]
struct Long {
    units: Vec<u16>,
    /// The part that must come next.
    wanted: u8,
    /// Of the short name that it belongs to.
    checksum: u8,
}

/// The directory that lies at `places`.
pub(super) fn list(volume: &Part<'_>, places: &[(u64, u64)]) -> io::Result<Listing> {
    let mut listing = Listing::default();
    let mut long: Option<Long> = None;
    for (start, len) in places {
        let bytes = volume.read(*start, usize::try_from(*len).unwrap_or(0))?;
        for entry in bytes.chunks_exact(ENTRY) {
            let byte = |at: usize| entry.get(at).copied().unwrap_or(0);
            let (front, attributes) = (byte(0), byte(11));
            match front {
                0 => return Ok(listing),
                DELETED => {
                    long = None;
                    continue;
                }
                _ => {}
            }
            if attributes & 0x3f == LONG {
                let (part, is_damaged) = longer(long.take(), entry);
                listing.damaged += u64::from(is_damaged);
                long = part;
                continue;
            }
            let before = long.take();
            let raw = entry.get(..11).unwrap_or_default();
            if attributes & VOLUME != 0 {
                let label = String::from_utf8_lossy(raw).trim_end().to_owned();
                listing.label = listing.label.or(Some(label));
                continue;
            }
            // The directory itself, and the one that it is in.
            if front == b'.' {
                continue;
            }
            let short = short(raw, byte(12));
            let name = before.map(|l| l.finish(raw));
            listing.damaged += u64::from(name == Some(None));
            let high = u32::from(le16(entry, 20).unwrap_or(0));
            let low = u32::from(le16(entry, 26).unwrap_or(0));
            listing.entries.push(Entry {
                name: name.flatten().unwrap_or_else(|| short.clone()),
                short,
                is_directory: attributes & DIRECTORY != 0,
                first: high << 16 | low,
                size: u64::from(le32(entry, 28).unwrap_or(0)),
            });
        }
    }
    Ok(listing)
}

/// A long name with one part more, and whether what was there is damaged.
fn longer(before: Option<Long>, entry: &[u8]) -> (Option<Long>, bool) {
    let byte = |at: usize| entry.get(at).copied().unwrap_or(0);
    let (number, checksum) = (byte(0) & !LAST, byte(13));
    let is_new = byte(0) & LAST != 0;
    let was_cut = is_new && before.is_some();
    let long = match before {
        _ if number == 0 || number > MOST_PARTS => None,
        _ if is_new => Some(Long {
            checksum,
            ..Long::default()
        }),
        Some(long) => (long.wanted == number && long.checksum == checksum).then_some(long),
        None => None,
    };
    let Some(mut long) = long else {
        return (None, true);
    };
    let places = [1..11, 14..26, 28..32];
    let parts = places
        .into_iter()
        .flat_map(|p| entry.get(p).unwrap_or_default().chunks_exact(2));
    let mut units: Vec<u16> = parts.filter_map(|pair| le16(pair, 0)).collect();
    // The last part of a name stands first.
    units.append(&mut long.units);
    long.units = units;
    long.wanted = number - 1;
    (Some(long), was_cut)
}

impl Long {
    /// The name, if all of it was read and belongs to that short name.
    fn finish(self, short: &[u8]) -> Option<String> {
        let sum = short
            .iter()
            .fold(0_u8, |s, b| s.rotate_right(1).wrapping_add(*b));
        let end = self.units.iter().position(|u| *u == 0);
        let units = self.units.get(..end.unwrap_or(self.units.len()))?;
        let is_whole = self.wanted == 0 && self.checksum == sum && !units.is_empty();
        is_whole.then(|| String::from_utf16_lossy(units))
    }
}

/// `README.TXT`, with the letters that Windows NT made small.
fn short(raw: &[u8], case: u8) -> String {
    let mut bytes = raw.to_vec();
    // The first letter may be the sign of what is deleted.
    if let Some(first) = bytes.first_mut().filter(|f| **f == 0x05) {
        *first = DELETED;
    }
    let text = |bytes: &[u8], bit: u8| {
        let text = String::from_utf8_lossy(bytes).trim_end().to_owned();
        match case & bit {
            0 => text,
            _ => text.to_ascii_lowercase(),
        }
    };
    let (name, ending) = bytes.split_at(bytes.len().min(8));
    let (name, ending) = (text(name, 0x08), text(ending, 0x10));
    match ending.as_str() {
        "" => name,
        ending => format!("{name}.{ending}"),
    }
}
