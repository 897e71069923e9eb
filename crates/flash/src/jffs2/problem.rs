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
                "the content was made for an erase block size of {} bytes",
                found.bytes
            ),
            Self::EraseSizeAssumed => write!(
                f,
                "the erase block size is assumed because the content does not show it"
            ),
            Self::NoSummary { blocks: 1 } => {
                f.write_str("1 full block has no summary, so a mount reads all of it")
            }
            Self::NoSummary { blocks } => write!(
                f,
                "{blocks} full blocks have no summary, so a mount reads all of them"
            ),
            Self::NoCleanmarker { blocks: 1 } => f.write_str(
                "1 erased block has no clean marker, so the kernel erases it again after the \
                 first mount",
            ),
            Self::NoCleanmarker { blocks } => write!(
                f,
                "{blocks} erased blocks have no clean marker, so the kernel erases them again \
                 after the first mount"
            ),
            Self::Unreadable(kind) => write!(f, "read error: {kind}"),
            Self::BadWithNodes { nodes } => {
                write!(
                    f,
                    "the block is marked bad but contains {nodes} intact nodes"
                )
            }
            Self::BadMarksImplausible { blocks } => write!(
                f,
                "{blocks} blocks appear to be marked bad, which is implausible, so the marks are \
                 ignored"
            ),
            Self::BrokenSummary(condition) => {
                write!(
                    f,
                    "the kernel will not use the summary of this block: {condition}"
                )
            }
            Self::UnreadableSummary => write!(
                f,
                "the kernel will not use the summary of this block: its entries are incomplete"
            ),
            Self::SummaryDisagrees {
                wrong,
                obsolete,
                missing,
            } => write!(
                f,
                "the summary does not match the nodes: {wrong} entries without a node, {obsolete} \
                 for obsolete nodes, {missing} missing; the kernel trusts the summary"
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
                    "{bytes} bytes belong to no node, the first at byte {offset}"
                )
            }
            Self::UnknownNode { kind, offset } => {
                write!(f, "a node of unknown type {kind:#06x} at byte {offset}")
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
                "Rebuild the image with the erase block size of the chip. The kernel ignores \
                 every summary otherwise."
            }
            Self::EraseSizeAssumed => {
                "Pass the erase block size of the chip with --erase-size. The results depend on \
                 it."
            }
            Self::NoSummary { .. } => {
                "Run `firstlight flash summarize` and use a kernel with CONFIG_JFFS2_SUMMARY."
            }
            Self::NoCleanmarker { .. } => "Erase the chip with `flash_erase --jffs2`.",
            Self::Unreadable(_) => "Check the kernel log. The block may have to be marked bad.",
            Self::BadWithNodes { .. } | Self::BadMarksImplausible { .. } => {
                "Pass the layout of the spare bytes with --oob, or check the dump."
            }
            Self::BrokenSummary(_) | Self::UnreadableSummary | Self::SummaryDisagrees { .. } => {
                "Rebuild the summaries with `firstlight flash summarize`."
            }
            Self::Damaged {
                fault: Fault::Overrun { .. },
                ..
            } => "Check the erase block size, and whether the image is truncated.",
            Self::Damaged { .. } | Self::Garbage { .. } => {
                "Write the image again. Some damage is normal after a power cut."
            }
            Self::UnknownNode { .. } => {
                "Find out which program wrote this node before you change the image."
            }
            Self::Foreign(Foreign::Ubi) => "Run `firstlight flash ubi` on it.",
            Self::Foreign(_) => "Check where the partition begins and ends.",
        }
    }
}
