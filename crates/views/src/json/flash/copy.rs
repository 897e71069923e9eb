//! `firstlight.flash.copy/1`.

use crate::words::utf8;
use flash::ubi::Copied;
use serde::Serialize;

/// A UBI volume that was copied to a file.
#[derive(schemars::JsonSchema, Serialize)]
pub struct Copy<'a> {
    /// Name and version of this format.
    #[schemars(extend("const" = <Self as crate::json::Document>::SCHEMA))]
    schema: &'static str,
    /// Path of the image.
    #[schemars(length(min = 1))]
    image: &'a str,
    /// Path of the file.
    #[schemars(length(min = 1))]
    out: String,
    /// Number of the volume.
    volume: u32,
    /// Name of the volume.
    #[schemars(length(min = 1))]
    name: String,
    /// Size in bytes.
    bytes: u64,
}

impl crate::json::Document for Copy<'_> {
    const SCHEMA: &'static str = "firstlight.flash.copy/1";
    const TITLE: &'static str = "Output of `firstlight flash ubi --copy --json`";
}

impl<'a> Copy<'a> {
    /// The document of a volume of `image` that was copied to `out`.
    #[must_use]
    pub fn of(image: &'a str, out: &str, copied: &Copied) -> Self {
        Self {
            schema: <Copy<'_> as crate::json::Document>::SCHEMA,
            image,
            out: out.to_owned(),
            volume: copied.id,
            name: utf8(&copied.name).0,
            bytes: copied.bytes,
        }
    }
}
