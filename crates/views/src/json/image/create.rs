//! `firstlight.image.create/1`.

use serde::Serialize;

/// An image that was created from a folder.
#[derive(schemars::JsonSchema, Serialize)]
pub struct Create<'a> {
    /// Name and version of this format.
    #[schemars(extend("const" = <Self as crate::json::Document>::SCHEMA))]
    schema: &'static str,
    /// Path of the folder.
    #[schemars(length(min = 1))]
    folder: &'a str,
    /// Path of the image.
    #[schemars(length(min = 1))]
    out: &'a str,
    /// Filesystem and its options.
    #[schemars(length(min = 1))]
    form: &'a str,
    /// Number of files and folders.
    entries: u32,
    /// Size of the image, in bytes.
    bytes: u64,
}

impl crate::json::Document for Create<'_> {
    const SCHEMA: &'static str = "firstlight.image.create/1";
    const TITLE: &'static str = "Output of `firstlight image create --json`";
}

impl<'a> Create<'a> {
    /// The document of the image `out` of a folder.
    #[must_use]
    pub const fn of(
        folder: &'a str,
        out: &'a str,
        form: &'a str,
        entries: u32,
        bytes: u64,
    ) -> Self {
        Self {
            schema: <Create<'_> as crate::json::Document>::SCHEMA,
            folder,
            out,
            form,
            entries,
            bytes,
        }
    }
}
