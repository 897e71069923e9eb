//! What is noted of a bootchart.

use record::{NoteKind, Severity};

pub(super) const ARCHIVE_DAMAGED: NoteKind = NoteKind::new(
    "archive_damaged",
    Severity::DataLoss,
    "The archive is truncated or damaged. Only the part that could be unpacked was read. Copy it \
     again.",
);

pub(super) const ARCHIVE_TOO_LARGE: NoteKind = NoteKind::new(
    "archive_too_large",
    Severity::DataLoss,
    "The archive is larger than any boot would leave. Only the first 512 MiB were read.",
);

pub(super) const MEMBER_NOT_READ: NoteKind = NoteKind::new(
    "member_not_read",
    Severity::Info,
    "The archive contains empty files or files that do not belong to a bootchart. They were \
     skipped.",
);

pub(super) const EMPTY_SAMPLE: NoteKind = NoteKind::new(
    "empty_sample",
    Severity::Info,
    "These samples contain only a timestamp because the file could not be read at that moment.",
);

pub(super) const QUIET_SAMPLE: NoteKind = NoteKind::new(
    "quiet_sample",
    Severity::Info,
    "No process used any resources between these samples and the previous ones.",
);

pub(super) const SAMPLE_NOT_UNDERSTOOD: NoteKind = NoteKind::new(
    "unrecognized_sample",
    Severity::DataLoss,
    "These samples contain nothing in the format of the kernel's file, so the log is damaged.",
);

pub(super) const OUTSIDE_SAMPLES: NoteKind = NoteKind::new(
    "line_outside_samples",
    Severity::Doubt,
    "These lines do not belong to a sample. The log is damaged, or another program wrote to it.",
);

pub(super) const CUT_OFF: NoteKind = NoteKind::new(
    "truncated",
    Severity::DataLoss,
    "The log ends inside a line, which was skipped. The collector was stopped before it had \
     written everything, or the file was truncated.",
);

pub(super) const UNREADABLE_LINE: NoteKind = NoteKind::new(
    "unreadable_line",
    Severity::DataLoss,
    "These lines of a sample are malformed. The collector's buffer may have overflowed.",
);

pub(super) const STAMP_NOT_LATER: NoteKind = NoteKind::new(
    "timestamp_not_increasing",
    Severity::Doubt,
    "These samples are not later than the previous one, so no rates were computed from them.",
);

pub(super) const COUNTER_BACK: NoteKind = NoteKind::new(
    "counter_went_back",
    Severity::Info,
    "Kernel counters decreased and are treated as unchanged. The idle and iowait counters do so \
     occasionally.",
);

pub(super) const RELATIVE_STAMPS: NoteKind = NoteKind::new(
    "relative_stamps",
    Severity::Doubt,
    "Timestamps count from when the collector was started by hand, not from the start of the \
     boot. This log cannot be aligned with other logs.",
);

pub(super) const BIRTHS_MOVED: NoteKind = NoteKind::new(
    "process_starts_moved",
    Severity::Doubt,
    "The kernel counts process start times from a different zero than the samples. Start times \
     were shifted so that each process starts before its first sample.",
);

pub(super) const NO_PIDS: NoteKind = NoteKind::new(
    "accounting_without_pids",
    Severity::DataLoss,
    "This version of process accounting does not record process IDs. Enable \
     CONFIG_BSD_PROCESS_ACCT_V3.",
);

pub(super) const BAD_ACCOUNTING: NoteKind = NoteKind::new(
    "unrecognized_accounting",
    Severity::DataLoss,
    "These process accounting records are truncated or have an unsupported version.",
);

pub(super) const ACCOUNTING_NOT_PLACED: NoteKind = NoteKind::new(
    "accounting_not_placed",
    Severity::DataLoss,
    "These processes lived between two samples while the time of day was changed. Their times are \
     unknown, so they are only counted.",
);

pub(super) const ONLY_ACCOUNTED: NoteKind = NoteKind::new(
    "accounting_only",
    Severity::Info,
    "These processes lived between two samples. Only process accounting saw them, so their start \
     times are known to the second.",
);

pub(super) const BAD_PAIR: NoteKind = NoteKind::new(
    "unrecognized_line",
    Severity::Doubt,
    "These lines are not in the collector's format.",
);
