//! Sets of words that several documents share.

/// Kinds of clocks.
pub(crate) const CLOCKS: [&str; 5] = ["virtual", "counter", "wall", "printk", "monotonic"];

/// Kinds of items that take time.
pub(crate) const ITEMS: [&str; 6] = ["initcall", "probe", "unit", "process", "file", "stage"];

/// Phases of a boot.
pub(crate) const PHASES: [&str; 8] = [
    "before-kernel-clock",
    "firmware",
    "loader",
    "decompression",
    "kernel",
    "initrd",
    "userspace",
    "app",
];

/// Operations of block devices.
pub(crate) const OPERATIONS: [&str; 5] = ["read", "write", "discard", "flush", "other"];

/// Device numbers: `8:52`.
pub(crate) const DEVICE: &str = "^[0-9]+:[0-9]+$";

/// Verdicts of a comparison.
pub(crate) const VERDICTS: [&str; 3] = ["faster", "slower", "no_difference"];

/// Units of readings.
pub(crate) const UNITS: [&str; 4] = ["permille", "bytes", "bytes_per_second", "count"];

/// Doubts about a duration.
pub(crate) const DOUBTS: [&str; 11] = [
    "overlap",
    "jiffy_clock",
    "console",
    "lost_start",
    "lost_end",
    "zero_clock",
    "backward_step",
    "ambiguous",
    "torn",
    "disagree",
    "tick_clock",
];
