//! `firstlight.image.map/1`, written as it is made: there may be millions of rows.

use crate::json::Document;
use crate::words::utf8;
use inspect::map::{self, Paths};
use inspect::requests::Unit;
use serde::Serialize;

/// Owners of the blocks of an image: each piece of each request, in order. `start` and `len`
/// count in the unit of the requests; a piece that begins or ends within a unit is widened to
/// whole units, and has `byte` and `bytes` too.
#[derive(schemars::JsonSchema, Serialize)]
pub struct Map<'a> {
    /// Name and version of this format.
    #[schemars(extend("const" = <Self as Document>::SCHEMA))]
    schema: &'static str,
    /// Path of the image.
    #[schemars(length(min = 1))]
    image: &'a str,
    /// Unit of the requests.
    #[schemars(length(min = 1))]
    unit: String,
    /// Bytes in a unit.
    #[schemars(range(min = 1))]
    unit_bytes: u64,
    /// Start of the image on the device, in units.
    base: u64,
    /// Notes.
    #[schemars(inner(length(min = 1)))]
    notes: &'a [String],
    /// Pieces.
    rows: Vec<MapRow>,
}

impl Document for Map<'_> {
    const SCHEMA: &'static str = "firstlight.image.map/1";
    const TITLE: &'static str = "Output of `firstlight image map --json`";
}

/// A piece of a request.
#[derive(schemars::JsonSchema, Serialize)]
struct MapRow {
    /// First unit.
    start: u64,
    /// Number of units.
    len: u64,
    /// One of the paths of the file; null if it is no file or has no known path.
    path: Option<String>,
    /// Inode number; null if it is no file.
    #[schemars(range(min = 1))]
    inode: Option<u32>,
    /// Byte offset in the file; null if it is no file. For packed data the offset in the file
    /// that begins there.
    offset: Option<u64>,
    /// Kind of content.
    #[schemars(extend("enum" = ["unmapped", "file", "directory", "symlink", "superblock", "boot_block", "group_descriptors", "reserved_group_descriptors", "bitmap", "inode_table", "extent_tree", "indirect_block", "xattr", "journal", "resize_inode", "bad_blocks", "quota", "orphan_file", "mmp", "partition_table", "fragment", "fragment_table", "directory_table", "export_table", "id_table", "compressor_options", "allocation_table"]))]
    kind: &'static str,
    /// Path as hexadecimal digits. Present only if it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^([0-9a-f]{2})+$"))]
    path_hex: Option<String>,
    /// Number of the request in its list, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<usize>,
    /// Operation. Present only for a trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["read", "write", "discard", "flush", "other"]))]
    operation: Option<&'static str>,
    /// Number of the partition. Present only on a disk with partitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    partition: Option<u32>,
    /// Whether several pieces of files are compressed together there. Present only if true.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("const" = true))]
    packed: Option<bool>,
    /// First byte. Present only if the piece is not of whole units.
    #[serde(skip_serializing_if = "Option::is_none")]
    byte: Option<u64>,
    /// Number of bytes. Present only if the piece is not of whole units.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    bytes: Option<u64>,
    /// Files whose ends share a fragment, or other files with the same blocks. Missing if none.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Vec<String>>,
}

impl<'a> Map<'a> {
    /// The document of `image` without its rows; `base` is where the image begins on its
    /// device, in bytes.
    #[must_use]
    pub fn of(image: &'a str, unit: Unit, base: u64, notes: &'a [String]) -> Self {
        Self {
            schema: Self::SCHEMA,
            image,
            unit: unit.word(),
            unit_bytes: unit.bytes,
            base: base / unit.bytes,
            notes,
            rows: Vec::new(),
        }
    }

    /// The text before the rows.
    #[must_use]
    pub fn head(&self) -> String {
        let text = serde_json::to_string(self).unwrap_or_default();
        text.strip_suffix("]}").unwrap_or(&text).to_owned()
    }

    /// The text after the rows.
    pub const END: &'static str = "]}\n";
}

/// The rows of a map, one after the other.
pub struct MapRows {
    unit: Unit,
    paths: Paths,
    is_first: bool,
}

impl MapRows {
    /// No rows yet.
    #[must_use]
    pub fn new(unit: Unit) -> Self {
        Self {
            unit,
            paths: Paths::default(),
            is_first: true,
        }
    }

    /// The text of the next row.
    pub fn next(&mut self, row: &map::Row<'_>) -> String {
        let between = if self.is_first { "\n" } else { ",\n" };
        self.is_first = false;
        let row = self.row(row);
        format!(
            "{between}{}",
            serde_json::to_string(&row).unwrap_or_default()
        )
    }

    fn row(&mut self, row: &map::Row<'_>) -> MapRow {
        let extent = &row.piece.extent;
        let (start, len, exact) = row.in_units(self.unit);
        let (path, path_hex) = match self.paths.of(row).map(utf8) {
            Some((path, hex)) => (Some(path), hex),
            None => (None, None),
        };
        let files = row.sharers().map(|all| {
            let names = all.iter().map(|p| utf8(p).0);
            names.collect()
        });
        MapRow {
            start,
            len,
            path,
            inode: extent.inode,
            offset: extent.offset,
            kind: extent.kind.word(),
            path_hex,
            request: row.request,
            operation: row.operation,
            partition: row.piece.volume.and_then(|v| v.partition),
            packed: extent.is_packed.then_some(true),
            byte: (!exact).then_some(extent.start),
            bytes: (!exact).then_some(extent.len),
            files,
        }
    }
}
