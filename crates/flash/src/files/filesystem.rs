//! What every filesystem whose files can be read has to answer.

use super::inode::{Attribute, Device, Name, Stat};
use super::piece::Pieces;
use super::tree::Tree;
use std::io;

/// A filesystem whose files can be read.
pub trait Files {
    /// Why the image cannot be read.
    type Error: std::error::Error + Send + Sync + 'static;

    /// The error of something that takes files, and fails.
    fn failed(error: io::Error) -> Self::Error;

    /// The inode of the root directory.
    fn root(&self) -> u32;

    /// Metadata of an inode; `None` if there is no such inode.
    ///
    /// # Errors
    /// The image cannot be read.
    fn stat(&self, ino: u32) -> Result<Option<Stat>, Self::Error>;

    /// The names in a directory that lead somewhere, sorted.
    ///
    /// # Errors
    /// The image cannot be read.
    fn directory(&self, ino: u32) -> Result<Vec<Name>, Self::Error>;

    /// Where a symbolic link leads; `None` if it is damaged, or no link.
    ///
    /// # Errors
    /// The image cannot be read.
    fn link_target(&self, ino: u32) -> Result<Option<Vec<u8>>, Self::Error>;

    /// The numbers of a device; `None` if it is damaged, or no device.
    ///
    /// # Errors
    /// The image cannot be read.
    fn device(&self, ino: u32) -> Result<Option<Device>, Self::Error>;

    /// The extended attributes of an inode, sorted by name.
    ///
    /// # Errors
    /// The image cannot be read.
    fn attributes(&self, ino: u32) -> Result<Vec<Attribute>, Self::Error>;

    /// Reads a file from front to end: every byte of it is in one piece.
    ///
    /// # Errors
    /// The image cannot be read, or what `pieces` says. Data that cannot be had
    /// is a [`Piece::Lost`](super::Piece::Lost).
    fn read(&self, ino: u32, pieces: &mut Pieces) -> Result<(), Self::Error>;

    /// Walks all files from the root on.
    fn tree(&self) -> Tree<'_, Self> {
        Tree::new(self)
    }
}
