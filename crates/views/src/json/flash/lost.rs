//! Parts of an image that are not used.

use flash::jffs2;
use serde::Serialize;

/// Data of an image that was left out or not read, by reason.
#[derive(schemars::JsonSchema, Serialize)]
#[schemars(rename = "Lost")]
pub struct Lost {
    /// Reason.
    #[schemars(extend("enum" = ["garbage", "header_crc", "cut_off", "length", "node_crc", "data_crc", "obsolete", "unknown"]))]
    why: &'static str,
    /// Number of places.
    count: u64,
    /// Number of bytes.
    bytes: u64,
    /// Byte offset of the first place.
    first: u64,
}

/// All of it in `--json`.
pub fn json(lost: &[jffs2::Lost]) -> Vec<Lost> {
    lost.iter()
        .map(|l| Lost {
            why: l.why.name(),
            count: l.count,
            bytes: l.bytes,
            first: l.first,
        })
        .collect()
}
