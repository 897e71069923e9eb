//! The words of `findings::hardware`.

use std::fmt::Display;

pub(in crate::findings) fn poll(function: impl Display, time: impl Display) -> String {
    format!("`{function}` waits {time} for hardware")
}

pub(in crate::findings) fn poll_why(what: impl Display) -> String {
    format!("It {what}.")
}

pub(in crate::findings) fn complaints(title: impl Display, count: impl Display) -> String {
    format!("{title} ({count} messages in the log)")
}

pub(in crate::findings) fn empty_ports(time: impl Display, ports: impl Display) -> String {
    format!("The kernel waits {time} for {ports} without a disk")
}

pub(in crate::findings) fn silence(gap: impl Display, next: impl Display) -> String {
    format!("The kernel logs nothing for {gap} before `{next}`")
}
