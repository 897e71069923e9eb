//! The names of udev's units.

/// Asks the kernel for the events of all devices.
pub(super) const TRIGGER: &str = "systemd-udev-trigger.service";

/// Handles them.
pub(super) const DAEMON: &str = "systemd-udevd.service";

/// Waits until all are handled.
pub(super) const SETTLE: &str = "systemd-udev-settle.service";

/// The same, as systemd called it before version 183.
pub(super) const OLD_SETTLE: &str = "udev-settle.service";
