//! `systemd-analyze dot`: the order and the needs of units, as a graph in the language of
//! graphviz. An arrow's color is its kind: `color_from_dep()` in systemd's `analyze-dot.c`.
//!
//! Units of the ledger are lines.

use super::unit;
use crate::source::{Input, Sniff, Source};
use crate::text;
use record::{DependencyKind, NoteKind, Origin, Recorder, Severity};

/// The reader of such graphs.
#[derive(Debug)]
pub struct Dot;

const FRAME: NoteKind = NoteKind {
    name: "graph_frame",
    severity: Severity::Info,
    advice: "These lines frame the graph, or draw an arrow that is no order and no need.",
};

/// `"a.service"->"b.target" [color="green"];`
fn arrow(line: &str) -> Option<(&str, &str, &str)> {
    let (from, rest) = line.trim().strip_prefix('"')?.split_once("\"->\"")?;
    let (to, rest) = rest.split_once('"')?;
    let (_, color) = rest.split_once("color=\"")?;
    let (color, _) = color.split_once('"')?;
    (unit::is_name(from) && unit::is_name(to)).then_some((from, to, color))
}

fn kind(color: &str) -> Option<DependencyKind> {
    match color {
        "green" => Some(DependencyKind::After),
        "black" | "blue" => Some(DependencyKind::Requires),
        "grey66" => Some(DependencyKind::Wants),
        _ => None,
    }
}

impl Source for Dot {
    fn name(&self) -> &'static str {
        "systemd-dot"
    }

    fn description(&self) -> &'static str {
        "order of units: `systemd-analyze dot`"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        let begins = head.trim_ascii_start().starts_with(b"digraph systemd");
        match begins {
            true => Sniff::Yes,
            false => Sniff::No,
        }
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        let source = recorder.source(input.name, self.name());
        for line in text::lines(input.bytes) {
            let origin = Origin {
                source,
                offset: line.offset,
            };
            let words = text::lossy(line.bytes);
            match arrow(&words).and_then(|(from, to, color)| Some((from, to, kind(color)?))) {
                Some((from, to, kind)) => {
                    recorder.dependency(from, to, kind, origin);
                    recorder.took(source);
                }
                None => recorder.skipped(origin, &FRAME),
            }
        }
    }
}
