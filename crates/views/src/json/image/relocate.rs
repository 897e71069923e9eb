//! `firstlight.image.relocate/1`.

use super::order::Skipped;
use crate::json::Document;
use serde::Serialize;
use treat::relocate::{self, Relocation};

/// Files of a mounted ext4 in an order of reading, before and after they were moved.
#[derive(schemars::JsonSchema, Serialize)]
pub struct Relocate<'a> {
    /// Name and version of this format.
    #[schemars(extend("const" = <Self as Document>::SCHEMA))]
    schema: &'static str,
    /// Folder with the files.
    #[schemars(length(min = 1))]
    root: &'a str,
    /// Whether files were moved.
    applied: bool,
    /// Number of files.
    files: u64,
    /// Size of the files in bytes.
    bytes: u64,
    /// Layout before.
    before: Layout,
    /// Layout after; null if nothing was moved.
    after: Option<Layout>,
    /// Storage profile of the forecast.
    #[schemars(length(min = 1))]
    storage: &'a str,
    /// Forecast of reading the files as they lay, in nanoseconds.
    reading_before_ns: u64,
    /// The same at the best new location that was found; null without `--apply`. Nothing is
    /// moved unless it is shorter.
    reading_after_ns: Option<u64>,
    /// Files that were not moved.
    skipped: Vec<Skipped>,
}

impl Document for Relocate<'_> {
    const SCHEMA: &'static str = "firstlight.image.relocate/1";
    const TITLE: &'static str = "Output of `firstlight image relocate --json`";
}

/// Layout of files on disk, in the order of the list.
#[derive(schemars::JsonSchema, Serialize)]
struct Layout {
    /// Number of jumps between pieces that do not follow each other.
    discontinuities: u64,
    /// Sum of all jumps, in bytes.
    distance_bytes: u64,
}

impl Layout {
    fn of(layout: relocate::Layout) -> Self {
        Self {
            discontinuities: layout.discontinuities,
            distance_bytes: layout.distance,
        }
    }
}

impl<'a> Relocate<'a> {
    /// The document of the files below `root`; the forecast is for `storage`.
    #[must_use]
    pub fn of(root: &'a str, done: &Relocation, storage: &'a str) -> Self {
        let skipped = done.skipped.iter();
        Self {
            schema: Self::SCHEMA,
            root,
            applied: done.after.is_some(),
            files: done.files,
            bytes: done.bytes,
            before: Layout::of(done.before),
            after: done.after.map(Layout::of),
            storage,
            reading_before_ns: done.reading_ns,
            reading_after_ns: done.reading_then_ns,
            skipped: skipped.map(|s| Skipped::of(&s.path, &s.reason)).collect(),
        }
    }
}
