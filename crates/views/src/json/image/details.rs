//! What `firstlight.image.info/1` says of each kind of content.

use super::fit::Fit;
use super::kernel::{Bzimage, Elf, Flat, Payload, Zboot, Zimage};
use super::part::Part;
use bootimage::info::Kind;
use bootimage::uimage::Xip;
use bootimage::{barebox, device_tree, environment, initramfs, uimage};
use inspect::whole;
use rawimage::Endian;
use serde::Serialize;

/// The definition of the details of each kind.
pub(super) const DEFINITIONS: &[(&str, &str)] = &[
    ("uimage", "Uimage"),
    ("fit", "Fit"),
    ("device-tree", "DeviceTree"),
    ("zimage", "Zimage"),
    ("bzimage", "Bzimage"),
    ("kernel-image", "Flat"),
    ("efi-zboot", "Zboot"),
    ("elf", "Elf"),
    ("initramfs", "Initramfs"),
    ("compressed", "Payload"),
    ("u-boot-environment", "Environment"),
    ("barebox-environment", "Barebox"),
    ("android-boot", "Android"),
    ("jffs2", "Jffs2"),
    ("filesystem", "Filesystem"),
    ("disk", "Disk"),
    ("other", "Other"),
];

/// Details of an item.
#[derive(schemars::JsonSchema, Serialize)]
#[serde(untagged)]
pub(super) enum Details {
    Uimage(Uimage),
    Fit(Fit),
    DeviceTree(DeviceTree),
    Zimage(Zimage),
    Bzimage(Bzimage),
    Flat(Flat),
    Zboot(Zboot),
    Elf(Elf),
    Initramfs(Initramfs),
    Packed(Payload),
    Environment(Environment),
    Barebox(Barebox),
    Android(Android),
    Jffs2(Jffs2),
    Filesystem(Box<Filesystem>),
    Disk(Disk),
    Other(Other),
}

/// A legacy U-Boot image.
#[derive(schemars::JsonSchema, Serialize)]
pub(super) struct Uimage {
    /// Name.
    name: String,
    /// Time of creation, in seconds since 1970.
    time: u32,
    /// Operating system.
    #[schemars(length(min = 1))]
    os: String,
    /// Processor architecture.
    #[schemars(length(min = 1))]
    arch: String,
    /// Type of image.
    #[serde(rename = "type")]
    #[schemars(length(min = 1))]
    kind: String,
    /// Compression; null if unknown.
    #[schemars(extend("enum" = ["none", "gzip", "bzip2", "lzma", "xz", "lzo", "lz4", "lz4-frame", "zstd"]))]
    compression: Option<&'static str>,
    /// Size of the data.
    data_size: u32,
    /// Load address.
    load: u32,
    /// Entry address.
    entry: u32,
    /// Whether the checksum of the header matches.
    header_crc_ok: bool,
    /// Whether the checksum of the data matches; null if the data is incomplete.
    data_crc_ok: Option<bool>,
    /// Parts of a multi-file image.
    parts: Vec<Part>,
    /// Execution in place.
    xip: ExecuteInPlace,
}

/// Execution in place.
#[derive(schemars::JsonSchema, Serialize)]
pub(super) struct ExecuteInPlace {
    /// Load address for which U-Boot does not copy the image; null if there is none.
    load_address: Option<u32>,
    /// Advice.
    #[schemars(length(min = 1))]
    advice: String,
}

/// A device tree.
#[derive(schemars::JsonSchema, Serialize)]
pub(super) struct DeviceTree {
    /// Number of nodes.
    nodes: usize,
    /// Model; null if there is none.
    model: Option<String>,
    /// Compatible boards.
    compatible: Vec<String>,
    /// Whether it is an overlay.
    overlay: bool,
    /// Kernel command line; null if there is none.
    bootargs: Option<String>,
    /// Console device; null if there is none.
    stdout: Option<String>,
    /// Place of the initramfs in memory; null if there is none.
    initrd: Option<Initrd>,
    /// Values of the node `/config`.
    config: Vec<ConfigValue>,
    /// Boot stages that U-Boot recorded.
    bootstage: Vec<BootStage>,
}

/// Place of an initramfs in memory.
#[derive(schemars::JsonSchema, Serialize)]
pub(super) struct Initrd {
    /// First address.
    start: u64,
    /// Address after the last byte.
    end: u64,
}

/// A value of the node `/config`.
#[derive(schemars::JsonSchema, Serialize)]
pub(super) struct ConfigValue {
    /// Name.
    #[schemars(length(min = 1))]
    name: String,
    /// Value.
    value: String,
}

/// A boot stage that U-Boot recorded.
#[derive(schemars::JsonSchema, Serialize)]
pub(super) struct BootStage {
    /// Name.
    name: String,
    /// Time since reset or, if accumulated, duration; in microseconds.
    us: u64,
    /// Whether the time is accumulated.
    accumulated: bool,
}

/// An initramfs.
#[derive(schemars::JsonSchema, Serialize)]
pub(super) struct Initramfs {
    /// Segments.
    segments: Vec<Segment>,
    /// Uncompressed size.
    unpacked: u64,
    /// Number of entries.
    entries: u64,
    /// Byte offset of data that is no archive; null if there is none.
    junk_at: Option<u64>,
}

/// A segment of an initramfs.
#[derive(schemars::JsonSchema, Serialize)]
pub(super) struct Segment {
    /// Byte offset.
    offset: u64,
    /// Compressed size.
    size: u64,
    /// Padding after the segment.
    padding: u64,
    /// Compression.
    #[schemars(extend("enum" = ["none", "gzip", "bzip2", "lzma", "xz", "lzo", "lz4", "lz4-frame", "zstd"]))]
    compression: &'static str,
    /// Uncompressed size.
    unpacked: u64,
    /// Number of entries.
    entries: u64,
    /// Number of files.
    files: u64,
    /// Number of directories.
    folders: u64,
    /// Number of symbolic links.
    links: u64,
    /// Bytes of file content.
    content: u64,
    /// Files that the kernel reads before it unpacks anything.
    early: Vec<String>,
    /// Whether there are no other files in the segment.
    only_early: bool,
    /// Problem; null if there is none.
    #[schemars(length(min = 1))]
    problem: Option<String>,
}

/// A U-Boot environment.
#[derive(schemars::JsonSchema, Serialize)]
pub(super) struct Environment {
    /// Byte offsets of its copies.
    copies: Vec<u64>,
    /// Size of one copy; null if unknown.
    size: Option<u64>,
    /// Byte order; null if unknown.
    #[schemars(extend("enum" = ["little", "big"]))]
    endian: Option<String>,
    /// Number of variables.
    variables: usize,
}

/// A barebox environment.
#[derive(schemars::JsonSchema, Serialize)]
pub(super) struct Barebox {
    /// Whether the checksum matches.
    valid: bool,
    /// Whether barebox uses its built-in environment instead.
    use_built_in: bool,
    /// Files of the environment.
    files: Vec<BareboxFile>,
}

/// A file of a barebox environment.
#[derive(schemars::JsonSchema, Serialize)]
pub(super) struct BareboxFile {
    /// Name.
    name: String,
    /// Size.
    size: u64,
}

/// A JFFS2 file system.
#[derive(schemars::JsonSchema, Serialize)]
pub(super) struct Jffs2 {
    /// Byte order.
    #[schemars(extend("enum" = ["little", "big"]))]
    endian: String,
    /// Erase block size; null if unknown.
    erase_size: Option<u32>,
}

/// A file system of a block device. Times are in seconds since 1970.
#[derive(schemars::JsonSchema, Serialize)]
pub(super) struct Filesystem {
    /// File system.
    #[schemars(length(min = 1))]
    filesystem: &'static str,
    /// Size.
    bytes: u64,
    /// Block size.
    block_size: u32,
    /// Number of blocks.
    blocks: u64,
    /// Number of free blocks; null if none can be free or it is not stated.
    free_blocks: Option<u64>,
    /// Number of inodes; 0 in a FAT, which has none.
    inodes: u64,
    /// Number of free inodes; null if none can be free.
    free_inodes: Option<u64>,
    /// Label.
    label: String,
    /// UUID; null if there is none.
    uuid: Option<String>,
    /// Features.
    features: Vec<String>,
    /// Compression; null if there is none.
    compression: Option<String>,
    /// State.
    #[schemars(extend("enum" = ["clean", "needs_recovery", "not_clean", "errors", "read_only"]))]
    state: &'static str,
    /// Time of creation.
    made: u64,
    /// Time of the last mount; null if unknown.
    mounted: Option<u64>,
    /// Time of the last write; null if unknown.
    written: Option<u64>,
    /// Number of mounts since the last check; null if unknown.
    mounts: Option<u32>,
    /// Folder where it was last mounted.
    mounted_on: String,
    /// Bytes written since it was created, as the file system counts them; null if it does not.
    lifetime_written: Option<u64>,
}

/// A disk with partitions.
#[derive(schemars::JsonSchema, Serialize)]
pub(super) struct Disk {
    /// Format of the partition table.
    #[schemars(length(min = 1))]
    table: &'static str,
    /// Partitions.
    partitions: Vec<Partition>,
}

/// A partition.
#[derive(schemars::JsonSchema, Serialize)]
pub(super) struct Partition {
    /// Number.
    number: u32,
    /// Byte offset.
    start: u64,
    /// Size.
    size: u64,
    /// Type.
    #[serde(rename = "type")]
    kind: String,
    /// Name.
    name: String,
}

/// An Android boot image.
#[derive(schemars::JsonSchema, Serialize)]
pub(super) struct Android {
    /// Whether it is the vendor's part, which has no kernel.
    vendor: bool,
    /// Header version; null for the oldest form, which has none.
    header_version: Option<u32>,
    /// Command line of the kernel.
    cmdline: String,
}

/// Something that is only recognized.
#[derive(schemars::JsonSchema, Serialize)]
pub(super) struct Other {
    /// Name.
    #[schemars(length(min = 1))]
    name: &'static str,
}

impl Details {
    pub(super) fn of(kind: &whole::Kind) -> Self {
        match kind {
            whole::Kind::Boot(kind) => boot(kind),
            whole::Kind::Jffs2 { endian, erase_size } => Self::Jffs2(Jffs2 {
                endian: endian.to_string(),
                erase_size: *erase_size,
            }),
            whole::Kind::Filesystem(f) => Self::Filesystem(Box::new(filesystem(f))),
            whole::Kind::Disk(table, partitions) => {
                let partitions = partitions.iter().map(|p| Partition {
                    number: p.number,
                    start: p.start,
                    size: p.len,
                    kind: p.kind.clone(),
                    name: p.name.clone(),
                });
                Self::Disk(Disk {
                    table: table.name(),
                    partitions: partitions.collect(),
                })
            }
        }
    }
}

fn boot(kind: &Kind) -> Details {
    match kind {
        Kind::Uimage(u) => Details::Uimage(uimage(u)),
        Kind::Fit(f) => Details::Fit(Fit::of(f)),
        Kind::DeviceTree(d) => Details::DeviceTree(device_tree(d)),
        Kind::ZImage(z) => Details::Zimage(Zimage::of(z)),
        Kind::BzImage(b, payload) => Details::Bzimage(Bzimage::of(b, payload.as_ref())),
        Kind::Flat(f, content) => Details::Flat(Flat::of(f, content)),
        Kind::Zboot(z) => Details::Zboot(Zboot::of(z)),
        Kind::Elf(e, content) => Details::Elf(Elf::of(e, content)),
        Kind::Initramfs(i) => Details::Initramfs(initramfs(i)),
        Kind::Packed(p) => Details::Packed(Payload::of(p)),
        Kind::Environment(e) => Details::Environment(environment(e)),
        Kind::Barebox(b) => Details::Barebox(barebox(b)),
        Kind::Android(a) => Details::Android(Android {
            vendor: a.is_vendor,
            header_version: a.version,
            cmdline: a.cmdline.clone(),
        }),
        Kind::Foreign(f) => Details::Other(Other { name: f.name() }),
        other => Details::Other(Other { name: other.name() }),
    }
}

fn filesystem(f: &::disk::Facts) -> Filesystem {
    Filesystem {
        filesystem: f.filesystem,
        bytes: f.bytes,
        block_size: f.block_size,
        blocks: f.blocks,
        free_blocks: f.free_blocks,
        inodes: f.inodes,
        free_inodes: f.free_inodes,
        label: f.label.clone(),
        uuid: f.uuid.clone(),
        features: f.features.clone(),
        compression: f.compression.clone(),
        state: f.state.word(),
        made: f.made,
        mounted: f.mounted,
        written: f.written,
        mounts: f.mounts,
        mounted_on: f.mounted_on.clone(),
        lifetime_written: f.lifetime_written,
    }
}

fn uimage(u: &uimage::Uimage) -> Uimage {
    Uimage {
        name: u.name.clone(),
        time: u.time,
        os: u.os(),
        arch: u.arch(),
        kind: u.kind(),
        compression: u.compression().map(|c| c.name()),
        data_size: u.size,
        load: u.load,
        entry: u.entry,
        header_crc_ok: u.header_is_right,
        data_crc_ok: u.data_is_right,
        parts: u.parts.iter().copied().map(Part::of).collect(),
        xip: ExecuteInPlace {
            load_address: match u.xip() {
                Xip::At { address } => Some(address),
                _ => None,
            },
            advice: u.xip().to_string(),
        },
    }
}

fn device_tree(d: &device_tree::DeviceTree) -> DeviceTree {
    let config = d.config.iter().map(|(name, value)| ConfigValue {
        name: name.clone(),
        value: value.clone(),
    });
    let bootstage = d.bootstage.iter().map(|s| BootStage {
        name: s.name.clone(),
        us: s.us,
        accumulated: s.is_accumulated,
    });
    DeviceTree {
        nodes: d.nodes,
        model: d.model.clone(),
        compatible: d.compatible.clone(),
        overlay: d.is_overlay,
        bootargs: d.bootargs.clone(),
        stdout: d.stdout.clone(),
        initrd: d.initrd.map(|(start, end)| Initrd { start, end }),
        config: config.collect(),
        bootstage: bootstage.collect(),
    }
}

fn initramfs(i: &initramfs::Initramfs) -> Initramfs {
    let segment = |s: &initramfs::Segment| {
        let count = |letter| s.entries.get(&letter).copied().unwrap_or(0);
        Segment {
            offset: s.offset,
            size: s.size,
            padding: s.padding,
            compression: s.compression.name(),
            unpacked: s.unpacked,
            entries: s.count(),
            files: count('-'),
            folders: count('d'),
            links: count('l'),
            content: s.content,
            early: s.early.clone(),
            only_early: s.is_only_early,
            problem: s.problem.clone(),
        }
    };
    Initramfs {
        segments: i.segments.iter().map(segment).collect(),
        unpacked: i.unpacked(),
        entries: i.count(),
        junk_at: i.junk,
    }
}

fn environment(e: &environment::Environment) -> Environment {
    let active = e.active();
    Environment {
        copies: e.copies.iter().map(|c| c.offset).collect(),
        size: active.map(|c| c.size),
        endian: active.and_then(|c| c.endian).map(|e: Endian| e.to_string()),
        variables: e.data().map_or(0, |d| d.variables().len()),
    }
}

fn barebox(b: &barebox::Barebox) -> Barebox {
    let file = |(name, size): &(String, u64)| BareboxFile {
        name: name.clone(),
        size: *size,
    };
    Barebox {
        valid: b.is_whole,
        use_built_in: b.use_built_in,
        files: b.files.iter().map(file).collect(),
    }
}
