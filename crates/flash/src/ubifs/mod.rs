//! UBIFS: the filesystem for volumes of UBI.
//!
//! It is a tree on flash, with a journal of what was written since the tree was
//! last committed. [`inspect`](fn@inspect) tells its state: what a mount has to
//! do, and how long that takes.
//!
//! The rules are those of `fs/ubifs` of Linux 6.1.

mod filesystem;
mod index;
mod inspect;
pub mod journal;
mod lebs;
pub mod master;
pub mod node;
pub mod superblock;
mod verify;

pub use filesystem::{Filesystem, ROOT};
pub use index::{Damage, MOST_NODES};
pub use inspect::{Home, Mount, Refusal, Report, inspect};
pub use journal::Journal;
pub use lebs::Lebs;
pub use superblock::Superblock;
pub use verify::verify;

/// The name of a type of compression.
#[must_use]
pub fn compression(kind: u16) -> &'static str {
    match kind {
        0 => "none",
        1 => "lzo",
        2 => "zlib",
        3 => "zstd",
        _ => "unknown",
    }
}

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Reading failed.
    #[error("cannot read the image: {0}")]
    Read(#[from] std::io::Error),
    /// There is no superblock.
    #[error("no UBIFS superblock at the start of the image: {0}; pass a UBIFS image")]
    NoSuperblock(node::Fault),
    /// Writing what was read failed.
    #[error("cannot write the output: {0}")]
    Write(std::io::Error),
    /// No master node can be trusted.
    #[error("neither copy of the UBIFS master node is intact; write the image again")]
    NoMaster,
    /// The journal cannot be replayed.
    #[error("{0}")]
    Journal(journal::Broken),
    /// The index is larger than can be worked with.
    #[error("the UBIFS index refers to more than {MOST_NODES} nodes, the supported limit")]
    TooManyNodes,
    /// A file was read while another one was.
    #[error("cannot read a file while another one is being read; finish the first one")]
    Nested,
    /// The superblock is impossible.
    #[error("invalid UBIFS superblock: {0}")]
    Superblock(&'static str),
}
