//! The tree of names, what a walk over it comes upon, and where a walk is.

use super::inode::{Name, Stat};
use std::collections::BTreeSet;
use std::fmt;

/// No path may be longer than this, so that directories within directories
/// cannot eat all memory. The kernel ends at 4096.
pub const LONGEST_PATH: usize = 65_536;

/// Something wrong with a name or what it leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum NameFault {
    /// It is empty, `.`, `..`, or contains a slash or a NUL.
    Unsafe,
    /// It leads to an inode that is not there; the kernel drops it.
    Dangling,
    /// It says another type than its inode has.
    WrongType,
    /// A second name for a directory.
    DirectoryTwice,
    /// The path is longer than [`LONGEST_PATH`].
    TooLong,
}

impl fmt::Display for NameFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unsafe => "not a valid file name",
            Self::Dangling => "the directory entry refers to a missing inode",
            Self::WrongType => "the directory entry and the inode have different file types",
            Self::DirectoryTwice => "a directory has a second name",
            Self::TooLong => "the path is too long",
        })
    }
}

/// A file on the walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The path below the root, without a slash in front; empty for the root.
    /// Any bytes, but each part is a safe file name.
    pub path: Vec<u8>,
    /// Its metadata.
    pub stat: Stat,
}

/// What the walk comes upon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Visit {
    /// A file, or a directory before what is in it.
    Entry(Entry),
    /// A directory after all that is in it.
    Leave(Entry),
    /// A name that leads nowhere good: the directory's path, and the name. A
    /// name with [`NameFault::WrongType`] is visited as an entry, too.
    Fault(Vec<u8>, Name, NameFault),
}

/// A directory that the walk is in.
pub(super) struct Level {
    pub entry: Entry,
    pub names: std::vec::IntoIter<Name>,
}

/// A walk over all files, depth first, names in byte order.
pub struct Tree<'f, F: ?Sized> {
    pub(super) filesystem: &'f F,
    pub(super) levels: Vec<Level>,
    pub(super) visited: BTreeSet<u32>,
    pub(super) next: Option<Visit>,
    pub(super) started: bool,
}

impl<'f, F: ?Sized> Tree<'f, F> {
    pub(super) fn new(filesystem: &'f F) -> Self {
        Self {
            filesystem,
            levels: Vec::new(),
            visited: BTreeSet::new(),
            next: None,
            started: false,
        }
    }
}
