//! Putting a map together: pieces come in any order, and may contradict each
//! other.

use crate::facts::Facts;
use crate::map::{Inode, Interval, Kind, Map};
use crate::names::Names;

/// So many notes are kept; how many more there were is said.
const MOST_NOTES: usize = 20;

/// What it means that two files have a piece in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sharing {
    /// The filesystem is damaged.
    Damage,
    /// Equal content is stored once, as ever in this filesystem.
    Usual,
    /// Equal content is stored once, because of this feature, which is rare.
    Told(&'static str),
}

/// A map that grows.
pub(super) struct Builder {
    unit: u64,
    intervals: Vec<Interval>,
    /// What is known to share its place with an owner of its own.
    sharing: Vec<Interval>,
    pub(super) inodes: Vec<Inode>,
    pub(super) names: Names,
    notes: Vec<String>,
    more_notes: u64,
    /// No more pieces than this can be true.
    most: usize,
    full: bool,
}

impl Builder {
    /// `most`: no more pieces than this can be there, in a sound filesystem.
    pub(super) fn new(unit: u64, root: u32, most: u64) -> Self {
        Self {
            unit: unit.max(1),
            intervals: Vec::new(),
            sharing: Vec::new(),
            inodes: Vec::new(),
            names: Names::new(root),
            notes: Vec::new(),
            more_notes: 0,
            most: usize::try_from(most).unwrap_or(usize::MAX),
            full: false,
        }
    }

    pub(super) fn note(&mut self, text: impl Into<String>) {
        match self.notes.len() {
            n if n < MOST_NOTES => self.notes.push(text.into()),
            _ => self.more_notes += 1,
        }
    }

    /// Adds `len` units from `start` on. `offset` is in units.
    pub(super) fn add(&mut self, start: u64, len: u64, kind: Kind, inode: u32, offset: u64) {
        self.split(start, len, |start, len, skipped| {
            let offset = offset.checked_add(skipped)?;
            Interval::new(start, len, kind, inode, offset)
        });
    }

    /// Adds packed data; `offset` is in bytes.
    pub(super) fn add_packed(&mut self, start: u64, len: u64, kind: Kind, inode: u32, offset: u64) {
        self.split(start, len, |start, len, _| {
            Some(Interval::new(start, len, kind, inode, offset)?.packed())
        });
    }

    /// Adds a file's share of something that has an owner of its own.
    pub(super) fn share(&mut self, start: u64, len: u64, inode: u32, offset: u64) {
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        if self.sharing.len() < self.most
            && let Some(piece) = Interval::new(start, len, Kind::File, inode, offset)
        {
            self.sharing.push(piece.packed());
        }
    }

    fn split(&mut self, start: u64, len: u64, make: impl Fn(u64, u32, u64) -> Option<Interval>) {
        let mut done = 0;
        while done < len {
            let part = u32::try_from(len - done).unwrap_or(u32::MAX);
            let made = start
                .checked_add(done)
                .and_then(|start| make(start, part, done));
            let Some(next) = made else {
                self.note(format!("a piece at block {start} is out of bounds"));
                return;
            };
            done += u64::from(part);
            if self.intervals.last_mut().is_some_and(|l| l.join(&next)) {
                continue;
            }
            if self.intervals.len() >= self.most {
                if !self.full {
                    self.full = true;
                    self.note("there are more pieces than blocks; the rest is omitted");
                }
                return;
            }
            self.intervals.push(next);
        }
    }

    /// Sorts, and lets nothing lie twice: of what overlaps, what was added
    /// first stays.
    pub(super) fn finish(mut self, facts: Facts, sharing: Sharing) -> Map {
        let mut intervals = std::mem::take(&mut self.intervals);
        let mut shared = std::mem::take(&mut self.sharing);
        let overlaps = resolve(&mut intervals, &mut shared);
        match sharing {
            Sharing::Damage if overlaps > 0 => self.note(format!(
                "{overlaps} pieces overlap another piece; only the first is shown"
            )),
            Sharing::Told(feature) if overlaps > 0 => self.note(format!(
                "blocks in {overlaps} places belong to several files ({feature}); each row names one \
                 of them as the owner, and --json the others as `files`"
            )),
            _ => {}
        }
        if self.more_notes > 0 {
            let more = self.more_notes;
            self.notes.push(format!("{more} further notes are omitted"));
        }
        self.names.finish();
        self.inodes.sort_by_key(|i| i.number);
        self.inodes.dedup_by_key(|i| i.number);
        intervals.shrink_to_fit();
        shared.sort_by_key(Interval::start);
        let lengths = shared.iter().map(|i| i.end() - i.start());
        Map {
            longest_shared: lengths.max().unwrap_or(0),
            block: self.unit,
            facts,
            notes: self.notes,
            unit: self.unit,
            intervals,
            shared,
            inodes: self.inodes,
            names: self.names,
        }
    }
}

/// Cuts `intervals` so that none overlap, and joins neighbours. What was cut
/// off and has an inode goes to `shared`. How many overlapped.
fn resolve(intervals: &mut Vec<Interval>, shared: &mut Vec<Interval>) -> u64 {
    // Stable: of two that begin at one place, the one that was added first.
    intervals.sort_by_key(Interval::start);
    let mut overlaps = 0;
    let mut kept: usize = 0;
    for at in 0..intervals.len() {
        let Some(&next) = intervals.get(at) else {
            break;
        };
        let mut rest = Some(next);
        if let Some(last) = kept.checked_sub(1).and_then(|k| intervals.get_mut(k)) {
            if next.start() < last.end() {
                overlaps += 1;
                if next.inode() != 0
                    && let Some(hidden) = next.first(last.end() - next.start())
                {
                    shared.push(hidden);
                }
                rest = next.from(last.end());
            } else if last.join(&next) {
                rest = None;
            }
        }
        if let (Some(rest), Some(place)) = (rest, intervals.get_mut(kept)) {
            *place = rest;
            kept += 1;
        }
    }
    intervals.truncate(kept);
    overlaps
}

#[cfg(test)]
mod tests {
    use super::{Builder, Sharing};
    use crate::facts::{Facts, State};
    use crate::map::Kind;

    #[test]
    fn each_owner_of_shared_blocks_is_known() {
        let map = |sharing| {
            let facts = Facts {
                blocks: 256,
                inodes: 3,
                ..Facts::bare("ext4", 1 << 20, 4096, State::Clean)
            };
            let mut builder = Builder::new(4096, 2, 1000);
            builder.add(10, 8, Kind::File, 12, 0);
            builder.add(12, 2, Kind::File, 13, 0);
            builder.add(13, 9, Kind::File, 14, 0);
            builder.finish(facts, sharing)
        };
        let told = map(Sharing::Told("shared_blocks"));
        assert_eq!(told.sharers(10 * 4096, 2 * 4096), []);
        assert_eq!(told.sharers(12 * 4096, 4096), [13]);
        assert_eq!(told.sharers(13 * 4096, 4096), [13, 14]);
        assert_eq!(told.sharers(17 * 4096, 4096), [14]);
        assert!(told.notes[0].contains("belong to several files (shared_blocks)"));
        assert!(map(Sharing::Damage).notes[0].contains("overlap"));
        assert_eq!(map(Sharing::Usual).notes.len(), 0);
    }
}
