//! The kinds of notes on the SVG of systemd-bootchart.

use record::{NoteKind, Severity};

pub(super) const NOT_WELL_FORMED: NoteKind = NoteKind::new(
    "not_well_formed",
    Severity::DataLoss,
    "The SVG is truncated or damaged and could not be read. Copy it again.",
);

pub(super) const DECORATION: NoteKind = NoteKind::new(
    "decoration",
    Severity::Info,
    "Frames, scales, top lists and the memory map contain no times or repeat what is drawn \
     elsewhere.",
);

pub(super) const NOT_DRAWN: NoteKind = NoteKind::new(
    "process_not_drawn",
    Severity::Info,
    "systemd-bootchart omits processes that used less than 1 ms of CPU time. Set `Filter=no` in \
     bootchart.conf to keep them.",
);

pub(super) const NOT_UNDERSTOOD: NoteKind = NoteKind::new(
    "element_not_understood",
    Severity::Doubt,
    "These elements are not in systemd-bootchart's format, so their contents are missing.",
);

pub(super) const SAMPLES_DROPPED: NoteKind = NoteKind::new(
    "samples_dropped",
    Severity::DataLoss,
    "The machine was too busy to take every sample on time. Lower `Frequency=` in bootchart.conf.",
);

pub(super) const INITCALL_TIME: NoteKind = NoteKind::new(
    "initcall_start_unknown",
    Severity::Info,
    "The SVG shows when initcalls ended and the durations reported by the kernel, which are wrong \
     where calls overlap. Pass the kernel log as well.",
);
