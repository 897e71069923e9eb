//! The words of `findings::in_place`.

use std::fmt::Display;

pub(in crate::findings) const WRITTEN: &str =
    " Keep written data on a JFFS2 of its own, and mount it after first light.";

pub(in crate::findings) fn packed_why(
    kind: impl Display,
    programs: impl Display,
    written: impl Display,
) -> String {
    format!(
        "The CPU can execute code directly from NOR flash, but this {kind} contains {programs} \
         bytes of compressed programs. The kernel decompresses each page into memory on first \
         use. Build a cramfs with uncompressed programs (`mkcramfs -X -X`, CONFIG_CRAMFS_MTD), \
         which is mapped from flash. The kernel can run from flash too \
         (CONFIG_XIP_KERNEL).{written}"
    )
}

pub(in crate::findings) fn programs(kind: impl Display, programs: impl Display) -> String {
    format!("{kind} with {programs} bytes of compressed programs")
}
