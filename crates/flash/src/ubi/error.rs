//! What can go wrong.

use crate::transfer::{TransferError, looks_like};
use std::io;

/// Why an image cannot be worked on. Damage in an image is not an error: it is
/// told in the result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Reading or writing failed.
    #[error(transparent)]
    Transfer(#[from] TransferError),
    /// Reading a volume failed.
    #[error("cannot read byte {offset} of volume {volume}: {source}")]
    ReadVolume {
        /// Where in the volume.
        offset: u64,
        /// The volume's number.
        volume: u32,
        /// Why.
        source: io::Error,
    },
    /// There is no erase counter header in it.
    #[error("no UBI header in {length} bytes{}; pass a UBI image", looks_like(*.found))]
    NotUbi {
        /// The image's length, or that of the part that was searched.
        length: u64,
        /// What it looks like.
        found: Option<&'static str>,
    },
    /// The erase size was not given, and the image does not show it.
    #[error("cannot detect the erase block size; pass the one of the flash chip")]
    UnknownEraseSize,
    /// The erase size cannot be one.
    #[error(
        "an erase block size of {given} bytes is impossible for this image; pass at least {least} \
         bytes, where its data begins, and at most 16 MiB"
    )]
    ImpossibleEraseSize {
        /// What was given or found.
        given: u32,
        /// What is needed.
        least: u32,
    },
    /// There are more blocks than can be worked with.
    #[error(
        "the image has {blocks} erase blocks, but at most {} are supported; check the erase block \
         size",
        super::format::MOST_BLOCKS
    )]
    TooManyBlocks {
        /// How many.
        blocks: u64,
    },
    /// The device that was stated cannot be one.
    #[error("{0}")]
    ImpossibleDevice(&'static str),
    /// There is no such volume.
    #[error("no volume `{wanted}`; known volumes: {there}")]
    NoSuchVolume {
        /// What was asked for.
        wanted: String,
        /// The names that there are.
        there: String,
    },
    /// No volume table can be used.
    #[error("unusable volume table: {0}")]
    NoTable(String),
    /// The volume has no checksum.
    #[error(
        "volume `{0}` is dynamic, and the kernel does not check dynamic volumes; name a static \
         volume"
    )]
    NotStatic(String),
    /// The dump has spare bytes.
    #[error(
        "the dump contains spare bytes, and their error correction would not match changed data; \
         dump the chip without them (`nanddump --omitoob`)"
    )]
    SpareBytes,
}
