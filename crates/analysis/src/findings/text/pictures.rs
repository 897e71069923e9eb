//! The words of `findings::pictures`.

use std::fmt::Display;

pub(in crate::findings) fn decoded_why(program: impl Display) -> String {
    format!(
        "`{program}` decodes a compressed picture on the CPU that the boot needs. Store raw \
         pixels in the initramfs or the root and copy them to the framebuffer with `cat`: that \
         needs no decoder and no library."
    )
}

pub(in crate::findings) fn late_why(name: impl Display, drawn: impl Display) -> String {
    format!(
        "{name} draws the first picture {drawn} into the boot. Let the boot loader draw it, or \
         copy raw pixels to the framebuffer in the first program of the initramfs: it then \
         appears as soon as the display works."
    )
}

pub(in crate::findings) fn drawn(name: impl Display, drawn: impl Display) -> String {
    format!("{name} was active at {drawn}")
}
