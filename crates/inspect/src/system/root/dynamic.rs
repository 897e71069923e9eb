//! What the dynamic linker has to do for a program or library: its dynamic section.
//!
//! The file is read by `object`. Layout: System V ABI, "Program Header", "Dynamic Section"
//! and "Relocation"; packed relative relocations: generic ABI, "SHT_RELR".

use analysis::Dynamic;
use object::elf::{self, DynamicTag, FileHeader32, FileHeader64};
use object::pod::slice_from_bytes;
use object::read::elf::RelrIterator;
use object::read::elf::{Dyn as _, FileHeader, ProgramHeader as _, Rel as _, Rela as _};
use object::{Endianness, FileKind, Pod, ReadCache, ReadRef as _};
use std::fs::File;
use std::path::Path;

/// No dynamic section, and no table of relocations or names, is larger.
const MOST: u64 = 64 << 20;

/// A program needs some ten libraries, and a file's name has no more bytes.
const MOST_NEEDED: usize = 4096;
const LONGEST_NAME: usize = 255;

/// A file has some ten segments.
const MOST_SEGMENTS: usize = 256;

/// What the dynamic linker does for the file at `path`; `None` if it is no ELF file, or
/// one without a dynamic section, or of a MIPS machine, whose relocations have a form of
/// their own.
pub fn read(path: &Path) -> Option<Dynamic> {
    let cache = ReadCache::new(File::open(path).ok()?);
    match FileKind::parse(&cache).ok()? {
        FileKind::Elf32 => of::<FileHeader32<Endianness>>(&cache),
        FileKind::Elf64 => of::<FileHeader64<Endianness>>(&cache),
        _ => None,
    }
}

fn of<Elf: FileHeader<Endian = Endianness>>(file: &ReadCache<File>) -> Option<Dynamic> {
    let header = Elf::parse(file).ok()?;
    let endian = header.endian().ok()?;
    if header.e_machine(endian) == elf::EM_MIPS {
        return None;
    }
    let segments = header.program_headers(endian, file).ok()?;
    if segments.len() > MOST_SEGMENTS {
        return None;
    }
    let dynamic = segments
        .iter()
        .find(|s| s.p_type(endian) == elf::PT_DYNAMIC)?;
    if dynamic.p_filesz(endian).into() > MOST {
        return None;
    }
    let pairs = dynamic.dynamic(endian, file).ok()??.iter();
    let pairs = pairs.map(|entry| (entry.d_tag(endian), entry.d_val(endian).into()));
    let entries: Vec<(DynamicTag, u64)> = pairs.take_while(|e| e.0 != elf::DT_NULL).collect();
    let value = |tag| entries.iter().find(|(t, _)| *t == tag).map(|(_, v)| *v);
    // The bytes of a table in a loaded segment.
    let table = |at: DynamicTag, size: DynamicTag| {
        let (address, size) = (value(at)?, value(size)?);
        let offset = segments.iter().find_map(|s| {
            let behind = address.checked_sub(s.p_vaddr(endian).into())?;
            let holds = s.p_type(endian) == elf::PT_LOAD && behind < s.p_filesz(endian).into();
            holds.then(|| behind.checked_add(s.p_offset(endian).into()))?
        })?;
        file.read_bytes_at(offset, size.min(MOST)).ok()
    };
    // How many relocations of a table need a symbol, and how many need none.
    let with_addend = |bytes| {
        let with = all::<Elf::Rela>(bytes).filter(|r| r.r_sym(endian, false) != 0);
        (with.count() as u64, all::<Elf::Rela>(bytes).count() as u64)
    };
    let without_addend = |bytes| {
        let with = all::<Elf::Rel>(bytes).filter(|r| r.r_sym(endian) != 0);
        (with.count() as u64, all::<Elf::Rel>(bytes).count() as u64)
    };
    let rela = table(elf::DT_RELA, elf::DT_RELASZ).map_or((0, 0), with_addend);
    let rel = table(elf::DT_REL, elf::DT_RELSZ).map_or((0, 0), without_addend);
    let symbolic = rela.0 + rel.0;
    let packed =
        table(elf::DT_RELR, elf::DT_RELRSZ).map_or(0, |bytes| packed::<Elf>(endian, bytes));
    let calls = table(elf::DT_JMPREL, elf::DT_PLTRELSZ);
    let calls = calls.map_or(0, |bytes| match value(elf::DT_PLTREL) {
        Some(form) if i64::try_from(form) == Ok(elf::DT_RELA.0) => with_addend(bytes).0,
        _ => without_addend(bytes).0,
    });
    let names = table(elf::DT_STRTAB, elf::DT_STRSZ).unwrap_or_default();
    let name = |at: u64| {
        let rest = names.get(usize::try_from(at).ok()?..)?;
        let name = rest.get(..=LONGEST_NAME).unwrap_or(rest);
        let name = name.split(|b| *b == 0).next()?;
        let name = Some(name).filter(|n| n.len() <= LONGEST_NAME)?;
        Some(String::from_utf8_lossy(name).into_owned())
    };
    let needed = entries.iter().filter(|(tag, _)| *tag == elf::DT_NEEDED);
    let has_flag = |tag, flag| value(tag).is_some_and(|v| v & flag != 0);
    Some(Dynamic {
        needed: needed
            .take(MOST_NEEDED)
            .filter_map(|(_, at)| name(*at))
            .collect(),
        relative: rela.1 + rel.1 - symbolic,
        packed,
        symbolic,
        calls,
        binds_now: value(elf::DT_BIND_NOW).is_some()
            || has_flag(elf::DT_FLAGS, elf::DF_BIND_NOW.0)
            || has_flag(elf::DT_FLAGS_1, elf::DF_1_NOW.0),
        has_gnu_hash: value(elf::DT_GNU_HASH).is_some(),
        offset: dynamic.p_offset(endian).into(),
    })
}

/// The whole entries in a table.
fn all<T: Pod>(bytes: &[u8]) -> impl Iterator<Item = &T> {
    let count = bytes.len() / size_of::<T>().max(1);
    let entries = slice_from_bytes(bytes, count);
    entries.map_or(&[][..], |(entries, _)| entries).iter()
}

/// How many places a packed table names.
fn packed<Elf: FileHeader>(endian: Elf::Endian, bytes: &[u8]) -> u64 {
    let count = bytes.len() / size_of::<Elf::Relr>().max(1);
    let words = slice_from_bytes::<Elf::Relr>(bytes, count);
    words.map_or(0, |(words, _)| {
        RelrIterator::<Elf>::new(endian, words).count() as u64
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
        let mut b = b"\x7fELF\0\x01\x01".to_vec();
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
