//! Events gathered: which pages of which file, and when first.

use super::event::{Device, Event, Kind};
use agent::access::{Range, RangeKind};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Pages whose first needs are this close are one range.
const TOGETHER_US: u64 = 20_000;

/// A file, as the kernel names it.
pub type Key = (Device, u64);

/// Pieces that do not overlap, each with the time when it was first needed.
#[derive(Debug, Default)]
struct Cover(BTreeMap<u64, (u64, u64)>);

impl Cover {
    /// Adds what of `first..end` is not covered yet.
    fn add(&mut self, first: u64, end: u64, at_us: u64) {
        let mut from = first;
        while from < end {
            // Who covers `from`, or begins behind it?
            let before = self.0.range(..=from).next_back();
            if let Some((_, &(covered, _))) = before
                && covered > from
            {
                from = covered;
                continue;
            }
            let next = self.0.range(from..end).next();
            let until = next.map_or(end, |(start, _)| *start);
            self.0.insert(from, (until, at_us));
            from = until;
        }
    }
}

/// One file's pages.
#[derive(Debug, Default)]
pub struct Pages {
    touched: Cover,
    around: Cover,
    /// The program that needed it first, and when.
    pub first: Option<(u64, String)>,
}

/// All files' pages.
#[derive(Debug)]
pub struct Touched {
    /// The pages of each file.
    pub files: HashMap<Key, Pages>,
    page_bytes: u64,
    /// Whether a page that came into memory counts as touched.
    fills_count: bool,
    /// Events that the kernel lost.
    pub lost: u64,
    /// Who caused them.
    pub pids: HashSet<u32>,
}

impl Touched {
    /// `fills_count`: the kernel tells no touches, so what came into memory has
    /// to do.
    pub fn new(page_bytes: u64, fills_count: bool) -> Self {
        Self {
            files: HashMap::new(),
            page_bytes,
            fills_count,
            lost: 0,
            pids: HashSet::new(),
        }
    }

    /// Takes an event. `is_device`: the file is a block device, of which the
    /// kernel reads what a filesystem needs: no event tells touches of those.
    pub fn take(&mut self, event: &Event<'_>, is_device: bool) {
        self.pids.insert(event.pid);
        let first = event.offset / self.page_bytes;
        let end = event
            .offset
            .saturating_add(event.bytes)
            .div_ceil(self.page_bytes);
        let kind = match event.kind {
            Kind::Fault | Kind::Read => RangeKind::Touched,
            // Nothing around: it is the page itself.
            Kind::Around if end.saturating_sub(first) == 1 => RangeKind::Touched,
            Kind::Around => RangeKind::Around,
            Kind::Fill if is_device || self.fills_count => RangeKind::Touched,
            Kind::Fill => return,
        };
        let file = self.files.entry((event.device, event.inode)).or_default();
        if file.first.as_ref().is_none_or(|(at, _)| event.at_us < *at) {
            file.first = Some((event.at_us, event.program.to_owned()));
        }
        match kind {
            RangeKind::Touched => file.touched.add(first, end, event.at_us),
            RangeKind::Around => file.around.add(first, end, event.at_us),
        }
    }
}

impl Pages {
    /// Whether some pages are only known to be near a touched one.
    pub fn has_around(&self) -> bool {
        !self.around.0.is_empty()
    }

    /// The ranges of a file with `pages` pages: a read asks for as much as its
    /// buffer holds, however short the file. Times count from `zero_us`. Of pages
    /// around touched ones, those count that `resident` says were there to be
    /// mapped.
    pub fn ranges(&self, pages: u64, zero_us: u64, resident: &[bool]) -> Vec<Range> {
        let mut all: Vec<Range> = Vec::new();
        let mut touched = Cover::default();
        for (&first, &(end, at_us)) in self.touched.0.range(..pages) {
            let end = end.min(pages);
            touched.add(first, end, at_us);
            all.push(range(
                first,
                end,
                at_us - zero_us.min(at_us),
                RangeKind::Touched,
            ));
        }
        let known = touched.0.clone();
        for (&first, &(end, at_us)) in self.around.0.range(..pages) {
            let there = (first..end.min(pages)).filter(|page| {
                let at = usize::try_from(*page).unwrap_or(usize::MAX);
                resident.get(at).copied().unwrap_or(false)
            });
            there.for_each(|page| touched.add(page, page + 1, at_us));
        }
        let new = touched
            .0
            .iter()
            .filter(|(first, _)| !known.contains_key(first));
        for (&first, &(end, at_us)) in new {
            all.push(range(
                first,
                end,
                at_us - zero_us.min(at_us),
                RangeKind::Around,
            ));
        }
        all.sort_unstable_by_key(|r| r.page);
        let mut ranges: Vec<Range> = Vec::new();
        for new in all {
            match ranges.last_mut() {
                Some(range)
                    if range.end() == new.page
                        && range.kind == new.kind
                        && new.first_us.abs_diff(range.first_us) <= TOGETHER_US =>
                {
                    range.pages += new.pages;
                    range.first_us = range.first_us.min(new.first_us);
                }
                _ => ranges.push(new),
            }
        }
        ranges
    }
}

const fn range(first: u64, end: u64, first_us: u64, kind: RangeKind) -> Range {
    Range {
        page: first,
        pages: end - first,
        first_us,
        seen: 1,
        kind,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::{Event, Kind, RangeKind, Touched};

    fn event(kind: Kind, offset: u64, bytes: u64, at_us: u64) -> Event<'static> {
        Event {
            kind,
            device: (8, 1),
            inode: 7,
            offset,
            bytes,
            at_us,
            pid: 1,
            program: "x",
        }
    }

    #[test]
    fn only_touched_pages_count() {
        let mut touched = Touched::new(4096, false);
        for e in [
            event(Kind::Fill, 0, 1 << 20, 5),
            event(Kind::Around, 0, 65536, 6),
            event(Kind::Fault, 8192, 4096, 7),
            event(Kind::Read, 4000, 200, 8),
        ] {
            touched.take(&e, false);
        }
        let pages = touched.files.get(&((8, 1), 7)).unwrap();
        assert!(pages.has_around());
        let mut resident = vec![true; 4];
        resident[3] = false;
        let ranges = pages.ranges(10, 5, &resident);
        let all: Vec<_> = ranges
            .iter()
            .map(|r| (r.page, r.pages, r.first_us))
            .collect();
        // The read went over a page's edge: pages 0 and 1; the fault: page 2.
        assert_eq!(all, [(0, 3, 2)]);
        assert!(ranges.iter().all(|r| r.kind == RangeKind::Touched));
    }

    #[test]
    fn a_file_ends_where_it_ends() {
        let mut touched = Touched::new(4096, false);
        touched.take(&event(Kind::Read, 0, 1 << 30, 5), false);
        let pages = touched.files.get(&((8, 1), 7)).unwrap();
        assert_eq!(pages.ranges(3, 5, &[])[0].pages, 3);
    }
}
