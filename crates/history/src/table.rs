//! Tables of boots, as spreadsheets write them: a boot in each row, a time in each
//! column whose name says its unit.

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

/// A table of boots.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The names of the columns of times.
    pub times: Vec<String>,
    /// The names of the other columns.
    pub others: Vec<String>,
    /// The rows.
    pub rows: Vec<Row>,
    /// First cells of rows that sum up others and were left out.
    pub summaries: Vec<String>,
}

/// A boot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// The line that it is on, from 1.
    pub line: u64,
    /// In nanoseconds, for each column of times; `None` where the cell is empty.
    pub times: Vec<Option<i64>>,
    /// The text of each other column.
    pub others: Vec<String>,
}

/// Why bytes are no table of boots, in a clause.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TableError(String);

fn wrong<T>(why: impl Into<String>) -> Result<T, TableError> {
    Err(TableError(why.into()))
}

/// The table that `bytes` are.
///
/// # Errors
/// If no column is named as a time, a cell of one holds none, a row is not as wide as the
/// first line, no row has a time, or there are too many rows.
pub fn table(bytes: &[u8]) -> Result<Table, TableError> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return wrong("it is text in UTF-16; save it as CSV in UTF-8");
    }
    // Spreadsheets begin a file with a byte order mark.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let separator = separator(bytes);
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(separator)
        .trim(csv::Trim::All)
        .from_reader(bytes);
    let head = reader.headers();
    let head = head.map_err(|e| TableError(format!("its first line: {e}")))?;
    let head = head.clone();
    let names = || head.iter().enumerate();
    let columns: Vec<(usize, &str, f64)> = names()
        .filter_map(|(at, name)| Some((at, name, unit(name)?)))
        .collect();
    if columns.is_empty() {
        return wrong(
            "no column is named as a time; expected names that end in _s, _sec, _ms, _us or _ns in \
             the first line",
        );
    }
    let others = || names().filter(|(_, name)| unit(name).is_none());
    let mut table = Table {
        times: columns.iter().map(|c| c.1.to_owned()).collect(),
        others: others().map(|(_, name)| name.to_owned()).collect(),
        ..Table::default()
    };
    for row in reader.records() {
        let row = row.map_err(|e| TableError(format!("a row unlike the first line: {e}")))?;
        let line = row.position().map_or(0, csv::Position::line);
        let first = row.get(0).unwrap_or_default().to_ascii_lowercase();
        if unit(head.get(0).unwrap_or_default()).is_none() && SUMMARIES.contains(&&*first) {
            table.summaries.push(first);
            continue;
        }
        if table.rows.len() >= MOST_ROWS {
            return wrong(format!("more than {MOST_ROWS} rows; give fewer boots"));
        }
        let cells = columns.iter().map(|&(at, name, unit)| {
            let text = row.get(at).unwrap_or_default();
            time(text, unit, separator)
                .map_err(|TableError(why)| TableError(format!("line {line}, column {name}: {why}")))
        });
        let texts = others().map(|(at, _)| row.get(at).unwrap_or_default().to_owned());
        table.rows.push(Row {
            line,
            times: cells.collect::<Result<_, _>>()?,
            others: texts.collect(),
        });
    }
    if !table
        .rows
        .iter()
        .any(|r| r.times.iter().any(Option::is_some))
    {
        return wrong("no row below the first line has a time; expected a boot in each");
    }
    Ok(table)
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
fn time(text: &str, unit: f64, separator: u8) -> Result<Option<i64>, TableError> {
    if text.is_empty() {
        return Ok(None);
    }
    // Thousands, or decimals?
    let is_three = |(_, part): (&str, &str)| part.len() == 3;
    if separator != b',' && text.rsplit_once(',').is_some_and(is_three) {
        return wrong(format!(
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
        return wrong(format!("expected a time, found `{text}`"));
    }
    Ok(Some(ns as i64))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::table;
    use proptest::prelude::*;

    #[test]
    fn columns_are_times_by_their_names() {
        let text =
            b"Iteration,Kernel_Sec,Note,app_ms\n1,1.453,warm,12\n2,1.455,,\n3,1.463,x,16.5\n";
        let read = table(text).unwrap();
        assert_eq!(read.others, ["Iteration", "Note"]);
        assert_eq!(read.times, ["Kernel_Sec", "app_ms"]);
        assert_eq!(read.rows.len(), 3);
        assert_eq!(read.rows[1].times, [Some(1_455_000_000), None]);
        assert_eq!(read.rows[0].others, ["1", "warm"]);
        assert_eq!(read.rows[2].line, 4);
        let european = "\u{feff}Start_s;n\n1,25;1\n";
        let read = table(european.as_bytes()).unwrap();
        assert_eq!(read.rows[0].times, [Some(1_250_000_000)]);
        assert_eq!(table(b"a_ns\tb\n7\tx\n").unwrap().rows[0].times, [Some(7)]);
    }

    #[test]
    fn what_is_no_table_of_boots_is_refused() {
        for (text, said) in [
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
            let error = table(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(said), "{text:?}: {error}");
        }
        assert!(table(b"\xff_s\n1\n").is_err());
        let wide = table(b"\xff\xfea\0_\0s\0").unwrap_err().to_string();
        assert!(wide.contains("UTF-16"), "{wide}");
        let summed = table(b"n;a (s)\n1;1,5\nMean;1,5\n").unwrap();
        assert_eq!(summed.rows.len(), 1);
        assert_eq!(summed.summaries, ["mean"]);
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_odd(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = table(&bytes);
        }

        #[test]
        fn all_rows_are_as_wide(text in "(a_s|b|c_ms|,|;|\n|1|2.5| ){0,80}") {
            if let Ok(read) = table(text.as_bytes()) {
                for row in &read.rows {
                    prop_assert_eq!(row.times.len(), read.times.len());
                    prop_assert_eq!(row.others.len(), read.others.len());
                }
            }
        }
    }
}
