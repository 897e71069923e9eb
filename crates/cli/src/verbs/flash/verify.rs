//! `firstlight flash verify`: every file and every checksum.

use super::args::Verify;
use super::{lost, text};
use crate::out::Out;
use crate::size;
use anyhow::Result;
use flash::files::Findings;
use flash::jffs2::{self, Compressed, Endian, Lost, decompress};
use flash::ubifs;
use inspect::open::Filesystem;
use serde::Serialize;
use views::terminal::Style;
use views::terminal::layout::{BAD, DIM, GOOD, Screen, WARN, left, right};
use views::thousands;

/// How many findings the screen holds; JSON has more.
const FINDINGS: usize = 20;

/// What there is to say of an image.
struct Verified {
    image: String,
    filesystem: &'static str,
    endian: String,
    erase_size: u32,
    inodes: u64,
    names: u64,
    bytes: u64,
    compressed: Vec<Compressed>,
    lost: Vec<Lost>,
    unknown_node: Option<(u64, u16)>,
    /// Parts of an index that cannot be read: logical block, and place in it.
    damage: Vec<(u32, u32)>,
    findings: Findings,
}

impl Verified {
    /// Obsolete nodes, and bytes between nodes, are no damage.
    fn is_good(&self) -> bool {
        self.findings.list.is_empty()
            && self.damage.is_empty()
            && !self.lost.iter().any(lost::is_damage)
    }

    fn jffs2(image: String, filesystem: &jffs2::Filesystem) -> Result<Self> {
        let done = jffs2::verify(filesystem)?;
        Ok(Self {
            image,
            filesystem: "jffs2",
            endian: filesystem.endian().to_string(),
            erase_size: filesystem.erase_size(),
            inodes: done.inodes,
            names: done.names,
            bytes: done.bytes,
            compressed: done.compressed,
            lost: filesystem.lost().to_vec(),
            unknown_node: filesystem.unknown_node(),
            damage: Vec::new(),
            findings: done.findings,
        })
    }

    fn ubifs(image: String, filesystem: &ubifs::Filesystem) -> Result<Self> {
        let done = ubifs::verify(filesystem)?;
        let damage = filesystem.damage().iter();
        Ok(Self {
            image,
            filesystem: "ubifs",
            endian: Endian::Little.to_string(),
            erase_size: filesystem.superblock().leb_size,
            inodes: filesystem.inodes().count() as u64,
            names: done.names,
            bytes: done.bytes,
            compressed: Vec::new(),
            lost: Vec::new(),
            unknown_node: None,
            damage: damage.map(|d| (d.leb, d.offset)).collect(),
            findings: done.findings,
        })
    }
}

pub fn run(args: &Verify, out: &mut Out) -> Result<()> {
    let image = args.image.display().to_string();
    let result = args
        .inside
        .filesystem(&args.image, |filesystem| match filesystem {
            Filesystem::Jffs2(jffs2) => Verified::jffs2(image, jffs2),
            Filesystem::Ubifs(ubifs) => Verified::ubifs(image, ubifs),
        })?;
    let text = if out.json {
        views::json::text(&Json::of(&result))
    } else {
        screen(&result, &out.style)
    };
    out.gate(result.is_good());
    out.text(&text)
}

/// Result of reading all of an image. Sizes are in bytes.
#[derive(schemars::JsonSchema, Serialize)]
pub struct Json {
    /// Name and version of this format.
    #[schemars(extend("const" = <Self as views::json::Document>::SCHEMA))]
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
    lost: Vec<lost::Json>,
    /// First node of an unknown type; null if there is none.
    unknown_node: Option<JsonUnknown>,
    /// Damaged places of UBIFS.
    damage: Vec<JsonDamage>,
    /// Files with problems.
    findings: Vec<JsonFinding>,
    /// Number of further problems that are not listed.
    more: u64,
}

impl views::json::Document for Json {
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

impl Json {
    fn of(result: &Verified) -> Self {
        Self {
            schema: <Json as views::json::Document>::SCHEMA,
            image: result.image.clone(),
            filesystem: result.filesystem,
            ok: result.is_good(),
            endian: result.endian.clone(),
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
                    path: f.path.as_ref().map(|p| text(p).0),
                    what: f.what.to_string(),
                })
                .collect(),
            more: result.findings.more,
        }
    }
}

fn screen(result: &Verified, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let block = size::show(result.erase_size.into());
    let about = match result.filesystem {
        "jffs2" => format!("JFFS2, {}-endian, erase blocks of {block}", result.endian),
        _ => format!("UBIFS, logical blocks of {block}"),
    };
    screen.heading(&result.image, &about);
    for (count, what) in [
        (result.inodes, "inodes"),
        (result.names, "names"),
        (result.bytes, "bytes of files read"),
    ] {
        screen.line(&format!("  {}  {what}", right(&thousands(count), 12)));
    }
    if !result.compressed.is_empty() {
        screen.heading("Data", "");
        for c in &result.compressed {
            let sizes = format!("{} in {}", size::show(c.length), size::show(c.stored));
            let line = format!(
                "  {}  nodes  {} {}",
                right(&thousands(c.nodes), 12),
                left(decompress::name(c.kind), 10),
                screen.paint(DIM, &sizes)
            );
            screen.line(&line);
        }
    }
    lost::section(&mut screen, "What the kernel would not use", &result.lost);
    if let Some((offset, kind)) = result.unknown_node {
        screen.heading("A node of an unknown type", "");
        let text = format!(
            "The type {kind:#06x} at byte {offset} makes the kernel refuse the image, or mount it \
             read-only."
        );
        screen.wrapped("", 2, WARN, &text);
    }
    if !result.damage.is_empty() {
        let count = result.damage.len();
        let about = format!("{count}; what they lead to is missing");
        screen.heading("Damaged parts of the index", &about);
        for (leb, offset) in result.damage.iter().take(FINDINGS) {
            let text = format!("logical block {leb}, byte {offset}");
            screen.wrapped("", 2, BAD, &text);
        }
    }
    findings(&mut screen, &result.findings);
    screen.blank();
    let verdict = if result.is_good() {
        screen.paint(GOOD, "All is well.")
    } else {
        screen.paint(BAD, "Something is wrong.")
    };
    screen.line(&verdict);
    screen.finish()
}

fn findings(screen: &mut Screen, findings: &Findings) {
    let all = findings.list.len() as u64 + findings.more;
    let findings = &findings.list;
    if findings.is_empty() {
        return;
    }
    let about = match findings.len() {
        0..=FINDINGS => String::new(),
        _ => format!("the first {FINDINGS} of {}; see --json", thousands(all)),
    };
    screen.heading("Findings", &about);
    for finding in findings.iter().take(FINDINGS) {
        let place = match &finding.path {
            Some(path) => format!("{} (inode {})", path.escape_ascii(), finding.ino),
            None => format!("inode {}", finding.ino),
        };
        screen.wrapped("", 2, BAD, &format!("{place}: {}", finding.what));
    }
}
