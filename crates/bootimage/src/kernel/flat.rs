//! Kernels of arm64 and RISC-V: the code as it is, behind a header of 64 bytes.
//!
//! Sources: Linux' `Documentation/arm64/booting.rst` and
//! `Documentation/riscv/boot-image-header.rst`.

use super::fields::field64;
use rawimage::bytes::le32;

/// Which processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arch {
    /// `ARM\x64` at byte 56.
    Arm64,
    /// `RSC\x05` at byte 56.
    Riscv,
}

impl Arch {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Arm64 => "arm64",
            Self::Riscv => "riscv",
        }
    }
}

/// What the header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flat {
    /// The processor.
    pub arch: Arch,
    /// How far behind an aligned address the image goes: 2 MiB on 64 bits.
    pub text_offset: u64,
    /// How much memory it takes, with what is not in the file.
    pub memory: u64,
    /// The flags as they are.
    pub flags: u64,
    /// The version of the header; RISC-V only.
    pub version: Option<(u16, u16)>,
    /// Whether the kernel is big-endian.
    pub is_big_endian: bool,
    /// The size of its pages, bytes; arm64 only, if it says so.
    pub page_size: Option<u32>,
    /// Whether it may lie anywhere in memory, and not only near its beginning;
    /// arm64 only.
    pub anywhere: Option<bool>,
    /// Whether it is an EFI program too.
    pub has_efi_stub: bool,
}

/// Reads the header that `bytes` begin with; `None` if it is no such kernel.
#[must_use]
pub fn header(bytes: &[u8]) -> Option<Flat> {
    let header = bytes.get(..64)?;
    let arch = match header.get(56..60)? {
        b"ARM\x64" => Arch::Arm64,
        b"RSC\x05" => Arch::Riscv,
        _ => return None,
    };
    let flags = field64(header, 24);
    let version = le32(header, 32).unwrap_or(0);
    let arm64 = arch == Arch::Arm64;
    Some(Flat {
        arch,
        text_offset: field64(header, 8),
        memory: field64(header, 16),
        flags,
        version: (!arm64).then_some(((version >> 16) as u16, version as u16)),
        is_big_endian: flags & 1 != 0,
        page_size: match flags >> 1 & 3 {
            _ if !arm64 => None,
            1 => Some(4096),
            2 => Some(16_384),
            3 => Some(65_536),
            _ => None,
        },
        anywhere: arm64.then_some(flags & 8 != 0),
        has_efi_stub: header.starts_with(b"MZ"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_headers_are_read() {
        let mut bytes = [0; 64];
        bytes[..2].copy_from_slice(b"MZ");
        bytes[16..24].copy_from_slice(&0x01ee_0000_u64.to_le_bytes());
        bytes[24] = 0b1010;
        bytes[56..60].copy_from_slice(b"ARM\x64");
        let arm = header(&bytes).unwrap();
        assert_eq!((arm.arch, arm.memory), (Arch::Arm64, 0x01ee_0000));
        assert_eq!((arm.page_size, arm.anywhere), (Some(4096), Some(true)));
        assert!(arm.has_efi_stub && !arm.is_big_endian);
        bytes[8..16].copy_from_slice(&0x20_0000_u64.to_le_bytes());
        bytes[32..36].copy_from_slice(&2_u32.to_le_bytes());
        bytes[56..60].copy_from_slice(b"RSC\x05");
        let riscv = header(&bytes).unwrap();
        assert_eq!(
            (riscv.text_offset, riscv.version),
            (0x20_0000, Some((0, 2)))
        );
        assert_eq!((riscv.page_size, riscv.anywhere), (None, None));
        assert_eq!(header(&bytes[..63]), None);
    }
}
