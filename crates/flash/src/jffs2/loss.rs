//! What of an image is not used, and why.

use super::node::Fault;

/// Why something of the input is not in the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loss {
    /// Bytes without a magic number.
    Garbage,
    /// A header with a wrong checksum.
    HeaderCrc,
    /// A node longer than the rest of its block, or of the image.
    CutOff,
    /// A node with a wrong or impossible length inside.
    Length,
    /// A node with a wrong checksum of the fixed part.
    NodeCrc,
    /// A node with a wrong checksum of data or name.
    DataCrc,
    /// A node that was marked as obsolete.
    Obsolete,
    /// A node of an unknown type that may be dropped.
    Unknown,
}

impl Loss {
    /// A name for programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Garbage => "garbage",
            Self::HeaderCrc => "header_crc",
            Self::CutOff => "cut_off",
            Self::Length => "length",
            Self::NodeCrc => "node_crc",
            Self::DataCrc => "data_crc",
            Self::Obsolete => "obsolete",
            Self::Unknown => "unknown",
        }
    }

    pub(super) fn of(fault: Fault) -> Self {
        match fault {
            Fault::Magic => Self::Garbage,
            Fault::HeaderCrc => Self::HeaderCrc,
            Fault::Overrun { .. } => Self::CutOff,
            Fault::Length { .. } => Self::Length,
            Fault::NodeCrc { .. } => Self::NodeCrc,
            Fault::DataCrc { .. } | Fault::NameCrc { .. } => Self::DataCrc,
        }
    }
}

/// How often something was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Why.
    pub why: Loss,
    /// How many nodes, or runs of garbage.
    pub count: u64,
    /// How many bytes of the input.
    pub bytes: u64,
    /// Where in the input the first one is.
    pub first: u64,
}

impl Lost {
    /// Whether it should not be so. Obsolete nodes, what stands between nodes, and
    /// types that may be dropped, are no damage.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        !matches!(self.why, Loss::Obsolete | Loss::Garbage | Loss::Unknown)
    }

    /// Adds to a list in which each reason is there once.
    pub(super) fn add(list: &mut Vec<Self>, more: Self) {
        match list.iter_mut().find(|l| l.why == more.why) {
            Some(lost) => {
                lost.count += more.count;
                lost.bytes = lost.bytes.saturating_add(more.bytes);
            }
            None => list.push(more),
        }
    }
}
