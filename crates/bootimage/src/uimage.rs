//! Legacy images of U-Boot: a header of 64 bytes, and data.
//!
//! All numbers are big-endian. Source: U-Boot's `include/image.h`, `boot/image.c`
//! and `cmd/bootm.c`.

use rawimage::Compression;
use rawimage::bytes::{Part, be32, text};
use std::fmt;
use std::io;

/// The first bytes.
pub const MAGIC: [u8; 4] = [0x27, 0x05, 0x19, 0x56];
/// The length of the header, bytes.
pub const HEADER: u64 = 64;

/// More parts of a multi-file image are not listed.
const MOST_PARTS: usize = 64;

/// A legacy image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uimage {
    /// What it says of itself.
    pub name: String,
    /// When it was made, seconds since 1970.
    pub time: u32,
    /// The length of its data, bytes.
    pub size: u32,
    /// Where its data goes in memory.
    pub load: u32,
    /// Where it is entered.
    pub entry: u32,
    /// The system that it belongs to, and what it is.
    pub os: u8,
    /// The processor that it is for.
    pub arch: u8,
    /// What kind of thing it is.
    pub kind: u8,
    /// How its data is compressed, as U-Boot numbers it.
    pub compression: u8,
    /// Whether the header's checksum is right.
    pub header_is_right: bool,
    /// Whether the data's checksum is right; `None` if data is missing.
    pub data_is_right: Option<bool>,
    /// The parts of a multi-file image: first byte in the image, and length.
    pub parts: Vec<(u64, u64)>,
}

/// Names of systems, by number.
const OS: &[(u8, &str)] = &[
    (0, "invalid"),
    (1, "openbsd"),
    (2, "netbsd"),
    (3, "freebsd"),
    (4, "4_4bsd"),
    (5, "linux"),
    (6, "svr4"),
    (7, "esix"),
    (8, "solaris"),
    (9, "irix"),
    (10, "sco"),
    (11, "dell"),
    (12, "ncr"),
    (13, "lynxos"),
    (14, "vxworks"),
    (15, "psos"),
    (16, "qnx"),
    (17, "u-boot"),
    (18, "rtems"),
    (19, "artos"),
    (20, "unity"),
    (21, "integrity"),
    (22, "ose"),
    (23, "plan9"),
    (24, "openrtos"),
    (25, "arm-trusted-firmware"),
    (26, "tee"),
    (27, "opensbi"),
    (28, "efi"),
];

/// Names of processors, by number.
const ARCH: &[(u8, &str)] = &[
    (0, "invalid"),
    (1, "alpha"),
    (2, "arm"),
    (3, "x86"),
    (4, "ia64"),
    (5, "mips"),
    (6, "mips64"),
    (7, "powerpc"),
    (8, "s390"),
    (9, "sh"),
    (10, "sparc"),
    (11, "sparc64"),
    (12, "m68k"),
    (13, "nios"),
    (14, "microblaze"),
    (15, "nios2"),
    (16, "blackfin"),
    (17, "avr32"),
    (18, "st200"),
    (19, "sandbox"),
    (20, "nds32"),
    (21, "or1k"),
    (22, "arm64"),
    (23, "arc"),
    (24, "x86_64"),
    (25, "xtensa"),
    (26, "riscv"),
];

/// Names of kinds, by number.
const KIND: &[(u8, &str)] = &[
    (0, "invalid"),
    (1, "standalone"),
    (2, "kernel"),
    (3, "ramdisk"),
    (4, "multi"),
    (5, "firmware"),
    (6, "script"),
    (7, "filesystem"),
    (8, "flat_dt"),
    (9, "kwbimage"),
    (10, "imximage"),
    (11, "ublimage"),
    (12, "omapimage"),
    (13, "aisimage"),
    (14, "kernel_noload"),
    (15, "pblimage"),
    (16, "mxsimage"),
    (17, "gpimage"),
    (18, "atmelimage"),
    (19, "socfpgaimage"),
    (20, "x86_setup"),
    (21, "lpc32xximage"),
    (22, "loadable"),
];

/// The kinds that matter here.
mod kind {
    pub(super) const KERNEL: u8 = 2;
    pub(super) const MULTI: u8 = 4;
    pub(super) const SCRIPT: u8 = 6;
    pub(super) const KERNEL_NOLOAD: u8 = 14;
}

fn name_of(table: &[(u8, &'static str)], number: u8) -> String {
    let known = table.iter().find(|(n, _)| *n == number);
    known.map_or_else(
        || format!("unknown ({number})"),
        |(_, name)| (*name).to_owned(),
    )
}

impl Uimage {
    /// The system's name.
    #[must_use]
    pub fn os(&self) -> String {
        name_of(OS, self.os)
    }

    /// The processor's name.
    #[must_use]
    pub fn arch(&self) -> String {
        name_of(ARCH, self.arch)
    }

    /// The kind's name.
    #[must_use]
    pub fn kind(&self) -> String {
        name_of(KIND, self.kind)
    }

    /// How U-Boot unpacks the data; `None` if the number is not known.
    #[must_use]
    pub fn compression(&self) -> Option<Compression> {
        Some(match self.compression {
            0 => Compression::None,
            1 => Compression::Gzip,
            2 => Compression::Bzip2,
            3 => Compression::Lzma,
            4 => Compression::Lzo,
            5 => Compression::Lz4Frame,
            6 => Compression::Zstd,
            _ => return None,
        })
    }

    /// Whether its data is a list of parts.
    #[must_use]
    pub fn is_multi(&self) -> bool {
        matches!(self.kind, kind::MULTI | kind::SCRIPT)
    }

    /// Where to load the file so that U-Boot does not move the kernel.
    #[must_use]
    pub fn xip(&self) -> Xip {
        if !matches!(self.kind, kind::KERNEL | kind::KERNEL_NOLOAD | kind::MULTI) {
            return Xip::NotAKernel;
        }
        if self.compression != 0 {
            return Xip::Compressed;
        }
        if self.kind == kind::KERNEL_NOLOAD {
            return Xip::NeverMoved;
        }
        let before = match self.parts.first() {
            Some((first, _)) if self.is_multi() => *first,
            _ => HEADER,
        };
        let before = u32::try_from(before).unwrap_or(u32::MAX);
        match self.load.checked_sub(before) {
            Some(address) => Xip::At { address },
            None => Xip::TooLow,
        }
    }
}

/// Whether U-Boot can start a kernel where it was loaded. It can if the data
/// lies at its load address already: then it prints `XIP`, and moves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Xip {
    /// If the file is loaded to this address.
    At {
        /// The address of the file's first byte.
        address: u32,
    },
    /// The data is unpacked to its place, wherever it lies.
    Compressed,
    /// It is started wherever it lies: its type is `kernel_noload`.
    NeverMoved,
    /// Its load address is so low that there is no room for the header before it.
    TooLow,
    /// It is not a kernel.
    NotAKernel,
}

impl fmt::Display for Xip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At { address } => write!(
                f,
                "load the file to {address:#010x} and run `bootm {address:#010x}`; the kernel is \
                 then at its load address, and U-Boot prints XIP and copies nothing"
            ),
            Self::Compressed => write!(
                f,
                "U-Boot decompresses it to its load address, so there is no copy to avoid"
            ),
            Self::NeverMoved => write!(f, "U-Boot starts it wherever it is loaded"),
            Self::TooLow => write!(
                f,
                "its load address leaves no room for the header before it, so U-Boot copies the \
                 kernel"
            ),
            Self::NotAKernel => write!(f, "it is not a kernel"),
        }
    }
}

/// Reads the legacy image that `part` begins with; `None` if it is none.
///
/// # Errors
/// What reading says.
pub fn read(part: &Part<'_>) -> io::Result<Option<Uimage>> {
    let header = part.read(0, 64)?;
    if !header.starts_with(&MAGIC) {
        return Ok(None);
    }
    let field = |at: usize| be32(&header, at);
    let byte = |at: usize| header.get(at).copied();
    let fields = (|| {
        let numbers = (
            field(4)?,
            field(8)?,
            field(12)?,
            field(16)?,
            field(20)?,
            field(24)?,
        );
        let bytes = (byte(28)?, byte(29)?, byte(30)?, byte(31)?);
        Some((numbers, bytes, header.get(32..64)?))
    })();
    let Some(((header_sum, time, size, load, entry, data_sum), kinds, name)) = fields else {
        return Ok(None);
    };
    let mut zeroed = header.clone();
    if let Some(sum) = zeroed.get_mut(4..8) {
        sum.fill(0);
    }
    let data = part.part(HEADER, u64::from(size));
    let whole = data.len() == u64::from(size);
    let data_is_right = match whole {
        true => Some(checksum(&data)? == data_sum),
        false => None,
    };
    let (os, arch, kind, compression) = kinds;
    let mut image = Uimage {
        name: text(name),
        time,
        size,
        load,
        entry,
        os,
        arch,
        kind,
        compression,
        header_is_right: crc32fast::hash(&zeroed) == header_sum,
        data_is_right,
        parts: Vec::new(),
    };
    if image.is_multi() {
        image.parts = parts(&data)?;
    }
    Ok(Some(image))
}

fn checksum(data: &Part<'_>) -> io::Result<u32> {
    let mut sum = crc32fast::Hasher::new();
    let mut at = 0;
    while at < data.len() {
        let piece = data.read(at, 1 << 20)?;
        sum.update(&piece);
        at += piece.len() as u64;
    }
    Ok(sum.finalize())
}

/// Lengths, up to a zero; then the parts, each padded to 4 bytes.
fn parts(data: &Part<'_>) -> io::Result<Vec<(u64, u64)>> {
    let list = data.read(0, 4 * (MOST_PARTS + 1))?;
    let lengths: Vec<u32> = (0..MOST_PARTS)
        .map_while(|i| be32(&list, i * 4))
        .take_while(|n| *n != 0)
        .collect();
    let mut at = HEADER + 4 * (lengths.len() as u64 + 1);
    let mut parts = Vec::new();
    for length in lengths.into_iter().map(u64::from) {
        parts.push((at, length));
        at += length.next_multiple_of(4);
    }
    Ok(parts)
}
