//! Tables of boots, as spreadsheets write them: a boot in each row, a time in each
//! column whose name or whose cells say the unit.

use crate::duration::{Number, unit_of_name, with_units};

/// The most rows: each time of some thousand boots is told well.
const MOST_ROWS: usize = 20_000;

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
    /// Cells of columns of times that say that there is none, such as ``line 4, column boot_s
    /// (`failed`)``.
    pub without: Vec<String>,
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

/// Cells that say that a boot has no time, in lower case.
const NO_TIMES: [&str; 24] = [
    "-",
    "--",
    "\u{2013}",
    "\u{2014}",
    "?",
    "n/a",
    "na",
    "nan",
    "nil",
    "null",
    "none",
    "missing",
    "fail",
    "failed",
    "failure",
    "error",
    "timeout",
    "timed out",
    "skip",
    "skipped",
    "#n/a",
    "#div/0!",
    "#value!",
    "#ref!",
];

/// The table that `bytes` are.
///
/// A column is one of times if its name ends in a unit, or if more than half of its cells are
/// numbers with units.
///
/// # Errors
/// If there is no column of times, a cell of one holds none, a row is not as wide as the
/// first line, no row has a time, or there are too many rows.
pub fn table(bytes: &[u8]) -> Result<Table, TableError> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return wrong("it is text in UTF-16; save it as CSV in UTF-8");
    }
    // Spreadsheets begin a file with a byte order mark.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let (bytes, skipped) = behind_comments(bytes);
    let separator = separator(bytes);
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(separator)
        .trim(csv::Trim::All)
        .flexible(true)
        .from_reader(bytes);
    let head = reader.headers();
    let head = head.map_err(|e| TableError(format!("its first line: {e}")))?;
    let head = head.clone();
    let mut read = Vec::new();
    for row in reader.records() {
        let row = row.map_err(|e| TableError(format!("a row that is no text: {e}")))?;
        if read.len() >= MOST_ROWS {
            return wrong(format!("more than {MOST_ROWS} rows; give fewer boots"));
        }
        let line = row.position().map_or(0, csv::Position::line) + skipped;
        as_wide(&row, head.len(), line)?;
        read.push((line, row));
    }
    let is_summary = |row: &csv::StringRecord| {
        let first = row.get(0).unwrap_or_default().to_ascii_lowercase();
        SUMMARIES.contains(&&*first)
    };
    let cells = |at: usize| {
        let all = read.iter().filter(|(_, row)| !is_summary(row));
        all.map(move |(_, row)| row.get(at).unwrap_or_default())
    };
    let number = Number { separator };
    let mut columns = Vec::new();
    let mut others = Vec::new();
    for (at, name) in head.iter().enumerate() {
        match unit_of_name(name) {
            None if !has_units(cells(at), number) => others.push((at, name)),
            unit => columns.push((at, name, unit)),
        }
    }
    if columns.is_empty() {
        return wrong(
            "no column holds times; expected names that end in _s, _sec, _ms, _us or _ns in the \
             first line, or cells with units such as `2.031 s`",
        );
    }
    let mut table = Table {
        times: columns.iter().map(|c| c.1.to_owned()).collect(),
        others: others.iter().map(|c| c.1.to_owned()).collect(),
        ..Table::default()
    };
    let names_a_row = columns.first().is_none_or(|c| c.0 > 0);
    for (line, row) in &read {
        if names_a_row && is_summary(row) {
            let first = row.get(0).unwrap_or_default().to_ascii_lowercase();
            table.summaries.push(first);
            continue;
        }
        let mut times = Vec::with_capacity(columns.len());
        for (at, name, unit) in &columns {
            let text = row.get(*at).unwrap_or_default();
            if !text.is_empty() && has_no_time(text) {
                let place = format!("line {line}, column {name} (`{text}`)");
                table.without.push(place);
            }
            let time = time(text, *unit, number);
            let place = |TableError(why)| TableError(format!("line {line}, column {name}: {why}"));
            times.push(time.map_err(place)?);
        }
        let texts = others
            .iter()
            .map(|(at, _)| row.get(*at).unwrap_or_default());
        table.rows.push(Row {
            line: *line,
            times,
            others: texts.map(str::to_owned).collect(),
        });
    }
    let has_time = |r: &Row| r.times.iter().any(Option::is_some);
    if !table.rows.iter().any(has_time) {
        return wrong("no row below the first line has a time; expected a boot in each");
    }
    Ok(table)
}

/// What is behind lines of comments, and how many these are. A comment that has as many columns
/// as the line below names them, as in tables for gnuplot.
fn behind_comments(mut bytes: &[u8]) -> (&[u8], u64) {
    let mut skipped = 0;
    while let Some(rest) = bytes.strip_prefix(b"#") {
        let end = rest.iter().position(|b| *b == b'\n');
        let Some((line, below)) = end.and_then(|at| Some((rest.get(..at)?, rest.get(at + 1..)?)))
        else {
            break;
        };
        let next = below.split(|b| *b == b'\n').next().unwrap_or_default();
        let separator = separator(next);
        let is_filler = |b: &u8| *b == separator || b.is_ascii_whitespace();
        let columns = |line: &[u8]| {
            let end = line.iter().rposition(|b| !is_filler(b));
            let used = line.get(..end.map_or(0, |at| at + 1)).unwrap_or_default();
            used.split(|b| *b == separator).count()
        };
        // Names do not begin with digits.
        let mut cells = next.split(|b| *b == separator);
        let has_numbers =
            cells.any(|c| c.trim_ascii_start().first().is_some_and(u8::is_ascii_digit));
        if has_numbers && columns(line) > 1 && columns(line) == columns(next) {
            return (rest, skipped);
        }
        (bytes, skipped) = (below, skipped + 1);
    }
    (bytes, skipped)
}

/// Whether a row is as wide as the first line; empty cells at its end do not count.
fn as_wide(row: &csv::StringRecord, width: usize, line: u64) -> Result<(), TableError> {
    let filled = row.iter().enumerate().filter(|(_, cell)| !cell.is_empty());
    let used = filled.last().map_or(0, |(at, _)| at + 1);
    let has = match row.len() < width {
        true => row.len(),
        false if used > width => used,
        false => return Ok(()),
    };
    wrong(format!(
        "cells of line {line}: {has}, of the first line: {width}; correct the row or delete it"
    ))
}

/// Whether more than half of the cells that are not empty are numbers with units.
fn has_units<'c>(cells: impl Iterator<Item = &'c str>, number: Number) -> bool {
    let filled = cells.filter(|c| !c.is_empty() && !has_no_time(c));
    let (mut all, mut with) = (0, 0);
    for cell in filled {
        all += 1;
        with += usize::from(with_units(cell, number).is_some());
    }
    2 * with > all
}

fn has_no_time(text: &str) -> bool {
    text.len() <= 12 && NO_TIMES.contains(&&*text.to_lowercase())
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

/// What stands in a cell, in nanoseconds; an empty one holds no time. Its own unit counts, and
/// without one that of the column.
fn time(text: &str, unit: Option<f64>, number: Number) -> Result<Option<i64>, TableError> {
    if text.is_empty() || has_no_time(text) {
        return Ok(None);
    }
    if number.is_ambiguous(text) {
        return wrong(format!(
            "`{text}` may be thousands or a decimal comma; write it with a point"
        ));
    }
    let ns = match (with_units(text, number), number.of(text), unit) {
        (Some(ns), ..) => ns,
        // Zero is zero in every unit.
        (None, Some(0.0), None) => 0.0,
        (None, Some(n), Some(unit)) => n * unit,
        (None, Some(_), None) => {
            return wrong(format!(
                "expected a time with a unit such as `2.031 s`, as in other rows, found `{text}`"
            ));
        }
        (None, None, _) => f64::NAN,
    };
    // Up to a hundred days, a double holds each nanosecond.
    let ns = ns.round();
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
            ("a,b\n1,2\n", "no column holds times"),
            ("", "no column holds times"),
            ("a_s\n", "no row below"),
            ("n,a_s\n1,\nmean,2\n", "no row below"),
            ("a_ms\tb\n1,250\t1\n", "`1,250` may be thousands"),
            ("error(s),foo\n1,2\n", "no column holds times"),
            ("\u{feff}a_s;b_s\r1,5;x\r", "column b_s: expected a time"),
            (
                "a_s,b\n1,2\n1,2,3\n",
                "cells of line 3: 3, of the first line: 2",
            ),
            (
                "a_s,b\n1,2\n1\n",
                "cells of line 3: 1, of the first line: 2",
            ),
            (
                "a_s,b\nx,2\n",
                "line 2, column a_s: expected a time, found `x`",
            ),
            ("a_s\n-1\n", "found `-1`"),
            ("a_s\n1e300\n", "found `1e300`"),
            ("a_s\nnan\n", "no row below"),
            (
                "a\n2.1s\n2.2s\n2.2\n",
                "line 4, column a: expected a time with a unit",
            ),
            (
                "a\n2.1s\n2.2s\nwarm\n",
                "line 4, column a: expected a time, found `warm`",
            ),
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

    #[test]
    fn cells_may_say_their_units() {
        let of = |text: &str| table(text.as_bytes()).unwrap();
        let read = of("commit,boot,note\na,2.031s,5 min\nb,1 min 2 s,warm\nc,850 ms,cold\nd,-,x\n");
        assert_eq!((&read.times[0][..], read.others.len()), ("boot", 2));
        let times: Vec<Option<i64>> = read.rows.iter().map(|r| r.times[0]).collect();
        let wanted = [
            Some(2_031_000_000),
            Some(62_000_000_000),
            Some(850_000_000),
            None,
        ];
        assert_eq!(times, wanted);
        assert_eq!(read.without, ["line 5, column boot (`-`)"]);
        // A cell's own unit counts, also beside that of the column.
        let read = of("n;boot_ms\n1;2,5 s\n2;850\n3;N/A\n");
        let times: Vec<Option<i64>> = read.rows.iter().map(|r| r.times[0]).collect();
        assert_eq!(times, [Some(2_500_000_000), Some(850_000_000), None]);
        // What is no time in most cells is no column of times.
        assert!(table(b"a,b\n5s,x\nwarm,y\n").is_err());
    }

    #[test]
    fn tables_have_comments_above_and_empty_cells_behind() {
        let of = |text: &str| table(text.as_bytes()).unwrap();
        let read = of("# of the board\n# n\tboot_s\n1\t2.5\t\t\n2\t2.6\n");
        assert_eq!((&read.times[0][..], read.rows.len()), ("boot_s", 2));
        assert_eq!(read.rows[1].line, 4);
        assert_eq!(
            of("# a comment, with a comma\nn,boot_s\n1,2\n").rows.len(),
            1
        );
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
