//! A folder that files are extracted into.

use super::{Attribute, Device, Entry, FileType, Sink};
use rustix::fs::{self, AtFlags, CWD, FileType as Type, Mode, Timespec, Timestamps, XattrFlags};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};

/// A folder that takes the files of an image.
///
/// It must be empty: then everything in it was made here, no part of a path is
/// a symbolic link, and nothing can be written outside.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    rights: Rights,
    file: Option<File>,
}

/// What is made only where the user asks for it: as root, both can open a hole in the
/// machine that an image is extracted on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// Files get the owner, the group and the set-user-id bits that they have in the
    /// image.
    pub owners: bool,
    /// Device nodes are made.
    pub devices: bool,
}

impl Folder {
    /// Makes the folder, or takes an empty one.
    ///
    /// # Errors
    /// [`io::ErrorKind::DirectoryNotEmpty`], or what making it says.
    pub fn new(root: &Path, rights: Rights) -> io::Result<Self> {
        std::fs::create_dir_all(root)?;
        if std::fs::read_dir(root)?.next().is_some() {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        Ok(Self {
            root: root.to_owned(),
            rights,
            file: None,
        })
    }

    fn path(&self, below: &[u8]) -> PathBuf {
        if below.is_empty() {
            return self.root.clone();
        }
        self.root.join(OsStr::from_bytes(below))
    }
}

impl Sink for Folder {
    fn directory(&mut self, entry: &Entry) -> io::Result<()> {
        std::fs::create_dir(self.path(&entry.path))
    }

    fn file(&mut self, entry: &Entry) -> io::Result<()> {
        // "New" also refuses to follow a link.
        let file = File::create_new(self.path(&entry.path))?;
        file.set_len(entry.stat.size)?;
        self.file = Some(file);
        Ok(())
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        match &self.file {
            Some(file) => file.write_all_at(bytes, offset),
            None => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    fn symlink(&mut self, entry: &Entry, target: &[u8]) -> io::Result<()> {
        symlink(OsStr::from_bytes(target), self.path(&entry.path))
    }

    fn hard_link(&mut self, entry: &Entry, original: &[u8]) -> io::Result<()> {
        std::fs::hard_link(self.path(original), self.path(&entry.path))
    }

    fn special(&mut self, entry: &Entry, device: Option<Device>) -> io::Result<bool> {
        if device.is_some() && !self.rights.devices {
            return Ok(false);
        }
        let kind = match entry.stat.file_type {
            FileType::BlockDevice => Type::BlockDevice,
            FileType::CharacterDevice => Type::CharacterDevice,
            FileType::Fifo => Type::Fifo,
            FileType::Socket => Type::Socket,
            _ => return Err(io::ErrorKind::Unsupported.into()),
        };
        let number = device.map_or(0, |d| fs::makedev(d.major, d.minor));
        let path = self.path(&entry.path);
        fs::mknodat(CWD, path, kind, Mode::from(0o600), number)?;
        Ok(true)
    }

    fn metadata(&mut self, entry: &Entry, attributes: &[Attribute]) -> io::Result<()> {
        self.file = None;
        let path = self.path(&entry.path);
        let stat = &entry.stat;
        let is_link = stat.file_type == FileType::Symlink;
        let mut first = Ok(());
        let mut note = |result: rustix::io::Result<()>| {
            if let (Err(e), true) = (result, first.is_ok()) {
                first = Err(io::Error::from(e));
            }
        };
        if self.rights.owners {
            let user = fs::Uid::from_raw(stat.uid);
            let group = fs::Gid::from_raw(stat.gid);
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            note(fs::chownat(CWD, &path, Some(user), Some(group), flags));
        }
        for attribute in attributes {
            let name = OsStr::from_bytes(&attribute.name);
            let flags = XattrFlags::empty();
            note(fs::lsetxattr(&path, name, &attribute.value, flags));
        }
        if !is_link {
            let bits = if self.rights.owners { 0o7777 } else { 0o777 };
            note(fs::chmod(&path, Mode::from(stat.mode & bits)));
        }
        let time = |seconds: i64| Timespec {
            tv_sec: seconds,
            tv_nsec: 0,
        };
        let times = Timestamps {
            last_access: time(stat.atime),
            last_modification: time(stat.mtime),
        };
        note(fs::utimensat(CWD, &path, &times, AtFlags::SYMLINK_NOFOLLOW));
        // An attribute that cannot be set must not end the extraction.
        first.map_err(|e: io::Error| match e.raw_os_error() {
            Some(_) if e.kind() != io::ErrorKind::StorageFull => {
                io::ErrorKind::PermissionDenied.into()
            }
            _ => e,
        })
    }
}
