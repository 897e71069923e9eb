//! EFI zboot: a small EFI program with a packed kernel.
//!
//! Source: Linux' `drivers/firmware/efi/libstub/zboot-header.S`.

use super::{Payload, payload};
use rawimage::bytes::{Part, le16, le32, text};
use rawimage::compression::Compression;
use std::io;

/// What an EFI zboot image says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zboot {
    /// The processor that the program is for.
    pub arch: &'static str,
    /// How it says that the kernel is packed.
    pub method: String,
    /// The packed kernel.
    pub payload: Option<Payload>,
}

/// Reads the image that `part` begins with; `None` if it is none.
///
/// # Errors
/// What reading says.
pub fn read(part: &Part<'_>, limit: u64) -> io::Result<Option<Zboot>> {
    let header = part.read(0, 4096)?;
    if !header.starts_with(b"MZ") || header.get(4..8) != Some(b"zimg") {
        return Ok(None);
    }
    let (Some(offset), Some(size)) = (le32(&header, 8), le32(&header, 12)) else {
        return Ok(None);
    };
    let (offset, size) = (u64::from(offset), u64::from(size));
    let method = text(header.get(24..56).unwrap_or_default());
    let start = part.read(offset, 32)?;
    // The linker appends the unpacked size; gzip has it inside its stream.
    let named = method_compression(&method);
    let compression = Compression::detect(&start).or(named);
    let payload = match compression {
        Some(compression) => {
            let stated = match compression {
                Compression::Gzip => super::fields::size_before(part, offset + size)?,
                _ => super::fields::size_before(part, offset + size + 4)?,
            };
            let place = (offset, size);
            Some(payload(part, place, compression, stated, limit)?)
        }
        None => None,
    };
    Ok(Some(Zboot {
        arch: machine(&header).unwrap_or("unknown"),
        method,
        payload,
    }))
}

/// The names that the kernel's makefiles use.
fn method_compression(method: &str) -> Option<Compression> {
    Some(match method {
        "xzkern" => Compression::Xz,
        "zstd22" => Compression::Zstd,
        name => Compression::from_name(name)?,
    })
}

/// The processor, as the header of EFI programs numbers it.
fn machine(header: &[u8]) -> Option<&'static str> {
    let at = usize::try_from(le32(header, 0x3c)?).ok()?;
    if header.get(at..at.checked_add(4)?)? != b"PE\0\0" {
        return None;
    }
    Some(match le16(header, at + 4)? {
        0x014c => "x86",
        0x8664 => "x86_64",
        0x01c2 => "arm",
        0xaa64 => "arm64",
        0x5032 => "riscv32",
        0x5064 => "riscv64",
        0x6264 => "loongarch64",
        _ => return None,
    })
}
