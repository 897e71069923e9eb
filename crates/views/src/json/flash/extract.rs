//! `firstlight.flash.extract/1`.

use super::lost;
use crate::words::{self, utf8};
use flash::files::Extracted;
use flash::jffs2::Lost;
use serde::Serialize;

/// Files that were extracted from an image.
#[derive(schemars::JsonSchema, Serialize)]
pub struct Extract {
    /// Name and version of this format.
    #[schemars(extend("const" = <Self as crate::json::Document>::SCHEMA))]
    schema: &'static str,
    /// Path of the image.
    #[schemars(length(min = 1))]
    image: String,
    /// Folder with the files.
    #[schemars(length(min = 1))]
    out: String,
    /// Number of directories.
    directories: u64,
    /// Number of files.
    files: u64,
    /// Number of symbolic links.
    symlinks: u64,
    /// Number of hard links.
    hard_links: u64,
    /// Number of devices, FIFOs and sockets.
    specials: u64,
    /// Bytes of file content.
    bytes: u64,
    /// Data of the image that was left out or not read.
    lost: Vec<lost::Lost>,
    /// Files that differ from the image.
    not_as_they_were: Vec<JsonNot>,
}

impl crate::json::Document for Extract {
    const SCHEMA: &'static str = "firstlight.flash.extract/1";
    const TITLE: &'static str = "Output of `firstlight flash extract --json`";
}

/// A file that differs from the image.
#[derive(schemars::JsonSchema, Serialize)]
#[schemars(rename = "Not")]
struct JsonNot {
    /// Path of the file.
    path: String,
    /// Kind of difference.
    #[schemars(extend("enum" = ["name", "data", "gap", "damaged", "not_made", "metadata", "other"]))]
    kind: &'static str,
    /// Description.
    #[schemars(length(min = 1))]
    what: String,
}

impl Extract {
    /// The document of files that were extracted from `image` to the folder `out`.
    #[must_use]
    pub fn of(image: &str, out: &str, done: &Extracted, lost: &[Lost]) -> Self {
        let not = done.not.iter().map(|n| JsonNot {
            path: utf8(&n.path).0,
            kind: n.why.name(),
            what: words::not_extracted(&n.why),
        });
        Self {
            schema: <Extract as crate::json::Document>::SCHEMA,
            image: image.to_owned(),
            out: out.to_owned(),
            directories: done.directories,
            files: done.files,
            symlinks: done.symlinks,
            hard_links: done.hard_links,
            specials: done.specials,
            bytes: done.bytes,
            lost: lost::json(lost),
            not_as_they_were: not.collect(),
        }
    }
}
