//! What systemd calls well-known units where it does not print their names: their
//! `Description=` in the unit files of Debian, Fedora, Raspberry Pi OS and of systemd itself.

use std::borrow::Cow;

/// Descriptions, and the units that they are of.
const DESCRIBED: [(&str, &str); 74] = [
    ("Accounts Service", "accounts-daemon.service"),
    (
        "Apply the settings specified in cloud-config",
        "cloud-config.service",
    ),
    ("Avahi mDNS/DNS-SD Stack", "avahi-daemon.service"),
    ("Bluetooth service", "bluetooth.service"),
    ("CUPS Scheduler", "cups.service"),
    (
        "Check for Raspberry Pi EEPROM updates",
        "rpi-eeprom-update.service",
    ),
    ("Cloud-init: Config Stage", "cloud-config.service"),
    ("Cloud-init: Final Stage", "cloud-final.service"),
    (
        "Cloud-init: Local Stage (pre-network)",
        "cloud-init-local.service",
    ),
    ("Cloud-init: Network Stage", "cloud-init-network.service"),
    ("Cloud-init: Single Process", "cloud-init-main.service"),
    ("Coldplug All udev Devices", "systemd-udev-trigger.service"),
    (
        "Configure Bluetooth Modems connected by UART",
        "hciuart.service",
    ),
    ("Crash recovery kernel arming", "kdump.service"),
    (
        "Create Volatile Files and Directories",
        "systemd-tmpfiles-setup.service",
    ),
    ("DHCP Client Daemon", "dhcpcd.service"),
    ("Daily apt download activities", "apt-daily.service"),
    (
        "Daily apt upgrade and clean activities",
        "apt-daily-upgrade.service",
    ),
    ("Daily man-db regeneration", "man-db.service"),
    ("Disk Manager", "udisks2.service"),
    ("Docker Application Container Engine", "docker.service"),
    ("Execute cloud user/final scripts", "cloud-final.service"),
    (
        "File System Check on Root Device",
        "systemd-fsck-root.service",
    ),
    ("Firmware update daemon", "fwupd.service"),
    (
        "Flush Journal to Persistent Storage",
        "systemd-journal-flush.service",
    ),
    ("GNOME Display Manager", "gdm.service"),
    (
        "Hold until boot process finishes up",
        "plymouth-quit-wait.service",
    ),
    (
        "Initial cloud-init job (metadata service crawler)",
        "cloud-init.service",
    ),
    (
        "Initial cloud-init job (pre-networking)",
        "cloud-init-local.service",
    ),
    ("Journal Service", "systemd-journald.service"),
    ("Light Display Manager", "lightdm.service"),
    ("Load Kernel Modules", "systemd-modules-load.service"),
    ("Modem Manager", "ModemManager.service"),
    (
        "Monitoring of LVM2 mirrors, snapshots etc. using dmeventd or progress polling",
        "lvm2-monitor.service",
    ),
    ("Network Configuration", "systemd-networkd.service"),
    ("Network Manager", "NetworkManager.service"),
    (
        "Network Manager Wait Online",
        "NetworkManager-wait-online.service",
    ),
    ("Network Service", "systemd-networkd.service"),
    ("OpenBSD Secure Shell server", "ssh.service"),
    ("OpenSSH server daemon", "sshd.service"),
    ("Permit User Sessions", "systemd-user-sessions.service"),
    (
        "Pollinate to seed the pseudo random number generator",
        "pollinate.service",
    ),
    ("Raise network interfaces", "networking.service"),
    ("Rebuild Dynamic Linker Cache", "ldconfig.service"),
    ("Rebuild Hardware Database", "systemd-hwdb-update.service"),
    (
        "Rebuild Journal Catalog",
        "systemd-journal-catalog-update.service",
    ),
    (
        "Remove Stale Online ext4 Metadata Check Snapshots",
        "e2scrub_reap.service",
    ),
    (
        "Rule-based Manager for Device Events and Files",
        "systemd-udevd.service",
    ),
    ("Samba SMB Daemon", "smbd.service"),
    ("Set console font and keymap", "console-setup.service"),
    ("Set the console keyboard layout", "keyboard-setup.service"),
    ("Show Plymouth Boot Screen", "plymouth-start.service"),
    ("Snap Daemon", "snapd.service"),
    ("Snappy daemon", "snapd.service"),
    ("System Logging Service", "rsyslog.service"),
    ("Terminate Plymouth Boot Screen", "plymouth-quit.service"),
    ("Thermal Daemon Service", "thermald.service"),
    ("Uncomplicated firewall", "ufw.service"),
    ("User Login Management", "systemd-logind.service"),
    ("WPA supplicant", "wpa_supplicant.service"),
    (
        "Wait for Network to be Configured",
        "systemd-networkd-wait-online.service",
    ),
    (
        "Wait for udev To Complete Device Initialization",
        "systemd-udev-settle.service",
    ),
    ("Wait until snapd is fully seeded", "snapd.seeded.service"),
    ("dhcpcd on all interfaces", "dhcpcd.service"),
    ("dracut cmdline hook", "dracut-cmdline.service"),
    ("dracut initqueue hook", "dracut-initqueue.service"),
    ("dracut pre-mount hook", "dracut-pre-mount.service"),
    (
        "dracut pre-pivot and cleanup hook",
        "dracut-pre-pivot.service",
    ),
    ("dracut pre-trigger hook", "dracut-pre-trigger.service"),
    ("dracut pre-udev hook", "dracut-pre-udev.service"),
    ("firewalld - dynamic firewall daemon", "firewalld.service"),
    ("udev Coldplug all Devices", "systemd-udev-trigger.service"),
    ("udev Kernel Device Manager", "systemd-udevd.service"),
    (
        "udev Wait for Complete Device Initialization",
        "systemd-udev-settle.service",
    ),
];

/// Descriptions that end with a device or a volume, and the template that they are of.
const OF_EACH: [(&str, &str); 2] = [
    ("Cryptography Setup for ", "systemd-cryptsetup@"),
    ("File System Check on ", "systemd-fsck@"),
];

/// The name of the unit that is described so; the description itself where it is not known.
pub(super) fn unit(description: &str) -> Cow<'_, str> {
    if let Ok(at) = DESCRIBED.binary_search_by(|(words, _)| (*words).cmp(description)) {
        return DESCRIBED.get(at).map_or(description, |d| d.1).into();
    }
    let of_each = OF_EACH
        .iter()
        .find_map(|(words, stem)| Some((stem, description.strip_prefix(words)?)));
    match of_each {
        // The unit's name is that of the path, its slashes written as dashes.
        Some((stem, instance)) if !instance.contains(' ') => {
            let path = instance
                .trim_matches('/')
                .replace('-', "\\x2d")
                .replace('/', "-");
            format!("{stem}{path}.service").into()
        }
        _ => description.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::{DESCRIBED, unit};

    #[test]
    fn a_description_is_its_unit() {
        assert!(DESCRIBED.is_sorted_by(|a, b| a.0 < b.0));
        for (description, name) in [
            ("Raise network interfaces", "networking.service"),
            (
                "File System Check on Root Device",
                "systemd-fsck-root.service",
            ),
            (
                "File System Check on /dev/disk/by-label/a-b",
                "systemd-fsck@dev-disk-by\\x2dlabel-a\\x2db.service",
            ),
            (
                "Cryptography Setup for root",
                "systemd-cryptsetup@root.service",
            ),
            ("My own thing", "My own thing"),
        ] {
            assert_eq!(unit(description), name);
        }
    }
}
