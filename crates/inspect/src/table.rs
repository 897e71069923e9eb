//! Tables of boots in files.

use crate::error::Error;
use crate::open;
use analysis::BootTimes;
use history::{Row, Table};
use record::Nanos;
use std::io::Read;
use std::path::Path;

/// The largest table that is read, in bytes: thousands of boots have less.
const MAX_BYTES: u64 = 64 << 20;

/// Whether `path` is named as a table.
#[must_use]
pub fn is_one(path: &Path) -> bool {
    let named = |ending: &&str| {
        path.extension()
            .is_some_and(|e| e.eq_ignore_ascii_case(ending))
    };
    ["csv", "tsv"].iter().any(named) && path.is_file()
}

/// The table in the file `path`, or on standard input (`-`).
///
/// # Errors
/// It cannot be read, or is no table of boots.
pub fn read(path: &Path) -> Result<Table, Error> {
    let bytes = open::bytes(path, MAX_BYTES)?;
    of_bytes(&path.display().to_string(), &bytes)
}

/// The table in the open file that the user calls `shown`.
///
/// # Errors
/// As [`read`].
pub fn read_open(file: impl Read, shown: &str) -> Result<Table, Error> {
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| Error::io(shown, "cannot be read", e))?;
    of_bytes(shown, &bytes)
}

fn of_bytes(shown: &str, bytes: &[u8]) -> Result<Table, Error> {
    if bytes.len() as u64 > MAX_BYTES {
        let why = format!("larger than a table of boots may be ({MAX_BYTES} bytes)");
        return Err(Error::unusable(shown, why));
    }
    history::table(bytes)
        .map_err(|why| Error::unusable(shown, format!("not a table of boots: {why}")))
}

/// The most cells without a time that are named.
const NAMED: usize = 3;

/// The columns, other than those that are `used`, the rows and the cells of a table that hold
/// no times: `column Notes`, `row mean`, ``line 4, column boot_s (`failed`)``.
#[must_use]
pub fn left_out(table: &Table, used: &[&str]) -> Vec<String> {
    let columns = table.others.iter().filter(|c| !used.contains(&c.as_str()));
    let columns = columns.map(|c| format!("column {c}"));
    let rows = table.summaries.iter().map(|r| format!("row {r}"));
    let cells = table.without.iter().take(NAMED).cloned();
    let mut all: Vec<String> = columns.chain(rows).chain(cells).collect();
    if let Some(more) = table.without.len().checked_sub(NAMED).filter(|m| *m > 0) {
        all.push(format!("{more} more cells"));
    }
    all
}

/// The boots of a table, in the order of its rows.
#[must_use]
pub fn boots(table: &Table) -> Vec<BootTimes> {
    let boot = |row: &Row| {
        let times = row.times.iter().map(|t| t.map(Nanos));
        let names = table.times.iter().map(String::as_str);
        BootTimes::of_columns(names.zip(times))
    };
    table.rows.iter().map(boot).collect()
}
