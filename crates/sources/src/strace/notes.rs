//! The kinds of notes on logs of strace.

use record::{NoteKind, Severity};

pub(super) const REPORT: NoteKind = NoteKind::new(
    "strace_report",
    Severity::Info,
    "Signals, blank lines and strace's own messages were skipped. They contain no calls.",
);

pub(super) const OTHER_LINE: NoteKind = NoteKind::new(
    "line_not_of_strace",
    Severity::Info,
    "These lines are not strace output. The traced programs wrote them. Use `strace -o FILE`.",
);

pub(super) const STACK_FRAME: NoteKind = NoteKind::new(
    "stack_frame",
    Severity::Info,
    "Stack traces of calls (`strace -k`) were skipped.",
);

pub(super) const NO_STAMPS: NoteKind = NoteKind::new(
    "no_stamps",
    Severity::DataLoss,
    "The lines have no timestamps, so only the table of calls is shown. Use `strace -f -ttt -T`.",
);

pub(super) const NO_DURATIONS: NoteKind = NoteKind::new(
    "no_durations",
    Severity::DataLoss,
    "The lines do not give the duration of calls, so the table shows counts only. Use `strace -T`.",
);

pub(super) const TIME_OF_DAY: NoteKind = NoteKind::new(
    "time_of_day_only",
    Severity::Info,
    "The timestamps have no date, so they cannot be aligned with other logs. Use `strace -ttt`.",
);

pub(super) const RELATIVE: NoteKind = NoteKind::new(
    "relative_stamps",
    Severity::Doubt,
    "Each timestamp counts from the previous line, so rounding errors add up. Use `strace -ttt`.",
);

pub(super) const NOT_RESUMED: NoteKind = NoteKind::new(
    "call_without_end",
    Severity::Info,
    "These calls did not return before the process or the log ended. They are counted without a \
     duration.",
);

pub(super) const RESUMED_ONLY: NoteKind = NoteKind::new(
    "call_without_begin",
    Severity::DataLoss,
    "The log does not show when these calls began. Its start is missing, or lines were lost.",
);
