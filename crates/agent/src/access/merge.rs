//! Several recordings of the same thing, as one list.

use super::{AccessList, Entry, Identity, Range, RangeKind};
use std::collections::BTreeMap;

/// One list of several, the oldest first. A range is as stable as the part of the
/// recordings that had it: [`Range::seen`] of [`AccessList::recordings`]. Of a
/// file that changed between recordings only the newest content counts.
///
/// Pages must have the same length in all; lists where they have another are
/// left out. Empty if there is none.
#[must_use]
pub fn merge(lists: &[AccessList]) -> AccessList {
    let Some(newest) = lists.last() else {
        return AccessList::default();
    };
    let mut merged = AccessList {
        page_bytes: newest.page_bytes,
        machine: newest.machine.clone(),
        title: newest.title.clone(),
        ..AccessList::default()
    };
    let mut all: BTreeMap<(bool, &[u8]), Vec<(&Entry, &AccessList)>> = BTreeMap::new();
    for list in lists.iter().filter(|l| l.page_bytes == newest.page_bytes) {
        merged.recordings = merged.recordings.saturating_add(list.recordings);
        merged.directories = merged.directories.max(list.directories);
        for entry in &list.entries {
            let place = (entry.is_device(), &*entry.path);
            all.entry(place).or_default().push((entry, list));
        }
    }
    for ((_, path), versions) in all {
        let Some((last, of)) = versions.last() else {
            continue;
        };
        let same = versions
            .iter()
            .filter(|(e, _)| is_same_content(&e.identity, &last.identity));
        let ranges: Vec<Range> = same.flat_map(|(e, _)| e.ranges.iter().copied()).collect();
        let name = of.programs.get(last.program as usize);
        let program = name.map_or(0, |n| number_of(&mut merged.programs, n));
        merged.entries.push(Entry {
            path: path.to_vec(),
            identity: last.identity,
            program,
            ranges: united(&ranges),
        });
    }
    merged
}

/// The number of a program's name in the table, which it joins if it is new.
fn number_of(programs: &mut Vec<String>, name: &str) -> u32 {
    let at = programs.iter().position(|p| p == name);
    let at = at.unwrap_or_else(|| {
        programs.push(name.to_owned());
        programs.len() - 1
    });
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// A file that was copied or moved keeps its content.
fn is_same_content(a: &Identity, b: &Identity) -> bool {
    let content = |i: &Identity| match *i {
        Identity::File {
            size,
            mtime_s,
            mtime_ns,
            ..
        } => (size, mtime_s, mtime_ns),
        Identity::Device { size, number, .. } => (size, number.cast_signed(), 0),
    };
    content(a) == content(b)
}

/// What overlaps is cut where it begins and ends; of equal pieces the counts are
/// added and the times are averaged.
fn united(ranges: &[Range]) -> Vec<Range> {
    let mut edges: Vec<u64> = ranges.iter().flat_map(|r| [r.page, r.end()]).collect();
    edges.sort_unstable();
    edges.dedup();
    let mut sums: Vec<Sum> = vec![Sum::default(); edges.len()];
    for range in ranges {
        let first = edges.partition_point(|e| *e < range.page);
        let last = edges.partition_point(|e| *e < range.end());
        for sum in sums.get_mut(first..last).unwrap_or_default() {
            sum.seen = sum.seen.saturating_add(range.seen);
            sum.us += u128::from(range.first_us) * u128::from(range.seen);
            sum.touched |= range.kind == RangeKind::Touched;
        }
    }
    let mut united: Vec<Range> = Vec::new();
    for (sum, edge) in sums.iter().zip(edges.windows(2)) {
        let &[page, end] = edge else { continue };
        if sum.seen == 0 {
            continue;
        }
        let mean = sum.us / u128::from(sum.seen);
        let range = Range {
            page,
            pages: end - page,
            first_us: u64::try_from(mean).unwrap_or(u64::MAX),
            seen: sum.seen,
            kind: match sum.touched {
                true => RangeKind::Touched,
                false => RangeKind::Around,
            },
        };
        match united.last_mut() {
            Some(before)
                if before.end() == page
                    && (before.seen, before.kind, before.first_us)
                        == (range.seen, range.kind, range.first_us) =>
            {
                before.pages += range.pages;
            }
            _ => united.push(range),
        }
    }
    united
}

#[derive(Clone, Copy, Default)]
struct Sum {
    seen: u32,
    us: u128,
    touched: bool,
}
