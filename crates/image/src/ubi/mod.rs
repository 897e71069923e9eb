//! UBI: logical volumes on raw flash.
//!
//! Each physical erase block begins with an erase counter, and, if it holds a
//! logical block, with the number of its volume and its place there. Attaching
//! a chip means reading these headers of all blocks, unless a fastmap, a copy
//! of what they say, is there and valid.
//!
//! - [`check`](fn@check): what the kernel would do with an image, why it would
//!   refuse it, and how long attaching takes;
//! - [`Volume`]: the bytes of one volume;
//! - [`skip_check`]: the flag that spares the checksum of a static volume.
//!
//! The rules are those of `drivers/mtd/ubi` of Linux 6.1.

mod blocks;
mod check;
pub mod cost;
mod device;
mod error;
pub mod fastmap;
pub mod header;
mod image;
mod layout;
mod problem;
mod skip;
pub mod table;
mod volume;

pub use blocks::{Blocks, Leb, State};
pub use check::{EraseCounters, Options, Report, VolumeReport, check, report};
pub use device::{Device, Misfit};
pub use error::Error;
pub use image::Image;
pub use layout::Layout;
pub use problem::{Problem, What};
pub use skip::{Skipped, skip_check};
pub use volume::{StaticCheck, Volume};

/// The number of the first internal volume.
pub const INTERNAL_VOLUMES: u32 = 0x7fff_efff;
/// The volume that holds the volume table.
pub const LAYOUT_VOLUME: u32 = INTERNAL_VOLUMES;
/// The volume that holds the first block of a fastmap.
pub const FASTMAP_ANCHOR: u32 = INTERNAL_VOLUMES + 1;
/// The volume that holds the other blocks of a fastmap.
pub const FASTMAP_DATA: u32 = INTERNAL_VOLUMES + 2;
/// How many volumes there can be.
pub const MOST_VOLUMES: u32 = 128;

/// The CRC-32 of UBI and UBIFS: that of zlib without its last step.
#[must_use]
pub fn crc(bytes: &[u8]) -> u32 {
    !crc32fast::hash(bytes)
}

/// [`crc`] of bytes that come piece by piece.
#[derive(Default)]
pub(crate) struct Crc(crc32fast::Hasher);

impl Crc {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> u32 {
        !self.0.finalize()
    }
}
