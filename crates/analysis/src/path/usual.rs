//! The usual order of units, where the input does not show the order of this boot.
//!
//! From bootup(7) and systemd.special(7), and from the unit files of systemd and of the
//! programs named here (`After=` and `Before=`). Each unit has what it comes after, and
//! the target that comes after it; so their number grows with that of the units only.

/// A target that others are ordered by. It takes no time.
pub(super) const TARGETS: [&str; 7] = [
    LOCAL_FS, SYSINIT, SOCKETS, BASIC, NETWORK, ONLINE, MULTI_USER,
];

const LOCAL_FS: &str = "local-fs.target";
const SYSINIT: &str = "sysinit.target";
const SOCKETS: &str = "sockets.target";
const BASIC: &str = "basic.target";
const NETWORK: &str = "network.target";
const ONLINE: &str = "network-online.target";
const MULTI_USER: &str = "multi-user.target";
const GRAPHICAL: &str = "graphical.target";

/// Units, and what they come after beside their stage.
const PAIRS: [(&str, &str); 34] = [
    (SYSINIT, LOCAL_FS),
    (SOCKETS, SYSINIT),
    (BASIC, SYSINIT),
    (BASIC, SOCKETS),
    (ONLINE, NETWORK),
    (MULTI_USER, BASIC),
    (MULTI_USER, NETWORK),
    (GRAPHICAL, MULTI_USER),
    ("systemd-remount-fs.service", "systemd-fsck-root.service"),
    ("systemd-sysctl.service", "systemd-modules-load.service"),
    ("systemd-udev-trigger.service", "systemd-udevd.service"),
    (
        "systemd-udev-settle.service",
        "systemd-udev-trigger.service",
    ),
    ("systemd-journal-flush.service", "systemd-journald.service"),
    (
        "systemd-journal-flush.service",
        "systemd-remount-fs.service",
    ),
    ("systemd-random-seed.service", "systemd-remount-fs.service"),
    ("systemd-sysusers.service", "systemd-remount-fs.service"),
    ("systemd-tmpfiles-setup.service", LOCAL_FS),
    (
        "systemd-tmpfiles-setup.service",
        "systemd-journal-flush.service",
    ),
    ("systemd-binfmt.service", LOCAL_FS),
    ("systemd-machine-id-commit.service", LOCAL_FS),
    (
        "systemd-update-utmp.service",
        "systemd-tmpfiles-setup.service",
    ),
    ("systemd-resolved.service", "systemd-tmpfiles-setup.service"),
    (
        "systemd-timesyncd.service",
        "systemd-tmpfiles-setup.service",
    ),
    ("networking.service", LOCAL_FS),
    ("systemd-user-sessions.service", NETWORK),
    ("ssh.service", NETWORK),
    ("sshd.service", NETWORK),
    ("cloud-init-local.service", "cloud-init-main.service"),
    ("cloud-init-network.service", "cloud-init-local.service"),
    ("cloud-init.service", "cloud-init-local.service"),
    ("cloud-config.service", ONLINE),
    ("cloud-final.service", "cloud-config.service"),
    ("docker.service", ONLINE),
    ("kdump.service", ONLINE),
];

/// Programs that wait for the network, and the unit that they ask.
const WAIT_ONLINE: [(&str, &str); 5] = [
    (
        "NetworkManager-wait-online.service",
        "NetworkManager.service",
    ),
    (
        "systemd-networkd-wait-online.service",
        "systemd-networkd.service",
    ),
    ("ifupdown-wait-online.service", "networking.service"),
    ("connman-wait-online.service", "connman.service"),
    ("dhcpcd-wait-online.service", "dhcpcd.service"),
];

/// What sets the network up.
const NETWORK_MANAGERS: [&str; 7] = [
    "NetworkManager.service",
    "systemd-networkd.service",
    "networking.service",
    "dhcpcd.service",
    "connman.service",
    "wpa_supplicant.service",
    "iwd.service",
];

/// Services without `DefaultDependencies=`, other than those of systemd.
const EARLY: [&str; 17] = [
    "apparmor.service",
    "blk-availability.service",
    "cloud-init-local.service",
    "cloud-init-main.service",
    "cloud-init-network.service",
    "cloud-init.service",
    "fake-hwclock.service",
    "hwclock.service",
    "ifupdown-pre.service",
    "keyboard-setup.service",
    "kmod-static-nodes.service",
    "lvm2-monitor.service",
    "multipathd.service",
    "networking.service",
    "plymouth-read-write.service",
    "plymouth-start.service",
    "ufw.service",
];

/// Services of systemd that start with all others.
const LATE: [&str; 8] = [
    "systemd-hostnamed.service",
    "systemd-homed.service",
    "systemd-localed.service",
    "systemd-logind.service",
    "systemd-machined.service",
    "systemd-timedated.service",
    "systemd-user-sessions.service",
    "systemd-update-utmp-runlevel.service",
];

/// Services of systemd that start when a device appears: nothing waits for them.
const OF_DEVICES: [&str; 2] = ["systemd-rfkill.service", "systemd-backlight@"];

/// What starts when somebody logs in: no target comes after it.
const OF_LOGIN: [&str; 2] = ["user@", "user-runtime-dir@"];

/// Whether a unit starts when somebody logs in.
pub(super) fn is_of_login(unit: &str) -> bool {
    OF_LOGIN.iter().any(|l| unit.starts_with(l))
}

/// When in a boot a unit starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing is usual.
    Unknown,
    /// File systems of the machine.
    Mount,
    /// What sets the machine up.
    Early,
    /// What services are reached by.
    Socket,
    /// Waits for the network.
    Online,
    /// All others.
    Service,
}

fn stage(unit: &str) -> Stage {
    let is_api = ["dev-", "sys-", "proc-", "run-"];
    match unit.rsplit_once('.').map_or("", |(_, kind)| kind) {
        "mount" if is_api.iter().any(|a| unit.starts_with(a)) => Stage::Early,
        "mount" => Stage::Mount,
        "swap" => Stage::Early,
        "socket" => Stage::Socket,
        "service" => of_service(unit),
        _ => Stage::Unknown,
    }
}

fn of_service(unit: &str) -> Stage {
    if unit.starts_with("systemd-fsck") {
        return Stage::Mount;
    }
    if manager_of(unit).is_some() {
        return Stage::Online;
    }
    if OF_DEVICES.iter().any(|d| unit.starts_with(d)) || is_of_login(unit) {
        return Stage::Unknown;
    }
    let of_systemd = unit.starts_with("systemd-") || unit.starts_with("modprobe@");
    match EARLY.contains(&unit) || of_systemd && !LATE.contains(&unit) {
        true => Stage::Early,
        false => Stage::Service,
    }
}

/// The unit that a program asks which waits for the network.
fn manager_of(unit: &str) -> Option<&'static str> {
    let plain = unit.split_once('@').map_or(unit, |(stem, _)| stem);
    let is = |name: &str| name == unit || name.strip_suffix(".service") == Some(plain);
    let found = WAIT_ONLINE.iter().find(|w| is(w.0));
    found.map(|(_, manager)| *manager)
}

/// Whether a unit usually starts before services do.
pub(crate) fn is_early(unit: &str) -> bool {
    matches!(stage(unit), Stage::Mount | Stage::Early)
}

/// What a unit usually comes after.
pub(super) fn after(unit: &str) -> impl Iterator<Item = &'static str> {
    let of_stage = match stage(unit) {
        Stage::Socket => Some(SYSINIT),
        Stage::Service => Some(BASIC),
        Stage::Online => manager_of(unit),
        Stage::Unknown | Stage::Mount | Stage::Early => None,
    };
    let pairs = PAIRS.iter().filter(move |p| p.0 == unit).map(|p| p.1);
    of_stage.into_iter().chain(pairs)
}

/// The target that usually comes after a unit.
pub(super) fn before(unit: &str) -> Option<&'static str> {
    if NETWORK_MANAGERS.contains(&unit) {
        return Some(NETWORK);
    }
    match stage(unit) {
        Stage::Mount => Some(LOCAL_FS),
        Stage::Early => Some(SYSINIT),
        Stage::Socket => Some(SOCKETS),
        Stage::Online => Some(ONLINE),
        Stage::Service => Some(MULTI_USER),
        Stage::Unknown => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{after, before};

    #[test]
    fn each_unit_has_its_place() {
        for (unit, comes_after, target) in [
            ("boot-firmware.mount", &[][..], Some("local-fs.target")),
            ("dev-mqueue.mount", &[], Some("sysinit.target")),
            (
                "systemd-binfmt.service",
                &["local-fs.target"],
                Some("sysinit.target"),
            ),
            (
                "systemd-logind.service",
                &["basic.target"],
                Some("multi-user.target"),
            ),
            ("own.service", &["basic.target"], Some("multi-user.target")),
            ("user@1000.service", &[], None),
            (
                "systemd-networkd-wait-online@eth0.service",
                &["systemd-networkd.service"],
                Some("network-online.target"),
            ),
            (
                "NetworkManager.service",
                &["basic.target"],
                Some("network.target"),
            ),
            ("graphical.target", &["multi-user.target"], None),
            ("dev-sda.device", &[], None),
            ("systemd-backlight@a.service", &[], None),
        ] {
            assert_eq!(after(unit).collect::<Vec<_>>(), comes_after, "{unit}");
            assert_eq!(before(unit), target, "{unit}");
        }
    }
}
