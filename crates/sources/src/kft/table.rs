//! The table of `kd`: a row for each function with its sums.

use super::notes::BAD_ROW;
use super::row::{Micros, Row};
use crate::text::number;
use record::{FunctionSum, Origin, Recorder};

/// A column, by what `kd -f` calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    /// `F`
    Function,
    /// `c`
    Count,
    /// `t`
    Time,
    /// `a`
    Average,
    /// `r`: `(min-max)`, or nothing.
    Range,
    /// `s`: the time of the functions it called.
    SubTime,
    /// `l`
    Local,
    /// `m`: the function it called that took longest, or nothing.
    MaxSub,
    /// `n`: how often it called that one.
    MaxSubCount,
    /// `u`: what it called, to the end of the line.
    SubList,
}

/// The columns of a table, if the line is the head of one: it begins with the
/// function, and has the count or the time.
pub(super) fn columns(line: &[u8]) -> Option<Vec<Column>> {
    let mut words = line
        .split(|b| b.is_ascii_whitespace())
        .filter(|w| !w.is_empty())
        .peekable();
    let mut columns = Vec::new();
    while let Some(word) = words.next() {
        columns.push(match word {
            b"Function" => Column::Function,
            b"Count" => Column::Count,
            b"Time" => Column::Time,
            b"Average" => Column::Average,
            b"Range" => Column::Range,
            b"Sub-time" => Column::SubTime,
            b"Local" => Column::Local,
            b"Max-sub" => Column::MaxSub,
            b"Ms" if words.next_if_eq(&&b"count"[..]).is_some() => Column::MaxSubCount,
            b"Sub" if words.next_if_eq(&&b"list"[..]).is_some() => Column::SubList,
            _ => return None,
        });
    }
    let has = |column| columns.contains(&column);
    (has(Column::Function) && (has(Column::Count) || has(Column::Time))).then_some(columns)
}

/// Takes a row.
pub(super) fn row(columns: &[Column], line: &[u8], origin: Origin, recorder: &mut Recorder) -> Row {
    match sum(columns, line, origin, recorder) {
        Some(sum) => {
            recorder.functions().add_sum(sum);
            Row::Taken
        }
        None => Row::Noted(&BAD_ROW),
    }
}

fn sum(
    columns: &[Column],
    line: &[u8],
    origin: Origin,
    recorder: &mut Recorder,
) -> Option<FunctionSum> {
    let words: Vec<&[u8]> = line
        .split(|b| b.is_ascii_whitespace())
        .filter(|w| !w.is_empty())
        .collect();
    // Two columns may be empty: the range, which is known by its parenthesis,
    // and the name of the function that took longest, where there is none.
    let has_range = words.iter().any(|w| w.starts_with(b"("));
    let wanted = columns
        .iter()
        .filter(|c| match c {
            Column::Range => has_range,
            Column::SubList => false,
            _ => true,
        })
        .count();
    let has_list = columns.contains(&Column::SubList);
    let has_max_sub = match columns.contains(&Column::MaxSub) {
        true if words.len() == wanted || (has_list && words.len() > wanted) => true,
        true if words.len() + 1 == wanted => false,
        false if words.len() == wanted || (has_list && words.len() > wanted) => false,
        _ => return None,
    };
    let mut words = words.into_iter();
    let (mut function, mut count, mut time) = (None, None, None);
    let (mut average, mut local, mut max_sub, mut max_sub_count) = (None, None, None, None);
    for column in columns {
        match column {
            Column::Range if !has_range => {}
            Column::MaxSub if !has_max_sub => {}
            Column::SubList => break,
            Column::Function => function = Some(recorder.name_lossy(words.next()?)),
            Column::Count => count = Some(whole(words.next()?)?),
            Column::Time => time = Some(Micros::of(words.next()?)?),
            Column::Average => average = Micros::of(words.next()?)?.known(),
            Column::Local => local = Micros::of(words.next()?)?.known(),
            Column::MaxSub => max_sub = Some(recorder.name_lossy(words.next()?)),
            Column::MaxSubCount => max_sub_count = Some(whole(words.next()?)?),
            Column::Range => {
                words.next()?;
            }
            Column::SubTime => {
                Micros::of(words.next()?)?;
            }
        }
    }
    let time = match time {
        Some(time) => time.known(),
        None => None,
    };
    Some(FunctionSum {
        function: function?,
        count: count.unwrap_or(0),
        time,
        average,
        local,
        max_sub: max_sub.map(|name| (name, max_sub_count.unwrap_or(0))),
        origin,
    })
}

fn whole(word: &[u8]) -> Option<u64> {
    number(word).filter(|n| n.1.is_empty()).map(|n| n.0)
}

#[cfg(test)]
mod tests {
    use super::{Column, columns, sum};
    use record::{Nanos, Origin, Recorder};

    #[test]
    fn heads_say_the_columns() {
        use Column::{Average, Count, Function, Local, MaxSub, MaxSubCount, Range, SubList, Time};
        let found = columns(b"Function   Count Time   Average  Local    Max-sub   Ms count");
        assert_eq!(
            found.unwrap(),
            [Function, Count, Time, Average, Local, MaxSub, MaxSubCount]
        );
        let found = columns(b"Function Time Range Sub list");
        assert_eq!(found.unwrap(), [Function, Time, Range, SubList]);
        for line in [
            "Function",
            "Time Count",
            "Function Count Else",
            "",
            "Ms count",
        ] {
            assert_eq!(columns(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn rows_may_lack_what_a_function_has_not() {
        let mut rec = Recorder::new();
        let source = rec.source("x", "test");
        let origin = Origin { source, offset: 0 };
        let head = columns(b"Function Count Time Range Local Max-sub Ms count").unwrap();
        for (row, max_sub) in [
            ("f 2 30 (10-20) 5 g 1", Some(1)),
            ("f 2 30 5 g 1", Some(1)),
            ("f 2 30 (10-20) 5 0", None),
            ("f 2 30 5 0", None),
        ] {
            let sum = sum(&head, row.as_bytes(), origin, &mut rec).unwrap();
            assert_eq!((sum.count, sum.time), (2, Some(Nanos(30_000))), "{row}");
            assert_eq!(sum.local, Some(Nanos(5_000)), "{row}");
            assert_eq!(sum.max_sub.map(|m| m.1), max_sub, "{row}");
        }
        for row in ["f 2 30", "f x 30 5 g 1", "f 2 30 5 g 1 more", ""] {
            assert_eq!(sum(&head, row.as_bytes(), origin, &mut rec), None, "{row}");
        }
        let head = columns(b"Function Count Time").unwrap();
        let open = sum(&head, b"f 1 -1", origin, &mut rec).unwrap();
        assert_eq!(open.time, None);
        let fraction = sum(&head, b"f 1 2.345", origin, &mut rec).unwrap();
        assert_eq!(fraction.time, Some(Nanos(2_345)));
    }
}
