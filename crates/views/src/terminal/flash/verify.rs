//! The screen of `firstlight flash verify`.

use super::lost;
use crate::terminal::Style;
use crate::terminal::layout::{BAD, DIM, GOOD, Screen, WARN, left, right};
use crate::words::{size, thousands};
use flash::files::Findings;
use flash::jffs2::decompress;
use flash::verified::Verified;

/// How many findings the screen holds; JSON has more.
const FINDINGS: usize = 20;

/// Every file and every checksum of an image.
#[must_use]
pub fn verify(image: &str, result: &Verified, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let block = size(result.erase_size.into());
    let about = match result.filesystem {
        "jffs2" => format!("JFFS2, {}-endian, erase blocks of {block}", result.endian),
        _ => format!("UBIFS, logical blocks of {block}"),
    };
    screen.heading(image, &about);
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
            let sizes = format!("{} in {}", size(c.length), size(c.stored));
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
