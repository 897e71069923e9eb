//! The kinds of notes on block events.

use record::{NoteKind, Severity};

pub(super) const ISSUED_AGAIN: NoteKind = NoteKind::new(
    "issued_again",
    Severity::Info,
    "These requests were issued to the device more than once without a requeue in between. \
     Latency counts from the first issue, and a second figure counts from the last.",
);
pub(super) const REQUEUED: NoteKind = NoteKind::new(
    "requeued",
    Severity::Info,
    "The device or its driver returned these requests because it was busy or reset, and they were \
     issued again.",
);
pub(super) const FAILED: NoteKind = NoteKind::new(
    "request_failed",
    Severity::Info,
    "These requests failed with an error. Their bytes are included in the totals although no data \
     was transferred, and their latency runs until the error.",
);
pub(super) const COMPLETED_ONLY: NoteKind = NoteKind::new(
    "completion_without_issue",
    Severity::Doubt,
    "These requests completed, but the trace does not show when they were issued. The trace \
     started later, or events were lost. They have no latency.",
);
pub(super) const NEVER_COMPLETED: NoteKind = NoteKind::new(
    "never_completed",
    Severity::Doubt,
    "The trace does not show that these requests completed. The trace stopped earlier, events \
     were lost, or completions were not traced. They have no latency.",
);
pub(super) const TOO_MANY_OPEN: NoteKind = NoteKind::new(
    "too_many_open_requests",
    Severity::DataLoss,
    "More requests were in flight than a device can hold, so completions are missing from the \
     trace. The oldest requests are treated as never completed.",
);
pub(super) const TOO_MANY_DEVICES: NoteKind = NoteKind::new(
    "too_many_devices",
    Severity::DataLoss,
    "The trace names more devices than a machine can have, so it is damaged. Events of the excess \
     devices were skipped.",
);
pub(super) const TIME_DISORDER: NoteKind = NoteKind::new(
    "time_disorder",
    Severity::Doubt,
    "Events are out of order and were read as they came. Results that depend on their order, such \
     as merges and latency, may be wrong.",
);
pub(super) const FLUSH_ENDED: NoteKind = NoteKind::new(
    "flush_ended",
    Severity::Info,
    "The kernel reports the completion of a flush as an empty read or write. The flush is \
     counted, and this event is not.",
);
pub(super) const PLUG: NoteKind = NoteKind::new(
    "plug_event",
    Severity::Info,
    "Plugging and unplugging hold requests back so that they can be merged. These events are not \
     requests.",
);
pub(super) const GET_REQUEST: NoteKind = NoteKind::new(
    "get_request_event",
    Severity::Info,
    "The kernel allocated a request structure or waited for one. These events are not requests.",
);
pub(super) const BOUNCE: NoteKind = NoteKind::new(
    "bounce_event",
    Severity::Info,
    "Data was copied to memory that the device can reach, which takes CPU time.",
);
pub(super) const REMAP: NoteKind = NoteKind::new(
    "remap_event",
    Severity::Info,
    "Requests were remapped to another device, or from a partition to its disk. If both were \
     traced, the same data is counted on each.",
);
pub(super) const OWN_DEVICE: NoteKind = NoteKind::new(
    "own_device",
    Severity::Info,
    "These requests went to the lab's own devices and are not counted. They would count the data \
     of the root device twice, or belong to the capture. Requests to the root device are counted.",
);
pub(super) const DRIVER: NoteKind = NoteKind::new(
    "driver_event",
    Severity::Info,
    "Driver-specific data was skipped.",
);
pub(super) const UNKNOWN: NoteKind = NoteKind::new(
    "unknown_block_action",
    Severity::Doubt,
    "The trace contains unknown actions. It comes from a newer kernel, or it is damaged.",
);
