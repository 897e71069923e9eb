//! The words of `findings::kernel`.

use std::fmt::Display;

pub(in crate::findings) const UNSIGNED: &str =
    " Without these keys it does not verify module signatures either.";

pub(in crate::findings) const TRACER_FILES: &str = "The kernel creates the files of its tracers";

pub(in crate::findings) const TRACERS: &str = "The kernel sets up its tracers";

pub(in crate::findings) const NO_TRACING: &str =
    "no files below /sys/kernel/tracing for users of tracing";

pub(in crate::findings) fn certificates_why(beside: impl Display) -> String {
    format!(
        "The kernel parses the keys that sign its modules at boot, and verifies their own \
         signatures with slow public-key arithmetic.{beside}"
    )
}

pub(in crate::findings) fn stretch(
    from: impl Display,
    to: impl Display,
    length: impl Display,
) -> String {
    format!("from {from} to {to}: {length}")
}

pub(in crate::findings) fn absent(drivers: impl Display, all: impl Display) -> String {
    format!("{drivers} spent {all} looking for absent devices")
}

pub(in crate::findings) fn self_test(time: impl Display, name: impl Display) -> String {
    format!("The kernel tests itself for {time}: {name}")
}

pub(in crate::findings) fn long_module(module: &str, time: impl Display) -> String {
    format!("The module `{module}` takes {time} to initialize")
}

pub(in crate::findings) fn long_calls(
    calls: impl Display,
    time: impl Display,
    longest: &str,
) -> String {
    format!("{calls} of 50 ms or more, {time} in total; the longest is `{longest}`")
}
