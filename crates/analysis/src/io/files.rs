//! What files were needed.
//!
//! From a trace of the page cache or of system calls, which name files. What a
//! request reads by its place on the device is for an image to say.

use super::names::{Key, Names};
use super::owners::Owners;
use hashbrown::HashMap;
use record::{Access, AccessKind, Nanos, Record};

/// A file that was needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IoFile {
    /// Its path; without one, its inode and device.
    pub path: String,
    /// How many pieces of it came into memory (or, if that was not traced,
    /// were read or touched).
    pub requests: u64,
    /// How much that was, in bytes. A piece that came twice counts twice.
    pub bytes: u64,
    /// How much of what came into memory was read or mapped at any time, in
    /// bytes, each counted once; `None` unless both were traced and some of it
    /// came, and for what a filesystem reads for itself.
    pub used: Option<u64>,
    /// How much was written, in bytes.
    pub write_bytes: u64,
    /// How often it was opened.
    pub opens: u64,
    /// When it was needed first.
    pub first: Nanos,
}

/// Files in the order of their first need; `owners` may know paths of inodes.
pub(super) fn files(record: &Record, owners: &Owners) -> Vec<IoFile> {
    #[derive(Default)]
    struct Sums {
        first: Option<Nanos>,
        fills: u64,
        filled: u64,
        touches: u64,
        touched: u64,
        written: u64,
        opens: u64,
        /// What came, and what was touched: where it begins and ends.
        came: Vec<(u64, u64)>,
        needed: Vec<(u64, u64)>,
    }
    if record.accesses().is_empty() {
        return Vec::new();
    }
    let names = Names::of(record);
    let mut all: HashMap<Key, Sums> = HashMap::new();
    let is_traced = |kind| record.accesses().iter().any(|a| a.kind == kind);
    let both = is_traced(AccessKind::Fill) && is_traced(AccessKind::Touch);
    // What was looked for and is not there is no file.
    let found = |a: &&Access| a.kind != AccessKind::Miss;
    for access in record.accesses().iter().filter(found) {
        let sums = all.entry(names.key(access)).or_default();
        sums.first = Some(sums.first.map_or(access.at, |f| f.min(access.at)));
        let (count, bytes) = match access.kind {
            AccessKind::Open => (&mut sums.opens, None),
            AccessKind::Fill => (&mut sums.fills, Some(&mut sums.filled)),
            AccessKind::Touch => (&mut sums.touches, Some(&mut sums.touched)),
            AccessKind::Miss => continue,
            AccessKind::Write => {
                sums.written = sums.written.saturating_add(access.bytes);
                continue;
            }
        };
        *count += 1;
        if let Some(sum) = bytes {
            *sum = sum.saturating_add(access.bytes);
        }
        let piece = (access.offset, access.offset.saturating_add(access.bytes));
        match access.kind {
            AccessKind::Fill if both => sums.came.push(piece),
            AccessKind::Touch if both => sums.needed.push(piece),
            _ => {}
        }
    }
    let mut all: Vec<(Key, Sums)> = all.into_iter().collect();
    // Not in the order of a hash.
    all.sort_unstable_by_key(|f| f.0);
    let mut files: Vec<IoFile> = all
        .into_iter()
        .map(|(key, mut s)| {
            // A filesystem reads its own data from the disk's cache untraced.
            let is_disk = matches!(key, Key::Inode(Some(d), i) if names.disk(d, i).is_some());
            let used =
                (both && s.fills > 0 && !is_disk).then(|| common(&mut s.came, &mut s.needed));
            let (requests, bytes) = match s.fills {
                0 => (s.touches, s.touched),
                fills => (fills, s.filled),
            };
            let told = match key {
                Key::Inode(Some(device), inode) => owners.path(device, inode),
                _ => None,
            };
            IoFile {
                path: told.map_or_else(|| names.name_of(key), str::to_owned),
                requests,
                bytes,
                used,
                write_bytes: s.written,
                opens: s.opens,
                first: s.first.unwrap_or_default(),
            }
        })
        .collect();
    files.sort_by(|a, b| (a.first, &a.path).cmp(&(b.first, &b.path)));
    files
}

/// Sorts pieces and joins those that touch or overlap.
fn join(pieces: &mut Vec<(u64, u64)>) {
    pieces.sort_unstable();
    pieces.dedup_by(|next, last| {
        let joins = next.0 <= last.1;
        if joins {
            last.1 = last.1.max(next.1);
        }
        joins
    });
}

/// How much lies in pieces of both lists, however often.
fn common(a: &mut Vec<(u64, u64)>, b: &mut Vec<(u64, u64)>) -> u64 {
    join(a);
    join(b);
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    let mut sum: u64 = 0;
    while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
        let both = x.1.min(y.1).saturating_sub(x.0.max(y.0));
        sum = sum.saturating_add(both);
        if x.1 < y.1 {
            a.next();
        } else {
            b.next();
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::common;
    use proptest::prelude::*;

    proptest! {
        /// The same by looking at every byte.
        #[test]
        fn what_is_common_is_what_both_hold(
            a in prop::collection::vec((0_u64..60, 0_u64..9), 0..12),
            b in prop::collection::vec((0_u64..60, 0_u64..9), 0..12),
        ) {
            let ends = |v: &[(u64, u64)]| -> Vec<_> { v.iter().map(|p| (p.0, p.0 + p.1)).collect() };
            let (mut a, mut b) = (ends(&a), ends(&b));
            let holds = |v: &[(u64, u64)], byte| v.iter().any(|p| p.0 <= byte && byte < p.1);
            let wanted = (0..80).filter(|n| holds(&a, *n) && holds(&b, *n)).count() as u64;
            prop_assert_eq!(common(&mut a, &mut b), wanted);
        }
    }
}
