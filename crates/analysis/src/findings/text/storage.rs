//! The words of `findings::storage`.

use std::fmt::Display;

pub(in crate::findings) fn ubi(time: impl Display) -> String {
    format!("UBI scans its flash for {time}")
}

pub(in crate::findings) fn jffs2(time: impl Display) -> String {
    format!("JFFS2 takes {time} to mount")
}

pub(in crate::findings) const SUMMARY_UNREAD: &str = "JFFS2 reads every node of the flash when it \
    is mounted, as this kernel is built without CONFIG_JFFS2_SUMMARY. Build it with that option, and \
    apply `jffs2=summaries` to the image. One without the other saves nothing.";

pub(in crate::findings) fn read(
    bytes: impl Display,
    sector: impl Display,
    took: impl Display,
) -> String {
    format!("{bytes} bytes at sector {sector}: {took}")
}
