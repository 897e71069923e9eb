//! Whether what a list names is still what was recorded.

use crate::access::{Entry, Identity};
use rustix::fs::{Mode, OFlags, Stat, fstat, open};
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What became of a file since it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is the same.
    Same,
    /// Size and time are the same, and it is another inode: copied, or moved by
    /// a relocation. The ranges hold.
    Moved,
    /// It has another size or another time. The ranges mean nothing.
    Changed,
    /// It is not there, or is no regular file any more.
    Missing,
}

/// Where an entry is below `root`.
#[must_use]
pub fn place(root: &Path, entry: &Entry) -> PathBuf {
    let path = entry.path.strip_prefix(b"/").unwrap_or(&entry.path);
    root.join(Path::new(OsStr::from_bytes(path)))
}

/// The state of an entry of a list whose `/` is `root`.
#[must_use]
pub fn state_of(root: &Path, entry: &Entry) -> State {
    open_entry(root, entry).1
}

/// Opens an entry's file, and says what became of it. Reading it later leaves its
/// time of access alone, where the caller may ask for that.
#[must_use]
pub fn open_entry(root: &Path, entry: &Entry) -> (Option<OwnedFd>, State) {
    let path = place(root, entry);
    if let Identity::Device { kind, number, .. } = entry.identity {
        let same = rustix::fs::statfs(&path).is_ok_and(|s| s.f_type as u64 == kind)
            && rustix::fs::statvfs(&path).is_ok_and(|s| s.f_fsid == number);
        return (None, if same { State::Same } else { State::Changed });
    }
    // A pipe in the file's place must not hold us up.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = open(&path, flags | OFlags::NOATIME, Mode::empty());
    let file = file.or_else(|_| open(&path, flags, Mode::empty()));
    let Ok(file) = file else {
        return (None, State::Missing);
    };
    let Ok(stat) = fstat(&file) else {
        return (None, State::Missing);
    };
    match compare(&stat, &entry.identity) {
        State::Missing => (None, State::Missing),
        state => (Some(file), state),
    }
}

fn compare(stat: &Stat, identity: &Identity) -> State {
    let Identity::File {
        size,
        mtime_s,
        mtime_ns,
        inode,
        ..
    } = *identity
    else {
        return State::Missing;
    };
    let kind = rustix::fs::FileType::from_raw_mode(stat.st_mode);
    if kind != rustix::fs::FileType::RegularFile {
        return State::Missing;
    }
    let same = u64::try_from(stat.st_size) == Ok(size)
        && stat.st_mtime as i64 == mtime_s
        && stat.st_mtime_nsec as u64 == u64::from(mtime_ns);
    match (same, stat.st_ino as u64 == inode) {
        (false, _) => State::Changed,
        (true, true) => State::Same,
        (true, false) => State::Moved,
    }
}
