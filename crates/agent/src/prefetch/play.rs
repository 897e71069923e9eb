//! The prefetcher.

use super::INFILL_BYTES;
use super::requests::infilled;
use super::ring::Ring;
use super::state::{State, open_entry};
use crate::access::{AccessList, Entry, RangeKind};
use crate::extents::{Extent, extents};
use crate::resident::resident;
use rustix::fs::{Advice, Mode, OFlags, fadvise, open};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// In what order a window is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As it was needed.
    Need,
    /// As it lies on the device: neighbours become one request.
    Physical,
}

/// How a list is played.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder that is `/` for the list.
    pub root: PathBuf,
    /// The order.
    pub order: Order,
    /// How much of the recorded time is one window, in microseconds; 0: all. Not
    /// given: all for a disk that turns, else [`SHORT_WINDOW_US`].
    pub window_us: Option<u64>,
    /// The most bytes asked for at once.
    pub in_flight_bytes: u64,
    /// The largest read.
    pub request_bytes: u32,
    /// Holes up to this length are read, too.
    pub infill_bytes: u64,
    /// The least memory that stays available, in bytes.
    pub floor_bytes: u64,
    /// Only ranges that this part of the recordings needed, in percent.
    pub stable_percent: u32,
    /// Whether the foreground goes first.
    pub idle: bool,
    /// Whether to use io_uring where the kernel has it.
    pub ring: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            root: PathBuf::from("/"),
            order: Order::Physical,
            window_us: None,
            in_flight_bytes: 2 << 20,
            request_bytes: 128 << 10,
            infill_bytes: INFILL_BYTES,
            floor_bytes: 32 << 20,
            stable_percent: 0,
            idle: true,
            ring: true,
        }
    }
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// Files that were read from.
    pub files: u64,
    /// Files that are not what was recorded, or are gone.
    pub stale: u64,
    /// Bytes asked for.
    pub bytes: u64,
    /// Of these, bytes of metadata.
    pub metadata_bytes: u64,
    /// Reads submitted.
    pub reads: u64,
    /// Bytes that were in memory already.
    pub resident_bytes: u64,
    /// Whether reads went through io_uring.
    pub ring: bool,
    /// Whether the order was that of the device.
    pub physical: bool,
    /// Why it ended before the list did.
    pub stopped: Option<String>,
}

/// Of a list whose files are mostly others, nothing is believed.
const MOST_STALE_PERCENT: u64 = 50;

/// If so many bytes were looked at, and this part of them was in memory before
/// the prefetcher came, it comes too late to help.
const LATE_AFTER_BYTES: u64 = 8 << 20;
const LATE_PERCENT: u64 = 90;

/// A window of need where distance costs nothing.
pub const SHORT_WINDOW_US: u64 = 250_000;

/// How many reads may be in the ring, and how many files open, at once.
const DEPTH: u32 = 256;

/// The most extents that are asked for one file.
const MOST_EXTENTS: usize = 1024;

/// A read to do.
#[derive(Clone, Copy, Debug)]
struct Piece {
    file: usize,
    offset: u64,
    bytes: u64,
    /// Where it lies on the device, if that is known.
    physical: u64,
}

/// Reads what `list` says, and comes back when all is asked for.
///
/// # Errors
/// If the kernel refuses what no kernel refuses; a list that cannot be played is
/// told in [`Played::stopped`].
pub fn play(list: &AccessList, settings: &Settings) -> io::Result<Played> {
    let mut played = Played::default();
    let machine = rustix::system::uname();
    let machine = machine.machine().to_string_lossy().into_owned();
    if list.machine != machine {
        let of = &list.machine;
        played.stopped = Some(format!(
            "the list is of a {of}, and this machine is a {machine}"
        ));
        return Ok(played);
    }
    if settings.idle {
        set_idle();
    }
    played.physical = settings.order != Order::Need;
    let window_us = settings
        .window_us
        .unwrap_or_else(|| match turns(&settings.root) {
            true => 0,
            false => SHORT_WINDOW_US,
        });
    let mut reader = Reader::new(settings);
    played.ring = reader.ring.is_some();
    // What the files' names and places are read from comes first.
    for entry in list.entries.iter().filter(|e| e.is_device()) {
        metadata(entry, list, settings, &mut reader, &mut played)?;
    }
    let files: Vec<&Entry> = list.entries.iter().filter(|e| !e.is_device()).collect();
    let most_files = allow_files(files.len());
    for window in windows(&files, list, settings, (window_us, most_files)) {
        if reader.files.len() >= most_files / 2 {
            reader.finish()?;
            reader.files.clear();
        }
        let pieces = open_window(&window, &files, list, settings, &mut reader, &mut played);
        for piece in pieces {
            if let Some(why) = short_of_memory(settings, &reader) {
                played.stopped = Some(why);
                break;
            }
            reader.read(piece)?;
        }
        played.bytes += std::mem::take(&mut reader.bytes);
        played.reads += std::mem::take(&mut reader.reads);
        if played.stopped.is_some() {
            break;
        }
        let known = played.files + played.stale;
        if played.stale * 100 > known * MOST_STALE_PERCENT && known >= 8 {
            played.stopped = Some(format!(
                "{} of the first {known} files are not what was recorded: the list is of another \
                 system, or old; record it again",
                played.stale
            ));
            break;
        }
        let seen = played.bytes + played.resident_bytes;
        if seen >= LATE_AFTER_BYTES && played.resident_bytes * 100 >= seen * LATE_PERCENT {
            played.stopped = Some("nearly all was in memory already: it came too late".to_owned());
            break;
        }
    }
    reader.finish()?;
    played.bytes += reader.bytes;
    played.reads += reader.reads;
    Ok(played)
}

/// How many files may be open, if `wanted` would be best.
fn allow_files(wanted: usize) -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let best = (wanted as u64).saturating_mul(2) + 64;
    let most = limit.maximum.map_or(best, |m| m.min(best));
    let now = limit.current.unwrap_or(most);
    let raised = Rlimit {
        current: Some(most.max(now)),
        maximum: limit.maximum,
    };
    let now = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => most.max(now),
        Err(_) => now,
    };
    usize::try_from(now)
        .unwrap_or(usize::MAX)
        .saturating_sub(32)
        .max(16)
}

/// Whether the device below `root` charges for distance.
fn turns(root: &Path) -> bool {
    let Ok(device) = fs::metadata(root).map(|m| m.dev()) else {
        return false;
    };
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    // A partition has its queue at the disk's.
    [".", ".."].iter().any(|up| {
        let path = format!("/sys/dev/block/{major}:{minor}/{up}/queue/rotational");
        fs::read_to_string(path).is_ok_and(|t| t.trim() == "1")
    })
}

/// Lets all others' I/O go first.
fn set_idle() {
    crate::sys::idle_io().ok();
}

/// Which ranges of which files are read in each window.
fn windows(
    files: &[&Entry],
    list: &AccessList,
    settings: &Settings,
    (window_us, most_files): (u64, usize),
) -> Vec<Vec<(usize, u64, u64, u64)>> {
    let page = u64::from(list.page_bytes);
    let mut all: Vec<(u64, usize, u64, u64)> = Vec::new();
    for (number, entry) in files.iter().enumerate() {
        for range in &entry.ranges {
            let percent = u64::from(range.seen) * 100 / u64::from(list.recordings.max(1));
            if percent < u64::from(settings.stable_percent) {
                continue;
            }
            let start = range.page.saturating_mul(page);
            let end = range.end().saturating_mul(page).min(entry.size());
            if start < end {
                all.push((range.first_us, number, start, end - start));
            }
        }
    }
    all.sort_unstable();
    let mut windows: Vec<Vec<(usize, u64, u64, u64)>> = Vec::new();
    let mut of = None;
    let mut in_window = HashSet::new();
    for (first_us, file, offset, bytes) in all {
        let number = first_us.checked_div(window_us).unwrap_or(0);
        in_window.insert(file);
        if of != Some(number) || in_window.len() > most_files / 2 {
            windows.push(Vec::new());
            in_window.clear();
            in_window.insert(file);
            of = Some(number);
        }
        if let Some(window) = windows.last_mut() {
            window.push((file, offset, bytes, first_us));
        }
    }
    windows
}

/// Opens a window's files, and puts what is to be read of them in order.
fn open_window(
    window: &[(usize, u64, u64, u64)],
    files: &[&Entry],
    list: &AccessList,
    settings: &Settings,
    reader: &mut Reader,
    played: &mut Played,
) -> Vec<Piece> {
    // The file's ranges, and when the first of them is needed.
    let mut of_files: HashMap<usize, (u64, Vec<(u64, u64)>)> = HashMap::new();
    for &(file, offset, bytes, first_us) in window {
        let ranges = of_files.entry(file).or_insert((first_us, Vec::new()));
        ranges.1.push((offset, bytes));
    }
    let mut in_order: Vec<_> = of_files.into_iter().collect();
    in_order.sort_unstable_by_key(|(file, (first_us, _))| (*first_us, *file));
    let mut pieces = Vec::new();
    for (file, (_, mut ranges)) in in_order {
        let Some(entry) = files.get(file) else {
            continue;
        };
        if !reader.files.contains_key(&file) {
            match open_entry(&settings.root, entry) {
                (Some(opened), State::Same | State::Moved) => {
                    // Exactly what is asked for, and nothing around it.
                    fadvise(&opened, 0, None, Advice::Random).ok();
                    reader.files.insert(file, opened);
                    played.files += 1;
                }
                _ => {
                    played.stale += 1;
                    continue;
                }
            }
        }
        let Some(opened) = reader.files.get(&file) else {
            continue;
        };
        ranges.sort_unstable();
        let wide = infilled(&ranges, settings.infill_bytes);
        let missing = missing(opened, entry, &wide, list.page_bytes, played);
        let placed = match (played.physical, missing.first(), missing.last()) {
            (true, Some(first), Some(last)) => {
                let end = last.0.saturating_add(last.1);
                extents(opened, first.0, end, MOST_EXTENTS).unwrap_or_default()
            }
            _ => Vec::new(),
        };
        for (offset, bytes) in missing {
            cut(file, offset, bytes, &placed, settings, &mut pieces);
        }
    }
    if played.physical {
        pieces.sort_by_key(|p| p.physical);
    }
    pieces
}

/// What of `pieces` is not in memory.
fn missing(
    file: &OwnedFd,
    entry: &Entry,
    pieces: &[(u64, u64)],
    page_bytes: u32,
    played: &mut Played,
) -> Vec<(u64, u64)> {
    let page = u64::from(page_bytes);
    let flags = resident(file, entry.size(), page_bytes).unwrap_or_default();
    let mut missing: Vec<(u64, u64)> = Vec::new();
    for &(offset, bytes) in pieces {
        let end = offset.saturating_add(bytes);
        let mut at = offset;
        while at < end {
            let number = usize::try_from(at / page).unwrap_or(usize::MAX);
            let next = (at / page + 1).saturating_mul(page).min(end);
            match (flags.get(number), missing.last_mut()) {
                (Some(true), _) => played.resident_bytes += next - at,
                (_, Some((start, length))) if *start + *length == at => *length += next - at,
                _ => missing.push((at, next - at)),
            }
            at = next;
        }
    }
    missing
}

/// Cuts a piece where it ends on the device, and into reads.
fn cut(
    file: usize,
    offset: u64,
    bytes: u64,
    placed: &[Extent],
    settings: &Settings,
    pieces: &mut Vec<Piece>,
) {
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
        pieces.push(Piece {
            file,
            offset: at,
            bytes: until - at,
            physical,
        });
        at = until;
    }
}

/// Reads a filesystem's metadata through its device: that is where the
/// filesystem itself will look for it.
fn metadata(
    entry: &Entry,
    list: &AccessList,
    settings: &Settings,
    reader: &mut Reader,
    played: &mut Played,
) -> io::Result<()> {
    if open_entry(&settings.root, entry).1 != State::Same {
        played.stale += 1;
        return Ok(());
    }
    let path = super::state::place(&settings.root, entry);
    let device = fs::metadata(&path).ok().and_then(|m| device_file(m.dev()));
    let Some(device) = device else { return Ok(()) };
    let number = usize::MAX;
    fadvise(&device, 0, None, Advice::Random).ok();
    reader.files.insert(number, device);
    let pieces = entry.pieces(RangeKind::Touched, list.page_bytes);
    for (offset, bytes) in infilled(&pieces, settings.infill_bytes) {
        let mut cut_pieces = Vec::new();
        cut(number, offset, bytes, &[], settings, &mut cut_pieces);
        for piece in cut_pieces {
            reader.read(piece)?;
        }
    }
    // Files are opened by what is read here.
    reader.finish()?;
    reader.files.remove(&number);
    played.metadata_bytes += reader.bytes;
    played.bytes += std::mem::take(&mut reader.bytes);
    played.reads += std::mem::take(&mut reader.reads);
    Ok(())
}

/// A block device by its number.
fn device_file(device: u64) -> Option<OwnedFd> {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let told = fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/uevent")).ok()?;
    let name = told.lines().find_map(|l| l.strip_prefix("DEVNAME="))?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    open(Path::new("/dev").join(name), flags, Mode::empty()).ok()
}

/// Why no more should be read, if so. Asked now and then: the answer costs.
fn short_of_memory(settings: &Settings, reader: &Reader) -> Option<String> {
    if !reader.reads.is_multiple_of(64) {
        return None;
    }
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    (kib.saturating_mul(1024) < settings.floor_bytes).then(|| {
        format!(
            "only {kib} KiB of memory are available; the floor is {} KiB",
            settings.floor_bytes >> 10
        )
    })
}

/// Sends reads, and counts what is in flight.
struct Reader {
    ring: Option<Ring>,
    files: HashMap<usize, OwnedFd>,
    /// The lengths of the reads in flight, by token.
    flying: HashMap<u64, u64>,
    flying_bytes: u64,
    most_bytes: u64,
    /// Reads that are put in, and not sent yet.
    waiting: u64,
    token: u64,
    bytes: u64,
    reads: u64,
}

impl Reader {
    fn new(settings: &Settings) -> Self {
        let ring = match settings.ring {
            true => Ring::new(DEPTH, settings.request_bytes as usize).ok(),
            false => None,
        };
        Self {
            ring,
            files: HashMap::new(),
            flying: HashMap::new(),
            flying_bytes: 0,
            most_bytes: settings
                .in_flight_bytes
                .max(u64::from(settings.request_bytes)),
            waiting: 0,
            token: 0,
            bytes: 0,
            reads: 0,
        }
    }

    fn read(&mut self, piece: Piece) -> io::Result<()> {
        let Some(file) = self.files.get(&piece.file) else {
            return Ok(());
        };
        self.bytes += piece.bytes;
        self.reads += 1;
        let Some(ring) = &mut self.ring else {
            let bytes = usize::try_from(piece.bytes).unwrap_or(usize::MAX);
            // An error here is an error at need, and told there.
            crate::sys::readahead(file, piece.offset, bytes).ok();
            return Ok(());
        };
        self.token += 1;
        let bytes = u32::try_from(piece.bytes).unwrap_or(u32::MAX);
        let file: BorrowedFd<'_> = file.as_fd();
        ring.read(file, piece.offset, bytes, self.token)?;
        self.flying.insert(self.token, piece.bytes);
        self.flying_bytes += piece.bytes;
        self.waiting += 1;
        if self.flying_bytes >= self.most_bytes || self.flying.len() >= DEPTH as usize {
            // Half of it has to come back before more goes out, and that together.
            self.drain(self.most_bytes / 2)?;
        }
        Ok(())
    }

    /// Sends what waits, and waits until no more than `bytes` are in flight.
    fn drain(&mut self, bytes: u64) -> io::Result<()> {
        let Some(ring) = &mut self.ring else {
            return Ok(());
        };
        while self.waiting > 0
            || self.flying_bytes > bytes
            || self.flying.len() >= DEPTH as usize / 2
        {
            if self.flying.is_empty() {
                break;
            }
            self.waiting = 0;
            for token in ring.submit(1)? {
                let bytes = self.flying.remove(&token).unwrap_or(0);
                self.flying_bytes = self.flying_bytes.saturating_sub(bytes);
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        while !self.flying.is_empty() && self.ring.is_some() {
            self.drain(0)?;
        }
        Ok(())
    }
}
