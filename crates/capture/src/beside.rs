//! Files that are written beside and renamed: at any moment there is the old
//! one or the new one, whole.

use crate::error::FileError;
use rustix::fs::{
    AtFlags, CWD, FlockOperation, Mode, OFlags, XattrFlags, flock, fsetxattr, getxattr, linkat,
    listxattr, openat,
};
use std::ffi::OsStr;
use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::NamedTempFile;

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
pub enum BesideError {
    /// The system does not let it.
    #[error(transparent)]
    File(#[from] FileError),
    /// There is a folder of that name.
    #[error("{}: this is a folder; name a file", .path.display())]
    Folder {
        /// The path.
        path: PathBuf,
    },
    /// There is a device of that name.
    #[error(
        "{}: this is a device; write a file first, then write it to the device (with flashcp or \
         nandwrite for flash)",
        .path.display()
    )]
    Device {
        /// The path.
        path: PathBuf,
    },
}

/// Lets `fill` write a new file that takes the place of `path`, or is there for
/// the first time. If anything fails, what was at `path` stays as it was. The
/// old file may be read meanwhile.
///
/// # Errors
/// `path` cannot be a file, what `fill` says, or the disk does not take it.
pub fn write<T, E: From<BesideError>>(
    path: &Path,
    fill: impl FnOnce(&mut File) -> Result<T, E>,
) -> Result<T, E> {
    let shown = path;
    let cannot = |why| BesideError::File(FileError::of(shown, "cannot be written")(why));
    let (path, old) = target(path)?;
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    sweep(folder);
    let mut beside = New::in_folder(folder).map_err(cannot)?;
    // Says to other writers that somebody is at work on it.
    flock(beside.file(), FlockOperation::NonBlockingLockExclusive).ok();
    if let Some(old) = old {
        dress(beside.file(), &path, &old).map_err(cannot)?;
    }
    let done = fill(beside.file())?;
    beside.persist(folder, &path).map_err(cannot)?;
    // The new name is on the disk when the folder is.
    synced(folder).map_err(cannot)?;
    Ok(done)
}

/// Makes a folder and those around it that are not there; a power cut takes none of them
/// back.
///
/// # Errors
/// It cannot be made, or the disk does not take it.
pub fn folder(path: &Path) -> Result<(), BesideError> {
    if path.as_os_str().is_empty() || path.is_dir() {
        return Ok(());
    }
    let around = path.parent().unwrap_or(Path::new(""));
    folder(around)?;
    let made = match std::fs::create_dir(path) {
        // Somebody else may be as fast.
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        made => made,
    };
    let made = made.and_then(|()| synced(around));
    Ok(made.map_err(FileError::of(path, "cannot be made"))?)
}

/// Moves a whole file to another name, which it has only once its bytes are on the disk.
///
/// # Errors
/// The disk does not take it, or it cannot be moved.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    File::open(from)?.sync_all()?;
    std::fs::rename(from, to)
}

/// Brings the names in a folder to the disk.
fn synced(folder: &Path) -> io::Result<()> {
    match folder.as_os_str().is_empty() {
        true => File::open(".")?.sync_all(),
        false => File::open(folder)?.sync_all(),
    }
}

/// Gives a new file the rights of the one that it replaces, and its owner and attributes as
/// far as this user may.
fn dress(file: &File, path: &Path, old: &Metadata) -> io::Result<()> {
    // Owner first: a change of it takes rights away.
    fchown(file, Some(old.uid()), Some(old.gid())).ok();
    let mut names = vec![0; 65_536];
    let length = listxattr(path, &mut names).unwrap_or(0);
    let names = names.get(..length).unwrap_or_default();
    let mut value = vec![0; 65_536];
    for name in names.split(|b| *b == 0).filter(|n| !n.is_empty()) {
        // What a program may do goes with its bytes.
        if name != b"security.capability"
            && let Ok(length) = getxattr(path, name, &mut value)
            && let Some(value) = value.get(..length)
        {
            fsetxattr(file, name, value, XattrFlags::empty()).ok();
        }
    }
    file.set_permissions(old.permissions())
}

/// What a file is called before it has its own name, where it has a name at all.
const PREFIX: &str = ".firstlight-";
const SUFFIX: &str = ".new";
/// The umask takes away what the user does not want.
const RIGHTS: u32 = 0o666;
/// Younger ones may be of a writer that did not come to lock them yet.
const OLD: Duration = Duration::from_secs(60);

/// A new file: without a name, so that nothing is left of it if its writer is killed
/// before all is written; with one, where the filesystem or the system cannot do that.
enum New {
    Anonymous(File),
    Named(NamedTempFile),
}

impl New {
    fn in_folder(folder: &Path) -> io::Result<Self> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file = openat(CWD, folder, flags, Mode::from_raw_mode(RIGHTS)).map(File::from);
        match file {
            // It gets its name by way of /proc.
            Ok(file) if Path::new(&proc_name(&file)).exists() => Ok(Self::Anonymous(file)),
            _ => Ok(Self::Named(names().tempfile_in(folder)?)),
        }
    }

    fn file(&mut self) -> &mut File {
        match self {
            Self::Anonymous(file) => file,
            Self::Named(named) => named.as_file_mut(),
        }
    }

    /// Brings it to the disk and gives it its name.
    fn persist(self, folder: &Path, path: &Path) -> io::Result<()> {
        let file = match self {
            Self::Anonymous(file) => file,
            Self::Named(named) => {
                named.as_file().sync_all()?;
                return named.persist(path).map(drop).map_err(|e| e.error);
            }
        };
        let link = |to: &Path| {
            let from = proc_name(&file);
            linkat(CWD, from, CWD, to, AtFlags::SYMLINK_FOLLOW).map_err(io::Error::from)
        };
        // A link replaces nothing, and what btrfs (Linux 6.1) syncs of a file that has no
        // name yet does not outlive a power cut: it gets one of its own, is synced, and is
        // renamed.
        let named = names().make_in(folder, link)?;
        file.sync_all()?;
        named.persist(path).map_err(|e| e.error)
    }
}

fn proc_name(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

fn names() -> tempfile::Builder<'static, 'static> {
    let mut names = tempfile::Builder::new();
    names
        .prefix(PREFIX)
        .suffix(SUFFIX)
        .permissions(Permissions::from_mode(RIGHTS));
    names
}

/// Whether a name is of a file that has not its own name yet.
pub fn is_unfinished(name: &OsStr) -> bool {
    name.to_str().is_some_and(|n| {
        let middle = n.strip_prefix(PREFIX).and_then(|n| n.strip_suffix(SUFFIX));
        middle.is_some_and(|m| m.len() == 6 && m.bytes().all(|b| b.is_ascii_alphanumeric()))
    })
}

/// Removes what writers left that were killed while their file had a name of its own.
/// What cannot be looked at is left: the new file is what counts.
fn sweep(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        if is_unfinished(&entry.file_name()) && is_abandoned(&entry.path()).unwrap_or(false) {
            std::fs::remove_file(entry.path()).ok();
        }
    }
}

/// Whether nobody is at work on a file.
fn is_abandoned(path: &Path) -> io::Result<bool> {
    // A link or a pipe of that name is not ours, and must not be waited for.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(CWD, path, flags, Mode::empty())?);
    let metadata = file.metadata()?;
    let age = metadata.modified()?.elapsed().unwrap_or_default();
    let is_old = metadata.is_file() && age > OLD;
    Ok(is_old && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok())
}

/// Where a link leads, and what the file is that is there.
fn target(path: &Path) -> Result<(PathBuf, Option<Metadata>), BesideError> {
    match std::fs::metadata(path) {
        Ok(old) if old.is_file() => {
            let real = std::fs::canonicalize(path);
            let real = real.map_err(FileError::of(path, "cannot be found"))?;
            Ok((real, Some(old)))
        }
        Ok(old) if old.is_dir() => Err(BesideError::Folder { path: path.into() }),
        Ok(_) => Err(BesideError::Device { path: path.into() }),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok((path.to_owned(), None)),
        Err(e) => Err(FileError::of(path, "cannot be written")(e).into()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::print_stdout,
        reason = "a test, which says what it skips"
    )]
    use super::*;
    use rustix::fs::setxattr;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    #[derive(Debug, thiserror::Error)]
    enum TestError {
        #[error(transparent)]
        Beside(#[from] BesideError),
        #[error(transparent)]
        Io(#[from] io::Error),
        #[error("no more")]
        NoMore,
    }

    #[test]
    fn a_failure_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        std::fs::write(&path, "old").unwrap();
        let failed: Result<(), TestError> = write(&path, |file| {
            file.write_all(b"half")?;
            Err(TestError::NoMore)
        });
        assert_eq!(failed.unwrap_err().to_string(), "no more");
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_new_file_has_the_owner_and_attributes_of_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        std::fs::write(&path, "old").unwrap();
        if setxattr(&path, "user.who", b"me", XattrFlags::empty()).is_err() {
            println!("skipped: no attributes on {:?}", folder.path());
            return;
        }
        let is_root = std::os::unix::fs::chown(&path, Some(1000), Some(100)).is_ok();
        write(&path, |file| Ok::<_, TestError>(file.write_all(b"new")?)).unwrap();
        let mut value = [0; 8];
        let length = getxattr(&path, "user.who", &mut value).unwrap();
        assert_eq!(&value[..length], b"me");
        let about = std::fs::metadata(&path).unwrap();
        assert!(!is_root || (about.uid(), about.gid()) == (1000, 100));
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn the_new_file_has_the_rights_of_the_old_one_and_links_stay() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("image"), folder.path().join("link"));
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        symlink("image", &link).unwrap();
        write(&link, |file| Ok::<_, TestError>(file.write_all(b"new")?)).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o640);
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    /// A writer that is killed cannot clean up: there must be nothing to clean.
    #[test]
    fn while_it_is_written_a_file_has_no_name() {
        let folder = tempfile::tempdir().unwrap();
        let flags = OFlags::TMPFILE | OFlags::RDWR;
        if openat(CWD, folder.path(), flags, Mode::RUSR).is_err() {
            println!("skipped: no files without a name on {:?}", folder.path());
            return;
        }
        for there in [false, true] {
            let path = folder.path().join("image");
            write(&path, |file| {
                file.write_all(b"new")?;
                let names = std::fs::read_dir(folder.path())?.count();
                assert_eq!(names, usize::from(there));
                Ok::<_, TestError>(())
            })
            .unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), b"new");
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        }
    }

    #[test]
    fn what_killed_writers_left_is_swept_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let hour = std::time::SystemTime::now() - Duration::from_secs(3600);
        let old = |name: &str| {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_modified(hour).unwrap();
            file
        };
        old(".firstlight-Ab3dE9.new");
        old(".firstlight-notes.new.txt");
        let working = old(".firstlight-aaaaaa.new");
        flock(&working, FlockOperation::LockExclusive).unwrap();
        File::create(folder.path().join(".firstlight-bbbbbb.new")).unwrap();
        symlink("/etc/passwd", folder.path().join(".firstlight-cccccc.new")).unwrap();
        let path = folder.path().join("image");
        write(&path, |_| Ok::<_, TestError>(())).unwrap();
        let entries = std::fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name()).collect();
        names.sort();
        let left = [
            ".firstlight-aaaaaa.new",
            ".firstlight-bbbbbb.new",
            ".firstlight-cccccc.new",
            ".firstlight-notes.new.txt",
            "image",
        ];
        assert_eq!(names, left);
    }

    #[test]
    fn a_folder_and_a_device_are_no_files() {
        for (path, said) in [("/", "is a folder"), ("/dev/null", "is a device")] {
            let refused = write(Path::new(path), |_| Ok::<_, BesideError>(())).unwrap_err();
            assert!(refused.to_string().contains(said), "{refused}");
        }
    }
}
