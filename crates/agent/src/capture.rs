//! The capture: the raw evidence of one boot, in a tar or a directory.
//!
//! `manifest.json` comes first, then the raw files as the target gave them.

mod archive;

pub use archive::{CaptureError, Limits, Member, Writer, manifest, read_tar, write_tar};

use serde::{Deserialize, Serialize};

/// The file that describes a capture, and its first member.
pub const MANIFEST: &str = "manifest.json";

/// The version of the capture format that this program writes.
pub const VERSION: u32 = 1;

/// The trace event of the agent's probe where a file begins to be opened.
pub const OPEN: &str = "firstlight_open";

/// The same where that is done, or has failed.
pub const OPENED: &str = "firstlight_opened";

/// The first line of a file with a boot loader's console, as the exact lab saw it: its
/// kind and its version. Lines follow, each behind its instant in seconds of virtual
/// time since reset: `[    1.000000001] DRAM:  1 GiB`.
pub const LOADER_CONSOLE: &str = "firstlight loader console 1";

/// `manifest.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The format version; always the first key.
    pub firstlight_capture: u32,
    /// Which program took the capture: `firstlight-agent 0.1.0`.
    pub taken_by: String,
    /// The machine it was taken on, for the reader.
    #[serde(default)]
    pub machine: String,
    /// The kernel's release and version, as `uname` gives them.
    #[serde(default)]
    pub kernel: String,
    /// The kernel command line.
    #[serde(default)]
    pub cmdline: String,
    /// The clocks that were read, and readings of several at the same instant.
    #[serde(default)]
    pub clocks: Vec<ClockInfo>,
    /// Instants on one of the clocks that no file of the capture holds.
    #[serde(default)]
    pub marks: Vec<MarkInfo>,
    /// The files.
    #[serde(default)]
    pub sources: Vec<SourceFile>,
    /// Words of the command line that only what was recorded put there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recording: Vec<String>,
    /// Major and minor numbers of the taker's own block devices. What was asked of
    /// them is not the boot's: the lab's storage server reads what it serves, and the
    /// capture leaves by one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_devices: Vec<(u32, u32)>,
    /// What the taker could not capture, or gave up, or doubts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<NoteInfo>,
}

/// Something that the taker has to say about the capture, for the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteInfo {
    /// What kind of thing: one of [`note`], or a later version's.
    pub kind: String,
    /// One sentence without a full stop: what happened, why, what to do.
    pub text: String,
}

/// The kinds of a [`NoteInfo`].
pub mod note {
    /// Evidence that is there but could not be read.
    pub const MISSING: &str = "missing";
    /// The start or the end of some evidence was lost before it was taken.
    pub const CUT: &str = "cut";
    /// First light, or the end of the boot, did not come while it was waited for.
    pub const GAVE_UP: &str = "gave-up";
    /// Something that was asked for could not be done.
    pub const REFUSED: &str = "refused";
    /// What recording itself cost.
    pub const RECORDING: &str = "recording";
    /// An instant is known less exactly than others.
    pub const COARSE: &str = "coarse";
    /// A stage was computed from a model: nothing ran for it.
    pub const MODELED: &str = "modeled";
}

/// A clock of the target, with readings of it beside other clocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockInfo {
    /// `counter`, `monotonic`, `boottime`, `printk`, ...
    pub name: String,
    /// `wall`, `printk`, `monotonic`, `counter` or `virtual`.
    pub kind: String,
    /// Ticks per second of a counter; 1,000,000,000 for clocks in nanoseconds.
    pub hz: u64,
    /// This clock and another one, read together.
    #[serde(default)]
    pub readings: Vec<Reading>,
}

/// Two clocks read at the same instant, within an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// Ticks of the clock that holds this reading.
    pub ticks: u64,
    /// The name of the other clock.
    pub other: String,
    /// What the other clock read, in nanoseconds.
    pub other_ns: i64,
    /// How far apart the two readings may lie.
    pub error_ns: u64,
}

/// An instant, in nanoseconds on a clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MarkInfo {
    /// One of the record's mark names, or the taker's own.
    pub name: String,
    /// The clock's name.
    pub clock: String,
    /// When.
    pub at_ns: i64,
    /// The phase that begins here, if one does: `firmware`, `kernel`, ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begins: Option<String>,
}

/// A raw file of a capture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceFile {
    /// What it is, for the reader: `kernel log`.
    pub name: String,
    /// The format, by the name of the source that reads it; empty: to be found
    /// out; `none`: kept as evidence, read by no source.
    pub format: String,
    /// The member's path in the capture.
    pub file: String,
    /// The clock that its times are on, where the format does not say.
    #[serde(default)]
    pub clock: String,
}
