//! ELF headers, as far as a boot needs them. Source: the ELF specification.

use object::elf::{FileHeader32, FileHeader64, NoteType, PT_INTERP, PT_LOAD};
use object::read::elf::{FileHeader, ProgramHeader as _};
use object::{Endianness, FileKind, LittleEndian};
use rawimage::bytes::{le32, le64};

/// What the header of an ELF file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elf {
    /// Whether it is a 64-bit file.
    pub is_64: bool,
    /// Whether its numbers are big-endian.
    pub is_big_endian: bool,
    /// The processor's number.
    pub machine: u16,
    /// Where it is entered.
    pub entry: u64,
}

impl Elf {
    /// The processor's name.
    #[must_use]
    pub fn arch(&self) -> &'static str {
        match (self.machine, self.is_64) {
            (3, _) => "x86",
            (8, _) => "mips",
            (20, _) => "powerpc",
            (21, _) => "powerpc64",
            (22, _) => "s390",
            (40, _) => "arm",
            (62, _) => "x86_64",
            (183, _) => "arm64",
            (243, true) => "riscv64",
            (243, false) => "riscv32",
            (258, _) => "loongarch",
            _ => "unknown",
        }
    }
}

/// Reads the header that `bytes` begin with; `None` if they are no ELF file.
#[must_use]
pub fn header(bytes: &[u8]) -> Option<Elf> {
    match FileKind::parse(bytes).ok()? {
        FileKind::Elf32 => of::<FileHeader32<Endianness>>(bytes),
        FileKind::Elf64 => of::<FileHeader64<Endianness>>(bytes),
        _ => None,
    }
}

fn of<Header: FileHeader<Endian = Endianness>>(bytes: &[u8]) -> Option<Elf> {
    let header = Header::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    Some(Elf {
        is_64: header.is_class_64(),
        is_big_endian: header.is_big_endian(),
        machine: header.e_machine(endian).0,
        entry: header.e_entry(endian).into(),
    })
}

/// Whether a program asks for a dynamic linker.
#[must_use]
pub fn has_interpreter(bytes: &[u8]) -> bool {
    fn of<Header: FileHeader<Endian = Endianness>>(bytes: &[u8]) -> Option<bool> {
        let header = Header::parse(bytes).ok()?;
        let endian = header.endian().ok()?;
        let segments = header.program_headers(endian, bytes).ok()?;
        Some(segments.iter().any(|s| s.p_type(endian) == PT_INTERP))
    }
    let has = match FileKind::parse(bytes) {
        Ok(FileKind::Elf32) => of::<FileHeader32<Endianness>>(bytes),
        Ok(FileKind::Elf64) => of::<FileHeader64<Endianness>>(bytes),
        _ => None,
    };
    has == Some(true)
}

/// The first physical address behind all segments of an ELF kernel; `None` if it has none.
#[must_use]
pub fn memory_end(elf: &[u8]) -> Option<u64> {
    let header = FileHeader64::<LittleEndian>::parse(elf).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, elf).ok()?.iter();
    let loaded = segments.filter(|s| s.p_type(endian) == PT_LOAD);
    let ends = loaded.filter_map(|s| s.p_paddr(endian).checked_add(s.p_memsz(endian)));
    ends.max()
}

/// The note of an ELF kernel that names its entry for a hypervisor:
/// `XEN_ELFNOTE_PHYS32_ENTRY`.
const PVH_NOTE: NoteType = NoteType(18);

/// Where a hypervisor (QEMU, with PVH) enters an x86-64 kernel; `None` if the
/// kernel has no such entry.
#[must_use]
pub fn pvh_entry(elf: &[u8]) -> Option<u64> {
    let header = FileHeader64::<LittleEndian>::parse(elf).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, elf).ok()?.iter();
    let notes = segments.filter_map(|s| s.notes(endian, elf).ok()?);
    for mut notes in notes {
        while let Ok(Some(note)) = notes.next() {
            if note.n_type(endian) == PVH_NOTE && note.name() == b"Xen" {
                return match note.desc().len() {
                    4 => le32(note.desc(), 0).map(u64::from),
                    _ => le64(note.desc(), 0),
                };
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pvh_entry_is_found_behind_other_notes() {
        let mut elf = vec![0; 64 + 56];
        elf[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        elf[32] = 64;
        elf[54] = 56;
        elf[56] = 1;
        elf[64] = 4;
        elf[64 + 8] = 120;
        for (kind, name, content) in [
            (3u32, &b"GNU\0"[..], &[1u8; 20][..]),
            (18, b"Xen\0", &[0x50, 8, 0, 1, 0, 0, 0, 0]),
        ] {
            elf.extend((name.len() as u32).to_le_bytes());
            elf.extend((content.len() as u32).to_le_bytes());
            elf.extend(kind.to_le_bytes());
            elf.extend(name);
            elf.extend(content);
        }
        elf[64 + 32] = (elf.len() - 120) as u8;
        assert_eq!(pvh_entry(&elf), Some(0x100_0850));
        for end in 0..elf.len() {
            assert_eq!(pvh_entry(&elf[..end]), None);
        }
    }

    #[test]
    fn the_memory_of_a_kernel_ends_behind_its_last_segment() {
        let mut elf = vec![0; 64 + 2 * 56];
        elf[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        elf[32] = 64;
        elf[54] = 56;
        elf[56] = 2;
        for (at, paddr, bytes) in [(64, 0x180_0000_u64, 0x1000_u64), (120, 0x100_0000, 0x2000)] {
            elf[at] = 1;
            elf[at + 24..at + 32].copy_from_slice(&paddr.to_le_bytes());
            elf[at + 40..at + 48].copy_from_slice(&bytes.to_le_bytes());
        }
        assert_eq!(memory_end(&elf), Some(0x180_1000));
        // A note takes no memory.
        elf[64] = 4;
        assert_eq!(memory_end(&elf), Some(0x100_2000));
        elf[120] = 4;
        assert_eq!(memory_end(&elf), None);
        elf[120] = 1;
        elf[120 + 24..120 + 32].fill(0xff);
        assert_eq!(memory_end(&elf), None, "an end that no number can hold");
    }

    #[test]
    fn programs_with_and_without_a_dynamic_linker() {
        // (class, e_phoff, e_phentsize, e_phnum, size of the header, of an entry)
        for (class, offset, size, count, header, entry) in
            [(2, 32, 54, 56, 64, 56), (1, 28, 42, 44, 52, 32)]
        {
            let mut elf = vec![0; usize::from(header) + 2 * usize::from(entry)];
            elf[..7].copy_from_slice(b"\x7fELF\0\x01\x01");
            elf[4] = class;
            (elf[offset], elf[size], elf[count]) = (header, entry, 2);
            elf[usize::from(header)] = 1;
            let second = usize::from(header + entry);
            elf[second] = 2;
            assert!(!has_interpreter(&elf));
            elf[second] = 3;
            assert!(has_interpreter(&elf));
        }
        assert!(!has_interpreter(b""));
    }
}
