//! What the ledger says of traces.

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
    "nothing is made of events of these names; they are counted by name and change no number",
);

pub(super) const EVENTS_LOST: NoteKind = loss(
    "events_lost",
    "the kernel overwrote or dropped events that nobody had read yet; record fewer kinds of \
     events, or with a larger buffer (trace_buf_size= on the kernel command line, \
     trace-cmd record -b)",
);

pub(super) const BAD_EVENT: NoteKind = loss(
    "bad_event",
    "events that lack a field, or hold what cannot be, are left out; the trace may be damaged, \
     or of a kernel that this program does not know",
);

pub(super) const TORN_LINE: NoteKind = loss(
    "torn_line",
    "lines that are no event, or not a whole one, are left out; take the trace again",
);

pub(super) const GLUED_LINE: NoteKind = info(
    "glued_line",
    "line ends were lost: two events stand in one line, and both were read",
);

pub(super) const UNKNOWN_EVENT_ID: NoteKind = loss(
    "unknown_event_id",
    "events of a number whose format is not in the file cannot be read; give the file as \
     trace-cmd wrote it",
);

pub(super) const DAMAGED_TRACE: NoteKind = loss(
    "damaged_trace",
    "a part of the file is not as the format wants it, so what it holds is missing; give the \
     file as trace-cmd wrote it",
);

pub(super) const BROKEN_PAGE: NoteKind = loss(
    "broken_page",
    "a page of the ring buffer cannot be followed to its end; the events behind the break are \
     missing",
);

pub(super) const BAD_CHUNK: NoteKind = loss(
    "bad_chunk",
    "a compressed chunk cannot be unpacked, or is larger than trace-cmd makes them; its events \
     are missing",
);

pub(super) const TRUNCATED_TRACE: NoteKind = loss(
    "truncated_trace",
    "the file ends before the events that it announces; copy it again",
);

pub(super) const NO_SYMBOLS: NoteKind = doubt(
    "no_symbols",
    "functions are shown by address, because the file's kernel symbols are all zero \
     (kptr_restrict) or missing; record as root",
);

pub(super) const CLOCK_ASSUMED: NoteKind = info(
    "trace_clock_assumed",
    "the text of a trace does not say its clock, so it is taken for the usual one, `local`; a \
     trace.dat says it",
);

pub(super) const CLOCK_NOT_TIME: NoteKind = doubt(
    "trace_clock_not_time",
    "the trace's clock counts events or ticks of unknown speed, so its durations are not times; \
     record with another trace_clock, such as mono or boot",
);

pub(super) const RELATIVE_STAMPS: NoteKind = doubt(
    "relative_stamps",
    "latency-format stamps count from the trace's own start, so its place in the boot is not \
     known; record without that option, or give the trace.dat",
);

pub(super) const UNKNOWN_CLOCK: NoteKind = doubt(
    "unknown_trace_clock",
    "a trace clock of a name that this program does not know; its times are taken as nanoseconds \
     from an unknown zero",
);

pub(super) const SEVERAL_CLOCKS: NoteKind = doubt(
    "several_trace_clocks",
    "buffers of one file are stamped by different clocks; each is read on its own",
);

pub(super) const SAME_EVENTS_TWICE: NoteKind = doubt(
    "same_events_twice",
    "two buffers hold events of the same kind, so what happened once may be counted twice; \
     record each kind in one buffer",
);

pub(super) const HOST_CORRECTION: NoteKind = info(
    "host_correction_not_used",
    "the file holds corrections of a guest's times by its host's clock; the guest's own times \
     are kept",
);

pub(super) const TIME_DISORDER: NoteKind = doubt(
    "time_disorder",
    "stamps step backwards, so durations near there may be wrong; the clock `local` may differ \
     between processors: record with trace_clock=global",
);

pub(super) const TOO_MANY_NAMES: NoteKind = loss(
    "too_many_names",
    "more different names than a record keeps; the later ones are all called `(other)`",
);

pub(super) const TOO_MANY_TASKS: NoteKind = loss(
    "too_many_tasks",
    "more tasks at one time than are followed; the later ones are left out",
);

pub(super) const TOO_MANY_CALLS: NoteKind = loss(
    "too_many_calls",
    "more calls open at one time than are followed; the later ones are left out",
);

pub(super) const TOO_MANY_MESSAGES: NoteKind = loss(
    "too_many_messages",
    "more console lines than are kept of a trace; the first were kept",
);

pub(super) const LOST_CALL_ENDS: NoteKind = doubt(
    "lost_call_ends",
    "calls that were not seen to return count, but their time is missing",
);

pub(super) const LOST_CALL_STARTS: NoteKind = doubt(
    "lost_call_starts",
    "calls were seen to return but not to begin: they have the time that the trace states, and \
     may stand on the wrong stack",
);

pub(super) const LOST_INITCALL_START: NoteKind = doubt(
    "lost_initcall_start",
    "an initcall's start is not in the trace, so its duration is not known; begin recording \
     earlier (trace_event= on the kernel command line)",
);

pub(super) const LOST_INITCALL_END: NoteKind = doubt(
    "lost_initcall_end",
    "an initcall's end is not in the trace, so its duration is not known",
);
