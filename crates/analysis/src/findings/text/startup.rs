//! The words of `findings::startup`.

use std::fmt::Display;

pub(in crate::findings) fn log_buffer_why(bytes: impl Display) -> String {
    format!(
        "The kernel reserves {bytes} bytes for its log, plus four and a half times as much for \
         descriptors. It clears all of it before anything else starts. Without `initcall_debug` \
         the usual 256 KiB hold all lines of a boot: remove the parameter."
    )
}
