//! `firstlight.cold/1`.

use super::document::Document;
use analysis::{Interval, StartCase};
use inspect::reads::Reads;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cold and warm starts of a program, and the effect of prefetching and of another file order.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
pub struct Cold {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: String,
    /// Host that the starts were measured on; null for this machine.
    pub host: Option<String>,
    /// Program and its arguments.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    /// Number of starts in each case.
    #[schemars(range(min = 1))]
    pub runs: u32,
    /// How files were evicted from the page cache.
    #[schemars(extend("enum" = ["drop_caches", "fadvise"]))]
    pub eviction: String,
    /// Results of each case.
    #[schemars(length(min = 2))]
    pub cases: Vec<ColdCase>,
    /// Cold start minus warm start, run by run.
    pub cold_costs: ColdBounds,
    /// Cold start minus start with prefetching, run by run; null if it was not measured.
    pub prefetch_saves: Option<ColdBounds>,
    /// Cold start minus start with files in order of access, run by run; null if it was not
    /// measured.
    pub order_saves: Option<ColdBounds>,
    /// Cold start minus start with files in order of access and prefetching, run by run; null
    /// if it was not measured.
    pub order_prefetch_saves: Option<ColdBounds>,
    /// Files relocated for the measurement, by file system.
    pub moved: Vec<ColdMoved>,
    /// Files that the program reads; null if they were not recorded.
    pub reads: Option<ColdReads>,
    /// Data that was lost, is uncertain or was ignored.
    pub notes: Vec<String>,
}

impl Document for Cold {
    const SCHEMA: &'static str = "firstlight.cold/1";
    const TITLE: &'static str = "Output of `firstlight cold --json`";
}

/// Starts in one case.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
pub struct ColdCase {
    /// Name of the case.
    #[schemars(extend("enum" = ["cold", "warm", "prefetch", "order", "order_prefetch"]))]
    pub case: String,
    /// Duration of each start.
    #[schemars(inner(range(min = 0)))]
    pub times_ns: Vec<i64>,
    /// Median of the durations.
    #[serde(flatten)]
    pub bounds: ColdBounds,
    /// Median CPU time.
    #[schemars(range(min = 0))]
    pub processor_ns: i64,
    /// Median of the bytes that the program itself read from storage.
    #[schemars(range(min = 0))]
    pub read_bytes: i64,
    /// Median number of major page faults.
    #[schemars(range(min = 0))]
    pub major_faults: i64,
    /// Median time in which some task of the machine waited for storage; null if the kernel
    /// does not report it.
    pub storage_wait_ns: Option<i64>,
}

/// A median and its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
pub struct ColdBounds {
    /// Median.
    pub median_ns: i64,
    /// Lower end of the interval.
    pub low_ns: i64,
    /// Upper end of the interval.
    pub high_ns: i64,
}

/// Files that a program reads, as recorded.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
pub struct ColdReads {
    /// Number of files.
    pub files: u64,
    /// Bytes read of these files.
    pub bytes: u64,
    /// Number of contiguous ranges.
    pub pieces: u64,
    /// Bytes of file system metadata.
    pub metadata_bytes: u64,
    /// Number of directories read.
    pub directories: u64,
    /// Totals by file system, the most bytes first.
    pub filesystems: Vec<ColdFilesystem>,
    /// Files with the most bytes read.
    pub largest: Vec<ColdFile>,
}

/// Files read from one file system.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
pub struct ColdFilesystem {
    /// Mount point.
    pub place: String,
    /// File system type.
    pub kind: String,
    /// Device.
    pub device: String,
    /// Number of files.
    pub files: u64,
    /// Bytes read.
    pub bytes: u64,
}

/// A file that the program reads.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
pub struct ColdFile {
    /// Path of the file.
    pub path: String,
    /// Bytes read.
    pub bytes: u64,
    /// Number of contiguous ranges.
    pub pieces: u64,
}

/// Files relocated on one file system.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
pub struct ColdMoved {
    /// Mount point.
    pub place: String,
    /// Number of files.
    pub files: u64,
    /// Bytes of these files.
    pub bytes: u64,
    /// Number of times that the next needed block did not follow the previous one, before.
    pub discontinuities_before: u64,
    /// The same number after the relocation.
    pub discontinuities: u64,
    /// Files that were not relocated.
    pub skipped: Vec<ColdSkipped>,
    /// Whether all files are back in their original place.
    pub is_back: bool,
}

/// A file that was not relocated.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
pub struct ColdSkipped {
    /// Path of the file.
    pub path: String,
    /// Why the file was not relocated.
    pub reason: String,
}

impl ColdBounds {
    /// Of a median and its interval.
    #[must_use]
    pub const fn of(interval: Interval) -> Self {
        Self {
            median_ns: interval.median.0,
            low_ns: interval.low.0,
            high_ns: interval.high.0,
        }
    }
}

impl ColdCase {
    /// Of the starts in a case.
    #[must_use]
    pub fn of(case: &StartCase) -> Self {
        Self {
            case: case.case.to_owned(),
            times_ns: case.times.iter().map(|t| t.0).collect(),
            bounds: ColdBounds::of(case.bounds),
            processor_ns: case.processor_ns,
            read_bytes: case.read_bytes,
            major_faults: case.major_faults,
            storage_wait_ns: case.storage_wait_ns,
        }
    }
}

impl ColdReads {
    /// Of an access list in figures.
    #[must_use]
    pub fn of(reads: &Reads) -> Self {
        let filesystems = reads.filesystems.iter();
        let filesystems = filesystems.map(|(mount, files, bytes)| match mount {
            Some(mount) => ColdFilesystem {
                place: mount.place.display().to_string(),
                kind: mount.kind.clone(),
                device: mount.device.clone(),
                files: *files,
                bytes: *bytes,
            },
            None => ColdFilesystem {
                place: "/".to_owned(),
                kind: String::new(),
                device: String::new(),
                files: *files,
                bytes: *bytes,
            },
        });
        let largest = reads.largest.iter().map(|(path, bytes, pieces)| ColdFile {
            path: String::from_utf8_lossy(path).into_owned(),
            bytes: *bytes,
            pieces: *pieces,
        });
        Self {
            files: reads.files,
            bytes: reads.bytes,
            pieces: reads.pieces,
            metadata_bytes: reads.metadata_bytes,
            directories: reads.directories,
            filesystems: filesystems.collect(),
            largest: largest.collect(),
        }
    }
}
