//! What is noted of a serial log.

use record::{NoteKind, Severity};

/// What grabserial prints of its own.
pub(super) const REPORTS: [&str; 6] = [
    "The inlinepat: ",
    "The instantpat: ",
    "grabserial stopped ",
    "Opening serial port ",
    "Printing timing information for each line",
    "Use Control-C to stop",
];

pub(super) const BLANK_LINE: NoteKind =
    NoteKind::new("blank_line", Severity::Info, "blank lines hold nothing");

pub(super) const HEADER: NoteKind = NoteKind::new(
    "header",
    Severity::Info,
    "the first line says the format and its version",
);

pub(super) const NEWER: NoteKind = NoteKind::new(
    "newer_format",
    Severity::Doubt,
    "the log is of a later version of the format than this program knows, and was read as version \
     1; use a later version of this program",
);

pub(super) const REPORT: NoteKind = NoteKind::new(
    "capture_program_report",
    Severity::Info,
    "these lines are from the program that took the log, not from the serial line",
);

pub(super) const ELISION: NoteKind = NoteKind::new(
    "lines_cut_out",
    Severity::DataLoss,
    "somebody replaced lines of the log by dots; give the whole log",
);

pub(super) const UNSTAMPED: NoteKind = NoteKind::new(
    "line_without_stamp",
    Severity::Info,
    "these lines carry no time and stand where the log has them",
);

pub(super) const OTHER_BOOT: NoteKind = NoteKind::new(
    "other_boot",
    Severity::DataLoss,
    "the log holds lines of other boots, and only the first boot that begins in it was read; cut \
     the log so that it holds the boot you mean",
);

pub(super) const BEFORE_BOOT: NoteKind = NoteKind::new(
    "before_the_boot",
    Severity::Info,
    "these lines came before power was switched on, or before the line that times count from",
);

pub(super) const UNKNOWN_WORD: NoteKind = NoteKind::new(
    "unknown_word",
    Severity::Doubt,
    "the log says something about itself that this program does not know; use a later version of \
     this program",
);

pub(super) const POWER_UNCERTAIN: NoteKind = NoteKind::new(
    "power_on_uncertain",
    Severity::Info,
    "power came on at some time while the power command ran, and its end is taken for it; use a \
     command that returns at once",
);

pub(super) const OUTPUT_BEFORE_POWER: NoteKind = NoteKind::new(
    "output_before_power_on",
    Severity::Doubt,
    "the board wrote while the power command still ran, so power came on earlier than is said, or \
     these lines are of the boot before; use a command that returns when power is on",
);

pub(super) const CHARACTERS_LOST: NoteKind = NoteKind::new(
    "characters_lost",
    Severity::DataLoss,
    "the host was too slow for the serial line, and its driver dropped characters; use a lower \
     rate, flow control, or a host with less to do",
);

pub(super) const CHARACTERS_DAMAGED: NoteKind = NoteKind::new(
    "characters_damaged",
    Severity::Doubt,
    "the serial driver saw characters that cannot be right; the rate or the parity may not be the \
     board's, or the board's power was switched meanwhile",
);

pub(super) const ADAPTER_LATENCY: NoteKind = NoteKind::new(
    "adapter_latency",
    Severity::Doubt,
    "the USB adapter keeps characters back for up to this long, so stamps may be late by that; \
     write 1 into its latency_timer in /sys/class/tty/*/device",
);

pub(super) const BASE_TIME_RESET: NoteKind = NoteKind::new(
    "base_time_reset",
    Severity::Info,
    "the stamps began anew at a line that fitted grabserial's base-time pattern; the times go on \
     over it",
);

pub(super) const RESET_UNSEEN: NoteKind = NoteKind::new(
    "base_time_reset_unseen",
    Severity::Doubt,
    "the stamps began anew, and the lines around it are missing, so the time between is too short \
     by an unknown amount; give the whole log",
);

pub(super) const COARSE_STAMPS: NoteKind = NoteKind::new(
    "coarse_stamps",
    Severity::Doubt,
    "the host's stamps are whole seconds, too coarse for firmware and loaders, and the kernel's \
     clock is related to them within half of one; take the log with `firstlight capture serial`",
);

pub(super) const HOST_CLOCK_BACK: NoteKind = NoteKind::new(
    "host_clock_stepped_back",
    Severity::Doubt,
    "the clock of the host that took the log was set back meanwhile, so the times around it are \
     wrong; take the log again, with time synchronisation at rest",
);

pub(super) const LAST_BEFORE_FIRST: NoteKind = NoteKind::new(
    "last_before_first",
    Severity::Doubt,
    "these lines end before they begin by their stamps, so the log was damaged or edited",
);

pub(super) const FEW_KERNEL_STAMPS: NoteKind = NoteKind::new(
    "few_kernel_stamps",
    Severity::Info,
    "fewer than three lines carry the kernel's stamp beside the host's, so how the two clocks \
     relate is known only roughly; boot without `quiet`",
);

pub(super) const CLOCKS_PART: NoteKind = NoteKind::new(
    "clocks_part",
    Severity::Doubt,
    "later lines say that the host's clock and the kernel's have parted: the kernel's lost time \
     (interrupts off for long, ticks missed), or one of them was set or runs unevenly; times \
     between are moved evenly from the one line to the other",
);

pub(super) const LOADER_CLOCK_JOINED: NoteKind = NoteKind::new(
    "loader_clock_joined",
    Severity::Doubt,
    "the loader and the kernel each stamped their lines by a clock of their own, so the kernel's \
     zero is taken to be the loader's last line, and decompression is not seen; take the log with \
     a host's stamps",
);
