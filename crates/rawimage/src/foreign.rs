//! What some bytes look like, by the magic numbers of the formats that share
//! flash chips and disks with each other.

use std::fmt;

/// Something recognised by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Foreign {
    /// A UBI physical erase block.
    Ubi,
    /// A node of UBIFS outside UBI.
    Ubifs,
    /// A squashfs image.
    Squashfs,
    /// A cramfs image.
    Cramfs,
    /// A romfs image.
    Romfs,
    /// A U-Boot environment, with a right checksum.
    UbootEnvironment,
    /// A legacy U-Boot image.
    Uimage,
    /// A flattened device tree, or a FIT image.
    DeviceTree,
    /// An ARM Linux kernel image.
    ArmKernel,
    /// A program or library.
    Elf,
    /// A tar archive.
    Tar,
    /// A cpio archive.
    Cpio,
    /// Data compressed with gzip.
    Gzip,
    /// Data compressed with xz.
    Xz,
    /// Data compressed with zstd.
    Zstd,
    /// An image of Android's sparse format.
    AndroidSparse,
    /// An ext2, ext3 or ext4 filesystem.
    Ext,
    /// An erofs image.
    Erofs,
    /// An xfs filesystem.
    Xfs,
    /// An f2fs filesystem.
    F2fs,
    /// A btrfs filesystem.
    Btrfs,
    /// Only zero bytes.
    Zeros,
    /// Not recognised.
    Unknown,
}

impl Foreign {
    /// With its article, for a sentence.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ubi => "a UBI image",
            Self::Ubifs => "a UBIFS image without UBI",
            Self::Squashfs => "a squashfs image",
            Self::Cramfs => "a cramfs image",
            Self::Romfs => "a romfs image",
            Self::UbootEnvironment => "a U-Boot environment",
            Self::Uimage => "a U-Boot image",
            Self::DeviceTree => "a device tree or FIT image",
            Self::ArmKernel => "an ARM kernel",
            Self::Elf => "an ELF file",
            Self::Tar => "a tar archive",
            Self::Cpio => "a cpio archive",
            Self::Gzip => "gzip data",
            Self::Xz => "xz data",
            Self::Zstd => "zstd data",
            Self::AndroidSparse => "an Android sparse image",
            Self::Ext => "an ext2, ext3 or ext4 filesystem",
            Self::Erofs => "an erofs image",
            Self::Xfs => "an xfs filesystem",
            Self::F2fs => "an f2fs filesystem",
            Self::Btrfs => "a btrfs filesystem",
            Self::Zeros => "zero bytes",
            Self::Unknown => "unknown data",
        }
    }

    /// One word, for programs; it stays the same.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ubi => "ubi",
            Self::Ubifs => "ubifs",
            Self::Squashfs => "squashfs",
            Self::Cramfs => "cramfs",
            Self::Romfs => "romfs",
            Self::UbootEnvironment => "uboot_environment",
            Self::Uimage => "uimage",
            Self::DeviceTree => "device_tree",
            Self::ArmKernel => "arm_kernel",
            Self::Elf => "elf",
            Self::Tar => "tar",
            Self::Cpio => "cpio",
            Self::Gzip => "gzip",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
            Self::AndroidSparse => "android_sparse",
            Self::Ext => "ext",
            Self::Erofs => "erofs",
            Self::Xfs => "xfs",
            Self::F2fs => "f2fs",
            Self::Btrfs => "btrfs",
            Self::Zeros => "zeros",
            Self::Unknown => "unknown",
        }
    }

    /// Recognises the front of `bytes`; a few KiB are enough for all but
    /// [`Foreign::UbootEnvironment`], which needs the whole of it, and
    /// [`Foreign::Btrfs`], which needs 65 KiB.
    #[must_use]
    pub fn recognise(bytes: &[u8]) -> Self {
        let at = |offset: usize, magic: &[u8]| {
            bytes
                .get(offset..)
                .is_some_and(|rest| rest.starts_with(magic))
        };
        // Offset, magic, meaning; sources: the kernel's `magic.h` and each
        // format's own header.
        let table: [(usize, &[u8], Self); 24] = [
            (0, b"UBI#", Self::Ubi),
            (0, &[0x31, 0x18, 0x10, 0x06], Self::Ubifs),
            (0, b"hsqs", Self::Squashfs),
            (0, b"sqsh", Self::Squashfs),
            (0, &[0x45, 0x3d, 0xcd, 0x28], Self::Cramfs),
            (0, &[0x28, 0xcd, 0x3d, 0x45], Self::Cramfs),
            (0, b"-rom1fs-", Self::Romfs),
            (0, &[0x27, 0x05, 0x19, 0x56], Self::Uimage),
            (0, &[0xd0, 0x0d, 0xfe, 0xed], Self::DeviceTree),
            (0x24, &[0x18, 0x28, 0x6f, 0x01], Self::ArmKernel),
            (0, b"\x7fELF", Self::Elf),
            (257, b"ustar", Self::Tar),
            (0, b"070701", Self::Cpio),
            (0, b"070702", Self::Cpio),
            (0, &[0x1f, 0x8b, 0x08], Self::Gzip),
            (0, &[0xfd, b'7', b'z', b'X', b'Z', 0], Self::Xz),
            (0, &[0x28, 0xb5, 0x2f, 0xfd], Self::Zstd),
            (0, &[0x3a, 0xff, 0x26, 0xed], Self::AndroidSparse),
            (0x438, &[0x53, 0xef], Self::Ext),
            (1024, &[0xe2, 0xe1, 0xf5, 0xe0], Self::Erofs),
            (512, &[0x45, 0x3d, 0xcd, 0x28], Self::Cramfs),
            (0, b"XFSB", Self::Xfs),
            (1024, &[0x10, 0x20, 0xf5, 0xf2], Self::F2fs),
            (0x1_0040, b"_BHRfS_M", Self::Btrfs),
        ];
        let known = table.iter().find(|(offset, magic, _)| at(*offset, magic));
        if let Some((_, _, found)) = known {
            return *found;
        }
        if is_uboot_environment(bytes) {
            return Self::UbootEnvironment;
        }
        if !bytes.is_empty() && bytes.iter().all(|b| *b == 0) {
            return Self::Zeros;
        }
        Self::Unknown
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A CRC-32 in either byte order, perhaps a flag byte, then `name=value` strings.
/// The size is not stored: each usual one is tried.
fn is_uboot_environment(bytes: &[u8]) -> bool {
    let Some(found) = bytes.first_chunk::<4>() else {
        return false;
    };
    let wanted = [u32::from_le_bytes(*found), u32::from_be_bytes(*found)];
    [4, 5].into_iter().any(|start| {
        let data = bytes.get(start..).unwrap_or_default();
        let name = data.iter().take(64).position(|b| *b == b'=');
        let plausible = name.is_some_and(|n| {
            let name = data.get(..n).unwrap_or_default();
            n > 0 && name.iter().all(|b| b.is_ascii_graphic())
        });
        // From 1 KiB to 256 KiB, in powers of two.
        plausible
            && (10..=18).any(|bits| {
                let data = bytes.get(start..1 << bits);
                data.is_some_and(|d| wanted.contains(&crc32fast::hash(d)))
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_is_recognised_in_any_form() {
        for (flag, big) in [(0, false), (1, false), (0, true), (1, true)] {
            let mut data = b"bootdelay=3\0bootcmd=run x\0\0".to_vec();
            data.resize(8192 - 4 - flag, 0xff);
            let crc = crc32fast::hash(&data);
            let mut bytes = if big {
                crc.to_be_bytes().to_vec()
            } else {
                crc.to_le_bytes().to_vec()
            };
            bytes.extend(vec![1; flag]);
            bytes.extend(&data);
            bytes.resize(65536, 0xff);
            assert_eq!(Foreign::recognise(&bytes), Foreign::UbootEnvironment);
            bytes[100] ^= 1;
            assert_eq!(Foreign::recognise(&bytes), Foreign::Unknown);
        }
    }
}
