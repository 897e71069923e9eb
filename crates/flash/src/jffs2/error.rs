//! What can go wrong.

use super::erase_size::{EraseSize, Evidence};
use super::oob::Oob;
use crate::transfer::{TransferError, looks_like};
use rawimage::endian::Endian;

/// Why an image cannot be worked on. Damage in an image is not an error: it is
/// told in the result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Reading or writing failed.
    #[error(transparent)]
    Transfer(#[from] TransferError),
    /// There is no node in it.
    #[error("no JFFS2 node of either byte order in {length} bytes{}; pass a JFFS2 image", looks_like(*.found))]
    NotJffs2 {
        /// The image's length.
        length: u64,
        /// What it looks like.
        found: Option<&'static str>,
    },
    /// The byte order contradicts the image.
    #[error(
        "{given}-endian was given, but the nodes of the image are {found}-endian; pass \
         --{found}-endian"
    )]
    WrongEndian {
        /// What was given.
        given: Endian,
        /// What the image shows.
        found: Endian,
    },
    /// The layout of the spare bytes cannot be one.
    #[error(
        "impossible layout: pages of {} bytes with {} spare bytes; pass a page size from 256 to \
         65536 and fewer spare bytes than that", .0.page, .0.spare
    )]
    ImpossibleOob(Oob),
    /// The image is a dump with spare bytes, where none may be.
    #[error(
        "the dump contains {} spare bytes after each page of {} bytes, and their error correction \
         would not match changed data; dump the chip without them (`nanddump --omitoob`)", .0.spare, .0.page
    )]
    SpareBytes(Oob),
    /// The erase size was not given, and the image does not show it.
    #[error("cannot detect the erase block size; pass the one of the flash chip")]
    UnknownEraseSize,
    /// The erase size cannot be one.
    #[error(
        "impossible erase block size of {given} bytes; pass a multiple of 4 from 8 KiB to 8 MiB"
    )]
    ImpossibleEraseSize {
        /// What was given.
        given: u32,
    },
    /// The erase size contradicts the image.
    #[error(
        "the erase block size {given} contradicts the image, which was made for {} ({}), so the \
         kernel would ignore every summary; pass the size of the image", .found.bytes, evidence(.found)
    )]
    WrongEraseSize {
        /// What was given.
        given: u32,
        /// What the image shows.
        found: EraseSize,
    },
    /// `sumtool` would take an erase size that contradicts the image.
    #[error(
        "the image was made for erase blocks of {} bytes ({}), and sumtool would use {default} and \
         lose files: give the erase size", .found.bytes, evidence(.found)
    )]
    NotOfSumtool {
        /// What `sumtool` takes where nothing is given.
        default: u32,
        /// What the image shows.
        found: EraseSize,
    },
    /// A node lies across the end of an erase block.
    #[error(
        "the node at byte {offset} crosses the end of an erase block of {given} bytes; pass the \
         erase block size that the image was made for"
    )]
    NodeAcrossBlocks {
        /// What was given.
        given: u32,
        /// Where the node is.
        offset: u64,
    },
    /// A clean marker is too small or too large.
    #[error("impossible clean marker of {0} bytes; pass 12 bytes to half an erase block")]
    ImpossibleCleanmarker(u32),
    /// A node has no place in a block.
    #[error(
        "the node of {length} bytes at byte {offset} and its summary do not fit into an erase \
         block of {erase_size} bytes; use a larger erase block size"
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
    #[error(
        "the image has {length} bytes, but at most 16 GiB are supported; a JFFS2 partition has at \
         most 4 GiB"
    )]
    TooLong {
        /// The image's length.
        length: u64,
    },
    /// A node that was there is not there any more.
    #[error(
        "the node at byte {offset} changed while the image was read; retry when no program writes \
         to it"
    )]
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
        "the node at byte {offset} has the unknown type {kind:#06x}, which forbids changes by \
         programs that do not support it; use the program that wrote the image"
    )]
    Unsupported {
        /// Where it is.
        offset: u64,
        /// The type.
        kind: u16,
    },
}

fn evidence(found: &EraseSize) -> String {
    match found.evidence {
        Evidence::Summaries(n) => format!("{n} summaries end at block ends of this size"),
        Evidence::Cleanmarkers(n) => {
            format!("{n} clean markers begin at block starts of this size")
        }
        Evidence::Boundaries(n) => format!("no node crosses any of {n} boundaries"),
    }
}
