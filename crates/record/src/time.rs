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

/// A time that may not be known, in the room of one that is: rows by the million
/// have several.
///
/// The least time of all, 292 years before zero, stands for none; arithmetic that
/// saturates there is one nanosecond off.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct When(i64);

impl When {
    /// No time that is known.
    pub const UNKNOWN: Self = Self(i64::MIN);

    /// The time, if it is known.
    #[inline]
    #[must_use]
    pub const fn get(self) -> Option<Nanos> {
        match self.0 {
            i64::MIN => None,
            at => Some(Nanos(at)),
        }
    }
}

impl From<Nanos> for When {
    #[inline]
    fn from(at: Nanos) -> Self {
        Self(at.0.max(i64::MIN + 1))
    }
}

impl From<Option<Nanos>> for When {
    #[inline]
    fn from(at: Option<Nanos>) -> Self {
        at.map_or(Self::UNKNOWN, Self::from)
    }
}

impl fmt::Debug for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// Prints as the field's tools do: `2 min 13 s`, `1.234 s`, `56.7 ms`, `890 us`, `12 ns`.
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
            119_999_500_000.. => {
                let seconds = (ns / 1_000_000 + 500) / 1_000;
                format!("{sign}{} min {} s", seconds / 60, seconds % 60)
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
    use super::{Nanos, When};

    #[test]
    fn a_time_that_may_not_be_known_is_the_same_afterwards() {
        for at in [None, Some(0), Some(-1), Some(i64::MAX), Some(i64::MIN + 1)] {
            let at = at.map(Nanos);
            let when = When::from(at);
            assert_eq!(when.get(), at);
            assert_eq!(format!("{when:?}"), format!("{at:?}"));
        }
        let least = When::from(Nanos(i64::MIN)).get();
        assert_eq!(least, Some(Nanos(i64::MIN + 1)));
    }

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
            (119_999_000_000, "119.999 s"),
            (119_999_600_000, "2 min 0 s"),
            (133_400_000_000, "2 min 13 s"),
            (-4_000_000_000_000, "-66 min 40 s"),
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
