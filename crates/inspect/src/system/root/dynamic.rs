//! What the dynamic linker has to do for a program or library: its dynamic section.
//!
//! Layout: System V ABI, "Program Header", "Dynamic Section" and "Relocation"; packed
//! relative relocations: generic ABI, "SHT_RELR".

use analysis::Dynamic;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// No dynamic section, and no table of relocations or names, is larger.
const MOST: u64 = 64 << 20;

/// A program needs some ten libraries, and a file's name has no more bytes.
const MOST_NEEDED: usize = 4096;
const LONGEST_NAME: usize = 255;

/// The machine whose relocations have a form of their own (`EM_MIPS`).
const MIPS: u64 = 8;

/// A file has some ten segments.
const MOST_SEGMENTS: u64 = 256;

/// Segments by type: one that is loaded, and the dynamic section.
const LOAD: u64 = 1;
const DYNAMIC: u64 = 2;

/// Tags of the dynamic section.
const NEEDED: u64 = 1;
const CALLS_SIZE: u64 = 2;
const NAMES: u64 = 5;
const RELA: u64 = 7;
const RELA_SIZE: u64 = 8;
const NAMES_SIZE: u64 = 10;
const REL: u64 = 17;
const REL_SIZE: u64 = 18;
const CALLS_FORM: u64 = 20;
const CALLS: u64 = 23;
const BIND_NOW: u64 = 24;
const FLAGS: u64 = 30;
const RELR_SIZE: u64 = 35;
const RELR: u64 = 36;
const GNU_HASH: u64 = 0x6fff_fef5;
const FLAGS_1: u64 = 0x6fff_fffb;

/// `DF_BIND_NOW` of FLAGS, `DF_1_NOW` of FLAGS_1.
const FLAG_NOW: u64 = 8;
const FLAG_1_NOW: u64 = 1;

/// A file of little-endian numbers, as wide as its class says.
struct Elf {
    file: File,
    wide: bool,
}

/// A piece of a file that is loaded: its place in memory and in the file, and its length.
struct Segment {
    kind: u64,
    offset: u64,
    address: u64,
    size: u64,
}

impl Elf {
    fn open(path: &Path) -> Option<(Self, Vec<u8>)> {
        let file = File::open(path).ok()?;
        let mut head = vec![0_u8; 64];
        let read = file.read_at(&mut head, 0).ok()?;
        head.truncate(read);
        let is_little = head.starts_with(b"\x7fELF") && head.get(5) == Some(&1);
        let wide = *head.get(4)? == 2;
        let is_read = is_little && number(&head, 18, 2)? != MIPS;
        is_read.then_some((Self { file, wide }, head))
    }

    fn bytes(&self, offset: u64, size: u64) -> Option<Vec<u8>> {
        let size = usize::try_from(size.min(MOST)).ok()?;
        let there = self.file.metadata().ok()?.len();
        // A damaged size must not take more memory than the file has bytes.
        if size as u64 > there {
            return None;
        }
        let mut bytes = vec![0; size];
        self.file.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    }

    /// As many bytes as an address takes.
    const fn word(&self) -> usize {
        if self.wide { 8 } else { 4 }
    }

    fn segments(&self, head: &[u8]) -> Option<Vec<Segment>> {
        let (at, entry, count) = match self.wide {
            true => (
                number(head, 32, 8)?,
                number(head, 54, 2)?,
                number(head, 56, 2)?,
            ),
            false => (
                number(head, 28, 4)?,
                number(head, 42, 2)?,
                number(head, 44, 2)?,
            ),
        };
        if count > MOST_SEGMENTS || entry < 32 {
            return None;
        }
        let table = self.bytes(at, entry.checked_mul(count)?)?;
        let each = table.chunks_exact(usize::try_from(entry).ok()?).map(|s| {
            let fields = match self.wide {
                true => [number(s, 8, 8)?, number(s, 16, 8)?, number(s, 32, 8)?],
                false => [number(s, 4, 4)?, number(s, 8, 4)?, number(s, 16, 4)?],
            };
            let [offset, address, size] = fields;
            let kind = number(s, 0, 4)?;
            Some(Segment {
                kind,
                offset,
                address,
                size,
            })
        });
        each.collect()
    }

    /// How many relocations of a table need a symbol, and how many need none.
    fn relocations(&self, table: &[u8], has_addend: bool) -> (u64, u64) {
        let fields = if has_addend { 3 } else { 2 };
        let (mut with, mut without) = (0, 0);
        for entry in table.chunks_exact(self.word() * fields) {
            let info = number(entry, self.word(), self.word()).unwrap_or(0);
            match info >> if self.wide { 32 } else { 8 } {
                0 => without += 1,
                _ => with += 1,
            }
        }
        (with, without)
    }

    /// How many places a packed table names: an even word is one, an odd one has a bit for
    /// each of those behind it.
    fn packed(&self, table: &[u8]) -> u64 {
        let words = table.chunks_exact(self.word());
        words.fold(0, |sum, word| {
            let word = number(word, 0, self.word()).unwrap_or(0);
            sum + match word & 1 {
                0 => 1,
                _ => u64::from(word.count_ones()) - 1,
            }
        })
    }
}

/// A little-endian number of `size` bytes.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(size)?)?;
    Some(field.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)))
}

/// What the dynamic linker does for the file at `path`; `None` if it is no ELF file, or
/// one without a dynamic section, of a MIPS machine, or of big-endian numbers.
pub fn read(path: &Path) -> Option<Dynamic> {
    let (elf, head) = Elf::open(path)?;
    let segments = elf.segments(&head)?;
    let dynamic = segments.iter().find(|s| s.kind == DYNAMIC)?;
    let section = elf.bytes(dynamic.offset, dynamic.size)?;
    let word = elf.word();
    let pairs = section.chunks_exact(2 * word).map_while(|entry| {
        let tag = number(entry, 0, word)?;
        (tag != 0).then_some((tag, number(entry, word, word)?))
    });
    let entries: Vec<(u64, u64)> = pairs.collect();
    let value = |tag| entries.iter().find(|(t, _)| *t == tag).map(|(_, v)| *v);
    let table = |at: u64, size: u64| {
        let (address, size) = (value(at)?, value(size)?);
        let holds =
            |s: &&Segment| s.kind == LOAD && address >= s.address && address - s.address < s.size;
        let segment = segments.iter().find(holds)?;
        let offset = (address - segment.address).checked_add(segment.offset)?;
        elf.bytes(offset, size)
    };
    let (mut symbolic, mut relative) = (0, 0);
    for (at, size, has_addend) in [(RELA, RELA_SIZE, true), (REL, REL_SIZE, false)] {
        if let Some(table) = table(at, size) {
            let (with, without) = elf.relocations(&table, has_addend);
            symbolic += with;
            relative += without;
        }
    }
    let packed = table(RELR, RELR_SIZE).map_or(0, |t| elf.packed(&t));
    let has_addend = value(CALLS_FORM) == Some(RELA);
    let calls = table(CALLS, CALLS_SIZE).map_or(0, |t| elf.relocations(&t, has_addend).0);
    let names = table(NAMES, NAMES_SIZE).unwrap_or_default();
    let name = |at: u64| {
        let rest = names.get(usize::try_from(at).ok()?..)?;
        let name = rest.get(..=LONGEST_NAME).unwrap_or(rest);
        let name = name.split(|b| *b == 0).next()?;
        let name = Some(name).filter(|n| n.len() <= LONGEST_NAME)?;
        Some(String::from_utf8_lossy(name).into_owned())
    };
    let needed = entries.iter().filter(|(tag, _)| *tag == NEEDED);
    let has_flag = |tag, flag| value(tag).is_some_and(|v| v & flag != 0);
    Some(Dynamic {
        needed: needed
            .take(MOST_NEEDED)
            .filter_map(|(_, at)| name(*at))
            .collect(),
        relative,
        packed,
        symbolic,
        calls,
        binds_now: value(BIND_NOW).is_some()
            || has_flag(FLAGS, FLAG_NOW)
            || has_flag(FLAGS_1, FLAG_1_NOW),
        has_gnu_hash: value(GNU_HASH).is_some(),
        offset: dynamic.offset,
    })
}

#[cfg(test)]
mod tests {
    use super::read;

    fn put(bytes: &mut Vec<u8>, at: usize, value: u64, size: usize) {
        if bytes.len() < at + size {
            bytes.resize(at + size, 0);
        }
        bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
    }

    /// A file of one loaded segment at address 0x1000, with these entries of its dynamic
    /// section at 0x200, three relocations at 0x400, packed ones at 0x480, and names at
    /// 0x500.
    fn elf(wide: bool, entries: &[(u64, u64)]) -> Vec<u8> {
        let word = if wide { 8 } else { 4 };
        let mut b = b"\x7fELF\0\x01".to_vec();
        b[4] = if wide { 2 } else { 1 };
        let head: [(usize, u64, usize); 3] = match wide {
            true => [(32, 64, 8), (54, 56, 2), (56, 2, 2)],
            false => [(28, 64, 4), (42, 32, 2), (44, 2, 2)],
        };
        for (at, value, size) in head {
            put(&mut b, at, value, size);
        }
        let length = (entries.len() + 1) * 2 * word;
        let segments = [(1, 0, 0x1000, 0x600), (2, 0x200, 0x1200, length as u64)];
        for (n, (kind, offset, address, size)) in segments.into_iter().enumerate() {
            let at = 64 + n * if wide { 56 } else { 32 };
            put(&mut b, at, kind, 4);
            let places = if wide { [8, 16, 32] } else { [4, 8, 16] };
            for (place, value) in places.into_iter().zip([offset, address, size]) {
                put(&mut b, at + place, value, word);
            }
        }
        for (n, (tag, value)) in entries.iter().enumerate() {
            put(&mut b, 0x200 + n * 2 * word, *tag, word);
            put(&mut b, 0x200 + (n * 2 + 1) * word, *value, word);
        }
        let shift = if wide { 32 } else { 8 };
        let fields = if wide { 3 } else { 2 };
        for (n, symbol) in [0, 7, 8].into_iter().enumerate() {
            put(
                &mut b,
                0x400 + (n * fields + 1) * word,
                symbol << shift | 1,
                word,
            );
        }
        // One place, then three behind it.
        put(&mut b, 0x480, 0x2000, word);
        put(&mut b, 0x480 + word, 0b1111, word);
        put(&mut b, 0x500, 0, 1);
        b.extend_from_slice(b"libx.so.1\0");
        b.resize(0x600, 0);
        b
    }

    #[test]
    fn relocations_are_counted_by_what_they_need() {
        for wide in [true, false] {
            let word = if wide { 8 } else { 4 };
            let (table, size) = if wide { (7, 8) } else { (17, 18) };
            let length = if wide { 72 } else { 24 };
            let entries = [
                (1, 1),
                (5, 0x1500),
                (10, 16),
                (table, 0x1400),
                (size, length),
                (36, 0x1480),
                (35, 2 * word),
                (30, 8),
            ];
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x");
            std::fs::write(&path, elf(wide, &entries)).unwrap();
            let d = read(&path).unwrap();
            assert_eq!((d.symbolic, d.relative, d.packed), (2, 1, 4), "{wide}");
            assert_eq!(
                (d.needed, d.binds_now),
                (vec!["libx.so.1".to_owned()], true)
            );
            assert!(!d.has_gnu_hash);
        }
    }

    #[test]
    fn a_name_without_end_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let entries = vec![(1, 1), (5, 0x1500), (10, 0x500)];
        let mut long = elf(true, &entries);
        long.splice(0x501..0x600, [b'x'; 0x500]);
        // The segment that is loaded, as long as the file.
        let size = long.len() as u64;
        put(&mut long, 64 + 32, size, 8);
        std::fs::write(&path, &long).unwrap();
        assert!(read(&path).unwrap().needed.is_empty());
    }

    #[test]
    fn what_is_cut_or_damaged_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let whole = elf(
            true,
            &[(7, u64::MAX), (8, u64::MAX), (36, 0x1480), (35, 1 << 40)],
        );
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let _ = read(&path);
        }
        std::fs::write(&path, &whole).unwrap();
        assert_eq!(read(&path).unwrap().relative, 0);
        let mut mips = whole;
        put(&mut mips, 18, 8, 2);
        std::fs::write(&path, &mips).unwrap();
        assert_eq!(read(&path), None);
        std::fs::write(&path, b"#!/bin/sh\n").unwrap();
        assert_eq!(read(&path), None);
    }
}
