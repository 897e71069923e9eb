//! What is noted of a loader's own times.

use record::{NoteKind, Severity};

pub(crate) const COUNTER: NoteKind = NoteKind::new(
    "counter_from_reset",
    Severity::Info,
    "the firmware's or loader's counter ran before its first mark, so its zero is taken as \
     power-on, and it is taken as the counter that the kernel reads too; both hold for the ARM \
     generic timer, the TSC and RISC-V's time, but a warm reset may not set it to zero",
);

pub(super) const OTHER_REPORT: NoteKind = NoteKind::new(
    "report_of_another_boot",
    Severity::DataLoss,
    "a later report lacks marks of the first one, so it is of another boot, and was not read; cut \
     the log to the boot that you mean",
);

pub(super) const TABLE_FULL: NoteKind = NoteKind::new(
    "bootstage_records_lost",
    Severity::DataLoss,
    "U-Boot had no room for these records; raise CONFIG_BOOTSTAGE_RECORD_COUNT (in SPL and TPL: \
     CONFIG_SPL_BOOTSTAGE_RECORD_COUNT)",
);

pub(super) const FEWER_ROWS: NoteKind = NoteKind::new(
    "bootstage_rows_missing",
    Severity::DataLoss,
    "the report has fewer rows than its first line says: the log lost some, or U-Boot does not \
     print them (records without an id)",
);

pub(super) const ELAPSED_DIFFERS: NoteKind = NoteKind::new(
    "elapsed_differs",
    Severity::Doubt,
    "the time since the row before differs from the difference of the two marks, so one of the \
     numbers is damaged; the marks are what is shown",
);

pub(super) const BLANK_LINE: NoteKind =
    NoteKind::new("blank_line", Severity::Info, "blank lines hold nothing");

pub(super) const OTHER_LINE: NoteKind = NoteKind::new(
    "not_of_the_report",
    Severity::Info,
    "these lines stand between or around the rows of the report and hold no times; if they are a \
     console's log, give it with time stamps",
);

pub(super) const NOT_WHOLE: NoteKind = NoteKind::new(
    "bootstage_not_whole",
    Severity::DataLoss,
    "the data end early or are damaged, and what stands before that was read; read them out again",
);

pub(super) const EMPTY_RECORD: NoteKind =
    NoteKind::new("empty_record", Severity::Info, "these records hold no time");

pub(super) const NO_VALUE: NoteKind = NoteKind::new(
    "bootstage_node_not_understood",
    Severity::DataLoss,
    "these nodes lack a name, or a mark or accumulated time of 32 bits",
);
