//! The words of `findings::driver_remedies`, each as what follows another sentence.

pub(in crate::findings) const FLOPPY: &str = "Without a floppy drive disable the controller in the firmware's setup, or keep the driver \
     from loading (`modprobe.blacklist=floppy`).";

pub(in crate::findings) const TPM: &str = "The TPM answers late, or its interrupt does not arrive: try `tpm_tis.interrupts=0`, update the \
     firmware, or disable the TPM in the firmware's setup if nothing uses it.";

pub(in crate::findings) const ACPI: &str =
    "The firmware's ACPI tables fail here, and may be what takes this long: update the firmware.";

pub(in crate::findings) const MD: &str = "The kernel waits for every device before it searches for RAID arrays of an old kind: \
     `raid=noautodetect`, or CONFIG_MD_AUTODETECT=n. A newer kind is found without that.";

pub(in crate::findings) const DISPLAY: &str = "The graphics driver waits for an output that shows nothing, often for a connector that does \
     not exist. Turn that off with `video=NAME:d`, with its name from /sys/class/drm (such as \
     `video=SVIDEO-1:d`).";

pub(in crate::findings) const DISK: &str = "A drive does not answer. Check the drive, its cable and its power; if there is none, disable \
     the port in the firmware's setup.";

pub(in crate::findings) const BTRFS: &str = "A large btrfs takes long to mount: `space_cache=v2`, and a block group tree (`btrfstune \
     --convert-to-block-group-tree`, from Linux 6.1 on) shorten that.";

pub(in crate::findings) const NVME: &str = "An interrupt of the disk was lost, or it did not wake up: update its firmware, or try \
     `pcie_aspm=off` and `nvme_core.default_ps_max_latency_us=0`.";

pub(in crate::findings) const MANAGEMENT_ENGINE: &str = "The Management Engine does not answer. Nothing that most systems need depends on its driver: \
     `modprobe.blacklist=mei_me`.";

pub(in crate::findings) const USB: &str = "A USB device does not answer. Unplug what is there to find it; a broken built-in device can \
     often be disabled in the firmware's setup.";

pub(in crate::findings) const IDE: &str = "The kernel searches for an IDE drive that is not there: `hdX=noprobe` with its letter, or \
     `ide_core.noprobe=` in later kernels.";

pub(in crate::findings) const XEN: &str = "The host offers a device and does not complete it. Remove the device from the configuration of \
     the guest, or keep its driver from loading.";

pub(in crate::findings) const RAID_CONTROLLER: &str = "The firmware of the controller answers when it has started its disks. Look into its own setup \
     (delayed spin-up); if the root is not on it, load its driver after the initramfs.";
