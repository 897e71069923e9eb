//! The x86 kernel image: where its parts lie and where they begin to run.
//!
//! Offsets are those of Linux' `Documentation/arch/x86/boot.rst`.

use crate::compression;
use crate::error::LabError;
use std::path::Path;

/// What the lab needs to know of a bzImage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BzImage {
    /// Where the protected-mode part is entered: the decompressor's start.
    pub code32_start: u64,
    /// Where the unpacked kernel goes, and is entered, without randomisation.
    pub preferred_address: u64,
    payload: (usize, usize),
}

const SETUP_SECTS: usize = 0x1f1;
const MAGIC: usize = 0x202;
const VERSION: usize = 0x206;
const CODE32_START: usize = 0x214;
const PAYLOAD_OFFSET: usize = 0x248;
const PAYLOAD_LENGTH: usize = 0x24c;
const PREF_ADDRESS: usize = 0x258;

/// The first boot protocol with `pref_address`.
const LEAST_VERSION: u16 = 0x020a;

/// The note of an ELF kernel that names its entry for a hypervisor:
/// `XEN_ELFNOTE_PHYS32_ENTRY`.
const PVH_NOTE: u32 = 18;

impl BzImage {
    /// Reads the header of an image.
    ///
    /// # Errors
    /// If it is not a bzImage of a usable version.
    pub fn parse(path: &Path, image: &[u8]) -> Result<Self, LabError> {
        let wrong = |why: &str| LabError::Kernel {
            path: path.to_owned(),
            why: why.to_owned(),
        };
        if image.get(MAGIC..MAGIC + 4) != Some(b"HdrS") {
            return Err(wrong(
                "not an x86 kernel image: `HdrS` is missing at byte 514; \
                 name a file like /boot/vmlinuz-6.1.0-56-amd64",
            ));
        }
        let version = u16_at(image, VERSION).unwrap_or(0);
        if version < LEAST_VERSION {
            return Err(wrong(
                "the kernel is too old: it speaks a boot protocol before 2.10, \
                 which came with Linux 2.6.31",
            ));
        }
        let setup = match image.get(SETUP_SECTS) {
            Some(0) | None => 4,
            Some(n) => usize::from(*n),
        };
        let parse = || {
            let offset = usize::try_from(u32_at(image, PAYLOAD_OFFSET)?).ok()?;
            let length = usize::try_from(u32_at(image, PAYLOAD_LENGTH)?).ok()?;
            let start = ((setup + 1) * 512).checked_add(offset)?;
            image.get(start..start.checked_add(length)?)?;
            Some(Self {
                code32_start: u64::from(u32_at(image, CODE32_START)?),
                preferred_address: u64_at(image, PREF_ADDRESS)?,
                payload: (start, length),
            })
        };
        parse().ok_or_else(|| wrong("the kernel image is cut: its payload ends behind the file"))
    }

    /// Unpacks the kernel proper, an ELF file.
    ///
    /// # Errors
    /// If the compression is unknown, its tool is missing or fails, or the
    /// result is not what the image says.
    pub fn unpack(&self, path: &Path, image: &[u8]) -> Result<Vec<u8>, LabError> {
        let (start, length) = self.payload;
        let payload = image.get(start..start + length).unwrap_or_default();
        let unpacked = compression::unpack(path, payload)?;
        if unpacked.starts_with(b"\x7fELF") {
            return Ok(unpacked);
        }
        Err(LabError::Kernel {
            path: path.to_owned(),
            why: format!(
                "expected an ELF file in the image, found {} bytes of something else",
                unpacked.len()
            ),
        })
    }
}

/// Where an unpacked kernel is entered by QEMU (PVH): the note's address.
///
/// # Errors
/// If the kernel has no such entry.
pub fn pvh_entry(path: &Path, elf: &[u8]) -> Result<u64, LabError> {
    find_pvh_entry(elf).ok_or_else(|| LabError::Kernel {
        path: path.to_owned(),
        why: "this kernel cannot be booted uncompressed: it has no PVH entry; \
              build it with CONFIG_PVH=y"
            .into(),
    })
}

fn find_pvh_entry(elf: &[u8]) -> Option<u64> {
    // 64-bit little-endian ELF: e_phoff at 32, e_phentsize at 54, e_phnum at 56.
    if elf.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let table = usize::try_from(u64_at(elf, 32)?).ok()?;
    let (size, count) = (u16_at(elf, 54)?, u16_at(elf, 56)?);
    for i in 0..usize::from(count) {
        let at = table.checked_add(i * usize::from(size))?;
        // p_type 4 is PT_NOTE; p_offset at 8, p_filesz at 32.
        if u32_at(elf, at)? != 4 {
            continue;
        }
        let start = usize::try_from(u64_at(elf, at.checked_add(8)?)?).ok()?;
        let length = usize::try_from(u64_at(elf, at.checked_add(32)?)?).ok()?;
        let mut notes = elf.get(start..start.checked_add(length)?)?;
        // Each note: length of name, length of content, type; both padded to 4.
        while notes.len() >= 12 {
            let name = usize::try_from(u32_at(notes, 0)?).ok()?;
            let content = usize::try_from(u32_at(notes, 4)?).ok()?;
            let kind = u32_at(notes, 8)?;
            let content_at = 12usize.checked_add(name)?.checked_next_multiple_of(4)?;
            if kind == PVH_NOTE && notes.get(12..15) == Some(b"Xen") {
                return match content {
                    4 => u32_at(notes, content_at).map(u64::from),
                    _ => u64_at(notes, content_at),
                };
            }
            let next = content_at.checked_add(content)?;
            notes = notes.get(next.checked_next_multiple_of(4)?..)?;
        }
    }
    None
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let b = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_le_bytes(b.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let b = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(b.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let b = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(b.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{BzImage, find_pvh_entry};
    use std::path::Path;

    /// A header like that of Debian's 6.1.0-56-amd64, with a gzip payload that
    /// holds the first 16 bytes of an ELF file.
    fn image() -> Vec<u8> {
        let gz: &[u8] = &[
            0x1f, 0x8b, 0x08, 0, 0, 0, 0, 0, 0, 0x03, 0xab, 0x77, 0xf5, 0x71, 0x63, 0x62, 0x64,
            0x84, 0x01, 0,
        ];
        let mut image = vec![0; 1024 + 700];
        image[0x1f1] = 1;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x206..0x208].copy_from_slice(&0x020f_u16.to_le_bytes());
        image[0x214..0x218].copy_from_slice(&0x0010_0000_u32.to_le_bytes());
        image[0x248..0x24c].copy_from_slice(&700_u32.to_le_bytes());
        image[0x24c..0x250].copy_from_slice(&(gz.len() as u32).to_le_bytes());
        image[0x258..0x260].copy_from_slice(&0x0100_0000_u64.to_le_bytes());
        image.extend_from_slice(gz);
        image
    }

    #[test]
    fn the_header_says_where_code_begins() {
        let path = Path::new("vmlinuz");
        let parsed = BzImage::parse(path, &image()).unwrap();
        assert_eq!(parsed.code32_start, 0x10_0000);
        assert_eq!(parsed.preferred_address, 0x100_0000);
    }

    #[test]
    fn what_is_no_image_gets_a_sentence() {
        let path = Path::new("vmlinuz");
        let cut = &image()[..1024 + 700 + 3];
        let mut old = image();
        old[0x206] = 9;
        let mut packed = image();
        packed[1024 + 700] = 0;
        for (bytes, part) in [
            (&b"\x7fELF"[..], "not an x86 kernel image"),
            (&[][..], "not an x86 kernel image"),
            (cut, "is cut"),
            (&old, "too old"),
        ] {
            let said = BzImage::parse(path, bytes).unwrap_err().to_string();
            assert!(
                said.starts_with("vmlinuz: ") && said.contains(part),
                "{said}"
            );
        }
        let parsed = BzImage::parse(path, &packed).unwrap();
        let said = parsed.unpack(path, &packed).unwrap_err().to_string();
        assert!(said.contains("unknown way"), "{said}");
    }

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
        assert_eq!(find_pvh_entry(&elf), Some(0x100_0850));
        for end in 0..elf.len() {
            assert_eq!(find_pvh_entry(&elf[..end]), None);
        }
    }
}
