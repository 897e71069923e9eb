//! The kinds of notes that blktrace files give.

use record::{NoteKind, Severity};

pub(super) const GARBAGE: NoteKind = NoteKind::new(
    "not_a_trace_record",
    Severity::DataLoss,
    "stretches of the file are no records of a trace and were passed over; the file is damaged: \
     copy it again, or trace again",
);
pub(super) const DAMAGED: NoteKind = NoteKind::new(
    "damaged_record",
    Severity::DataLoss,
    "records say that they are longer than the room up to the next one, so they are damaged, and \
     were not read",
);
pub(super) const TRUNCATED: NoteKind = NoteKind::new(
    "truncated",
    Severity::DataLoss,
    "the file ends within a record: it was cut, or blktrace was killed; let blktrace end by itself \
     (`-w SECONDS`) or by an interrupt",
);
pub(super) const UNKNOWN_VERSION: NoteKind = NoteKind::new(
    "unknown_trace_version",
    Severity::DataLoss,
    "records of a version of the format that is not known here (7 and 8 are) were not read",
);
pub(super) const OUT_OF_STEP: NoteKind = NoteKind::new(
    "time_out_of_step",
    Severity::DataLoss,
    "events whose time does not lie between those of their neighbours are damaged, and were not \
     read",
);
pub(super) const EVENTS_MISSING: NoteKind = NoteKind::new(
    "events_missing",
    Severity::DataLoss,
    "the numbers of a processor's events have gaps, so events were lost; trace with larger or more \
     buffers (`blktrace -b KIB -n COUNT`), and write to another disk than the one that is traced",
);
pub(super) const NUMBERS_RESTART: NoteKind = NoteKind::new(
    "numbering_restarts",
    Severity::Doubt,
    "the numbers of a processor's events begin again: several traces in one file, or damage",
);
pub(super) const STEPS_BACK: NoteKind = NoteKind::new(
    "time_steps_back",
    Severity::Doubt,
    "the times of a processor step back, which its clock never does: several traces in one file, \
     or damage",
);
pub(super) const FILES_MISSING: NoteKind = NoteKind::new(
    "processor_files_missing",
    Severity::DataLoss,
    "blktrace writes one file for each processor, and some are not here; give all of them \
     (`NAME.blktrace.*`), or requests seem to begin or end from nothing",
);
pub(super) const TIMES_FROM_ZERO: NoteKind = NoteKind::new(
    "times_from_first_event",
    Severity::Info,
    "`blkparse -d` moved the first event to time zero, so the trace says nothing of when in the \
     boot it was; give the files that blktrace wrote instead",
);
pub(super) const MESSAGES_DROPPED: NoteKind = NoteKind::new(
    "trace_messages_dropped",
    Severity::Info,
    "messages past the first 10,000 (mostly of I/O schedulers) were not kept",
);
pub(super) const TOO_MANY_NAMES: NoteKind = NoteKind::new(
    "too_many_process_names",
    Severity::DataLoss,
    "the trace names more processes than a machine has, so it is damaged; later names were not kept",
);
pub(super) const UNKNOWN_NOTICE: NoteKind = NoteKind::new(
    "unknown_notice",
    Severity::Info,
    "notices that are neither a process name, a time of day nor a message were not read",
);
