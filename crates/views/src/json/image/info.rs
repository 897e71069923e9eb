//! `firstlight.image.info/1`.

use super::details::{self, Details};
use crate::json::Document;
use crate::words::utf8;
use bootimage::cpio;
use inspect::contents::Contents;
use inspect::mounting::{self, Mounts};
use inspect::whole;
use schemars::Schema;
use serde::Serialize;
use serde_json::json;

/// Contents of images. Sizes and offsets are in bytes. Offsets count from the start of the
/// file; those of a payload from the start of its kernel image, those of segments from the
/// start of their initramfs.
#[derive(schemars::JsonSchema, Serialize)]
pub struct Info {
    /// Name and version of this format.
    #[schemars(extend("const" = <Self as Document>::SCHEMA))]
    schema: &'static str,
    /// Files.
    files: Vec<File>,
}

impl Document for Info {
    const SCHEMA: &'static str = "firstlight.image.info/1";
    const TITLE: &'static str = "Output of `firstlight image info --json`";
}

/// A file and its content.
#[derive(schemars::JsonSchema, Serialize)]
struct File {
    /// Path of the file.
    #[schemars(length(min = 1))]
    image: String,
    /// Size of the file.
    bytes: u64,
    /// Items in the file, in order of their offsets.
    #[schemars(length(min = 1))]
    items: Vec<Item>,
    /// Entries of the initramfs. Present only with `--entries`.
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<Vec<Entry>>,
}

/// Something recognized in a file.
#[derive(schemars::JsonSchema, Serialize)]
#[schemars(transform = by_kind)]
struct Item {
    /// Byte offset.
    offset: u64,
    /// Size.
    size: u64,
    /// Kind of content.
    #[schemars(extend("enum" = ["uimage", "fit", "device-tree", "zimage", "bzimage", "kernel-image", "efi-zboot", "elf", "initramfs", "compressed", "u-boot-environment", "barebox-environment", "android-boot", "jffs2", "filesystem", "disk", "other"]))]
    kind: &'static str,
    /// Details, depending on the kind.
    details: Details,
    /// Notes.
    #[schemars(inner(length(min = 1)))]
    notes: Vec<String>,
    /// Estimated mount of the file system; null if there is none or it is unknown.
    mount: Option<Mount>,
    /// Items inside this one that are not compressed.
    inside: Vec<Item>,
    /// Content of compressed data, such as `an ext4 filesystem`. Present only if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    packed: Option<String>,
    /// Files of a boot partition that say how the system boots. Present only in a FAT.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<BootFile>,
}

/// A file of a boot partition.
#[derive(schemars::JsonSchema, Serialize)]
struct BootFile {
    /// Path; of several files, that of the first.
    #[schemars(length(min = 1))]
    path: String,
    /// Purpose.
    #[schemars(extend("enum" = ["kernel", "initramfs", "device-tree", "overlay", "command-line", "firmware", "menu", "environment", "script"]))]
    role: &'static str,
    /// Number of files; device trees and overlays are summed up.
    count: u64,
    /// Size of these files.
    bytes: u64,
    /// Whether it is booted, as far as config.txt or extlinux.conf says it.
    used: bool,
    /// Command line that it gives the kernel; null if it gives none.
    cmdline: Option<String>,
    /// Content of the file. Offsets count from its start.
    items: Vec<Item>,
}

/// Ties the details to the kind.
fn by_kind(schema: &mut Schema) {
    let rules = details::DEFINITIONS.iter().map(|(kind, definition)| {
        let details = json!({ "$ref": format!("#/$defs/{definition}") });
        json!({
            "if": { "properties": { "kind": { "const": kind } } },
            "then": { "properties": { "details": details } },
        })
    });
    schema.insert("allOf".to_owned(), rules.collect());
}

/// Estimated mount of a file system.
#[derive(schemars::JsonSchema, Serialize)]
struct Mount {
    /// File system.
    #[schemars(length(min = 1))]
    filesystem: &'static str,
    /// Whether its journal must be replayed.
    #[schemars(extend("enum" = ["clean", "replay"]))]
    state: &'static str,
    /// Number of reads.
    reads: u64,
    /// Bytes read.
    read_bytes: u64,
    /// Number of writes.
    writes: u64,
    /// Bytes written.
    written_bytes: u64,
    /// Estimated mount time.
    total_ns: u64,
    /// Part of it that the processor adds; null if the figures of the flash chip include it.
    processor_ns: Option<u64>,
    /// Whether the mount time is a minimum, because the length of a replay is unknown.
    at_least: bool,
    /// Error of the estimate, in percent; null if unknown.
    error_percent: Option<u32>,
    /// Storage profile or flash chip of the estimate.
    #[schemars(length(min = 1))]
    storage: String,
    /// Source of the figures.
    #[schemars(length(min = 1))]
    source: &'static str,
}

/// An entry of an initramfs.
#[derive(schemars::JsonSchema, Serialize)]
struct Entry {
    /// Number of the segment.
    segment: usize,
    /// Path.
    name: String,
    /// Path as hexadecimal digits; null if it is UTF-8.
    #[schemars(regex(pattern = "^([0-9a-f]{2})+$"))]
    name_hex: Option<String>,
    /// File mode bits.
    mode: u32,
    /// User ID.
    uid: u32,
    /// Group ID.
    gid: u32,
    /// Number of hard links.
    links: u32,
    /// Size of the content.
    size: u32,
    /// Time of the last change, in seconds since 1970.
    mtime: u32,
    /// Inode number.
    ino: u32,
    /// Byte offset of the header in the uncompressed archive.
    offset: u64,
}

impl Info {
    /// The document of files.
    #[must_use]
    pub fn of(files: &[Contents]) -> Self {
        Self {
            schema: Self::SCHEMA,
            files: files.iter().map(File::of).collect(),
        }
    }
}

impl File {
    fn of(file: &Contents) -> Self {
        let items = file.items.iter().map(|i| Item::of(i, &file.mounts));
        let entries = file.entries.as_ref();
        Self {
            image: file.name.clone(),
            bytes: file.bytes,
            items: items.collect(),
            entries: entries.map(|all| all.iter().map(|(s, e)| Entry::of(*s, e)).collect()),
        }
    }
}

impl Item {
    fn of(item: &whole::Item, mounts: &Mounts) -> Self {
        let mount = mounts.get(item).and_then(|m| m.as_ref().ok());
        Self {
            offset: item.offset,
            size: item.size,
            kind: item.kind.name(),
            details: Details::of(&item.kind),
            notes: item.notes.clone(),
            mount: mount.map(Mount::of),
            inside: item.inside.iter().map(|i| Self::of(i, mounts)).collect(),
            packed: item.packed.clone(),
            files: item.files.iter().map(BootFile::of).collect(),
        }
    }
}

impl BootFile {
    fn of(file: &whole::BootFile) -> Self {
        // What a boot loader reads is not mounted.
        let items = file.items.iter().map(|i| Item::of(i, &Mounts::default()));
        Self {
            path: file.path.clone(),
            role: file.role.name(),
            count: file.count,
            bytes: file.bytes,
            used: file.is_used,
            cmdline: file.cmdline.as_ref().map(|(text, _)| text.clone()),
            items: items.collect(),
        }
    }
}

impl Mount {
    fn of(mount: &mounting::Mount) -> Self {
        Self {
            filesystem: mount.filesystem,
            state: mount.state.word(),
            reads: mount.reads,
            read_bytes: mount.read_bytes,
            writes: mount.writes,
            written_bytes: mount.written_bytes,
            total_ns: mount.total_ns,
            processor_ns: mount.processor_ns,
            at_least: !mount.is_whole,
            error_percent: mount.error_percent,
            storage: mount.storage.clone(),
            source: mount.source,
        }
    }
}

impl Entry {
    fn of(segment: usize, e: &cpio::Entry) -> Self {
        let (name, name_hex) = utf8(&e.name);
        Self {
            segment,
            name,
            name_hex,
            mode: e.mode,
            uid: e.uid,
            gid: e.gid,
            links: e.links,
            size: e.size,
            mtime: e.mtime,
            ino: e.ino,
            offset: e.offset,
        }
    }
}
