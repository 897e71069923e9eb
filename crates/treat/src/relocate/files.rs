//! The files that are to be put elsewhere, and where they lie.

use super::error::Error;
use agent::extents::{Extent, extents};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat, fstat};
use rustix::io::Errno;
use std::collections::HashSet;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// A file in more pieces than this is no file of a boot.
const MOST_EXTENTS: usize = 1 << 20;

/// A file that stays where it is, and why.
#[derive(Clone, Debug)]
pub struct Skipped {
    /// The path, as it was given.
    pub path: Vec<u8>,
    /// Why.
    pub reason: String,
}

/// A file to be put elsewhere.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub path: Vec<u8>,
    /// Open for reading.
    pub file: std::sync::Arc<OwnedFd>,
    /// Where its content lies, without what is behind its end.
    pub extents: Vec<Extent>,
}

impl Wanted {
    /// Where the content of several lies, in their order.
    pub fn all_extents(wanted: &[Self]) -> impl Iterator<Item = &Extent> {
        wanted.iter().flat_map(|w| &w.extents)
    }

    /// What it takes, in whole blocks.
    pub fn bytes(&self) -> u64 {
        self.extents.iter().map(|e| e.bytes).sum()
    }

    /// The file, open for writing too, whatever its name is now. Nobody can start a
    /// program that is open so (`ETXTBSY`), and one that runs cannot be opened so: keep it
    /// no longer than the file takes to move.
    ///
    /// # Errors
    /// Why it cannot be moved now: `STALE` if another file has its name.
    pub fn for_writing(&self, root: &OwnedFd) -> Result<OwnedFd, Errno> {
        let own = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        match rustix::fs::open(own, flags, Mode::empty()) {
            // Without /proc, by its name.
            Err(Errno::NOENT) => {}
            opened => return opened,
        }
        let file = open(root, &self.path, true)?;
        let same = |a: &Stat, b: &Stat| (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino);
        match (fstat(&file), fstat(&*self.file)) {
            (Ok(now), Ok(was)) if same(&now, &was) => Ok(file),
            _ => Err(Errno::STALE),
        }
    }
}

/// Opens a path below `root`, never outside of it nor on another filesystem.
fn open(root: &OwnedFd, path: &[u8], writes: bool) -> Result<OwnedFd, Errno> {
    let relative: Vec<u8> = path.iter().copied().skip_while(|b| *b == b'/').collect();
    let access = if writes { OFlags::RDWR } else { OFlags::RDONLY };
    // A pipe or a device is not waited for.
    let flags = access | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
    rustix::fs::openat2(root, relative.as_slice(), flags, Mode::empty(), resolve)
}

/// Why a file cannot be opened, in words.
pub(super) fn reason(error: Errno) -> String {
    match error {
        Errno::STALE => "another file has its name now".to_owned(),
        Errno::NOENT | Errno::NOTDIR => "it is not there".to_owned(),
        Errno::TXTBSY => "it is running".to_owned(),
        Errno::PERM => "it is immutable or append-only".to_owned(),
        Errno::ROFS => "the filesystem is mounted read-only".to_owned(),
        Errno::XDEV => "it is on another filesystem".to_owned(),
        Errno::ISDIR => "it is a folder".to_owned(),
        error => error.to_string(),
    }
}

/// Where a file's content lies: whole blocks, up to its end.
fn content(file: impl AsFd, size: u64) -> std::io::Result<Vec<Extent>> {
    let mut all = extents(&file, 0, u64::MAX, MOST_EXTENTS)?;
    all.retain(|e| e.offset < size);
    let block = rustix::param::page_size() as u64;
    if let Some(last) = all.last_mut() {
        let end = size.next_multiple_of(block);
        last.bytes = last.bytes.min(end.saturating_sub(last.offset));
    }
    Ok(all)
}

/// The files of a list that can be moved, and those that cannot: with `writes`, now.
pub(super) fn find(
    root: &OwnedFd,
    shown: &str,
    list: &[Vec<u8>],
    writes: bool,
) -> Result<(Vec<Wanted>, Vec<Skipped>), Error> {
    let (mut wanted, mut skipped) = (Vec::new(), Vec::new());
    let mut seen = HashSet::new();
    // Each is kept open.
    raise_limit().map_err(Error::io(
        shown,
        "the limit of open files cannot be asked for",
    ))?;
    for path in list {
        let mut skip = |reason: String| {
            skipped.push(Skipped {
                path: path.clone(),
                reason,
            });
        };
        // What is no regular file must not be opened for writing.
        let looked = open(root, path, false).and_then(fstat);
        let about = match looked {
            Ok(about) => about,
            Err(e) => {
                skip(reason(e));
                continue;
            }
        };
        if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile {
            skip("it is no regular file".to_owned());
            continue;
        }
        if !seen.insert((about.st_dev, about.st_ino)) {
            continue;
        }
        let file = match open(root, path, false) {
            Ok(file) => file,
            Err(e) => {
                skip(reason(e));
                continue;
            }
        };
        // Only whether it can be: it is moved later.
        if let (true, Err(e)) = (writes, open(root, path, true)) {
            skip(reason(e));
            continue;
        }
        // What is not on disk yet has no place.
        rustix::fs::fdatasync(&file).ok();
        match content(&file, u64::try_from(about.st_size).unwrap_or(0)) {
            Ok(extents) if extents.is_empty() => skip("it has no blocks".to_owned()),
            Ok(extents) => wanted.push(Wanted {
                path: path.clone(),
                file: file.into(),
                extents,
            }),
            Err(e) => skip(format!("where it lies is not known: {e}")),
        }
    }
    Ok((wanted, skipped))
}

/// As many open files as are allowed.
fn raise_limit() -> std::io::Result<()> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    Ok(setrlimit(Resource::Nofile, limit)?)
}

/// Where the same files lie now.
pub(super) fn look_again(mut wanted: Vec<Wanted>) -> std::io::Result<Vec<Wanted>> {
    for file in &mut wanted {
        let about = fstat(&*file.file)?;
        file.extents = content(&*file.file, u64::try_from(about.st_size).unwrap_or(0))?;
    }
    Ok(wanted)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test")]
mod tests {
    use super::*;
    use std::process::Command;
    use std::thread::sleep;
    use std::time::Duration;

    const MOMENT: Duration = Duration::from_millis(10);

    #[test]
    fn a_program_can_be_started_while_it_waits_to_be_moved() {
        let folder =
            tempfile::tempdir_in(std::env::current_exe().unwrap().parent().unwrap()).unwrap();
        std::fs::copy("/bin/true", folder.path().join("true")).unwrap();
        let root = std::fs::File::open(folder.path()).unwrap().into();
        let (wanted, skipped) = find(&root, "folder", &[b"true".to_vec()], true).unwrap();
        let Some(program) = wanted.first() else {
            eprintln!("skipped: {}", skipped.first().unwrap().reason);
            return;
        };
        let start = || Command::new(folder.path().join("true")).status();
        // A process that another test starts has all that is open for a moment.
        let starts = || (0..100).any(|_| start().is_ok() || (sleep(MOMENT), false).1);
        assert!(starts());
        let open = program.for_writing(&root).unwrap();
        if start().is_ok() {
            eprintln!("skipped: this kernel starts programs that are open for writing");
        }
        drop(open);
        assert!(starts());
        // Whatever its name is now.
        std::fs::rename(folder.path().join("true"), folder.path().join("other")).unwrap();
        std::fs::copy("/bin/false", folder.path().join("true")).unwrap();
        let open = program.for_writing(&root).unwrap();
        assert_eq!(
            fstat(&open).unwrap().st_ino,
            fstat(&*program.file).unwrap().st_ino
        );
    }
}
