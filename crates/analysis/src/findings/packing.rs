//! Ways to compress kernels and archives: what they leave, and what decompressing takes.

use super::view::{Arm, View};
use crate::system::{ImageFact, ImageKind};

/// A way to pack: its name, what it makes of a hundred bytes of kernel, and the
/// instructions that unpacking a byte takes, on x86 and on 32-bit ARM.
///
/// Sizes are those of x86 and ARM kernels of Debian 12. Instructions were counted
/// in the exact lab: for xz on x86, and on an ARM926 for all but zstd and bzip2
/// (`lab classics kernel-compression`); the others are scaled from the speeds that
/// their authors publish.
pub(super) struct Packing {
    pub name: &'static str,
    hundredths: u64,
    x86: u64,
    arm: u64,
}

pub(super) const PACKINGS: [Packing; 8] = [
    Packing::new("none", 100, 1, 1),
    Packing::new("lz4", 36, 5, 5),
    Packing::new("lzo", 33, 9, 10),
    Packing::new("zstd", 24, 16, 25),
    Packing::new("gzip", 28, 25, 17),
    Packing::new("lzma", 21, 80, 136),
    Packing::new("xz", 20, 68, 107),
    Packing::new("bzip2", 26, 140, 200),
];

/// What unpacking a byte with lz4 takes on a processor that reads words only
/// where they are aligned: it is read byte by byte.
const LZ4_ALIGNED: u64 = 18;

impl Packing {
    const fn new(name: &'static str, hundredths: u64, x86: u64, arm: u64) -> Self {
        Self {
            name,
            hundredths,
            x86,
            arm,
        }
    }

    pub fn named(name: &str) -> Option<&'static Self> {
        PACKINGS.iter().find(|p| name.starts_with(p.name))
    }

    /// What it makes of a hundred bytes.
    pub fn hundredths(&self) -> u64 {
        self.hundredths
    }

    /// The instructions that unpacking a byte takes on the processor of this boot.
    pub fn work(&self, view: &View<'_>) -> u64 {
        match view.arm() {
            Some(Arm { aligned: true }) if self.name == "lz4" => LZ4_ALIGNED,
            Some(_) => self.arm,
            None => self.x86,
        }
    }
}

/// The instructions that unpacking the first kernel among the images takes, and its image.
pub(super) fn work_of_kernel<'a>(view: &'a View<'_>) -> Option<(u64, &'a ImageFact)> {
    view.system.images.iter().find_map(|image| {
        let ImageKind::Kernel {
            compression,
            unpacked,
            ..
        } = &image.what
        else {
            return None;
        };
        let packing = Packing::named(compression)?;
        Some((unpacked.saturating_mul(packing.work(view)), image))
    })
}
