//! Units that the rules on units know by name.

use super::udev_units::{OLD_SETTLE, SETTLE};

/// Units that a boot works without, and what is lost without them.
///
/// Each only does housekeeping that nothing
/// later in a boot needs, and that a product usually does elsewhere or not at
/// all. What feeds the entropy pool, waits for the network or checks a
/// filesystem is not in it, however slow it is.
const SPARE: [(&str, &str); 38] = [
    ("apt-daily-upgrade.service", "no unattended upgrades"),
    ("apt-daily-upgrade.timer", "no unattended upgrades"),
    ("apt-daily.service", "package lists are not refreshed"),
    ("apt-daily.timer", "package lists are not refreshed"),
    ("apt-news.service", "no distribution news at login"),
    ("dnf-makecache.service", "package lists are not refreshed"),
    ("dnf-makecache.timer", "package lists are not refreshed"),
    (
        "dpkg-db-backup.service",
        "no daily backup of the package database",
    ),
    (
        "dpkg-db-backup.timer",
        "no daily backup of the package database",
    ),
    (
        "e2scrub_reap.service",
        "leftover e2scrub snapshots are not removed",
    ),
    ("esm-cache.service", "no distribution news at login"),
    (
        "fstrim.service",
        "unused blocks of the disk are not discarded",
    ),
    (
        "fstrim.timer",
        "unused blocks of the disk are not discarded",
    ),
    ("logrotate.service", "logs are not rotated"),
    ("logrotate.timer", "logs are not rotated"),
    ("man-db.service", "the manual page index is not refreshed"),
    ("man-db.timer", "the manual page index is not refreshed"),
    (
        "mlocate-updatedb.service",
        "the file name index is not refreshed",
    ),
    (
        "mlocate-updatedb.timer",
        "the file name index is not refreshed",
    ),
    ("motd-news.service", "no distribution news at login"),
    ("nix-gc.service", "old packages are not removed"),
    ("nix-gc.timer", "old packages are not removed"),
    (
        "plocate-updatedb.service",
        "the file name index is not refreshed",
    ),
    (
        "plocate-updatedb.timer",
        "the file name index is not refreshed",
    ),
    ("reflector.service", "the list of mirrors is not refreshed"),
    ("reflector.timer", "the list of mirrors is not refreshed"),
    ("shadow.service", "password files are not checked"),
    ("shadow.timer", "password files are not checked"),
    ("snapper-cleanup.service", "old snapshots are not removed"),
    ("snapper-cleanup.timer", "old snapshots are not removed"),
    ("snapper-timeline.service", "no hourly snapshots"),
    ("snapper-timeline.timer", "no hourly snapshots"),
    (
        "systemd-tmpfiles-clean.service",
        "old temporary files are not removed",
    ),
    (
        "systemd-tmpfiles-clean.timer",
        "old temporary files are not removed",
    ),
    (
        "update-notifier-download.service",
        "packages do not fetch their data",
    ),
    (
        "update-notifier-download.timer",
        "packages do not fetch their data",
    ),
    ("updatedb.service", "the file name index is not refreshed"),
    ("updatedb.timer", "the file name index is not refreshed"),
];

pub(super) fn what_is_lost(unit: &str) -> Option<&'static str> {
    let spare = SPARE.iter().find(|(name, _)| *name == unit);
    spare.map(|(_, lost)| *lost)
}

/// Whether a unit is housekeeping that a timer starts.
pub(super) fn is_spare(unit: &str) -> bool {
    what_is_lost(unit).is_some()
}

/// It ends when the display manager, or whatever ends the splash, is there.
pub(super) const SPLASH: &str = "plymouth-quit-wait.service";
const NETWORK: &str = "units that need the network immediately must wait for it themselves";
const CLOCK_SET: &str = "the clock to be set from the network";
const CLOCK: &str = "units may start with the wrong time of day";

/// Units that only wait, what for, and what is lost without them.
pub(super) const WAITS: [(&str, &str, &str); 14] = [
    (
        "systemd-networkd-wait-online.service",
        "the network to come up",
        NETWORK,
    ),
    (
        "systemd-networkd-wait-online@.service",
        "a network interface to come up",
        NETWORK,
    ),
    (
        "NetworkManager-wait-online.service",
        "the network to come up",
        NETWORK,
    ),
    (
        "ifupdown-wait-online.service",
        "the network to come up",
        NETWORK,
    ),
    (
        "connman-wait-online.service",
        "the network to come up",
        NETWORK,
    ),
    ("systemd-time-wait-sync.service", CLOCK_SET, CLOCK),
    (
        SETTLE,
        "udev to process every device",
        "units that expect a device without ordering after it may start too early",
    ),
    (
        OLD_SETTLE,
        "udev to process every device",
        "units that expect a device without ordering after it may start too early",
    ),
    (
        SPLASH,
        "the splash screen to disappear",
        "the console may show messages before the splash is gone",
    ),
    (
        "plymouth-read-write.service",
        "the splash screen to answer",
        "the splash screen writes no log of the boot",
    ),
    ("chrony-wait.service", CLOCK_SET, CLOCK),
    ("ntp-wait.service", CLOCK_SET, CLOCK),
    ("ntpdate.service", CLOCK_SET, CLOCK),
    (
        "ifupdown-pre.service",
        "udev to process every device",
        "networking.service may not find an interface that appears late",
    ),
];

/// Whether a unit waits for what is outside of this machine: no other unit makes that longer.
pub(super) fn waits_outside(unit: &str) -> bool {
    let known = WAITS.iter().find(|w| is_unit(unit, w.0));
    known.is_some_and(|w| [NETWORK, CLOCK].contains(&w.2))
}

/// Units that make anew at boot what an image can bring along.
pub(super) const REBUILDS: [(&str, &str); 7] = [
    ("ldconfig.service", "the library cache"),
    ("systemd-hwdb-update.service", "the hardware database"),
    (
        "systemd-journal-catalog-update.service",
        "the message catalog",
    ),
    ("systemd-sysusers.service", "the system users"),
    ("systemd-update-done.service", "the update time stamp"),
    ("systemd-firstboot.service", "the first-boot settings"),
    ("fontconfig-cache.service", "the font cache"),
];

/// Units that products seldom need, or not before first light, and what is
/// lost without them.
pub(super) const OPTIONAL: [(&str, &str); 98] = [
    ("ModemManager.service", "no modems"),
    ("abrtd.service", "crashes are not reported"),
    (
        "accounts-daemon.service",
        "no user list on the login screen",
    ),
    ("alsa-restore.service", "sound levels are not restored"),
    (
        "anacron.service",
        "daily jobs that were missed are not made up for",
    ),
    ("apport-autoreport.service", "crashes are not reported"),
    ("apport.service", "crashes are not reported"),
    ("auditd.service", "no audit log"),
    ("avahi-daemon.service", "no mDNS names"),
    ("bluetooth.service", "no Bluetooth"),
    ("bolt.service", "Thunderbolt devices are not authorized"),
    ("brltty.service", "no braille display"),
    (
        "casper-md5check.service",
        "the live medium is not checked for damage",
    ),
    ("clamav-daemon.service", "files are not checked for malware"),
    (
        "clamav-freshclam.service",
        "the list of malware is not refreshed",
    ),
    ("clamd@.service", "files are not checked for malware"),
    (
        "cloud-config.service",
        "no settings from the cloud provider",
    ),
    ("cloud-final.service", "no settings from the cloud provider"),
    (
        "cloud-init-local.service",
        "no settings from the cloud provider",
    ),
    (
        "cloud-init-main.service",
        "no settings from the cloud provider",
    ),
    (
        "cloud-init-network.service",
        "no settings from the cloud provider",
    ),
    ("cloud-init.service", "no settings from the cloud provider"),
    ("colord.service", "no color profiles"),
    (
        "console-setup.service",
        "the console keeps its built-in font",
    ),
    (
        "cups-browsed.service",
        "printers of the network are not found",
    ),
    ("cups.service", "no printing"),
    (
        "dev-hugepages.mount",
        "no file system for programs that request huge pages",
    ),
    (
        "dmraid-activation.service",
        "RAID sets of the BIOS are not used",
    ),
    ("dphys-swapfile.service", "no swap file"),
    ("exim4.service", "no mail is sent"),
    ("fwupd-refresh.service", "no firmware updates"),
    ("fwupd.service", "no firmware updates"),
    (
        "geoclue.service",
        "programs do not learn where the device is",
    ),
    (
        "gpu-manager.service",
        "the graphics settings do not follow a changed card",
    ),
    (
        "grub-common.service",
        "GRUB does not learn that the boot succeeded",
    ),
    ("gssproxy.service", "no Kerberos for NFS"),
    ("hciuart.service", "no Bluetooth"),
    (
        "iio-sensor-proxy.service",
        "the screen does not turn with the device",
    ),
    (
        "irqbalance.service",
        "interrupts are not spread over the CPUs",
    ),
    ("iscsid.service", "no iSCSI disks"),
    ("kdump-tools.service", "no dump after a crash of the kernel"),
    ("kdump.service", "no dump after a crash of the kernel"),
    (
        "kerneloops.service",
        "crashes of the kernel are not reported",
    ),
    (
        "keyboard-setup.service",
        "the console keeps its built-in keyboard map",
    ),
    ("libvirt-guests.service", "virtual machines are not resumed"),
    ("lvm2-monitor.service", "no logical volume monitoring"),
    ("mdmonitor.service", "no RAID monitoring"),
    (
        "modprobe@dm_mod.service",
        "the device mapper loads on demand",
    ),
    (
        "modprobe@drm.service",
        "graphics start when udev finds the device",
    ),
    (
        "modprobe@efi_pstore.service",
        "no crash log in EFI variables",
    ),
    ("modprobe@loop.service", "the loop driver loads on demand"),
    ("multipathd.service", "no multipath storage"),
    (
        "networkd-dispatcher.service",
        "no scripts on network changes",
    ),
    (
        "nvidia-persistenced.service",
        "an unused NVIDIA card loses its state",
    ),
    ("open-iscsi.service", "no iSCSI disks"),
    (
        "packagekit.service",
        "no package management from the desktop",
    ),
    ("pcscd.service", "no smart cards"),
    ("plymouth-start.service", "no splash screen"),
    ("pmcd.service", "no performance metrics"),
    ("pmie.service", "no performance metrics"),
    ("pmlogger.service", "no performance metrics"),
    ("pollinate.service", "no random seed from the network"),
    ("postfix.service", "no mail is sent"),
    ("power-profiles-daemon.service", "no power profiles"),
    ("preload.service", "no programs are read ahead"),
    (
        "raspi-config.service",
        "raspi-config settings are not applied at boot",
    ),
    ("rhsmcertd.service", "subscriptions are not renewed"),
    (
        "rpi-eeprom-update.service",
        "no boot loader updates at boot",
    ),
    (
        "rtkit-daemon.service",
        "sound programs run without real-time priority",
    ),
    (
        "secureboot-db.service",
        "revoked signatures are not refreshed",
    ),
    ("sendmail.service", "no mail is sent"),
    ("setvtrgb.service", "the console keeps its built-in colors"),
    ("smartd.service", "no disk monitoring"),
    ("smartmontools.service", "no disk monitoring"),
    (
        "snap.lxd.activate.service",
        "LXD starts when somebody uses it",
    ),
    (
        "snapd.seeded.service",
        "units that wait for snaps no longer do",
    ),
    ("snapd.service", "no snaps"),
    ("snapper-boot.service", "no snapshot at each boot"),
    ("speech-dispatcher.service", "no speech"),
    (
        "switcheroo-control.service",
        "no switching between graphics cards",
    ),
    (
        "sys-kernel-debug.mount",
        "no kernel debugging files until they are mounted",
    ),
    (
        "sys-kernel-tracing.mount",
        "no kernel tracing files until they are mounted",
    ),
    (
        "systemd-backlight@.service",
        "the screen keeps the brightness that the firmware set",
    ),
    (
        "systemd-binfmt.service",
        "programs of other machines do not start",
    ),
    ("systemd-homed.service", "no portable home directories"),
    (
        "systemd-oomd.service",
        "only the kernel acts when memory runs out",
    ),
    ("systemd-pstore.service", "crash logs stay in the firmware"),
    (
        "systemd-rfkill.service",
        "radios are not switched as before the shutdown",
    ),
    (
        "systemd-vconsole-setup.service",
        "the console keeps its built-in font and keyboard map",
    ),
    (
        "thermald.service",
        "only the firmware controls the temperature",
    ),
    ("tlp.service", "no power saving"),
    ("triggerhappy.service", "no hot keys"),
    ("tuned.service", "no tuning profile"),
    ("ubuntu-advantage.service", "no subscription is attached"),
    ("udisks2.service", "users cannot mount removable disks"),
    ("unattended-upgrades.service", "no unattended upgrades"),
    ("upower.service", "no battery state on the desktop"),
    ("whoopsie.service", "crashes are not reported"),
];

/// The unit that moves the journal to the disk.
pub(super) const JOURNAL_FLUSH: &str = "systemd-journal-flush.service";

/// How the units begin that ask for the passphrase of a disk.
pub(super) const CRYPTSETUP: &str = "systemd-cryptsetup@";

/// Whether another rule tells of a unit.
pub(super) fn is_told(unit: &str) -> bool {
    what_is_lost(unit).is_some()
        || WAITS.iter().any(|w| is_unit(unit, w.0))
        || REBUILDS.iter().any(|w| w.0 == unit)
        || OPTIONAL.iter().any(|w| is_unit(unit, w.0))
        || unit.starts_with("systemd-fsck")
        || unit == JOURNAL_FLUSH
        || unit == UDEV_TRIGGER
        || unit.starts_with(CRYPTSETUP)
}

/// The unit of which the rule on coldplug tells.
const UDEV_TRIGGER: &str = "systemd-udev-trigger.service";

/// Whether `unit` is `name`, or an instance of it (`name@.service`).
pub(super) fn is_unit(unit: &str, name: &str) -> bool {
    // That tells nearly all apart, and all names are asked for each unit.
    if unit.as_bytes().first() != name.as_bytes().first() {
        return false;
    }
    match name.split_once('@') {
        Some((stem, suffix)) => {
            let rest = unit.strip_prefix(stem).and_then(|r| r.strip_prefix('@'));
            rest.is_some_and(|r| r.ends_with(suffix))
        }
        None => unit == name,
    }
}
