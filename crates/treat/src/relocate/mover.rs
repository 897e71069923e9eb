//! Exchanging the places of files with free space in one piece.
//!
//! A donor is a file without a name: a crash leaves nothing of it. The kernel
//! copies the content within its page cache and journals each exchange, which is
//! committed after the content is at its new place: at any moment, every file
//! is whole. So one sync at the end is enough.

use super::error::Error;
use super::files::{Skipped, Wanted, reason};
use super::layout::layout;
use agent::extents::{exchange, extents};
use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// So many donors are tried; the one in the fewest pieces is taken.
const TRIES: usize = 4;
/// An exchange that meets a busy page is tried so often again.
const BUSY: u32 = 5;

/// A program that runs is waited for so often and so long when files are put back.
const WAITS: u32 = 20;
const WAIT: Duration = Duration::from_millis(100);

/// What was moved, and what could not be.
pub(super) struct Done {
    pub skipped: Vec<Skipped>,
    /// Has the old places now.
    donor: OwnedFd,
    moved: Vec<Moved>,
}

/// A piece that was exchanged, in blocks.
struct Moved {
    /// Its file's place among those that were to be moved.
    number: usize,
    from: u64,
    at: u64,
    blocks: u64,
}

impl Done {
    /// Puts everything back where it lay, of the same files: what stays where it is, for
    /// its file runs or became shorter meanwhile, or the kernel refuses.
    pub fn undo(self, root: &OwnedFd, wanted: &[Wanted]) -> Vec<Skipped> {
        let mut stay = Vec::new();
        for pieces in self.moved.chunk_by(|a, b| a.number == b.number) {
            let Some(wanted) = pieces.first().and_then(|m| wanted.get(m.number)) else {
                continue;
            };
            let back = free(wanted, root).map_err(reason).and_then(|file| {
                pieces.iter().try_for_each(|m| {
                    let (_, done) = all_of(&file, m.from, &self.donor, m.at, m.blocks);
                    done.map_err(|e| e.to_string())
                })
            });
            if let Err(reason) = back {
                stay.push(Skipped {
                    path: wanted.path.clone(),
                    reason,
                });
            }
        }
        stay
    }
}

/// A file for writing, waited for while it runs.
fn free(wanted: &Wanted, root: &OwnedFd) -> Result<OwnedFd, Errno> {
    for _ in 0..WAITS {
        match wanted.for_writing(root) {
            Err(Errno::TXTBSY) => std::thread::sleep(WAIT),
            opened => return opened,
        }
    }
    wanted.for_writing(root)
}

/// Puts the content of `wanted` one behind the other, in that order.
/// `tell` is given the number of the file that is moved.
pub(super) fn apply(
    root: &OwnedFd,
    shown: &str,
    wanted: &[Wanted],
    tell: &dyn Fn(usize),
) -> Result<Done, Error> {
    let block = rustix::param::page_size() as u64;
    let total: u64 = wanted.iter().map(Wanted::bytes).sum();
    let donor = donor(root, shown, total)?;
    let (mut skipped, mut moved) = (Vec::new(), Vec::new());
    let mut at = 0;
    for (number, file) in wanted.iter().enumerate() {
        if number % 16 == 0 {
            tell(number);
        }
        let start = at;
        let open = match file.for_writing(root) {
            Ok(open) => open,
            Err(why) => {
                skipped.push(Skipped {
                    path: file.path.clone(),
                    reason: reason(why),
                });
                continue;
            }
        };
        for extent in &file.extents {
            let blocks = extent.bytes / block;
            let from = extent.offset / block;
            let (done, result) = all_of(&open, from, &donor, at, blocks);
            if done > 0 {
                moved.push(Moved {
                    number,
                    from,
                    at,
                    blocks: done,
                });
                at += done;
            }
            if let Err(e) = result {
                skipped.push(Skipped {
                    path: file.path.clone(),
                    reason: if at == start {
                        format!("the kernel does not move it: {e}")
                    } else {
                        format!("the kernel moved only a part of it: {e}")
                    },
                });
                break;
            }
        }
    }
    Ok(Done {
        skipped,
        donor,
        moved,
    })
}

/// Exchanges all of a piece; the kernel may do it in several steps. How many blocks were
/// exchanged, and why not all.
fn all_of(
    file: &OwnedFd,
    from: u64,
    donor: &OwnedFd,
    at: u64,
    blocks: u64,
) -> (u64, std::io::Result<()>) {
    let (mut done, mut busy) = (0, 0);
    while done < blocks {
        match exchange(file, from + done, donor, at + done, blocks - done) {
            Ok(0) => {
                let nothing = std::io::Error::other("nothing was exchanged");
                return (done, Err(nothing));
            }
            Ok(moved) => done += moved,
            Err(e) if e.raw_os_error() == Some(Errno::BUSY.raw_os_error()) && busy < BUSY => {
                busy += 1;
                rustix::fs::fdatasync(file).ok();
            }
            Err(e) => return (done, Err(e)),
        }
    }
    (done, Ok(()))
}

/// A file without a name, of `bytes` bytes in as few pieces as can be had.
fn donor(root: &OwnedFd, shown: &str, bytes: u64) -> Result<OwnedFd, Error> {
    let cannot = |what: &'static str| Error::io::<Errno, _>(shown, what);
    let mut best: Option<(u64, OwnedFd)> = None;
    // Those that are not taken are kept until the end, so that each try finds
    // another place.
    let mut others = Vec::new();
    for _ in 0..TRIES {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let donor = rustix::fs::openat(root, c".", flags, Mode::RUSR | Mode::WUSR)
            .map_err(cannot("no file without a name can be made there"))?;
        match rustix::fs::fallocate(&donor, FallocateFlags::empty(), 0, bytes) {
            Ok(()) => {}
            Err(Errno::NOSPC | Errno::DQUOT) if best.is_some() => break,
            Err(e @ (Errno::NOSPC | Errno::DQUOT)) => {
                let what = format!("{bytes} bytes of free space are needed while the files move");
                return Err(Error::io(shown, what)(e));
            }
            Err(e) => return Err(cannot("no space can be taken")(e)),
        }
        rustix::fs::fsync(&donor).map_err(cannot("cannot be synced"))?;
        let found = extents(&donor, 0, u64::MAX, usize::MAX);
        let found = found.map_err(Error::io(shown, "its free space cannot be looked at"))?;
        let breaks = layout(&found).discontinuities;
        match &mut best {
            Some((fewest, _)) if *fewest <= breaks => others.push(donor),
            best => others.extend(best.replace((breaks, donor)).map(|b| b.1)),
        }
        // Another try takes as much again; others need room meanwhile, too.
        let room = rustix::fs::fstatvfs(root).map(|fs| fs.f_bavail.saturating_mul(fs.f_frsize));
        if breaks == 0 || room.is_ok_and(|room| room < bytes.saturating_mul(2)) {
            break;
        }
    }
    match best {
        Some((_, donor)) => Ok(donor),
        None => Err(Error::unusable(shown, "no space can be taken")),
    }
}
