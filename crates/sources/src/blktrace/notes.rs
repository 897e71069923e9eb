//! The kinds of notes that blktrace files give.

use record::{NoteKind, Severity};

pub(super) const GARBAGE: NoteKind = NoteKind::new(
    "not_a_trace_record",
    Severity::DataLoss,
    "Parts of the file are not trace records and were skipped. The file is damaged. Copy it again \
     or trace again.",
);
pub(super) const DAMAGED: NoteKind = NoteKind::new(
    "damaged_record",
    Severity::DataLoss,
    "These records claim to be longer than the space before the next record. They are damaged and \
     were skipped.",
);
pub(super) const TRUNCATED: NoteKind = NoteKind::new(
    "truncated",
    Severity::DataLoss,
    "The file ends inside a record: it was truncated, or blktrace was killed. Let blktrace finish \
     (`-w SECONDS`) or interrupt it with Ctrl-C.",
);
pub(super) const UNKNOWN_VERSION: NoteKind = NoteKind::new(
    "unknown_trace_version",
    Severity::DataLoss,
    "These records have an unsupported format version and were skipped. Versions 7 and 8 are \
     supported.",
);
pub(super) const OUT_OF_STEP: NoteKind = NoteKind::new(
    "time_out_of_step",
    Severity::DataLoss,
    "The timestamps of these events do not lie between those of their neighbors. The events are \
     damaged and were skipped.",
);
pub(super) const EVENTS_MISSING: NoteKind = NoteKind::new(
    "events_missing",
    Severity::DataLoss,
    "The sequence numbers of a CPU's events have gaps, so events were lost. Use larger or more \
     buffers (`blktrace -b KIB -n COUNT`), and write the trace to a disk that is not being traced.",
);
pub(super) const NUMBERS_RESTART: NoteKind = NoteKind::new(
    "numbering_restarts",
    Severity::Doubt,
    "The sequence numbers of a CPU's events restart. The file contains several traces, or it is \
     damaged.",
);
pub(super) const STEPS_BACK: NoteKind = NoteKind::new(
    "time_steps_back",
    Severity::Doubt,
    "The timestamps of a CPU go backward, which its clock never does. The file contains several \
     traces, or it is damaged.",
);
pub(super) const FILES_MISSING: NoteKind = NoteKind::new(
    "processor_files_missing",
    Severity::DataLoss,
    "blktrace writes one file for each CPU, and some are missing. Requests may appear without a \
     start or an end. Pass all files (`NAME.blktrace.*`).",
);
pub(super) const TIMES_FROM_ZERO: NoteKind = NoteKind::new(
    "times_from_first_event",
    Severity::Info,
    "`blkparse -d` moved the first event to time zero, so the position of the trace in the boot \
     is unknown. Use the files that blktrace wrote.",
);
pub(super) const MESSAGES_DROPPED: NoteKind = NoteKind::new(
    "trace_messages_dropped",
    Severity::Info,
    "Only the first 10,000 messages (mostly from I/O schedulers) were kept.",
);
pub(super) const TOO_MANY_NAMES: NoteKind = NoteKind::new(
    "too_many_process_names",
    Severity::DataLoss,
    "The trace names more processes than a machine can have, so it is damaged. The excess names \
     were skipped.",
);
pub(super) const UNKNOWN_NOTICE: NoteKind = NoteKind::new(
    "unknown_notice",
    Severity::Info,
    "Notices other than process names, time of day and messages were skipped.",
);
