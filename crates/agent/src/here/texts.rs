//! The kernel's short files as text.

use crate::sys::read_kernel_file;

/// The text of a kernel file, without zeros, newlines and spaces at its end; empty if the file
/// cannot be read.
pub(super) fn text_of(path: &str) -> String {
    read_kernel_file(path).map_or_else(
        |_| String::new(),
        |bytes| {
            // Texts of the device tree end with a zero byte.
            let text = String::from_utf8_lossy(&bytes);
            text.trim_end_matches(['\0', '\n', ' ']).to_owned()
        },
    )
}
