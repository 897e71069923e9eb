//! What is wrong with an image, and what to do about it.

use super::detect::EraseSize;
use super::node::Fault;
use super::summary::Condition;
use rawimage::Foreign;
use std::fmt;
use std::io;

/// Something wrong, or worth knowing.
pub type Problem = crate::problem::Problem<What>;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum What {
    /// The erase size that was given contradicts the content.
    WrongEraseSize {
        /// What the content shows.
        found: EraseSize,
    },
    /// The erase size was not given, and the content does not show it.
    EraseSizeAssumed,
    /// Full blocks without a summary, but for the last block: the kernel goes on
    /// writing there.
    NoSummary {
        /// How many.
        blocks: u64,
    },
    /// Erased blocks without a clean marker, beside others that have one.
    NoCleanmarker {
        /// How many.
        blocks: u64,
    },
    /// The block could not be read.
    Unreadable(io::ErrorKind),
    /// The block is marked as bad, but holds good nodes.
    BadWithNodes {
        /// How many.
        nodes: u32,
    },
    /// Too many blocks seem to be marked as bad.
    BadMarksImplausible {
        /// How many.
        blocks: u64,
    },
    /// The kernel will not use the summary.
    BrokenSummary(Condition),
    /// The summary has fewer entries than it claims, or of an unknown type.
    UnreadableSummary,
    /// The summary and the nodes contradict each other.
    SummaryDisagrees {
        /// Entries for which there is no such node.
        wrong: u32,
        /// Entries for nodes that are marked as obsolete.
        obsolete: u32,
        /// Nodes for which there is no entry.
        missing: u32,
    },
    /// Nodes with something wrong.
    Damaged {
        /// How many.
        nodes: u32,
        /// What is wrong with the first one.
        fault: Fault,
        /// Where it is in the block.
        offset: u32,
    },
    /// Bytes that belong to no node.
    Garbage {
        /// How many.
        bytes: u32,
        /// Where the first one is in the block.
        offset: u32,
    },
    /// A node of an unknown type.
    UnknownNode {
        /// The type.
        kind: u16,
        /// Where it is in the block.
        offset: u32,
    },
    /// Not JFFS2.
    Foreign(Foreign),
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongEraseSize { found } => write!(
                f,
                "the erase size contradicts the content, which was made for {} bytes",
                found.bytes
            ),
            Self::EraseSizeAssumed => write!(
                f,
                "the content does not show the erase size, which is assumed"
            ),
            Self::NoSummary { blocks: 1 } => {
                f.write_str("1 full block has no summary: a mount reads it whole")
            }
            Self::NoSummary { blocks } => write!(
                f,
                "{blocks} full blocks have no summary: a mount reads them whole"
            ),
            Self::NoCleanmarker { blocks: 1 } => f.write_str(
                "1 erased block has no clean marker: \
                 the kernel erases it again after the first mount",
            ),
            Self::NoCleanmarker { blocks } => write!(
                f,
                "{blocks} erased blocks have no clean marker: \
                 the kernel erases them again after the first mount"
            ),
            Self::Unreadable(kind) => write!(f, "it could not be read: {kind}"),
            Self::BadWithNodes { nodes } => {
                write!(f, "it is marked as bad, but holds {nodes} good nodes")
            }
            Self::BadMarksImplausible { blocks } => write!(
                f,
                "{blocks} blocks seem to be marked as bad, which is too many: marks are ignored"
            ),
            Self::BrokenSummary(condition) => {
                write!(f, "the kernel will not use its summary: {condition}")
            }
            Self::UnreadableSummary => write!(
                f,
                "the kernel will not use its summary: the entries cannot be read to the end"
            ),
            Self::SummaryDisagrees {
                wrong,
                obsolete,
                missing,
            } => write!(
                f,
                "its summary has {wrong} entries without such a node, {obsolete} for obsolete \
                 nodes, and lacks {missing}: the kernel believes it, not the nodes"
            ),
            Self::Damaged {
                nodes,
                fault,
                offset,
            } => match nodes {
                1 => write!(f, "a damaged node at byte {offset}: {fault}"),
                _ => write!(
                    f,
                    "{nodes} damaged nodes, the first at byte {offset}: {fault}"
                ),
            },
            Self::Garbage { bytes, offset } => {
                write!(
                    f,
                    "{bytes} bytes that belong to no node, the first at byte {offset}"
                )
            }
            Self::UnknownNode { kind, offset } => {
                write!(f, "a node of the unknown type {kind:#06x} at byte {offset}")
            }
            Self::Foreign(foreign) => write!(f, "not JFFS2, but {foreign}"),
        }
    }
}

impl What {
    /// A name for programs, which stays the same.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::WrongEraseSize { .. } => "wrong_erase_size",
            Self::EraseSizeAssumed => "erase_size_assumed",
            Self::NoSummary { .. } => "no_summary",
            Self::NoCleanmarker { .. } => "no_cleanmarker",
            Self::Unreadable(_) => "unreadable",
            Self::BadWithNodes { .. } => "bad_with_nodes",
            Self::BadMarksImplausible { .. } => "bad_marks_implausible",
            Self::BrokenSummary(_) => "broken_summary",
            Self::UnreadableSummary => "unreadable_summary",
            Self::SummaryDisagrees { .. } => "summary_disagrees",
            Self::Damaged { .. } => "damaged",
            Self::Garbage { .. } => "garbage",
            Self::UnknownNode { .. } => "unknown_node",
            Self::Foreign(_) => "foreign",
        }
    }

    /// What to do about it, one sentence.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Self::WrongEraseSize { .. } => {
                "Make the image for the chip's erase size; with a wrong one every summary is ignored."
            }
            Self::EraseSizeAssumed => {
                "Give the erase size of the chip; with another one the picture is another."
            }
            Self::NoSummary { .. } => {
                "Run `firstlight flash summarize`, and use a kernel with CONFIG_JFFS2_SUMMARY."
            }
            Self::NoCleanmarker { .. } => {
                "Erase with `flash_erase --jffs2`, so that the first mount need not."
            }
            Self::Unreadable(_) => {
                "Look at the kernel's log; the chip may need the block marked bad."
            }
            Self::BadWithNodes { .. } | Self::BadMarksImplausible { .. } => {
                "Give the layout of the spare bytes, or check the dump: marks may lie elsewhere."
            }
            Self::BrokenSummary(_) | Self::UnreadableSummary | Self::SummaryDisagrees { .. } => {
                "Make the summaries anew with `firstlight flash summarize`."
            }
            Self::Damaged {
                fault: Fault::Overrun { .. },
                ..
            } => "Check the erase size, and that the image was not cut off.",
            Self::Damaged { .. } | Self::Garbage { .. } => {
                "Write the image again; some of this is normal after a power cut."
            }
            Self::UnknownNode { .. } => {
                "Find out which program wrote it before changing the image."
            }
            Self::Foreign(Foreign::Ubi) => "Look at it with `firstlight flash ubi`.",
            Self::Foreign(_) => "Check that the partition begins and ends where it should.",
        }
    }
}
