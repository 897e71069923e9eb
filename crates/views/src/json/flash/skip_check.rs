//! `firstlight.flash.skip-check/1`.

use crate::words::utf8;
use flash::ubi::Skipped;
use serde::Serialize;

/// Change of the skip-check flag of a static UBI volume.
#[derive(schemars::JsonSchema, Serialize)]
pub struct SkipCheck {
    /// Name and version of this format.
    #[schemars(extend("const" = <Self as crate::json::Document>::SCHEMA))]
    schema: &'static str,
    /// Path of the image.
    #[schemars(length(min = 1))]
    image: String,
    /// Path of the new image.
    #[schemars(length(min = 1))]
    out: String,
    /// Number of the volume.
    volume: u32,
    /// Name of the volume.
    #[schemars(length(min = 1))]
    name: String,
    /// New value of the flag.
    skip_check: bool,
    /// Whether the flag already had this value.
    was_so: bool,
    /// Byte offsets of the changes.
    places: Vec<u64>,
    /// Size of the volume in bytes.
    bytes: u64,
    /// Time that the checksum takes when the volume is opened.
    open_ns: u64,
}

impl crate::json::Document for SkipCheck {
    const SCHEMA: &'static str = "firstlight.flash.skip-check/1";
    const TITLE: &'static str = "Output of `firstlight flash ubi --skip-check --json`";
}

impl SkipCheck {
    /// The document of an image at `image`, written to `out` with the flag as `skip` says.
    #[must_use]
    pub fn of(image: &str, out: &str, skip: bool, skipped: &Skipped) -> Self {
        Self {
            schema: <SkipCheck as crate::json::Document>::SCHEMA,
            image: image.to_owned(),
            out: out.to_owned(),
            volume: skipped.id,
            name: utf8(&skipped.name).0,
            skip_check: skip,
            was_so: skipped.was_so,
            places: skipped.places.clone(),
            bytes: skipped.bytes,
            open_ns: skipped.open_ns,
        }
    }
}
