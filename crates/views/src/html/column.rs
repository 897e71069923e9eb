//! Columns of whole numbers, small as text.

use schemars::JsonSchema;
use serde::ser::{Serialize, SerializeSeq, SerializeStruct, Serializer};

/// No value.
const NONE: i64 = i64::MIN;

/// Past this a script's numbers are no longer whole: such a column is written
/// as it is.
const WHOLE: i64 = 1 << 53;

/// A column of whole numbers.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
pub(super) struct Column {
    /// Every value is multiplied by this; missing for 1.
    #[schemars(range(min = 1), skip_serializing_if = "skipped")]
    unit: i64,
    /// Each value is the difference from the one before; missing if not.
    #[schemars(extend("const" = true), skip_serializing_if = "skipped")]
    delta: bool,
    /// The column has its one value this many times; missing if it has several.
    #[schemars(range(min = 2), skip_serializing_if = "skipped")]
    repeat: Option<usize>,
    /// Values; null where there is none.
    #[schemars(with = "Vec<Option<i64>>")]
    values: Vec<i64>,
}

impl Column {
    /// Values that have nothing to do with each other.
    pub(super) fn plain(values: Vec<i64>) -> Self {
        Self::of(values, false)
    }

    /// Values that mostly grow by a little: times and places.
    pub(super) fn growing(values: Vec<i64>) -> Self {
        Self::of(values, true)
    }

    /// Values that may be missing; `None` if all are.
    pub(super) fn some(values: impl Iterator<Item = Option<i64>>) -> Option<Self> {
        let values: Vec<i64> = values.map(|v| v.unwrap_or(NONE)).collect();
        values
            .iter()
            .any(|v| *v != NONE)
            .then(|| Self::of(values, false))
    }

    fn of(mut values: Vec<i64>, delta: bool) -> Self {
        let first = values.first().copied();
        if let Some(first) = first
            && values.len() > 1
            && values.iter().all(|v| *v == first)
        {
            return Self {
                unit: 1,
                delta: false,
                repeat: Some(values.len()),
                values: vec![first],
            };
        }
        let exact = values.iter().all(|v| *v == NONE || v.abs() < WHOLE);
        let unit = if exact { common(&values) } else { 1 };
        let delta = delta && exact && !values.contains(&NONE);
        let mut before = 0;
        for value in values.iter_mut().filter(|v| **v != NONE) {
            *value /= unit;
            if delta {
                (*value, before) = (*value - before, *value);
            }
        }
        Self {
            unit,
            delta,
            repeat: None,
            values,
        }
    }
}

/// The greatest number that divides all values; at least 1.
fn common(values: &[i64]) -> i64 {
    let mut divisor = 0_i64;
    for &value in values.iter().filter(|v| **v != NONE) {
        let (mut a, mut b) = (divisor, value.abs());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        divisor = a;
        if divisor == 1 {
            break;
        }
    }
    divisor.max(1)
}

impl Serialize for Column {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Values<'a>(&'a [i64]);
        impl Serialize for Values<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut all = serializer.serialize_seq(Some(self.0.len()))?;
                for value in self.0 {
                    match *value {
                        NONE => all.serialize_element(&None::<i64>)?,
                        value => all.serialize_element(&value)?,
                    }
                }
                all.end()
            }
        }
        let mut column = serializer.serialize_struct("Column", 4)?;
        if self.unit != 1 {
            column.serialize_field("unit", &self.unit)?;
        }
        if self.delta {
            column.serialize_field("delta", &true)?;
        }
        if let Some(repeat) = self.repeat {
            column.serialize_field("repeat", &repeat)?;
        }
        column.serialize_field("values", &Values(&self.values))?;
        column.end()
    }
}

#[cfg(test)]
mod tests {
    use super::Column;
    use proptest::prelude::*;

    fn text(column: &Column) -> String {
        serde_json::to_string(column).unwrap_or_default()
    }

    #[test]
    fn what_is_common_is_written_once() {
        for (column, wanted) in [
            (
                Column::growing(vec![5_000, 7_000, 10_000]),
                r#"{"unit":1000,"delta":true,"values":[5,2,3]}"#,
            ),
            (Column::plain(vec![3, 1]), r#"{"values":[3,1]}"#),
            (Column::plain(vec![4, 4, 4]), r#"{"repeat":3,"values":[4]}"#),
            (Column::plain(vec![0]), r#"{"values":[0]}"#),
            (Column::growing(vec![]), r#"{"delta":true,"values":[]}"#),
            (
                Column::growing(vec![i64::MAX, 0]),
                r#"{"values":[9223372036854775807,0]}"#,
            ),
        ] {
            assert_eq!(text(&column), wanted);
        }
        let some = Column::some([Some(20), None, Some(30)].into_iter());
        let some = some.map(|c| text(&c)).unwrap_or_default();
        assert_eq!(some, r#"{"unit":10,"values":[2,null,3]}"#);
        assert_eq!(Column::some([None, None].into_iter()), None);
    }

    proptest! {
        /// Undoing what a reader is told to undo gives the values.
        #[test]
        fn a_reader_gets_the_values_back(values: Vec<i32>, unit in 1_i64..10_000, grows: bool) {
            let values: Vec<i64> = values.into_iter().map(|v| i64::from(v) * unit).collect();
            let column = if grows {
                Column::growing(values.clone())
            } else {
                Column::plain(values.clone())
            };
            let mut sum = 0;
            let repeat = column.repeat.unwrap_or(1);
            let all = std::iter::repeat_n(&column.values, repeat).flatten();
            let read: Vec<i64> = all
                .map(|v| {
                    sum = if column.delta { sum + v } else { *v };
                    sum * column.unit
                })
                .collect();
            prop_assert_eq!(read, values);
        }
    }
}
