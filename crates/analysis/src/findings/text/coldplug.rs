//! The words of `findings::coldplug`.

use std::fmt::Display;

pub(in crate::findings) const ONE_CPU: &str =
    " This machine has one CPU, so the time includes other work that ran on it.";

pub(in crate::findings) fn maker_why(command: impl Display) -> String {
    format!(
        "`{command}` processes all devices in sysfs, although the kernel has already created \
         their nodes in devtmpfs. Only modules that devices request, and rules for names and \
         owners, need it. Most of these can wait until after first light."
    )
}

/// How mdev takes the place of udev.
pub(in crate::findings) const MDEV: &str = " Or let mdev of BusyBox take the place of udev (`CONFIG_MDEV=y`; in Buildroot \
     `BR2_ROOTFS_DEVICE_CREATION_DYNAMIC_MDEV=y`, in Yocto \
     `VIRTUAL-RUNTIME_dev_manager = \"busybox-mdev\"`): delete the lines that start udevd, \
     `udevadm trigger` and `udevadm settle`, and write `mdev -s` in their place, and `mdev -d` for \
     devices that come later. Names and owners go into /etc/mdev.conf; its line \
     `$MODALIAS=.* root:root 660 @modprobe \"$MODALIAS\"` loads modules. In the lab udev took 901 ms \
     for 188 devices at 500 MIPS, and `mdev -s` 53 ms.";

pub(in crate::findings) fn ran(name: impl Display, time: impl Display) -> String {
    format!("{name} ran for {time}")
}

pub(in crate::findings) fn trigger_why(beside: impl Display) -> String {
    format!(
        "It requests the event of every device, and udev runs its rules for each on the CPUs \
         that first light needs. Add a drop-in that runs `udevadm trigger --subsystem-match=` \
         for the devices that first light needs, and trigger the rest later.{beside}"
    )
}
