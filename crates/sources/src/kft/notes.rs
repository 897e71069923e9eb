//! What the ledger says of KFT's logs.

use record::{NoteKind, Severity};

pub(super) const BAD_ROW: NoteKind = NoteKind {
    name: "bad_row",
    severity: Severity::DataLoss,
    advice: "rows that do not have the columns of their table are left out; take the log again",
};

pub(super) const ROWS_ELIDED: NoteKind = NoteKind {
    name: "rows_elided",
    severity: Severity::DataLoss,
    advice: "the log is an excerpt: dots stand where rows were taken out, so sums are too small \
             and calls may have lost their callers; give the whole log",
};

pub(super) const FEWER_ROWS: NoteKind = NoteKind {
    name: "fewer_rows",
    severity: Severity::DataLoss,
    advice: "the log's header announces more rows than there are, so sums are too small; give the \
             whole log",
};

pub(super) const FILTERED: NoteKind = NoteKind {
    name: "calls_filtered",
    severity: Severity::Info,
    advice: "the trace kept only the calls that its filters let through; the time of the others \
             counts as their callers' own",
};

pub(super) const OPEN_CALLS: NoteKind = NoteKind {
    name: "lost_call_ends",
    severity: Severity::Doubt,
    advice: "calls that were not seen to return count, but their time is missing",
};

pub(super) const LOG_FULL: NoteKind = NoteKind {
    name: "trace_log_full",
    severity: Severity::DataLoss,
    advice: "the trace stopped because its log was full, so the end is missing; record with more \
             log entries, or a longer minimum time",
};

pub(super) const DEPTH: NoteKind = NoteKind {
    name: "bad_depth",
    severity: Severity::Doubt,
    advice: "a row stands deeper than one level below the row before, so its callers are not all \
             there; it counts as called by the last one that is",
};
