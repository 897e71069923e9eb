//! Tables of boots in files.

use analysis::BootTimes;
use anyhow::{Context, Result, bail};
use history::Table;
use record::Nanos;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The largest table that is read, in bytes: thousands of boots have less.
const MAX_BYTES: u64 = 64 << 20;

/// Whether `path` is named as a table.
pub fn is_one(path: &Path) -> bool {
    let named = |ending: &&str| {
        path.extension()
            .is_some_and(|e| e.eq_ignore_ascii_case(ending))
    };
    ["csv", "tsv"].iter().any(named) && path.is_file()
}

/// The table in the file `path`.
pub fn read(path: &Path) -> Result<Table> {
    let shown = path.display();
    let file = File::open(path).with_context(|| format!("{shown}: cannot be opened"))?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("{shown}: cannot be read"))?;
    if bytes.len() as u64 > MAX_BYTES {
        bail!("{shown}: larger than a table of boots may be ({MAX_BYTES} bytes)");
    }
    history::table(&bytes).with_context(|| format!("{shown}: not a table of boots"))
}

/// Says which columns, other than those that are `used`, and which rows of a table hold no
/// boots.
pub fn left_out(path: &Path, table: &Table, used: &[&str]) {
    let columns = table.others.iter().filter(|c| !used.contains(&c.as_str()));
    let columns = columns.map(|c| format!("column {c}"));
    let rows = table.summaries.iter().map(|r| format!("row {r}"));
    let all: Vec<String> = columns.chain(rows).collect();
    if !all.is_empty() {
        let shown = path.display();
        anstream::eprintln!("firstlight: {shown}: no times: {}", all.join(", "));
    }
}

/// The boots of the table `path`, in the order of its rows.
pub fn boots(path: &Path) -> Result<Vec<BootTimes>> {
    let table = read(path)?;
    left_out(path, &table, &[]);
    let boot = |row: &history::Row| {
        let times = row.times.iter().map(|t| t.map(Nanos));
        let names = table.times.iter().map(String::as_str);
        BootTimes::of_columns(names.zip(times))
    };
    Ok(table.rows.iter().map(boot).collect())
}
