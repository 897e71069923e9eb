//! `firstlight flash verify`: every file and every checksum.

use super::args::Verify;
use super::open::Filesystem;
use super::{lost, text};
use crate::out::Out;
use crate::size;
use anyhow::Result;
use image::files::Findings;
use image::jffs2::{self, Compressed, Endian, Lost, decompress};
use image::ubifs;
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

/// `firstlight.flash.verify/1`.
#[derive(Serialize)]
struct Json {
    schema: &'static str,
    image: String,
    filesystem: &'static str,
    ok: bool,
    endian: String,
    erase_size: u32,
    inodes: u64,
    names: u64,
    bytes: u64,
    compressed: Vec<JsonCompressed>,
    lost: Vec<lost::Json>,
    unknown_node: Option<JsonUnknown>,
    damage: Vec<JsonDamage>,
    findings: Vec<JsonFinding>,
    more: u64,
}

#[derive(Serialize)]
struct JsonCompressed {
    compression: &'static str,
    number: u8,
    nodes: u64,
    stored: u64,
    length: u64,
}

#[derive(Serialize)]
struct JsonUnknown {
    offset: u64,
    kind: u16,
}

#[derive(Serialize)]
struct JsonDamage {
    leb: u32,
    offset: u32,
}

#[derive(Serialize)]
struct JsonFinding {
    ino: u32,
    path: Option<String>,
    what: String,
}

impl Json {
    fn of(result: &Verified) -> Self {
        Self {
            schema: "firstlight.flash.verify/1",
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
