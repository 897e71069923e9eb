//! `firstlight.flash.list/1`.

use crate::words::utf8;
use flash::files::{Attribute as Xattr, FileType};
use flash::jffs2::{Write, decompress};
use flash::listing::{Listed, Listing};
use serde::Serialize;

/// Files of an image.
#[derive(schemars::JsonSchema, Serialize)]
pub struct List {
    /// Name and version of this format.
    #[schemars(extend("const" = <Self as crate::json::Document>::SCHEMA))]
    schema: &'static str,
    /// Path of the image.
    #[schemars(length(min = 1))]
    image: String,
    /// File system.
    #[schemars(extend("enum" = ["jffs2", "ubifs"]))]
    filesystem: &'static str,
    /// Files.
    files: Vec<Row>,
    /// Names that cannot be resolved.
    faults: Vec<Fault>,
}

impl crate::json::Document for List {
    const SCHEMA: &'static str = "firstlight.flash.list/1";
    const TITLE: &'static str = "Output of `firstlight flash list --json`";
}

/// A file of an image.
#[derive(schemars::JsonSchema, Serialize)]
struct Row {
    /// Path of the file.
    #[schemars(length(min = 1))]
    path: String,
    /// Path as hexadecimal digits. Present only if it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^([0-9a-f]{2})+$"))]
    path_hex: Option<String>,
    /// Type of file.
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ["directory", "file", "symlink", "block_device", "character_device", "fifo", "socket", "unknown"]))]
    kind: &'static str,
    /// File mode bits.
    mode: u32,
    /// User ID.
    uid: u32,
    /// Group ID.
    gid: u32,
    /// Size in bytes.
    size: u64,
    /// Time of the last change, in seconds since 1970.
    mtime: i64,
    /// Inode number.
    ino: u32,
    /// Number of hard links.
    links: u32,
    /// Target of a symbolic link.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    /// Major and minor number of a device.
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<[u32; 2]>,
    /// Extended attributes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    xattrs: Vec<Attribute>,
    /// Nodes of the file. Present only with `--nodes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<Vec<Node>>,
}

/// An extended attribute.
#[derive(schemars::JsonSchema, Serialize)]
struct Attribute {
    /// Name.
    #[schemars(length(min = 1))]
    name: String,
    /// Length of the value in bytes.
    length: usize,
}

/// A JFFS2 data node.
#[derive(schemars::JsonSchema, Serialize)]
struct Node {
    /// Version number of the node.
    version: u32,
    /// Byte offset in the image.
    place: u64,
    /// Byte offset in the file.
    offset: u32,
    /// Length of the data.
    length: u32,
    /// Length as stored.
    stored: u32,
    /// Compression.
    #[schemars(length(min = 1))]
    compression: &'static str,
    /// Size of the file after this node.
    file_size: u32,
}

impl From<&Write> for Node {
    fn from(w: &Write) -> Self {
        Self {
            version: w.version,
            place: w.place,
            offset: w.offset,
            length: w.length,
            stored: w.stored,
            compression: decompress::name(w.compression),
            file_size: w.size,
        }
    }
}

/// A name that cannot be resolved.
#[derive(schemars::JsonSchema, Serialize)]
struct Fault {
    /// Path.
    path: String,
    /// Description.
    #[schemars(length(min = 1))]
    what: String,
}

impl List {
    /// The document of the files of `image`.
    #[must_use]
    pub fn of(image: &str, listing: &Listing) -> Self {
        let faults = listing.faults.iter().map(|(path, fault)| Fault {
            path: path.escape_ascii().to_string(),
            what: fault.to_string(),
        });
        Self {
            schema: <List as crate::json::Document>::SCHEMA,
            image: image.to_owned(),
            filesystem: listing.filesystem,
            files: listing.files.iter().map(Row::of).collect(),
            faults: faults.collect(),
        }
    }
}

impl Row {
    fn of(file: &Listed) -> Self {
        let stat = &file.stat;
        let (path, path_hex) = match file.path.as_slice() {
            b"" => (".".to_owned(), None),
            path => utf8(path),
        };
        let attribute = |a: &Xattr| Attribute {
            name: utf8(&a.name).0,
            length: a.value.len(),
        };
        let nodes = file.nodes.as_ref();
        Self {
            path,
            path_hex,
            kind: kind(stat.file_type),
            mode: stat.mode,
            uid: stat.uid,
            gid: stat.gid,
            size: stat.size,
            mtime: stat.mtime,
            ino: stat.ino,
            links: stat.links,
            target: file.target.as_ref().map(|t| utf8(t).0),
            device: file.device.map(|d| [d.major, d.minor]),
            xattrs: file.attributes.iter().map(attribute).collect(),
            nodes: nodes.map(|all| all.iter().map(Node::from).collect()),
        }
    }
}

fn kind(file_type: FileType) -> &'static str {
    match file_type {
        FileType::Directory => "directory",
        FileType::File => "file",
        FileType::Symlink => "symlink",
        FileType::BlockDevice => "block_device",
        FileType::CharacterDevice => "character_device",
        FileType::Fifo => "fifo",
        FileType::Socket => "socket",
        FileType::Unknown => "unknown",
    }
}
