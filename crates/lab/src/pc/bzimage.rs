//! The x86 kernel image, as far as the lab needs it: where it begins to run, and
//! the kernel proper. The reader is in `image`.

use crate::error::LabError;
use bootimage::kernel::bzimage::{self, Stream};
use bootimage::kernel::elf;
use rawimage::Part;
use rawimage::compression::{self, LIMIT};
use std::path::Path;

/// What the lab needs to know of a bzImage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BzImage {
    /// Where the protected-mode part is entered: the decompressor's start.
    pub code32_start: u64,
    /// Where the unpacked kernel goes, and is entered, without randomisation.
    pub preferred_address: u64,
    payload: (u64, u64),
    stream: Option<Stream>,
}

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
        // Reading from memory does not fail.
        let unreadable = |_| wrong("the image cannot be read");
        let part = Part::whole(&image).map_err(unreadable)?;
        let Some(found) = bzimage::read(&part).map_err(unreadable)? else {
            return Err(wrong(
                "not an x86 kernel image (no `HdrS` at byte 514); name a file such as \
                 /boot/vmlinuz-6.1.0-56-amd64",
            ));
        };
        let Some(preferred_address) = found.preferred_address else {
            return Err(wrong(
                "the kernel is too old: its boot protocol is older than 2.10; use Linux 2.6.31 or \
                 later",
            ));
        };
        let Some(payload) = found.payload else {
            return Err(wrong(
                "the kernel image is truncated: its payload extends past the end of the file; \
                 copy it again",
            ));
        };
        Ok(Self {
            code32_start: u64::from(found.code32_start),
            preferred_address,
            payload,
            stream: found.stream(&part).map_err(unreadable)?,
        })
    }

    /// Unpacks the kernel proper, an ELF file.
    ///
    /// # Errors
    /// If the compression is unknown, the payload is damaged, or the result is
    /// not what the image says.
    pub fn unpack(&self, path: &Path, image: &[u8]) -> Result<Vec<u8>, LabError> {
        let wrong = |why: String| LabError::Kernel {
            path: path.to_owned(),
            why,
        };
        let Some(stream) = self.stream else {
            let start = usize::try_from(self.payload.0).unwrap_or(usize::MAX);
            let payload = image.get(start..).unwrap_or_default();
            let head = payload.get(..6).unwrap_or(payload);
            return Err(wrong(format!(
                "unknown kernel compression: the payload begins with {head:02x?}; use gzip, \
                 bzip2, lzma, xz, lzo, lz4 or zstd"
            )));
        };
        let damaged = |why: String| wrong(format!("cannot decompress the kernel: {why}"));
        let part = Part::whole(&image).map_err(|e| damaged(e.to_string()))?;
        let part = part.part(stream.offset, stream.length);
        let unpacked = compression::unpack(stream.compression, &part, LIMIT)
            .map_err(|e| damaged(e.to_string()))?;
        let expected = stream.unpacked.unwrap_or(0);
        if unpacked.len() as u64 != expected || !unpacked.starts_with(b"\x7fELF") {
            return Err(wrong(format!(
                "the {} stream decompresses to {} bytes, but the image states an ELF file of \
                 {expected} bytes",
                stream.compression,
                unpacked.len()
            )));
        }
        Ok(unpacked)
    }
}

/// Where an unpacked kernel is entered by QEMU (PVH): the note's address.
///
/// # Errors
/// If the kernel has no such entry.
pub fn pvh_entry(path: &Path, kernel: &[u8]) -> Result<u64, LabError> {
    elf::pvh_entry(kernel).ok_or_else(|| LabError::Kernel {
        path: path.to_owned(),
        why: "cannot boot this kernel uncompressed, because it has no PVH entry; build it with \
            CONFIG_PVH=y"
            .into(),
    })
}

#[cfg(test)]
mod tests {
    use super::BzImage;
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
            (cut, "is truncated"),
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
        assert!(said.contains("unknown kernel compression"), "{said}");
    }
}
