//! What the console cost: what was written to it, how long its line needs for
//! that, the flush when it was enabled, and how late each line came out.

mod arrived;
mod cmdline;
mod delay;
mod flush;
mod line;
mod rate;
mod written;

pub(crate) use cmdline::{LEVEL_QUIET, is_serial, level, serial_console};
pub use delay::{Delay, LateLine};
pub use flush::Flush;
pub(crate) use flush::{console_state, flushed};
pub(crate) use line::{RATES, held_up, plain_line_time};
pub(crate) use rate::line_rate;
pub use rate::{Rate, RateSource};
pub use written::Written;
pub(crate) use written::{kernels, of_calls, per_line};

use crate::phases::Phases;
use arrived::Line;
use record::{ClockKind, Nanos, Phase, Record, mark};

/// A console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Console {
    /// Its device, if a source names it: `ttyS0`.
    pub name: Option<String>,
    /// The rate of its line, if it is known.
    pub rate: Option<Rate>,
    /// What the kernel wrote to it until first light.
    pub kernel: Written,
    /// What others wrote until then, if a host listened.
    pub others: Option<Written>,
    /// The flush of what had been logged before, when it was enabled.
    pub flush: Option<Flush>,
    /// How late its lines came, if a host listened and the kernel stamped them.
    pub delay: Option<Delay>,
}

/// What the console cost; `None` if there was none, as far as the record knows.
/// `top` limits the latest lines, 0 gives all.
#[must_use]
pub fn console(record: &Record, phases: &Phases, top: usize) -> Option<Console> {
    let end = phases.end();
    let cmdline = record.fact("kernel.cmdline").unwrap_or("");
    let told = serial_console(cmdline);
    let lines = arrived::lines(record);
    let rate = rate::rate(record, told.as_ref(), &lines);
    let virtual_time = phases.clock == Some(ClockKind::Virtual);
    let rate = rate.filter(|_| !virtual_time);
    let flush = flush::flush(record, cmdline).map(|(name, mut flush)| {
        flush.written.time = rate.as_ref().and_then(|r| r.time(flush.written.bytes));
        (name, flush)
    });
    let name = flush.as_ref().map(|f| f.0.clone());
    let name = name.or_else(|| told.as_ref().map(|t| t.device.to_owned()));
    if lines.is_empty() && name.is_none() {
        return None;
    }
    let in_time = |l: &&Line<'_>| l.arrival.first <= end;
    let (kernel, others) = if lines.is_empty() {
        (written::logged(record, cmdline, end), None)
    } else {
        // Without any stamp, what came while the kernel was alone is the kernel's.
        let stamped = lines.iter().any(|l| l.stamped.is_some());
        let (from, to) = kernel_alone(record, phases);
        let is_kernels = |l: &Line<'_>| match stamped {
            true => l.stamped.is_some(),
            false => from <= l.arrival.first && l.arrival.first < to,
        };
        let of = |kernel: bool| {
            let lines = lines.iter().filter(in_time);
            let lines = lines.filter(|l| is_kernels(l) == kernel);
            lines.fold(Written::default(), |mut sum, l| {
                sum.lines += 1;
                sum.bytes = sum.bytes.saturating_add(i64::from(l.arrival.bytes));
                sum
            })
        };
        (of(true), Some(of(false)))
    };
    let timed = |mut w: Written| {
        w.time = rate.as_ref().and_then(|r| r.time(w.bytes));
        w
    };
    Some(Console {
        name,
        rate,
        kernel: timed(kernel),
        others: others.map(timed),
        flush: flush.map(|f| f.1),
        delay: delay::delay(record, &lines, top),
    })
}

/// From when to when nobody but the kernel writes to the console: from its start
/// until it frees its memory or starts a program.
pub(crate) fn kernel_alone(record: &Record, phases: &Phases) -> (Nanos, Nanos) {
    let rows = &phases.phases;
    let Some(kernel) = rows.iter().find(|p| p.name >= Phase::Kernel) else {
        return (Nanos::ZERO, Nanos::ZERO);
    };
    let programs = rows.iter().find(|p| p.name > Phase::Kernel);
    let end = programs.map_or(phases.end(), |p| p.start);
    let freed = record.mark(mark::MEMORY_FREED).map(|m| m.at);
    let freed = freed.filter(|at| *at > kernel.start);
    (kernel.start, freed.map_or(end, |at| at.min(end)))
}
