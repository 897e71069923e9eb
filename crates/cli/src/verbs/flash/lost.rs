//! Parts of an image that are not used: in JSON, and on the screen.

use crate::size;
use flash::jffs2::{Loss, Lost};
use serde::Serialize;
use views::terminal::layout::{BAD, DIM, Screen, right};
use views::thousands;

/// Data of an image that was left out or not read, by reason.
#[derive(schemars::JsonSchema, Serialize)]
#[schemars(rename = "Lost")]
pub struct Json {
    /// Reason.
    #[schemars(extend("enum" = ["garbage", "header_crc", "cut_off", "length", "node_crc", "data_crc", "obsolete", "unknown"]))]
    why: &'static str,
    /// Number of places.
    count: u64,
    /// Number of bytes.
    bytes: u64,
    /// Byte offset of the first place.
    first: u64,
}

/// All of it in `--json`.
pub fn json(lost: &[Lost]) -> Vec<Json> {
    lost.iter()
        .map(|l| Json {
            why: words(l.why).0,
            count: l.count,
            bytes: l.bytes,
            first: l.first,
        })
        .collect()
}

/// Whether it should not be so. Obsolete nodes, what stands between nodes, and
/// types that may be dropped, are no damage.
pub fn is_damage(lost: &Lost) -> bool {
    !matches!(lost.why, Loss::Obsolete | Loss::Garbage | Loss::Unknown)
}

/// A section of the screen, if there is anything to say.
pub fn section(screen: &mut Screen, title: &str, lost: &[Lost]) {
    if lost.is_empty() {
        return;
    }
    screen.heading(title, "");
    for lost in lost {
        let ansi = if is_damage(lost) { BAD } else { DIM };
        let text = format!(
            "{}: {}, the first at byte {}",
            words(lost.why).1,
            size::show(lost.bytes),
            lost.first
        );
        screen.wrapped(&right(&thousands(lost.count), 14), 16, ansi, &text);
    }
}

/// A name for programs, and words for people.
fn words(why: Loss) -> (&'static str, &'static str) {
    match why {
        Loss::Garbage => ("garbage", "runs of bytes that belong to no node"),
        Loss::HeaderCrc => ("header_crc", "headers with a wrong checksum"),
        Loss::CutOff => ("cut_off", "nodes that run past the end of their block"),
        Loss::Length => ("length", "nodes with impossible lengths"),
        Loss::NodeCrc => ("node_crc", "nodes with a wrong checksum"),
        Loss::DataCrc => ("data_crc", "nodes with a wrong checksum of data or name"),
        Loss::Obsolete => ("obsolete", "obsolete nodes, which stay dead"),
        Loss::Unknown => ("unknown", "nodes of an unknown type that may be dropped"),
    }
}
