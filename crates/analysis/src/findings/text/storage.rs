//! The words of `findings::storage`.

use std::fmt::Display;

pub(in crate::findings) fn ubi(time: impl Display) -> String {
    format!("UBI scans its flash for {time}")
}

pub(in crate::findings) fn jffs2(time: impl Display) -> String {
    format!("JFFS2 takes {time} to mount")
}

pub(in crate::findings) fn read(
    bytes: impl Display,
    sector: impl Display,
    took: impl Display,
) -> String {
    format!("{bytes} bytes at sector {sector}: {took}")
}
