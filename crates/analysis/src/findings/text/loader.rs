//! The words of `findings::loader`.

use std::fmt::Display;

pub(in crate::findings) const SURPLUS: &str = "The boot loader reads more than the kernel";

pub(in crate::findings) const SURPLUS_OF: &str = "The boot loader reads more than its images";

pub(in crate::findings) fn countdown(time: impl Display) -> String {
    format!("The boot loader waits {time} for a key")
}

pub(in crate::findings) fn surplus(all: impl Display, needed: impl Display) -> String {
    format!("It reads {all} bytes, but the image has {needed}")
}

pub(in crate::findings) fn surplus_of(
    n: impl Display,
    all: impl Display,
    needed: impl Display,
) -> String {
    format!("For {n} images it reads {all} bytes, but they have {needed}")
}

pub(in crate::findings) fn surplus_why(why: impl Display, rest: impl Display) -> String {
    format!("{why}. The rest of {rest} is read for nothing. Read only the size of the image.")
}

pub(in crate::findings) fn checksums(images: impl Display) -> String {
    format!("The boot loader checksums {images}")
}

pub(in crate::findings) fn checksums_in(images: impl Display, time: impl Display) -> String {
    format!("The boot loader checksums {images} in {time}")
}

pub(in crate::findings) fn moved(time: impl Display) -> String {
    format!("The boot loader copies the kernel for {time} after loading it")
}

pub(in crate::findings) fn chatter_why(
    lines: impl Display,
    bytes: impl Display,
    time: impl Display,
    baud: impl Display,
) -> String {
    format!(
        "Firmware and boot loader printed {lines} lines ({bytes} bytes) and waited for each: \
         {time} at {baud} baud. Silence them with `silent=1` (needs CONFIG_SILENT_CONSOLE) and \
         a lower log level."
    )
}

pub(in crate::findings) const PROBE_WHY: &str = "If nothing boots from these devices, remove \
    them from `bootcmd`, `preboot` and `boot_targets`, or build U-Boot without their drivers. The \
    page of this finding lists the options of the build.";

pub(in crate::findings) fn probe(what: impl Display, time: impl Display) -> String {
    format!("{what} before the kernel starts: {time}")
}

pub(in crate::findings) fn unpacks_why(
    millions: impl Display,
    allowed: impl Display,
    took: impl Display,
) -> String {
    format!(
        "By its calibrated delay loop the CPU runs {millions} million instructions per second. \
         At that speed it decompresses this kernel in {allowed}, but it took {took}. The likely \
         cause is disabled caches: leave them on in the loader, or let the kernel turn them on \
         before it decompresses."
    )
}

pub(in crate::findings) fn unpacks(times: impl Display) -> String {
    format!("The kernel decompresses {times} times slower than the CPU allows")
}

pub(in crate::findings) fn took(took: impl Display) -> String {
    format!("decompression took {took}")
}

pub(in crate::findings) fn work(work: impl Display) -> String {
    format!("{work} instructions, from the count per byte")
}
