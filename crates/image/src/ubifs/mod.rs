//! UBIFS: the filesystem for volumes of UBI.
//!
//! It is a tree on flash, with a journal of what was written since the tree was
//! last committed. [`inspect`](fn@inspect) tells its state: what a mount has to
//! do, and how long that takes.
//!
//! The rules are those of `fs/ubifs` of Linux 6.1.

mod inspect;
pub mod journal;
mod lebs;
pub mod master;
pub mod node;
pub mod superblock;

pub use inspect::{Home, Mount, Refusal, Report, inspect};
pub use journal::Journal;
pub use lebs::Lebs;
pub use superblock::Superblock;

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
    #[error("it could not be read: {0}")]
    Read(#[from] std::io::Error),
    /// There is no superblock.
    #[error("no UBIFS superblock at its front: {0}")]
    NoSuperblock(node::Fault),
    /// The superblock is impossible.
    #[error("the UBIFS superblock is impossible: {0}")]
    Superblock(&'static str),
}
