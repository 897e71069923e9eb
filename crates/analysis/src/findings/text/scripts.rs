//! The words of `findings::scripts`.

use std::fmt::Display;

pub(in crate::findings) fn sleeps(all: impl Display) -> String {
    format!("Scripts of the root sleep for {all}")
}

pub(in crate::findings) fn of_script(sum: impl Display, first: impl Display) -> String {
    format!("{sum} pipelines and command substitutions, the first: {first}")
}

pub(in crate::findings) fn forks(n: impl Display) -> String {
    format!("Init scripts contain {n} pipelines and command substitutions")
}

pub(in crate::findings) fn cats(cats: impl Display) -> String {
    format!("{cats} where a redirection would do")
}

pub(in crate::findings) fn shortest(name: impl Display, time: impl Display) -> String {
    format!("the shortest of them, {name}, ran for {time}")
}

pub(in crate::findings) fn many(count: impl Display) -> String {
    format!("{count} start scripts run one after another")
}
