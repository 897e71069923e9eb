//! How well an image suits an order of access: `filefrag` for many files.

use crate::disk::Disk;
use crate::map::Kind;
use std::collections::HashSet;

/// What reading files in an order costs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// How many different files were found.
    pub files: u64,
    /// How many bytes of content they have in blocks: holes and what lies
    /// behind a file's end do not count.
    pub bytes: u64,
    /// How often what is needed next does not follow what was read last.
    pub discontinuities: u64,
    /// Reads, when what follows directly is read at once.
    pub requests: u64,
    /// How many bytes those reads bring: whole blocks, packed as they lie.
    pub read_bytes: u64,
    /// Of those, how many nobody asked for: the rest of last blocks.
    pub over_read_bytes: u64,
    /// The sum of all jumps, in bytes.
    pub distance_bytes: u64,
    /// Reads in order of place instead, each place once.
    pub requests_in_disk_order: u64,
    /// Paths that are not in the image, as they were given.
    pub missing: Vec<Vec<u8>>,
}

/// Scores an image for `paths`, in the order in which they are read, each
/// whole. A file that is named again is in memory already.
#[must_use]
pub fn score(disk: &Disk, paths: &[Vec<u8>]) -> Score {
    let mut score = Score::default();
    // Which volume, which inode, for each file in order.
    let mut wanted = Vec::new();
    let mut seen = HashSet::new();
    let maps: Vec<_> = disk.maps().collect();
    for path in paths {
        let places = maps.iter().zip(0_usize..);
        let mut found = places.filter_map(|((_, map), at)| Some((at, map.find(path)?)));
        match found.next() {
            Some(place) if seen.insert(place) => wanted.push(place),
            Some(_) => {}
            None => score.missing.push(path.clone()),
        }
    }
    let mut extents: Vec<_> = maps
        .iter()
        .zip(0_usize..)
        .map(|((_, map), volume)| {
            let mine = wanted.iter().filter(|w| w.0 == volume);
            let inodes: Vec<u32> = mine.map(|w| w.1).collect();
            map.extents_of(&inodes).into_iter()
        })
        .collect();
    let mut end: Option<u64> = None;
    let mut packed = HashSet::new();
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for (volume, inode) in wanted {
        score.files += 1;
        let list = extents.get_mut(volume).and_then(Iterator::next);
        let Some((base, map)) = maps.get(volume).map(|(v, m)| (v.start, *m)) else {
            continue;
        };
        let size = map.inode(inode).map_or(0, |i| i.size);
        let mut is_packed = false;
        for extent in list.unwrap_or_default() {
            let offset = extent.offset.unwrap_or(0);
            let start = base.saturating_add(extent.start);
            let mut len = extent.len;
            if extent.is_packed {
                is_packed = true;
                // What is packed together is unpacked once.
                if !packed.insert(start) {
                    continue;
                }
            } else {
                let left = size.saturating_sub(offset);
                if left == 0 && extent.kind != Kind::Directory {
                    continue;
                }
                score.bytes = score.bytes.saturating_add(left.min(len));
                len = len.min(left.max(1).next_multiple_of(map.block.max(1)));
                score.over_read_bytes += len.saturating_sub(left);
            }
            score.read_bytes = score.read_bytes.saturating_add(len);
            match end {
                Some(end) if end == start => {}
                Some(end) => {
                    score.discontinuities += 1;
                    score.requests += 1;
                    score.distance_bytes = score.distance_bytes.saturating_add(end.abs_diff(start));
                }
                None => score.requests += 1,
            }
            end = Some(start.saturating_add(len));
            runs.push((start, start.saturating_add(len)));
        }
        if is_packed {
            score.bytes = score.bytes.saturating_add(size);
        }
    }
    runs.sort_unstable();
    let mut last = None;
    for (start, end) in runs {
        score.requests_in_disk_order += u64::from(last != Some(start));
        last = Some(end);
    }
    score
}
