//! What systemd says over D-Bus, kept as it said it.
//!
//! One JSON object a line. The first is `{"firstlight_systemd_dbus": 1}`, the
//! format and its version. Each other line holds the properties of one object:
//!
//! ```json
//! {"path": "/org/freedesktop/systemd1/unit/ssh_2eservice",
//!  "interface": "org.freedesktop.systemd1.Unit",
//!  "properties": {"Id": {"type": "s", "data": "ssh.service"},
//!                 "After": {"type": "as", "data": ["basic.target"]},
//!                 "ActiveEnterTimestampMonotonic": {"type": "t", "data": 2345678}}}
//! ```
//!
//! (on one line). Values are as `busctl --json` writes them: their D-Bus type,
//! and their data. The manager's line has the interface
//! `org.freedesktop.systemd1.Manager`. The properties of a service, mount, socket
//! or swap stand with those of its unit.
//!
//! Units of the ledger are lines.

use super::clocks::MONOTONIC;
use super::show::{Block, MICROSECOND_NS};
use crate::source::{Input, Sniff, Source};
use crate::text::{self, Line};
use record::{ClockId, ClockKind, NoteKind, Origin, Recorder, Severity, SourceId};
use serde_json::Value;

/// The key of the first line, and the version that is read.
const KEY: &[u8] = b"{\"firstlight_systemd_dbus\":";
const VERSION: u64 = 1;

/// A line that is longer is not read: one unit's properties take some kilobytes.
const LONGEST_LINE: usize = 4 << 20;

/// Answers of systemd on D-Bus.
///
/// As [`Show`](super::Show) reads the same properties: a unit's span is its start as
/// `systemd-analyze blame` counts it, and the manager's times become marks.
#[derive(Debug)]
pub struct Bus;

const HEADER: NoteKind = NoteKind {
    name: "header",
    severity: Severity::Info,
    advice: "The first line names the format and its version.",
};

const NEWER: NoteKind = NoteKind {
    name: "newer_format",
    severity: Severity::Doubt,
    advice: "The file has a newer format version than firstlight supports and was read as version \
        1. Upgrade firstlight.",
};

const NO_ANSWER: NoteKind = NoteKind {
    name: "line_without_answer",
    severity: Severity::DataLoss,
    advice: "These lines are truncated or contain no properties. Capture again.",
};

impl Source for Bus {
    fn name(&self) -> &'static str {
        "systemd-dbus"
    }

    fn description(&self) -> &'static str {
        "unit properties read over D-Bus, part of a firstlight capture"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        if head.starts_with(KEY) {
            Sniff::Yes
        } else {
            Sniff::No
        }
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        let source = recorder.source(input.name, self.name());
        let clock = recorder.clock(MONOTONIC, ClockKind::Monotonic, MICROSECOND_NS as u64);
        for line in text::lines(input.bytes) {
            read(line, source, clock, recorder);
        }
    }
}

fn read(line: Line<'_>, source: SourceId, clock: ClockId, recorder: &mut Recorder) {
    let offset = line.offset;
    let origin = Origin { source, offset };
    if line.bytes.len() > LONGEST_LINE {
        recorder.skipped(origin, &NO_ANSWER);
        return;
    }
    let object: Value = serde_json::from_slice(line.bytes).unwrap_or_default();
    if let Some(version) = object.get("firstlight_systemd_dbus") {
        let kind = if version.as_u64() == Some(VERSION) {
            &HEADER
        } else {
            &NEWER
        };
        recorder.skipped(origin, kind);
        return;
    }
    let Some(Value::Object(properties)) = object.get("properties") else {
        recorder.skipped(origin, &NO_ANSWER);
        return;
    };
    let mut block = Block::new(source, offset);
    for (key, value) in properties {
        if let Some(value) = value.get("data").and_then(words) {
            block.set(key, &value);
        }
    }
    block.record(clock, recorder);
}

/// A value as `systemctl show` prints it, of the types that are used.
fn words(data: &Value) -> Option<String> {
    match data {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(all) => {
            let words: Option<Vec<&str>> = all.iter().map(Value::as_str).collect();
            words.map(|w| w.join(" "))
        }
        _ => None,
    }
}
