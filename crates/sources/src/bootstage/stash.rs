//! The stash: U-Boot's records in memory, as SPL leaves them for U-Boot, or
//! U-Boot for the kernel.
//!
//! A header of five words: version (0), count, size of all, magic, next id. Then
//! the records as the compiler lays them out, then their names, each ended by
//! NUL, in the same order.
//!
//! | field | 32 bits | 64 bits |
//! |---|---|---|
//! | time in microseconds | 0, 4 bytes | 0, 8 bytes |
//! | start of the last stretch of an accumulated time | 4, 4 bytes | 8, 4 bytes |
//! | address of the name, of no use here | 8, 4 bytes | 16, 8 bytes |
//! | flags: 1 is an error | 12, 4 bytes | 24, 4 bytes |
//! | id | 16, 4 bytes | 28, 4 bytes |

use super::notes as note;
use super::table::{Entry, Table, Time, at};
use crate::fdt::until_nul;
use crate::text;
use record::{Recorder, SourceId};

/// `BOOTSTAGE_MAGIC`.
const MAGIC: u32 = 0xb007_57a3;

const HEADER: usize = 20;

/// Where the fields of a record lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    size: usize,
    wide: bool,
    start: usize,
    flags: usize,
}

const LAYOUTS: [Layout; 2] = [
    Layout {
        size: 32,
        wide: true,
        start: 8,
        flags: 24,
    },
    Layout {
        size: 20,
        wide: false,
        start: 4,
        flags: 12,
    },
];

/// The bytes of a stash, and which byte of its words comes first.
#[derive(Clone, Copy, Debug)]
struct Words<'a> {
    bytes: &'a [u8],
    high_first: bool,
}

impl<'a> Words<'a> {
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let magic: [u8; 4] = *bytes.get(12..)?.first_chunk()?;
        let high_first = match magic {
            m if u32::from_le_bytes(m) == MAGIC => false,
            m if u32::from_be_bytes(m) == MAGIC => true,
            _ => return None,
        };
        let words = Self { bytes, high_first };
        // The only version there is.
        (words.u32(0)? == 0).then_some(words)
    }

    fn u32(&self, at: usize) -> Option<u32> {
        let word = *self.bytes.get(at..)?.first_chunk()?;
        Some(if self.high_first {
            u32::from_be_bytes(word)
        } else {
            u32::from_le_bytes(word)
        })
    }

    fn u64(&self, at: usize) -> Option<u64> {
        let word = *self.bytes.get(at..)?.first_chunk()?;
        Some(if self.high_first {
            u64::from_be_bytes(word)
        } else {
            u64::from_le_bytes(word)
        })
    }

    fn size(&self, at: usize) -> Option<usize> {
        usize::try_from(self.u32(at)?).ok()
    }
}

/// Whether these are the first bytes of a stash.
pub(super) fn is_stash(head: &[u8]) -> bool {
    Words::of(head).is_some()
}

/// The names behind `count` records of this layout, and whether they end where
/// the stash does.
fn names(stash: &[u8], count: usize, layout: Layout) -> Option<(Vec<&[u8]>, bool)> {
    let records = count.checked_mul(layout.size)?.checked_add(HEADER)?;
    let mut rest = stash.get(records..)?;
    let mut names = Vec::new();
    while names.len() < count {
        let Some(name) = until_nul(rest) else {
            return Some((names, false));
        };
        names.push(name);
        rest = rest.get(name.len().checked_add(1)?..)?;
    }
    Some((names, rest.is_empty()))
}

/// Reads a stash. Units are records.
pub(super) fn read(bytes: &[u8], source: SourceId, recorder: &mut Recorder) -> Table {
    let mut table = Table::default();
    let Some(words) = Words::of(bytes) else {
        recorder.skipped(at(source, 0), &note::NOT_WHOLE);
        return table;
    };
    let count = words.size(4).unwrap_or(0);
    // A stash that was not finished says no size.
    let size = words.size(8).filter(|&s| s > 0).unwrap_or(bytes.len());
    let stash = bytes.get(..size).unwrap_or(bytes);
    let fits = |l: &&Layout| names(stash, count, **l).is_some_and(|(_, ends)| ends);
    let exact = LAYOUTS.iter().find(fits);
    let any = |l: &&Layout| names(stash, count, **l).is_some_and(|(n, _)| !n.is_empty());
    let Some(&layout) = exact.or_else(|| LAYOUTS.iter().find(any)) else {
        recorder.skipped(at(source, 0), &note::NOT_WHOLE);
        return table;
    };
    if exact.is_none() || size > bytes.len() {
        recorder.note(at(source, 0), &note::NOT_WHOLE, String::new);
    }
    let (names, _) = names(stash, count, layout).unwrap_or_default();
    let mut entries = Vec::new();
    for (number, name) in names.into_iter().enumerate() {
        let offset = number.saturating_mul(layout.size).saturating_add(HEADER);
        let origin = at(source, offset);
        let time = if layout.wide {
            words.u64(offset)
        } else {
            words.u32(offset).map(u64::from)
        };
        let start = words.u32(offset.saturating_add(layout.start));
        let flags = words.u32(offset.saturating_add(layout.flags));
        let mut name = text::lossy(name).into_owned();
        if flags.is_some_and(|f| f & 1 != 0) {
            name.push_str(" failed");
        }
        let time = match (time, start) {
            (Some(us), Some(0)) if !name.is_empty() => Time::Mark(us),
            (Some(us), Some(1..)) => Time::Accumulated(us),
            _ => {
                recorder.skipped(origin, &note::EMPTY_RECORD);
                continue;
            }
        };
        entries.push(Entry { name, time, origin });
        recorder.took(source);
    }
    table.merge(entries);
    table
}
