//! Units that wait for something while they start. They are shorter if it comes sooner.

/// Waiters, and what they wait for. A name is whole, or the beginning of one with `*`.
const WAITERS: [(&[&str], &[&str]); 4] = [
    // The network: its configuration, the carrier, a lease.
    (
        &[
            "NetworkManager*",
            "connman*",
            "dhcpcd*",
            "ifup*",
            "networking.service",
            "systemd-networkd*",
        ],
        &[
            "NetworkManager.service",
            "cloud-init*",
            "connman.service",
            "dhcpcd.service",
            "netplan*",
            "networking.service",
            "systemd-networkd.service",
            "wpa_supplicant*",
        ],
    ),
    // Devices: udev, and what loads their drivers and firmware.
    (
        &["systemd-udev-settle.service", "*.device"],
        &["systemd-udev*", "systemd-modules-load*", "modprobe@*"],
    ),
    // The splash screen, until the display is there.
    (
        &["plymouth-quit*"],
        &["gdm*", "lightdm*", "sddm*", "display-manager*", "greetd*"],
    ),
    // The clock, until the network is there.
    (
        &["systemd-time-wait-sync.service", "chrony-wait.service"],
        &[
            "NetworkManager*",
            "systemd-networkd*",
            "systemd-timesyncd.service",
        ],
    ),
];

/// What comes when it comes, however early it is waited for.
const BY_ITSELF: [&str; 4] = [
    "*.device",
    "systemd-random-seed.service",
    "haveged.service",
    "rngd*",
];

/// What takes no processor while it waits.
const IDLE: [&str; 6] = [
    "*-wait-online*",
    "*.device",
    "systemd-udev-settle.service",
    "systemd-time-wait-sync.service",
    "chrony-wait.service",
    "plymouth-quit-wait.service",
];

/// Waits until udev has handled the events of all devices, which goes on without it.
pub(crate) const SETTLE: &str = "systemd-udev-settle.service";

/// The same, as systemd called it before version 183.
pub(crate) const OLD_SETTLE: &str = "udev-settle.service";

/// On one processor so much of the wait for all devices is won, in hundredths: what udev
/// does for them goes on beside what waited. 24 and 25 of Debian's boot from an eMMC
/// (`experiments/findings/units.toml`); 21 and 31 without storage time and from an SD card,
/// 6 and 31 where few modules are there to be loaded.
pub(crate) const SETTLE_SHARED: i64 = 25;

/// The least of these.
pub(super) const SETTLE_LEAST: i64 = 6;

/// Whether a name is of a pattern, in which `*` stands for any text.
pub(super) fn is_like(name: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    true
}

fn is_any(name: &str, patterns: &[&str]) -> bool {
    patterns.iter().any(|p| is_like(name, p))
}

/// Whether a unit waits for what another one does.
pub(super) fn waits_for(unit: &str, other: &str) -> bool {
    unit != other
        && WAITERS
            .iter()
            .any(|(waiters, of)| is_any(unit, waiters) && is_any(other, of))
}

/// Whether a unit ends when something comes by itself.
pub(super) fn ends_by_itself(unit: &str) -> bool {
    is_any(unit, &BY_ITSELF)
}

/// Whether a unit waits for the work of udev, which goes on without it.
pub(crate) fn is_settle(unit: &str) -> bool {
    [SETTLE, OLD_SETTLE].contains(&unit)
}

/// Whether a unit does nothing but wait.
pub(super) fn is_idle(unit: &str) -> bool {
    is_any(unit, &IDLE)
}

#[cfg(test)]
mod tests {
    use super::{is_idle, is_like, waits_for};

    #[test]
    fn patterns_match_as_in_a_shell() {
        for (name, pattern, is) in [
            ("a.service", "a.service", true),
            ("a.service", "a", false),
            ("cloud-init-main.service", "cloud-*", true),
            ("x-cloud-init", "cloud-*", false),
            ("dev-sda.device", "*.device", true),
            ("a-wait-online@b.service", "*-wait-online*", true),
            ("a-b-c", "a*b*c", true),
            ("a-c", "a*b*c", false),
            ("anything", "*", true),
            ("", "", true),
        ] {
            assert_eq!(is_like(name, pattern), is, "{name} {pattern}");
        }
    }

    #[test]
    fn waiters_are_known() {
        let network = "NetworkManager.service";
        assert!(waits_for(network, "cloud-init-main.service"));
        assert!(waits_for("NetworkManager-wait-online.service", network));
        assert!(!waits_for(network, network));
        assert!(!waits_for(network, "bluetooth.service"));
        assert!(is_idle("NetworkManager-wait-online.service") && !is_idle(network));
    }
}
