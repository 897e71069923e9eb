//! What Linux reads when a page is needed and is not in memory: more than that page.
//!
//! A page of a mapped file brings those around it, a read from a file's beginning a
//! window that grows, an inode those beside it in the table. Rules and numbers:
//! `page_cache_sync_ra` and `ondemand_readahead` of `mm/readahead.c`,
//! `do_sync_mmap_readahead` of `mm/filemap.c` and `__ext4_get_inode_loc` of
//! `fs/ext4/inode.c`, of Linux 6.1.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// The length of a page, in bytes.
pub const PAGE: u64 = 4096;

/// ext4 reads so many blocks of an inode table together, and the one behind them
/// (`inode_readahead_blks`).
const INODE_BLOCKS: u64 = 32;

/// Blocks of a directory that is searched from its beginning are asked for together, so
/// many at once (`NAMEI_RA_SIZE` of `fs/ext4/namei.c`).
const DIRECTORY_BLOCKS: u64 = 8;

/// The most that Linux asks for in one request, as the lab sets it. What is read in more
/// than a window is read ahead by up to as much (`bdi->io_pages`).
pub(crate) const MOST_REQUEST_BYTES: u64 = 512 << 10;

/// How a file's pages come into memory on demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It is mapped.
    Mapped,
    /// A program or a library: its beginning is read, and then it is mapped
    /// (`prepare_binprm` of `fs/exec.c`; the loader of the C library does the same).
    Program,
    /// A kernel module: its beginning is read, and then all of it at once (`libkmod`, and
    /// `kernel_read_file` of `fs/kernel_read_file.c`).
    Module,
    /// It is read from the beginning on.
    Read,
    /// Blocks of the device: those of directories that are needed together, inode tables
    /// with what is beside, the others alone.
    Device,
}

/// A file and where it lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// How it is used.
    pub access: Access,
    /// Its length, in bytes.
    pub bytes: u64,
    /// Its pieces: offset, place on the device, length, in bytes; in order.
    pub extents: Vec<(u64, u64, u64)>,
    /// Of a device: where inode tables lie, in pages, in order.
    pub tables: Vec<Range<u64>>,
    /// Of a device: pages that are not read through the filesystem but by programs that
    /// look at the device; in order.
    pub looked_at: Vec<Range<u64>>,
}

/// The range that has `page`.
fn with(ranges: &[Range<u64>], page: u64) -> Option<&Range<u64>> {
    let behind = ranges.partition_point(|r| r.start <= page);
    let range = ranges.get(behind.checked_sub(1)?)?;
    (page < range.end).then_some(range)
}

impl File {
    /// Where a page lies on the device, in bytes; a hole lies nowhere.
    #[must_use]
    pub fn place(&self, page: u64) -> Option<u64> {
        let at = page.saturating_mul(PAGE);
        let behind = self.extents.partition_point(|e| e.0 <= at);
        let (offset, place, bytes) = *self.extents.get(behind.checked_sub(1)?)?;
        let within = at - offset;
        (within < bytes).then(|| place.saturating_add(within))
    }

    fn pages(&self) -> u64 {
        self.bytes.div_ceil(PAGE)
    }

    /// Whether programs look at a page of a device themselves.
    #[must_use]
    pub fn is_looked_at(&self, page: u64) -> bool {
        with(&self.looked_at, page).is_some()
    }

    /// Whether a page is of an inode table.
    #[must_use]
    pub fn is_inode(&self, page: u64) -> bool {
        with(&self.tables, page).is_some()
    }

    /// The pages of an inode table that come with `page`, if it is in one.
    fn inodes(&self, page: u64) -> Option<Range<u64>> {
        let table = with(&self.tables, page)?;
        let first = (page / INODE_BLOCKS * INODE_BLOCKS).max(table.start);
        Some(first..(first + INODE_BLOCKS + 1).min(table.end))
    }
}

/// What is in memory of one file, and how far it was read ahead.
#[derive(Clone, Debug, Default)]
pub struct Cached {
    /// What each page comes with that was asked for: the number of a request.
    ready: HashMap<u64, u64>,
    /// Pages that lie nowhere: they are empty, and there as soon as they are asked for.
    empty: HashSet<u64>,
    /// `struct file_ra_state`: the window, and how much of its end is ahead.
    start: u64,
    size: u64,
    ahead: u64,
    /// The page at which the next window is asked for.
    marker: Option<u64>,
    last: Option<u64>,
}

impl Cached {
    /// What a page comes with, if it was asked for.
    #[must_use]
    pub fn ready(&self, page: u64) -> Option<u64> {
        self.ready.get(&page).copied()
    }

    /// A page comes with the request `number`, unless it does with another.
    pub fn put(&mut self, page: u64, number: u64) {
        self.ready.entry(page).or_insert(number);
    }

    /// The pages that are asked for when `page` is needed, `wanted` of them in one
    /// go, with windows of `most` pages: some may be in memory already, and none may
    /// be asked for.
    pub fn asks(&mut self, file: &File, page: u64, wanted: u64, most: u64) -> Range<u64> {
        let asked = self.around(file, page, wanted, most);
        let empty = asked.clone().filter(|p| file.place(*p).is_none());
        self.empty.extend(empty);
        asked
    }

    fn is_there(&self, page: u64) -> bool {
        self.ready.contains_key(&page) || self.empty.contains(&page)
    }

    fn around(&mut self, file: &File, page: u64, wanted: u64, most: u64) -> Range<u64> {
        let (wanted, most) = match file.access {
            Access::Program | Access::Module if page == 0 => (1, most),
            Access::Module if most > 0 => {
                let rest = file.pages().saturating_sub(page);
                (rest, most.max(rest.min(MOST_REQUEST_BYTES / PAGE)))
            }
            _ => (wanted, most),
        };
        let is_there = self.is_there(page);
        let is_marker = is_there && self.marker == Some(page);
        let is_metadata = file.access == Access::Device && with(&file.looked_at, page).is_none();
        let last = match is_metadata {
            true => self.last,
            false => self.last.replace(page),
        };
        if is_there && !is_marker {
            return page..page;
        }
        let end = file.pages().max(page + 1);
        let alone = page..(page + wanted.max(1)).min(end);
        if most == 0 {
            return alone;
        }
        let window = match file.access {
            Access::Device if is_metadata => {
                let together = page + wanted.clamp(1, DIRECTORY_BLOCKS);
                return file.inodes(page).unwrap_or(page..together.min(end));
            }
            // What is behind comes by being mapped: the loader begins at the other end.
            Access::Program if page == 0 && !is_there => {
                return 0..first(1, most).min(end);
            }
            Access::Mapped | Access::Program if !is_there => {
                self.start = page.saturating_sub(most / 2);
                self.size = most;
                self.ahead = most / 4;
                self.start..self.start + most
            }
            _ => match self.window(page, wanted, most, last) {
                Some(window) => window,
                None => return alone,
            },
        };
        let marker = self.start + self.size - self.ahead;
        self.marker = (marker < end).then_some(marker);
        window.start.min(end)..window.end.min(end)
    }

    /// `ondemand_readahead`; `None`: just what was asked for.
    fn window(
        &mut self,
        page: u64,
        wanted: u64,
        most: u64,
        last: Option<u64>,
    ) -> Option<Range<u64>> {
        let wanted = wanted.clamp(1, most);
        let follows = self.size > 0
            && (page == self.start + self.size - self.ahead || page == self.start + self.size);
        if page > 0 && follows {
            self.start += self.size;
            self.size = grown(self.size, most);
            self.ahead = self.size;
        } else if self.marker == Some(page) {
            let there = (page..).take_while(|p| self.is_there(*p)).count() as u64;
            self.start = page + there;
            self.size = grown(there + wanted, most);
            self.ahead = self.size;
        } else {
            let is_next = last.is_some_and(|l| page.checked_sub(l).is_some_and(|gap| gap <= 1));
            let before = (1..=page.min(most)).take_while(|n| self.is_there(page - n));
            if page == 0 || is_next || before.count() as u64 > wanted {
                self.start = page;
                self.size = first(wanted, most);
                self.ahead = match self.size > wanted {
                    true => self.size - wanted,
                    false => self.size,
                };
            } else {
                return None;
            }
        }
        // The marker would be at the page itself: the next window comes along.
        if page == self.start && self.size == self.ahead {
            self.ahead = grown(self.size, most);
            self.size += self.ahead;
        }
        Some(self.start..self.start + self.size)
    }
}

/// `get_init_ra_size`.
fn first(wanted: u64, most: u64) -> u64 {
    let size = wanted.next_power_of_two();
    if size <= most / 32 {
        size * 4
    } else if size <= most / 4 {
        size * 2
    } else {
        most
    }
}

/// `get_next_ra_size`.
const fn grown(size: u64, most: u64) -> u64 {
    if size < most / 16 {
        size * 4
    } else if size <= most / 2 {
        size * 2
    } else {
        most
    }
}

#[cfg(test)]
mod tests {
    use super::{Access, Cached, File, PAGE};

    fn file(access: Access, pages: u64) -> File {
        let bytes = pages * PAGE;
        File {
            access,
            bytes,
            extents: vec![(0, 0, bytes)],
            tables: Vec::new(),
            looked_at: Vec::new(),
        }
    }

    /// What is asked for, page after page; 32 pages are a window.
    fn asked(file: &File, pages: &[u64]) -> Vec<(u64, u64)> {
        let mut cached = Cached::default();
        let mut all = Vec::new();
        for page in pages {
            let window = cached.asks(file, *page, 1, 32);
            for page in window.clone() {
                cached.put(page, 0);
            }
            all.push((window.start, window.end - window.start));
        }
        all
    }

    #[test]
    fn a_read_from_the_beginning_grows() {
        let seen = asked(&file(Access::Read, 100), &[0, 1, 2, 4, 12, 28, 60, 92]);
        let windows = [
            (0, 4),
            (4, 8),
            (2, 0),
            (12, 16),
            (28, 32),
            (60, 32),
            (92, 8),
        ];
        assert_eq!(seen[..7], windows);
    }

    #[test]
    fn a_page_somewhere_comes_alone_and_a_mapped_one_with_those_around() {
        assert_eq!(asked(&file(Access::Read, 100), &[50, 7]), [(50, 1), (7, 1)]);
        let seen = asked(&file(Access::Mapped, 100), &[50, 60, 58, 5, 99]);
        assert_eq!(seen, [(34, 32), (60, 0), (66, 32), (0, 32), (83, 17)]);
    }

    /// As Debian's kernel 6.1 was seen to ask for them, on a network block device.
    #[test]
    fn programs_and_modules_begin_with_a_read_of_their_beginning() {
        let seen = asked(&file(Access::Program, 100), &[0, 1, 3, 4, 50]);
        assert_eq!(seen, [(0, 4), (1, 0), (3, 0), (0, 32), (34, 32)]);
        for (pages, windows) in [
            (197, [(0, 4), (4, 16), (20, 32), (52, 64), (116, 81)]),
            (64, [(0, 4), (4, 8), (12, 16), (28, 32), (60, 4)]),
        ] {
            let module: Vec<u64> = (0..pages).collect();
            let mut seen = asked(&file(Access::Module, pages), &module);
            seen.retain(|window| window.1 > 0);
            assert_eq!(seen, windows);
        }
    }

    #[test]
    fn pages_that_lie_nowhere_are_asked_for_once() {
        let holey = File {
            extents: vec![(0, 0, 2 * PAGE), (5 * PAGE, 0, 95 * PAGE)],
            ..file(Access::Mapped, 100)
        };
        let mut cached = Cached::default();
        assert_eq!(cached.asks(&holey, 3, 1, 32), 0..32);
        assert!(cached.asks(&holey, 4, 1, 32).is_empty());
        // Page 5 lies somewhere, and was not put.
        assert_eq!(cached.asks(&holey, 5, 1, 32), 0..32);
    }

    #[test]
    fn inodes_come_with_those_beside_them() {
        let mut device = file(Access::Device, 1000);
        device.tables = vec![100..164, 500..520];
        let seen = asked(&device, &[99, 130, 140, 163, 519, 520]);
        let windows = [(99, 1), (128, 33), (140, 0), (160, 4), (512, 8), (520, 1)];
        assert_eq!(seen, windows);
        // The blocks of a directory, from its first on.
        let mut cached = Cached::default();
        assert_eq!(cached.asks(&device, 200, 20, 32), 200..208);
        // A program that looks at the device reads it like a file.
        device.looked_at = vec![0..50, 700..800];
        assert_eq!(asked(&device, &[0, 60, 1]), [(0, 4), (60, 1), (4, 8)]);
    }

    #[test]
    fn what_is_asked_for_holds_the_page_and_ends_with_the_file() {
        let mut state = 1u64;
        let mut next = |most: u64| {
            state = state * 48_271 % 0x7fff_ffff;
            state % most
        };
        for access in [
            Access::Read,
            Access::Mapped,
            Access::Program,
            Access::Module,
            Access::Device,
        ] {
            for round in 0..200 {
                let file = file(access, 1 + next(300));
                let mut cached = Cached::default();
                for _ in 0..40 {
                    let page = next(file.pages());
                    let was_there = cached.ready(page).is_some();
                    let window = cached.asks(&file, page, 1 + next(8), round % 40);
                    assert!(
                        was_there || window.contains(&page),
                        "{access:?}: {window:?}"
                    );
                    assert!(window.end <= file.pages());
                    window.for_each(|page| cached.put(page, 0));
                }
            }
        }
    }
}
