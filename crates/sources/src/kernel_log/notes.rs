//! The kinds of notes that kernel logs give, and their counting.

use record::{NoteKind, Origin, Recorder, Severity};

pub(super) const BLANK_LINE: NoteKind = NoteKind::new(
    "blank_line",
    Severity::Info,
    "empty lines hold no evidence; nothing to do",
);
pub(super) const KMSG_PROPERTY: NoteKind = NoteKind::new(
    "kmsg_property",
    Severity::Info,
    "the device properties under a /dev/kmsg record are not used; nothing to do",
);
pub(super) const UNSTAMPED_LINE: NoteKind = NoteKind::new(
    "unstamped_line",
    Severity::Info,
    "lines without a time are kept where they stand: the rest of a message of several lines, or \
     other programs on the same console",
);
pub(super) const LINE_TOO_LONG: NoteKind = NoteKind::new(
    "line_too_long",
    Severity::DataLoss,
    "a line of more than 1 MiB is no kernel line and was not read; check that the file is a log",
);
pub(super) const BAD_JSON: NoteKind = NoteKind::new(
    "bad_json",
    Severity::DataLoss,
    "a record is not whole JSON and was not read; take the log again, or give the plain form",
);
pub(super) const LATER_BOOT: NoteKind = NoteKind::new(
    "later_boot",
    Severity::DataLoss,
    "the log goes on with another boot, which was not read; cut the log so that it begins with \
     the boot you mean",
);
pub(super) const EARLIER_BOOT: NoteKind = NoteKind::new(
    "earlier_boot",
    Severity::Info,
    "the log begins with the end of another boot, which was not read",
);
pub(super) const TORN_LINE: NoteKind = NoteKind::new(
    "torn_line",
    Severity::Doubt,
    "an initcall or probe line is cut; what is left of it was used; take the log from the ring \
     buffer (dmesg) instead of the console",
);
pub(super) const GLUED_LINE: NoteKind = NoteKind::new(
    "glued_line",
    Severity::Info,
    "kernel lines that begin in the middle of a line, after other output, were read as lines of \
     their own",
);
pub(super) const LOG_START_LOST: NoteKind = NoteKind::new(
    "log_start_lost",
    Severity::DataLoss,
    "the log does not hold the start of the boot: the ring buffer wrapped or the file was cut; \
     boot with log_buf_len=16M",
);
pub(super) const RECORDS_LOST: NoteKind = NoteKind::new(
    "records_lost",
    Severity::DataLoss,
    "messages are missing: the log says that some were dropped, or numbers of /dev/kmsg records \
     are left out; boot with log_buf_len=16M, and with less on the console",
);
pub(super) const LOST_INITCALL_START: NoteKind = NoteKind::new(
    "lost_initcall_start",
    Severity::DataLoss,
    "initcalls whose start is not in the log: only the kernel's own number is known; boot with \
     log_buf_len=16M",
);
pub(super) const LOST_INITCALL_END: NoteKind = NoteKind::new(
    "lost_initcall_end",
    Severity::DataLoss,
    "initcalls that never ended in the log: it ends too early, or the line was lost",
);
pub(super) const AMBIGUOUS_INITCALL: NoteKind = NoteKind::new(
    "ambiguous_initcall",
    Severity::Doubt,
    "more than one open start fitted an end and the oldest was taken; a kernel with \
     CONFIG_PRINTK_CALLER tells them apart",
);
pub(super) const DISAGREEMENT: NoteKind = NoteKind::new(
    "initcall_times_disagree",
    Severity::Doubt,
    "the kernel's own number differs from the stamps by more than 1 ms; each row says why, and \
     the stamps are what is shown",
);
pub(super) const JIFFY_CLOCK: NoteKind = NoteKind::new(
    "jiffy_clock",
    Severity::Info,
    "calls that ended before the clock source switch: the kernel's own numbers for them move in \
     ticks of 1 to 10 ms, and probes have no other number",
);
pub(super) const PROBE_DEFERRED: NoteKind = NoteKind::new(
    "probe_deferred",
    Severity::Info,
    "probes that returned 517 (EPROBE_DEFER, of either sign) and were tried again later",
);
pub(super) const BACKWARD_STEP: NoteKind = NoteKind::new(
    "backward_step",
    Severity::Doubt,
    "stamps that are older than the line before: two CPUs printed at once (microseconds), or the \
     clock was set back (more)",
);
pub(super) const ZERO_STAMP: NoteKind = NoteKind::new(
    "zero_stamp",
    Severity::Info,
    "lines stamped 0: the clock did not run yet, and what they took is not known; a capture \
     with a raw counter shows it",
);
pub(super) const COARSE_STAMPS: NoteKind = NoteKind::new(
    "coarse_stamps",
    Severity::Doubt,
    "stamps of whole seconds are too coarse for a boot; give the log without dmesg -T, or \
     journalctl -o short-monotonic",
);
pub(super) const MINUTE_STAMPS: NoteKind = NoteKind::new(
    "minute_stamps",
    Severity::Doubt,
    "dmesg -H and -e print the first line of each minute without the time since the line \
     before: up to a minute is lost there; give the log of plain dmesg",
);
pub(super) const NO_YEAR: NoteKind = NoteKind::new(
    "no_year",
    Severity::Info,
    "stamps without a year: times within this log hold, but it cannot be laid beside logs that \
     name the year; journalctl -o short-iso does",
);
pub(super) const KERNEL_CLOCK_UNEVEN: NoteKind = NoteKind::new(
    "kernel_clock_uneven",
    Severity::Doubt,
    "the kernel's clock counted timer ticks up to its clock source switch, and there it gained or \
     lost time against the processor's counter: what lasted in that stretch is shown too long or \
     too short by it; a capture by the agent, which reads the counter, sets it right",
);
pub(super) const KERNEL_CLOCK_CORRECTED: NoteKind = NoteKind::new(
    "kernel_clock_corrected",
    Severity::Info,
    "the kernel's clock counted timer ticks up to its clock source switch, and there it gained or \
     lost time against the processor's counter; its stamps were moved onto the counter, which \
     leaves an error of up to a tick or two (of 1 to 10 ms) in that stretch",
);
pub(super) const BAD_CLOCKS_LINE: NoteKind = NoteKind::new(
    "bad_clocks_line",
    Severity::Doubt,
    "a line of clock readings is not whole, so the clocks stay unrelated; capture again",
);

/// How often something was met, and where first.
#[derive(Debug, Default)]
pub(super) struct Tally {
    count: u64,
    first: Option<Origin>,
    detail: String,
}

impl Tally {
    /// Counts one; the detail is asked for at the first.
    pub(super) fn add(&mut self, origin: Origin, detail: impl FnOnce() -> String) {
        self.add_many(origin, 1, detail);
    }

    /// Counts several at one place.
    pub(super) fn add_many(&mut self, origin: Origin, count: u64, detail: impl FnOnce() -> String) {
        if self.first.is_none() {
            self.first = Some(origin);
            self.detail = detail();
        }
        self.count = self.count.saturating_add(count);
    }

    /// The number so far.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    /// Replaces the detail, if anything was counted.
    pub(super) fn describe(&mut self, detail: impl FnOnce(u64) -> String) {
        if self.count > 0 {
            self.detail = detail(self.count);
        }
    }

    /// Notes what was counted, if anything.
    pub(super) fn note(self, recorder: &mut Recorder, kind: &NoteKind) {
        if let Some(first) = self.first {
            recorder.note_many(first, kind, self.count, || self.detail);
        }
    }
}
