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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

    use super::{Partitions, Table, gpt, mbr};
    use rawimage::Part;

    const SECTORS: usize = 128;

    /// Puts an entry into a GPT: type, first and last sector, name.
    fn entry(bytes: &mut [u8], at: usize, first: u64, last: u64, name: &str) {
        // EFI system partition, as its bytes are stored.
        let kind = [
            0x28, 0x73, 0x2a, 0xc1, 0x1f, 0xf8, 0xd2, 0x11, 0xba, 0x4b, 0, 0xa0, 0xc9, 0x3e, 0xc9,
            0x3b,
        ];
        bytes[at..at + 16].copy_from_slice(&kind);
        bytes[at + 32..at + 40].copy_from_slice(&first.to_le_bytes());
        bytes[at + 40..at + 48].copy_from_slice(&last.to_le_bytes());
        for (i, unit) in name.encode_utf16().enumerate() {
            bytes[at + 56 + 2 * i..at + 58 + 2 * i].copy_from_slice(&unit.to_le_bytes());
        }
    }

    /// Puts a header with its checksums at byte `at`; its four entries are at sector `table`.
    fn header(disk: &mut [u8], at: usize, table: usize, sector: usize) {
        let entries = crc32fast::hash(&disk[table * sector..table * sector + 512]);
        let head = &mut disk[at..at + 92];
        head[..8].copy_from_slice(b"EFI PART");
        head[12..16].copy_from_slice(&92_u32.to_le_bytes());
        head[16..20].fill(0);
        head[72..80].copy_from_slice(&(table as u64).to_le_bytes());
        head[80..84].copy_from_slice(&4_u32.to_le_bytes());
        head[84..88].copy_from_slice(&128_u32.to_le_bytes());
        head[88..92].copy_from_slice(&entries.to_le_bytes());
        let crc = crc32fast::hash(head);
        disk[at + 16..at + 20].copy_from_slice(&crc.to_le_bytes());
    }

    /// A disk with two partitions, one of which ends before it starts, and a backup.
    fn disk(sector: usize) -> Vec<u8> {
        let mut disk = vec![0; SECTORS * sector];
        for table in [2, SECTORS - 2] {
            entry(&mut disk, table * sector, 40, 79, "boot");
            entry(&mut disk, table * sector + 256, 90, 80, "turned");
        }
        header(&mut disk, sector, 2, sector);
        header(&mut disk, (SECTORS - 1) * sector, SECTORS - 2, sector);
        disk
    }

    fn found(
        disk: &[u8],
        by: impl Fn(&Part<'_>) -> std::io::Result<Option<Partitions>>,
    ) -> Option<Partitions> {
        by(&Part::whole(&disk).unwrap()).unwrap()
    }

    #[test]
    fn a_gpt_is_read_by_its_checksums_or_from_its_backup() {
        for sector in [512, 4096] {
            let sound = disk(sector);
            let table = found(&sound, gpt).unwrap();
            assert_eq!(table.table, Table::Gpt);
            let only = &table.partitions[..];
            assert_eq!(only.len(), 1);
            assert_eq!((only[0].number, only[0].name.as_str()), (1, "boot"));
            let place = (only[0].start, only[0].len);
            assert_eq!(place, (40 * sector as u64, 40 * sector as u64));
            assert_eq!(only[0].kind, "c12a7328-f81f-11d2-ba4b-00a0c93ec93b");
            assert_eq!(table.notes, ["partition 3 ends before it starts"]);
            let mut damaged = sound.clone();
            damaged[sector + 30] ^= 1;
            let backup = found(&damaged, gpt).unwrap();
            assert_eq!(backup.partitions, table.partitions);
            assert!(backup.notes[1].contains("its backup was used"));
            let mut other = sound.clone();
            other[2 * sector + 56] ^= 1;
            let other = found(&other, gpt).unwrap();
            assert!(other.notes[0].contains("checksum"), "{:?}", other.notes);
            let last = (SECTORS - 1) * sector;
            damaged[last] = 0;
            assert_eq!(found(&damaged, gpt), None);
        }
    }

    /// An entry of an MBR: which, its type, first sector, sectors.
    fn put(disk: &mut [u8], sector: usize, at: usize, kind: u8, first: u32, count: u32) {
        let entry = &mut disk[sector * 512 + 446 + 16 * at..][..16];
        entry[4] = kind;
        entry[8..12].copy_from_slice(&first.to_le_bytes());
        entry[12..16].copy_from_slice(&count.to_le_bytes());
        disk[sector * 512 + 510..sector * 512 + 512].copy_from_slice(&[0x55, 0xaa]);
    }

    #[test]
    fn logical_partitions_are_followed_from_table_to_table() {
        let mut disk = vec![0; SECTORS * 512];
        put(&mut disk, 0, 0, 0x0c, 8, 8);
        put(&mut disk, 0, 1, 0x05, 32, 64);
        put(&mut disk, 32, 0, 0x83, 2, 6);
        put(&mut disk, 32, 1, 0x05, 16, 16);
        put(&mut disk, 48, 0, 0x82, 2, 6);
        let table = found(&disk, mbr).unwrap();
        let all = table.partitions.iter();
        let all: Vec<_> = all
            .map(|p| (p.number, p.start / 512, p.kind.as_str()))
            .collect();
        assert_eq!(all, [(1, 8, "0c"), (5, 34, "83"), (6, 50, "82")]);
        // A chain that comes back to itself ends.
        put(&mut disk, 48, 1, 0x05, 16, 16);
        let endless = found(&disk, mbr).unwrap();
        assert_eq!(endless.partitions.len(), 1 + 124);
        // A boot sector has code where the table would be.
        disk[446] = 0x31;
        assert_eq!(found(&disk, mbr), None);
        assert_eq!(found(&vec![0; 4096], mbr), None);
    }
}
