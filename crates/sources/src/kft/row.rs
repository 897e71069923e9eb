//! What rows of all forms have: numbers, tasks, and what becomes of a row.

use crate::text::{number, seconds};
use record::{Nanos, NoteKind};

/// What became of a line in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Row {
    Taken,
    /// It stands between rows, and says nothing by itself.
    Mark,
    Noted(&'static NoteKind),
}

/// Microseconds, whole or with a fraction, as nanoseconds; `-1` where the log
/// does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Micros {
    Known(Nanos),
    Unknown,
}

impl Micros {
    pub(super) fn of(word: &[u8]) -> Option<Self> {
        if let Some(digits) = word.strip_prefix(b"-") {
            // -1: no exit was seen; -2: kept for the stack it stands on.
            return matches!(number(digits)?, (1 | 2, b"")).then_some(Self::Unknown);
        }
        let ns = match seconds(word) {
            // Read as seconds with nine digits: a million times too much.
            Some((ns, _, b"")) => ns / 1_000_000,
            Some(_) => return None,
            None => match number(word)? {
                (whole, b"") => i64::try_from(whole).ok()?.checked_mul(1_000)?,
                _ => return None,
            },
        };
        Some(Self::Known(Nanos(ns)))
    }

    pub(super) fn known(self) -> Option<Nanos> {
        match self {
            Self::Known(ns) => Some(ns),
            Self::Unknown => None,
        }
    }
}

/// What stands at the bottom of a task's stacks: `-1` is an interrupt.
pub(super) fn task_name(pid: i64) -> String {
    match pid {
        -1 => "interrupts".to_owned(),
        pid => format!("task {pid}"),
    }
}

/// A decimal number, perhaps negative.
pub(super) fn signed(word: &[u8]) -> Option<i64> {
    let (sign, digits) = match word.strip_prefix(b"-") {
        Some(digits) => (-1, digits),
        None => (1, word),
    };
    match number(digits)? {
        (value, b"") => i64::try_from(value).ok()?.checked_mul(sign),
        _ => None,
    }
}
