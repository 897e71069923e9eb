//! `firstlight.flash.summarize/1`.

use super::lost;
use flash::jffs2::{Mode, Options, Outcome};
use serde::Serialize;

/// A JFFS2 image to which summaries were added. Sizes are in bytes.
#[derive(schemars::JsonSchema, Serialize)]
pub struct Summarize {
    /// Name and version of this format.
    #[schemars(extend("const" = <Self as crate::json::Document>::SCHEMA))]
    schema: &'static str,
    /// Path of the old image.
    #[schemars(length(min = 1))]
    image: String,
    /// Path of the new image.
    #[schemars(length(min = 1))]
    out: String,
    /// Erase block size.
    erase_size: u32,
    /// Byte order.
    #[schemars(extend("enum" = ["little", "big"]))]
    endian: String,
    /// Whether the image is laid out as by sumtool.
    compat: bool,
    /// Size of the old image.
    bytes_in: u64,
    /// Size of the new image.
    bytes_out: u64,
    /// Number of nodes.
    nodes: u64,
    /// Number of summaries.
    summaries: u64,
    /// Number of obsolete nodes that become valid again.
    resurrected: u64,
    /// Data of the image that was left out or not read.
    lost: Vec<lost::Lost>,
}

impl crate::json::Document for Summarize {
    const SCHEMA: &'static str = "firstlight.flash.summarize/1";
    const TITLE: &'static str = "Output of `firstlight flash summarize --json`";
}

impl Summarize {
    /// The document of an image at `image` that was rewritten to `out`.
    #[must_use]
    pub fn of(image: &str, out: &str, options: &Options, outcome: &Outcome) -> Self {
        Self {
            schema: <Summarize as crate::json::Document>::SCHEMA,
            image: image.to_owned(),
            out: out.to_owned(),
            erase_size: options.erase_size,
            endian: options.endian.to_string(),
            compat: options.mode == Mode::Compatible,
            bytes_in: outcome.bytes_in,
            bytes_out: outcome.bytes_out,
            nodes: outcome.nodes,
            summaries: outcome.summaries,
            resurrected: outcome.resurrected,
            lost: lost::json(&outcome.lost),
        }
    }
}
