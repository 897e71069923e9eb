//! The names of udev's units.

pub(super) use crate::path::{OLD_SETTLE, SETTLE, is_settle};

/// Asks the kernel for the events of all devices.
pub(super) const TRIGGER: &str = "systemd-udev-trigger.service";

/// Handles them.
pub(super) const DAEMON: &str = "systemd-udevd.service";
