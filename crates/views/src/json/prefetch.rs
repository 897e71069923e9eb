//! `firstlight.prefetch.*/1`.

use super::document::Document;
use agent::access::AccessList;
use agent::prefetch::State;
use inspect::ahead::Ahead;
use schemars::JsonSchema;
use serde::Serialize;

/// What an access list would read.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct PrefetchPlan {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Path of the access list.
    pub list: String,
    /// Title of the list.
    pub title: String,
    /// Machine of the recording.
    pub machine: String,
    /// Number of recordings in the list.
    #[schemars(range(min = 1))]
    pub recordings: u32,
    /// Files in order of first need, each with exactly the ranges that were touched.
    pub files: Vec<PrefetchFile>,
    /// How many of the files are shared libraries.
    pub libraries: usize,
    /// How many of the files are fonts, or their configuration and caches.
    pub fonts: usize,
    /// Bytes of these ranges.
    pub bytes: u64,
    /// Number of these ranges. Each is contiguous in its file.
    pub requests: u64,
    /// Reading small holes as well, to need fewer requests.
    pub infill: PrefetchInfill,
    /// Pages that may have been touched: they were in memory for other programs and were mapped
    /// around touched pages.
    pub around: Vec<PrefetchAround>,
    /// Ranges of devices that file systems read.
    pub metadata: Vec<PrefetchMetadata>,
    /// Number of directories read.
    pub directories: u64,
}

impl Document for PrefetchPlan {
    const SCHEMA: &'static str = "firstlight.prefetch.plan/1";
    const TITLE: &'static str = "Output of `firstlight prefetch plan --json`";
}

impl PrefetchPlan {
    /// The document of the list at `path`, and what it would read.
    #[must_use]
    pub fn of(path: &str, list: &AccessList, ahead: &Ahead) -> Self {
        let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let files = ahead.files.iter().map(|f| PrefetchFile {
            path: lossy(&f.path),
            ranges: ranges(&f.ranges),
            first_need_ns: f.first_need_ns,
            program: f.program.clone(),
            stability: f.stability,
            state: word(f.state),
        });
        let around = ahead.around.iter().map(|(path, pieces)| PrefetchAround {
            path: lossy(path),
            ranges: ranges(pieces),
        });
        let metadata = ahead.metadata.iter().map(|m| PrefetchMetadata {
            filesystem: lossy(&m.filesystem),
            ranges: ranges(&m.ranges),
            state: word(m.state),
        });
        let count = |is: fn(&str) -> bool| {
            let paths = ahead.files.iter().map(|f| String::from_utf8_lossy(&f.path));
            paths.filter(|p| is(p)).count()
        };
        Self {
            schema: Self::SCHEMA,
            libraries: count(is_library),
            fonts: count(is_font),
            list: path.to_owned(),
            title: list.title.clone(),
            machine: list.machine.clone(),
            recordings: list.recordings,
            files: files.collect(),
            bytes: ahead.bytes,
            requests: ahead.requests,
            infill: PrefetchInfill {
                gap_bytes: ahead.gap_bytes,
                bytes: ahead.infill_bytes,
                requests: ahead.infill_requests,
            },
            around: around.collect(),
            metadata: metadata.collect(),
            directories: list.directories,
        }
    }
}

/// `libc.so.6`, `libc.so`, but not `ld.so.cache`.
fn is_library(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let version = name.split_once(".so").map(|(_, rest)| rest);
    version.is_some_and(|v| v.chars().all(|c| c == '.' || c.is_ascii_digit()))
}

fn is_font(path: &str) -> bool {
    path.contains("/fonts/") || path.contains("/fontconfig/")
}

fn ranges(pieces: &[(u64, u64)]) -> Vec<PrefetchRange> {
    let all = pieces.iter();
    all.map(|(offset, len)| PrefetchRange {
        offset: *offset,
        len: *len,
    })
    .collect()
}

fn word(state: State) -> &'static str {
    match state {
        State::Same => "same",
        State::Moved => "moved",
        State::Changed => "changed",
        State::Missing => "missing",
    }
}

/// A file to prefetch.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct PrefetchFile {
    /// Path of the file.
    pub path: String,
    /// Ranges that were touched.
    pub ranges: Vec<PrefetchRange>,
    /// Time of first need.
    pub first_need_ns: u64,
    /// Program that needed the file first.
    pub program: String,
    /// Share of the recordings in which these bytes were needed.
    #[schemars(range(min = 0, max = 1))]
    pub stability: f64,
    /// State of the file compared with the recording.
    #[schemars(extend("enum" = ["same", "moved", "changed", "missing"]))]
    pub state: &'static str,
}

/// Pages of a file that may have been touched.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct PrefetchAround {
    /// Path of the file.
    pub path: String,
    /// Ranges of these pages.
    pub ranges: Vec<PrefetchRange>,
}

/// A range of bytes.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct PrefetchRange {
    /// Byte offset.
    pub offset: u64,
    /// Length in bytes.
    #[schemars(range(min = 1))]
    pub len: u64,
}

/// Reading small holes between ranges.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct PrefetchInfill {
    /// Largest hole that is read.
    pub gap_bytes: u64,
    /// Additional bytes read.
    pub bytes: u64,
    /// Number of ranges after joining.
    pub requests: u64,
}

/// Metadata of one file system to prefetch.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct PrefetchMetadata {
    /// Device of the file system.
    pub filesystem: String,
    /// Ranges of the device.
    pub ranges: Vec<PrefetchRange>,
    /// State of the device compared with the recording.
    #[schemars(extend("enum" = ["same", "moved", "changed", "missing"]))]
    pub state: &'static str,
}

/// Expected waiting time for storage, with and without prefetching.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct PrefetchSimulation {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Path of the access list.
    pub list: String,
    /// Time between reads, which the program spends on work.
    pub work_ns: u64,
    /// Bytes to read.
    pub bytes: u64,
    /// Number of files left out because they are missing or changed.
    pub missing_files: u64,
    /// Results for each storage profile.
    pub profiles: Vec<PrefetchProfile>,
}

impl Document for PrefetchSimulation {
    const SCHEMA: &'static str = "firstlight.prefetch.simulate/1";
    const TITLE: &'static str = "Output of `firstlight prefetch simulate --json`";
}

/// Results for one storage profile.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct PrefetchProfile {
    /// Name of the storage profile.
    pub storage: String,
    /// Without prefetching.
    pub demand: PrefetchCase,
    /// With prefetching.
    pub prefetch: PrefetchCase,
    /// With prefetching, and all files in order of need on the device.
    pub ordered: PrefetchCase,
    /// Lower limit for any method: the work, or the transfer of all bytes with one command.
    pub limit_ns: u64,
}

/// Result of one method.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct PrefetchCase {
    /// Time until the last need is met.
    pub total_ns: u64,
    /// Time that the program waits for storage.
    pub stall_ns: u64,
    /// Number of requests.
    pub requests: u64,
}

/// A new access list, from a recording.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct PrefetchRecord {
    /// Bytes of files that may have been touched.
    pub around_bytes: u64,
    /// Bytes of files that were touched.
    pub bytes: u64,
    /// Number of directories read.
    pub directories: u64,
    /// Duration of the recording.
    pub elapsed_ns: u64,
    /// Exit code of the program; null if a signal ended it or it is still running.
    pub exit_code: Option<i32>,
    /// Number of files.
    pub files: usize,
    /// Path of the access list.
    pub list: String,
    /// Size of the access list.
    pub list_bytes: usize,
    /// Bytes that file systems read from their devices.
    pub metadata_bytes: u64,
    /// Data that the list lacks.
    pub notes: Vec<String>,
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
}

impl Document for PrefetchRecord {
    const SCHEMA: &'static str = "firstlight.prefetch.record/1";
    const TITLE: &'static str = "Output of `firstlight prefetch record --json`";
}

/// A new access list, merged from others.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct PrefetchMerge {
    /// Number of ranges that occur in every recording.
    pub always: usize,
    /// Number of files.
    pub files: usize,
    /// Path of the access list.
    pub list: String,
    /// Number of ranges.
    pub ranges: usize,
    /// Number of recordings.
    #[schemars(range(min = 1))]
    pub recordings: u32,
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
}

impl Document for PrefetchMerge {
    const SCHEMA: &'static str = "firstlight.prefetch.merge/1";
    const TITLE: &'static str = "Output of `firstlight prefetch merge --json`";
}

/// Result of prefetching the files of an access list.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct PrefetchReplay {
    /// Bytes requested.
    pub bytes: u64,
    /// Duration.
    pub elapsed_ns: u64,
    /// Number of files prefetched.
    pub files: u64,
    /// Whether reads went through io_uring.
    pub io_uring: bool,
    /// Path of the access list.
    pub list: String,
    /// Bytes of metadata among the requested bytes.
    pub metadata_bytes: u64,
    /// Number of reads.
    pub reads: u64,
    /// Bytes that were already in memory, as far as io_uring reports it.
    pub resident_bytes: u64,
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Number of files that are missing or changed.
    pub stale: u64,
    /// Why prefetching stopped early; null if it did not.
    pub stopped: Option<String>,
}

impl Document for PrefetchReplay {
    const SCHEMA: &'static str = "firstlight.prefetch.replay/1";
    const TITLE: &'static str = "Output of `firstlight prefetch replay --json`";
}

/// A new access list, from a capture.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct PrefetchImport {
    /// Bytes of files.
    pub bytes: u64,
    /// Number of files.
    pub files: usize,
    /// `touch`: the list holds touched pages. `fill`: it holds pages that came into memory,
    /// with read-ahead.
    #[schemars(extend("enum" = ["touch", "fill"]))]
    pub known_by: &'static str,
    /// Path of the access list.
    pub list: String,
    /// Bytes that file systems read from their devices.
    pub metadata_bytes: u64,
    /// Number of files left out because their path is unknown.
    pub nameless: usize,
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
}

impl Document for PrefetchImport {
    const SCHEMA: &'static str = "firstlight.prefetch.import/1";
    const TITLE: &'static str = "Output of `firstlight prefetch import --json`";
}

/// Changes that install or uninstall prefetching at boot.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct PrefetchInstall {
    /// What was done.
    #[schemars(extend("enum" = ["install", "uninstall"]))]
    pub action: &'static str,
    /// Changes, in sentences.
    pub changes: Vec<String>,
    /// Whether the changes were made; false if they were only planned.
    pub done: bool,
    /// Root directory.
    pub root: String,
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
}

impl Document for PrefetchInstall {
    const SCHEMA: &'static str = "firstlight.prefetch.install/1";
    const TITLE: &'static str =
        "Output of `firstlight prefetch install --json` and `uninstall --json`";
}

#[cfg(test)]
mod tests {
    use super::{is_font, is_library};

    #[test]
    fn libraries_and_fonts_are_known_by_their_paths() {
        for path in [
            "/lib/libc.so.6",
            "/usr/lib/libreoffice/libswlo.so",
            "a/libx-1.so.0.0.1",
        ] {
            assert!(is_library(path), "{path}");
        }
        for path in [
            "/etc/ld.so.cache",
            "/usr/bin/so",
            "/etc/ld.so.conf.d/a.conf",
            "/a.so/b",
        ] {
            assert!(!is_library(path), "{path}");
        }
        assert!(is_font("/usr/share/fonts/truetype/a.ttf"));
        assert!(is_font("/var/cache/fontconfig/a.cache-8") && !is_font("/usr/bin/fontforge"));
    }
}
