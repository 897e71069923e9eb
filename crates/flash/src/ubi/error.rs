//! What can go wrong.

use std::io;

/// Why an image cannot be worked on. Damage in an image is not an error: it is
/// told in the result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Reading failed.
    #[error("{length} bytes at byte {offset} could not be read: {source}")]
    Read {
        /// Where in the image.
        offset: u64,
        /// How many bytes.
        length: usize,
        /// Why.
        source: io::Error,
    },
    /// Its length could not be found out.
    #[error("its length could not be found out: {0}")]
    Length(#[source] io::Error),
    /// Writing failed.
    #[error("the result could not be written: {0}")]
    Write(#[source] io::Error),
    /// There is no erase counter header in it.
    #[error("no UBI header in {length} bytes{}", looks_like(.found))]
    NotUbi {
        /// The image's length, or that of the part that was searched.
        length: u64,
        /// What it looks like.
        found: Option<&'static str>,
    },
    /// The erase size was not given, and the image does not show it.
    #[error("the image does not show its erase size: give it (it is that of the flash chip)")]
    UnknownEraseSize,
    /// The erase size cannot be one.
    #[error(
        "an erase size of {given} bytes is not possible for this image: expected at least \
         {least} bytes, where its data begins, and at most 16 MiB"
    )]
    ImpossibleEraseSize {
        /// What was given or found.
        given: u32,
        /// What is needed.
        least: u32,
    },
    /// There are more blocks than can be worked with.
    #[error(
        "{blocks} erase blocks are more than the {} that are supported",
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
    #[error("there is no volume `{wanted}`; there are: {there}")]
    NoSuchVolume {
        /// What was asked for.
        wanted: String,
        /// The names that there are.
        there: String,
    },
    /// No volume table can be used.
    #[error("the volume table cannot be used: {0}")]
    NoTable(String),
    /// The volume has no checksum.
    #[error(
        "the volume `{0}` is dynamic: the kernel does not check those, so that there is nothing \
         to skip"
    )]
    NotStatic(String),
    /// The dump has spare bytes.
    #[error(
        "the dump has spare bytes, with error correction that would not fit changed data: \
         take a dump without them"
    )]
    SpareBytes,
}

fn looks_like(found: &Option<&'static str>) -> String {
    found.map_or(String::new(), |name| format!(": it looks like {name}"))
}
