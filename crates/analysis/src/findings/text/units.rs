//! The words of `findings::units`.

use std::fmt::Display;

pub(in crate::findings) const WAITED: &str = "First light waits for it.";

pub(in crate::findings) const FILLS: &str = "The critical chain has a wait of the same length that it does not explain: first light most \
     likely waited for it.";

pub(in crate::findings) const LATE: &str = "The default target does not wait for it, but systemd reports the end of startup only when it is \
     done.";

pub(in crate::findings) const UNKNOWN: &str =
    "The input does not show whether first light waited for it.";

pub(in crate::findings) const NOT_WAITED: &str =
    "It is not on the critical path, but it competed for CPU and disk with what is.";

pub(in crate::findings) const LONGER_WAIT: &str = "It is on the critical chain, but a longer wait follows there that the chain does not explain: \
     what causes that wait may not depend on it.";

pub(in crate::findings) const FIRST_LIGHT: &str = "first light";

pub(in crate::findings) const LAST_UNIT: &str = "the last unit";

pub(in crate::findings) const SHARED: &str =
    " The work that udev does meanwhile on the only CPU remains.";

pub(in crate::findings) const SPLASH: &str = " The splash disappears when the display manager takes over, so this is the time until then. \
     Without the unit systemd reports a shorter boot, but the desktop comes no earlier: look into \
     the display manager and the graphics driver.";

pub(in crate::findings) fn manager(unit: impl Display) -> String {
    format!(" {unit} starts for most of this time.")
}

pub(in crate::findings) fn took_from(
    name: impl Display,
    time: impl Display,
    from: impl Display,
    to: impl Display,
) -> String {
    format!("{name} took {time}, from {from} to {to}")
}

pub(in crate::findings) fn took(name: impl Display, time: impl Display) -> String {
    format!("{name} took {time}")
}

pub(in crate::findings) fn longest(unit: impl Display, who: impl Display) -> String {
    format!("{unit} delays {who}")
}

pub(in crate::findings) fn longest_why(units: impl Display, more: impl Display) -> String {
    format!("It delays the boot more than any other unit on the critical chain: {units}{more}.")
}

pub(in crate::findings) fn spare(name: impl Display, time: impl Display) -> String {
    format!("{name} runs during boot for {time}")
}

pub(in crate::findings) fn spare_why(waited: impl Display) -> String {
    format!("The boot works without it: mask it, or run it later. {waited}")
}

pub(in crate::findings) fn waits(
    name: impl Display,
    time: impl Display,
    what: impl Display,
) -> String {
    format!("{name} waits {time} for {what}")
}

pub(in crate::findings) fn waits_why(waited: impl Display, beside: impl Display) -> String {
    format!("It only waits, and delays every unit ordered after it. {waited}{beside}")
}

pub(in crate::findings) fn rebuild(name: impl Display, what: impl Display) -> String {
    format!("{name} rebuilds {what} at boot")
}

pub(in crate::findings) fn rebuild_why(waited: impl Display) -> String {
    format!("Generate it when the image is built instead. {waited}")
}

pub(in crate::findings) fn optional(name: impl Display, time: impl Display) -> String {
    format!("{name} starts before first light and takes {time}")
}

pub(in crate::findings) fn optional_why(waited: impl Display) -> String {
    format!("Many products can start it later, or do without it. {waited}")
}

pub(in crate::findings) fn journal_why(waited: impl Display) -> String {
    format!(
        "It copies the messages logged so far to /var/log/journal and scans large archived \
         journal files. {waited}"
    )
}

pub(in crate::findings) fn generators_ran(begin: impl Display, end: impl Display) -> String {
    format!("generators from {begin} to {end}")
}

pub(in crate::findings) fn generators(time: impl Display) -> String {
    format!("Unit generators take {time}")
}

pub(in crate::findings) fn missing_device(unit: impl Display) -> String {
    format!("systemd waits for a device that never appears: {unit}")
}

pub(in crate::findings) fn failed_device(unit: impl Display) -> String {
    format!("systemd waits for a device whose driver failed: {unit}")
}

pub(in crate::findings) const FAILED_DEVICE_WHY: &str = "The driver's probe failed before, so this device will not appear, and systemd waits up to \
     90 s for it. Repair the driver or switch the device off in the firmware, or mask the device \
     unit (`systemctl mask`).";

pub(in crate::findings) fn timed_out_again(count: i64) -> String {
    format!(
        " This boot waited {count} times in a row: the last time-out came that long after systemd \
         began."
    )
}

pub(in crate::findings) fn journal(name: impl Display, time: impl Display) -> String {
    format!("{name} takes {time} to write the journal to disk")
}

pub(in crate::findings) fn unlocks(unit: impl Display, time: impl Display) -> String {
    format!("{unit} takes {time}, most likely for a passphrase")
}

pub(in crate::findings) fn passphrase(time: impl Display) -> String {
    format!("The boot waits {time} for a passphrase")
}
