//! The kinds of notes that kernel logs give, and their counting.

use record::{NoteKind, Origin, Recorder, Severity};

/// Longer lines are not read: the kernel's records end at 8 KiB, and the
/// journal's JSON of one is some tens of KiB at most.
pub(super) const LONGEST_LINE: usize = 1 << 20;

pub(super) const BLANK_LINE: NoteKind = NoteKind::new(
    "blank_line",
    Severity::Info,
    "Blank lines were skipped. No action needed.",
);
pub(super) const KMSG_PROPERTY: NoteKind = NoteKind::new(
    "kmsg_property",
    Severity::Info,
    "Device properties under /dev/kmsg records are not used. No action needed.",
);
pub(super) const UNSTAMPED_LINE: NoteKind = NoteKind::new(
    "unstamped_line",
    Severity::Info,
    "Lines without a timestamp keep their position in the log. They are continuation lines, or \
     output of other programs on the same console.",
);
pub(super) const LINE_TOO_LONG: NoteKind = NoteKind::new(
    "line_too_long",
    Severity::DataLoss,
    "A line longer than 1 MiB cannot be a kernel message and was skipped. Check that the file is \
     a log.",
);
pub(super) const BAD_JSON: NoteKind = NoteKind::new(
    "bad_json",
    Severity::DataLoss,
    "A JSON record is truncated or malformed and was skipped. Export the log again or use the \
     text format.",
);
pub(super) const LATER_BOOT: NoteKind = NoteKind::new(
    "later_boot",
    Severity::Info,
    "These lines are of a later boot. `--boot N` chooses the boot that is read.",
);
pub(super) const EARLIER_BOOT: NoteKind = NoteKind::new(
    "earlier_boot",
    Severity::Doubt,
    "The log holds more than one boot, and these lines are of an earlier one. The last boot is \
     read; `--boot N` chooses another.",
);
pub(super) const TORN_LINE: NoteKind = NoteKind::new(
    "torn_line",
    Severity::Doubt,
    "An initcall or probe line is truncated. The remaining part was used. Read the log from the \
     ring buffer (`dmesg`) instead of the console.",
);
pub(super) const GLUED_LINE: NoteKind = NoteKind::new(
    "glued_line",
    Severity::Info,
    "A kernel message starts in the middle of a line, after other output. It was read as a line \
     of its own.",
);
pub(super) const LOG_START_LOST: NoteKind = NoteKind::new(
    "log_start_lost",
    Severity::DataLoss,
    "The start of the boot is missing because the ring buffer wrapped or the file was truncated. \
     Boot with `log_buf_len=16M`.",
);
pub(super) const QUIET_LOG: NoteKind = NoteKind::new(
    "quiet_log",
    Severity::Doubt,
    "The log has few lines and none that only inform: it is the console of a kernel that booted \
     with `quiet`. What took time between these lines is not in it. Give the output of `dmesg`.",
);
pub(super) const TICK_CLOCK: NoteKind = NoteKind::new(
    "tick_clock",
    Severity::Doubt,
    "All timestamps are multiples of the kernel's timer tick. Times are exact to one tick at best, \
     and initcalls are ranked by the duration that the kernel reports.",
);
pub(super) const RECORDS_LOST: NoteKind = NoteKind::new(
    "records_lost",
    Severity::DataLoss,
    "Messages are missing: the log reports dropped messages, or sequence numbers of /dev/kmsg \
     records have gaps. Boot with `log_buf_len=16M` and print less to the console.",
);
pub(super) const LOST_INITCALL_START: NoteKind = NoteKind::new(
    "lost_initcall_start",
    Severity::DataLoss,
    "The log does not show when these initcalls started, so only the duration reported by the \
     kernel is available. Boot with `log_buf_len=16M`.",
);
pub(super) const LOST_INITCALL_END: NoteKind = NoteKind::new(
    "lost_initcall_end",
    Severity::DataLoss,
    "The log does not show when these initcalls ended. The log stops too early, or the lines were \
     lost.",
);
pub(super) const AMBIGUOUS_INITCALL: NoteKind = NoteKind::new(
    "ambiguous_initcall",
    Severity::Doubt,
    "An initcall's end matched several open starts, and the oldest was used. CONFIG_PRINTK_CALLER \
     removes the ambiguity.",
);
pub(super) const DISAGREEMENT: NoteKind = NoteKind::new(
    "initcall_times_disagree",
    Severity::Doubt,
    "The duration reported by the kernel differs from the timestamps by more than 1 ms. The \
     timestamps are shown, and each row gives the reason.",
);
pub(super) const JIFFY_CLOCK: NoteKind = NoteKind::new(
    "jiffy_clock",
    Severity::Info,
    "Before the clocksource switch the kernel measures in timer ticks (1 to 10 ms). The durations \
     that it reports for these calls have this resolution, and probes have no other duration.",
);
pub(super) const PROBE_DEFERRED: NoteKind = NoteKind::new(
    "probe_deferred",
    Severity::Info,
    "These probes returned EPROBE_DEFER (517) and were retried later.",
);
pub(super) const BACKWARD_STEP: NoteKind = NoteKind::new(
    "backward_step",
    Severity::Doubt,
    "These timestamps are older than the one on the previous line. If they differ by \
     microseconds, two CPUs printed at once. If they differ by more, the clock was set back.",
);
pub(super) const ZERO_STAMP: NoteKind = NoteKind::new(
    "zero_stamp",
    Severity::Info,
    "These lines have timestamp 0.000000 because the kernel clock was not running yet. Capture a \
     raw hardware counter to time this stretch.",
);
pub(super) const COUNTER_RAN: NoteKind = NoteKind::new(
    "counter_ran",
    Severity::Doubt,
    "The kernel clock jumps from zero to this value: it reads a counter that already ran before \
     the kernel. The time up to here is the time since that counter was reset, boot loader \
     included, and not the kernel's alone.",
);
pub(super) const COARSE_STAMPS: NoteKind = NoteKind::new(
    "coarse_stamps",
    Severity::Doubt,
    "Timestamps in whole seconds are too coarse for a boot. Use `dmesg` without -T, or \
     `journalctl -o short-monotonic`.",
);
pub(super) const MINUTE_STAMPS: NoteKind = NoteKind::new(
    "minute_stamps",
    Severity::Doubt,
    "`dmesg -H` and `dmesg -e` omit the offset on the first line of each minute, so up to a \
     minute can go missing. Use plain `dmesg`.",
);
pub(super) const NO_YEAR: NoteKind = NoteKind::new(
    "no_year",
    Severity::Info,
    "Timestamps have no year. Durations are correct, but this log cannot be aligned with dated \
     logs. Use `journalctl -o short-iso`.",
);
pub(super) const KERNEL_CLOCK_UNEVEN: NoteKind = NoteKind::new(
    "kernel_clock_uneven",
    Severity::Doubt,
    "The kernel clock counted timer ticks until its clocksource switch and drifted from the CPU's \
     counter. Durations in this stretch are too long or too short by the amount shown. Capture \
     the boot with the agent, which reads the counter and corrects this.",
);
pub(super) const KERNEL_CLOCK_CORRECTED: NoteKind = NoteKind::new(
    "kernel_clock_corrected",
    Severity::Info,
    "The kernel clock counted timer ticks until its clocksource switch and drifted from the CPU's \
     counter. Its timestamps were corrected to match the counter. An error of one or two ticks (1 \
     to 10 ms each) remains in this stretch.",
);
pub(super) const BAD_CLOCKS_LINE: NoteKind = NoteKind::new(
    "bad_clocks_line",
    Severity::Doubt,
    "A line of clock readings is truncated or malformed, so the clocks cannot be aligned. Capture \
     again.",
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
