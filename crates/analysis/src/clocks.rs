//! The clocks of a boot, and how well their times are known on the boot's own.

use record::{ClockKind, Nanos, Record};

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
