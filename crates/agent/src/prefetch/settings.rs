//! How a list is played, and what came of it.

use std::path::PathBuf;
use storage::prefetch::{INFILL_BYTES, REQUEST_BYTES, WINDOW_US};

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
    /// Whether that folder becomes the root directory of this process once the first
    /// metadata is asked for: in an initramfs it is moved to `/` then, and its path is gone.
    pub enter: bool,
    /// The order. Not given: that of the device if it turns, and else that of need.
    pub order: Option<Order>,
    /// How much of the recorded time is one window, in microseconds; 0: all.
    pub window_us: u64,
    /// The most bytes asked for at once. Not given: 8 MiB if the device turns, and else
    /// 1 MiB.
    pub in_flight_bytes: Option<u64>,
    /// The largest read.
    pub request_bytes: u32,
    /// Holes up to this length are read, too; of a disk that turns, those up to 128
    /// KiB in any case.
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
            enter: false,
            order: None,
            window_us: WINDOW_US,
            in_flight_bytes: None,
            request_bytes: REQUEST_BYTES,
            infill_bytes: INFILL_BYTES,
            floor_bytes: 32 << 20,
            stable_percent: 0,
            idle: true,
            ring: true,
        }
    }
}

/// How far the prefetcher is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The first metadata is asked for, and the root is entered: it may be moved. Told if the
    /// settings ask for that.
    Asked,
    /// So much of what is needed first is on its way that the boot does well to begin, or
    /// there is nothing to be read. Told once.
    Begun,
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
    /// Bytes that were in memory already, as far as io_uring tells.
    pub resident_bytes: u64,
    /// Whether reads went through io_uring.
    pub ring: bool,
    /// Why it ended before the list did.
    pub stopped: Option<String>,
}
