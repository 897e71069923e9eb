//! Apache Parquet: every event in columns, for SQL over many boots.

use super::columns::{Cell, Holds, ParquetError, Table};
use super::rows::{Value, arguments, each_row};
use analysis::Tracks;
use record::{Nanos, Record};
use std::io::Write;

const COLUMNS: [(&str, Holds); 12] = [
    ("kind", Holds::Text),
    ("track", Holds::Text),
    ("name", Holds::Text),
    ("start_ns", Holds::Number),
    ("end_ns", Holds::Number),
    ("value", Holds::Number),
    ("doubt", Holds::Text),
    ("bytes", Holds::Number),
    ("sector", Holds::Number),
    ("pid", Holds::Number),
    ("source", Holds::Text),
    ("offset", Holds::Number),
];

/// The table. The file's own metadata say what zero is and which clock the
/// times are on: `firstlight.zero`, `firstlight.clock`.
///
/// # Errors
///
/// If writing to `out` fails.
pub fn parquet(
    record: &Record,
    tracks: &Tracks<'_>,
    out: impl Write + Send,
) -> Result<(), ParquetError> {
    let clock = record.clock().map_or("none", |c| c.kind.as_str());
    let facts = [("schema", "1"), ("zero", tracks.zero), ("clock", clock)];
    let mut table = Table::new(out, "boot", &COLUMNS, &facts, usize::MAX)?;
    let mut failed = None;
    each_row(tracks, |row| {
        if failed.is_some() {
            return;
        }
        let arguments = arguments(record, row.about, row.origin);
        let argument = |name| arguments.iter().find(|a| a.0 == name).map(|a| a.1);
        let cells = COLUMNS.iter().map(|(name, holds)| {
            let value = match *name {
                "kind" => Some(Value::Text(row.kind)),
                "track" => Some(Value::Text(row.track)),
                "name" => Some(Value::Text(row.name)),
                "start_ns" => Some(Value::Number(row.start.get())),
                "end_ns" => row.end.map(Nanos::get).map(Value::Number),
                "value" => row.value.map(Value::Number),
                other => argument(other),
            };
            match (holds, value) {
                (Holds::Text, Some(Value::Text(t))) => Cell::Text(Some(t)),
                (Holds::Text, _) => Cell::Text(None),
                (Holds::Number, Some(Value::Number(n))) => Cell::Number(Some(n)),
                (Holds::Number, _) => Cell::Number(None),
            }
        });
        failed = table.add(cells).err();
    });
    match failed {
        Some(error) => Err(error),
        None => table.finish(),
    }
}
