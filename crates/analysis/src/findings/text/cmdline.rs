//! The words of `findings::cmdline`.

use std::fmt::Display;

pub(in crate::findings) fn debugging(word: impl Display) -> String {
    format!("`{word}` is on the kernel command line")
}

pub(in crate::findings) fn debugging_why(what: impl Display) -> String {
    format!("It {what}; production systems do not need it.")
}

pub(in crate::findings) fn root_delay_why(seconds: impl Display) -> String {
    format!(
        "The kernel sleeps {seconds} s before it looks for the root device, even if the device \
         is already there. `rootwait` waits only until it appears."
    )
}

pub(in crate::findings) fn root_delay(word: impl Display, seconds: impl Display) -> String {
    format!("`{word}` delays the boot by {seconds} s")
}

pub(in crate::findings) fn root_wait(time: impl Display) -> String {
    format!("The kernel waits {time} for the root device")
}

/// `delay`: between the line by which the driver names a USB stick and the first answer.
pub(in crate::findings) fn root_on_stick(delay: impl Display) -> String {
    format!(
        "The root is on a USB stick. The USB storage driver waits {delay} before it scans the stick. \
         `usb-storage.delay_use=0` removes this wait."
    )
}

pub(in crate::findings) const STICK_COST: &str =
    "a stick that is not ready at once is found late or not at all";

pub(in crate::findings) fn root_type_why(kind: impl Display) -> String {
    format!(
        "Without `rootfstype=` the kernel probes the root device with each built-in file system \
         in turn before it reaches the right one, {kind}."
    )
}

pub(in crate::findings) fn slow_console(baud: impl Display) -> String {
    format!("The serial console runs at {baud} baud")
}

pub(in crate::findings) fn slow_console_why(
    bytes: impl Display,
    now: impl Display,
    usual: impl Display,
) -> String {
    format!(
        "{bytes} bytes go to the console before first light, and every writer waits for them. \
         They take {now}; at 115200 baud they take {usual}."
    )
}

pub(in crate::findings) fn network(time: impl Display) -> String {
    format!("The kernel takes {time} to configure the network")
}
