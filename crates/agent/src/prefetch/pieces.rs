//! From needs to reads: windows of time, files that are opened, pieces in order.

use super::probe::Probe;
use super::reader::{Piece, Reader};
use super::settings::{Order, Played, Settings};
use super::state::{State, open_entry, place};
use crate::access::{AccessList, Entry};
use crate::extents::{Extent, extents};
use rustix::fs::{Advice, Mode, OFlags, fadvise, open};
use std::cell::OnceCell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque, hash_map};
use std::fs;
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use storage::prefetch::{infilled, taken_along, window_of};

/// The most extents that are asked for one file.
const MOST_EXTENTS: usize = 1024;

/// Something that is needed: a piece of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Need {
    first_us: u64,
    entry: usize,
    offset: u64,
    bytes: u64,
}

impl Need {
    const fn end(&self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }
}

/// [`Need`]'s order. Called, and not copied into each step of the sort, it is
/// smaller by kilobytes.
#[inline(never)]
fn before(a: &Need, b: &Need) -> Ordering {
    a.cmp(b)
}

/// What is needed in some part of the recorded time.
#[derive(Clone, Debug, Default)]
pub(super) struct Window {
    /// When the first of it is needed.
    pub start_us: u64,
    /// In their order.
    pub needs: Vec<Need>,
}

/// What is needed, in windows of time and of at most half of `most_files` files.
pub(super) fn windows(
    list: &AccessList,
    settings: &Settings,
    most_files: usize,
    along_bytes: u64,
) -> VecDeque<Window> {
    let page = u64::from(list.page_bytes);
    let mut all: Vec<Need> = Vec::new();
    for (number, entry) in list.entries.iter().enumerate() {
        for range in &entry.ranges {
            let percent = u64::from(range.seen) * 100 / u64::from(list.recordings.max(1));
            if percent < u64::from(settings.stable_percent) {
                continue;
            }
            let start = range.page.saturating_mul(page);
            let end = range.end().saturating_mul(page).min(entry.size());
            if start < end {
                all.push(Need {
                    first_us: range.first_us,
                    entry: number,
                    offset: start,
                    bytes: end - start,
                });
            }
        }
    }
    all.sort_unstable_by(before);
    let mut windows: VecDeque<Window> = VecDeque::new();
    let mut of = None;
    // The last window of each entry, counted from 1, and the entries of this one.
    let mut last_of = vec![0; list.entries.len()];
    let mut in_window = 0;
    for need in all {
        let number = window_of(need.first_us, settings.window_us);
        let mut is_new = last_of.get(need.entry) != Some(&windows.len());
        if of != Some(number) || in_window + usize::from(is_new) > most_files / 2 {
            windows.push_back(Window {
                start_us: need.first_us,
                needs: Vec::new(),
            });
            in_window = 0;
            is_new = true;
            of = Some(number);
        }
        in_window += usize::from(is_new);
        if let Some(last) = last_of.get_mut(need.entry) {
            *last = windows.len();
        }
        if let Some(window) = windows.back_mut() {
            window.needs.push(need);
        }
    }
    take_along(&mut windows, list, along_bytes);
    windows
}

/// Moves metadata to windows before its own, where that saves a way.
fn take_along(windows: &mut VecDeque<Window>, list: &AccessList, most_bytes: u64) {
    for entry in (0..list.entries.len()).rev() {
        if !list.entries.get(entry).is_some_and(Entry::is_device) {
            // They come last.
            break;
        }
        let mut all: Vec<(Need, u64)> = Vec::new();
        for (window, number) in windows.iter_mut().zip(0..) {
            let own = window.needs.iter().filter(|n| n.entry == entry);
            all.extend(own.map(|need| (*need, number)));
            window.needs.retain(|n| n.entry != entry);
        }
        let places = all.iter().zip(0..).map(|((n, _), at)| (n.offset, at));
        let mut places: Vec<(u64, u64)> = places.collect();
        places.sort_unstable();
        let in_order = || places.iter().filter_map(|(_, at)| all.get(*at as usize));
        let needs: Vec<_> = in_order().map(|(n, of)| (*of, n.offset, n.bytes)).collect();
        for ((need, _), number) in in_order().zip(taken_along(&needs, most_bytes)) {
            if let Some(window) = windows.get_mut(number as usize) {
                window.needs.push(*need);
            }
        }
    }
    windows.retain(|w| !w.needs.is_empty());
}

/// Opens a window's files, and puts what is to be read of them in order.
pub(super) fn open_window(
    window: &Window,
    list: &AccessList,
    settings: &Settings,
    reader: &mut Reader,
    played: &mut Played,
) -> Vec<Piece> {
    // Each file's ranges, the files as they are needed: so the needs come.
    let mut turns = vec![usize::MAX; list.entries.len()];
    for (number, need) in window.needs.iter().enumerate() {
        if let Some(turn) = turns.get_mut(need.entry) {
            *turn = number.min(*turn);
        }
    }
    let turn = |n: &Need| (turns.get(n.entry).copied(), n.offset);
    let mut needs = window.needs.clone();
    needs.sort_unstable_by_key(turn);
    let mut pieces = Vec::new();
    for needs in needs.chunk_by(|a, b| a.entry == b.entry) {
        let (Some(first), Some(last)) = (needs.first(), needs.last()) else {
            continue;
        };
        let file = first.entry;
        let Some(entry) = list.entries.get(file).filter(|e| !e.is_device()) else {
            continue;
        };
        open_file(file, entry, settings, reader, played);
        let Some(opened) = reader.file(file) else {
            played.stale += 1;
            continue;
        };
        let ranges: Vec<(u64, u64)> = needs.iter().map(|n| (n.offset, n.bytes)).collect();
        // Asked once, and only if it matters: for a hole, or for the order.
        let placed = OnceCell::new();
        let places = || {
            placed.get_or_init(|| {
                extents(opened, first.offset, last.end(), MOST_EXTENTS).unwrap_or_default()
            })
        };
        if settings.order == Some(Order::Physical) {
            places();
        }
        // A hole that lies elsewhere would be a request more, and none less.
        let wide = infilled(&ranges, settings.infill_bytes, &|from, to| {
            places().is_empty() || together(places(), from, to)
        });
        let placed = placed.get().map_or(&[][..], Vec::as_slice);
        // What is in memory by now is not read again, and costs less than to ask.
        for (offset, bytes) in wide {
            cut(needs, (offset, bytes), placed, settings, &mut pieces);
        }
    }
    match settings.order {
        Some(Order::Physical) => pieces.sort_by_key(|p| p.physical),
        _ => pieces.sort_unstable_by_key(Piece::in_need),
    }
    pieces
}

/// Opens a file of the list, if it is what was recorded and not open already.
fn open_file(
    file: usize,
    entry: &Entry,
    settings: &Settings,
    reader: &mut Reader,
    played: &mut Played,
) {
    if reader.file(file).is_some() {
        return;
    }
    if let (Some(opened), State::Same | State::Moved) = open_entry(&settings.root, entry) {
        // Exactly what is asked for, and nothing around it.
        fadvise(&opened, 0, None, Advice::Random).ok();
        played.files += 1;
        reader.keep(file, opened);
    }
}

/// Reads what is needed first of a window by itself, until `probe` has seen enough: of a
/// device that takes time that is one read.
pub(super) fn first_content(
    window: &mut Window,
    list: &AccessList,
    settings: &Settings,
    reader: &mut Reader,
    played: &mut Played,
    probe: &mut Probe,
) {
    let most = u64::from(settings.request_bytes.max(4096));
    let mut next = 0;
    while probe.is_open() {
        let Some(need) = window.needs.get_mut(next) else {
            return;
        };
        let file = need.entry;
        let Some(entry) = list.entries.get(file).filter(|e| !e.is_device()) else {
            next += 1;
            continue;
        };
        open_file(file, entry, settings, reader, played);
        if reader.file(file).is_none() {
            return;
        }
        let bytes = need.bytes.min(most);
        let piece = Piece {
            file,
            offset: need.offset,
            bytes,
            first_us: need.first_us,
            physical: 0,
        };
        need.offset += bytes;
        need.bytes -= bytes;
        if need.bytes == 0 {
            window.needs.remove(next);
        }
        reader.read_alone(piece, probe);
    }
}

/// Whether the bytes from `from` to `to` lie in one piece, with those around them. It is
/// not enough that those around them lie as far apart as they should: of a file in pieces
/// something else may lie between them.
fn together(placed: &[Extent], from: u64, to: u64) -> bool {
    let behind = placed.partition_point(|e| e.offset < from);
    let mut pieces = placed.iter().skip(behind.saturating_sub(1));
    let Some(first) = pieces.next().filter(|e| e.offset < from) else {
        return false;
    };
    let end = |e: &Extent| {
        (
            e.offset.saturating_add(e.bytes),
            e.physical.saturating_add(e.bytes),
        )
    };
    let mut reached = end(first);
    for piece in pieces {
        if reached.0 > to || reached != (piece.offset, piece.physical) {
            break;
        }
        reached = end(piece);
    }
    reached.0 > to
}

/// Cuts bytes of a file (offset, length) where they end on the device, and into reads.
/// `needs` are the file's, in the order of their offsets.
fn cut(
    needs: &[Need],
    (offset, bytes): (u64, u64),
    placed: &[Extent],
    settings: &Settings,
    pieces: &mut Vec<Piece>,
) {
    let Some(mut first) = needs.first().copied() else {
        return;
    };
    let end = offset.saturating_add(bytes);
    let mut at = offset;
    while at < end {
        let extent = placed.partition_point(|e| e.offset.saturating_add(e.bytes) <= at);
        let extent = placed.get(extent).filter(|e| e.offset <= at);
        let most = u64::from(settings.request_bytes.max(4096));
        let mut until = at.saturating_add(most).min(end);
        let mut physical = 0;
        if let Some(e) = extent {
            until = until.min(e.offset.saturating_add(e.bytes));
            physical = e.physical.saturating_add(at - e.offset);
        }
        let from = needs.partition_point(|n| n.end() <= at);
        let within = needs.iter().skip(from).take_while(|n| n.offset < until);
        // Where there is none, a hole is read because of what is before it.
        first = within.min_by_key(|n| n.first_us).copied().unwrap_or(first);
        pieces.push(Piece {
            file: first.entry,
            offset: at,
            bytes: until - at,
            first_us: first.first_us,
            physical,
        });
        at = until;
    }
}

/// Asks for a window's metadata through the device: that is where the filesystem
/// itself will look for it.
pub(super) fn metadata(
    window: &Window,
    list: &AccessList,
    settings: &Settings,
    reader: &mut Reader,
    played: &mut Played,
    probe: &mut Probe,
) {
    let mut of_devices: BTreeMap<usize, Vec<(u64, u64)>> = BTreeMap::new();
    for need in &window.needs {
        if list.entries.get(need.entry).is_some_and(Entry::is_device) {
            let ranges = of_devices.entry(need.entry).or_default();
            ranges.push((need.offset, need.bytes));
        }
    }
    // A program that needs such a page waits for this read of it. Among the idle ones it
    // would stay behind all content that is asked for already.
    let before_content = settings.idle && !of_devices.is_empty();
    if before_content {
        crate::sys::idle_io(false).ok();
    }
    for (number, mut ranges) in of_devices {
        let Some(entry) = list.entries.get(number) else {
            continue;
        };
        if let hash_map::Entry::Vacant(place) = reader.devices.entry(number) {
            let device = opened_device(entry, settings);
            played.stale += u64::from(device.is_none());
            place.insert(device);
        }
        ranges.sort_unstable();
        let Some(Some(device)) = reader.devices.get(&number) else {
            continue;
        };
        for (offset, bytes) in infilled(&ranges, settings.infill_bytes, &|_, _| true) {
            // Some of these pages are there since the filesystem was mounted: a read
            // would come back with those, and only later ask for the others.
            let length = NonZeroU64::new(bytes);
            probe.watch(device, (offset, bytes), || {
                fadvise(device, offset, length, Advice::WillNeed).ok();
            });
            played.metadata_bytes += bytes;
            played.bytes += bytes;
            played.reads += 1;
            if probe.is_memory() {
                break;
            }
        }
    }
    if before_content {
        crate::sys::idle_io(true).ok();
    }
}

/// The device below a filesystem, if that is the one of the list.
fn opened_device(entry: &Entry, settings: &Settings) -> Option<OwnedFd> {
    if open_entry(&settings.root, entry).1 != State::Same {
        return None;
    }
    let path = place(&settings.root, entry);
    let device = device_file(fs::metadata(&path).ok()?.dev())?;
    fadvise(&device, 0, None, Advice::Random).ok();
    Some(device)
}

/// A block device by its number.
fn device_file(device: u64) -> Option<OwnedFd> {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let told = fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/uevent")).ok()?;
    let name = told.lines().find_map(|l| l.strip_prefix("DEVNAME="))?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    open(Path::new("/dev").join(name), flags, Mode::empty()).ok()
}

#[cfg(test)]
mod tests {
    use super::{Extent, together};

    fn extent(offset: u64, physical: u64, bytes: u64) -> Extent {
        Extent {
            offset,
            physical,
            bytes,
        }
    }

    #[test]
    fn a_hole_is_between_its_neighbours_only_if_it_lies_there() {
        // In one piece, and in pieces that follow each other.
        assert!(together(&[extent(0, 100, 9)], 5, 7));
        assert!(together(&[extent(0, 100, 5), extent(5, 105, 4)], 5, 7));
        assert!(together(&[extent(0, 100, 6), extent(6, 106, 4)], 5, 7));
        // Its neighbours lie as far apart as they should, and it lies elsewhere.
        let elsewhere = [extent(0, 100, 5), extent(5, 7, 2), extent(7, 107, 3)];
        assert!(!together(&elsewhere, 5, 7));
        // It lies nowhere.
        assert!(!together(&[extent(0, 100, 5), extent(7, 107, 3)], 5, 7));
        // Something around it is not known.
        assert!(!together(&[extent(0, 100, 5)], 5, 7));
        assert!(!together(&[extent(0, 100, 7)], 5, 7));
        assert!(!together(&[extent(5, 105, 5)], 5, 7));
        assert!(!together(&[], 5, 7));
        assert!(!together(&[extent(0, 100, 9)], 0, 7));
    }
}
