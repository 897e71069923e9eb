//! Whose what a request read or wrote is: a file, or a part of the filesystem.
//!
//! A request names places on a device, not files. An image of the device says
//! who owns them. Without one, the kernel's page cache says it of many reads:
//! a process first adds the pages of a file to the cache and then asks for
//! them, so that what it added since it asked last is what the request is for
//! (`page_cache_ra_unbounded` of mm/readahead.c adds, then submits).

use super::files::Names;
use record::{AccessKind, Nanos, Operation, Record, Request};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// How owners were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OwnersFrom {
    /// They were not.
    #[default]
    Nothing,
    /// An image of the device says who owns its blocks.
    Image,
    /// What the process had just added to the page cache, in the same amount.
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
    /// Owners as `owner` tells them for each request with data, such as from an
    /// image: the name of who owns most of it.
    pub fn told(record: &Record, mut owner: impl FnMut(&Request) -> Option<String>) -> Self {
        let mut all = Self {
            from: OwnersFrom::Image,
            ..Self::default()
        };
        let mut numbers = HashMap::new();
        for request in record.requests() {
            let name = Some(request).filter(|r| r.bytes > 0).and_then(&mut owner);
            all.push(name, &mut numbers);
        }
        all
    }

    /// Owners of reads, from what the page cache got.
    #[must_use]
    pub fn of_page_cache(record: &Record) -> Self {
        let names = Names::of(record);
        let mut fills: BTreeMap<u32, VecDeque<&record::Access>> = BTreeMap::new();
        for access in record.accesses() {
            if let (AccessKind::Fill, Some(pid)) = (access.kind, access.pid) {
                fills.entry(pid).or_default().push_back(access);
            }
        }
        let mut all = Self::default();
        let mut numbers = HashMap::new();
        for request in record.requests() {
            let name = request
                .pid
                .filter(|_| request.operation == Operation::Read)
                .and_then(|pid| fills.get_mut(&pid))
                .and_then(|fills| asked_for(fills, request))
                .map(|access| names.name(access));
            if name.is_some() {
                all.from = OwnersFrom::PageCache;
            }
            all.push(name, &mut numbers);
        }
        all
    }

    fn push(&mut self, name: Option<String>, numbers: &mut HashMap<String, usize>) {
        let number = name.map(|name| {
            *numbers.entry(name).or_insert_with_key(|name| {
                self.names.push(name.clone());
                self.names.len() - 1
            })
        });
        self.of.push(number);
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

/// The file of which most was added to the page cache for a read; takes what
/// was added for it off. `None` if it is not the same amount: then nothing that
/// was added before tells of later reads, either.
fn asked_for<'r>(
    fills: &mut VecDeque<&'r record::Access>,
    request: &Request,
) -> Option<&'r record::Access> {
    let until = request.first()?;
    let mut sums: Vec<(&record::Access, u64)> = Vec::new();
    let mut sum = 0_u64;
    while sum < request.bytes
        && let Some(fill) = fills.front().filter(|f| f.at <= until)
    {
        sum = sum.saturating_add(fill.bytes);
        let same = |a: &record::Access| {
            (a.path, a.device, a.inode) == (fill.path, fill.device, fill.inode)
        };
        match sums.iter_mut().find(|(a, _)| same(a)) {
            Some((_, bytes)) => *bytes = bytes.saturating_add(fill.bytes),
            None => sums.push((fill, fill.bytes)),
        }
        fills.pop_front();
    }
    if sum != request.bytes {
        while fills.front().is_some_and(|f| f.at <= until) {
            fills.pop_front();
        }
        return None;
    }
    sums.into_iter().max_by_key(|s| s.1).map(|s| s.0)
}
