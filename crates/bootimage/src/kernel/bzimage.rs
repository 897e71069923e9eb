//! Kernel images of x86.
//!
//! Offsets are those of Linux' `Documentation/arch/x86/boot.rst`.

use super::{Payload, payload};
use rawimage::bytes::{Part, le16, le32, le64, text};
use rawimage::compression::Compression;
use std::io;

const SETUP_SECTS: usize = 0x1f1;
const MAGIC: usize = 0x202;
const VERSION: usize = 0x206;
const KERNEL_VERSION: usize = 0x20e;
const LOADFLAGS: usize = 0x211;
const CODE32_START: usize = 0x214;
const KERNEL_ALIGNMENT: usize = 0x230;
const RELOCATABLE: usize = 0x234;
const XLOADFLAGS: usize = 0x236;
const PAYLOAD_OFFSET: usize = 0x248;
const PAYLOAD_LENGTH: usize = 0x24c;
const PREF_ADDRESS: usize = 0x258;
const INIT_SIZE: usize = 0x260;

/// The first boot protocol that says where the payload lies: Linux 2.6.24.
const PAYLOAD_SINCE: u16 = 0x0208;
/// The first boot protocol with `pref_address`: Linux 2.6.31.
const PREF_ADDRESS_SINCE: u16 = 0x020a;
/// The first boot protocol with `xloadflags`: Linux 3.8.
const XLOADFLAGS_SINCE: u16 = 0x020c;

/// What a bzImage says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BzImage {
    /// The boot protocol, `0x020f` for 2.15.
    pub protocol: u16,
    /// The kernel's release and who built it.
    pub version: Option<String>,
    /// Where the protected-mode part begins, bytes from the start of the image.
    pub setup_size: u64,
    /// Where the protected-mode part is entered: the decompressor's start.
    pub code32_start: u32,
    /// Whether it is loaded at 1 MiB: a bzImage. If not, it is an old zImage.
    pub is_big: bool,
    /// Whether it can run from elsewhere.
    pub is_relocatable: bool,
    /// How it must be aligned, bytes.
    pub alignment: u32,
    /// Whether it has a 64-bit entry.
    pub is_64: bool,
    /// Whether it is an EFI program too.
    pub has_efi_stub: bool,
    /// Where the unpacked kernel goes, and is entered, without randomisation.
    pub preferred_address: Option<u64>,
    /// How much memory it needs while it unpacks itself.
    pub init_size: Option<u32>,
    /// Where the packed kernel lies: first byte and length, with the unpacked
    /// size behind it. `None` in the oldest images, or where it is cut off.
    pub payload: Option<(u64, u64)>,
    /// Whether the payload ends behind the file.
    pub is_cut: bool,
}

/// Reads the header of the image that `part` begins with; `None` if it is none.
///
/// # Errors
/// What reading says.
pub fn read(part: &Part<'_>) -> io::Result<Option<BzImage>> {
    let head = part.read(0, 0x268)?;
    if head.get(MAGIC..MAGIC + 4) != Some(b"HdrS") {
        return Ok(None);
    }
    let protocol = le16(&head, VERSION).unwrap_or(0);
    let setup = match head.get(SETUP_SECTS) {
        Some(0) | None => 4,
        Some(n) => u64::from(*n),
    };
    let setup_size = (setup + 1) * 512;
    let byte = |at: usize| head.get(at).copied().unwrap_or(0);
    let since = |version: u16| protocol >= version;
    let stated = le32(&head, PAYLOAD_OFFSET).zip(le32(&head, PAYLOAD_LENGTH));
    let stated = stated.filter(|_| since(PAYLOAD_SINCE));
    let stated = stated.map(|(o, l)| (setup_size + u64::from(o), u64::from(l)));
    let payload = stated.filter(|(o, l)| o + l <= part.len());
    let xloadflags = le16(&head, XLOADFLAGS).filter(|_| since(XLOADFLAGS_SINCE));
    let version = match le16(&head, KERNEL_VERSION) {
        Some(at) if at != 0 => Some(text(&part.read(u64::from(at) + 0x200, 256)?)),
        _ => None,
    };
    Ok(Some(BzImage {
        protocol,
        version: version.filter(|v| !v.is_empty()),
        setup_size,
        code32_start: le32(&head, CODE32_START).unwrap_or(0),
        is_big: byte(LOADFLAGS) & 1 != 0,
        is_relocatable: byte(RELOCATABLE) != 0,
        alignment: le32(&head, KERNEL_ALIGNMENT).unwrap_or(0),
        is_64: xloadflags.is_some_and(|f| f & 1 != 0),
        has_efi_stub: head.starts_with(b"MZ"),
        preferred_address: le64(&head, PREF_ADDRESS).filter(|_| since(PREF_ADDRESS_SINCE)),
        init_size: le32(&head, INIT_SIZE).filter(|_| since(PREF_ADDRESS_SINCE)),
        payload,
        is_cut: stated.is_some() && payload.is_none(),
    }))
}

impl BzImage {
    /// How the payload is packed, and its stream without the size behind it;
    /// `None` if the image does not say where it is, or it is packed in a way
    /// that is not known.
    ///
    /// # Errors
    /// What reading says.
    pub fn stream(&self, part: &Part<'_>) -> io::Result<Option<Stream>> {
        let Some((offset, length)) = self.payload else {
            return Ok(None);
        };
        let Some(compression) = Compression::detect(&part.read(offset, 32)?) else {
            return Ok(None);
        };
        // The last four bytes are the unpacked length, behind the stream;
        // gzip's own end is the same four bytes.
        let unpacked = super::fields::size_before(part, offset + length)?;
        let behind = if compression == Compression::Gzip {
            0
        } else {
            4
        };
        Ok(Some(Stream {
            compression,
            offset,
            length: length.saturating_sub(behind),
            unpacked,
        }))
    }

    /// Unpacks the payload to see what is in it.
    ///
    /// # Errors
    /// What reading says.
    pub fn unpack(&self, part: &Part<'_>, limit: u64) -> io::Result<Option<Payload>> {
        let Some(stream) = self.stream(part)? else {
            return Ok(None);
        };
        let place = (stream.offset, stream.length);
        payload(part, place, stream.compression, stream.unpacked, limit).map(Some)
    }
}

/// The packed kernel in a bzImage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// How it is packed.
    pub compression: Compression,
    /// Where it begins, bytes from the start of the image.
    pub offset: u64,
    /// How many bytes it takes.
    pub length: u64,
    /// How long it is unpacked, as the image says.
    pub unpacked: Option<u64>,
}
