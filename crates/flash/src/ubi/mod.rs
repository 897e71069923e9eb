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
mod copy;
pub mod cost;
mod device;
mod error;
pub mod fastmap;
mod format;
pub mod header;
mod image;
mod layout;
mod options;
mod problem;
mod skip;
pub mod table;
mod volume;

pub use blocks::{Blocks, Leb, State};
pub use check::{EraseCounters, Report, VolumeReport, check, report};
pub use copy::{Copied, copy_volume};
pub use device::{Device, Misfit};
pub use error::Error;
pub use format::{
    FASTMAP_ANCHOR, FASTMAP_DATA, INTERNAL_VOLUMES, LAYOUT_VOLUME, MOST_VOLUMES, crc,
};
pub use image::Image;
pub use layout::Layout;
pub use options::Options;
pub use problem::{Problem, What};
pub use skip::{Skipped, skip_check};
pub use volume::{StaticCheck, Volume};
