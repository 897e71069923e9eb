//! The words of `findings::found`.

use std::fmt::Display;

pub(in crate::findings) fn assumed_speed(millions: impl Display) -> String {
    format!(" The CPU speed is unknown; {millions} million instructions per second are assumed.")
}
