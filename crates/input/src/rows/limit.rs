//! How much of one boot is read.

/// The most bytes of one log, also unpacked: a boot has thousands of lines, and its record takes
/// several times the bytes of its log.
pub const MOST_LOG_BYTES: u64 = 64 << 20;
