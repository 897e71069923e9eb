//! Kernel images for ARM: what the machine has to know of them.

use crate::error::LabError;
use crate::experiment::ArmArch;
use bootimage::kernel::zimage;
use rawimage::Part;
use rawimage::compression::{self, LIMIT};
use std::path::Path;

/// Where the board's memory begins.
pub const RAM: u64 = 0x4000_0000;

/// No kernel lies farther from the start of memory.
const MOST_MEMORY: u64 = 0x4000_0000;

/// What a kernel image says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelImage {
    /// Where QEMU loads it to, if QEMU starts it: that is also its first
    /// instruction.
    pub loaded_by_qemu: u64,
    /// Where the kernel's first instruction is when the image has unpacked itself;
    /// `None`: it is not compressed, or does not say.
    pub unpacked: Option<u64>,
}

/// Where QEMU puts a 32-bit image (`KERNEL_LOAD_ADDR` of `hw/arm/boot.c`).
const QEMU_ARM_OFFSET: u64 = 0x1_0000;

/// Below this, QEMU has code of its own (`BOOTLOADER_MAX_SIZE`), and moves a
/// 64-bit image up by 2 MiB.
const QEMU_OWN_BYTES: u64 = 4096;
const TWO_MIB: u64 = 2 << 20;

/// `Image`: `Documentation/arm64/booting.rst`.
const ARM64_MAGIC: &[u8] = b"ARM\x64";

impl KernelImage {
    /// Reads the header of `bytes`, which are the file at `path`, for a board whose
    /// memory begins at `ram`.
    ///
    /// # Errors
    /// If it is no image for `arch`.
    pub fn parse((arch, ram): (ArmArch, u64), path: &Path, bytes: &[u8]) -> Result<Self, LabError> {
        let unfit = |why: String| LabError::Kernel {
            path: path.to_owned(),
            why,
        };
        match arch {
            ArmArch::Armhf if zimage::is_zimage(bytes) => {
                // Without a byte to unpack to, it reads the header alone.
                let part = Part::whole(&bytes).map_err(|e| unfit(e.to_string()))?;
                let found = zimage::read(&part, 0).map_err(|e| unfit(e.to_string()))?;
                let offset = found.and_then(|z| z.text_offset).map(u64::from);
                Ok(Self {
                    loaded_by_qemu: ram + QEMU_ARM_OFFSET,
                    unpacked: offset.filter(|o| *o < MOST_MEMORY).map(|o| ram + o),
                })
            }
            ArmArch::Arm64 if bytes.get(56..60) == Some(ARM64_MAGIC) => {
                let offset = long(bytes, 8).unwrap_or_default();
                let moved = if offset < QEMU_OWN_BYTES { TWO_MIB } else { 0 };
                let loaded = offset.checked_add(moved).filter(|at| *at < MOST_MEMORY);
                let loaded = loaded.map(|at| ram + at).ok_or_else(|| {
                    unfit(format!(
                        "its header states the impossible load offset {offset:#x}; name an intact \
                         kernel image"
                    ))
                })?;
                Ok(Self {
                    loaded_by_qemu: loaded,
                    unpacked: None,
                })
            }
            ArmArch::Armhf => Err(unfit(format!(
                "not a zImage for 32-bit ARM (expected 0x016f2818 at byte 0x24, found {}); name \
                 arch/arm/boot/zImage",
                shown(word(bytes, 0x24))
            ))),
            ArmArch::Arm64 => Err(unfit(format!(
                "not an Image for 64-bit ARM (expected `ARMd` at byte 56, found {}); name an \
                 uncompressed arch/arm64/boot/Image",
                shown(word(bytes, 56))
            ))),
        }
    }
}

/// Unpacks the kernel proper of a 32-bit image, which is the file at `path`.
///
/// # Errors
/// If nothing in it can be unpacked to the length that it says.
pub fn unpack(path: &Path, bytes: &[u8]) -> Result<Vec<u8>, LabError> {
    let unfit = |why: String| LabError::Kernel {
        path: path.to_owned(),
        why,
    };
    let unreadable = |e: std::io::Error| unfit(format!("cannot decompress the kernel: {e}"));
    let whole = Part::whole(&bytes).map_err(unreadable)?;
    let found = zimage::read(&whole, LIMIT).map_err(unreadable)?;
    let Some(payload) = found.and_then(|z| z.payload) else {
        return Err(unfit(
            "no compressed kernel was found in the image".to_owned(),
        ));
    };
    if let Some(why) = payload.failure {
        return Err(unfit(format!("cannot decompress the kernel: {why}")));
    }
    let part = whole.part(payload.offset, payload.packed);
    compression::unpack(payload.compression, &part, LIMIT)
        .map_err(|e| unfit(format!("cannot decompress the kernel: {e}")))
}

fn shown(found: Option<u32>) -> String {
    found.map_or_else(|| "the file's end".to_owned(), |w| format!("{w:#010x}"))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    bytes.try_into().ok().map(u32::from_le_bytes)
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(8)?)?;
    bytes.try_into().ok().map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::{KernelImage, RAM, unpack};
    use crate::experiment::ArmArch::{self, Arm64, Armhf};
    use std::path::Path;

    fn put(bytes: &mut [u8], at: usize, value: u32) {
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    fn zimage() -> Vec<u8> {
        let mut bytes = vec![0; 0x400];
        for (at, value) in [
            (0x24, 0x016f_2818),
            (0x2c, 0x400),
            (0x34, 0x4545_4545),
            (0x38, 0x100),
            (0x100, 6),
            (0x104, 0x5a53_4c4b),
            (0x110, 0x20_8000),
        ] {
            put(&mut bytes, at, value);
        }
        bytes
    }

    fn parse(arch: ArmArch, bytes: &[u8]) -> Result<KernelImage, String> {
        KernelImage::parse((arch, RAM), Path::new("k"), bytes).map_err(|e| e.to_string())
    }

    #[test]
    fn a_zimage_says_where_it_unpacks_to() {
        let image = parse(Armhf, &zimage()).unwrap();
        assert_eq!(image.loaded_by_qemu, RAM + 0x1_0000);
        assert_eq!(image.unpacked, Some(RAM + 0x20_8000));
        // An old one has no table; a damaged one has it nowhere.
        for (at, value) in [(0x34, 0), (0x38, u32::MAX), (0x104, 0), (0x100, 0)] {
            let mut bytes = zimage();
            put(&mut bytes, at, value);
            assert_eq!(parse(Armhf, &bytes).unwrap().unpacked, None);
        }
    }

    #[test]
    fn a_payload_is_found_and_unpacked() {
        // gzip of sixteen zeros, behind a byte pair that only looks like a start.
        let gz: &[u8] = &[
            0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x63, 0x60, 0x40, 0x05,
            0x00, 0x55, 0x4b, 0xbb, 0xec, 0x10, 0x00, 0x00, 0x00,
        ];
        let mut bytes = zimage();
        bytes[0x200..0x202].copy_from_slice(&gz[..2]);
        bytes[0x300..0x300 + gz.len()].copy_from_slice(gz);
        put(&mut bytes, 0x108, 0x300 + gz.len() as u32 - 4);
        assert_eq!(unpack(Path::new("k"), &bytes).unwrap(), [0; 16]);
        bytes[0x300] = 0;
        let said = unpack(Path::new("k"), &bytes).unwrap_err().to_string();
        assert!(said.starts_with("k: no compressed kernel"), "{said}");
    }

    #[test]
    fn an_arm64_image_says_where_it_wants_to_lie() {
        let mut bytes = vec![0; 64];
        bytes[56..60].copy_from_slice(b"ARM\x64");
        assert_eq!(
            parse(Arm64, &bytes).unwrap().loaded_by_qemu,
            RAM + (2 << 20)
        );
        put(&mut bytes, 8, 0x8_0000);
        assert_eq!(parse(Arm64, &bytes).unwrap().loaded_by_qemu, RAM + 0x8_0000);
        put(&mut bytes, 12, u32::MAX);
        let why = parse(Arm64, &bytes).unwrap_err();
        assert!(why.contains("impossible load offset"), "{why}");
    }

    #[test]
    fn other_files_are_refused_at_any_length() {
        let whole = zimage();
        for length in 0..whole.len() {
            let cut = &whole[..length];
            assert_eq!(parse(Armhf, cut).is_ok(), length >= 0x28, "{length}");
            assert!(parse(Arm64, cut).is_err());
        }
        let said = parse(Armhf, b"").unwrap_err();
        assert!(said.contains("found the file's end"), "{said}");
    }
}
