//! Time on a record's clock.

use std::fmt;
use std::ops::{Add, Sub};

/// A time on a record's clock, or a length of time, in nanoseconds.
///
/// Zero is the record's zero mark. Negative times lie before it. Arithmetic
/// saturates: a time from hostile input never wraps around.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub i64);

impl Nanos {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// From whole microseconds.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// From whole milliseconds.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// The number of nanoseconds.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }

    /// The absolute value.
    #[must_use]
    pub const fn abs(self) -> Self {
        Self(self.0.saturating_abs())
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Nanos {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// Prints as the field's tools do: `1.234 s`, `56.7 ms`, `890 us`, `12 ns`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let ns = self.0.unsigned_abs();
        // Each unit begins where the smaller one would round up to a thousand.
        let text = match ns {
            0 => "0 s".to_owned(),
            1..=999 => format!("{sign}{ns} ns"),
            1_000..=999_499 => format!("{sign}{} us", (ns + 500) / 1_000),
            999_500..=999_949_999 => {
                let tenths = (ns + 50_000) / 100_000;
                format!("{sign}{}.{} ms", tenths / 10, tenths % 10)
            }
            _ => {
                let millis = (ns / 1_000 + 500) / 1_000;
                format!("{sign}{}.{:03} s", millis / 1_000, millis % 1_000)
            }
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::Nanos;

    #[test]
    fn durations_print_in_the_unit_that_fits() {
        for (ns, text) in [
            (0, "0 s"),
            (12, "12 ns"),
            (890_000, "890 us"),
            (999_499, "999 us"),
            (999_500, "1.0 ms"),
            (56_700_000, "56.7 ms"),
            (999_949_999, "999.9 ms"),
            (999_950_000, "1.000 s"),
            (1_234_000_000, "1.234 s"),
            (-2_500_000, "-2.5 ms"),
        ] {
            assert_eq!(Nanos(ns).to_string(), text);
        }
    }

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Nanos(i64::MAX) + Nanos(1), Nanos(i64::MAX));
        assert_eq!(Nanos(i64::MIN) - Nanos(1), Nanos(i64::MIN));
    }
}
