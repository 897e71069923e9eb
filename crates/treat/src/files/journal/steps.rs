//! The steps on the target itself: stage, rename, take back.

use super::super::content::{Content, Metadata};
use super::super::error::{FileError, io_error};
use super::super::tree::{Target, join, split};
use super::entry::{Entry, Step};
use super::fault::Fault;
use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, RawMode, Timestamps, Uid, XattrFlags, fchmod, fchown, fsetxattr,
    futimens, mkdirat, openat, renameat, statat, symlinkat, unlinkat, utimensat,
};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

/// Whether a treatment is applied or taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Forth,
    Back,
}

/// The name beside a file that its new bytes wait under.
fn beside(entry: &Entry, at: usize, way: Way) -> String {
    let end = if way == Way::Forth { "new" } else { "old" };
    format!(".firstlight-{:04}-{at}.{end}", entry.number)
}

/// What a path is to hold.
fn wanted(entry: &Entry, at: usize, way: Way) -> Result<Content, FileError> {
    entry.content(at, way == Way::Back)
}

fn failed(
    target: &Target,
    path: &str,
    what: &'static str,
    before: bool,
) -> impl FnOnce(io::Error) -> FileError {
    let path = target.outer(path);
    move |source| FileError::Io {
        path,
        what,
        source,
        before,
    }
}

fn folder_of(target: &Target, path: &str) -> Result<OwnedFd, FileError> {
    let parent = split(path).0;
    let found = target.folder(parent)?;
    let gone = io::Error::from(io::ErrorKind::NotFound);
    found.ok_or_else(|| io_error(target.outer(parent), "does not exist anymore")(gone))
}

/// Writes every new file beside the one that it will replace.
pub(super) fn stage(
    target: &Target,
    entry: &Entry,
    way: Way,
    fault: Fault<'_>,
) -> Result<(), FileError> {
    if way == Way::Forth {
        for folder in &entry.format.made {
            let parent = folder_of(target, folder)?;
            let name = split(folder).1;
            let made = fault("mkdir").and_then(|()| {
                // What the umask takes away stays away.
                mkdirat(&parent, name, Mode::from_raw_mode(0o755))?;
                Ok(rustix::fs::fsync(&parent)?)
            });
            match made {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                made => made.map_err(failed(target, folder, "cannot be created", true))?,
            }
        }
    }
    for (at, step) in entry.format.steps.iter().enumerate() {
        let name = beside(entry, at, way);
        let content = wanted(entry, at, way)?;
        if content == Content::Absent {
            continue;
        }
        let folder = folder_of(target, &step.path)?;
        let done = fault("stage").and_then(|()| place(&folder, &name, &content, step, way));
        done.map_err(failed(
            target,
            &step.path,
            "the temporary file next to it cannot be written",
            true,
        ))?;
    }
    Ok(())
}

/// Makes a file or a link with all that it is beside its bytes.
fn place(folder: &OwnedFd, name: &str, content: &Content, step: &Step, way: Way) -> io::Result<()> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(e) => return Err(e.into()),
    }
    // A link in place of a file has none of the file's rights.
    let was_link = step.before.starts_with("link ");
    let metadata = step.metadata.as_ref();
    match content {
        Content::Absent => {}
        Content::Link(to) => {
            symlinkat(to.as_str(), folder, name)?;
            if let Some(m) = metadata.filter(|_| way == Way::Back || was_link) {
                let owner = (Some(Uid::from_raw(m.uid)), Some(Gid::from_raw(m.gid)));
                rustix::fs::chownat(folder, name, owner.0, owner.1, AtFlags::SYMLINK_NOFOLLOW)?;
                if way == Way::Back {
                    utimensat(folder, name, &m.times(), AtFlags::SYMLINK_NOFOLLOW)?;
                }
            }
        }
        Content::File(bytes) => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
            let mode = Mode::from_raw_mode(0o644);
            let fd = openat(folder, name, flags | OFlags::CLOEXEC, mode)?;
            let mut file = File::from(fd);
            file.write_all(bytes)?;
            if let Some(m) = metadata.filter(|_| !was_link) {
                dress(&file, m, way)?;
            }
            file.sync_all()?;
        }
    }
    sync(folder, content)
}

/// Brings what a folder holds to the disk, with what was just put there.
fn sync(folder: &OwnedFd, content: &Content) -> io::Result<()> {
    match content {
        // A link cannot be synced by itself, and btrfs (Linux 6.1) forgets that it was renamed.
        Content::Link(_) => Ok(rustix::fs::syncfs(folder)?),
        _ => Ok(rustix::fs::fsync(folder)?),
    }
}

/// Gives a file the owner, the rights, the attributes and, on the way back, the
/// times of another one.
fn dress(file: &File, m: &Metadata, way: Way) -> io::Result<()> {
    // Owner first: a change of it takes rights and capabilities away.
    fchown(file, Some(Uid::from_raw(m.uid)), Some(Gid::from_raw(m.gid)))?;
    fchmod(file, Mode::from_raw_mode(m.mode as RawMode))?;
    for (name, value) in &m.attributes {
        fsetxattr(file, name.as_str(), value, XattrFlags::empty())?;
    }
    if way == Way::Back {
        futimens(file, &m.times())?;
    }
    Ok(())
}

/// Whether every path is still what the plan, or the treatment, left.
pub(super) fn unchanged(target: &Target, entry: &Entry, way: Way) -> Result<(), FileError> {
    for (at, step) in entry.format.steps.iter().enumerate() {
        let expected = entry.content(at, way == Way::Forth)?;
        let found = target.look(&step.path)?.1;
        let is = found.map_or(Content::Absent, |f| f.content);
        if is == expected {
            continue;
        }
        return Err(match way {
            Way::Forth => FileError::ChangedSince {
                path: step.path.clone(),
            },
            Way::Back => FileError::ChangedAfter {
                path: step.path.clone(),
                treatment: entry.format.treatment.clone(),
                kept: entry.folder.join("old"),
            },
        });
    }
    Ok(())
}

/// Moves every staged file to its place. May be done again after a crash.
pub(super) fn rename(
    target: &Target,
    entry: &Entry,
    way: Way,
    fault: Fault<'_>,
) -> Result<(), FileError> {
    for (at, step) in entry.format.steps.iter().enumerate() {
        let (name, own) = (beside(entry, at, way), split(&step.path).1);
        let content = wanted(entry, at, way)?;
        // An earlier run may have removed the folder that was made for it.
        if content == Content::Absent && target.folder(split(&step.path).0)?.is_none() {
            continue;
        }
        let folder = folder_of(target, &step.path)?;
        let mut act = || -> io::Result<()> {
            fault("rename")?;
            let gone = match content {
                Content::Absent => unlinkat(&folder, own, AtFlags::empty()),
                // If it is not there, an earlier run moved it.
                _ => renameat(&folder, name.as_str(), &folder, own),
            };
            match gone {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(e) => return Err(e.into()),
            }
            sync(&folder, &content)
        };
        act().map_err(failed(target, &step.path, "cannot be replaced", false))?;
    }
    if way == Way::Back {
        remove_made(target, entry, fault, false)?;
    }
    Ok(())
}

/// Removes the folders that the treatment made, as far as they are empty.
fn remove_made(
    target: &Target,
    entry: &Entry,
    fault: Fault<'_>,
    before: bool,
) -> Result<(), FileError> {
    for folder in entry.format.made.iter().rev() {
        let (parent, name) = split(folder);
        let Some(parent) = target.folder(parent)? else {
            continue;
        };
        let removed = fault("rmdir").and_then(|()| {
            match unlinkat(&parent, name, AtFlags::REMOVEDIR) {
                // Somebody else put something there: it stays.
                Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => {
                    Ok(rustix::fs::fsync(&parent)?)
                }
                Err(e) => Err(e.into()),
            }
        });
        removed.map_err(failed(target, folder, "cannot be removed", before))?;
    }
    Ok(())
}

/// Removes what was staged. May be done again after a crash. All of it is on the disk
/// before the entry goes, whichever filesystem that is on.
pub(super) fn unstage(
    target: &Target,
    entry: &Entry,
    way: Way,
    fault: Fault<'_>,
) -> Result<(), FileError> {
    for (at, step) in entry.format.steps.iter().enumerate() {
        let name = beside(entry, at, way);
        let Some(folder) = target.folder(split(&step.path).0)? else {
            continue;
        };
        let removed = fault("unstage").and_then(|()| {
            match unlinkat(&folder, name.as_str(), AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => Ok(rustix::fs::fsync(&folder)?),
                Err(e) => Err(e.into()),
            }
        });
        let path = join(split(&step.path).0, &name);
        removed.map_err(failed(target, &path, "cannot be removed", true))?;
    }
    if way == Way::Forth {
        remove_made(target, entry, fault, true)?;
        for (folder, read, written) in &entry.format.folders {
            set_times(target, folder, *read, *written, fault)?;
        }
    } else {
        // The folders are as the treatment left them.
        for (folder, written) in entry.times_when_done() {
            let known = entry.format.folders.iter().find(|(f, ..)| *f == folder);
            if let Some((_, read, _)) = known.filter(|_| entry.restored().contains(&folder)) {
                set_times(target, &folder, *read, written, fault)?;
            }
        }
    }
    Ok(())
}

/// The folders that nobody but the treatment changed since: their times are put
/// back by the undo.
pub(super) fn folders_to_restore(target: &Target, entry: &Entry) -> Result<Vec<String>, FileError> {
    let mut same = Vec::new();
    for (folder, written) in entry.times_when_done() {
        let Some(parent) = target.folder(&folder)? else {
            continue;
        };
        let stat = statat(&parent, ".", AtFlags::empty())
            .map_err(|e| io_error(target.outer(&folder), "cannot be read")(e.into()))?;
        if Metadata::of(&stat).written == written {
            same.push(folder);
        }
    }
    Ok(same)
}

/// Puts back the times of the folders that the undo was begun for.
pub(super) fn restore_folders(
    target: &Target,
    entry: &Entry,
    fault: Fault<'_>,
) -> Result<(), FileError> {
    let restored = entry.restored();
    for (folder, read, written) in &entry.format.folders {
        if restored.contains(folder) {
            set_times(target, folder, *read, *written, fault)?;
        }
    }
    Ok(())
}

/// Gives a folder its times, on the disk, too.
fn set_times(
    target: &Target,
    folder: &str,
    read: (i64, i64),
    written: (i64, i64),
    fault: Fault<'_>,
) -> Result<(), FileError> {
    let Some(fd) = target.folder(folder)? else {
        return Ok(());
    };
    let about = Metadata {
        mode: 0,
        uid: 0,
        gid: 0,
        read,
        written,
        attributes: Vec::new(),
    };
    let times: Timestamps = about.times();
    let set = fault("times").and_then(|()| {
        futimens(&fd, &times)?;
        Ok(rustix::fs::fsync(&fd)?)
    });
    match set {
        // Somebody else's folder: its time is no reason to stop.
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        set => set.map_err(failed(
            target,
            folder,
            "the modification time cannot be set",
            false,
        )),
    }
}
