//! The flash memory that U-Boot starts from: its environment, a kernel and an
//! initramfs, each as a legacy image.
//!
//! The board has two banks of flash of 64 MiB. U-Boot runs from the first; what
//! is here is the second. U-Boot's `qemu_arm` configuration reads its environment
//! from the start of it: 256 KiB, not redundant (`CONFIG_ENV_ADDR`,
//! `CONFIG_ENV_SIZE`).

use super::image::RAM;
use crate::error::LabError;
use crate::experiment::ArmArch;
use bootimage::environment::{Change, Data};
use std::collections::BTreeMap;
use std::path::Path;

/// Where the processor sees the second bank.
pub const ADDRESS: u64 = 0x0400_0000;
/// The length of a bank, in bytes.
pub const BYTES: usize = 64 << 20;

/// The length of the environment with its checksum.
const ENVIRONMENT_BYTES: usize = 0x4_0000;
/// Where the kernel lies in the bank.
const KERNEL_AT: usize = 0x8_0000;
/// What the next image is aligned to: an erase block.
const ERASE_BYTES: usize = 0x4_0000;

/// Where U-Boot puts the kernel image before it starts it: far enough from where
/// a 32-bit one unpacks itself to, and a multiple of 2 MiB for a 64-bit one.
pub const KERNEL_LOAD: u64 = RAM + 0x400_0000;

/// How much memory a 32-bit kernel reaches at its start. What U-Boot hands to it
/// has to lie there.
const LOW_MEMORY_MB: u32 = 752;

/// The erased state of flash.
pub const ERASED: u8 = 0xff;

/// 2026-01-01, which the machine's clock begins with too.
const IMAGE_TIME: u32 = 1_767_225_600;

/// What is put into the flash.
#[derive(Clone, Copy, Debug)]
pub struct Contents<'a> {
    /// The kind of processor.
    pub arch: ArmArch,
    /// The machine's memory, in MiB.
    pub memory_mb: u32,
    /// The kernel command line.
    pub cmdline: &'a str,
    /// Variables beyond the lab's own, or instead of them; `None`: without it.
    pub variables: &'a BTreeMap<String, Option<String>>,
    /// The kernel, as a legacy image.
    pub kernel: &'a [u8],
    /// The initramfs.
    pub initramfs: &'a [u8],
}

impl Contents<'_> {
    /// Where the initramfs lies in the bank.
    const fn initramfs_at(&self) -> usize {
        (KERNEL_AT + self.kernel.len()).next_multiple_of(ERASE_BYTES)
    }

    /// Where the contents of kernel and initramfs lie in the bank, behind their headers;
    /// `header`: the kernel was given one here.
    #[must_use]
    pub const fn content_at(&self, header: bool) -> [usize; 2] {
        let own = if header { HEADER_BYTES } else { 0 };
        [KERNEL_AT + own, self.initramfs_at() + HEADER_BYTES]
    }

    /// The variables of the environment.
    #[must_use]
    pub fn environment(&self) -> BTreeMap<String, String> {
        let at = |offset: usize| format!("{:#x}", ADDRESS + offset as u64);
        let mut all = BTreeMap::from([
            ("kernel_addr".to_owned(), at(KERNEL_AT)),
            ("ramdisk_addr".to_owned(), at(self.initramfs_at())),
            (
                "kernel_size".to_owned(),
                format!("{:#x}", self.kernel.len()),
            ),
            // Where a legacy image of the kernel need not be moved any more.
            (
                "kernel_in_place".to_owned(),
                format!("{:#x}", KERNEL_LOAD - HEADER_BYTES as u64),
            ),
            // Where QEMU leaves the device tree.
            ("fdt_addr".to_owned(), format!("{RAM:#x}")),
            (
                "bootcmd".to_owned(),
                "bootm ${kernel_addr} ${ramdisk_addr} ${fdt_addr}".to_owned(),
            ),
            // No delay, and no look whether a key is pressed.
            ("bootdelay".to_owned(), "-2".to_owned()),
            ("bootargs".to_owned(), self.cmdline.to_owned()),
        ]);
        if self.arch == ArmArch::Armhf {
            let low = self.memory_mb.min(LOW_MEMORY_MB);
            let bytes = u64::from(low) << 20;
            all.insert("bootm_size".to_owned(), format!("{bytes:#x}"));
        }
        for (name, value) in self.variables {
            match value {
                Some(value) => all.insert(name.clone(), value.clone()),
                None => all.remove(name),
            };
        }
        all
    }

    /// The bytes of the bank. `kernel` is the file that the kernel came from.
    ///
    /// # Errors
    /// If something does not fit.
    pub fn image(&self, kernel: &Path) -> Result<Vec<u8>, LabError> {
        let mut flash = vec![ERASED; BYTES];
        let too_large = |what: &str| LabError::Kernel {
            path: kernel.to_owned(),
            why: format!(
                "{what} does not fit into the 64 MiB of boot flash; use a smaller kernel or \
                 initramfs"
            ),
        };
        let variables = environment(&self.environment(), ENVIRONMENT_BYTES);
        let environment = variables.ok_or_else(|| too_large("the environment"))?;
        let initrd = legacy_image(self.arch, Kind::RamDisk, self.initramfs);
        for (at, bytes, what) in [
            (0, &environment[..], "the environment"),
            (KERNEL_AT, self.kernel, "the kernel"),
            (self.initramfs_at(), &initrd, "the initramfs"),
        ] {
            let end = at.checked_add(bytes.len());
            let room = end.and_then(|end| flash.get_mut(at..end));
            match room {
                Some(room) => room.copy_from_slice(bytes),
                None => return Err(too_large(what)),
            }
        }
        Ok(flash)
    }
}

/// An environment of `bytes` bytes with one copy, as U-Boot stores it: the CRC-32 of the rest,
/// the variables, and zeros to the end. `None`: they do not fit.
pub fn environment(variables: &BTreeMap<String, String>, bytes: usize) -> Option<Vec<u8>> {
    let set =
        |(name, value): (&String, &String)| Change::Set(name.clone().into(), value.clone().into());
    let changes: Vec<Change> = variables.iter().map(set).collect();
    let empty = Data::new(vec![0; bytes.checked_sub(4)?])?;
    let data = empty.with(&changes).ok()?;
    let mut all = crc32fast::hash(data.bytes()).to_le_bytes().to_vec();
    all.extend_from_slice(data.bytes());
    Some(all)
}

/// The length of a legacy image's header.
const HEADER_BYTES: usize = 64;
const MAGIC: u32 = 0x2705_1956;

/// What a legacy image holds, with the numbers of U-Boot's `include/image.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A kernel, to be put at this address and entered there.
    Kernel(u64),
    /// A RAM disk, to be put where U-Boot finds room.
    RamDisk,
}

/// A legacy image: U-Boot's header of 64 bytes, all numbers big-endian, then the
/// content. QEMU starts such a kernel too.
#[must_use]
pub fn legacy_image(arch: ArmArch, kind: Kind, content: &[u8]) -> Vec<u8> {
    const OS_LINUX: u8 = 5;
    const UNCOMPRESSED: u8 = 0;
    let processor = match arch {
        ArmArch::Armhf => 2,
        ArmArch::Arm64 => 22,
    };
    let (number, load) = match kind {
        Kind::Kernel(address) => (2, u32::try_from(address).unwrap_or(0)),
        Kind::RamDisk => (3, 0),
    };
    let mut header = Vec::with_capacity(HEADER_BYTES + content.len());
    let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
    let checksum = crc32fast::hash(content);
    for word in [MAGIC, 0, IMAGE_TIME, length, load, load, checksum] {
        header.extend_from_slice(&word.to_be_bytes());
    }
    header.extend_from_slice(&[OS_LINUX, processor, number, UNCOMPRESSED]);
    header.resize(HEADER_BYTES, 0);
    // The header's own checksum is of the header with zeros in its place.
    let own = crc32fast::hash(&header).to_be_bytes();
    if let Some(place) = header.get_mut(4..8) {
        place.copy_from_slice(&own);
    }
    header.extend_from_slice(content);
    header
}

#[cfg(test)]
#[allow(clippy::print_stderr, reason = "a test says what it skips")]
mod tests {
    use super::{BYTES, Contents, ENVIRONMENT_BYTES, Kind, legacy_image};
    use crate::experiment::ArmArch;
    use std::collections::BTreeMap;
    use std::path::Path;
    use std::process::Command;

    fn contents<'a>(
        kernel: &'a [u8],
        variables: &'a BTreeMap<String, Option<String>>,
    ) -> Contents<'a> {
        Contents {
            arch: ArmArch::Armhf,
            memory_mb: 1024,
            cmdline: "console=ttyAMA0 quiet",
            variables,
            kernel,
            initramfs: b"070701",
        }
    }

    #[test]
    fn the_environment_holds_the_lab_s_variables_and_the_user_s() {
        let own = BTreeMap::from([
            ("bootdelay".to_owned(), Some("2".to_owned())),
            ("verify".to_owned(), Some("no".to_owned())),
            ("fdt_addr".to_owned(), None),
        ]);
        let environment = contents(b"zImage", &own).environment();
        assert_eq!(environment["bootdelay"], "2");
        assert_eq!(environment["verify"], "no");
        assert_eq!(environment["kernel_addr"], "0x4080000");
        assert_eq!(environment["ramdisk_addr"], "0x40c0000");
        assert_eq!(environment["bootm_size"], "0x2f000000");
        assert!(!environment.contains_key("fdt_addr"));
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let none = BTreeMap::new();
        let kernel = vec![0; BYTES];
        let said = contents(&kernel, &none).image(Path::new("k")).unwrap_err();
        assert!(said.to_string().starts_with("k: the kernel does not fit"));
        let long = BTreeMap::from([("x".to_owned(), Some("y".repeat(ENVIRONMENT_BYTES)))]);
        let said = contents(b"", &long).image(Path::new("k")).unwrap_err();
        assert!(said.to_string().contains("the environment does not fit"));
    }

    /// The tools that own the formats.
    #[test]
    fn u_boots_own_tools_make_the_same_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let run = |program: &str, words: &[&str]| {
            let done = Command::new(program)
                .args(words)
                .env("SOURCE_DATE_EPOCH", "1767225600")
                .output();
            match done {
                Ok(done) => {
                    assert!(done.status.success(), "{program}: {done:?}");
                    true
                }
                Err(_) => false,
            }
        };
        let kernel: Vec<u8> = (0..5000_u32).map(|i| (i % 251) as u8).collect();
        std::fs::write(at("kernel"), &kernel).unwrap();
        let words = [
            "-A",
            "arm64",
            "-O",
            "linux",
            "-T",
            "kernel",
            "-C",
            "none",
            "-a",
            "0x44000000",
            "-e",
            "0x44000000",
            "-n",
            "",
            "-d",
            &at("kernel"),
            &at("image"),
        ];
        if !run("mkimage", &words) {
            eprintln!("skipped: mkimage is not there (u-boot-tools)");
            return;
        }
        let theirs = std::fs::read(at("image")).unwrap();
        assert_eq!(
            legacy_image(ArmArch::Arm64, Kind::Kernel(0x4400_0000), &kernel),
            theirs
        );

        let none = BTreeMap::new();
        let contents = contents(&kernel, &none);
        let lines: Vec<_> = contents.environment().into_iter().collect();
        let text: String = lines.iter().map(|(n, v)| format!("{n}={v}\n")).collect();
        std::fs::write(at("text"), text).unwrap();
        let size = ENVIRONMENT_BYTES.to_string();
        let words = ["-s", &size, "-p", "0", "-o", &at("env"), &at("text")];
        assert!(run("mkenvimage", &words));
        let theirs = std::fs::read(at("env")).unwrap();
        let flash = contents.image(Path::new("k")).unwrap();
        assert!(flash.starts_with(&theirs));
    }
}
