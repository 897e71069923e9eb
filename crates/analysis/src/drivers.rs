//! Initcalls that are worth a look into the kernel's source.

use record::{Nanos, Record, SpanKind};
use std::collections::BTreeSet;

/// Shorter ones are not looked up.
pub(crate) const LEAST: Nanos = Nanos::from_millis(5);

/// The functions of a record's initcalls that took some milliseconds, without addresses:
/// `ide_init` of `ide_init+0x0/0x160 [ide_core]`.
#[must_use]
pub fn long_initcalls(record: &Record) -> BTreeSet<String> {
    let spans = record.spans().iter();
    let long = spans
        .filter(|s| s.kind == SpanKind::Initcall && s.duration().is_some_and(|time| time >= LEAST));
    long.map(|s| function(record.name(s.name)).to_owned())
        .collect()
}

/// The function's name alone.
pub(crate) fn function(name: &str) -> &str {
    let end = name.find(['+', ' ', '[']).unwrap_or(name.len());
    name.get(..end).unwrap_or(name)
}
