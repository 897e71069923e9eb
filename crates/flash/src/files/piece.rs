//! The content of a file, piece by piece.

use std::fmt;
use std::io;

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
