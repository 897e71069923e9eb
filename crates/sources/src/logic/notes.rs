//! What is noted of an analyzer's file.

use record::{NoteKind, Severity};

pub(super) const HEADER: NoteKind = NoteKind::new(
    "header",
    Severity::Info,
    "Headers, declarations, comments and blank lines were skipped.",
);

pub(super) const OTHER_LINE: NoteKind = NoteKind::new(
    "unrecognized_line",
    Severity::Doubt,
    "These lines are not in the analyzer's format.",
);

pub(super) const ANALOG: NoteKind = NoteKind::new(
    "analog_value",
    Severity::Info,
    "Analog channels were skipped: they have no edges. Export digital channels.",
);

pub(super) const BUSY: NoteKind = NoteKind::new(
    "busy_channel",
    Severity::Info,
    "These channels changed very often. Their first 64 edges and their last one are marks; the \
     others are counted here.",
);

pub(super) const MANY_CHANNELS: NoteKind = NoteKind::new(
    "channels_left_out",
    Severity::DataLoss,
    "The file has more than 1,024 channels. The rest was left out: export fewer channels.",
);

pub(super) const BACKWARD: NoteKind = NoteKind::new(
    "time_went_back",
    Severity::Doubt,
    "The time went back. Edges after this place may belong to another recording.",
);

pub(super) const NO_RATE: NoteKind = NoteKind::new(
    "no_time",
    Severity::DataLoss,
    "The file states neither times nor a sample rate, so its edges have no time. Export it with \
     times.",
);

pub(super) const NO_SCALE: NoteKind = NoteKind::new(
    "no_time_scale",
    Severity::Doubt,
    "The file states no time scale. Its times were read as nanoseconds.",
);

pub(super) const NO_POWER: NoteKind = NoteKind::new(
    "no_power_edge",
    Severity::Info,
    "No channel named as a supply or a reset rises, so power-on is unknown. Name a channel `VCC` \
     or `nRESET`.",
);
