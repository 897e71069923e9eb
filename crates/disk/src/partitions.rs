//! Partition tables: MBR with its chain of logical partitions, and GPT.
//!
//! Formats: UEFI specification 2.10, chapter 5; the kernel's
//! `block/partitions/`.

use rawimage::Part;
use rawimage::bytes::{le16, le32, le64};
use std::io;

/// No more logical partitions are followed.
const MOST_LOGICAL: u32 = 124;
/// No more entries of a GPT are read; tables have 128.
const MOST_ENTRIES: u32 = 1024;
const SECTOR: u64 = 512;

/// What kind of table it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// The one of the IBM PC.
    Mbr,
    /// The one of UEFI.
    Gpt,
}

impl Table {
    /// Its usual name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mbr => "MBR",
            Self::Gpt => "GPT",
        }
    }
}

/// A part of a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its number, as in `sda1`.
    pub number: u32,
    /// Where it begins, bytes from the start of the disk.
    pub start: u64,
    /// How many bytes.
    pub len: u64,
    /// Its type: two hexadecimal digits, or a GUID.
    pub kind: String,
    /// Its name, in a GPT; else empty.
    pub name: String,
}

/// A partition table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Partitions {
    pub table: Table,
    pub partitions: Vec<Partition>,
    /// Where the table itself lies: start and length in bytes.
    pub places: Vec<(u64, u64)>,
    pub notes: Vec<String>,
}

/// The GPT of a disk, if there is a sound one.
pub(super) fn gpt(disk: &Part<'_>) -> io::Result<Option<Partitions>> {
    for sector in [512, 4096] {
        let copies = [Some(sector), disk.len().checked_sub(sector)];
        for (at, is_copy) in copies.into_iter().flatten().zip([false, true]) {
            if let Some(mut found) = gpt_at(disk, at, sector)? {
                if is_copy {
                    let note = "the primary partition table is damaged; its backup was used";
                    found.notes.push(note.to_owned());
                }
                found.places.push((0, sector));
                return Ok(Some(found));
            }
        }
    }
    Ok(None)
}

fn gpt_at(disk: &Part<'_>, at: u64, sector: u64) -> io::Result<Option<Partitions>> {
    let header = disk.read(at, 512)?;
    let n32 = |at| le32(&header, at).unwrap_or(0);
    let n64 = |at| le64(&header, at).unwrap_or(0);
    if !header.starts_with(b"EFI PART") {
        return Ok(None);
    }
    let mut summed = match header.get(..n32(12) as usize) {
        Some(bytes) if bytes.len() >= 92 => bytes.to_vec(),
        _ => return Ok(None),
    };
    if let Some(crc) = summed.get_mut(16..20) {
        crc.fill(0);
    }
    if crc32fast::hash(&summed) != n32(16) {
        return Ok(None);
    }
    let (count, size) = (n32(80).min(MOST_ENTRIES), n32(84));
    if !(128..=4096).contains(&size) {
        return Ok(None);
    }
    let start = n64(72).saturating_mul(sector);
    let length = u64::from(count) * u64::from(size);
    let entries = disk.read(start, usize::try_from(length).unwrap_or(0))?;
    let mut notes = Vec::new();
    if crc32fast::hash(&entries) != n32(88) {
        notes.push("the checksum of the partition table entries is wrong".to_owned());
    }
    let mut partitions = Vec::new();
    for (entry, number) in entries.chunks_exact(size as usize).zip(1..) {
        let kind = entry.get(..16).unwrap_or_default();
        let (Some(first), Some(last)) = (le64(entry, 32), le64(entry, 40)) else {
            continue;
        };
        if kind.iter().all(|b| *b == 0) {
            continue;
        }
        let len = last.checked_sub(first).and_then(|l| l.checked_add(1));
        let place = (
            first.checked_mul(sector),
            len.and_then(|l| l.checked_mul(sector)),
        );
        let (Some(start), Some(len)) = place else {
            notes.push(format!("partition {number} ends before it starts"));
            continue;
        };
        let name = entry.get(56..128).unwrap_or_default();
        let units = name.chunks_exact(2).filter_map(|c| le16(c, 0));
        let units: Vec<u16> = units.take_while(|u| *u != 0).collect();
        partitions.push(Partition {
            number,
            start,
            len,
            kind: guid(kind),
            name: String::from_utf16_lossy(&units),
        });
    }
    let places = vec![(at, sector), (start, length)];
    Ok(Some(Partitions {
        table: Table::Gpt,
        partitions,
        places,
        notes,
    }))
}

/// A GUID as text: its first three numbers are little-endian.
fn guid(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for (i, at) in [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15]
        .into_iter()
        .enumerate()
    {
        if matches!(i, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let byte = bytes.get(at).copied().unwrap_or(0);
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// One of the four entries of an MBR: type, first sector, sectors.
fn entries(sector: &[u8]) -> Option<Vec<(u8, u64, u64)>> {
    if le16(sector, 510)? != 0xaa55 {
        return None;
    }
    let table = sector.get(446..510)?;
    let entries = table.chunks_exact(16).map(|e| {
        let kind = e.get(4).copied().unwrap_or(0);
        let n32 = |at| u64::from(le32(e, at).unwrap_or(0));
        (kind, n32(8), n32(12))
    });
    Some(entries.collect())
}

/// Whether a type says that partitions are in it.
fn is_extended(kind: u8) -> bool {
    matches!(kind, 0x05 | 0x0f | 0x85)
}

/// The MBR of a disk, if there is one that makes sense.
pub(super) fn mbr(disk: &Part<'_>) -> io::Result<Option<Partitions>> {
    let sector = disk.read(0, 512)?;
    let Some(first) = entries(&sector) else {
        return Ok(None);
    };
    // A boot sector of a filesystem ends like an MBR: each entry has to have a
    // right status, and to lie on the disk.
    let status = |i: usize| sector.get(446 + 16 * i).copied().unwrap_or(0);
    let sound = (0..4).all(|i| matches!(status(i), 0 | 0x80))
        && first
            .iter()
            .all(|(kind, start, len)| *kind == 0 || (*start > 0 && *len > 0));
    if !sound || first.iter().all(|(kind, ..)| *kind == 0) {
        return Ok(None);
    }
    let mut found = Partitions {
        table: Table::Mbr,
        partitions: Vec::new(),
        places: vec![(0, SECTOR)],
        notes: Vec::new(),
    };
    let one = |number, kind: u8, start: u64, len: u64| Partition {
        number,
        start: start.saturating_mul(SECTOR),
        len: len.saturating_mul(SECTOR),
        kind: format!("{kind:02x}"),
        name: String::new(),
    };
    let mut logical = 5;
    for ((kind, start, len), number) in first.into_iter().zip(1..) {
        if is_extended(kind) {
            // A chain: each table has a partition, and the place of the next
            // table, counted from the first one.
            let (mut next, mut links) = (0, 0);
            while links < MOST_LOGICAL {
                links += 1;
                let at = start.saturating_add(next);
                let sector = disk.read(at.saturating_mul(SECTOR), 512)?;
                let Some(entries) = entries(&sector) else {
                    break;
                };
                found.places.push((at.saturating_mul(SECTOR), SECTOR));
                next = 0;
                for (kind, from, len) in entries {
                    if is_extended(kind) {
                        next = from;
                    } else if kind != 0 && len > 0 {
                        let begin = at.saturating_add(from);
                        found.partitions.push(one(logical, kind, begin, len));
                        logical += 1;
                    }
                }
                if next == 0 {
                    break;
                }
            }
        } else if kind != 0 {
            found.partitions.push(one(number, kind, start, len));
        }
    }
    Ok(Some(found))
}
