//! The access list of an image that was laid out: its metadata lies elsewhere.

use agent::access::{AccessList, Entry, Identity, Range, RangeKind};
use disk::ext::arrange::Arrangement;
use disk::ext::renumber::Tables;
use disk::{Kind, Map};
use std::collections::{BTreeMap, HashMap};

/// Pages of a device: when each was needed first, and how often.
struct Pages {
    bytes: u64,
    needs: BTreeMap<u64, Range>,
}

impl Pages {
    /// None yet, of so many bytes each.
    fn of(bytes: u64) -> Self {
        Self {
            bytes,
            needs: BTreeMap::new(),
        }
    }

    /// `len` bytes from `start` on are needed as `like` says.
    fn put(&mut self, start: u64, len: u64, like: &Range) {
        for number in start / self.bytes..start.saturating_add(len).div_ceil(self.bytes) {
            let new = Range {
                page: number,
                pages: 1,
                ..*like
            };
            let range = self.needs.entry(number).or_insert(new);
            range.first_us = range.first_us.min(new.first_us);
        }
    }

    /// Neighbours that were needed at once are one range.
    fn ranges(self) -> Vec<Range> {
        let mut ranges: Vec<Range> = Vec::new();
        for new in self.needs.into_values() {
            match ranges.last_mut() {
                Some(last)
                    if last.end() == new.page
                        && (last.first_us, last.seen, last.kind)
                            == (new.first_us, new.seen, new.kind) =>
                {
                    last.pages += 1;
                }
                _ => ranges.push(new),
            }
        }
        ranges
    }
}

/// The list without what a device of `bytes` bytes does not have.
pub(super) fn clipped(list: &AccessList, bytes: u64) -> AccessList {
    let mut list = list.clone();
    let pages = bytes.div_ceil(u64::from(list.page_bytes.max(1)));
    for entry in list.entries.iter_mut().filter(|e| e.is_device()) {
        for range in &mut entry.ranges {
            range.pages = range.pages.min(pages.saturating_sub(range.page));
        }
        entry.ranges.retain(|r| r.pages > 0);
    }
    list
}

/// The first so many bytes of a device hold places at which the signatures of volumes may
/// lie: those of most filesystems, and two labels of ZFS, of 256 KiB each (libblkid of
/// util-linux, `libblkid/src/superblocks/`).
const SIGNATURES: u64 = 512 << 10;
/// The last place of a second header of LUKS2. Each is at twice the offset of the one before
/// (`libblkid/src/superblocks/luks.c`).
const LAST_LUKS2: u64 = 4 << 20;

/// Places that are read so shortly after one another are read by one program, which looks
/// for signatures, in microseconds.
const LOOKS_US: u64 = 1000;

/// When a program read of a device what no filesystem reads: it looked for signatures there.
/// Then it also read places of which a filesystem has made use.
struct Looks(Vec<u64>);

impl Looks {
    fn of(entry: &Entry, page: u64, map: &Map) -> Self {
        let mut times = Vec::new();
        for range in &entry.ranges {
            let mut is_look = false;
            let start = range.page.saturating_mul(page);
            map.pieces(start, range.pages.saturating_mul(page), &mut |piece| {
                is_look |= matches!(piece.kind, Kind::Unmapped | Kind::ReservedDescriptors);
            });
            if is_look {
                times.push(range.first_us);
            }
        }
        times.sort_unstable();
        Self(times)
    }

    /// When a program looked at the page at `at`, which was read at `first_us`: then, if it
    /// looked at other places just before and just after; or else when it began to look, if
    /// signatures may lie there.
    fn at(&self, at: u64, first_us: u64) -> Option<u64> {
        let begin = *self.0.first()?;
        let after = self.0.partition_point(|us| *us < first_us);
        let last = after.checked_sub(1).and_then(|n| self.0.get(n));
        let next = self.0.get(after);
        if last.is_some_and(|us| first_us - us < LOOKS_US)
            && next.is_some_and(|us| us - first_us < LOOKS_US)
        {
            return Some(first_us);
        }
        let has_place = at < SIGNATURES || (at.is_power_of_two() && at <= LAST_LUKS2);
        has_place.then(|| begin.max(first_us))
    }
}

/// Whether all of `page` bytes from `at` on belongs to the journal.
fn is_journal(map: &Map, at: u64, page: u64) -> bool {
    let mut only = true;
    map.pieces(at, page, &mut |piece| only &= piece.kind == Kind::Journal);
    only
}

/// The list for an image whose inodes have new numbers: of its files, and the places of
/// their tables. `map` and `tables` are those of the image as it was. Pages of the journal
/// are left out: but for its first one, which was read at the mount, they come into memory
/// because they are written.
pub(super) fn renumbered(
    list: &AccessList,
    map: &Map,
    tables: &Tables,
    numbers: &BTreeMap<u32, u32>,
) -> AccessList {
    let mut list = list.clone();
    let page = u64::from(list.page_bytes.max(1));
    for entry in &mut list.entries {
        if let Identity::File { inode, .. } = &mut entry.identity
            && let Some(new) = u32::try_from(*inode).ok().and_then(|n| numbers.get(&n))
        {
            *inode = u64::from(*new);
        }
    }
    for entry in list.entries.iter_mut().filter(|e| e.is_device()) {
        let mut pages = Pages::of(page);
        let looks = Looks::of(entry, page, map);
        for range in &entry.ranges {
            for at in (range.page..range.end()).map(|n| n.saturating_mul(page)) {
                if is_journal(map, at, page) {
                    continue;
                }
                let used = || tables.inodes(at, page).filter(|n| map.inode(*n).is_some());
                // What is no table, or a piece of one that holds what stays.
                if used().next().is_none() || used().any(|n| !numbers.contains_key(&n)) {
                    pages.put(at, page, range);
                } else if let Some(first_us) = looks.at(at, range.first_us) {
                    let looked = Range { first_us, ..*range };
                    pages.put(at, page, &looked);
                }
                for new in used().filter_map(|n| numbers.get(&n)) {
                    if let Some(place) = tables.place(*new) {
                        pages.put(place, 1, range);
                    }
                }
            }
        }
        entry.ranges = pages.ranges();
    }
    list
}

/// The list for the image as it is laid out: pieces of the device that moved are
/// needed where they lie now, and so are the blocks that say where a file lies.
pub(super) fn moved(
    list: &AccessList,
    done: &Arrangement,
    firsts: &HashMap<u32, u64>,
) -> AccessList {
    let mut list = list.clone();
    let page = u64::from(list.page_bytes.max(1));
    let block = u64::from(done.block_bytes.max(1));
    // By block: where it went.
    let mut places: HashMap<u64, u64> = HashMap::new();
    for (from, to, len) in &done.copies {
        let blocks = len / block;
        places.extend((0..blocks).map(|n| (from + n * block, to + n * block)));
    }
    for entry in list.entries.iter_mut().filter(|e| e.is_device()) {
        let mut pages = Pages::of(page);
        for range in &entry.ranges {
            let end = range.end().saturating_mul(page);
            for at in (range.page.saturating_mul(page)..end).step_by(block.min(page) as usize) {
                let own = at / block * block;
                match places.get(&own) {
                    Some(to) => pages.put(to + (at - own), block.min(page), range),
                    None if done.old_nodes.binary_search(&own).is_ok() => {}
                    None => pages.put(at, block.min(page), range),
                }
            }
        }
        for (inode, at) in &done.nodes {
            let like = Range {
                page: 0,
                pages: 1,
                first_us: firsts.get(inode).copied().unwrap_or(0),
                seen: list.recordings,
                kind: RangeKind::Touched,
            };
            pages.put(*at, block, &like);
        }
        entry.ranges = pages.ranges();
    }
    list
}
