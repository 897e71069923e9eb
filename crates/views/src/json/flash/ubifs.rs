//! UBIFS: in a volume, or alone in a file of `mkfs.ubifs`: `firstlight.flash.ubifs/1`.

use flash::ubifs::{Report, compression, master};
use serde::Serialize;

/// UBIFS image without UBI. Sizes are in bytes.
#[derive(schemars::JsonSchema, Serialize)]
pub struct Bare<'a> {
    /// Name and version of this format.
    #[schemars(extend("const" = <Self as crate::json::Document>::SCHEMA))]
    schema: &'static str,
    /// Path of the image.
    #[schemars(length(min = 1))]
    image: &'a str,
    /// The file system.
    ubifs: Ubifs,
}

impl crate::json::Document for Bare<'_> {
    const SCHEMA: &'static str = "firstlight.flash.ubifs/1";
    const TITLE: &'static str = "Output of `firstlight flash ubi --json` for UBIFS without UBI";
}

/// A UBIFS file system.
#[derive(schemars::JsonSchema, Serialize)]
#[schemars(rename = "Ubifs")]
pub struct Ubifs {
    /// Whether the kernel mounts it.
    mounts: bool,
    /// Why the kernel refuses to mount it; null if it does not.
    #[schemars(length(min = 1))]
    refusal: Option<String>,
    /// Whether a mount performs recovery.
    needs_recovery: bool,
    /// Whether a mount replays the journal.
    needs_replay: bool,
    /// Whether a mount fixes up free space.
    needs_fixup: bool,
    /// Superblock.
    superblock: Superblock,
    /// Master node.
    master: Master,
    /// Journal.
    journal: Journal,
    /// Bytes that a mount reads.
    mount_read_bytes: u64,
    /// Estimated mount time.
    mount_ns: u64,
    /// Number of logical erase blocks that the free-space fixup rewrites.
    fixed_lebs: u32,
}

/// UBIFS superblock.
#[derive(schemars::JsonSchema, Serialize)]
struct Superblock {
    /// Format version.
    version: u32,
    /// Minimum I/O unit.
    min_io: u32,
    /// Size of a logical erase block.
    leb_size: u32,
    /// Number of logical erase blocks.
    leb_count: u32,
    /// Maximum number of logical erase blocks.
    most_lebs: u32,
    /// Logical erase blocks of the log.
    log_lebs: u32,
    /// Logical erase blocks of the LEB properties tree.
    lpt_lebs: u32,
    /// Logical erase blocks of the orphan area.
    orphan_lebs: u32,
    /// Logical erase blocks of the main area.
    main_lebs: u32,
    /// Maximum size of the journal.
    most_journal_bytes: u64,
    /// Fanout of the index tree.
    fanout: u32,
    /// Default compression.
    #[schemars(extend("enum" = ["none", "lzo", "zlib", "zstd", "unknown"]))]
    compression: &'static str,
    /// UUID.
    #[schemars(regex(pattern = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"))]
    uuid: String,
    /// Flags.
    #[schemars(inner(regex(
        pattern = "^(big_lpt|space_fixup|double_hash|encryption|authentication)$"
    )))]
    flags: Vec<&'static str>,
}

/// UBIFS master node. Values are null if it is lost.
#[derive(schemars::JsonSchema, Serialize)]
struct Master {
    /// State of the node.
    #[schemars(extend("enum" = ["good", "recovered", "lost"]))]
    state: &'static str,
    /// Logical erase block that it was read from.
    from_leb: Option<u32>,
    /// Whether the file system was not unmounted cleanly.
    dirty: Option<bool>,
    /// Commit number.
    commit: Option<u64>,
    /// Highest inode number.
    highest_inode: Option<u64>,
    /// Size of the index.
    index_bytes: Option<u64>,
    /// Free bytes.
    free_bytes: Option<u64>,
    /// Dirty bytes.
    dirty_bytes: Option<u64>,
    /// Used bytes.
    used_bytes: Option<u64>,
}

/// UBIFS journal.
#[derive(schemars::JsonSchema, Serialize)]
struct Journal {
    /// Logical erase blocks of the log in use.
    log_lebs: u32,
    /// Number of journal erase blocks.
    buds: usize,
    /// Number of nodes to replay.
    nodes: u64,
    /// Bytes to replay.
    bytes: u64,
    /// Why the journal cannot be replayed; null if it can.
    #[schemars(length(min = 1))]
    broken: Option<String>,
}

impl<'a> Bare<'a> {
    /// The document of a UBIFS image at `image`.
    #[must_use]
    pub fn of(image: &'a str, report: &Report) -> Self {
        Self {
            schema: <Bare<'_> as crate::json::Document>::SCHEMA,
            image,
            ubifs: Ubifs::of(report),
        }
    }
}

impl Ubifs {
    pub(super) fn of(report: &Report) -> Self {
        let sb = &report.superblock;
        let node = report.master.master();
        Self {
            mounts: report.refusal.is_none(),
            refusal: report.refusal.map(|r| r.to_string()),
            needs_recovery: report.needs_recovery,
            needs_replay: report.needs_replay(),
            needs_fixup: report.needs_fixup,
            superblock: Superblock {
                version: sb.version,
                min_io: sb.min_io,
                leb_size: sb.leb_size,
                leb_count: sb.leb_count,
                most_lebs: sb.most_lebs,
                log_lebs: sb.log_lebs,
                lpt_lebs: sb.lpt_lebs,
                orphan_lebs: sb.orphan_lebs,
                main_lebs: sb.leb_count.saturating_sub(sb.main_first()),
                most_journal_bytes: sb.most_bud_bytes,
                fanout: sb.fanout,
                compression: compression(sb.compression),
                uuid: uuid(sb.uuid),
                flags: sb.flag_names(),
            },
            master: Master {
                state: report.master.name(),
                from_leb: match report.master {
                    master::State::Recovered(_, leb) => Some(leb),
                    _ => None,
                },
                dirty: node.map(|m| m.is_dirty()),
                commit: node.map(|m| m.commit),
                highest_inode: node.map(|m| m.highest_inode),
                index_bytes: node.map(|m| m.index_size),
                free_bytes: node.map(|m| m.space.0),
                dirty_bytes: node.map(|m| m.space.1),
                used_bytes: node.map(|m| m.space.2),
            },
            journal: Journal {
                log_lebs: report.journal.log_lebs,
                buds: report.journal.buds.len(),
                nodes: report.journal.nodes,
                bytes: report.journal.bytes,
                broken: report.journal.broken.map(|b| b.to_string()),
            },
            mount_read_bytes: report.mount.reads.bytes,
            mount_ns: report.mount.read_ns,
            fixed_lebs: report.mount.fixed_lebs,
        }
    }
}

fn uuid(bytes: [u8; 16]) -> String {
    let mut text = String::new();
    for (i, byte) in bytes.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}
