//! `firstlight.flash.verify/1`.

use super::lost;
use crate::words::utf8;
use flash::jffs2::decompress;
use flash::verified::Verified;
use serde::Serialize;

/// Result of reading all of an image. Sizes are in bytes.
#[derive(schemars::JsonSchema, Serialize)]
pub struct Verify {
    /// Name and version of this format.
    #[schemars(extend("const" = <Self as crate::json::Document>::SCHEMA))]
    schema: &'static str,
    /// Path of the image.
    #[schemars(length(min = 1))]
    image: String,
    /// File system.
    #[schemars(extend("enum" = ["jffs2", "ubifs"]))]
    filesystem: &'static str,
    /// Whether the image is good.
    ok: bool,
    /// Byte order.
    #[schemars(extend("enum" = ["little", "big"]))]
    endian: String,
    /// Erase block size.
    erase_size: u32,
    /// Number of inodes.
    inodes: u64,
    /// Number of directory entries.
    names: u64,
    /// Bytes of file content.
    bytes: u64,
    /// Data nodes by compression.
    compressed: Vec<JsonCompressed>,
    /// Data of the image that was left out or not read.
    lost: Vec<lost::Lost>,
    /// First node of an unknown type; null if there is none.
    unknown_node: Option<JsonUnknown>,
    /// Damaged places of UBIFS.
    damage: Vec<JsonDamage>,
    /// Files with problems.
    findings: Vec<JsonFinding>,
    /// Number of further problems that are not listed.
    more: u64,
}

impl crate::json::Document for Verify {
    const SCHEMA: &'static str = "firstlight.flash.verify/1";
    const TITLE: &'static str = "Output of `firstlight flash verify --json`";
}

/// Data nodes with one compression.
#[derive(schemars::JsonSchema, Serialize)]
#[schemars(rename = "Compressed")]
struct JsonCompressed {
    /// Compression.
    #[schemars(length(min = 1))]
    compression: &'static str,
    /// Number of the compression in the format.
    number: u8,
    /// Number of nodes.
    nodes: u64,
    /// Bytes as stored.
    stored: u64,
    /// Bytes after decompression.
    length: u64,
}

/// A node of an unknown type.
#[derive(schemars::JsonSchema, Serialize)]
#[schemars(rename = "Unknown")]
struct JsonUnknown {
    /// Byte offset in the image.
    offset: u64,
    /// Type of the node.
    kind: u16,
}

/// A damaged place of UBIFS.
#[derive(schemars::JsonSchema, Serialize)]
#[schemars(rename = "Damage")]
struct JsonDamage {
    /// Logical erase block.
    leb: u32,
    /// Byte offset in the logical erase block.
    offset: u32,
}

/// A file with a problem.
#[derive(schemars::JsonSchema, Serialize)]
#[schemars(rename = "Finding")]
struct JsonFinding {
    /// Inode number.
    ino: u32,
    /// Path of the file; null if unknown.
    path: Option<String>,
    /// Description.
    #[schemars(length(min = 1))]
    what: String,
}

impl Verify {
    /// The document of a report on `image`.
    #[must_use]
    pub fn of(image: &str, result: &Verified) -> Self {
        Self {
            schema: <Verify as crate::json::Document>::SCHEMA,
            image: image.to_owned(),
            filesystem: result.filesystem,
            ok: result.is_good(),
            endian: result.endian.to_string(),
            erase_size: result.erase_size,
            inodes: result.inodes,
            names: result.names,
            bytes: result.bytes,
            compressed: result
                .compressed
                .iter()
                .map(|c| JsonCompressed {
                    compression: decompress::name(c.kind),
                    number: c.kind,
                    nodes: c.nodes,
                    stored: c.stored,
                    length: c.length,
                })
                .collect(),
            lost: lost::json(&result.lost),
            unknown_node: result
                .unknown_node
                .map(|(offset, kind)| JsonUnknown { offset, kind }),
            damage: result
                .damage
                .iter()
                .map(|(leb, offset)| JsonDamage {
                    leb: *leb,
                    offset: *offset,
                })
                .collect(),
            findings: result
                .findings
                .list
                .iter()
                .map(|f| JsonFinding {
                    ino: f.ino,
                    path: f.path.as_ref().map(|p| utf8(p).0),
                    what: f.what.to_string(),
                })
                .collect(),
            more: result.findings.more,
        }
    }
}
