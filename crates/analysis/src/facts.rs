//! What holds for the whole boot.

use crate::place::Place;
use record::Record;

/// Something that holds for the whole boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactRow {
    /// What: `kernel.version`, `config.CONFIG_HZ`.
    pub key: String,
    /// Its value.
    pub value: String,
    /// The evidence.
    pub origin: Place,
}

/// All facts, in the order of their evidence.
#[must_use]
pub fn facts(record: &Record) -> Vec<FactRow> {
    let row = |f: &record::Fact| FactRow {
        key: record.name(f.key).to_owned(),
        value: record.name(f.value).to_owned(),
        origin: Place::of(record, f.origin),
    };
    record.facts().iter().map(row).collect()
}
