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
                "Find out which program wrote it; this kernel's UBI cannot use it."
            }
            Self::VidOffset { .. } | Self::DataOffset { .. } | Self::ImageSequence { .. } => {
                "Erase the whole partition before writing an image: blocks of an older one are left."
            }
            Self::VidHeader(_)
            | Self::Inconsistent { .. }
            | Self::SameSequence { .. }
            | Self::EraseCounter { .. }
            | Self::VolumeContradicts { .. } => {
                "Erase the partition and write the image again; the program that wrote it is in error."
            }
            Self::TooManyCorrupted { .. } => {
                "Check that the partition, and the place of identifier headers, are the right ones."
            }
            Self::NoTable | Self::BothTablesBroken => {
                "Write the image again; without the volume table no volume can be found."
            }
            Self::Record { .. } | Self::SameName { .. } | Self::TwoAutoresize { .. } => {
                "Make the image again with a right configuration of ubinize."
            }
            Self::NotEnoughBlocks { .. } => {
                "Make the volumes smaller, or give one of them `vol_flags=autoresize`."
            }
            Self::Unreadable(_) => {
                "Look at the kernel's log; the chip may need the block marked bad."
            }
            Self::EcHeader(_) => {
                "Nothing, if power was cut while it was erased: the kernel erases it again."
            }
            Self::Corrupted(_) => {
                "Look at what is in it: the kernel keeps it, and never uses the block again."
            }
            Self::UnknownInternal { .. } => {
                "Find out which program wrote it before attaching the image."
            }
            Self::TableCopy { .. } | Self::TablesDiffer => {
                "Nothing: the kernel writes it anew, which makes this attach slower."
            }
            Self::Updating { .. } => "Update the volume again; until then it cannot be opened.",
            Self::MissingBlocks { .. } | Self::DataCrc { .. } => {
                "Write the volume again; the kernel gives an error when it is opened."
            }
            Self::NoRecord { .. } => {
                "Nothing: the kernel erases them, as after a power cut while a volume was removed."
            }
            Self::Autoresize { .. } => {
                "Nothing; but only the second boot shows what attaching costs from then on."
            }
            Self::Remainder { .. } => "Check that the image was not cut off.",
            Self::FastmapDisagrees { .. } => {
                "Attach once without fastmap (`ubi.fm_autoconvert=0` and a full scan), or write \
                 the image again: the kernel believes the fastmap."
            }
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version { found } => {
                write!(f, "the format's version is {found}, and only 1 is known")
            }
            Self::VidOffset { found, expected } => {
                write!(f, "bad VID header offset {found}, expected {expected}")
            }
            Self::DataOffset { found, expected } => {
                write!(f, "bad data offset {found}, expected {expected}")
            }
            Self::EraseCounter { found } => {
                write!(f, "the erase counter {found} is more than {MOST_ERASES}")
            }
            Self::ImageSequence { found, expected } => write!(
                f,
                "bad image sequence number {found}, expected {expected}: it is of another image"
            ),
            Self::VidHeader(fault) => write!(f, "bad VID header: {fault}"),
            Self::Inconsistent { volume } => {
                write!(f, "its header contradicts other blocks of volume {volume}")
            }
            Self::SameSequence { volume, leb, other } => write!(
                f,
                "it and block {other} are equally new copies of logical block {leb} of volume \
                 {volume}"
            ),
            Self::Rejected { volume } => write!(
                f,
                "it belongs to the internal volume {volume:#x}, which must be understood"
            ),
            Self::TooManyCorrupted { corrupted, limit } => write!(
                f,
                "{corrupted} blocks are corrupted, and from {limit} on the kernel refuses"
            ),
            Self::NoTable => write!(f, "the layout volume was not found"),
            Self::BothTablesBroken => write!(f, "both volume tables are corrupted"),
            Self::Record {
                copy,
                record,
                fault,
            } => write!(
                f,
                "record {record} of copy {copy} of the volume table is impossible: {fault}"
            ),
            Self::SameName { volume, other } => {
                write!(f, "volumes {volume} and {other} have the same name")
            }
            Self::TwoAutoresize { volume, other } => {
                write!(f, "volumes {volume} and {other} are both to be resized")
            }
            Self::NotEnoughBlocks { needed, there } => write!(
                f,
                "the volumes and UBI need {needed} blocks, and the chip has {there}"
            ),
            Self::VolumeContradicts { volume, fault } => {
                write!(f, "volume {volume} contradicts its record: {fault}")
            }
            Self::Unreadable(kind) => write!(f, "it could not be read: {kind}"),
            Self::EcHeader(why) => write!(f, "its erase counter header is damaged: {why}"),
            Self::Corrupted(why) => {
                write!(f, "its VID header is damaged ({why}), and it holds data")
            }
            Self::UnknownInternal {
                volume,
                compatibility,
            } => write!(
                f,
                "it belongs to the unknown internal volume {volume:#x}: the kernel {}",
                match compatibility {
                    1 => "erases it",
                    2 => "attaches read-only",
                    _ => "leaves it alone",
                }
            ),
            Self::TableCopy { copy } => {
                write!(f, "copy {copy} of the volume table is missing or damaged")
            }
            Self::TablesDiffer => {
                write!(f, "the copies of the volume table differ; the first counts")
            }
            Self::Updating { volume } => {
                write!(f, "an update of volume {volume} was begun and not finished")
            }
            Self::MissingBlocks { volume, missing } => {
                write!(f, "the static volume {volume} lacks {missing} blocks")
            }
            Self::DataCrc { volume, leb } => write!(
                f,
                "logical block {leb} of the static volume {volume} has a wrong checksum"
            ),
            Self::NoRecord { volume, blocks } => write!(
                f,
                "{blocks} blocks belong to volume {volume}, which is not in the table"
            ),
            Self::Autoresize { volume } => write!(
                f,
                "volume {volume} is resized when the image is attached for the first time"
            ),
            Self::Remainder { bytes } => {
                write!(f, "{bytes} bytes at the end are no whole erase block")
            }
            Self::FastmapDisagrees { blocks } => write!(
                f,
                "the fastmap has {blocks} logical blocks elsewhere than their headers say"
            ),
        }
    }
}
