//! How an image gets its summaries.

use super::detect::{self, Evidence};
use super::error::Error;
use crate::transfer::TransferError;
use rawimage::ReadAt;
use rawimage::endian::Endian;

/// The erase size of `sumtool` where none is given, bytes.
const SUMTOOL_ERASE_SIZE: u32 = 65_536;

/// Which rules to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing comes back to life, nothing is dropped in silence, and a wrong
    /// erase size is refused.
    Safe,
    /// Byte for byte what `sumtool` 2.1.5 to 2.3.1 writes.
    Compatible,
}

impl Mode {
    /// The erase size where none is given, bytes: what the image shows, or 64 KiB as
    /// with `sumtool`.
    ///
    /// # Errors
    /// The image does not show it; or it shows that `sumtool` would take a wrong one,
    /// and leave out files; and what reading says.
    pub fn erase_size(self, image: &dyn ReadAt, endian: Endian) -> Result<u32, Error> {
        let found = detect::erase_size(image, endian).map_err(TransferError::Length)?;
        if self == Self::Safe {
            return Ok(found.ok_or(Error::UnknownEraseSize)?.bytes);
        }
        // That no node lies across some boundary is no contradiction.
        let shown = found.filter(|f| {
            f.bytes != SUMTOOL_ERASE_SIZE && !matches!(f.evidence, Evidence::Boundaries(_))
        });
        match shown {
            Some(found) => Err(Error::NotOfSumtool {
                default: SUMTOOL_ERASE_SIZE,
                found,
            }),
            None => Ok(SUMTOOL_ERASE_SIZE),
        }
    }
}

/// What stands at the front of each block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cleanmarkers {
    /// A clean marker of the size of the first one in the image, if it has any.
    AsFound,
    /// A clean marker of this size, in bytes.
    Sized(u32),
    /// Nothing: on NAND the marker is in the spare bytes.
    None,
}

/// How to do it.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Size of an erase block, bytes.
    pub erase_size: u32,
    /// Byte order of the image.
    pub endian: Endian,
    /// What stands at the front of each block.
    pub cleanmarkers: Cleanmarkers,
    /// Whether the last block is filled up with 0xff.
    pub pad: bool,
    /// Which rules to follow.
    pub mode: Mode,
}
