//! Walking the tree of names from the root, step by step.

use super::filesystem::Files;
use super::inode::Name;
use super::tree::{Entry, LONGEST_PATH, Level, NameFault, Tree, Visit};
use rawimage::FileType;

/// Whether a name can be one part of a path.
fn is_safe(name: &[u8]) -> bool {
    !matches!(name, b"" | b"." | b"..") && !name.iter().any(|b| matches!(b, b'/' | 0))
}

impl<F: Files + ?Sized> Tree<'_, F> {
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
