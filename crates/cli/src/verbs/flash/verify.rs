//! `firstlight flash verify`: every file and every checksum.

use super::args::Verify;
use super::{lost, text};
use crate::out::Out;
use crate::size;
use anyhow::Result;
use image::jffs2::{Finding, Lost, Verification, decompress, verify};
use serde::Serialize;
use views::terminal::Style;
use views::terminal::layout::{BAD, DIM, GOOD, Screen, WARN, left, right};
use views::thousands;

/// How many findings the screen holds; JSON has more.
const FINDINGS: usize = 20;

/// What there is to say of an image.
struct Verified {
    image: String,
    endian: String,
    erase_size: u32,
    lost: Vec<Lost>,
    unknown_node: Option<(u64, u16)>,
    done: Verification,
}

impl Verified {
    /// Obsolete nodes, and bytes between nodes, are no damage.
    fn is_good(&self) -> bool {
        self.done.findings.is_empty() && !self.lost.iter().any(lost::is_damage)
    }
}

pub fn run(args: &Verify, out: &mut Out) -> Result<()> {
    let result = args.layout.filesystem(&args.image, |filesystem| {
        Ok(Verified {
            image: args.image.display().to_string(),
            endian: filesystem.endian().to_string(),
            erase_size: filesystem.erase_size(),
            lost: filesystem.lost().to_vec(),
            unknown_node: filesystem.unknown_node(),
            done: verify(filesystem)?,
        })
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
    ok: bool,
    endian: String,
    erase_size: u32,
    inodes: u64,
    names: u64,
    bytes: u64,
    compressed: Vec<JsonCompressed>,
    lost: Vec<lost::Json>,
    unknown_node: Option<JsonUnknown>,
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
struct JsonFinding {
    ino: u32,
    path: Option<String>,
    what: String,
}

impl Json {
    fn of(result: &Verified) -> Self {
        let done = &result.done;
        Self {
            schema: "firstlight.flash.verify/1",
            image: result.image.clone(),
            ok: result.is_good(),
            endian: result.endian.clone(),
            erase_size: result.erase_size,
            inodes: done.inodes,
            names: done.names,
            bytes: done.bytes,
            compressed: done
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
            findings: done
                .findings
                .iter()
                .map(|f| JsonFinding {
                    ino: f.ino,
                    path: f.path.as_ref().map(|p| text(p).0),
                    what: f.what.to_string(),
                })
                .collect(),
            more: done.more,
        }
    }
}

fn screen(result: &Verified, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let done = &result.done;
    let block = size::show(result.erase_size.into());
    let about = format!("JFFS2, {}-endian, erase blocks of {block}", result.endian);
    screen.heading(&result.image, &about);
    for (count, what) in [
        (done.inodes, "inodes"),
        (done.names, "names"),
        (done.bytes, "bytes of files read"),
    ] {
        screen.line(&format!("  {}  {what}", right(&thousands(count), 12)));
    }
    if !done.compressed.is_empty() {
        screen.heading("Data", "");
        for c in &done.compressed {
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
    findings(&mut screen, &done.findings, done.more);
    screen.blank();
    let verdict = if result.is_good() {
        screen.paint(GOOD, "All is well.")
    } else {
        screen.paint(BAD, "Something is wrong.")
    };
    screen.line(&verdict);
    screen.finish()
}

fn findings(screen: &mut Screen, findings: &[Finding], more: u64) {
    if findings.is_empty() {
        return;
    }
    let all = findings.len() as u64 + more;
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
