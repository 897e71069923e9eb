//! `firstlight.image.order/1`.

use super::forecast::Forecast;
use crate::json::Document;
use disk::ext::arrange::Arrangement;
use disk::ext::renumber::Renumbered;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use treat::order::Made;

/// An access order that was converted for an image builder.
#[derive(schemars::JsonSchema, Serialize)]
pub struct Order<'a> {
    /// Name and version of this format.
    #[schemars(extend("const" = <Self as Document>::SCHEMA))]
    schema: &'static str,
    /// Image builder.
    #[serde(rename = "for")]
    #[schemars(extend("enum" = ["mksquashfs", "tar", "cpio", "ext4"]))]
    builder: &'static str,
    /// Path of the list or image; null if nothing was written.
    out: Option<&'a str>,
    /// Number of files.
    files: u64,
    /// Files that were left out.
    skipped: Vec<Skipped>,
    #[serde(flatten)]
    arranged: Option<Arranged>,
}

impl Document for Order<'_> {
    const SCHEMA: &'static str = "firstlight.image.order/1";
    const TITLE: &'static str = "Output of `firstlight image order --json`";
}

/// A file that was left out.
#[derive(schemars::JsonSchema, Serialize)]
pub(super) struct Skipped {
    /// Path.
    #[schemars(length(min = 1))]
    path: String,
    /// Reason.
    #[schemars(length(min = 1))]
    reason: String,
}

impl Skipped {
    pub(super) fn of(path: &[u8], reason: &str) -> Self {
        Self {
            path: String::from_utf8_lossy(path).into_owned(),
            reason: reason.to_owned(),
        }
    }
}

/// Only for ext4.
#[derive(schemars::JsonSchema, Serialize)]
struct Arranged {
    /// Bytes that moved. Only for ext4.
    moved_bytes: u64,
    /// Number of pieces after. Only for ext4.
    runs: u64,
    /// Number of pieces before. Only for ext4.
    runs_before: u64,
    /// Number of files in the list that are not in the image or differ in size. Only for ext4.
    missing: u64,
    /// Number of inodes with a new number. Only for ext4.
    renumbered_inodes: usize,
    /// File system feature that keeps inode numbers; null if there is none. Only for ext4.
    #[schemars(schema_with = "text_or_null")]
    inodes_kept_for: Option<&'static str>,
    /// Forecast of reading what the list needs. No image is written unless the time that
    /// decides gets shorter. Only for ext4.
    forecast: Forecast,
}

/// A key that may be missing, and may be null.
fn text_or_null(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "oneOf": [{ "type": "string" }, { "type": "null" }] })
}

impl<'a> Order<'a> {
    /// The document of a list for `builder`.
    #[must_use]
    pub fn of(builder: &'static str, out: Option<&'a str>, made: &Made) -> Self {
        let skipped = made.skipped.iter();
        Self {
            schema: Self::SCHEMA,
            builder,
            out,
            files: made.files,
            skipped: skipped.map(|(p, why)| Skipped::of(p, why)).collect(),
            arranged: None,
        }
    }

    /// The document of an ext4 image that was arranged; `missing` files of the list are
    /// not in it.
    #[must_use]
    pub fn arranged(
        out: Option<&'a str>,
        done: &Arrangement,
        inodes: &Renumbered,
        missing: u64,
        forecast: Forecast,
    ) -> Self {
        let skipped = done.left.iter();
        let inode = |n: &u32| format!("inode {n}");
        Self {
            schema: Self::SCHEMA,
            builder: "ext4",
            out,
            files: done.inodes,
            skipped: skipped
                .map(|(n, why)| Skipped::of(inode(n).as_bytes(), why))
                .collect(),
            arranged: Some(Arranged {
                moved_bytes: done.moved_bytes(),
                runs: done.runs,
                runs_before: done.runs_before,
                missing,
                renumbered_inodes: inodes.numbers.len(),
                inodes_kept_for: inodes.kept_for,
                forecast,
            }),
        }
    }
}
