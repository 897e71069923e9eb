//! The words of `findings::order`.

use std::fmt::Display;

pub(in crate::findings) const ONE_CPU: &str =
    " This machine has one CPU, so only the part that waits gains: half of it.";

pub(in crate::findings) fn computes(unit: impl Display, time: impl Display) -> String {
    format!(
        " This machine has one CPU, so only the part that waits gains: all but the {time} of CPU \
         time that {unit} takes."
    )
}

pub(in crate::findings) fn needless_why(
    waits: impl Display,
    first: impl Display,
    time: impl Display,
    alone: impl Display,
) -> String {
    format!(
        "{waits} starts after {first}, but neither requires nor wants it. Only `After=` (or \
         `Before=` in the other unit) links them. If it uses nothing of it, remove that line: \
         it then starts {time} sooner, and both run in parallel.{alone}"
    )
}

pub(in crate::findings) fn ordered(waits: impl Display, first: impl Display) -> String {
    format!("{waits} is ordered after {first}")
}

pub(in crate::findings) fn needless(waits: impl Display, first: impl Display) -> String {
    format!("{waits} is ordered after {first} but does not use it")
}

pub(in crate::findings) fn took(
    unit: impl Display,
    start: impl Display,
    end: impl Display,
) -> String {
    format!("{unit} ran from {start} to {end}")
}
