//! The words of `findings::initramfs`.

use std::fmt::Display;

pub(in crate::findings) fn same_time(unpacking: impl Display) -> String {
    format!(
        "Decompressing the initramfs took {unpacking}. The findings on its compression, its \
         modules and its decompression all refer to this time."
    )
}

pub(in crate::findings) fn size(k: impl Display) -> String {
    format!(" of {k} KiB")
}

pub(in crate::findings) fn left_out(
    part: impl Display,
    bytes: impl Display,
    same: impl Display,
) -> String {
    format!(" This finding excludes {part} for {bytes} bytes of unused modules.{same}")
}

pub(in crate::findings) fn unpacking_why(
    size: impl Display,
    to: impl Display,
    left: impl Display,
) -> String {
    format!(
        "The kernel unpacks an initramfs{size} before the first program runs. Put fewer modules \
         into it, and use {to}, or no compression where storage is fast.{left}"
    )
}

pub(in crate::findings) fn crawls(rate: impl Display) -> String {
    format!(
        " It reads only {rate} KiB per second: the processor is far below its speed here. Check \
         the clock, the caches and the memory timing that the boot loader sets up."
    )
}

pub(in crate::findings) fn unpacking(time: impl Display) -> String {
    format!("The initramfs takes {time} to decompress")
}

pub(in crate::findings) fn unused(
    all: impl Display,
    n: impl Display,
    bytes: impl Display,
    is: impl Display,
    names: impl Display,
    more: impl Display,
) -> String {
    format!("{all}; {n} of them ({bytes} bytes) {is} not loaded: {names}{more}")
}

pub(in crate::findings) fn loaded(n: impl Display) -> String {
    format!("{n} modules are loaded")
}

pub(in crate::findings) fn unused_why(
    bytes: impl Display,
    all: impl Display,
    same: impl Display,
) -> String {
    format!(
        "{bytes} of its {all} bytes are modules that this boot did not load. They are read and \
         decompressed before the first program, and then discarded. Build the initramfs for \
         this machine only: `MODULES=dep`, `hostonly` in dracut, or a module list.{same}"
    )
}
