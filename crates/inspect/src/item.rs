//! Something recognised in a file.

use ::disk::{Facts, Partition, Table};
use bootimage::info;
use rawimage::Endian;

/// Something recognised.
#[derive(Clone, Debug)]
pub struct Item {
    /// Where it begins, bytes from the start of the file.
    pub offset: u64,
    /// How many bytes it takes there.
    pub size: u64,
    /// What it is.
    pub kind: Kind,
    /// What is worth saying about it, a sentence each.
    pub notes: Vec<String>,
    /// What is in it, where it is not compressed.
    pub inside: Vec<Item>,
}

/// What something is.
#[derive(Clone, Debug)]
pub enum Kind {
    /// What a boot loader reads, or what is only recognised.
    Boot(info::Kind),
    /// A JFFS2 filesystem.
    Jffs2 {
        /// Its byte order.
        endian: Endian,
        /// The size of an erase block, if the image shows it.
        erase_size: Option<u32>,
    },
    /// A filesystem of a disk.
    Filesystem(Facts),
    /// A disk with partitions.
    Disk(Table, Vec<Partition>),
}

impl Kind {
    /// The word used in every output.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Boot(kind) => kind.name(),
            Self::Jffs2 { .. } => "jffs2",
            Self::Filesystem(_) => "filesystem",
            Self::Disk(..) => "disk",
        }
    }

    /// As a boot image.
    #[must_use]
    pub const fn boot(&self) -> Option<&info::Kind> {
        match self {
            Self::Boot(kind) => Some(kind),
            _ => None,
        }
    }
}
