//! The manifest of a capture: clocks, marks and facts that no file of it holds.

use agent::capture::{ClockInfo, Manifest, MarkInfo, SourceFile, VERSION, note};
use record::{ClockId, ClockKind, Device, NoteKind, Origin, Phase, Recorder, Severity, SourceId};

/// The format that a manifest counts as among a record's sources.
pub const FORMAT: &str = "capture";

/// Why a manifest cannot be used. The sentences begin behind the file's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// It is no JSON.
    #[error("malformed JSON at byte {at}: {found}; capture again")]
    NotJson {
        /// Where reading stopped.
        at: usize,
        /// What was found there.
        found: String,
    },
    /// It is JSON, but not a manifest.
    #[error(
        "the key \"firstlight_capture\" (the format version) is missing, so this is not a capture \
         manifest; pass a capture"
    )]
    NotACapture,
    /// A later version of this program wrote it.
    #[error(
        "the capture format version is {found}, but this program supports versions up to {VERSION}; \
         upgrade firstlight"
    )]
    TooNew {
        /// The manifest's version.
        found: u64,
    },
    /// A value is missing or of another type.
    #[error("invalid value at byte {at}: {found}; capture again")]
    Damaged {
        /// Where reading stopped.
        at: usize,
        /// What was found there.
        found: String,
    },
}

/// Reads `manifest.json`.
///
/// # Errors
///
/// If it is no manifest, or one of a later version.
pub fn manifest(bytes: &[u8]) -> Result<Manifest, ManifestError> {
    // The version is read alone: of a later one, the rest may look different.
    let any: serde_json::Value =
        serde_json::from_slice(bytes).map_err(|e| ManifestError::NotJson {
            at: place(bytes, &e),
            found: words(&e),
        })?;
    let version = any.get("firstlight_capture");
    match version.and_then(serde_json::Value::as_u64) {
        None => Err(ManifestError::NotACapture),
        Some(found) if found > u64::from(VERSION) => Err(ManifestError::TooNew { found }),
        Some(_) => serde_json::from_slice(bytes).map_err(|e| ManifestError::Damaged {
            at: place(bytes, &e),
            found: words(&e),
        }),
    }
}

/// The byte at which an error was found; serde gives lines and columns from
/// one, and column zero of a line for its very start.
fn place(bytes: &[u8], error: &serde_json::Error) -> usize {
    let lines = bytes.split_inclusive(|&b| b == b'\n');
    let before: usize = lines
        .take(error.line().saturating_sub(1))
        .map(<[u8]>::len)
        .sum();
    before.saturating_add(error.column().saturating_sub(1))
}

/// What serde says, without the place, which is given as a byte instead.
fn words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}

const UNKNOWN_CLOCK: NoteKind = NoteKind {
    name: "unknown_clock",
    severity: Severity::DataLoss,
    advice: "The manifest refers to a clock that it does not describe, or whose kind or rate is \
        not supported. What refers to this clock was skipped. Capture again with a matching agent.",
};

const OUT_OF_RANGE: NoteKind = NoteKind {
    name: "reading_out_of_range",
    severity: Severity::DataLoss,
    advice: "A clock reading lies more than 292 years from zero, so it is invalid and was skipped.",
};

const UNKNOWN_PHASE: NoteKind = NoteKind {
    name: "unknown_phase",
    severity: Severity::Doubt,
    advice: "A mark starts a phase that this version does not support, so the phase was ignored. \
        Upgrade firstlight.",
};

/// What the taker had to say about the capture, by the kinds of
/// [`agent::capture::note`].
const TAKERS_NOTES: [(&str, NoteKind); 8] = [
    (
        note::MISSING,
        NoteKind {
            name: "not_captured",
            severity: Severity::DataLoss,
            advice: "Nothing is based on this, because it could not be read during the capture.",
        },
    ),
    (
        note::CUT,
        NoteKind {
            name: "captured_partially",
            severity: Severity::DataLoss,
            advice: "The rest of this file was gone before it could be captured.",
        },
    ),
    (
        note::GAVE_UP,
        NoteKind {
            name: "gave_up_waiting",
            severity: Severity::Doubt,
            advice: "The capture was taken before the boot reached its expected end.",
        },
    ),
    (
        note::REFUSED,
        NoteKind {
            name: "not_recorded",
            severity: Severity::Doubt,
            advice: "The target could not do what was requested. It booted normally.",
        },
    ),
    (
        note::RECORDING,
        NoteKind {
            name: "recording_cost",
            severity: Severity::Info,
            advice: "Recording takes time that a normal boot does not spend. A treatment that \
                changes how much is recorded appears better or worse by that amount.",
        },
    ),
    (
        note::COARSE,
        NoteKind {
            name: "seen_late",
            severity: Severity::Info,
            advice: "The mark may be late by up to this much.",
        },
    ),
    (
        note::MODELED,
        NoteKind {
            name: "modeled_stage",
            severity: Severity::Info,
            advice: "This stage was computed from the storage profile and added before the kernel. \
                It is not measured.",
        },
    ),
    (
        BOARD,
        NoteKind {
            name: "boot_of_board",
            severity: Severity::Info,
            advice: "This boot was timed from outside the board. How late its first light may be is \
                in every result of the run.",
        },
    ),
];

/// The kind of what `firstlight lab run` and `capture board` note on a boot of a board: no agent
/// writes it.
const BOARD: &str = "board";

const OTHER_NOTE: NoteKind = NoteKind {
    name: "capture_note",
    severity: Severity::Doubt,
    advice: "A newer agent wrote this note. Upgrade firstlight to interpret it.",
};

const UNREAD_FORMAT: NoteKind = NoteKind {
    name: "unread_format",
    severity: Severity::DataLoss,
    advice: "This version cannot read the format of a file in the capture. Upgrade firstlight.",
};

/// Notes that a file of the capture is in a format that nobody here reads.
/// `source` is the manifest.
pub fn unread(file: &SourceFile, source: SourceId, recorder: &mut Recorder) {
    let origin = Origin { source, offset: 0 };
    recorder.note(origin, &UNREAD_FORMAT, || {
        format!("{} has the format `{}`", file.file, file.format)
    });
}

/// Records what a manifest says: clocks and how they relate, marks, facts.
///
/// `source` is the manifest itself, which the caller announced under its name
/// and as of format [`FORMAT`]. Its units are the clocks, their readings and the marks. Facts
/// (`machine`, `kernel.version`, `kernel.cmdline`) are no units. The evidence
/// of all is the manifest's first byte.
pub fn apply(manifest: &Manifest, source: SourceId, recorder: &mut Recorder) {
    let origin = Origin { source, offset: 0 };
    for (key, value) in [
        ("machine", &manifest.machine),
        ("kernel.version", &manifest.kernel),
        ("kernel.cmdline", &manifest.cmdline),
    ] {
        if !value.is_empty() {
            recorder.fact(key, value, origin);
        }
    }
    if !manifest.recording.is_empty() {
        recorder.fact("recording.words", &manifest.recording.join(" "), origin);
    }
    for &(major, minor) in &manifest.own_devices {
        recorder.pass_over(Device { major, minor });
    }
    // All clocks first: a reading may name one that is described later.
    let mut clocks: Vec<(&str, ClockId)> = Vec::new();
    for info in &manifest.clocks {
        match clock(info, recorder) {
            Some(id) => {
                clocks.push((&info.name, id));
                recorder.took(source);
            }
            None => recorder.skipped(origin, &UNKNOWN_CLOCK),
        }
    }
    let find = |name: &str| clocks.iter().find(|c| c.0 == name).map(|c| c.1);
    for info in &manifest.clocks {
        for reading in &info.readings {
            let (Some(clock), Some(other)) = (find(&info.name), find(&reading.other)) else {
                recorder.skipped(origin, &UNKNOWN_CLOCK);
                continue;
            };
            let Some(ns) = nanoseconds(reading.ticks, info.hz) else {
                recorder.skipped(origin, &OUT_OF_RANGE);
                continue;
            };
            let other = (other, reading.other_ns);
            recorder.relate((clock, ns), other, reading.error_ns, Some(origin));
            recorder.took(source);
        }
    }
    for info in &manifest.marks {
        match find(&info.clock) {
            Some(clock) => {
                mark(info, clock, origin, recorder);
                recorder.took(source);
            }
            None => recorder.skipped(origin, &UNKNOWN_CLOCK),
        }
    }
    notes(manifest, origin, recorder);
}

/// Puts the taker's notes into the ledger: those of a kind together, with all
/// their sentences.
fn notes(manifest: &Manifest, origin: Origin, recorder: &mut Recorder) {
    let mut left = manifest.notes.as_slice();
    let mut done: Vec<&str> = Vec::new();
    while let Some((first, rest)) = left.split_first() {
        left = rest;
        if done.contains(&first.kind.as_str()) {
            continue;
        }
        done.push(&first.kind);
        let same = || manifest.notes.iter().filter(|n| n.kind == first.kind);
        let known = TAKERS_NOTES.iter().find(|k| k.0 == first.kind);
        let kind = known.map_or(&OTHER_NOTE, |k| &k.1);
        let texts = same().map(|n| n.text.as_str()).collect::<Vec<_>>();
        recorder.note_many(origin, kind, texts.len() as u64, || {
            texts
                .iter()
                .map(|t| t.trim_end_matches('.'))
                .collect::<Vec<_>>()
                .join(". ")
        });
    }
}

fn clock(info: &ClockInfo, recorder: &mut Recorder) -> Option<ClockId> {
    let kind = match info.kind.as_str() {
        "virtual" => ClockKind::Virtual,
        "counter" => ClockKind::Counter,
        "wall" => ClockKind::Wall,
        "printk" => ClockKind::Printk,
        "monotonic" => ClockKind::Monotonic,
        _ => return None,
    };
    // A tick is the step; ticks shorter than a nanosecond are one.
    let step = 1_000_000_000_u64.checked_div(info.hz)?.max(1);
    recorder.set_rate(&info.name, info.hz);
    Some(recorder.clock(&info.name, kind, step))
}

fn mark(info: &MarkInfo, clock: ClockId, origin: Origin, recorder: &mut Recorder) {
    let phases = [
        Phase::Firmware,
        Phase::Loader,
        Phase::Decompression,
        Phase::Kernel,
        Phase::Initrd,
        Phase::Userspace,
        Phase::App,
    ];
    let begins = info.begins.as_deref();
    let phase = phases.into_iter().find(|p| Some(p.as_str()) == begins);
    if begins.is_some() && phase.is_none() {
        recorder.note(origin, &UNKNOWN_PHASE, || info.name.clone());
    }
    recorder.mark(clock, &info.name, info.at_ns, phase, origin);
}

/// Ticks of a clock as nanoseconds; a counter at 3 GHz overflows 64 bits on the
/// way after six seconds.
fn nanoseconds(ticks: u64, hz: u64) -> Option<i64> {
    let ns = i128::from(ticks).checked_mul(1_000_000_000)?;
    i64::try_from(ns.checked_div(i128::from(hz))?).ok()
}
