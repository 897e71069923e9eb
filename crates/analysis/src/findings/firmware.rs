//! Waits of the kernel for a program that brings firmware.

use record::Nanos;

/// What the kernel says when such a wait begins: since 4.18, and before
/// (drivers/base/firmware_loader/fallback.c, drivers/base/firmware_class.c).
pub(super) const FALLBACKS: [&str; 2] = [
    "Falling back to sysfs fallback",
    "Falling back to user helper",
];

/// How long it waits (`/sys/class/firmware/timeout`).
pub(super) const TIMEOUT: Nanos = Nanos(60_000_000_000);

/// The most that it may take: timers of the kernel are coarse, and long ones end up to a tenth
/// later.
pub(super) const LONGEST_WAIT: Nanos = Nanos(66_000_000_000);

/// Whether a silence of that length after a line is such a wait, which `missing-hardware` measures.
pub(super) fn is_wait(text: &str, silence: Nanos) -> bool {
    FALLBACKS.iter().any(|f| text.contains(f)) && silence <= LONGEST_WAIT
}
