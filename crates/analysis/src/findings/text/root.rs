//! The words of `findings::root`.

use std::fmt::Display;

pub(in crate::findings) fn menu(time: impl Display) -> String {
    format!("A boot menu waits {time}")
}

pub(in crate::findings) fn mounted(folder: impl Display, option: impl Display) -> String {
    format!("{folder} is mounted with `{option}`")
}

pub(in crate::findings) fn mounted_why(option: impl Display, what: impl Display) -> String {
    format!("With `{option}` {what}. Remove the option.")
}

pub(in crate::findings) fn mount(
    device: impl Display,
    folder: impl Display,
    options: impl Display,
) -> String {
    format!("{device} on {folder}: {options}")
}

pub(in crate::findings) fn symbols(path: impl Display, n: impl Display) -> String {
    format!("{path}: {n} bytes of symbols and debugging data")
}

pub(in crate::findings) fn unstripped_why(count: impl Display, total: impl Display) -> String {
    format!(
        "{count} programs and libraries contain {total} bytes that are never used at run time. \
         A compressed or copied root loads them anyway. Strip them."
    )
}
