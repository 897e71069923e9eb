//! The words of `findings::relocations`.

use std::fmt::Display;

pub(in crate::findings) const BOUND: &str = ", bound at start";

pub(in crate::findings) const HASH: &str = " Link with `-Wl,--hash-style=gnu` to shorten lookups.";

pub(in crate::findings) fn file(
    f: impl Display,
    relative: impl Display,
    symbolic: impl Display,
    calls: impl Display,
    bound: impl Display,
) -> String {
    format!(
        "{f}: {relative} relocations without a symbol, {symbolic} with one, {calls} calls{bound}"
    )
}

pub(in crate::findings) fn calls(n: impl Display) -> String {
    format!(
        "{n} of them are calls bound at start. Link with `-Wl,-z,lazy` instead of `-Wl,-z,now`: \
         each is then bound on its first call, and most never are."
    )
}

#[expect(
    clippy::too_many_arguments,
    reason = "one for each figure of the sentence"
)]
pub(in crate::findings) fn why(
    path: impl Display,
    libraries: impl Display,
    without: impl Display,
    relative: impl Display,
    with: impl Display,
    symbolic: impl Display,
    started: impl Display,
    now: impl Display,
    hash: impl Display,
) -> String {
    format!(
        "Before its first line, {path} and {libraries} need {without} relocations without a \
         symbol, about {relative} instructions each. They need {with} with a symbol, about \
         {symbolic} each. It was started {started}.{now}{hash} A static program at a fixed \
         address (`-static -no-pie`) needs none. `-Bsymbolic` and hidden symbols avoid lookups \
         within a library, and `-Wl,-z,pack-relative-relocs` shrinks the tables."
    )
}

pub(in crate::findings) fn title(path: impl Display, time: impl Display) -> String {
    format!("{path} spends {time} on relocations")
}

pub(in crate::findings) fn started(path: impl Display) -> String {
    format!("{path} starts")
}
