//! What is wrong with an image, and what to do about it.

use super::header::{Broken, MOST_ERASES};
use std::fmt;
use std::io;

/// So many problems are told one by one; the rest is counted.
pub const MOST_PROBLEMS: usize = 10_000;

/// Something wrong, or worth knowing.
pub type Problem = crate::problem::Problem<What>;

/// Adds to a list; equal ones of neighbouring blocks become one. A list that is
/// too long takes only the first reason to refuse the image.
pub(super) fn add(list: &mut Vec<Problem>, block: Option<u64>, what: What) {
    if Problem::goes_on(list, block, |last| *last == what) {
        return;
    }
    let is_first = || what.refuses() && !list.iter().any(|p| p.what.refuses());
    if list.len() < MOST_PROBLEMS || is_first() {
        list.push(Problem::new(block, what));
    }
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum What {
    /// The version of the format is not known.
    Version {
        /// The version.
        found: u8,
    },
    /// The place of the identifier header is not that of other blocks.
    VidOffset {
        /// This block's.
        found: u32,
        /// That of the first block.
        expected: u32,
    },
    /// The place of the data is not that of other blocks.
    DataOffset {
        /// This block's.
        found: u32,
        /// That of the first block.
        expected: u32,
    },
    /// The erase counter is too large.
    EraseCounter {
        /// The counter.
        found: u64,
    },
    /// The block is of another image.
    ImageSequence {
        /// This block's.
        found: u32,
        /// That of the first block.
        expected: u32,
    },
    /// An identifier header has a right checksum, but impossible fields.
    VidHeader(&'static str),
    /// The block contradicts others of its volume.
    Inconsistent {
        /// The volume.
        volume: u32,
    },
    /// Two copies of one logical block are equally new.
    SameSequence {
        /// The volume.
        volume: u32,
        /// The logical block.
        leb: u32,
        /// The other copy.
        other: u32,
    },
    /// An internal volume that says that it must be understood.
    Rejected {
        /// The volume.
        volume: u32,
    },
    /// Too many blocks have damaged identifier headers.
    TooManyCorrupted {
        /// How many.
        corrupted: u64,
        /// How many are too many.
        limit: u64,
    },
    /// There is no copy of the volume table.
    NoTable,
    /// Neither copy of the volume table is good.
    BothTablesBroken,
    /// A record of the volume table has a right checksum, but is impossible.
    Record {
        /// Which copy.
        copy: u32,
        /// Which record.
        record: u32,
        /// Why.
        fault: &'static str,
    },
    /// Two volumes have one name.
    SameName {
        /// The one.
        volume: u32,
        /// The other.
        other: u32,
    },
    /// Two volumes are to be resized.
    TwoAutoresize {
        /// The one.
        volume: u32,
        /// The other.
        other: u32,
    },
    /// The volumes need more blocks than the chip has.
    NotEnoughBlocks {
        /// How many they need, with those that UBI keeps for itself.
        needed: u64,
        /// How many there are.
        there: u64,
    },
    /// The blocks of a volume contradict its record.
    VolumeContradicts {
        /// The volume.
        volume: u32,
        /// How.
        fault: &'static str,
    },
    /// The block could not be read.
    Unreadable(io::ErrorKind),
    /// The erase counter header is damaged.
    EcHeader(Broken),
    /// The identifier header is damaged, and there is data.
    Corrupted(Broken),
    /// An internal volume that is not known.
    UnknownInternal {
        /// The volume.
        volume: u32,
        /// What the kernel does with it: see
        /// [`compatibility`](super::header::compatibility).
        compatibility: u8,
    },
    /// One copy of the volume table is missing or damaged.
    TableCopy {
        /// Which: 0 or 1.
        copy: u32,
    },
    /// The copies of the volume table differ; the first one counts.
    TablesDiffer,
    /// A volume was being updated when power went.
    Updating {
        /// The volume.
        volume: u32,
    },
    /// A static volume lacks blocks.
    MissingBlocks {
        /// The volume.
        volume: u32,
        /// How many.
        missing: u32,
    },
    /// The data of a block of a static volume has a wrong checksum.
    DataCrc {
        /// The volume.
        volume: u32,
        /// The logical block.
        leb: u32,
    },
    /// Blocks of a volume that is not in the table.
    NoRecord {
        /// The volume.
        volume: u32,
        /// How many blocks.
        blocks: u64,
    },
    /// The first attach resizes a volume, and writes the table.
    Autoresize {
        /// The volume.
        volume: u32,
    },
    /// Bytes at the end that are no whole block.
    Remainder {
        /// How many.
        bytes: u64,
    },
    /// The fastmap does not say what the headers say.
    FastmapDisagrees {
        /// In how many logical blocks.
        blocks: u64,
    },
}

impl What {
    /// Whether the kernel refuses to attach because of it.
    #[must_use]
    pub fn refuses(&self) -> bool {
        matches!(
            self,
            Self::Version { .. }
                | Self::VidOffset { .. }
                | Self::DataOffset { .. }
                | Self::EraseCounter { .. }
                | Self::ImageSequence { .. }
                | Self::VidHeader(_)
                | Self::Inconsistent { .. }
                | Self::SameSequence { .. }
                | Self::Rejected { .. }
                | Self::TooManyCorrupted { .. }
                | Self::NoTable
                | Self::BothTablesBroken
                | Self::Record { .. }
                | Self::SameName { .. }
                | Self::TwoAutoresize { .. }
                | Self::NotEnoughBlocks { .. }
                | Self::VolumeContradicts { .. }
        )
    }

    /// A name for programs, which stays the same.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Version { .. } => "version",
            Self::VidOffset { .. } => "vid_offset",
            Self::DataOffset { .. } => "data_offset",
            Self::EraseCounter { .. } => "erase_counter",
            Self::ImageSequence { .. } => "image_sequence",
            Self::VidHeader(_) => "vid_header",
            Self::Inconsistent { .. } => "inconsistent",
            Self::SameSequence { .. } => "same_sequence",
            Self::Rejected { .. } => "rejected",
            Self::TooManyCorrupted { .. } => "too_many_corrupted",
            Self::NoTable => "no_table",
            Self::BothTablesBroken => "both_tables_broken",
            Self::Record { .. } => "record",
            Self::SameName { .. } => "same_name",
            Self::TwoAutoresize { .. } => "two_autoresize",
            Self::NotEnoughBlocks { .. } => "not_enough_blocks",
            Self::VolumeContradicts { .. } => "volume_contradicts",
            Self::Unreadable(_) => "unreadable",
            Self::EcHeader(_) => "ec_header",
            Self::Corrupted(_) => "corrupted",
            Self::UnknownInternal { .. } => "unknown_internal",
            Self::TableCopy { .. } => "table_copy",
            Self::TablesDiffer => "tables_differ",
            Self::Updating { .. } => "updating",
            Self::MissingBlocks { .. } => "missing_blocks",
            Self::DataCrc { .. } => "data_crc",
            Self::NoRecord { .. } => "no_record",
            Self::Autoresize { .. } => "autoresize",
            Self::Remainder { .. } => "remainder",
            Self::FastmapDisagrees { .. } => "fastmap_disagrees",
        }
    }

    /// What to do about it, one sentence.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Version { .. } | Self::Rejected { .. } => {
                "Find out which program wrote the image. UBI of Linux 6.1 cannot use it."
            }
            Self::VidOffset { .. } | Self::DataOffset { .. } | Self::ImageSequence { .. } => {
                "Erase the whole partition before you write an image. Blocks of an older image \
                 remain."
            }
            Self::VidHeader(_)
            | Self::Inconsistent { .. }
            | Self::SameSequence { .. }
            | Self::EraseCounter { .. }
            | Self::VolumeContradicts { .. } => {
                "Erase the partition and write the image again. The program that wrote it is \
                 faulty."
            }
            Self::TooManyCorrupted { .. } => "Check the partition and the VID header offset.",
            Self::NoTable | Self::BothTablesBroken => {
                "Write the image again. The kernel finds no volume without the volume table."
            }
            Self::Record { .. } | Self::SameName { .. } | Self::TwoAutoresize { .. } => {
                "Correct the ubinize configuration and rebuild the image."
            }
            Self::NotEnoughBlocks { .. } => {
                "Make the volumes smaller, or set `vol_flags=autoresize` on one of them."
            }
            Self::Unreadable(_) => "Check the kernel log. The block may have to be marked bad.",
            Self::EcHeader(_) => {
                "No action needed after a power cut during an erase. The kernel erases the block \
                 again."
            }
            Self::Corrupted(_) => {
                "Inspect the content of the block. The kernel keeps it and never uses the block \
                 again."
            }
            Self::UnknownInternal { .. } => {
                "Find out which program wrote it before you attach the image."
            }
            Self::TableCopy { .. } | Self::TablesDiffer => {
                "No action needed. The kernel rewrites the copy, which makes the first attach \
                 slower."
            }
            Self::Updating { .. } => {
                "Update the volume again. The kernel cannot open it until \
                then."
            }
            Self::MissingBlocks { .. } | Self::DataCrc { .. } => {
                "Write the volume again. The kernel reports an error when it opens the volume."
            }
            Self::NoRecord { .. } => {
                "No action needed. The kernel erases them, as after a power cut during the \
                 removal of a volume."
            }
            Self::Autoresize { .. } => {
                "No action needed. Measure the second boot, because the first attach is slower."
            }
            Self::Remainder { .. } => "Check whether the image is truncated.",
            Self::FastmapDisagrees { .. } => {
                "Attach once without fastmap (`ubi.fm_autoconvert=0` and a full scan), or write \
                 the image again. The kernel trusts the fastmap."
            }
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version { found } => {
                write!(f, "format version {found}, but only version 1 is supported")
            }
            Self::VidOffset { found, expected } => {
                write!(f, "bad VID header offset {found}, expected {expected}")
            }
            Self::DataOffset { found, expected } => {
                write!(f, "bad data offset {found}, expected {expected}")
            }
            Self::EraseCounter { found } => {
                write!(f, "the erase counter {found} exceeds {MOST_ERASES}")
            }
            Self::ImageSequence { found, expected } => write!(
                f,
                "bad image sequence number {found}, expected {expected}; the block belongs to \
                 another image"
            ),
            Self::VidHeader(fault) => write!(f, "bad VID header: {fault}"),
            Self::Inconsistent { volume } => {
                write!(f, "the header contradicts other blocks of volume {volume}")
            }
            Self::SameSequence { volume, leb, other } => write!(
                f,
                "this block and block {other} are equally new copies of LEB {leb} of volume \
                 {volume}"
            ),
            Self::Rejected { volume } => write!(
                f,
                "the block belongs to the unknown internal volume {volume:#x}, which forbids \
                 attaching"
            ),
            Self::TooManyCorrupted { corrupted, limit } => write!(
                f,
                "{corrupted} blocks are corrupted; the kernel refuses to attach from {limit} on"
            ),
            Self::NoTable => write!(f, "the layout volume was not found"),
            Self::BothTablesBroken => write!(f, "both volume tables are corrupted"),
            Self::Record {
                copy,
                record,
                fault,
            } => write!(
                f,
                "record {record} of copy {copy} of the volume table is invalid: {fault}"
            ),
            Self::SameName { volume, other } => {
                write!(f, "volumes {volume} and {other} have the same name")
            }
            Self::TwoAutoresize { volume, other } => {
                write!(
                    f,
                    "volumes {volume} and {other} both have the autoresize flag"
                )
            }
            Self::NotEnoughBlocks { needed, there } => write!(
                f,
                "the volumes and UBI need {needed} erase blocks, but the chip has {there}"
            ),
            Self::VolumeContradicts { volume, fault } => {
                write!(f, "volume {volume} contradicts its record: {fault}")
            }
            Self::Unreadable(kind) => write!(f, "read error: {kind}"),
            Self::EcHeader(why) => write!(f, "the EC header is damaged: {why}"),
            Self::Corrupted(why) => {
                write!(
                    f,
                    "the VID header is damaged ({why}) and the block contains data"
                )
            }
            Self::UnknownInternal {
                volume,
                compatibility,
            } => write!(
                f,
                "the block belongs to the unknown internal volume {volume:#x}, so the kernel {}",
                match compatibility {
                    1 => "erases it",
                    2 => "attaches read-only",
                    _ => "preserves it",
                }
            ),
            Self::TableCopy { copy } => {
                write!(f, "copy {copy} of the volume table is missing or damaged")
            }
            Self::TablesDiffer => {
                write!(
                    f,
                    "the copies of the volume table differ; the kernel uses the first"
                )
            }
            Self::Updating { volume } => {
                write!(f, "an update of volume {volume} was interrupted")
            }
            Self::MissingBlocks { volume, missing } => {
                write!(f, "static volume {volume} lacks {missing} LEBs")
            }
            Self::DataCrc { volume, leb } => write!(
                f,
                "LEB {leb} of static volume {volume} has a wrong checksum"
            ),
            Self::NoRecord { volume, blocks } => write!(
                f,
                "{blocks} blocks belong to volume {volume}, which is not in the table"
            ),
            Self::Autoresize { volume } => write!(f, "the first attach resizes volume {volume}"),
            Self::Remainder { bytes } => {
                write!(f, "the last {bytes} bytes do not fill an erase block")
            }
            Self::FastmapDisagrees { blocks } => write!(
                f,
                "the fastmap and the VID headers disagree about the location of {blocks} LEBs"
            ),
        }
    }
}
