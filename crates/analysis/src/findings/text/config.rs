//! The words of `findings::config`.

use std::fmt::Display;

pub(in crate::findings) fn unused_why(first: impl Display) -> String {
    format!(
        "{first} and similar initcalls run at every boot, and this boot shows no use of them. \
         Build them as modules: they then load on demand."
    )
}

pub(in crate::findings) fn packed_twice_why(source: impl Display) -> String {
    format!(
        "The initramfs ({source}) is compressed, and then compressed again as part of the \
         kernel image. The kernel decompresses it twice, and the second compression makes \
         nothing smaller."
    )
}
