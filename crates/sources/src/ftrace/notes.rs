//! What the ledger says of traces. The notes are a table: they share their form, and
//! each has its own name and advice.

use record::{NoteKind, Severity};

const fn info(name: &'static str, advice: &'static str) -> NoteKind {
    NoteKind::new(name, Severity::Info, advice)
}

const fn doubt(name: &'static str, advice: &'static str) -> NoteKind {
    NoteKind::new(name, Severity::Doubt, advice)
}

const fn loss(name: &'static str, advice: &'static str) -> NoteKind {
    NoteKind::new(name, Severity::DataLoss, advice)
}

pub(super) const EVENTS_NOT_USED: NoteKind = info(
    "events_not_used",
    "Events with these names are counted but not analyzed. They do not affect the results.",
);

pub(super) const EVENTS_LOST: NoteKind = loss(
    "events_lost",
    "The kernel overwrote or dropped events before they were read. Record fewer kinds of events, \
     or use a larger buffer (`trace_buf_size=` on the kernel command line, `trace-cmd record -b`).",
);

pub(super) const BAD_EVENT: NoteKind = loss(
    "bad_event",
    "Events with missing or impossible fields were skipped. The trace is damaged, or comes from a \
     kernel that firstlight does not support.",
);

pub(super) const TORN_LINE: NoteKind = loss(
    "torn_line",
    "Truncated lines and lines that are not events were skipped. Record the trace again.",
);

pub(super) const GLUED_LINE: NoteKind = info(
    "glued_line",
    "Line breaks are missing, so two events share a line. Both were read.",
);

pub(super) const UNKNOWN_EVENT_ID: NoteKind = loss(
    "unknown_event_id",
    "The file does not describe the format of these events, so they were skipped. Use the file \
     exactly as trace-cmd wrote it.",
);

pub(super) const DAMAGED_TRACE: NoteKind = loss(
    "damaged_trace",
    "A section of the file is malformed, and its contents are missing. Use the file exactly as \
     trace-cmd wrote it.",
);

pub(super) const BROKEN_PAGE: NoteKind = loss(
    "broken_page",
    "A page of the ring buffer is damaged. The events after the damage are missing.",
);

pub(super) const BAD_CHUNK: NoteKind = loss(
    "bad_chunk",
    "A compressed chunk cannot be decompressed or is larger than trace-cmd allows. Its events are \
     missing.",
);

pub(super) const TRUNCATED_TRACE: NoteKind = loss(
    "truncated_trace",
    "The file ends before the events that its header announces. Copy it again.",
);

pub(super) const NO_SYMBOLS: NoteKind = doubt(
    "no_symbols",
    "Functions are shown by address because the kernel symbols in the file are missing or all \
     zero (`kptr_restrict`). Record as root.",
);

pub(super) const CLOCK_ASSUMED: NoteKind = info(
    "trace_clock_assumed",
    "A text trace does not name its clock. The default, `local`, is assumed. A trace.dat names it.",
);

pub(super) const CLOCK_NOT_TIME: NoteKind = doubt(
    "trace_clock_not_time",
    "The trace clock counts events or ticks of unknown frequency, so its durations are not times. \
     Record with another `trace_clock`, such as `mono` or `boot`.",
);

pub(super) const RELATIVE_STAMPS: NoteKind = doubt(
    "relative_stamps",
    "Timestamps in the latency format count from the start of the trace, so its position in the \
     boot is unknown. Record without this format or use the trace.dat.",
);

pub(super) const UNKNOWN_CLOCK: NoteKind = doubt(
    "unknown_trace_clock",
    "The trace clock is unknown. Its timestamps are read as nanoseconds from an unknown zero.",
);

pub(super) const SEVERAL_CLOCKS: NoteKind = doubt(
    "several_trace_clocks",
    "The buffers of this file use different clocks. Each is read separately.",
);

pub(super) const SAME_EVENTS_TWICE: NoteKind = doubt(
    "same_events_twice",
    "Two buffers contain the same kinds of events, so some may be counted twice. Record each kind \
     in one buffer.",
);

pub(super) const HOST_CORRECTION: NoteKind = info(
    "host_correction_not_used",
    "The file contains corrections that map guest time to host time. They were ignored, and guest \
     times are shown.",
);

pub(super) const TIME_DISORDER: NoteKind = doubt(
    "time_disorder",
    "Timestamps go backward, so nearby durations may be wrong. The `local` clock may differ \
     between CPUs. Record with `trace_clock=global`.",
);

pub(super) const TOO_MANY_NAMES: NoteKind = loss(
    "too_many_names",
    "The trace has more distinct names than a record can hold. The excess names are shown as \
     `(other)`.",
);

pub(super) const TOO_MANY_TASKS: NoteKind = loss(
    "too_many_tasks",
    "More tasks ran at once than can be tracked. The excess tasks were skipped.",
);

pub(super) const TOO_MANY_CALLS: NoteKind = loss(
    "too_many_calls",
    "More calls were open at once than can be tracked. The excess calls were skipped.",
);

pub(super) const TOO_MANY_MESSAGES: NoteKind = loss(
    "too_many_messages",
    "The trace has more console lines than can be kept. Only the first lines were kept.",
);

pub(super) const LOST_CALL_ENDS: NoteKind = doubt(
    "lost_call_ends",
    "The trace does not show when these calls returned. They are counted, but their time is \
     missing.",
);

pub(super) const LOST_CALL_STARTS: NoteKind = doubt(
    "lost_call_starts",
    "The trace does not show when these calls began. Their durations come from the trace, and \
     they may appear on the wrong stack.",
);

pub(super) const LOST_INITCALL_START: NoteKind = doubt(
    "lost_initcall_start",
    "The trace does not show when an initcall started, so its duration is unknown. Start \
     recording earlier (`trace_event=` on the kernel command line).",
);

pub(super) const LOST_INITCALL_END: NoteKind = doubt(
    "lost_initcall_end",
    "The trace does not show when an initcall ended, so its duration is unknown.",
);
