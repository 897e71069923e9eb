//! `firstlight.capture/1`.

use super::document::Document;
use super::lab_board::{BoardLights, BoardValue};
use schemars::JsonSchema;
use serde::Serialize;

/// Reasons why a capture of a serial console ends.
const ENDS: [&str; 7] = [
    "pattern",
    "limit",
    "interrupt",
    "closed",
    "program",
    "device",
    "full",
];

/// A capture that was taken.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Capture {
    /// Path of the capture.
    pub capture: String,
    /// Files in the capture, without the manifest.
    pub files: Vec<String>,
    /// Data that could not be read or was lost, in sentences.
    pub missing: Vec<String>,
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Serial console. Present only for `capture serial`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<CaptureSerial>,
    /// Host. Present only for `capture ssh`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssh: Option<CaptureSsh>,
    /// Boot of a board. Present only for `capture board`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub board: Option<CaptureBoard>,
}

/// Boot of a board, seen from outside.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CaptureBoard {
    /// Name of the board.
    #[schemars(length(min = 1))]
    pub board: String,
    /// First light.
    pub first_light_ns: BoardLights,
    /// First light may have been earlier by this much; null without first light.
    pub light_error_ns: Option<i64>,
    /// Power-on may have been earlier by this much: the duration of the power command.
    pub power_error_ns: i64,
    /// Time without power before the boot; null if only the power command knows.
    pub off_ns: Option<i64>,
    /// Reason why the boot failed; null if it did not.
    pub void: Option<String>,
    /// Resets of the board after power-on.
    pub resets: u32,
    /// State of the board after first light, such as its temperature.
    pub state: Vec<BoardValue>,
}

impl Document for Capture {
    const SCHEMA: &'static str = "firstlight.capture/1";
    const TITLE: &'static str = "Output of `firstlight capture --json`";
}

/// Output of a serial console.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct CaptureSerial {
    /// Number of bytes received.
    pub bytes: u64,
    /// Why the capture ended: end pattern, time limit, interrupted by the user, line closed by
    /// the other side, listening program failed, device failed, or capture full.
    #[schemars(extend("enum" = ENDS))]
    pub ended: &'static str,
    /// Number of lines received.
    pub lines: u64,
    /// Number of resets: matches of `--reset-on`. Times count from the last one.
    pub resets: usize,
    /// Matches of patterns, and power-on, in order.
    pub marks: Vec<CaptureMark>,
}

/// A match of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct CaptureMark {
    /// Time since the last reset, else since power-on, else since the start.
    pub at_ns: i64,
    /// Name of the mark.
    pub name: String,
    /// Text that matched the pattern.
    pub text: String,
}

/// A host that was captured over SSH.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct CaptureSsh {
    /// Whether the capture was taken; false with `--dry-run`.
    pub done: bool,
    /// Host.
    pub host: String,
    /// Processor architecture, as `uname -m` prints it.
    pub machine: String,
    /// Steps, in order.
    pub plan: Vec<String>,
    /// Steps that were left out, and why.
    pub remarks: Vec<String>,
}
