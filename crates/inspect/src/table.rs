//! Tables of boots, as spreadsheets write them: a boot in each row, a time in each
//! column whose name says its unit.

use crate::error::Error;
use analysis::BootTimes;
use record::Nanos;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The largest table that is read, in bytes: thousands of boots have less.
const MAX_BYTES: u64 = 64 << 20;

/// The most rows: each time of some thousand boots is told well.
const MOST_ROWS: usize = 20_000;

/// How the name of a column of times ends, and a unit in nanoseconds.
const UNITS: [(&str, f64); 11] = [
    ("_sec", 1e9),
    ("_secs", 1e9),
    ("_seconds", 1e9),
    ("_s", 1e9),
    ("_ms", 1e6),
    ("_us", 1e3),
    ("_ns", 1.0),
    // With the blank before it: `error(s)` is no time.
    (" (s)", 1e9),
    (" (ms)", 1e6),
    (" (us)", 1e3),
    (" (ns)", 1.0),
];

/// Rows that spreadsheets have below the boots.
const SUMMARIES: [&str; 8] = [
    "mean", "average", "avg", "median", "sum", "total", "sd", "stddev",
];

/// Whether `path` is named as a table.
#[must_use]
pub fn is_one(path: &Path) -> bool {
    let named = |ending: &&str| {
        path.extension()
            .is_some_and(|e| e.eq_ignore_ascii_case(ending))
    };
    ["csv", "tsv"].iter().any(named) && path.is_file()
}

/// What was read of a table.
#[derive(Debug)]
pub struct Table {
    /// In the order of its rows.
    pub boots: Vec<BootTimes>,
    /// Columns and rows that are none of boots.
    pub left_out: Vec<String>,
}

/// Reads the table `path`.
///
/// # Errors
/// It cannot be read, or is no table of boots.
pub fn read(path: &Path) -> Result<Table, Error> {
    let shown = path.display().to_string();
    let file = File::open(path).map_err(|e| Error::io(&shown, "cannot be opened", e))?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| Error::io(&shown, "cannot be read", e))?;
    if bytes.len() as u64 > MAX_BYTES {
        let why = format!("larger than a table of boots may be ({MAX_BYTES} bytes)");
        return Err(Error::unusable(&shown, why));
    }
    rows(&bytes).map_err(|why| Error::unusable(&shown, format!("not a table of boots: {why}")))
}

fn rows(bytes: &[u8]) -> Result<Table, String> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err("it is text in UTF-16; save it as CSV in UTF-8".to_owned());
    }
    // Spreadsheets begin a file with a byte order mark.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let separator = separator(bytes);
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(separator)
        .trim(csv::Trim::All)
        .from_reader(bytes);
    let head = reader
        .headers()
        .map_err(|e| format!("its first line: {e}"))?;
    let head = head.clone();
    let names = || head.iter().enumerate();
    let columns: Vec<(usize, &str, f64)> = names()
        .filter_map(|(at, name)| Some((at, name, unit(name)?)))
        .collect();
    if columns.is_empty() {
        return Err(
            "no column is named as a time; expected names that end in _s, _sec, _ms, _us or _ns in \
             the first line"
                .to_owned(),
        );
    }
    let others = names().filter(|(_, name)| unit(name).is_none());
    let mut left_out: Vec<String> = others.map(|(_, name)| format!("column {name}")).collect();
    let mut boots = Vec::new();
    let mut any = false;
    for row in reader.records() {
        let row = row.map_err(|e| format!("a row unlike the first line: {e}"))?;
        let line = row.position().map_or(0, csv::Position::line);
        let first = row.get(0).unwrap_or_default().to_ascii_lowercase();
        if unit(head.get(0).unwrap_or_default()).is_none() && SUMMARIES.contains(&&*first) {
            left_out.push(format!("row {first}"));
            continue;
        }
        if boots.len() >= MOST_ROWS {
            return Err(format!("more than {MOST_ROWS} rows; give fewer boots"));
        }
        let cells = columns.iter().map(|&(at, name, unit)| {
            let text = row.get(at).unwrap_or_default();
            let time = time(text, unit, separator);
            let time = time.map_err(|why| format!("line {line}, column {name}: {why}"))?;
            any |= time.is_some();
            Ok((name, time))
        });
        boots.push(BootTimes::of_columns(
            cells.collect::<Result<Vec<_>, String>>()?,
        ));
    }
    if !any {
        return Err("no row below the first line has a time; expected a boot in each".to_owned());
    }
    Ok(Table { boots, left_out })
}

/// What parts the columns: what the first line has most of.
fn separator(bytes: &[u8]) -> u8 {
    let mut lines = bytes.split(|b| matches!(b, b'\n' | b'\r'));
    let first = lines.next().unwrap_or_default();
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
fn time(text: &str, unit: f64, separator: u8) -> Result<Option<Nanos>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    // Thousands, or decimals?
    let is_three = |(_, part): (&str, &str)| part.len() == 3;
    if separator != b',' && text.rsplit_once(',').is_some_and(is_three) {
        return Err(format!(
            "`{text}` may be thousands or a decimal comma; write it with a point"
        ));
    }
    let number = match separator {
        b',' => text.parse(),
        // Where commas part no columns they may part decimals.
        _ => text.replace(',', ".").parse(),
    };
    // Up to a hundred days, a double holds each nanosecond.
    let ns = number.map_or(f64::NAN, |n: f64| (n * unit).round());
    if !(0.0..1e16).contains(&ns) {
        return Err(format!("expected a time, found `{text}`"));
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
        assert_eq!(read.left_out, ["column Iteration", "column Note"]);
        let read = read.boots;
        assert_eq!(read.len(), 3);
        let wanted = [
            ("Kernel_Sec".into(), 1_455_000_000),
            ("app_ms".into(), 14_250_000),
        ];
        assert_eq!(medians(&read), wanted);
        let european = "\u{feff}Start_s;n\n1,25;1\n";
        let read = rows(european.as_bytes()).unwrap().boots;
        assert_eq!(
            medians(&read),
            [("Start_s".into(), Nanos(1_250_000_000).get())]
        );
        assert_eq!(
            medians(&rows(b"a_ns\tb\n7\tx\n").unwrap().boots),
            [("a_ns".into(), 7)]
        );
    }

    #[test]
    fn what_is_no_table_of_boots_is_refused() {
        for (table, said) in [
            ("a,b\n1,2\n", "no column is named as a time"),
            ("", "no column is named as a time"),
            ("a_s\n", "no row below"),
            ("n,a_s\n1,\nmean,2\n", "no row below"),
            ("a_ms\tb\n1,250\t1\n", "`1,250` may be thousands"),
            ("error(s),foo(ms)\n1,2\n", "no column is named as a time"),
            ("\u{feff}a_s;b_s\r1,5;x\r", "column b_s: expected a time"),
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
            let error = rows(table.as_bytes()).unwrap_err();
            assert!(error.contains(said), "{table:?}: {error}");
        }
        assert!(rows(b"\xff_s\n1\n").is_err());
        let wide = rows(b"\xff\xfea\0_\0s\0").unwrap_err();
        assert!(wide.contains("UTF-16"), "{wide}");
        let summed = rows(b"n;a (s)\n1;1,5\nMean;1,5\n").unwrap();
        assert_eq!(summed.boots.len(), 1);
        assert_eq!(summed.left_out, ["column n", "row mean"]);
    }
}
