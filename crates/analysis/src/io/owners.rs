//! Whose what a request read or wrote is: a file, or a part of the filesystem.
//!
//! A request names places on a device, not files. An image of the device says
//! who owns them. Without one, the kernel's page cache says it of many reads:
//! a process first adds the pages of a file to the cache and then asks for
//! them, so that the file of which it added something last is the one that it
//! asks for (`page_cache_ra_unbounded` of mm/readahead.c adds, then submits).

use super::names::{Key, Names};
use hashbrown::HashMap;
use record::{Access, AccessKind, Device, Nanos, Operation, Record, Request};
use std::collections::{BTreeSet, VecDeque};

/// How owners were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OwnersFrom {
    /// They were not.
    #[default]
    Nothing,
    /// An image of the device says who owns its blocks.
    Image,
    /// The file of which the process had just added as much to the page cache.
    PageCache,
}

impl OwnersFrom {
    /// The word used in every output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Image => "image",
            Self::PageCache => "page_cache",
        }
    }
}

/// Who owns what each request of a record is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owners {
    /// How that was found.
    pub from: OwnersFrom,
    names: Vec<String>,
    /// In the order of the record's requests.
    of: Vec<Option<usize>>,
    /// Paths of inodes that the record knows only by number.
    paths: HashMap<(Device, u64), String>,
}

/// What one owner was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The file's path, or what else it is.
    pub name: String,
    /// How many requests were for it.
    pub requests: u64,
    /// What they read, in bytes.
    pub read_bytes: u64,
    /// What they wrote, in bytes.
    pub write_bytes: u64,
    /// When the first of them was made.
    pub first: Option<Nanos>,
}

impl Owners {
    /// Owners as an image tells them: `owner` names who owns most of a request
    /// with data, and `path` is that of an inode on a filesystem's device.
    pub fn told(
        record: &Record,
        mut owner: impl FnMut(&Request) -> Option<String>,
        mut path: impl FnMut(Device, u64) -> Option<String>,
    ) -> Self {
        let mut all = Self {
            from: OwnersFrom::Image,
            ..Self::default()
        };
        let mut numbers = HashMap::new();
        for request in record.requests() {
            let name = Some(request).filter(|r| r.bytes > 0).and_then(&mut owner);
            let number = name.map(|name| all.number(name, &mut numbers));
            all.of.push(number);
        }
        let inodes = record.accesses().iter();
        let inodes: BTreeSet<_> = inodes.filter_map(|a| Some((a.device?, a.inode?))).collect();
        let paths = inodes
            .into_iter()
            .filter_map(|key| Some((key, path(key.0, key.1)?)));
        all.paths = paths.collect();
        all
    }

    /// The path of an inode, where an image says it.
    pub(crate) fn path(&self, device: Device, inode: u64) -> Option<&str> {
        self.paths.get(&(device, inode)).map(String::as_str)
    }

    /// Owners of reads, from what the page cache got.
    #[must_use]
    pub fn of_page_cache(record: &Record) -> Self {
        let is_fill = |a: &Access| a.kind == AccessKind::Fill;
        if !record.accesses().iter().any(is_fill) {
            return Self::default();
        }
        let names = Names::of(record);
        let mut added: HashMap<u32, Added<'_>> = HashMap::new();
        for access in record.accesses() {
            if let (AccessKind::Fill, Some(pid)) = (access.kind, access.pid) {
                added.entry(pid).or_default().later.push_back(access);
            }
        }
        let mut all = Self::default();
        let mut numbers = HashMap::new();
        // A file is named once, though read often. Two may have one name.
        let mut files: HashMap<Key, usize> = HashMap::new();
        all.of.reserve_exact(record.requests().len());
        for request in record.requests() {
            let access = request
                .pid
                .filter(|_| request.operation == Operation::Read)
                .and_then(|pid| added.get_mut(&pid)?.asked_for(request));
            let number = access.map(|access| {
                let key = names.key(access);
                *files
                    .entry(key)
                    .or_insert_with(|| all.number(names.name_of(key), &mut numbers))
            });
            all.of.push(number);
        }
        if all.of.iter().any(Option::is_some) {
            all.from = OwnersFrom::PageCache;
        }
        all
    }

    /// The number of a name, new or known.
    fn number(&mut self, name: String, numbers: &mut HashMap<String, usize>) -> usize {
        *numbers.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            self.names.len() - 1
        })
    }

    /// The owner of the record's request of this number.
    #[must_use]
    pub fn name(&self, request: usize) -> Option<&str> {
        let number = self.of.get(request).copied().flatten()?;
        self.names.get(number).map(String::as_str)
    }

    /// Sums for each owner, in the order in which they were asked for first.
    #[must_use]
    pub fn sums(&self, record: &Record) -> Vec<Owner> {
        let names = self.names.iter();
        let mut all: Vec<Owner> = names
            .map(|name| Owner {
                name: name.clone(),
                requests: 0,
                read_bytes: 0,
                write_bytes: 0,
                first: None,
            })
            .collect();
        for (request, owner) in record.requests().iter().zip(&self.of) {
            let Some(owner) = owner.and_then(|o| all.get_mut(o)) else {
                continue;
            };
            owner.requests += 1;
            let bytes = match request.operation {
                Operation::Read => &mut owner.read_bytes,
                Operation::Write => &mut owner.write_bytes,
                _ => continue,
            };
            *bytes = bytes.saturating_add(request.bytes);
            owner.first = owner.first.or(request.first());
        }
        all.sort_by(|a, b| (a.first, &a.name).cmp(&(b.first, &b.name)));
        all
    }
}

/// What one process added to the page cache.
#[derive(Default)]
struct Added<'r> {
    /// By time; what lies before the last request is off.
    later: VecDeque<&'r Access>,
    /// The last of what was added before it.
    last: Option<&'r Access>,
    /// How much of that file was added behind each other and not yet asked
    /// for, in bytes.
    pending: u64,
}

impl<'r> Added<'r> {
    /// The file that a read is for: the last one of which something was added
    /// before it, if all of the read can be of it.
    fn asked_for(&mut self, request: &Request) -> Option<&'r Access> {
        let until = request.first()?;
        while let Some(access) = self.later.front().copied().filter(|a| a.at <= until) {
            self.later.pop_front();
            let file = |a: &Access| (a.path, a.device, a.inode);
            if self.last.is_none_or(|last| file(last) != file(access)) {
                self.pending = 0;
            }
            self.last = Some(access);
            self.pending = self.pending.saturating_add(access.bytes);
        }
        // What was merged into the request was asked for later.
        let own = match request.merged {
            0 => request.bytes,
            _ => 1,
        };
        let is_known = self.pending >= own;
        self.pending = self.pending.saturating_sub(request.bytes);
        self.last.filter(|_| is_known)
    }
}

#[cfg(test)]
mod tests {
    use super::{Owners, OwnersFrom};
    use record::{
        Access, AccessKind, ClockKind, Device, Nanos, Operation, Origin, Record, Recorder, Request,
        When,
    };

    const DISK: Device = Device { major: 8, minor: 0 };
    const PARTITION: Device = Device { major: 8, minor: 1 };

    /// `fill PID INODE PAGES` and `read|write PID PAGES MERGED`, a microsecond apart.
    fn record(text: &str) -> Record {
        let mut rec = Recorder::new();
        let source = rec.source("trace", "ftrace");
        let clock = rec.clock("printk", ClockKind::Printk, 1);
        for (line, at) in text.lines().zip(1_000_i64..) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let number = |i: usize| words.get(i).and_then(|w| w.parse::<u64>().ok());
            let pid = number(1).and_then(|p| u32::try_from(p).ok());
            let at = Nanos(at * 1_000);
            let origin = Origin { source, offset: 0 };
            let pages = |i| number(i).unwrap_or(0) * 4096;
            if words.first() == Some(&"fill") {
                rec.access(Access {
                    kind: AccessKind::Fill,
                    device: Some(PARTITION),
                    inode: number(2),
                    path: None,
                    offset: 0,
                    bytes: pages(3),
                    at,
                    took: When::UNKNOWN,
                    pid,
                    task: None,
                    origin,
                    clock,
                });
                continue;
            }
            rec.request(Request {
                device: DISK,
                operation: match words.first() {
                    Some(&"write") => Operation::Write,
                    _ => Operation::Read,
                },
                sector: 0,
                bytes: pages(2),
                queued: at.into(),
                issued: When::UNKNOWN,
                reissued: When::UNKNOWN,
                completed: When::UNKNOWN,
                merged: u32::try_from(number(3).unwrap_or(0)).unwrap_or(0),
                read_ahead: false,
                metadata: false,
                sync: false,
                error: 0,
                pid,
                task: None,
                origin,
                clock,
            });
        }
        rec.finish()
    }

    fn inodes(text: &str) -> Vec<Option<String>> {
        let record = record(text);
        let owners = Owners::of_page_cache(&record);
        (0..record.requests().len())
            .map(|i| {
                let name = owners.name(i)?;
                Some(name.trim_end_matches(" on 8:1").to_owned())
            })
            .collect()
    }

    fn some(inode: &str) -> Option<String> {
        Some(format!("inode {inode}"))
    }

    #[test]
    fn a_read_is_for_what_its_process_added_last() {
        for (text, wanted) in [
            // One after the other; in two requests; two processes at once.
            (
                "fill 1 7 4\nread 1 4\nfill 1 8 2\nread 1 2",
                vec![some("7"), some("8")],
            ),
            ("fill 1 7 4\nread 1 3\nread 1 1", vec![some("7"), some("7")]),
            (
                "fill 1 7 4\nfill 2 8 2\nread 1 4\nread 2 2",
                vec![some("7"), some("8")],
            ),
            // What needed no reading does not shift what follows.
            ("fill 1 7 4\nfill 1 8 2\nread 1 2", vec![some("8")]),
            // More than was added, or nothing of it left: nobody's that is known.
            ("fill 1 7 1\nread 1 4", vec![None]),
            ("fill 1 7 1\nread 1 1\nread 1 1", vec![some("7"), None]),
            // A request that others were merged into is longer than its first part.
            ("fill 1 7 1\nread 1 4 3", vec![some("7")]),
            // Writes are of another time than what filled the cache.
            ("fill 1 7 1\nwrite 1 1", vec![None]),
            ("read 1 1", vec![None]),
        ] {
            assert_eq!(inodes(text), wanted, "{text}");
        }
    }

    #[test]
    fn sums_hold_every_request_that_has_an_owner() {
        let text = "fill 1 7 4\nread 1 3\nread 1 1\nfill 1 8 2\nread 1 2\nread 1 9";
        let record = record(text);
        let owners = Owners::of_page_cache(&record);
        assert_eq!(owners.from, OwnersFrom::PageCache);
        let sums: Vec<_> = owners
            .sums(&record)
            .into_iter()
            .map(|o| (o.name, o.requests, o.read_bytes, o.write_bytes))
            .collect();
        let wanted = [
            ("inode 7 on 8:1".to_owned(), 2, 4 * 4096, 0),
            ("inode 8 on 8:1".to_owned(), 1, 2 * 4096, 0),
        ];
        assert_eq!(sums, wanted);
        assert_eq!(Owners::default().sums(&record), []);
    }

    #[test]
    fn an_image_tells_owners_and_paths() {
        let record = record("fill 1 7 4\nread 1 4\nwrite 1 2\nread 1 0");
        let owners = Owners::told(
            &record,
            |r| Some(r.operation.as_str().to_owned()),
            |device, inode| (device == PARTITION && inode == 7).then(|| "/seven".to_owned()),
        );
        let names: Vec<_> = (0..4).map(|i| owners.name(i)).collect();
        assert_eq!(names, [Some("read"), Some("write"), None, None]);
        assert_eq!(owners.path(PARTITION, 7), Some("/seven"));
        assert_eq!(owners.path(PARTITION, 8), None);
    }
}
