//! Parts of an image that are not used.

use crate::terminal::layout::{BAD, DIM, Screen, right};
use crate::words::{size, thousands};
use flash::jffs2::{Loss, Lost};

/// A section of the screen, if there is anything to say.
pub fn section(screen: &mut Screen, title: &str, lost: &[Lost]) {
    if lost.is_empty() {
        return;
    }
    screen.heading(title, "");
    for lost in lost {
        let ansi = if lost.is_damage() { BAD } else { DIM };
        let text = format!(
            "{}: {}, the first at byte {}",
            words(lost.why),
            size(lost.bytes),
            lost.first
        );
        screen.wrapped(&right(&thousands(lost.count), 14), 16, ansi, &text);
    }
}

fn words(why: Loss) -> &'static str {
    match why {
        Loss::Garbage => "runs of bytes that belong to no node",
        Loss::HeaderCrc => "headers with a wrong checksum",
        Loss::CutOff => "nodes that run past the end of their block",
        Loss::Length => "nodes with impossible lengths",
        Loss::NodeCrc => "nodes with a wrong checksum",
        Loss::DataCrc => "nodes with a wrong checksum of data or name",
        Loss::Obsolete => "obsolete nodes, which stay dead",
        Loss::Unknown => "nodes of an unknown type that may be dropped",
    }
}
