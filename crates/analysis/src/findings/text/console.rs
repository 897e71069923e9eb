//! The words of `findings::console`.

use std::fmt::Display;

pub(in crate::findings) const ASSUMED: &str =
    ", assumed because the command line does not give a rate";

pub(in crate::findings) const FLUSHED: &str =
    ", the rate at which the console was flushed when it was enabled";

pub(in crate::findings) fn flush(length: impl Display) -> String {
    format!("the flush of what had been logged took {length}")
}

pub(in crate::findings) fn flush_why(length: impl Display) -> String {
    format!(
        "The kernel stops for {length} to write all that it has logged so far to the console. \
         Each later line costs more. The input lacks the start of the log, so the rate of the \
         line is unknown. Without a rate in `console=` it is often 9600 baud: add one \
         (`,115200n8`). If nobody reads this console, or the port does not exist, remove its \
         `console=`."
    )
}

pub(in crate::findings) fn first_line(lines: impl Display, text: impl Display) -> String {
    format!("the first of {lines} lines: {text}")
}

pub(in crate::findings) fn emulated_why(
    lines: impl Display,
    bytes: impl Display,
    baud: impl Display,
    time: impl Display,
) -> String {
    format!(
        "The kernel printed {lines} lines ({bytes} bytes) on a serial console. They arrived \
         faster than {baud} baud allows, so this is an emulated UART. On a board the bytes \
         alone take {time}."
    )
}

pub(in crate::findings) fn virtual_why(
    lines: impl Display,
    bytes: impl Display,
    baud: impl Display,
    time: impl Display,
) -> String {
    format!(
        "The kernel printed {lines} lines ({bytes} bytes) on a serial console and waited for \
         each byte. Virtual time counts only the instructions, not the line rate of the UART. \
         On a board at {baud} baud the bytes alone take {time}."
    )
}

pub(in crate::findings) fn messages_why(
    lines: impl Display,
    bytes: impl Display,
    time: impl Display,
    baud: impl Display,
    assumed: impl Display,
) -> String {
    format!(
        "The kernel printed {lines} lines ({bytes} bytes) on a serial console and waited for \
         each byte: {time} at {baud} baud{assumed}."
    )
}

pub(in crate::findings) fn initcalls_virtual_why(
    lines: impl Display,
    bytes: impl Display,
    calls: impl Display,
) -> String {
    format!(
        "`initcall_debug` sent {lines} lines ({bytes} bytes) on {calls} initcalls to the \
         console. Virtual time counts only the instructions, not the line rate of the UART."
    )
}

pub(in crate::findings) fn initcalls_why(
    lines: impl Display,
    bytes: impl Display,
    calls: impl Display,
    time: impl Display,
    baud: impl Display,
) -> String {
    format!(
        "`initcall_debug` sent {lines} lines ({bytes} bytes) on {calls} initcalls to the \
         console: {time} at {baud} baud. A production boot without it is faster."
    )
}

pub(in crate::findings) fn before_clock(time: impl Display) -> String {
    format!(
        " Of these, {time} are from an early console before the kernel's clock runs: no time in the \
         log contains them."
    )
}

pub(in crate::findings) fn faster(window: impl Display) -> String {
    format!(
        " These lines were written within {window}, which is less: this console is faster than \
         its rate says, or the kernel does not wait for it."
    )
}
