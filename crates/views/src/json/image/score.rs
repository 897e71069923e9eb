//! `firstlight.image.score/1`.

use crate::json::Document;
use serde::Serialize;

/// How well the layout of an image suits an order of reading. Each file is read whole, once.
#[derive(schemars::JsonSchema, Serialize)]
pub struct Score<'a> {
    /// Name and version of this format.
    #[schemars(extend("const" = <Self as Document>::SCHEMA))]
    schema: &'static str,
    /// Path of the image.
    #[schemars(length(min = 1))]
    image: &'a str,
    /// Number of jumps between pieces that do not follow each other.
    discontinuities: u64,
    /// Number of files.
    files: u64,
    /// Bytes of file content.
    bytes: u64,
    /// Number of reads if adjacent pieces are read at once.
    requests: u64,
    /// Bytes read: whole blocks, or compressed data.
    read_bytes: u64,
    /// Bytes read that no file needs.
    over_read_bytes: u64,
    /// Sum of all jumps, in bytes.
    distance_bytes: u64,
    /// Number of reads if everything is read in disk order.
    requests_in_disk_order: u64,
    /// Paths that are not in the image.
    #[schemars(inner(length(min = 1)))]
    missing: Vec<String>,
    /// Notes.
    #[schemars(inner(length(min = 1)))]
    notes: &'a [String],
}

impl Document for Score<'_> {
    const SCHEMA: &'static str = "firstlight.image.score/1";
    const TITLE: &'static str = "Output of `firstlight image score --json`";
}

impl<'a> Score<'a> {
    /// The document of an image's score.
    #[must_use]
    pub fn of(image: &'a str, s: &disk::Score, notes: &'a [String]) -> Self {
        let missing = s.missing.iter();
        Self {
            schema: Self::SCHEMA,
            image,
            discontinuities: s.discontinuities,
            files: s.files,
            bytes: s.bytes,
            requests: s.requests,
            read_bytes: s.read_bytes,
            over_read_bytes: s.over_read_bytes,
            distance_bytes: s.distance_bytes,
            requests_in_disk_order: s.requests_in_disk_order,
            missing: missing
                .map(|p| String::from_utf8_lossy(p).into_owned())
                .collect(),
            notes,
        }
    }
}
