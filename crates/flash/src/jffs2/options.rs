//! How an image gets its summaries.

use rawimage::endian::Endian;

/// Which rules to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing comes back to life, nothing is dropped in silence, and a wrong
    /// erase size is refused.
    Safe,
    /// Byte for byte what `sumtool` 2.1.5 to 2.3.1 writes.
    Compatible,
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
