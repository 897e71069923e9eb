//! A folder or a file that may be changed, and nothing outside of it.
//!
//! Every path is resolved by the kernel beneath the folder's own descriptor
//! (`openat2`, `RESOLVE_BENEATH`), so no link, however it changes meanwhile,
//! leads out of the tree.

use super::content::{Content, Metadata, field};
use super::error::{FileError, io_error};
use super::library::library_names;
use crate::attributes::attributes;
use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2, readlinkat, statat,
};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// No file that a treatment changes as a whole is larger, in bytes: 1 GiB.
const MOST: u64 = 1 << 30;

/// What is at a path of a tree.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// Where it really is.
    pub path: String,
    pub content: Content,
    pub metadata: Metadata,
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    Folder,
    /// A file of so many bytes.
    File(u64),
    /// A symbolic link that leads there.
    Link(String),
    /// A device, or nothing.
    Other,
}

/// What the user named.
#[derive(Debug)]
pub struct Target {
    shown: PathBuf,
    /// The folder that all paths count from, without links.
    folder: PathBuf,
    root: OwnedFd,
    /// The file in it, if the user named a file.
    file: Option<String>,
    /// The image that the folder is the root of, without links, if the user named that.
    image: Option<PathBuf>,
}

impl Target {
    /// Opens a folder or a file.
    ///
    /// # Errors
    /// If it is not there, or is neither.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let wrong = |why: &str| FileError::WrongTarget {
            target: path.to_owned(),
            why: why.to_owned(),
        };
        if path == Path::new("-") && !path.exists() {
            return Err(wrong(
                "standard input cannot be changed; pass a folder or a file",
            ));
        }
        let about = std::fs::metadata(path).map_err(io_error(path, "cannot be opened"))?;
        if !about.is_dir() && !about.is_file() {
            return Err(wrong("this is a device or a pipe; pass a folder or a file"));
        }
        let real = std::fs::canonicalize(path).map_err(io_error(path, "cannot be opened"))?;
        let (folder, file) = if about.is_dir() {
            (real, None)
        } else {
            let name = real.file_name().and_then(|n| n.to_str());
            let name = name
                .ok_or_else(|| wrong("the file name is not valid UTF-8; rename the file"))?
                .to_owned();
            let parent = real.parent().unwrap_or(Path::new("/")).to_owned();
            (parent, Some(name))
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, &folder, flags, Mode::empty())
            .map_err(|e| io_error(&folder, "cannot be opened")(e.into()))?;
        Ok(Self {
            shown: path.to_owned(),
            folder,
            root,
            file,
            image: None,
        })
    }

    /// Opens the root of `image`, which is mounted at `folder`. What takes treatments
    /// back is kept beside the image.
    ///
    /// # Errors
    /// If either is not there, or the folder is none.
    pub fn within(image: &Path, folder: &Path) -> Result<Self, FileError> {
        let real = std::fs::canonicalize(image).map_err(io_error(image, "cannot be opened"))?;
        let mut target = Self::open(folder)?;
        image.clone_into(&mut target.shown);
        target.image = Some(real);
        Ok(target)
    }

    /// As the user named it.
    #[must_use]
    pub fn shown(&self) -> &Path {
        &self.shown
    }

    /// The file's name, if a file was named.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// `root tree` or `file`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.file {
            Some(_) => "file",
            None => "root tree",
        }
    }

    /// The folder beside it that keeps what takes treatments back.
    #[must_use]
    pub fn side(&self) -> PathBuf {
        if let Some(image) = &self.image {
            let mut name = image.clone().into_os_string();
            name.push(".firstlight");
            return name.into();
        }
        match &self.file {
            Some(name) => self.folder.join(format!("{name}.firstlight")),
            None => match (self.folder.parent(), self.folder.file_name()) {
                (Some(parent), Some(name)) => {
                    let mut name = name.to_owned();
                    name.push(".firstlight");
                    parent.join(name)
                }
                // The running system's own root has nothing beside it.
                _ => self.folder.join("var/lib/firstlight"),
            },
        }
    }

    pub(super) fn wrong(&self, why: impl Into<String>) -> FileError {
        FileError::WrongTarget {
            target: self.shown.clone(),
            why: why.into(),
        }
    }

    pub(super) fn protected(&self, why: impl Into<String>) -> FileError {
        FileError::Protected {
            target: self.shown.clone(),
            why: why.into(),
        }
    }

    /// What was named, without links: the image, or the folder.
    pub(super) fn named(&self) -> PathBuf {
        let folder = || self.folder.clone();
        self.image.clone().unwrap_or_else(folder)
    }

    /// The real path of one inside, for messages.
    pub(super) fn outer(&self, path: &str) -> PathBuf {
        match &self.image {
            Some(image) => format!("{}:/{path}", image.display()).into(),
            None => self.folder.join(path),
        }
    }

    fn failed(&self, path: &str, error: Errno) -> FileError {
        match error {
            Errno::XDEV | Errno::LOOP => FileError::Outside {
                path: path.to_owned(),
                tree: self.named(),
            },
            error => io_error(self.outer(path), "cannot be opened")(error.into()),
        }
    }

    fn resolve(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let path = if path.is_empty() { "." } else { path };
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        // The kernel says "again" if something moved meanwhile.
        let mut tries = 0;
        loop {
            match openat2(
                &self.root,
                path,
                flags | OFlags::CLOEXEC,
                Mode::empty(),
                beneath,
            ) {
                Err(Errno::AGAIN) if tries < 16 => tries += 1,
                other => return other,
            }
        }
    }

    /// A folder of the tree; `None` if it is not there.
    pub(super) fn folder(&self, path: &str) -> Result<Option<OwnedFd>, FileError> {
        match self.resolve(path, OFlags::RDONLY | OFlags::DIRECTORY) {
            Ok(fd) => Ok(Some(fd)),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(e) => Err(self.failed(path, e)),
        }
    }

    /// Where a descriptor's file is in the tree, without links.
    fn real(&self, fd: &OwnedFd, path: &str) -> Result<String, FileError> {
        use std::os::fd::AsRawFd;
        let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
        let real =
            std::fs::read_link(&link).map_err(io_error(self.outer(path), "cannot be found"))?;
        let inside = real.strip_prefix(&self.folder).ok();
        let inside = inside.and_then(|p| p.to_str()).map(str::to_owned);
        inside.ok_or_else(|| FileError::Outside {
            path: path.to_owned(),
            tree: self.named(),
        })
    }

    /// What is at a path, links on the way and at its end followed within the
    /// tree; `None` if nothing is.
    pub(super) fn read(&self, path: &str) -> Result<Option<Found>, FileError> {
        let fd = match self.resolve(path, OFlags::RDONLY | OFlags::NONBLOCK) {
            Ok(fd) => fd,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(e) => return Err(self.failed(path, e)),
        };
        let real = self.real(&fd, path)?;
        let stat = fstat(&fd).map_err(|e| self.failed(path, e))?;
        if stat.st_mode & 0o170_000 != 0o100_000 {
            return Ok(None);
        }
        if stat.st_nlink > 1 {
            return Err(FileError::Linked {
                path: real,
                links: field(stat.st_nlink).unsigned_abs(),
            });
        }
        let (content, metadata) = self.content(fd, &stat, &real)?;
        Ok(Some(Found {
            path: real,
            content,
            metadata,
        }))
    }

    /// What is at a path, with a link at its end as such; `None` if nothing is.
    /// The path comes back with no links before its end.
    pub(super) fn look(&self, path: &str) -> Result<(String, Option<Found>), FileError> {
        let (parent, name) = split(path);
        let Some(folder) = self.folder(parent)? else {
            return Ok((path.to_owned(), None));
        };
        let real = join(&self.real(&folder, parent)?, name);
        let stat = match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok((real, None)),
            Err(e) => return Err(self.failed(path, e)),
        };
        let found = match stat.st_mode & 0o170_000 {
            0o120_000 => {
                let to = readlinkat(&folder, name, Vec::new()).map_err(|e| self.failed(path, e))?;
                Found {
                    path: real.clone(),
                    content: Content::Link(to.to_string_lossy().into_owned()),
                    metadata: Metadata::of(&stat),
                }
            }
            0o100_000 => {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let fd = openat(&folder, name, flags, Mode::empty())
                    .map_err(|e| self.failed(path, e))?;
                let (content, metadata) = self.content(fd, &stat, &real)?;
                Found {
                    path: real.clone(),
                    content,
                    metadata,
                }
            }
            _ => return Err(self.wrong(format!("{real} is neither a file nor a symbolic link"))),
        };
        Ok((real, Some(found)))
    }

    fn content(
        &self,
        fd: OwnedFd,
        stat: &Stat,
        path: &str,
    ) -> Result<(Content, Metadata), FileError> {
        let mut metadata = Metadata::of(stat);
        metadata.attributes = attributes(&fd)
            .map_err(|e| io_error(self.outer(path), "the extended attributes cannot be read")(e))?;
        let mut bytes = Vec::new();
        File::from(fd)
            .take(MOST + 1)
            .read_to_end(&mut bytes)
            .map_err(io_error(self.outer(path), "cannot be read"))?;
        if bytes.len() as u64 > MOST {
            return Err(self.wrong(format!("{path} is larger than the limit of {MOST} bytes")));
        }
        Ok((Content::File(bytes), metadata))
    }

    /// Whether a path is there, as anything but a dangling link.
    pub(super) fn has(&self, path: &str) -> bool {
        self.resolve(path, OFlags::PATH).is_ok()
    }

    /// What is at a path itself: no link is followed at its end.
    pub(super) fn what(&self, path: &str) -> Result<What, FileError> {
        let (parent, name) = split(path);
        let Some(folder) = self.folder(parent)? else {
            return Ok(What::Other);
        };
        let stat = match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(What::Other),
            Err(e) => return Err(self.failed(path, e)),
        };
        Ok(match stat.st_mode & 0o170_000 {
            0o040_000 => What::Folder,
            0o100_000 => What::File(field(stat.st_size).unsigned_abs()),
            0o120_000 => {
                let to = readlinkat(&folder, name, Vec::new()).map_err(|e| self.failed(path, e))?;
                What::Link(to.to_string_lossy().into_owned())
            }
            _ => What::Other,
        })
    }

    /// The names in a folder of the tree, sorted; `None` stands for one that is no text.
    pub(super) fn listed(&self, path: &str) -> Result<Vec<Option<String>>, FileError> {
        let cannot = |e: Errno| io_error(self.outer(path), "cannot be listed")(e.into());
        let Some(fd) = self.folder(path)? else {
            return Ok(Vec::new());
        };
        let entries = rustix::fs::Dir::read_from(fd.as_fd()).map_err(cannot)?;
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(cannot)?;
            let name = entry.file_name();
            if name != c"." && name != c".." {
                names.push(name.to_str().ok().map(str::to_owned));
            }
        }
        names.sort();
        Ok(names)
    }

    /// Where a folder is in the tree, without links; `None` if it is not there.
    pub(super) fn real_folder(&self, path: &str) -> Result<Option<String>, FileError> {
        let found = self.folder(path)?;
        found.map(|fd| self.real(&fd, path)).transpose()
    }

    /// A file of the tree, to be read; `None` if it is not there or not a file.
    fn file_at(&self, path: &str) -> Option<File> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW;
        let fd = self.resolve(path, flags).ok()?;
        let stat = fstat(&fd).ok()?;
        (stat.st_mode & 0o170_000 == 0o100_000).then(|| File::from(fd))
    }

    /// The first bytes of a file.
    pub(super) fn head(&self, path: &str) -> Option<[u8; 4]> {
        let mut head = [0; 4];
        self.file_at(path)?.read_exact(&mut head).ok()?;
        Some(head)
    }

    /// The first of these libraries that a file names; `None` if it names none.
    pub(super) fn mentions(
        &self,
        path: &str,
        libraries: &BTreeSet<&str>,
    ) -> Result<Option<String>, FileError> {
        let cannot = |why| io_error(self.outer(path), "cannot be read")(why);
        let Some(file) = self.file_at(path) else {
            return Err(cannot(io::ErrorKind::NotFound.into()));
        };
        let mut bytes = Vec::new();
        let read = file.take(MOST + 1).read_to_end(&mut bytes);
        if read.map_err(cannot)? as u64 > MOST {
            return Err(self.wrong(format!("{path} is too large to be searched")));
        }
        let mut named = library_names(&bytes).into_iter();
        Ok(named.find(|name| libraries.contains(name.as_str())))
    }

    /// The names in a folder of the tree that are text, sorted; none if it cannot be read.
    pub(super) fn names(&self, path: &str) -> Vec<String> {
        let names = self.listed(path).unwrap_or_default();
        names.into_iter().flatten().collect()
    }
}

/// Everything before the last slash, and the rest.
pub(super) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

pub(super) fn join(folder: &str, name: &str) -> String {
    match folder {
        "" => name.to_owned(),
        folder => format!("{folder}/{name}"),
    }
}
