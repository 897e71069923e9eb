//! The kinds of notes that several formats of systemd share.

use record::{NoteKind, Severity};

pub(super) const BLANK_LINE: NoteKind = NoteKind {
    name: "blank_line",
    severity: Severity::Info,
    advice: "Blank lines were skipped.",
};

pub(super) const BOOT_NOT_FINISHED: NoteKind = NoteKind {
    name: "boot_not_finished",
    severity: Severity::Doubt,
    advice: "systemd had not finished starting, so later units are missing. Capture after \
        `systemctl is-system-running --wait` returns.",
};

pub(super) const MALFORMED_JSON: NoteKind = NoteKind {
    name: "bad_json",
    severity: Severity::DataLoss,
    advice: "The JSON is truncated or malformed. Export it again.",
};
