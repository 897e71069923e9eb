//! The words of `findings::view`.

use std::fmt::Display;

/// What stands for a line that says nothing.
pub(in crate::findings) const EMPTY_LINE: &str = "an empty line";

pub(in crate::findings) fn cmdline(text: impl Display) -> String {
    format!("command line: {text}")
}

pub(in crate::findings) fn took(name: impl Display, time: impl Display) -> String {
    format!("{name} took {time}")
}
