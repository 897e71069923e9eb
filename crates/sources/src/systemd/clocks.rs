//! The clocks of what systemd says.

/// The clock that systemd measures on.
pub(crate) const MONOTONIC: &str = "monotonic";

/// The clock of texts that count from the start of userspace.
pub(super) const USERSPACE_CLOCK: &str = "userspace";
