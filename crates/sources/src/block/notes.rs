//! The kinds of notes on block events.

use record::{NoteKind, Severity};

pub(super) const ISSUED_AGAIN: NoteKind = NoteKind::new(
    "issued_again",
    Severity::Info,
    "requests were given to the device more than once with no requeue between; their latency counts \
     from the first time, and a second figure from the last",
);
pub(super) const REQUEUED: NoteKind = NoteKind::new(
    "requeued",
    Severity::Info,
    "the device or its driver gave requests back, and they were issued again: it was busy, or it \
     reset",
);
pub(super) const FAILED: NoteKind = NoteKind::new(
    "request_failed",
    Severity::Info,
    "the device or its driver answered requests with an error; what they asked for was not moved, \
     though it is in the sums, and the time until the error is in the latency",
);
pub(super) const COMPLETED_ONLY: NoteKind = NoteKind::new(
    "completion_without_issue",
    Severity::Doubt,
    "requests ended that were not seen to begin: they began before the trace, or events were lost; \
     they have no latency",
);
pub(super) const NEVER_COMPLETED: NoteKind = NoteKind::new(
    "never_completed",
    Severity::Doubt,
    "requests were not seen to end: the trace stopped before, or events were lost, or completions \
     were not traced; they have no latency",
);
pub(super) const TOO_MANY_OPEN: NoteKind = NoteKind::new(
    "too_many_open_requests",
    Severity::DataLoss,
    "more requests were open at one time than a device holds, so completions are missing from the \
     trace; the oldest were taken as never completed",
);
pub(super) const TOO_MANY_DEVICES: NoteKind = NoteKind::new(
    "too_many_devices",
    Severity::DataLoss,
    "the trace names more devices than a machine has, so it is damaged; events of the later ones \
     were not read",
);
pub(super) const TIME_DISORDER: NoteKind = NoteKind::new(
    "time_disorder",
    Severity::Doubt,
    "events came later than others that happened after them, and were taken as they came; what \
     depends on their order (merges, latency) may be wrong",
);
pub(super) const FLUSH_ENDED: NoteKind = NoteKind::new(
    "flush_ended",
    Severity::Info,
    "the kernel reports the end of a request that only asked for a flush as an empty read or write; \
     the flush itself is counted, and this is not",
);
pub(super) const PLUG: NoteKind = NoteKind::new(
    "plug_event",
    Severity::Info,
    "plugging and unplugging hold requests back to be merged; no request is made of it",
);
pub(super) const GET_REQUEST: NoteKind = NoteKind::new(
    "get_request_event",
    Severity::Info,
    "that the kernel takes a request's structure from its store, or waits for one, makes no request",
);
pub(super) const BOUNCE: NoteKind = NoteKind::new(
    "bounce_event",
    Severity::Info,
    "data was copied to memory that the device reaches, which takes processor time",
);
pub(super) const REMAP: NoteKind = NoteKind::new(
    "remap_event",
    Severity::Info,
    "what was asked of one device went to another one, or from a partition to its disk; if both \
     were traced, the same data is counted on each",
);
pub(super) const OWN_DEVICE: NoteKind = NoteKind::new(
    "own_device",
    Severity::Info,
    "the lab's own devices: its storage server reads the image that it serves, which would be the \
     same data again, and captures leave by another; what the boot asked of its root is counted",
);
pub(super) const DRIVER: NoteKind = NoteKind::new(
    "driver_event",
    Severity::Info,
    "a driver's own data is not read",
);
pub(super) const UNKNOWN: NoteKind = NoteKind::new(
    "unknown_block_action",
    Severity::Doubt,
    "the trace has actions that are not known here: a newer kernel's, or damage",
);
