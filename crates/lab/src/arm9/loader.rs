//! The loader of the machine `arm9`, which brings kernel and RAM disk out of NAND
//! flash as U-Boot does.
//!
//! The board has no NAND, and no U-Boot of today runs on it. So a program of 264
//! bytes (`loader.S`) does the work that U-Boot would: it waits as a device would for
//! each page, copies it, sums up every byte, moves the images and writes its lines at
//! the pace of a serial line, all by instructions of the machine, in its virtual time.
//! What it does is told by U-Boot's variables. The bytes come from the board's flash,
//! which stands for the NAND; that the emulator has kernel and RAM disk in their places
//! already changes nothing, for the loader writes the same bytes over them.

mod program;

use super::board::{BOOTCMD, PARTITIONS};
use crate::arm_virt::{Kind, legacy_image};
use crate::error::LabError;
use crate::experiment::ArmArch;
use std::collections::BTreeMap;
use std::path::Path;

/// Where it lies in memory, in bytes from the start: behind the largest kernel, and
/// before what it reads into.
pub const AT: u32 = 15 << 20;

/// Where images are read to: from the first of these addresses to before the second.
/// The RAM disk goes behind that at the end, since the emulator puts it into the middle
/// of a memory of 64 MiB or more.
const STAGE: (u32, u32) = (16 << 20, 32 << 20);

/// A page of the flash, in bytes, how long it takes until it can be read, and each of
/// its bytes, in nanoseconds: the figures of the kernel's own simulator of NAND
/// (`drivers/mtd/nand/raw/nandsim.c`, `access_delay` and `output_cycle`).
const PAGE: u32 = 2048;
const PAGE_NS: u64 = 25_000;
const BYTE_NS: u64 = 40;

/// Where the processor sees the board's flash (`hw/arm/versatilepb.c`).
const FLASH: u32 = 0x3400_0000;

/// The data register of the board's first serial port, a PL011.
pub const UART_DATA: u64 = 0x101f_1000;

/// The length of a legacy image's header, in bytes.
pub const HEADER_BYTES: u32 = 64;

/// The erased state of flash.
pub const ERASED: u8 = 0xff;

/// Where the contents of kernel and RAM disk lie in the flash, behind their headers.
pub fn content_at() -> [usize; 2] {
    PARTITIONS.map(|(_, at, _)| (at + HEADER_BYTES) as usize)
}

/// Where the emulator puts the RAM disk in a memory of so many bytes (`hw/arm/boot.c`):
/// into the middle of it, and not beyond 128 MiB.
pub fn ramdisk_at(memory: u64) -> u32 {
    u32::try_from((memory / 2).min(128 << 20)).unwrap_or(0)
}

/// What is booted, and how.
#[derive(Clone, Copy, Debug)]
pub struct Loading<'a> {
    /// Variables beyond the lab's own, or instead of them; `None`: without it.
    pub variables: &'a BTreeMap<String, Option<String>>,
    /// The kernel and its address.
    pub kernel: (&'a [u8], u32),
    /// The initramfs and its address.
    pub initramfs: (&'a [u8], u32),
    /// The machine's memory, in MiB.
    pub memory_mb: u32,
    /// How long an instruction takes, in nanoseconds.
    pub instruction_ns: u64,
}

/// What the loader does, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Enter(u32),
    Print(String),
    Wait(u64),
    Read {
        from: u32,
        to: u32,
        pages: u32,
    },
    /// If the CRC-32 is not this one, it says so and stays there.
    Sum {
        at: u32,
        bytes: u32,
        expected: u32,
    },
    Copy {
        from: u32,
        to: u32,
        bytes: u32,
    },
}

/// An image in one of the partitions.
struct Image {
    /// With its header.
    bytes: Vec<u8>,
    /// Where it has to lie.
    to: u32,
    /// What U-Boot calls it.
    kind: &'static str,
}

impl Image {
    /// All but the header; `legacy_image` gives it less than 4 GiB.
    fn content_bytes(&self) -> u32 {
        u32::try_from(self.bytes.len()).unwrap_or(u32::MAX) - HEADER_BYTES
    }

    fn checksum(&self) -> u32 {
        let content = self.bytes.get(HEADER_BYTES as usize..).unwrap_or_default();
        crc32fast::hash(content)
    }

    /// What U-Boot says of an image before it starts it.
    fn described(&self) -> String {
        let bytes = self.content_bytes();
        let tenths = u64::from(bytes) * 10 / (1 << 20);
        let to = if self.kind.contains("Kernel") {
            self.to
        } else {
            0
        };
        format!(
            "   Image Name:   \n   Created:      2026-01-01   0:00:00 UTC\n   Image Type:   ARM Linux {} Image (uncompressed)\n   \
             Data Size:    {bytes} Bytes = {}.{} MiB\n   Load Address: {to:08x}\n   \
             Entry Point:  {to:08x}\n",
            self.kind,
            tenths / 10,
            tenths % 10,
        )
    }
}

impl Loading<'_> {
    fn images(&self) -> [Image; 2] {
        // The loader copies pairs of words.
        let padded = |bytes: &[u8]| {
            let mut all = bytes.to_vec();
            all.resize(bytes.len().next_multiple_of(8), 0);
            all
        };
        let (kernel, to) = self.kernel;
        let (initramfs, ramdisk_to) = self.initramfs;
        let arch = ArmArch::Armhf;
        let kind = Kind::Kernel(to.into());
        [
            Image {
                bytes: legacy_image(arch, kind, &padded(kernel)),
                to,
                kind: "Kernel",
            },
            Image {
                bytes: legacy_image(arch, Kind::RamDisk, &padded(initramfs)),
                to: ramdisk_to,
                kind: "RAMDisk",
            },
        ]
    }

    /// What the flash holds: each image in its partition, the rest erased.
    ///
    /// # Errors
    /// If an image is larger than its partition.
    pub fn flash(&self, bytes: u64) -> Result<Vec<u8>, LabError> {
        let mut flash = vec![ERASED; usize::try_from(bytes).unwrap_or(0)];
        for ((name, at, most), image) in PARTITIONS.iter().zip(self.images()) {
            let at = *at as usize;
            let room = flash.get_mut(at..at + image.bytes.len());
            match room.filter(|_| image.bytes.len() <= *most as usize) {
                Some(room) => room.copy_from_slice(&image.bytes),
                None => {
                    return Err(wrong(&format!(
                        "the {name} has {} bytes with its header, but its partition has {most}; \
                         make it smaller",
                        image.bytes.len()
                    )));
                }
            }
        }
        Ok(flash)
    }

    /// The variables of the environment.
    fn environment(&self) -> BTreeMap<String, String> {
        let [kernel, ramdisk] = self.images();
        let hex = |n: u64| format!("{n:#x}");
        let mut all = BTreeMap::from([
            ("kernel_addr".to_owned(), hex(STAGE.0.into())),
            ("ramdisk_addr".to_owned(), hex(24 << 20)),
            // What whoever writes an image to the flash would note there.
            ("kernel_size".to_owned(), hex(kernel.bytes.len() as u64)),
            ("ramdisk_size".to_owned(), hex(ramdisk.bytes.len() as u64)),
            // Where the kernel need not be moved any more.
            (
                "kernel_in_place".to_owned(),
                hex(kernel.to.saturating_sub(HEADER_BYTES).into()),
            ),
            ("bootcmd".to_owned(), BOOTCMD.to_owned()),
            // The usual value of `CONFIG_BOOTDELAY` when such boards were new.
            ("bootdelay".to_owned(), "3".to_owned()),
            ("baudrate".to_owned(), "115200".to_owned()),
        ]);
        for (name, value) in self.variables {
            match value {
                Some(value) => all.insert(name.clone(), value.clone()),
                None => all.remove(name),
            };
        }
        all
    }

    /// What the loader does by its environment.
    fn steps(&self, environment: &BTreeMap<String, String>) -> Result<Vec<Step>, LabError> {
        let mut steps = vec![Step::Print(format!(
            "\n\nLoader of the lab, after U-Boot\n\nDRAM:  {} MiB\nNAND:  64 MiB\nIn:    serial\n\
             Out:   serial\nErr:   serial\n",
            self.memory_mb
        ))];
        let delay = match environment.get("bootdelay") {
            Some(text) => text
                .trim()
                .parse::<i32>()
                .ok()
                .filter(|d| (0..=60).contains(d) || *d == -2),
            None => Some(0),
        };
        let Some(delay) = delay else {
            return Err(wrong("invalid `bootdelay`; write 0 to 60 seconds or -2"));
        };
        if delay >= 0 {
            steps.push(Step::Print(format!(
                "Hit any key to stop autoboot: {delay:>2} "
            )));
            for left in (0..delay).rev() {
                steps.push(Step::Wait(1_000_000_000));
                steps.push(Step::Print(format!("\u{8}\u{8}\u{8}{left:>2} ")));
            }
            steps.push(Step::Print("\n".to_owned()));
        }
        let Some(bootcmd) = environment.get("bootcmd") else {
            return Err(wrong("`bootcmd` is missing; add it to `environment`"));
        };
        for command in bootcmd.split(';') {
            let command = expanded(command, environment);
            let words: Vec<&str> = command.split_whitespace().collect();
            match words[..] {
                [] => {}
                ["nand", "read", to, partition] => {
                    let read = self.read(to, partition, None)?;
                    not_over_another(&steps, &read)?;
                    steps.extend(read);
                }
                ["nand", "read", to, partition, size] => {
                    let read = self.read(to, partition, Some(size))?;
                    not_over_another(&steps, &read)?;
                    steps.extend(read);
                }
                ["bootm", kernel, ramdisk] => {
                    let verify = environment.get("verify");
                    let verify = verify.is_none_or(|v| v.starts_with(['1', 'y', 'Y', 't', 'T']));
                    steps.extend(self.start([kernel, ramdisk], verify)?);
                    return Ok(steps);
                }
                _ => {
                    return Err(wrong(&format!(
                        "`bootcmd` contains `{}`; write `nand read ADDRESS kernel|ramdisk [SIZE]` \
                         and end with `bootm KERNEL RAMDISK`, with variables as `${{name}}`",
                        words.join(" ")
                    )));
                }
            }
        }
        Err(wrong(
            "`bootcmd` does not end with `bootm KERNEL RAMDISK`; add it; add it",
        ))
    }

    /// `nand read`.
    fn read(&self, to: &str, partition: &str, size: Option<&str>) -> Result<[Step; 3], LabError> {
        // By its name, or by its first byte.
        let mut all = PARTITIONS.iter();
        let found = all.find(|p| p.0 == partition || number(partition) == Some(p.1));
        let Some((partition, at, most)) = found.copied() else {
            return Err(wrong(&format!(
                "unknown flash partition `{partition}`; write `kernel`, `ramdisk`, or where one \
                 begins: {}",
                PARTITIONS.map(|p| format!("{:#x}", p.1)).join(" or ")
            )));
        };
        let size = size.map_or(Some(most), number);
        let Some(size) = size.filter(|s| (1..=most).contains(s)) else {
            return Err(wrong(&format!(
                "invalid read size; write a hexadecimal size from 1 to {most:#x}"
            )));
        };
        let pages = size.div_ceil(PAGE);
        let to = self.place(to, partition, pages * PAGE)?;
        Ok([
            Step::Print(format!(
                "\nNAND read: device 0 offset {at:#x}, size {size:#x}\n"
            )),
            Step::Read {
                from: FLASH + at,
                to,
                pages,
            },
            Step::Print(format!(" {size} bytes read: OK\n")),
        ])
    }

    /// An address that may be read to; that at which nothing has to be moved any more is
    /// the kernel's alone.
    fn place(&self, text: &str, partition: &str, bytes: u32) -> Result<u32, LabError> {
        let in_place = self.kernel.1.saturating_sub(HEADER_BYTES);
        let last = STAGE.1.saturating_sub(bytes);
        let fits = |at: &u32| match *at {
            at if at == in_place => partition == "kernel" && at.saturating_add(bytes) <= AT,
            at => at >= STAGE.0 && at <= last && at.is_multiple_of(4),
        };
        number(text).filter(fits).ok_or_else(|| {
            wrong(&format!(
                "impossible load address `{text}` for {bytes} bytes; write {:#x} to {:#x}, or \
                 {in_place:#x} to run the kernel in place",
                STAGE.0, last
            ))
        })
    }

    /// `bootm`.
    fn start(&self, at: [&str; 2], verify: bool) -> Result<Vec<Step>, LabError> {
        let [kernel, ramdisk] = self.images();
        let mut places = Vec::new();
        for (text, image) in at.into_iter().zip([&kernel, &ramdisk]) {
            let bytes = image.content_bytes() + HEADER_BYTES;
            let partition = if image.kind == "Kernel" {
                "kernel"
            } else {
                "ramdisk"
            };
            places.push(self.place(text, partition, bytes)?);
        }
        let mut steps = Vec::new();
        let titles = ["Booting kernel", "Loading init Ramdisk"];
        for ((image, at), title) in [&kernel, &ramdisk].into_iter().zip(&places).zip(titles) {
            steps.push(Step::Print(format!(
                "## {title} from Legacy Image at {at:08x} ...\n{}",
                image.described()
            )));
            if verify {
                steps.push(Step::Print("   Verifying Checksum ... ".to_owned()));
                steps.push(Step::Sum {
                    at: at + HEADER_BYTES,
                    bytes: image.content_bytes(),
                    expected: image.checksum(),
                });
                steps.push(Step::Print("OK\n".to_owned()));
            }
        }
        for (image, at) in [&kernel, &ramdisk].into_iter().zip(&places) {
            let (from, bytes) = (at + HEADER_BYTES, image.content_bytes());
            let said = match image.kind {
                "Kernel" if from == image.to => "   XIP Kernel Image\n".to_owned(),
                "Kernel" => "   Loading Kernel Image\n".to_owned(),
                _ => format!(
                    "   Loading Ramdisk to {:08x}, end {:08x} ... ",
                    image.to,
                    image.to.saturating_add(bytes)
                ),
            };
            steps.push(Step::Print(said));
            if from != image.to {
                let to = image.to;
                steps.push(Step::Copy { from, to, bytes });
            }
        }
        steps.push(Step::Print("OK\n\nStarting kernel ...\n\n".to_owned()));
        // There the emulator has put what hands the device tree to the kernel.
        steps.push(Step::Enter(0));
        Ok(steps)
    }
}

/// Refuses a read that writes over what one of `before` brought: its image would be
/// damaged, and the loader would stay at its checksum. The same place may be read to
/// again from the same partition.
fn not_over_another(before: &[Step], read: &[Step]) -> Result<(), LabError> {
    let place = |step: &Step| match step {
        Step::Read { from, to, pages } => Some((*from, *to, to.saturating_add(pages * PAGE))),
        _ => None,
    };
    let earlier: Vec<_> = before.iter().filter_map(place).collect();
    for (from, to, end) in read.iter().filter_map(place) {
        let is_over = |e: &&(u32, u32, u32)| to < e.2 && e.1 < end && (e.0, e.1) != (from, to);
        if let Some((_, first, last)) = earlier.iter().find(is_over) {
            return Err(wrong(&format!(
                "`bootcmd` reads to {to:#x}..{end:#x}, which overlaps the earlier read to \
                 {first:#x}..{last:#x}; use another address or a smaller size"
            )));
        }
    }
    Ok(())
}

/// A command with its variables in place. One that is not there is nothing.
fn expanded(command: &str, environment: &BTreeMap<String, String>) -> String {
    let mut text = String::new();
    let mut rest = command;
    while let Some((before, behind)) = rest.split_once("${") {
        text.push_str(before);
        let Some((name, after)) = behind.split_once('}') else {
            rest = behind;
            break;
        };
        text.push_str(environment.get(name).map_or("", String::as_str));
        rest = after;
    }
    text + rest
}

/// U-Boot reads addresses and sizes as hexadecimal, with `0x` or without.
fn number(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}

fn wrong(why: &str) -> LabError {
    LabError::Kernel {
        path: Path::new("the loader of arm9").to_owned(),
        why: why.to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::print_stderr, reason = "a test says what it skips")]
mod tests;
