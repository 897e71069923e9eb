//! The words of `findings::hardware`.

use std::fmt::Display;

pub(in crate::findings) fn poll(function: impl Display, time: impl Display) -> String {
    format!("`{function}` waits {time} for hardware")
}

pub(in crate::findings) fn poll_why(what: impl Display) -> String {
    format!("It {what}.")
}

pub(in crate::findings) fn complaints(title: impl Display, count: usize) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{title} ({count} message{s} in the log)")
}

pub(in crate::findings) const MISSING_FIRMWARE: &str = "The kernel found no file, and waits up to 60 s for a program that brings it. udev no longer \
     does. Add the file that the driver asks for, or let the kernel fail at once.";

pub(in crate::findings) fn empty_ports(time: impl Display, ports: impl Display) -> String {
    format!("The kernel waits {time} for {ports} without a disk")
}

pub(in crate::findings) const OF_10_S: &str = " 10 s is how long the kernel waits for missing suppliers of devices \
     (`deferred_probe_timeout=`).";

pub(in crate::findings) const OF_30_S: &str = " 30 s is how long an initramfs waits for the device to resume from: check `resume=` and \
     RESUME in initramfs.conf.";

pub(in crate::findings) const OF_60_S: &str =
    " 60 s is how long the kernel waits for a firmware file that no program delivers.";

pub(in crate::findings) const OF_120_S: &str =
    " 120 s is how long `ip=` waits for the carrier of a network.";

pub(in crate::findings) const OF_TESTS: &str = " At this point many kernels test their built-in ciphers, which \
     `cryptomgr.notests` skips: a broken cipher driver is then not detected.";

pub(in crate::findings) fn silence(gap: impl Display, next: impl Display) -> String {
    format!("The kernel logs nothing for {gap} before `{next}`")
}

pub(in crate::findings) fn silences(
    times: impl Display,
    all: impl Display,
    next: impl Display,
) -> String {
    format!("The kernel waits {times} times, {all} in total, for the same: `{next}`")
}

pub(in crate::findings) const AGAIN: &str = " Each wait ends with the same message: a device does not answer, and its driver tries again or \
     tries the next one. Disconnect the device, disable its port in the firmware or exclude it on \
     the kernel command line.";

pub(in crate::findings) fn told_work(name: impl Display) -> String {
    format!("The lines around it name what took this long: {name}.")
}

pub(in crate::findings) fn told_driver(name: impl Display) -> String {
    format!(
        "Both lines around it are of `{name}`: its driver was at work, or waited for its device. \
         Boot once with `initcall_debug` and `log_buf_len=4M`; `firstlight blame` then names the \
         call."
    )
}

pub(in crate::findings) const IN_INITRAMFS: &str = "The initramfs runs its programs here, and none of them logs anything. A script waits \
     for a device or a fixed time, or a program or module works in silence. Boot once with \
     `rd.debug` (dracut) or `debug` (initramfs-tools).";

pub(in crate::findings) const BEFORE_MOUNTS: &str = "It ends with a mount, which is init's. Init mounts when udev has handled all devices \
     (`udevadm settle`) and `fsck` has checked what /etc/fstab names, and a disk may have to \
     start up for it. Look for a rule or a program of udev that waits, and mount late what the \
     boot does not need (`noauto`, `nofail`, or a pass of 0).";

pub(in crate::findings) fn programs_silence(gap: impl Display, next: impl Display) -> String {
    format!("Nothing is logged for {gap} before `{next}`")
}

pub(in crate::findings) fn programs_silences(
    times: impl Display,
    all: impl Display,
    next: impl Display,
) -> String {
    format!("Nothing is logged {times} times, {all} in total, before the same: `{next}`")
}

pub(in crate::findings) const OF_ATA: &str =
    " The drive does not answer a command that reads a log by DMA; libata can do without it.";

pub(in crate::findings) const NO_ATA_LOG: &str = "the drive's logs are read without DMA";

pub(in crate::findings) const NO_RESUME: &str = "a hibernated system is not resumed";

pub(in crate::findings) fn ended_tests(time: impl Display, line: impl Display) -> String {
    format!(" Another {time} ends with `{line}`.")
}

pub(in crate::findings) fn more_tests(time: impl Display, line: impl Display) -> String {
    format!(" Another {time} of such tests follow `{line}`.")
}
