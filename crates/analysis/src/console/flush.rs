//! The flush of a console when it is enabled: the kernel writes all that it has logged.

use super::cmdline::{is_serial, level};
use super::line::{BITS_PER_BYTE, FEWEST_BYTES, RATES};
use super::written::{Written, by_source, written};
use crate::place::Place;
use record::{ClockKind, Message, Nanos, Record, mark};

/// A flush that takes less is no wait.
const SEEN_FLUSH: Nanos = Nanos(50_000_000);

/// How far a flush is looked back from for the line that names the port.
const LOOK_BACK: usize = 64;

/// What happened when the console was enabled: the kernel wrote all that it had
/// logged, and nothing else went on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flush {
    /// The last stamp before it.
    pub start: Nanos,
    /// The stamp of `console [ttyS0] enabled`, or of the line behind it.
    pub end: Nanos,
    /// Whether the kernel's clock ran at the start; if not, the length says
    /// nothing.
    pub measured: bool,
    /// What was written.
    pub written: Written,
    /// The evidence.
    pub place: Place,
}

/// The flush of a serial console that is as long as its bytes need at some rate.
pub(crate) struct Flushed {
    /// When it began and ended.
    pub from: Nanos,
    pub to: Nanos,
    /// What the kernel had logged before.
    bytes: i64,
    /// The rate that a console has and that fits; `None` if the length shows none.
    pub baud: Option<i64>,
    /// The line that says that the console was enabled.
    pub place: Place,
}

impl Flushed {
    /// How long the flush took for as many logged bytes: what is not shown for its level
    /// takes nothing, here as there.
    pub fn time_of(&self, bytes: i64) -> Nanos {
        let ns = i128::from(bytes) * i128::from((self.to - self.from).0);
        let ns = ns / i128::from(self.bytes.max(1));
        Nanos(i64::try_from(ns).unwrap_or(i64::MAX))
    }
}

/// The flush that the kernel's log shows, if it was long enough to be seen.
pub(crate) fn flushed(record: &Record) -> Option<Flushed> {
    let cmdline = record.fact("kernel.cmdline").unwrap_or("");
    if record.clock().is_some_and(|c| c.kind == ClockKind::Virtual) {
        return None;
    }
    let (_, flush) = flush(record, cmdline).filter(|(_, f)| f.measured)?;
    let length = flush.end - flush.start;
    (length >= SEEN_FLUSH).then_some(Flushed {
        from: flush.start,
        to: flush.end,
        bytes: flush.written.bytes,
        baud: flush_rate(flush.written.bytes, length),
        place: flush.place,
    })
}

/// The rate of a flush. A log also has lines that a console does not show: the bytes are at
/// most a third too many, and stamps are rounded.
fn flush_rate(bytes: i64, length: Nanos) -> Option<i64> {
    if bytes < FEWEST_BYTES || length <= Nanos::ZERO {
        return None;
    }
    let bits = i128::from(bytes) * i128::from(BITS_PER_BYTE) * 1_000_000_000;
    let bits = i64::try_from(bits / i128::from(length.get())).ok()?;
    let fits = |rate: &&i64| bits >= **rate - **rate / 20 && bits <= **rate + **rate / 3;
    RATES.iter().rev().find(fits).copied()
}

/// The flush of the first serial console that was enabled, and its name.
///
/// `register_console()` writes the whole log to a new console. Most kernels log only then
/// that it is enabled; where that line comes first (seen with 6.6 on arm64), the flush lies
/// behind it. A console that takes over from a boot console writes nothing again.
pub(super) fn flush(record: &Record, cmdline: &str) -> Option<(String, Flush)> {
    let level = level(cmdline);
    let log = by_source(record).max_by_key(|s| s.len())?;
    let mut boot_console = false;
    let (at, name) = log.iter().enumerate().find_map(|(at, message)| {
        let text = record.text(message);
        let (kind, name, state) = console_state(text)?;
        boot_console |= kind == "bootconsole" && state == "enabled";
        let enabled = kind == "console" && state == "enabled" && is_serial(name);
        enabled.then_some((at, name))
    })?;
    let enabled = log.get(at)?;
    let end = enabled.at?;
    let before = log.get(..at)?;
    if boot_console || before.is_empty() {
        return None;
    }
    // The port's own line stands just before, but others log meanwhile.
    let port = |m: &&Message| {
        let text = record.text(m);
        let rest = text.split(name).nth(1);
        rest.is_some_and(|r| r.starts_with(" at MMIO") || r.starts_with(" at I/O"))
    };
    let port = before.iter().rev().take(LOOK_BACK).find(port);
    let last = || before.iter().rev().find(|m| m.at.is_some());
    let start = port.or_else(last)?.at?;
    let zero = record.mark(mark::KERNEL_CLOCK_START).map(|m| m.at);
    let written = written(record, before, level, |_| true);
    let rest = log.get(at..)?.get(1..)?;
    let next = rest.iter().find_map(|m| m.at).unwrap_or(end);
    let is_behind = end - start < SEEN_FLUSH && flush_rate(written.bytes, next - end).is_some();
    let (start, end) = match is_behind {
        true => (end, next),
        false => (start, end),
    };
    let flush = Flush {
        start,
        end,
        measured: start < end && zero.is_none_or(|zero| zero < start),
        written,
        place: Place::of(record, enabled.origin),
    };
    Some((name.to_owned(), flush))
}

/// `printk: legacy console [ttyS0] enabled`: which kind, its name, its state.
pub(crate) fn console_state(text: &str) -> Option<(&'static str, &str, &str)> {
    let (before, rest) = text.split_once("console [")?;
    let (name, state) = rest.split_once("] ")?;
    let kind = if before.ends_with("boot") {
        "bootconsole"
    } else {
        "console"
    };
    Some((kind, name, state.trim_end()))
}
