//! Two tables of many boots: one row per boot, and one row per item of a boot.

use super::columns::{Cell, Holds, ParquetError, Table};
use analysis::{FleetRow, FleetSource};
use chrono::DateTime;
use record::{Nanos, Phase};
use std::fmt::Write as _;
use std::io::Write;

/// The version of both tables, which is in each row of boots.
pub const FLEET_SCHEMA: i64 = 1;

/// How many rows are kept before they are written: boots, and items.
const BOOTS_IN_A_GROUP: usize = 10_000;
const ITEMS_IN_A_GROUP: usize = 250_000;

/// The columns of boots before the phases.
const BOOT_COLUMNS: [(&str, Holds); 19] = [
    ("boot_id", Holds::Text),
    ("at_ns", Holds::Number),
    ("at_from", Holds::Text),
    ("day", Holds::Text),
    ("product", Holds::Text),
    ("board", Holds::Text),
    ("release", Holds::Text),
    ("kernel", Holds::Text),
    ("clock", Holds::Text),
    ("zero", Holds::Text),
    ("boot_kind", Holds::Text),
    ("status", Holds::Text),
    ("reason", Holds::Text),
    ("first_light_ns", Holds::Number),
    ("items", Holds::Number),
    ("doubts", Holds::Text),
    ("source", Holds::Text),
    ("source_bytes", Holds::Number),
    ("schema_version", Holds::Number),
];

const ITEM_COLUMNS: [(&str, Holds); 6] = [
    ("boot_id", Holds::Text),
    ("kind", Holds::Text),
    ("name", Holds::Text),
    ("raw_name", Holds::Text),
    ("start_ns", Holds::Number),
    ("dur_ns", Holds::Number),
];

/// The phases, each with its column.
const PHASES: [(Phase, &str); 7] = [
    (Phase::Firmware, "firmware_ns"),
    (Phase::Loader, "loader_ns"),
    (Phase::Decompression, "decompression_ns"),
    (Phase::Kernel, "kernel_ns"),
    (Phase::Initrd, "initrd_ns"),
    (Phase::Userspace, "userspace_ns"),
    (Phase::App, "app_ns"),
];

/// Both tables while they are written.
pub struct FleetTables<W: Write + Send> {
    boots: Table<W>,
    items: Table<W>,
}

impl<W: Write + Send> FleetTables<W> {
    /// Empty tables.
    ///
    /// # Errors
    /// If writing fails.
    pub fn new(boots: W, items: W) -> Result<Self, ParquetError> {
        let columns: Vec<(&str, Holds)> = BOOT_COLUMNS
            .into_iter()
            .chain(PHASES.map(|(_, column)| (column, Holds::Number)))
            .collect();
        let version = FLEET_SCHEMA.to_string();
        let facts = [("schema", version.as_str())];
        Ok(Self {
            boots: Table::new(boots, "boots", &columns, &facts, BOOTS_IN_A_GROUP)?,
            items: Table::new(items, "items", &ITEM_COLUMNS, &facts, ITEMS_IN_A_GROUP)?,
        })
    }

    /// Adds a boot.
    ///
    /// # Errors
    /// If writing fails.
    pub fn add(&mut self, from: &FleetSource, row: &FleetRow) -> Result<(), ParquetError> {
        let (at, at_from) = match (row.at.filter(|at| is_set(*at)), from.written) {
            (Some(at), _) => (Some(at), Some("rtc")),
            (None, Some(written)) if is_set(written) => (Some(written), Some("file")),
            _ => (None, None),
        };
        let unset = row.at.is_some_and(|at| !is_set(at));
        let mut doubts = String::new();
        let clock_doubt = unset.then_some(("clock_not_set", 1));
        let noted = row.doubts.iter().map(|(kind, n)| (kind.as_str(), *n));
        for (kind, count) in clock_doubt.into_iter().chain(noted) {
            let gap = if doubts.is_empty() { "" } else { " " };
            write!(doubts, "{gap}{kind}={count}").ok();
        }
        let number = |n: u64| Cell::Number(Some(i64::try_from(n).unwrap_or(i64::MAX)));
        let day = at.map(day_of);
        let cells = [
            Cell::Text(Some(&from.boot_id)),
            Cell::Number(at),
            Cell::Text(at_from),
            Cell::Text(day.as_deref()),
            Cell::Text(None),
            Cell::Text(row.machine.as_deref()),
            Cell::Text(None),
            Cell::Text(row.kernel.as_deref()),
            Cell::Text(row.clock),
            Cell::Text(Some(row.zero.as_str()).filter(|z| !z.is_empty())),
            Cell::Text(Some(row.boot_kind.as_str())),
            Cell::Text(Some(row.status.as_str())),
            Cell::Text(row.reason.as_deref()),
            Cell::Number(row.first_light.map(Nanos::get)),
            number(row.items.len() as u64),
            Cell::Text(Some(doubts.as_str()).filter(|d| !d.is_empty())),
            Cell::Text(Some(&from.source)),
            number(from.bytes),
            Cell::Number(Some(FLEET_SCHEMA)),
        ];
        let phases = PHASES.iter().map(|(phase, _)| {
            let length = row.phases.iter().find(|p| p.0 == *phase);
            Cell::Number(length.map(|p| p.1.get()))
        });
        self.boots.add(cells.into_iter().chain(phases))?;
        for item in &row.items {
            let raw = Some(item.raw_name.as_str()).filter(|raw| *raw != item.name);
            self.items.add([
                Cell::Text(Some(&from.boot_id)),
                Cell::Text(Some(item.kind.as_str())),
                Cell::Text(Some(&item.name)),
                Cell::Text(raw),
                Cell::Number(item.start.map(Nanos::get)),
                Cell::Number(Some(item.duration.get())),
            ])?;
        }
        Ok(())
    }

    /// Ends both files.
    ///
    /// # Errors
    /// If writing fails.
    pub fn finish(self) -> Result<(), ParquetError> {
        self.boots.finish()?;
        self.items.finish()
    }
}

/// Whether a clock with this time, in nanoseconds since 1970, was ever set. Machines
/// without a battery start in 1970, or in 2000.
fn is_set(at: i64) -> bool {
    const YEAR_2005: i64 = 1_104_537_600_000_000_000;
    at >= YEAR_2005
}

/// The day of a time in nanoseconds since 1970, in UTC: `2026-01-31`.
fn day_of(at: i64) -> String {
    DateTime::from_timestamp_nanos(at)
        .format("%Y-%m-%d")
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::{FleetTables, day_of};
    use analysis::{FleetRow, FleetSource};

    #[test]
    fn days_are_those_of_the_calendar() {
        for (seconds, day) in [
            (0, "1970-01-01"),
            (951_782_400, "2000-02-29"),
            (1_767_323_045, "2026-01-02"),
            (1_798_761_599, "2026-12-31"),
            (-1, "1969-12-31"),
        ] {
            assert_eq!(day_of(seconds * 1_000_000_000), day);
        }
    }

    #[test]
    fn both_files_are_whole_parquet_also_without_rows() {
        let (mut boots, mut items) = (Vec::new(), Vec::new());
        let mut tables = FleetTables::new(&mut boots, &mut items).unwrap();
        let bad = FleetRow::bad("the file is empty".to_owned());
        tables.add(&FleetSource::default(), &bad).unwrap();
        tables.finish().unwrap();
        for file in [boots, items] {
            assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1"));
        }
    }
}
