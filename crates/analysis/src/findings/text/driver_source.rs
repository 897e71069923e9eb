//! The words of `findings::driver_source`.

use std::fmt::Display;

pub(in crate::findings) fn title(function: &str, time: impl Display, file: &str) -> String {
    format!("`{function}` takes {time}: {file}")
}

pub(in crate::findings) fn declared(function: &str, option: Option<&str>) -> String {
    match option {
        Some(option) => format!("{function} is built by CONFIG_{option}"),
        None => format!("{function} is always built"),
    }
}

pub(in crate::findings) fn took(name: &str, time: impl Display) -> String {
    format!("{name} took {time}")
}

pub(in crate::findings) fn why(
    module: Option<&str>,
    (waits, busy): (usize, usize),
    parameters: &[String],
) -> String {
    let module = match module {
        Some(name) => format!(
            "Build it as the module `{name}`, and load that when it is needed; \
             `late-modules={name}` loads it after the boot."
        ),
        None => "It cannot be a module, or is one already.".to_owned(),
    };
    let listed =
        " The file waits for fixed times, which are listed: check them against the data sheet.";
    let waits = match (waits, busy) {
        (0, _) => String::new(),
        (_, 0) => format!("{listed} Asynchronous probing lets the boot go on meanwhile."),
        (all, busy) if all == busy => {
            format!("{listed} They keep the processor busy: sleep instead.")
        }
        (_, busy) => format!("{listed} {busy} of them keep the processor busy: sleep instead."),
    };
    let parameters = match parameters {
        [] => String::new(),
        some => format!(" Its parameters are {}.", some.join(", ")),
    };
    format!("{module}{waits}{parameters}")
}
