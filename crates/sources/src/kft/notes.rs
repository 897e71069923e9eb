//! What the ledger says of KFT's logs.

use record::{NoteKind, Severity};

pub(super) const BAD_ROW: NoteKind = NoteKind {
    name: "bad_row",
    severity: Severity::DataLoss,
    advice: "Rows that do not match the columns of their table were skipped. Record the log again.",
};

pub(super) const ROWS_ELIDED: NoteKind = NoteKind {
    name: "rows_elided",
    severity: Severity::DataLoss,
    advice: "The log is an excerpt with rows replaced by dots. Totals are too small, and calls \
        may have lost their callers. Use the complete log.",
};

pub(super) const FEWER_ROWS: NoteKind = NoteKind {
    name: "fewer_rows",
    severity: Severity::DataLoss,
    advice: "The log has fewer rows than its header announces, so totals are too small. Use the \
        complete log.",
};

pub(super) const FILTERED: NoteKind = NoteKind {
    name: "calls_filtered",
    severity: Severity::Info,
    advice: "The trace filters removed some calls. Their time counts as self time of their \
        callers.",
};

pub(super) const OPEN_CALLS: NoteKind = NoteKind {
    name: "lost_call_ends",
    severity: Severity::Doubt,
    advice: "The trace does not show when these calls returned. They are counted, but their time \
        is missing.",
};

pub(super) const LOG_FULL: NoteKind = NoteKind {
    name: "trace_log_full",
    severity: Severity::DataLoss,
    advice: "The trace stopped because its log was full, so the end is missing. Record with more \
        log entries or a longer minimum time.",
};

pub(super) const DEPTH: NoteKind = NoteKind {
    name: "bad_depth",
    severity: Severity::Doubt,
    advice: "A row is more than one level deeper than the previous row, so some of its callers \
        are missing. It is attributed to the last caller that is present.",
};
