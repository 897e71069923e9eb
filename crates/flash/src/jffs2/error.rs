//! What can go wrong.

use super::erase_size::{EraseSize, Evidence};
use super::oob::Oob;
use rawimage::endian::Endian;
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
    Length(io::Error),
    /// Writing failed.
    #[error("the result could not be written: {0}")]
    Write(#[source] io::Error),
    /// There is no node in it.
    #[error("no JFFS2 node in {length} bytes, in either byte order{}", looks_like(.found))]
    NotJffs2 {
        /// The image's length.
        length: u64,
        /// What it looks like.
        found: Option<&'static str>,
    },
    /// The byte order contradicts the image.
    #[error("the image was said to be {given}-endian, but its nodes are {found}-endian")]
    WrongEndian {
        /// What was given.
        given: Endian,
        /// What the image shows.
        found: Endian,
    },
    /// The layout of the spare bytes cannot be one.
    #[error(
        "pages of {} bytes with {} spare bytes are not possible: \
         expected 256 to 65536, and less spare bytes than that", .0.page, .0.spare
    )]
    ImpossibleOob(Oob),
    /// The image is a dump with spare bytes, where none may be.
    #[error(
        "the image is a dump with {} spare bytes after each page of {} bytes, with error \
         correction that would not fit changed data: take a dump without them \
         (nanddump --omitoob)", .0.spare, .0.page
    )]
    SpareBytes(Oob),
    /// The erase size was not given, and the image does not show it.
    #[error("the image does not show its erase size: give it (it is that of the flash chip)")]
    UnknownEraseSize,
    /// The erase size cannot be one.
    #[error(
        "an erase size of {given} bytes is not possible: \
         expected a multiple of 4 from 8 KiB to 8 MiB"
    )]
    ImpossibleEraseSize {
        /// What was given.
        given: u32,
    },
    /// The erase size contradicts the image.
    #[error(
        "the erase size {given} contradicts the image, which was made for {} ({}): \
         the kernel would ignore every summary", .found.bytes, evidence(.found)
    )]
    WrongEraseSize {
        /// What was given.
        given: u32,
        /// What the image shows.
        found: EraseSize,
    },
    /// A node lies across the end of an erase block.
    #[error(
        "the node at byte {offset} lies across the end of an erase block of {given} bytes: \
         the image was made for another erase size"
    )]
    NodeAcrossBlocks {
        /// What was given.
        given: u32,
        /// Where the node is.
        offset: u64,
    },
    /// A clean marker is too small or too large.
    #[error("a clean marker of {0} bytes is not possible: expected 12 bytes to half a block")]
    ImpossibleCleanmarker(u32),
    /// A node has no place in a block.
    #[error(
        "the node at byte {offset}, {length} bytes long, does not fit into an erase block \
         of {erase_size} bytes together with its summary: use a larger erase size"
    )]
    NodeTooLong {
        /// Where it is in the image.
        offset: u64,
        /// How long it is.
        length: u32,
        /// What was given.
        erase_size: u32,
    },
    /// The image is larger than JFFS2 can be.
    #[error("{length} bytes are more than the 16 GiB that are supported; JFFS2 ends at 4 GiB")]
    TooLong {
        /// The image's length.
        length: u64,
    },
    /// A node that was there is not there any more.
    #[error("the node at byte {offset} changed while the image was read")]
    Changed {
        /// Where it was.
        offset: u64,
    },
    /// What was asked for is not in the image, or of another kind.
    #[error("inode {ino} is not {wanted}")]
    NotThat {
        /// The inode.
        ino: u32,
        /// What it was taken for.
        wanted: &'static str,
    },
    /// A node of an unknown type must not be touched.
    #[error(
        "the node at byte {offset} is of the unknown type {kind:#06x}, and says that a program \
         that does not know it must not write"
    )]
    Unsupported {
        /// Where it is.
        offset: u64,
        /// The type.
        kind: u16,
    },
}

fn looks_like(found: &Option<&'static str>) -> String {
    found.map_or(String::new(), |name| format!(": it looks like {name}"))
}

fn evidence(found: &EraseSize) -> String {
    match found.evidence {
        Evidence::Summaries(n) => format!("{n} summaries end there"),
        Evidence::Cleanmarkers(n) => format!("{n} clean markers begin there"),
        Evidence::Boundaries(n) => format!("no node lies across {n} such boundaries"),
    }
}
