//! Tables of boots, as spreadsheets write them: a boot in each row, a time in each
//! column whose name says its unit.

use analysis::BootTimes;
use anyhow::{Context, Result, bail};
use record::Nanos;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The largest table that is read, in bytes: thousands of boots have less.
const MAX_BYTES: u64 = 64 << 20;

/// How the name of a column of times ends, and a unit in nanoseconds.
const UNITS: [(&str, f64); 8] = [
    ("_sec", 1e9),
    ("_secs", 1e9),
    ("_seconds", 1e9),
    ("_s", 1e9),
    ("_ms", 1e6),
    ("_us", 1e3),
    ("_ns", 1.0),
    ("(s)", 1e9),
];

/// Whether `path` is named as a table.
pub fn is_one(path: &Path) -> bool {
    let named = |ending: &&str| {
        path.extension()
            .is_some_and(|e| e.eq_ignore_ascii_case(ending))
    };
    ["csv", "tsv"].iter().any(named) && path.is_file()
}

/// The boots of the table `path`, in the order of its rows.
pub fn boots(path: &Path) -> Result<Vec<BootTimes>> {
    let shown = path.display();
    let file = File::open(path).with_context(|| format!("{shown}: cannot be opened"))?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("{shown}: cannot be read"))?;
    if bytes.len() as u64 > MAX_BYTES {
        bail!("{shown}: larger than a table of boots may be ({MAX_BYTES} bytes)");
    }
    rows(&bytes).with_context(|| format!("{shown}: not a table of boots"))
}

fn rows(bytes: &[u8]) -> Result<Vec<BootTimes>> {
    // Spreadsheets begin a file with a byte order mark.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let separator = separator(bytes);
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(separator)
        .trim(csv::Trim::All)
        .from_reader(bytes);
    let head = reader.headers().context("its first line")?.clone();
    let names = head.iter().enumerate();
    let columns: Vec<(usize, &str, f64)> = names
        .filter_map(|(at, name)| Some((at, name, unit(name)?)))
        .collect();
    if columns.is_empty() {
        bail!(
            "no column is named as a time; expected names that end in _s, _sec, _ms, _us or _ns in \
             the first line"
        );
    }
    let mut boots = Vec::new();
    for row in reader.records() {
        let row = row.context("a row unlike the first line")?;
        let line = row.position().map_or(0, csv::Position::line);
        let cells = columns.iter().map(|&(at, name, unit)| {
            let text = row.get(at).unwrap_or_default();
            let time = time(text, unit, separator);
            let time = time.with_context(|| format!("line {line}, column {name}"))?;
            Ok((name, time))
        });
        boots.push(BootTimes::of_columns(cells.collect::<Result<Vec<_>>>()?));
    }
    if boots.is_empty() {
        bail!("no row is below the first line; expected a boot in each");
    }
    Ok(boots)
}

/// What parts the columns: what the first line has most of.
fn separator(bytes: &[u8]) -> u8 {
    let first = bytes.split(|b| *b == b'\n').next().unwrap_or_default();
    let count = |separator: &u8| first.iter().filter(|b| *b == separator).count();
    // Of equals, the last is taken: a comma.
    let known = [b'\t', b';', b','];
    known.into_iter().max_by_key(count).unwrap_or(b',')
}

/// The unit of the column `name` in nanoseconds, if its name ends in one.
fn unit(name: &str) -> Option<f64> {
    let name = name.to_ascii_lowercase();
    let unit = UNITS.iter().find(|(ending, _)| name.ends_with(ending))?;
    Some(unit.1)
}

/// What stands in a cell; an empty one holds no time.
fn time(text: &str, unit: f64, separator: u8) -> Result<Option<Nanos>> {
    if text.is_empty() {
        return Ok(None);
    }
    let number = match separator {
        b',' => text.parse(),
        // Where commas part no columns they may part decimals.
        _ => text.replace(',', ".").parse(),
    };
    // Up to a hundred days, a double holds each nanosecond.
    let ns = number.map_or(f64::NAN, |n: f64| (n * unit).round());
    if !(0.0..1e16).contains(&ns) {
        bail!("expected a time, found `{text}`");
    }
    Ok(Some(Nanos(ns as i64)))
}

#[cfg(test)]
mod tests {
    use super::rows;
    use analysis::{BootTimes, boots};
    use record::Nanos;

    fn medians(boots_of: &[BootTimes]) -> Vec<(String, i64)> {
        let boots = boots(boots_of, None).unwrap();
        let row = |t: analysis::BootsTime| (t.name, t.base.unwrap().median.get());
        boots.times.into_iter().map(row).collect()
    }

    #[test]
    fn columns_are_times_by_their_names() {
        let table =
            b"Iteration,Kernel_Sec,Note,app_ms\n1,1.453,warm,12\n2,1.455,,\n3,1.463,x,16.5\n";
        let read = rows(table).unwrap();
        assert_eq!(read.len(), 3);
        let wanted = [
            ("Kernel_Sec".into(), 1_455_000_000),
            ("app_ms".into(), 14_250_000),
        ];
        assert_eq!(medians(&read), wanted);
        let european = "\u{feff}Start_s;n\n1,25;1\n";
        let read = rows(european.as_bytes()).unwrap();
        assert_eq!(
            medians(&read),
            [("Start_s".into(), Nanos(1_250_000_000).get())]
        );
        assert_eq!(
            medians(&rows(b"a_ns\tb\n7\tx\n").unwrap()),
            [("a_ns".into(), 7)]
        );
    }

    #[test]
    fn what_is_no_table_of_boots_is_refused() {
        for (table, said) in [
            ("a,b\n1,2\n", "no column is named as a time"),
            ("", "no column is named as a time"),
            ("a_s\n", "no row is below"),
            ("a_s,b\n1,2\n1,2,3\n", "a row unlike the first line"),
            (
                "a_s,b\nx,2\n",
                "line 2, column a_s: expected a time, found `x`",
            ),
            ("a_s\n-1\n", "found `-1`"),
            ("a_s\n1e300\n", "found `1e300`"),
            ("a_s\nnan\n", "found `nan`"),
            ("a_s\n\u{0}\n", "expected a time"),
        ] {
            let error = format!("{:#}", rows(table.as_bytes()).unwrap_err());
            assert!(error.contains(said), "{table:?}: {error}");
        }
        assert!(rows(b"\xff_s\n1\n").is_err());
    }
}
