//! The words of `findings::falcon`. `first` is the first stage of a boot loader, `second`
//! what it starts.

use std::fmt::Display;

pub(in crate::findings) fn starts(first: &str) -> String {
    format!("{first} starts")
}

pub(in crate::findings) fn proper(second: &str, time: impl Display) -> String {
    format!("{second} takes {time} until the kernel starts")
}

pub(in crate::findings) fn title(first: &str, second: &str, time: impl Display) -> String {
    format!("{first} could start the kernel directly, without {time} of {second}")
}

/// How both explanations begin.
fn only(first: &str, second: &str, time: impl Display) -> String {
    format!(
        "{second} takes {time} until the kernel starts. If {first} loads the kernel and its \
         device tree itself, only"
    )
}

pub(in crate::findings) fn measured(
    first: &str,
    second: &str,
    time: impl Display,
    stays: impl Display,
) -> String {
    format!(
        "{} the {stays} of loading them remain.",
        only(first, second, time)
    )
}

pub(in crate::findings) fn modelled(
    first: &str,
    second: &str,
    time: impl Display,
    stays: impl Display,
) -> String {
    format!(
        "{} the loading remains. This boot does not show how long that takes; {stays} is assumed.",
        only(first, second, time)
    )
}

pub(in crate::findings) fn countdown(time: impl Display) -> String {
    format!(
        " The saving leaves out the {time} of waiting for a key: `bootdelay=0` removes it \
         without other changes."
    )
}
