//! The clocks of a boot, and how well their times are known on the boot's own.

use crate::phases::Phases;
use crate::place::Place;
use record::{ClockKind, Nanos, Phase, Record, mark};

/// A clock that a source read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockRow {
    /// Its name: `printk`, `monotonic`, `counter`, `serial`, ...
    pub name: String,
    /// What it counts.
    pub kind: ClockKind,
    /// The smallest step of its stamps; `None` if unknown.
    pub step: Option<Nanos>,
    /// By how much a time of it may be off on the boot's clock, from relating the
    /// two; `None` if nothing relates them.
    pub error: Option<Nanos>,
    /// It is the boot's own clock.
    pub is_boots: bool,
}

/// The clocks of a record, the boot's own first, the others by what they may be
/// off; those that nothing relates to it come last.
#[must_use]
pub fn clocks(record: &Record) -> Vec<ClockRow> {
    let own = record.clock();
    let nanos = |ns: u64| Nanos(i64::try_from(ns).unwrap_or(i64::MAX));
    let row = |c: &record::Clock| ClockRow {
        name: c.name.clone(),
        kind: c.kind,
        step: (c.resolution_ns > 0).then(|| nanos(c.resolution_ns)),
        error: c.error_ns.map(nanos),
        is_boots: own.is_some_and(|o| o.name == c.name),
    };
    let mut rows: Vec<ClockRow> = record.clocks().iter().map(row).collect();
    rows.sort_by(|a, b| {
        let key = |r: &ClockRow| (!r.is_boots, r.error.is_none(), r.error);
        key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
    });
    rows
}

/// When the kernel's clock began on a counter that ran before it, and what that says of the
/// kernel's first instruction. Times are on the boot's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelClock {
    /// From the counter's zero to the zero of the kernel's log.
    pub after: Nanos,
    /// The least that this can be; never negative.
    pub least: Nanos,
    /// The most.
    pub most: Nanos,
    /// The kernel was entered this long after the counter's zero, or later.
    pub entry_least: Nanos,
    /// And at this time, or earlier.
    pub entry_most: Nanos,
    /// The mark before which the kernel had not been entered.
    pub entry_after: String,
    /// The reading of both clocks.
    pub origin: Place,
}

/// What a counter says of the time before the kernel's clock; `None` if no input has one that
/// runs from reset.
///
/// The kernel was entered before its clock began. It had not been entered while firmware, a
/// loader or its own decompression was still at work: the last mark of theirs is the least.
#[must_use]
pub fn kernel_clock(record: &Record, phases: &Phases) -> Option<KernelClock> {
    let start = record.kernel_clock()?;
    let after = Nanos(start.after_ns.max(0));
    let error = Nanos(i64::try_from(start.error_ns).unwrap_or(i64::MAX));
    let zero = Nanos(start.after_ns);
    let least = Nanos((zero.0.saturating_sub(error.0)).max(0));
    let most = Nanos(zero.0.saturating_add(error.0).max(0));
    // Marks count from the record's zero.
    let began = record
        .mark(mark::KERNEL_CLOCK_START)
        .map_or(after, |m| m.at);
    let offset = began - zero;
    let entry = record.mark(mark::KERNEL_ENTRY);
    let before = |m: &&record::Mark| {
        let early = [Phase::Firmware, Phase::Loader, Phase::Decompression];
        m.at <= began && m.begins.is_some_and(|p| early.contains(&p))
    };
    let last = record.marks().iter().rfind(before);
    let entered = entry.filter(|m| m.at <= began).or(last);
    let (entry_least, entry_after) = match entered {
        Some(m) => (m.at - offset, record.name(m.name).to_owned()),
        None => (Nanos::ZERO, phases.zero.clone()),
    };
    let entry_most = match entry.filter(|m| m.at <= began) {
        Some(m) => m.at - offset,
        None => most,
    };
    Some(KernelClock {
        after,
        least,
        most,
        entry_least: entry_least.max(Nanos::ZERO).min(entry_most),
        entry_most,
        entry_after,
        origin: Place::of(record, start.origin),
    })
}
