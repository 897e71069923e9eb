//! `firstlight.image.repack/1`.

use bootimage::Compression;
use bootimage::initramfs::{self, Repacked};
use serde::Serialize;

/// An image whose initramfs was recompressed. Sizes are in bytes.
#[derive(schemars::JsonSchema, Serialize)]
pub struct Repack<'a> {
    /// Name and version of this format.
    #[schemars(extend("const" = <Self as crate::json::Document>::SCHEMA))]
    schema: &'static str,
    /// Path of the old image.
    #[schemars(length(min = 1))]
    image: &'a str,
    /// Path of the new image.
    #[schemars(length(min = 1))]
    out: &'a str,
    /// New compression.
    #[schemars(extend("enum" = ["none", "gzip", "bzip2", "lzma", "xz", "lzo", "lz4", "lz4-frame", "zstd"]))]
    compression: &'static str,
    /// Size of the old image.
    bytes_before: u64,
    /// Size of the new image.
    bytes_after: u64,
    /// Number of files.
    entries: u64,
    /// Number of segments copied unchanged.
    kept_segments: usize,
    /// Segments of the old image.
    segments_before: Vec<Segment>,
    /// Segments of the new image.
    segments_after: Vec<Segment>,
}

impl crate::json::Document for Repack<'_> {
    const SCHEMA: &'static str = "firstlight.image.repack/1";
    const TITLE: &'static str = "Output of `firstlight image repack --json`";
}

/// A segment of an initramfs.
#[derive(schemars::JsonSchema, Serialize)]
struct Segment {
    /// Byte offset in the image.
    offset: u64,
    /// Compressed size.
    size: u64,
    /// Compression.
    #[schemars(extend("enum" = ["none", "gzip", "bzip2", "lzma", "xz", "lzo", "lz4", "lz4-frame", "zstd"]))]
    compression: &'static str,
    /// Uncompressed size.
    unpacked: u64,
    /// Number of files.
    entries: u64,
}

impl<'a> Repack<'a> {
    /// The document of `image`, written to `out` with a compression: what was done, and
    /// the segments then.
    #[must_use]
    pub fn of(
        image: &'a str,
        out: &'a str,
        compression: Compression,
        done: &Repacked,
        after: &[initramfs::Segment],
    ) -> Self {
        let segment = |s: &initramfs::Segment| Segment {
            offset: s.offset,
            size: s.size,
            compression: s.compression.name(),
            unpacked: s.unpacked,
            entries: s.count(),
        };
        Self {
            schema: <Repack<'_> as crate::json::Document>::SCHEMA,
            image,
            out,
            compression: compression.name(),
            bytes_before: done.before.end,
            bytes_after: done.bytes,
            entries: done.before.count(),
            kept_segments: done.kept,
            segments_before: done.before.segments.iter().map(segment).collect(),
            segments_after: after.iter().map(segment).collect(),
        }
    }
}
