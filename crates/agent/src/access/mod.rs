//! The access list: what a boot or a program read, in pages, and when first.
//!
//! One list holds files and, for each filesystem, the blocks of its device that
//! hold its metadata. Paths name things, never devices: a disk that gets another
//! name changes nothing. Each entry says how to know that it is still the same
//! file. `docs/prefetch.md` describes the bytes.

mod decode;
mod encode;
mod merge;

pub use decode::{ListError, decode};
pub use encode::encode;
pub use merge::merge;

/// The first line of a list, without its version.
pub const KIND: &str = "firstlight-access-list";

/// The version of the format that this program writes.
pub const VERSION: u32 = 1;

/// The most bytes that a list may have behind its first line.
pub const MOST_BYTES: usize = 64 << 20;

/// The longest path that Linux takes (`PATH_MAX` of `linux/limits.h`).
pub const MOST_PATH_BYTES: usize = 4096;

/// What was read, by whom, and when first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessList {
    /// How many recordings this was made of.
    pub recordings: u32,
    /// The length of a page, in bytes: a power of two.
    pub page_bytes: u32,
    /// The kind of processor, as `uname -m` says it.
    pub machine: String,
    /// What was recorded, for the reader: a command, or `boot`.
    pub title: String,
    /// The names of the programs that entries refer to.
    pub programs: Vec<String>,
    /// Directories that were opened. Their blocks are among those of the devices.
    pub directories: u64,
    /// Files and devices, by path; devices behind the files.
    pub entries: Vec<Entry>,
}

impl AccessList {
    /// Bytes of this kind in files, and in devices.
    #[must_use]
    pub fn bytes_of(&self, kind: RangeKind) -> (u64, u64) {
        let mut sums = (0, 0);
        for entry in &self.entries {
            let pieces = entry.pieces(kind, self.page_bytes);
            let bytes: u64 = pieces.iter().map(|p| p.1).sum();
            match entry.is_device() {
                true => sums.1 += bytes,
                false => sums.0 += bytes,
            }
        }
        sums
    }

    /// Leaves what at least this part of the recordings needed, 0 to 1.
    pub fn keep_stable(&mut self, part: f64) {
        let least = part * f64::from(self.recordings);
        for entry in &mut self.entries {
            entry.ranges.retain(|r| f64::from(r.seen) >= least);
        }
        self.entries.retain(|e| !e.ranges.is_empty());
    }
}

/// A file, or the metadata of a filesystem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The file's path, or where the filesystem was mounted: absolute, without
    /// `.`, `..` or empty parts.
    pub path: Vec<u8>,
    /// How to know it again.
    pub identity: Identity,
    /// Who needed it first: a place in [`AccessList::programs`].
    pub program: u32,
    /// What was needed of it, in order, without overlap.
    pub ranges: Vec<Range>,
}

/// How to know a file or a filesystem again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// A regular file.
    File {
        /// Its length, in bytes.
        size: u64,
        /// When its content changed: seconds since 1970.
        mtime_s: i64,
        /// And nanoseconds.
        mtime_ns: u32,
        /// Its inode number.
        inode: u64,
        /// The generation of that number, 0 where the filesystem has none.
        generation: u32,
    },
    /// The device below a filesystem.
    Device {
        /// The filesystem's length, in bytes.
        size: u64,
        /// The kind of filesystem, as `statfs` says it.
        kind: u64,
        /// The filesystem's own number, as `statfs` says it.
        number: u64,
    },
}

/// Pages that lie together and were needed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first page.
    pub page: u64,
    /// How many pages.
    pub pages: u64,
    /// When the first of them was needed first, in microseconds since the
    /// recording began; the mean over several recordings.
    pub first_us: u64,
    /// In how many recordings it was needed.
    pub seen: u32,
    /// How that is known.
    pub kind: RangeKind,
}

/// How a range is known to be needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RangeKind {
    /// The kernel mapped these pages around one that was touched, since they were
    /// in memory already: perhaps needed.
    Around,
    /// They were read or touched.
    Touched,
}

impl Range {
    /// The page behind the last one.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.page.saturating_add(self.pages)
    }
}

impl Entry {
    /// Whether this is a filesystem's metadata.
    #[must_use]
    pub const fn is_device(&self) -> bool {
        matches!(self.identity, Identity::Device { .. })
    }

    /// The length of the file or the filesystem, in bytes.
    #[must_use]
    pub const fn size(&self) -> u64 {
        match self.identity {
            Identity::File { size, .. } | Identity::Device { size, .. } => size,
        }
    }

    /// When any of it was needed first, in microseconds.
    #[must_use]
    pub fn first_us(&self) -> u64 {
        self.ranges.iter().map(|r| r.first_us).min().unwrap_or(0)
    }

    /// The bytes of this kind that were needed, as (offset, length): neighbours in
    /// one piece, and nothing behind the end of the file.
    #[must_use]
    pub fn pieces(&self, kind: RangeKind, page_bytes: u32) -> Vec<(u64, u64)> {
        let page = u64::from(page_bytes);
        let mut pieces: Vec<(u64, u64)> = Vec::new();
        for range in self.ranges.iter().filter(|r| r.kind == kind) {
            let start = range.page.saturating_mul(page);
            let end = range.end().saturating_mul(page).min(self.size());
            if end <= start {
                continue;
            }
            match pieces.last_mut() {
                Some((at, length)) if at.saturating_add(*length) == start => *length = end - *at,
                _ => pieces.push((start, end - start)),
            }
        }
        pieces
    }
}

/// Whether a path is absolute and stays below `/`, whatever follows it.
#[must_use]
pub fn is_plain(path: &[u8]) -> bool {
    let Some(rest) = path.strip_prefix(b"/") else {
        return false;
    };
    if path.len() > MOST_PATH_BYTES || path.contains(&0) {
        return false;
    }
    // `/` alone is where a root filesystem is mounted.
    rest.is_empty()
        || rest
            .split(|b| *b == b'/')
            .all(|part| !matches!(part, b"" | b"." | b".."))
}

/// The sum over `bytes` that lists carry: the CRC-32 of Ethernet and zlib.
#[must_use]
pub fn checksum(bytes: &[u8]) -> u32 {
    crate::bytes::crc32(bytes)
}
