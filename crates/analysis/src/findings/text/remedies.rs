//! The words of `findings::remedies`.

pub(in crate::findings) const IFUPDOWN: &str = "It waits for the link and the address (DHCP) of every interface that \
     /etc/network/interfaces marks `auto`. Mark those that may be without cable or network \
     `allow-hotplug` instead, remove those that do not exist, or give them static addresses.";

pub(in crate::findings) const NETWORK_SCRIPTS: &str = "It brings up the interfaces one after another, and waits for the address (DHCP) of each. Set \
     `ONBOOT=no` for those that may be without cable or network, or give them static addresses.";

pub(in crate::findings) const NETCTL: &str = "It is done when the profile has its address (DHCP), or the time-out is over. Enable \
     netctl-auto@ or netctl-ifplugd@ for the interface in place of the profile: they start it when \
     the network is there.";

pub(in crate::findings) const WICKED: &str = "It waits for the address (DHCP) of every interface with `STARTMODE=auto`, up to \
     WAIT_FOR_INTERFACES (/etc/sysconfig/network/config). Set `STARTMODE=hotplug` for those that may \
     be without network.";

pub(in crate::findings) const DHCP_CLIENT: &str = "It waits until an interface has its address (DHCP). Let the client go to the background at \
     once (`dhcpcd -b`; `networking.dhcpcd.wait = \"background\"` in NixOS; `Wait for network at \
     boot` off in raspi-config), or set a static address.";

pub(in crate::findings) const NETWORK_MANAGER: &str = "It is started once it answers on D-Bus, before any address is there. What takes long before \
     that is a slow disk, D-Bus, or the driver of an interface: see `journalctl -b -u \
     NetworkManager`.";

pub(in crate::findings) const NETWORKD_ONLINE: &str = "Set `RequiredForOnline=no` in the .network file of interfaces that may be without network, or \
     wait for any one of them (`--any`), if something does need the network.";

pub(in crate::findings) const NETWORK_MANAGER_ONLINE: &str = "It waits for every connection that is activated automatically. `systemctl list-dependencies \
     --reverse network-online.target` shows what asks for it, such as a mount of the network: let \
     that wait by itself.";

pub(in crate::findings) const VPN: &str = "It waits for an answer from its peer, whose name DNS must find first. Start it after the \
     network is there (`After=network-online.target`), and order nothing after it that does not \
     use it.";

pub(in crate::findings) const WIRELESS: &str = "It waits for its interface: the driver of a wireless adapter may load firmware first, or \
     wait for it. The kernel log shows that.";

pub(in crate::findings) const ZFS_IMPORT: &str = "It waits until udev has processed every device (systemd-udev-settle.service), and searches \
     disks for pools. With an up-to-date /etc/zfs/zpool.cache (`zpool set cachefile=`) it searches \
     only the pools' own disks; a missing or slow disk still takes long.";

pub(in crate::findings) const LVM: &str = "It searches block devices for logical volumes. Leave out those that have none \
     (`global_filter` or a devices file, lvm.conf). Without logical volumes mask it.";

pub(in crate::findings) const SNAP_MOUNT: &str = "Every revision of every snap is a file system of its own that is mounted at boot. Remove snaps \
     that nobody uses, and old revisions (`snap set system refresh.retain=2`).";

pub(in crate::findings) const TPM: &str = "systemd waits for a TPM if the firmware says that there is one. If the kernel's driver is \
     missing or fails, load it, or disable the TPM in the firmware. If nothing uses the TPM, mask \
     dev-tpm0.device, dev-tpmrm0.device and tpm2.target, or boot with `systemd.tpm2_wait=0`.";

pub(in crate::findings) const RESUME: &str = "It waits for the swap device that may hold a hibernated system. If that device has a new UUID or \
     is gone, correct or remove `resume=` (and /etc/initramfs-tools/conf.d/resume), and rebuild the \
     initramfs; `noresume` skips it.";

pub(in crate::findings) const NETWORK_ONLINE: &str = "Such a target stands for a unit that waits for the network \
     (NetworkManager-wait-online.service, systemd-networkd-wait-online.service, a DHCP client). \
     `systemctl list-dependencies --reverse network-online.target` shows what asks for it.";

pub(in crate::findings) const LOCAL_FILE_SYSTEMS: &str = "It waits for every file system of /etc/fstab: for its disk, its check and its mount. Give those \
     that the boot does not need `nofail,x-systemd.automount`.";

pub(in crate::findings) const REMOTE_FILE_SYSTEMS: &str = "It waits for every file system of the network in /etc/fstab. Give those that the boot does not \
     need `nofail,x-systemd.automount`.";

pub(in crate::findings) const SWAP: &str = "It waits for the device of the swap space. A swap space that was made again has a new UUID: \
     correct the line in /etc/fstab, or give it `nofail`.";

pub(in crate::findings) const DRACUT: &str = "The initramfs waits for what its command line names: the root, and the devices of `resume=`, \
     `rd.lvm.lv=` and `rd.luks.uuid=`. Remove those that no longer exist, and rebuild the initramfs \
     for this machine only (`dracut --hostonly --force`). `rd.timeout` limits the wait.";

pub(in crate::findings) const MODULES: &str = "It loads the modules that /etc/modules-load.d and /etc/modules list, and waits until each has \
     initialized its devices. Remove those that udev loads anyway, and those that nobody needs.";

pub(in crate::findings) const GRAPHICS_DRIVER: &str = "It waits for the graphics driver, which may take seconds to load and to initialize the card. \
     Load that early (in the initramfs), or mask the unit: a desktop works without it.";

pub(in crate::findings) const SAVED_STATE: &str = "It waits for its device, and restores what was set before the last shutdown. Mask it, or turn \
     it off with `systemd.restore_state=0`, if the default will do.";

pub(in crate::findings) const BACKLIGHT: &str = "It waits for the graphics driver, and restores the brightness of the last shutdown. A driver that \
     looks for a screen at an output without one (a TV, a dock) takes long: turn that output off \
     (`video=SVIDEO-1:d` on the kernel command line, with the name from /sys/class/drm). Or mask the \
     unit, or turn it off with `systemd.restore_state=0`.";

pub(in crate::findings) const SPLASH: &str = "It belongs to the splash screen, which waits for the graphics driver and reads its pictures while \
     other programs need the disk. Without `splash` on the kernel command line, or with \
     `plymouth.enable=0`, it does not start.";

pub(in crate::findings) const RANDOM: &str = "Before Linux 5.6 it may wait until the kernel has gathered enough random numbers. Trust the \
     processor's generator (`random.trust_cpu=on`), credit the saved seed \
     (`systemd.setenv=SYSTEMD_RANDOM_SEED_CREDIT=1`), or give a virtual machine a virtio-rng \
     device.";

pub(in crate::findings) const ONCE: &str = "Such work is done at the first boot, or after an update, and should not come again. Measure the \
     next boot; if it comes again, its result is not kept. An image can contain the result.";

pub(in crate::findings) const DOCKER: &str = "It sets up its networks and starts containers before it reports that it is ready. If no \
     container must run at boot, enable docker.socket in place of docker.service: then the first \
     command starts it.";

pub(in crate::findings) const GUESTS: &str = "It starts containers or virtual machines. If none must run at boot, disable the unit: most of \
     these services have a socket that starts them when somebody needs them.";

pub(in crate::findings) const DATABASE: &str = "A server reports that it is ready when it has opened and checked its data, which takes longer \
     after an unclean shutdown and from a slow disk. Order only its users after it. If the boot \
     target need not include it, start it by a timer or a socket.";

pub(in crate::findings) const NAME_LOOKUP: &str = "A server that looks up its own name waits for DNS, for seconds if no server answers. Put the \
     machine's full name into /etc/hosts, and start the unit when the network is there.";

pub(in crate::findings) const DISPLAY_MANAGER: &str = "It starts the X server or a compositor, and so waits for the graphics driver. See what that \
     waits for (`journalctl -b`, /var/log/Xorg.0.log), and load it early (in the initramfs).";

pub(in crate::findings) const JOURNAL: &str = "A large journal takes long to open: `journalctl --vacuum-size=100M`, and `SystemMaxUse=` in \
     journald.conf.";

pub(in crate::findings) const APPARMOR: &str = "It compiles profiles whose compiled form is not in the cache (/var/cache/apparmor). Keep them \
     (`write-cache` in /etc/apparmor/parser.conf) where they survive a boot, and remove profiles of \
     programs that are not installed.";

pub(in crate::findings) const RC_LOCAL: &str = "The unit is active when the last command of /etc/rc.local is done. Give what takes long a unit \
     of its own, or start it in the background (`&`).";

pub(in crate::findings) const FIREWALL: &str = "It loads its rules before the network is up. Names of hosts in them wait for DNS: write \
     addresses. Load all rules at once (`iptables-restore`, `nft -f`).";

pub(in crate::findings) const DIRECTORY: &str = "It waits for a server on the network, or for DNS. Order nothing after it that does not use it, \
     and mask it if nothing does.";

pub(in crate::findings) const GUEST_AGENT: &str = "It talks to the host or the cloud, and the machine does its work without it. Order nothing \
     after it that does not need its answer.";

pub(in crate::findings) const TMPFILES: &str = "It creates and empties directories. Many files in /tmp or /var/tmp take long to remove: a /tmp \
     in memory (tmp.mount) is empty at each boot.";

pub(in crate::findings) const MOUNT_IN_MEMORY: &str = "Such a mount has no device and takes no time of its own: the machine was busy with something \
     else meanwhile.";

pub(in crate::findings) const MOUNT: &str = "A mount waits for its device or server, or for a journal that is replayed after an unclean \
     shutdown. A file system that the boot does not need can be mounted when it is first used: \
     `noauto,x-systemd.automount` in /etc/fstab, and `_netdev` for one on the network.";
