//! Exchanging the places of files with free space in one piece.
//!
//! A donor is a file without a name: a crash leaves nothing of it. The kernel
//! copies the content within its page cache and journals each exchange, which is
//! committed after the content is at its new place: at any moment, every file
//! is whole. So one sync at the end is enough.

use super::error::Error;
use super::files::{Skipped, Wanted, reason};
use super::layout::layout;
use agent::extents::{Extent, exchange, extents};
use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// So many donors are tried; the best is taken.
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

/// A file without a name that has as much space as the files.
pub(super) struct Donor {
    file: OwnedFd,
    /// How bad its places are, in the unit of who ranked them.
    pub rank: u64,
}

/// Where files would lie in the space of a donor, whose extents are `space`: for each, as
/// they are moved, one behind the other.
pub(super) fn in_space(wanted: &[Wanted], space: &[Extent]) -> Vec<Vec<Extent>> {
    let mut at = 0;
    let mut places = Vec::with_capacity(wanted.len());
    for file in wanted {
        let mut of_file = Vec::new();
        for extent in &file.extents {
            let end = at + extent.bytes;
            let from = space.partition_point(|s| s.offset.saturating_add(s.bytes) <= at);
            let pieces = space.get(from..).unwrap_or_default();
            for piece in pieces.iter().take_while(|s| s.offset < end) {
                let start = piece.offset.max(at);
                let until = piece.offset.saturating_add(piece.bytes).min(end);
                of_file.push(Extent {
                    offset: extent.offset + (start - at),
                    physical: piece.physical + (start - piece.offset),
                    bytes: until.saturating_sub(start),
                });
            }
            at = end;
        }
        places.push(of_file);
    }
    places
}

/// Puts the content of `wanted` one behind the other, in that order, where the donor lies.
/// `tell` is given the number of the file that is moved.
pub(super) fn apply(root: &OwnedFd, wanted: &[Wanted], donor: Donor, tell: &dyn Fn(usize)) -> Done {
    let block = rustix::param::page_size() as u64;
    let donor = donor.file;
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
    Done {
        skipped,
        donor,
        moved,
    }
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

/// A file without a name, of `bytes` bytes where `rank` is the least that can be had.
pub(super) fn donor(
    root: &OwnedFd,
    shown: &str,
    bytes: u64,
    rank: &dyn Fn(&[Extent]) -> u64,
) -> Result<Donor, Error> {
    let cannot = |what: &'static str| Error::io::<Errno, _>(shown, what);
    let mut best: Option<Donor> = None;
    // Those that are not taken are kept until the end, so that each try finds
    // another place.
    let mut others = Vec::new();
    for _ in 0..TRIES {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file = rustix::fs::openat(root, c".", flags, Mode::RUSR | Mode::WUSR)
            .map_err(cannot("no file without a name can be made there"))?;
        match rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, bytes) {
            Ok(()) => {}
            Err(Errno::NOSPC | Errno::DQUOT) if best.is_some() => break,
            Err(e @ (Errno::NOSPC | Errno::DQUOT)) => {
                let what = format!("{bytes} bytes of free space are needed while the files move");
                return Err(Error::io(shown, what)(e));
            }
            Err(e) => return Err(cannot("no space can be taken")(e)),
        }
        rustix::fs::fsync(&file).map_err(cannot("cannot be synced"))?;
        let found = extents(&file, 0, u64::MAX, usize::MAX);
        let found = found.map_err(Error::io(shown, "its free space cannot be looked at"))?;
        let donor = Donor {
            file,
            rank: rank(&found),
        };
        match &mut best {
            Some(before) if before.rank <= donor.rank => others.push(donor),
            best => others.extend(best.replace(donor)),
        }
        // Another try takes as much again; others need room meanwhile, too.
        let room = rustix::fs::fstatvfs(root).map(|fs| fs.f_bavail.saturating_mul(fs.f_frsize));
        if layout(&found).discontinuities == 0
            || room.is_ok_and(|room| room < bytes.saturating_mul(2))
        {
            break;
        }
    }
    best.ok_or_else(|| Error::unusable(shown, "no space can be taken"))
}

#[cfg(test)]
mod tests {
    use super::{Extent, Wanted, in_space};
    use std::sync::Arc;

    fn extent(offset: u64, physical: u64, bytes: u64) -> Extent {
        Extent {
            offset,
            physical,
            bytes,
        }
    }

    fn file(extents: Vec<Extent>) -> Wanted {
        let file = std::fs::File::open("/dev/null").map(std::os::fd::OwnedFd::from);
        Wanted {
            path: Vec::new(),
            file: Arc::new(file.unwrap_or_else(|_| unreachable!("it is everywhere"))),
            extents,
        }
    }

    #[test]
    fn files_lie_one_behind_the_other_in_the_space_of_the_donor() {
        // The second file has a hole in front.
        let wanted = [
            file(vec![extent(0, 900, 30), extent(30, 500, 30)]),
            file(vec![extent(1000, 100, 50)]),
        ];
        let space = [extent(0, 2000, 40), extent(40, 3000, 70)];
        let found = in_space(&wanted, &space);
        let first = [
            extent(0, 2000, 30),
            extent(30, 2030, 10),
            extent(40, 3000, 20),
        ];
        assert_eq!(found, [first.to_vec(), vec![extent(1000, 3020, 50)]]);
    }
}
