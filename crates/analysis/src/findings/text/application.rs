//! The words of `findings::application`.

use std::fmt::Display;

pub(in crate::findings) fn file(name: impl Display, n: impl Display) -> String {
    format!("{name} ({n} bytes)")
}

pub(in crate::findings) fn of_files(files: impl Display, names: impl Display) -> String {
    format!(" of {files}, mostly of {names}")
}

#[expect(
    clippy::too_many_arguments,
    reason = "one for each figure of the sentence"
)]
pub(in crate::findings) fn waits_why(
    name: impl Display,
    before: impl Display,
    waited: impl Display,
    reads: impl Display,
    bytes: impl Display,
    of_files: impl Display,
    free: impl Display,
    stream: impl Display,
) -> String {
    format!(
        "`{name}` started {before} before first light. It and its children waited {waited} for \
         {reads} ({bytes} bytes{of_files}). Before that the device was idle for {free}, and \
         these bytes take {stream}. Prefetch them in disk order while other programs compute: \
         use `firstlight prefetch record` and `firstlight prefetch install`, or `cat FILE \
         >/dev/null &` early in the boot. This time is part of `small-reads`."
    )
}

pub(in crate::findings) fn first_read(reads: impl Display) -> String {
    format!("the first of {reads}")
}

pub(in crate::findings) fn waits(name: impl Display, waited: impl Display) -> String {
    format!("{name} waits {waited} for its reads")
}

pub(in crate::findings) fn started(name: impl Display) -> String {
    format!("{name} starts")
}
