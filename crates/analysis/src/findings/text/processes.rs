//! The words of `findings::processes`.

use std::fmt::Display;

pub(in crate::findings) fn ran(name: impl Display, times: impl Display) -> String {
    format!("{name} ran {times}")
}

pub(in crate::findings) fn forks_why(count: impl Display, middle: impl Display) -> String {
    format!(
        "{count} short programs ran before first light, with a median lifetime of {middle}. \
         Scripts fork for each pipeline, each command substitution and each `test` that is not \
         a builtin. Use one script, builtins, or a single program that does it all."
    )
}

pub(in crate::findings) fn forks(count: impl Display) -> String {
    format!("Scripts start {count} short programs")
}

pub(in crate::findings) fn interpreter(
    name: impl Display,
    pid: impl Display,
    time: impl Display,
) -> String {
    format!("{name} (process {pid}) took {time}")
}

pub(in crate::findings) fn interpreters(start: impl Display) -> String {
    format!("{start} before first light")
}

pub(in crate::findings) fn slept(command: impl Display, time: impl Display) -> String {
    format!("`{command}` took {time}")
}

pub(in crate::findings) fn sleeps(all: impl Display) -> String {
    format!("Scripts sleep {all} before first light")
}

pub(in crate::findings) fn missed(
    of_folder: impl Display,
    n: impl Display,
    folder: impl Display,
) -> String {
    format!("{of_folder} of {n} failed lookups were in {folder}")
}

pub(in crate::findings) fn misses(n: impl Display) -> String {
    format!("The dynamic linker looks up {n} libraries where they are not")
}

pub(in crate::findings) fn by(p: impl Display) -> String {
    format!(" in process {p}")
}

pub(in crate::findings) fn libraries(count: impl Display, who: impl Display) -> String {
    format!("{count} libraries are loaded{who}")
}

pub(in crate::findings) fn loading(first: impl Display, time: impl Display) -> String {
    format!("from {first} on, finding, reading and mapping all of them took {time}")
}
