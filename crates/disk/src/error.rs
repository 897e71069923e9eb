//! Why a map cannot be made.

use rawimage::Foreign;
use std::io;

/// Why nothing can be said about who owns which block.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Reading failed.
    #[error("cannot read the image: {0}")]
    Read(#[from] io::Error),
    /// It is no filesystem that is known here.
    #[error(
        "cannot map this image: byte {at} begins {found}; pass ext2, ext3, ext4, squashfs, \
         erofs or FAT, alone or in a partition of a disk{}", advice(.found)
    )]
    Unknown {
        /// Where it was looked for.
        at: u64,
        /// What is there.
        found: Foreign,
    },
    /// It is known, and cannot be mapped yet.
    #[error("mapping {what} is not supported; pass ext2, ext3, ext4, squashfs, erofs or FAT")]
    NotYet {
        /// The filesystem or its feature.
        what: String,
    },
    /// A field has a value that it cannot have.
    #[error(
        "byte {at}: {what}; the filesystem is damaged or truncated, so check it or copy it again"
    )]
    Corrupt {
        /// The byte from the start of the filesystem.
        at: u64,
        /// What was expected there, and what was found.
        what: String,
    },
    /// There is no partition of that number.
    #[error("no partition {number}; {there}")]
    NoPartition {
        /// The number that was asked for.
        number: u32,
        /// What there is, and what to pass.
        there: String,
    },
}

fn advice(found: &Foreign) -> String {
    found.advice().map_or(String::new(), |a| format!("; {a}"))
}

impl Error {
    /// A wrong value.
    pub(crate) fn corrupt(at: u64, what: impl Into<String>) -> Self {
        Self::Corrupt {
            at,
            what: what.into(),
        }
    }
}
