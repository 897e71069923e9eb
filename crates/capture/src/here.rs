//! This machine's last boot.

#[cfg(feature = "systemd-bus")]
use crate::systemd_bus;
use agent::here::Gathered;

/// What the agent collects; systemd is asked over D-Bus where that works, which
/// is what `systemctl show` does too.
#[must_use]
pub fn gather() -> Gathered {
    #[cfg(feature = "systemd-bus")]
    let systemd = match systemd_bus::answers() {
        Ok(answers) => answers.map(|bytes| (systemd_bus::source(), bytes)),
        // The agent asks by `systemctl`, and says so if that fails too.
        Err(_) => None,
    };
    #[cfg(not(feature = "systemd-bus"))]
    let systemd = None;
    agent::here::gather_with(None, systemd)
}
