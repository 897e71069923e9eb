//! What the kernel reads of mapped files when nothing was read ahead: around each page that is
//! missing, and on from there when what it has read is used.
//!
//! After `do_sync_mmap_readahead` and `do_async_mmap_readahead` in `mm/filemap.c` and
//! `ondemand_readahead` in `mm/readahead.c` of Linux 6.1, for the default read-ahead of 128 KiB
//! (`VM_READAHEAD_PAGES`). Files that are read and not mapped are read forwards in pieces that
//! grow to the same length; they are taken for mapped ones.

use agent::access::{Entry, Range};
use std::collections::HashSet;

/// How many bytes are read at once.
const BYTES: u64 = 128 << 10;

/// What was read last of a file, in pages.
#[derive(Clone, Copy, Default)]
struct Window {
    start: u64,
    end: u64,
    /// Once this page is used, the next window is read.
    mark: u64,
}

/// A file of which pages are in memory.
struct File {
    pages: u64,
    cached: HashSet<u64>,
    last: Window,
}

/// What is read of the files of `entries`, the files in the order of the list, each range with
/// the time at which it is read.
pub(super) fn read(entries: &[Entry], page_bytes: u32) -> Vec<(usize, Range)> {
    let page = u64::from(page_bytes.max(1));
    let around = (BYTES / page).max(1);
    let mut found = Vec::new();
    for (number, entry) in entries.iter().enumerate().filter(|(_, e)| !e.is_device()) {
        let mut file = File {
            pages: entry.size().div_ceil(page),
            cached: HashSet::new(),
            last: Window::default(),
        };
        let mut ranges: Vec<&Range> = entry.ranges.iter().collect();
        ranges.sort_by_key(|r| (r.first_us, r.page));
        for range in ranges {
            for touched in range.page..range.end().min(file.pages) {
                let pieces = file.touch(touched, around);
                let of_piece = |(page, pages)| {
                    (
                        number,
                        Range {
                            page,
                            pages,
                            ..*range
                        },
                    )
                };
                found.extend(pieces.into_iter().map(of_piece));
            }
        }
    }
    found
}

impl File {
    /// A page is used: what is read then, as first page and number of pages.
    fn touch(&mut self, page: u64, around: u64) -> Vec<(u64, u64)> {
        let start = if !self.cached.contains(&page) {
            page.saturating_sub(around / 2)
        } else if page == self.last.mark && self.last.end > self.last.start {
            self.last.end
        } else {
            return Vec::new();
        };
        let end = start.saturating_add(around).min(self.pages);
        let is_next = start == self.last.end && start > 0;
        self.last = Window {
            start,
            end,
            mark: if is_next {
                start
            } else {
                end.saturating_sub(around / 4)
            },
        };
        let mut pieces: Vec<(u64, u64)> = Vec::new();
        for page in start..end {
            if !self.cached.insert(page) {
                continue;
            }
            match pieces.last_mut() {
                Some((first, count)) if *first + *count == page => *count += 1,
                _ => pieces.push((page, 1)),
            }
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::read;
    use agent::access::{Entry, Identity, Range, RangeKind};

    /// What is read, in pages, if these pages of a file of `pages` are used in this order.
    fn pieces(pages: u64, used: &[u64]) -> Vec<(u64, u64)> {
        let range = |(first_us, page): (u64, &u64)| Range {
            page: *page,
            pages: 1,
            first_us,
            seen: 1,
            kind: RangeKind::Touched,
        };
        let entry = Entry {
            path: b"/lib/a.so".to_vec(),
            identity: Identity::File {
                size: pages * 4096,
                mtime_s: 0,
                mtime_ns: 0,
                inode: 1,
                generation: 0,
            },
            program: 0,
            ranges: (0..).zip(used).map(range).collect(),
        };
        let all = read(&[entry], 4096);
        all.iter().map(|(_, r)| (r.page, r.pages)).collect()
    }

    #[test]
    fn a_missing_page_brings_what_lies_around_it() {
        assert_eq!(pieces(1000, &[100]), [(84, 32)]);
        assert_eq!(pieces(1000, &[4]), [(0, 32)]);
        assert_eq!(pieces(10, &[4]), [(0, 10)]);
        // What is there is not read again.
        assert_eq!(pieces(1000, &[100, 90, 120]), [(84, 32), (116, 20)]);
    }

    #[test]
    fn what_is_used_forwards_is_read_on() {
        // The page 24 of the first 32 is the mark, and each later window has it at its begin.
        assert_eq!(pieces(1000, &[4, 24, 32]), [(0, 32), (32, 32), (64, 32)]);
        assert_eq!(pieces(40, &[4, 24, 32]), [(0, 32), (32, 8)]);
    }
}
