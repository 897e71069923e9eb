//! What helps where a well-known unit takes long.

use super::text::remedies as text;

/// The units of one cause, and what helps against it. A name may have one `*`.
pub(super) struct Remedy {
    units: &'static [&'static str],
    /// What makes the start long, and what to do about it.
    pub why: &'static str,
    /// Parameters, options, files and programs that it is about.
    names: &'static [&'static str],
}

/// Units that show the login screen.
const DISPLAY_MANAGERS: &[&str] = &[
    "gdm*.service",
    "lightdm.service",
    "sddm.service",
    "lxdm.service",
    "slim.service",
    "xdm.service",
    "greetd.service",
    "display-manager.service",
    "weston*.service",
];

/// From the manual pages of the programs, and what cured published boots. The first that fits
/// holds.
const REMEDIES: [Remedy; 41] = [
    Remedy {
        units: &[
            "networking.service",
            "ifup@*.service",
            "Raise network interfaces*",
            "LSB: Raise network interfaces*",
        ],
        why: text::IFUPDOWN,
        names: &["DHCP", "allow-hotplug", "/etc/network/interfaces"],
    },
    Remedy {
        units: &["network.service", "LSB: Bring up/down networking*"],
        why: text::NETWORK_SCRIPTS,
        names: &["DHCP", "ONBOOT"],
    },
    Remedy {
        units: &["netctl*.service"],
        why: text::NETCTL,
        names: &["DHCP", "netctl"],
    },
    Remedy {
        units: &["wicked*.service"],
        why: text::WICKED,
        names: &["DHCP", "WAIT_FOR_INTERFACES"],
    },
    Remedy {
        units: &[
            "dhcpcd*.service",
            "dhclient*.service",
            "DHCP Client*",
            "dhcpcd on all interfaces*",
        ],
        why: text::DHCP_CLIENT,
        names: &["DHCP"],
    },
    Remedy {
        units: &["NetworkManager.service", "Network Manager"],
        why: text::NETWORK_MANAGER,
        names: &[],
    },
    Remedy {
        units: &["systemd-networkd-wait-online*", "Wait for*to be Configured"],
        why: text::NETWORKD_ONLINE,
        names: &["RequiredForOnline"],
    },
    Remedy {
        units: &[
            "NetworkManager-wait-online.service",
            "Network Manager Wait Online",
        ],
        why: text::NETWORK_MANAGER_ONLINE,
        names: &["network-online.target"],
    },
    Remedy {
        units: &[
            "openvpn*.service",
            "wg-quick@*.service",
            "strongswan*.service",
            "tailscaled.service",
        ],
        why: text::VPN,
        names: &["DNS"],
    },
    Remedy {
        units: &["wpa_supplicant*.service", "iwd.service", "hostapd*.service"],
        why: text::WIRELESS,
        names: &["firmware"],
    },
    Remedy {
        units: &[
            "zfs-import*.service",
            "Import ZFS pools*",
            "zfs-load-module.service",
        ],
        why: text::ZFS_IMPORT,
        names: &["zpool.cache", "systemd-udev-settle.service"],
    },
    Remedy {
        units: &[
            "lvm2-pvscan@*",
            "lvm2-activation*.service",
            "lvm2-lvmetad.*",
        ],
        why: text::LVM,
        names: &["global_filter"],
    },
    Remedy {
        units: &["snap-*.mount", "var-lib-snapd-snap-*.mount"],
        why: text::SNAP_MOUNT,
        names: &["refresh.retain"],
    },
    Remedy {
        units: &[
            "dev-tpm*.device",
            "tpm2.target",
            "systemd-tpm2-*",
            "systemd-pcr*",
            "/dev/tpm*",
        ],
        why: text::TPM,
        names: &["TPM", "systemd.tpm2_wait"],
    },
    Remedy {
        units: &["systemd-hibernate-resume*"],
        why: text::RESUME,
        names: &["resume", "noresume"],
    },
    Remedy {
        units: &["network-online.target"],
        why: text::NETWORK_ONLINE,
        names: &[],
    },
    Remedy {
        units: &["local-fs.target"],
        why: text::LOCAL_FILE_SYSTEMS,
        names: &["/etc/fstab"],
    },
    Remedy {
        units: &["remote-fs.target"],
        why: text::REMOTE_FILE_SYSTEMS,
        names: &["/etc/fstab"],
    },
    Remedy {
        units: &["*.swap", "swap.target"],
        why: text::SWAP,
        names: &["/etc/fstab"],
    },
    Remedy {
        units: &["dracut-*.service", "dracut initqueue hook"],
        why: text::DRACUT,
        names: &["rd.timeout", "hostonly"],
    },
    Remedy {
        units: &["systemd-modules-load.service", "Load Kernel Modules"],
        why: text::MODULES,
        names: &["modules-load.d"],
    },
    Remedy {
        units: &[
            "nvidia-persistenced.service",
            "gpu-manager.service",
            "Detect the available GPUs*",
        ],
        why: text::GRAPHICS_DRIVER,
        names: &["graphics driver"],
    },
    Remedy {
        units: &["systemd-backlight@*"],
        why: text::BACKLIGHT,
        names: &["graphics driver", "video=", "systemd.restore_state"],
    },
    Remedy {
        units: &["systemd-rfkill*"],
        why: text::SAVED_STATE,
        names: &["systemd.restore_state"],
    },
    Remedy {
        units: &[
            "plymouth-read-write.service",
            "plymouth-start.service",
            "plymouth-switch-root*",
            "plymouth-quit.service",
        ],
        why: text::SPLASH,
        names: &["splash", "plymouth.enable=0", "graphics driver"],
    },
    Remedy {
        units: &[
            "systemd-random-seed.service",
            "haveged.service",
            "ssh.service",
            "sshd.service",
            "rng*.service",
        ],
        why: text::RANDOM,
        names: &["random.trust_cpu", "SYSTEMD_RANDOM_SEED_CREDIT"],
    },
    Remedy {
        units: &[
            "sshd-keygen*.service",
            "sshdgenkeys.service",
            "regenerate_ssh_host_keys.service",
            "resize2fs_once.service",
            "selinux-autorelabel*.service",
            "systemd-growfs*",
            "dkms.service",
        ],
        why: text::ONCE,
        names: &[],
    },
    Remedy {
        units: &[
            "docker.service",
            "containerd.service",
            "Docker Application Container Engine",
        ],
        why: text::DOCKER,
        names: &["docker.socket"],
    },
    Remedy {
        units: &[
            "libvirtd.service",
            "lxd.service",
            "lxd-*.service",
            "snap.lxd.*",
            "k3s*.service",
            "kubelet.service",
        ],
        why: text::GUESTS,
        names: &[],
    },
    Remedy {
        units: &[
            "mysql*.service",
            "mariadb*.service",
            "postgresql*.service",
            "mongod.service",
            "redis*.service",
            "elasticsearch.service",
            "influxdb.service",
            "slapd.service",
            "tomcat*.service",
            "jenkins.service",
        ],
        why: text::DATABASE,
        names: &[],
    },
    Remedy {
        units: &[
            "sendmail.service",
            "postfix*.service",
            "exim4.service",
            "apache2.service",
            "httpd.service",
            "nginx.service",
            "named.service",
            "bind9.service",
            "squid.service",
            "rabbitmq-server.service",
            "cups.service",
        ],
        why: text::NAME_LOOKUP,
        names: &["DNS", "/etc/hosts"],
    },
    Remedy {
        units: DISPLAY_MANAGERS,
        why: text::DISPLAY_MANAGER,
        names: &["graphics driver"],
    },
    Remedy {
        units: &["systemd-journald.service", "systemd-journal-flush.service"],
        why: text::JOURNAL,
        names: &["SystemMaxUse"],
    },
    Remedy {
        units: &[
            "apparmor.service",
            "snapd.apparmor.service",
            "Load AppArmor profiles",
        ],
        why: text::APPARMOR,
        names: &["write-cache"],
    },
    Remedy {
        units: &[
            "rc-local.service",
            "rc.local.service",
            "/etc/rc.local Compatibility",
        ],
        why: text::RC_LOCAL,
        names: &["/etc/rc.local"],
    },
    Remedy {
        units: &[
            "firewalld.service",
            "ufw.service",
            "iptables.service",
            "nftables.service",
            "netfilter-persistent.service",
            "shorewall*.service",
        ],
        why: text::FIREWALL,
        names: &["DNS"],
    },
    Remedy {
        units: &[
            "winbind.service",
            "smbd.service",
            "nmbd.service",
            "sssd.service",
            "nscd.service",
            "nslcd.service",
            "ypbind.service",
            "autofs.service",
            "rpc-statd*.service",
            "nfs-*.service",
            "rpcbind.service",
        ],
        why: text::DIRECTORY,
        names: &["DNS"],
    },
    Remedy {
        units: &[
            "waagent.service",
            "walinuxagent.service",
            "google-*.service",
            "amazon-ssm-agent.service",
            "open-vm-tools.service",
            "vmtoolsd.service",
            "vboxadd*.service",
            "qemu-guest-agent.service",
        ],
        why: text::GUEST_AGENT,
        names: &[],
    },
    Remedy {
        units: &[
            "systemd-tmpfiles-setup.service",
            "systemd-tmpfiles-clean.service",
        ],
        why: text::TMPFILES,
        names: &["tmp.mount"],
    },
    Remedy {
        units: &[
            "dev-*.mount",
            "sys-*.mount",
            "proc-*.mount",
            "run-*.mount",
            "tmp.mount",
        ],
        why: text::MOUNT_IN_MEMORY,
        names: &[],
    },
    Remedy {
        units: &["*.mount"],
        why: text::MOUNT,
        names: &["x-systemd.automount"],
    },
];

/// What helps against a long start of this unit; a log may have systemd's description of the
/// unit in place of its name.
pub(super) fn remedy(unit: &str) -> Option<&'static Remedy> {
    let fits = |r: &&Remedy| r.units.iter().any(|pattern| is_like(unit, pattern));
    REMEDIES.iter().find(fits)
}

/// The same as what follows another sentence; empty if nothing is known.
pub(super) fn more(unit: &str) -> String {
    remedy(unit).map_or_else(String::new, |r| format!(" {}", r.why))
}

/// The names in it.
pub(super) fn names(unit: &str) -> impl Iterator<Item = &'static str> + use<> {
    let found = remedy(unit).into_iter();
    found.flat_map(|r| r.names.iter().copied())
}

/// Whether a unit shows the login screen.
pub(super) fn is_display_manager(unit: &str) -> bool {
    DISPLAY_MANAGERS
        .iter()
        .any(|pattern| is_like(unit, pattern))
}

/// Whether a name is what a pattern with at most one `*` says.
fn is_like(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((begin, end)) => {
            let rest = name.strip_prefix(begin);
            rest.is_some_and(|rest| rest.ends_with(end))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{REMEDIES, names, remedy};

    #[test]
    fn a_pattern_fits_the_units_of_its_cause_only() {
        for (unit, first) in [
            ("netctl@wlan0.service", Some("DHCP")),
            ("dev-tpmrm0.device", Some("TPM")),
            ("snap-core-1.mount", Some("refresh.retain")),
            ("home.mount", Some("x-systemd.automount")),
            (
                "systemd-backlight@backlight:a.service",
                Some("graphics driver"),
            ),
            ("systemd-rfkill.service", Some("systemd.restore_state")),
            ("plymouth-read-write.service", Some("splash")),
        ] {
            assert!(remedy(unit).is_some(), "{unit}");
            assert_eq!(names(unit).next(), first, "{unit}");
        }
        assert!(remedy("networking.service.d").is_none());
        assert!(remedy("app.service").is_none());
        assert!(remedy("dev-sda1.device").is_none());
    }

    #[test]
    fn no_pattern_is_hidden_by_one_before_it() {
        for own in &REMEDIES {
            for pattern in own.units {
                let found = remedy(&pattern.replace('*', "x")).map(|r| r.why);
                assert_eq!(found, Some(own.why), "{pattern}");
            }
        }
    }
}
