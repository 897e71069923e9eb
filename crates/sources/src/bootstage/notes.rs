//! What is noted of a loader's own times.

use record::{NoteKind, Severity};

pub(crate) const COUNTER: NoteKind = NoteKind::new(
    "counter_from_reset",
    Severity::Info,
    "The firmware or loader counter was already running at its first mark. Its zero is assumed to \
     be power-on, and the kernel is assumed to read the same counter. This holds for the ARM \
     generic timer, the TSC and the RISC-V time counter, but a warm reset may not clear it.",
);

pub(super) const OTHER_REPORT: NoteKind = NoteKind::new(
    "report_of_another_boot",
    Severity::DataLoss,
    "A later report lacks marks of the first one, so it comes from another boot and was ignored. \
     Trim the log to the boot you want.",
);

pub(super) const TABLE_FULL: NoteKind = NoteKind::new(
    "bootstage_records_lost",
    Severity::DataLoss,
    "U-Boot had no room for these records. Raise CONFIG_BOOTSTAGE_RECORD_COUNT (in SPL and TPL: \
     CONFIG_SPL_BOOTSTAGE_RECORD_COUNT).",
);

pub(super) const FEWER_ROWS: NoteKind = NoteKind::new(
    "bootstage_rows_missing",
    Severity::DataLoss,
    "The report has fewer rows than its first line announces. The log lost some, or U-Boot did \
     not print them because they have no ID.",
);

pub(super) const ELAPSED_DIFFERS: NoteKind = NoteKind::new(
    "elapsed_differs",
    Severity::Doubt,
    "The elapsed time in a row differs from the difference of its two marks, so one of the \
     numbers is damaged. The marks are shown.",
);

pub(super) const BLANK_LINE: NoteKind =
    NoteKind::new("blank_line", Severity::Info, "Blank lines were skipped.");

pub(super) const OTHER_LINE: NoteKind = NoteKind::new(
    "outside_report",
    Severity::Info,
    "These lines are not rows of the report and contain no times. If they are a console log, \
     capture it with timestamps.",
);

pub(super) const NOT_WHOLE: NoteKind = NoteKind::new(
    "bootstage_truncated",
    Severity::DataLoss,
    "The data is truncated or damaged. Only the part before the damage was read. Export it again.",
);

pub(super) const EMPTY_RECORD: NoteKind = NoteKind::new(
    "empty_record",
    Severity::Info,
    "These records contain no time.",
);

pub(super) const NO_VALUE: NoteKind = NoteKind::new(
    "unrecognized_bootstage_node",
    Severity::DataLoss,
    "These nodes lack a name, or lack a 32-bit mark or accumulated time.",
);
