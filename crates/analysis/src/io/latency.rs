//! How long requests took.

use super::rounded;
use record::Nanos;

/// Facts on lengths of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// How many there are.
    pub count: u64,
    /// Their mean; zero if there are none.
    pub mean: Nanos,
    /// The shortest.
    pub min: Nanos,
    /// The one in the middle, or the mean of the two that are.
    pub median: Nanos,
    /// 90 of 100 are at most this long (nearest rank, as the next ones).
    pub p90: Nanos,
    /// 99 of 100 are at most this long.
    pub p99: Nanos,
    /// 999 of 1,000 are at most this long.
    pub p999: Nanos,
    /// The longest.
    pub max: Nanos,
}

impl Latency {
    pub(super) fn of(times: impl Iterator<Item = Nanos>) -> Self {
        let mut times: Vec<i64> = times.map(Nanos::get).collect();
        times.sort_unstable();
        let (Some(&min), Some(&max)) = (times.first(), times.last()) else {
            return Self::default();
        };
        let sum = times.iter().fold(0_i64, |s, t| s.saturating_add(*t));
        let count = times.len();
        // The smallest that so many of a thousand do not exceed.
        let rank = |permille: usize| {
            let rank = count.saturating_mul(permille).div_ceil(1000);
            Nanos(times.get(rank.saturating_sub(1)).copied().unwrap_or(max))
        };
        Self {
            count: count as u64,
            mean: Nanos(rounded(sum, i64::try_from(count).unwrap_or(i64::MAX))),
            min: Nanos(min),
            median: Nanos(middle(&times)),
            p90: rank(900),
            p99: rank(990),
            p999: rank(999),
            max: Nanos(max),
        }
    }
}

fn middle(sorted: &[i64]) -> i64 {
    let at = |i: usize| sorted.get(i).copied().unwrap_or_default();
    let (below, above) = (at((sorted.len() - 1) / 2), at(sorted.len() / 2));
    below.saturating_add(above.saturating_sub(below) / 2)
}

#[cfg(test)]
mod tests {
    use super::Latency;
    use record::Nanos;

    #[test]
    fn percentiles_are_values_that_occur() {
        let latency = Latency::of((1..=1000).rev().map(Nanos));
        let of = |l: Latency| [l.min, l.median, l.p90, l.p99, l.p999, l.max, l.mean];
        assert_eq!(of(latency), [1, 500, 900, 990, 999, 1000, 501].map(Nanos));
        let one = Latency::of([Nanos(7)].into_iter());
        assert_eq!((one.count, of(one)), (1, [Nanos(7); 7]));
        assert_eq!(Latency::of(std::iter::empty()), Latency::default());
    }
}
