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
