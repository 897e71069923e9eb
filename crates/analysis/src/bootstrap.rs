//! How far a median can be trusted, from the values themselves.

use crate::effect::median;
use record::Nanos;

/// A median, and the range that holds the true one in 19 of 20 cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The median of the values.
    pub median: Nanos,
    /// Its lower bound.
    pub low: Nanos,
    /// Its upper bound.
    pub high: Nanos,
}

/// How many samples are drawn.
const DRAWS: usize = 2000;

/// The median of `values` with its 95 % interval by the percentile bootstrap
/// (Efron 1979): medians of samples drawn from the values, with repetition. The
/// draws are the same each time, so equal values give equal intervals. `None` of
/// nothing.
#[must_use]
pub fn interval(values: &[Nanos]) -> Option<Interval> {
    let middle = median(values)?;
    // The generator of Marsaglia's "Xorshift RNGs" (2003), 13-7-17.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let count = values.len() as u64;
    let mut medians: Vec<Nanos> = Vec::with_capacity(DRAWS);
    let mut drawn = Vec::with_capacity(values.len());
    for _ in 0..DRAWS {
        drawn.clear();
        for _ in 0..count {
            let at = usize::try_from((next() >> 11) % count).unwrap_or(0);
            drawn.extend(values.get(at));
        }
        medians.extend(median(&drawn));
    }
    medians.sort_unstable();
    let at = |part: usize| medians.get(DRAWS * part / 1000).copied().unwrap_or(middle);
    Some(Interval {
        median: middle,
        low: at(25),
        high: at(975),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::{Interval, interval};
    use record::Nanos;

    #[test]
    fn one_value_is_certain_and_none_is_nothing() {
        let five = Nanos(5);
        let certain = Interval {
            median: five,
            low: five,
            high: five,
        };
        assert_eq!(interval(&[five]), Some(certain));
        assert_eq!(interval(&[]), None);
    }

    #[test]
    fn the_interval_holds_the_median_and_narrows() {
        let few: Vec<Nanos> = (0..10).map(|n| Nanos(n * 100)).collect();
        let many: Vec<Nanos> = (0..1000).map(Nanos).collect();
        let (few, many) = (interval(&few).unwrap(), interval(&many).unwrap());
        for i in [few, many] {
            assert!(i.low < i.median && i.median < i.high, "{i:?}");
        }
        assert!(many.high - many.low < few.high - few.low);
        // The error of the median of n evenly spread values is near their range
        // over twice the root of n: here 16, and the interval four of them wide.
        let width = (many.high - many.low).0;
        assert!((40..90).contains(&width), "{width}");
    }
}
