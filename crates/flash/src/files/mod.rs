//! The files in an image, whatever its filesystem: walking them, and handing
//! them out.

mod extract;
mod folder;
mod tree;
mod verify;

pub use extract::{Extracted, NotExtracted, Sink, Why, extract};
pub use folder::{Folder, Rights};
pub use rawimage::FileType;
pub use tree::{Entry, LONGEST_PATH, NameFault, Tree, Visit};
pub use verify::{Finding, Findings, MOST_FINDINGS, ReadAll, Wrong, read_all};

use std::fmt;
use std::io;

/// Metadata of an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The inode's number.
    pub ino: u32,
    /// File type.
    pub file_type: FileType,
    /// File type and permissions.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Length in bytes.
    pub size: u64,
    /// Last access, seconds since 1970.
    pub atime: i64,
    /// Last change of the content, seconds since 1970.
    pub mtime: i64,
    /// Last change of the metadata, seconds since 1970.
    pub ctime: i64,
    /// Names that lead to it.
    pub links: u32,
}

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name: any bytes.
    pub name: Vec<u8>,
    /// What it leads to.
    pub ino: u32,
    /// Type that the name says it is.
    pub file_type: FileType,
}

/// Numbers of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// Which driver.
    pub major: u32,
    /// Which of its devices.
    pub minor: u32,
}

impl Device {
    /// Reads the 16 bits of old programs.
    #[must_use]
    pub fn of_old(number: u16) -> Self {
        Self {
            major: u32::from(number >> 8),
            minor: u32::from(number & 0xff),
        }
    }

    /// Reads the 32 bits that the kernel writes (`new_encode_dev`).
    #[must_use]
    pub fn of_new(number: u32) -> Self {
        Self {
            major: (number >> 8) & 0xfff,
            minor: (number & 0xff) | ((number >> 12) & 0xf_ff00),
        }
    }
}

/// An extended attribute of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// The whole name: `user.comment`.
    pub name: Vec<u8>,
    /// The value.
    pub value: Vec<u8>,
}

/// Why data cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It does not decompress to the length that it should have.
    Corrupt,
    /// It has a wrong checksum, or is not what it should be.
    Damaged,
    /// More compressed bytes in one piece than can be worked on.
    TooLong(u32),
    /// The compression is not known here, or only by name.
    Unsupported(u16, Option<&'static str>),
    /// It is encrypted.
    Encrypted,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Corrupt => write!(f, "the data does not decompress to its stated length"),
            Self::Damaged => write!(f, "damaged data"),
            Self::TooLong(most) => write!(f, "a node contains more than {most} compressed bytes"),
            Self::Unsupported(kind, Some(name)) => {
                write!(f, "compression {kind} ({name}) is not supported")
            }
            Self::Unsupported(kind, None) => write!(f, "unknown compression {kind}"),
            Self::Encrypted => write!(f, "encrypted data"),
        }
    }
}

/// A piece of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// These bytes.
    Data(&'a [u8]),
    /// So many zeros.
    Zeros(u64),
    /// So many bytes that are nowhere, though the filesystem would have a node
    /// even for a hole; a mount gives zeros, and something is missing.
    Gap(u64),
    /// So many bytes that could not be had, and why; a mount gives an error.
    Lost(u64, Failure),
}

/// Takes the pieces of a file, each with its place in it.
pub type Pieces<'f> = dyn FnMut(u64, Piece) -> io::Result<()> + 'f;

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
    /// is a [`Piece::Lost`].
    fn read(&self, ino: u32, pieces: &mut Pieces) -> Result<(), Self::Error>;

    /// Walks all files from the root on.
    fn tree(&self) -> Tree<'_, Self> {
        Tree::new(self)
    }
}
