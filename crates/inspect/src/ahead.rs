//! What an access list would read.

use agent::access::{AccessList, Entry, RangeKind};
use agent::prefetch::{INFILL_BYTES, State, infilled, state_of};
use std::path::Path;

/// Pieces of a file or a device: offsets and lengths, bytes.
pub type Pieces = Vec<(u64, u64)>;

/// What would be read.
#[derive(Clone, Debug, Default)]
pub struct Ahead {
    /// In order of first need.
    pub files: Vec<File>,
    /// Bytes of these.
    pub bytes: u64,
    /// Pieces of these.
    pub requests: u64,
    /// Holes up to so many bytes may be read as well.
    pub gap_bytes: u64,
    /// Bytes of these holes.
    pub infill_bytes: u64,
    /// Pieces then.
    pub infill_requests: u64,
    /// What other programs used, and is perhaps needed: paths and pieces.
    pub around: Vec<(Vec<u8>, Pieces)>,
    /// Of devices.
    pub metadata: Vec<Metadata>,
}

/// A file that would be read.
#[derive(Clone, Debug)]
pub struct File {
    /// Its path.
    pub path: Vec<u8>,
    /// What of it.
    pub ranges: Pieces,
    /// When it is needed first, nanoseconds.
    pub first_need_ns: u64,
    /// The program that needs it first.
    pub program: String,
    /// In which part of the recordings it was needed, 0 to 1, by bytes.
    pub stability: f64,
    /// What became of it since.
    pub state: State,
}

/// The metadata of a filesystem that would be read.
#[derive(Clone, Debug)]
pub struct Metadata {
    /// Where it is mounted.
    pub filesystem: Vec<u8>,
    /// What of its device.
    pub ranges: Pieces,
    /// What became of it since.
    pub state: State,
}

/// What `list` would read, whose `/` is `root`.
#[must_use]
pub fn ahead(list: &AccessList, root: &Path) -> Ahead {
    let mut all = Ahead {
        gap_bytes: INFILL_BYTES,
        ..Ahead::default()
    };
    let mut wide_bytes = 0;
    let mut entries: Vec<&Entry> = list.entries.iter().collect();
    entries.sort_by_key(|e| e.first_us());
    for entry in entries {
        let ranges = entry.pieces(RangeKind::Touched, list.page_bytes);
        let state = state_of(root, entry);
        if entry.is_device() {
            all.metadata.push(Metadata {
                filesystem: entry.path.clone(),
                ranges,
                state,
            });
            continue;
        }
        let near = entry.pieces(RangeKind::Around, list.page_bytes);
        if !near.is_empty() {
            all.around.push((entry.path.clone(), near));
        }
        if ranges.is_empty() {
            continue;
        }
        all.bytes += ranges.iter().map(|r| r.1).sum::<u64>();
        all.requests += ranges.len() as u64;
        let wide = infilled(&ranges, INFILL_BYTES, &|_, _| true);
        wide_bytes += wide.iter().map(|p| p.1).sum::<u64>();
        all.infill_requests += wide.len() as u64;
        let (seen, pages) = entry.ranges.iter().fold((0, 0), |(seen, all), r| {
            (seen + r.pages * u64::from(r.seen), all + r.pages)
        });
        let program = list.programs.get(entry.program as usize);
        all.files.push(File {
            path: entry.path.clone(),
            ranges,
            first_need_ns: entry.first_us().saturating_mul(1000),
            program: program.cloned().unwrap_or_default(),
            stability: seen as f64 / (pages.max(1) as f64 * f64::from(list.recordings.max(1))),
            state,
        });
    }
    all.infill_bytes = wide_bytes.saturating_sub(all.bytes);
    all
}
