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
    /// A FAT filesystem.
    Fat,
    /// An exFAT filesystem.
    Exfat,
    /// An NTFS filesystem.
    Ntfs,
    /// An ISO 9660 image.
    Iso9660,
    /// A UDF image.
    Udf,
    /// A JFS filesystem.
    Jfs,
    /// A reiserfs or reiser4 filesystem.
    Reiserfs,
    /// A YAFFS2 image, with its spare bytes.
    Yaffs2,
    /// A squashfs in a form that only some vendors' kernels read.
    SquashfsVendor,
    /// A cpio archive in a form that Linux does not unpack.
    CpioOld,
    /// A TRX image, as routers of Broadcom boot it.
    Trx,
    /// A boot image of Android.
    AndroidBoot,
    /// An encrypted LUKS volume.
    Luks,
    /// A physical volume of LVM.
    Lvm,
    /// A disk of QEMU's copy-on-write format.
    Qcow2,
    /// A disk of VMware's sparse format.
    Vmdk,
    /// A disk of VirtualBox.
    Vdi,
    /// Swap space.
    Swap,
    /// Data compressed with bzip2.
    Bzip2,
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
            Self::Fat => "a FAT filesystem",
            Self::Exfat => "an exFAT filesystem",
            Self::Ntfs => "an NTFS filesystem",
            Self::Iso9660 => "an ISO 9660 image",
            Self::Udf => "a UDF image",
            Self::Jfs => "a JFS filesystem",
            Self::Reiserfs => "a reiserfs filesystem",
            Self::Yaffs2 => "a YAFFS2 image",
            Self::SquashfsVendor => "a squashfs image in a vendor's own form",
            Self::CpioOld => "a cpio archive in an old form",
            Self::Trx => "a TRX firmware image",
            Self::AndroidBoot => "an Android boot image",
            Self::Luks => "an encrypted LUKS volume",
            Self::Lvm => "an LVM physical volume",
            Self::Qcow2 => "a qcow2 disk",
            Self::Vmdk => "a VMDK disk",
            Self::Vdi => "a VDI disk",
            Self::Swap => "swap space",
            Self::Bzip2 => "bzip2 data",
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
            Self::Fat => "fat",
            Self::Exfat => "exfat",
            Self::Ntfs => "ntfs",
            Self::Iso9660 => "iso9660",
            Self::Udf => "udf",
            Self::Jfs => "jfs",
            Self::Reiserfs => "reiserfs",
            Self::Yaffs2 => "yaffs2",
            Self::SquashfsVendor => "squashfs_vendor",
            Self::CpioOld => "cpio_old",
            Self::Trx => "trx",
            Self::AndroidBoot => "android_boot",
            Self::Luks => "luks",
            Self::Lvm => "lvm",
            Self::Qcow2 => "qcow2",
            Self::Vmdk => "vmdk",
            Self::Vdi => "vdi",
            Self::Swap => "swap",
            Self::Bzip2 => "bzip2",
            Self::Zeros => "zeros",
            Self::Unknown => "unknown",
        }
    }

    /// What turns it into something that can be looked at, if a tool does.
    #[must_use]
    pub fn advice(self) -> Option<&'static str> {
        Some(match self {
            Self::Gzip => "decompress it first (gunzip)",
            Self::Xz => "decompress it first (unxz)",
            Self::Zstd => "decompress it first (unzstd)",
            Self::Bzip2 => "decompress it first (bunzip2)",
            Self::AndroidSparse => "convert it first (simg2img)",
            Self::Qcow2 | Self::Vmdk | Self::Vdi => "convert it first (qemu-img convert -O raw)",
            Self::Luks => "open it first (cryptsetup open), and name the device",
            Self::Lvm => "activate it first (vgchange -ay), and name the logical volume",
            _ => return None,
        })
    }

    /// Recognises the front of `bytes`; a few KiB are enough for all but
    /// [`Foreign::UbootEnvironment`], which needs the whole of it; ISO 9660, UDF and
    /// JFS, which need 33 KiB; and btrfs and reiserfs, which need 66 KiB.
    #[must_use]
    pub fn recognise(bytes: &[u8]) -> Self {
        let at = |offset: usize, magic: &[u8]| {
            bytes
                .get(offset..)
                .is_some_and(|rest| rest.starts_with(magic))
        };
        // Offset, magic, meaning; sources: the kernel's `magic.h` and each
        // format's own header.
        if let Some(found) = boot_sector(bytes) {
            return found;
        }
        let table: [(usize, &[u8], Self); 59] = [
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
            // The magic numbers of squashfs that vendors made for their LZMA.
            (0, b"sqlz", Self::SquashfsVendor),
            (0, b"qshs", Self::SquashfsVendor),
            (0, b"tqsh", Self::SquashfsVendor),
            (0, b"hsqt", Self::SquashfsVendor),
            (0, b"shsq", Self::SquashfsVendor),
            (0, b"070707", Self::CpioOld),
            (0, b"HDR0", Self::Trx),
            (0, b"ANDROID!", Self::AndroidBoot),
            (0, b"VNDRBOOT", Self::AndroidBoot),
            (0, b"LUKS\xba\xbe", Self::Luks),
            (0, b"SKUL\xba\xbe", Self::Luks),
            // The label lies in one of the first four sectors.
            (24, b"LVM2 001", Self::Lvm),
            (512 + 24, b"LVM2 001", Self::Lvm),
            (1024 + 24, b"LVM2 001", Self::Lvm),
            (1536 + 24, b"LVM2 001", Self::Lvm),
            (0, b"QFI\xfb", Self::Qcow2),
            (0, b"KDMV", Self::Vmdk),
            (64, &[0x7f, 0x10, 0xda, 0xbe], Self::Vdi),
            (0, b"BZh", Self::Bzip2),
            (0x8000, b"JFS1", Self::Jfs),
            (0x8001, b"CD001", Self::Iso9660),
            (0x8001, b"BEA01", Self::Udf),
            (0x1_0034, b"ReIsErFs", Self::Reiserfs),
            (0x1_0034, b"ReIsEr2Fs", Self::Reiserfs),
            (0x1_0034, b"ReIsEr3Fs", Self::Reiserfs),
            (0x2034, b"ReIsErFs", Self::Reiserfs),
            (0x1_0000, b"ReIsEr4", Self::Reiserfs),
            // By size of a page: 4, 8, 16 and 64 KiB.
            (0xff6, b"SWAPSPACE2", Self::Swap),
            (0x1ff6, b"SWAPSPACE2", Self::Swap),
            (0x3ff6, b"SWAPSPACE2", Self::Swap),
            (0xfff6, b"SWAPSPACE2", Self::Swap),
            // The header of the first object: a directory or a file in the root, with a
            // checksum that is not used. Either byte order.
            (0, &[3, 0, 0, 0, 1, 0, 0, 0, 0xff, 0xff], Self::Yaffs2),
            (0, &[1, 0, 0, 0, 1, 0, 0, 0, 0xff, 0xff], Self::Yaffs2),
            (0, &[0, 0, 0, 3, 0, 0, 0, 1, 0xff, 0xff], Self::Yaffs2),
            (0, &[0, 0, 0, 1, 0, 0, 0, 1, 0xff, 0xff], Self::Yaffs2),
        ];
        let known = table.iter().find(|(offset, magic, _)| at(*offset, magic));
        if let Some((_, _, found)) = known {
            return *found;
        }
        if is_binary_cpio(bytes) {
            return Self::CpioOld;
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

/// A filesystem that begins with a boot sector: a jump, its name, and the signature at
/// the end. Source: Microsoft's FAT and exFAT specifications.
fn boot_sector(bytes: &[u8]) -> Option<Foreign> {
    let sector = bytes.get(..512)?;
    let jumps = matches!(sector.first(), Some(0xeb | 0xe9));
    if !jumps || sector.get(510..) != Some(&[0x55, 0xaa]) {
        return None;
    }
    let is = |at: usize, name: &[u8]| sector.get(at..).is_some_and(|s| s.starts_with(name));
    if is(3, b"EXFAT   ") {
        return Some(Foreign::Exfat);
    }
    if is(3, b"NTFS    ") {
        return Some(Foreign::Ntfs);
    }
    let is_fat = is(54, b"FAT12   ") || is(54, b"FAT16   ") || is(82, b"FAT32   ");
    is_fat.then_some(Foreign::Fat)
}

/// The oldest form of cpio: a magic number of two bytes, in either byte order, and a name
/// whose length the header of 26 bytes states.
fn is_binary_cpio(bytes: &[u8]) -> bool {
    let number = |at: usize| {
        let pair = bytes.get(at..)?.first_chunk::<2>()?;
        Some(match bytes.first()? {
            0xc7 => u16::from_le_bytes(*pair),
            _ => u16::from_be_bytes(*pair),
        })
    };
    if number(0) != Some(0o070_707) {
        return false;
    }
    let length = usize::from(number(20).unwrap_or(0));
    let name = bytes.get(26..26 + length).unwrap_or_default();
    let (Some((0, text)), true) = (name.split_last(), length <= 1024) else {
        return false;
    };
    !text.is_empty() && text.iter().all(u8::is_ascii_graphic)
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

    /// Bytes with `magic` at `at`, and nothing else.
    fn with(at: usize, magic: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 0x1_1000];
        bytes[at..at + magic.len()].copy_from_slice(magic);
        bytes
    }

    #[test]
    fn what_else_lies_on_disks_is_known_by_name() {
        let cases: [(usize, &[u8], Foreign); 14] = [
            (0x8001, b"CD001", Foreign::Iso9660),
            (0x8000, b"JFS1", Foreign::Jfs),
            (0x1_0034, b"ReIsEr2Fs", Foreign::Reiserfs),
            (536, b"LVM2 001", Foreign::Lvm),
            (0, b"LUKS\xba\xbe\0\x02", Foreign::Luks),
            (0, b"QFI\xfb", Foreign::Qcow2),
            (0, b"HDR0", Foreign::Trx),
            (0, b"ANDROID!", Foreign::AndroidBoot),
            (0, b"shsq", Foreign::SquashfsVendor),
            (0, b"070707", Foreign::CpioOld),
            (0xff6, b"SWAPSPACE2", Foreign::Swap),
            (
                0,
                &[3, 0, 0, 0, 1, 0, 0, 0, 0xff, 0xff, b'a'],
                Foreign::Yaffs2,
            ),
            (0, b"BZh9", Foreign::Bzip2),
            (0x438, &[0x53, 0xef], Foreign::Ext),
        ];
        for (at, magic, found) in cases {
            assert_eq!(Foreign::recognise(&with(at, magic)), found);
        }
    }

    /// What programs read of each, what turns it into something that can be looked at, and a word
    /// of its name.
    #[test]
    fn each_has_a_word_that_stays_and_a_name_for_a_sentence() {
        let cases: [(Foreign, &str, &str, &str); 42] = [
            (Foreign::Ubi, "ubi", "UBI", ""),
            (Foreign::Ubifs, "ubifs", "without UBI", ""),
            (Foreign::Squashfs, "squashfs", "squashfs", ""),
            (Foreign::Cramfs, "cramfs", "cramfs", ""),
            (Foreign::Romfs, "romfs", "romfs", ""),
            (
                Foreign::UbootEnvironment,
                "uboot_environment",
                "environment",
                "",
            ),
            (Foreign::Uimage, "uimage", "U-Boot image", ""),
            (Foreign::DeviceTree, "device_tree", "FIT", ""),
            (Foreign::ArmKernel, "arm_kernel", "ARM", ""),
            (Foreign::Elf, "elf", "ELF", ""),
            (Foreign::Tar, "tar", "tar", ""),
            (Foreign::Cpio, "cpio", "cpio", ""),
            (Foreign::Gzip, "gzip", "gzip", "gunzip"),
            (Foreign::Xz, "xz", "xz", "unxz"),
            (Foreign::Zstd, "zstd", "zstd", "unzstd"),
            (
                Foreign::AndroidSparse,
                "android_sparse",
                "sparse",
                "simg2img",
            ),
            (Foreign::Ext, "ext", "ext4", ""),
            (Foreign::Erofs, "erofs", "erofs", ""),
            (Foreign::Xfs, "xfs", "xfs", ""),
            (Foreign::F2fs, "f2fs", "f2fs", ""),
            (Foreign::Btrfs, "btrfs", "btrfs", ""),
            (Foreign::Fat, "fat", "FAT", ""),
            (Foreign::Exfat, "exfat", "exFAT", ""),
            (Foreign::Ntfs, "ntfs", "NTFS", ""),
            (Foreign::Iso9660, "iso9660", "ISO 9660", ""),
            (Foreign::Udf, "udf", "UDF", ""),
            (Foreign::Jfs, "jfs", "JFS", ""),
            (Foreign::Reiserfs, "reiserfs", "reiserfs", ""),
            (Foreign::Yaffs2, "yaffs2", "YAFFS2", ""),
            (
                Foreign::SquashfsVendor,
                "squashfs_vendor",
                "vendor's own",
                "",
            ),
            (Foreign::CpioOld, "cpio_old", "old form", ""),
            (Foreign::Trx, "trx", "TRX", ""),
            (Foreign::AndroidBoot, "android_boot", "boot image", ""),
            (Foreign::Luks, "luks", "encrypted", "cryptsetup open"),
            (Foreign::Lvm, "lvm", "physical volume", "vgchange -ay"),
            (Foreign::Qcow2, "qcow2", "qcow2", "qemu-img convert"),
            (Foreign::Vmdk, "vmdk", "VMDK", "qemu-img convert"),
            (Foreign::Vdi, "vdi", "VDI", "qemu-img convert"),
            (Foreign::Swap, "swap", "swap", ""),
            (Foreign::Bzip2, "bzip2", "bzip2", "bunzip2"),
            (Foreign::Zeros, "zeros", "zero bytes", ""),
            (Foreign::Unknown, "unknown", "unknown", ""),
        ];
        for (foreign, word, name, tool) in cases {
            assert_eq!(foreign.word(), word);
            let said = foreign.to_string();
            assert!(said.contains(name), "{word}: {said}");
            // `a` or `an` before one thing, and nothing before a mass of data.
            let is_mass = ["data", "space", "bytes"].iter().any(|m| said.ends_with(m));
            let has_article = said.starts_with("a ") || said.starts_with("an ");
            assert!(has_article != is_mass, "{said}");
            match foreign.advice() {
                Some(advice) => assert!(!tool.is_empty() && advice.contains(tool), "{advice}"),
                None => assert_eq!(tool, "", "{word}"),
            }
        }
        let different: std::collections::BTreeSet<String> =
            cases.iter().map(|c| c.0.to_string()).collect();
        assert_eq!(different.len(), cases.len());
    }

    #[test]
    fn a_front_that_is_empty_or_zero_is_said() {
        assert_eq!(Foreign::recognise(&[]), Foreign::Unknown);
        assert_eq!(Foreign::recognise(&[0; 3]), Foreign::Zeros);
        assert_eq!(Foreign::recognise(&[0, 0, 1]), Foreign::Unknown);
    }

    #[test]
    fn a_boot_sector_needs_its_signature() {
        for (at, name, found) in [
            (54, b"FAT16   ", Foreign::Fat),
            (82, b"FAT32   ", Foreign::Fat),
            (3, b"EXFAT   ", Foreign::Exfat),
            (3, b"NTFS    ", Foreign::Ntfs),
        ] {
            let mut sector = with(at, name);
            sector[0] = 0xeb;
            assert_eq!(Foreign::recognise(&sector), Foreign::Unknown);
            sector[510..512].copy_from_slice(&[0x55, 0xaa]);
            assert_eq!(Foreign::recognise(&sector), found);
        }
    }

    #[test]
    fn the_oldest_cpio_needs_a_name() {
        let mut bytes = with(0, &[0xc7, 0x71]);
        assert_eq!(Foreign::recognise(&bytes), Foreign::Unknown);
        bytes[20..22].copy_from_slice(&5_u16.to_le_bytes());
        bytes[26..31].copy_from_slice(b"init\0");
        assert_eq!(Foreign::recognise(&bytes), Foreign::CpioOld);
        let mut big = with(0, &[0x71, 0xc7]);
        big[20..22].copy_from_slice(&5_u16.to_be_bytes());
        big[26..31].copy_from_slice(b"init\0");
        assert_eq!(Foreign::recognise(&big), Foreign::CpioOld);
    }

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
