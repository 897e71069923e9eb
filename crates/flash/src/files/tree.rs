//! Walking the tree of names from the root.

use super::{FileType, Files, Name, Stat};
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
struct Level {
    entry: Entry,
    names: std::vec::IntoIter<Name>,
}

/// A walk over all files, depth first, names in byte order.
pub struct Tree<'f, F: ?Sized> {
    filesystem: &'f F,
    levels: Vec<Level>,
    visited: BTreeSet<u32>,
    next: Option<Visit>,
    started: bool,
}

/// Whether a name can be one part of a path.
fn is_safe(name: &[u8]) -> bool {
    !matches!(name, b"" | b"." | b"..") && !name.iter().any(|b| matches!(b, b'/' | 0))
}

impl<'f, F: Files + ?Sized> Tree<'f, F> {
    pub(super) fn new(filesystem: &'f F) -> Self {
        Self {
            filesystem,
            levels: Vec::new(),
            visited: BTreeSet::new(),
            next: None,
            started: false,
        }
    }

    fn enter(&mut self, entry: Entry) -> Result<(), F::Error> {
        self.visited.insert(entry.stat.ino);
        let names = self.filesystem.directory(entry.stat.ino)?.into_iter();
        self.levels.push(Level { entry, names });
        Ok(())
    }

    fn step(&mut self) -> Result<Option<Visit>, F::Error> {
        if let Some(visit) = self.next.take() {
            return Ok(Some(visit));
        }
        if !self.started {
            self.started = true;
            let Some(mut stat) = self.filesystem.stat(self.filesystem.root())? else {
                return Ok(None);
            };
            let is_directory = stat.file_type == FileType::Directory;
            stat.file_type = FileType::Directory;
            let path = Vec::new();
            let root = Entry { path, stat };
            self.enter(root.clone())?;
            let visit = Visit::Entry(root);
            if is_directory {
                return Ok(Some(visit));
            }
            self.next = Some(visit);
            let name = Name {
                name: Vec::new(),
                ino: self.filesystem.root(),
                file_type: FileType::Directory,
            };
            return Ok(Some(Visit::Fault(Vec::new(), name, NameFault::WrongType)));
        }
        let Some(level) = self.levels.last_mut() else {
            return Ok(None);
        };
        let Some(name) = level.names.next() else {
            return Ok(self.levels.pop().map(|level| Visit::Leave(level.entry)));
        };
        let mut path = level.entry.path.clone();
        let fault = |path, name, fault| Ok(Some(Visit::Fault(path, name, fault)));
        if !is_safe(&name.name) {
            return fault(path, name, NameFault::Unsafe);
        }
        if path.len() + 1 + name.name.len() > LONGEST_PATH {
            return fault(path, name, NameFault::TooLong);
        }
        let Some(stat) = self.filesystem.stat(name.ino)? else {
            return fault(path, name, NameFault::Dangling);
        };
        let is_directory = stat.file_type == FileType::Directory;
        if is_directory && self.visited.contains(&name.ino) {
            return fault(path, name, NameFault::DirectoryTwice);
        }
        let parent = path.clone();
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend(&name.name);
        let entry = Entry { path, stat };
        if is_directory {
            self.enter(entry.clone())?;
        }
        if name.file_type != stat.file_type {
            self.next = Some(Visit::Entry(entry));
            return fault(parent, name, NameFault::WrongType);
        }
        Ok(Some(Visit::Entry(entry)))
    }
}

impl<F: Files + ?Sized> Iterator for Tree<'_, F> {
    type Item = Result<Visit, F::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step();
        if step.is_err() {
            self.levels.clear();
        }
        step.transpose()
    }
}
