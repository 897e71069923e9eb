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
    NoteKind::new("blank_line", Severity::Info, "Blank lines were skipped.");

pub(super) const HEADER: NoteKind = NoteKind::new(
    "header",
    Severity::Info,
    "The first line names the format and its version.",
);

pub(super) const NEWER: NoteKind = NoteKind::new(
    "newer_format",
    Severity::Doubt,
    "The log has a newer format version than firstlight supports and was read as version 1. \
     Upgrade firstlight.",
);

pub(super) const REPORT: NoteKind = NoteKind::new(
    "capture_program_report",
    Severity::Info,
    "These lines were printed by the capture program, not received on the serial line.",
);

pub(super) const ELISION: NoteKind = NoteKind::new(
    "lines_elided",
    Severity::DataLoss,
    "Lines of the log were replaced by dots. Use the complete log.",
);

pub(super) const UNSTAMPED: NoteKind = NoteKind::new(
    "line_without_stamp",
    Severity::Info,
    "These lines have no timestamp and keep their position in the log.",
);

pub(super) const OTHER_BOOT: NoteKind = NoteKind::new(
    "other_boot",
    Severity::Doubt,
    "The log holds more than one boot, and these lines are of another one. The last boot is read; \
     `--boot N` chooses another.",
);

pub(super) const BEFORE_BOOT: NoteKind = NoteKind::new(
    "before_boot",
    Severity::Info,
    "These lines precede power-on or the line that times count from.",
);

pub(super) const UNKNOWN_WORD: NoteKind = NoteKind::new(
    "unknown_keyword",
    Severity::Doubt,
    "The log contains metadata that firstlight does not support. Upgrade firstlight.",
);

pub(super) const POWER_UNCERTAIN: NoteKind = NoteKind::new(
    "power_on_uncertain",
    Severity::Info,
    "Power came on at an unknown moment while the power command ran. The end of the command is \
     used. Use a power command that returns at once.",
);

pub(super) const OUTPUT_BEFORE_POWER: NoteKind = NoteKind::new(
    "output_before_power_on",
    Severity::Doubt,
    "The board sent output while the power command was still running. Power came on earlier than \
     recorded, or these lines belong to the previous boot. Use a power command that returns when \
     power is on.",
);

pub(super) const CHARACTERS_LOST: NoteKind = NoteKind::new(
    "characters_lost",
    Severity::DataLoss,
    "The host could not keep up with the serial line, and its driver dropped characters. Use a \
     lower baud rate, flow control or a less busy host.",
);

pub(super) const CHARACTERS_DAMAGED: NoteKind = NoteKind::new(
    "characters_damaged",
    Severity::Doubt,
    "The serial driver reported invalid characters. The baud rate or parity does not match the \
     board, or the board's power was switched at that moment.",
);

pub(super) const ADAPTER_LATENCY: NoteKind = NoteKind::new(
    "adapter_latency",
    Severity::Doubt,
    "The USB adapter delays characters by up to this long, so timestamps may be late. Write 1 to \
     `latency_timer` in /sys/class/tty/*/device.",
);

pub(super) const BASE_TIME_RESET: NoteKind = NoteKind::new(
    "base_time_reset",
    Severity::Info,
    "Timestamps restarted at a line that matches grabserial's base-time pattern. Times continue \
     across the restart.",
);

pub(super) const RESET_UNSEEN: NoteKind = NoteKind::new(
    "base_time_reset_unseen",
    Severity::Doubt,
    "Timestamps restarted, and the lines around the restart are missing. The time in between is \
     too short by an unknown amount. Use the complete log.",
);

pub(super) const COARSE_STAMPS: NoteKind = NoteKind::new(
    "coarse_stamps",
    Severity::Doubt,
    "The host's timestamps are whole seconds, which is too coarse for firmware and loaders. The \
     kernel clock is aligned with them to within half a second. Capture with `firstlight capture \
     serial`.",
);

pub(super) const HOST_CLOCK_BACK: NoteKind = NoteKind::new(
    "host_clock_stepped_back",
    Severity::Doubt,
    "The clock of the capturing host was set back during the capture, so times around this point \
     are wrong. Stop time synchronization and capture again.",
);

pub(super) const LAST_BEFORE_FIRST: NoteKind = NoteKind::new(
    "last_before_first",
    Severity::Doubt,
    "The timestamps say that these lines end before they begin. The log was damaged or edited.",
);

pub(super) const FEW_KERNEL_STAMPS: NoteKind = NoteKind::new(
    "few_kernel_stamps",
    Severity::Info,
    "Fewer than three lines have both a host and a kernel timestamp, so the two clocks are \
     aligned only roughly. Boot without `quiet`.",
);

pub(super) const CLOCKS_PART: NoteKind = NoteKind::new(
    "clocks_diverge",
    Severity::Doubt,
    "The host clock and the kernel clock diverge. The kernel lost time (interrupts off for long, \
     missed ticks), or one clock was set or runs unevenly. The difference is spread evenly over \
     the lines in between.",
);

pub(super) const LOADER_CLOCK_JOINED: NoteKind = NoteKind::new(
    "loader_clock_joined",
    Severity::Doubt,
    "The loader and the kernel used separate clocks. The kernel's zero is assumed to be the \
     loader's last line, so decompression is not visible. Capture the log with host timestamps.",
);

pub(super) const FROM_RESET: NoteKind = NoteKind::new(
    "loader_counts_from_reset",
    Severity::Info,
    "The loaders' own timestamps count from the reset of the processor, which is taken as power-on. \
     The boot ROM is shown as firmware.",
);
