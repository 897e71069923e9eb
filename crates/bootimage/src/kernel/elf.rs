//! ELF headers, as far as a boot needs them. Source: the ELF specification.

use rawimage::bytes::{be16, be32, be64, le16, le32, le64};

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
    let kind = bytes.strip_prefix(b"\x7fELF")?;
    let is_64 = match kind.first()? {
        1 => false,
        2 => true,
        _ => return None,
    };
    let is_big_endian = match kind.get(1)? {
        1 => false,
        2 => true,
        _ => return None,
    };
    let (machine, entry) = match (is_big_endian, is_64) {
        (false, false) => (le16(bytes, 18)?, u64::from(le32(bytes, 24)?)),
        (false, true) => (le16(bytes, 18)?, le64(bytes, 24)?),
        (true, false) => (be16(bytes, 18)?, u64::from(be32(bytes, 24)?)),
        (true, true) => (be16(bytes, 18)?, be64(bytes, 24)?),
    };
    Some(Elf {
        is_64,
        is_big_endian,
        machine,
        entry,
    })
}

/// The note of an ELF kernel that names its entry for a hypervisor:
/// `XEN_ELFNOTE_PHYS32_ENTRY`.
const PVH_NOTE: u32 = 18;

/// Where a hypervisor (QEMU, with PVH) enters an x86-64 kernel; `None` if the
/// kernel has no such entry.
#[must_use]
pub fn pvh_entry(elf: &[u8]) -> Option<u64> {
    // 64-bit little-endian ELF: e_phoff at 32, e_phentsize at 54, e_phnum at 56.
    if elf.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let table = usize::try_from(le64(elf, 32)?).ok()?;
    let (size, count) = (le16(elf, 54)?, le16(elf, 56)?);
    for i in 0..usize::from(count) {
        let at = table.checked_add(i * usize::from(size))?;
        // p_type 4 is PT_NOTE; p_offset at 8, p_filesz at 32.
        if le32(elf, at)? != 4 {
            continue;
        }
        let start = usize::try_from(le64(elf, at.checked_add(8)?)?).ok()?;
        let length = usize::try_from(le64(elf, at.checked_add(32)?)?).ok()?;
        let mut notes = elf.get(start..start.checked_add(length)?)?;
        // Each note: length of name, length of content, type; both padded to 4.
        while notes.len() >= 12 {
            let name = usize::try_from(le32(notes, 0)?).ok()?;
            let content = usize::try_from(le32(notes, 4)?).ok()?;
            let kind = le32(notes, 8)?;
            let content_at = 12_usize.checked_add(name)?.checked_next_multiple_of(4)?;
            if kind == PVH_NOTE && notes.get(12..15) == Some(b"Xen") {
                return match content {
                    4 => le32(notes, content_at).map(u64::from),
                    _ => le64(notes, content_at),
                };
            }
            let next = content_at.checked_add(content)?;
            notes = notes.get(next.checked_next_multiple_of(4)?..)?;
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
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
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
}
