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
    /// Facts on these times, whose order is changed.
    pub(super) fn of(times: &mut [i64]) -> Self {
        let count = times.len();
        let (Some(min), Some(max)) = (times.iter().min(), times.iter().max()) else {
            return Self::default();
        };
        let (min, max) = (*min, *max);
        let sum = times.iter().fold(0_i64, |s, t| s.saturating_add(*t));
        // The smallest that so many of a thousand do not exceed. Those above
        // stand behind it then, so that the next one down is in the rest.
        let mut rest = times;
        let mut rank = |permille: usize| {
            let rank = count.saturating_mul(permille).div_ceil(1000);
            at(&mut rest, rank.saturating_sub(1))
        };
        let (p999, p99, p90) = (rank(999), rank(990), rank(900));
        let above = at(&mut rest, count / 2);
        let below = at(&mut rest, (count - 1) / 2);
        let median = below.saturating_add(above.saturating_sub(below) / 2);
        Self {
            count: count as u64,
            mean: Nanos(rounded(sum, i64::try_from(count).unwrap_or(i64::MAX))),
            min: Nanos(min),
            median: Nanos(median),
            p90: Nanos(p90),
            p99: Nanos(p99),
            p999: Nanos(p999),
            max: Nanos(max),
        }
    }
}

/// The value that stands at `index` of `rest` when it is sorted; those behind
/// it are cut off.
fn at(rest: &mut &mut [i64], index: usize) -> i64 {
    let all = std::mem::take(rest);
    let index = index.min(all.len().saturating_sub(1));
    if all.is_empty() {
        return 0;
    }
    let value = *all.select_nth_unstable(index).1;
    *rest = all.get_mut(..=index).unwrap_or_default();
    value
}

#[cfg(test)]
mod tests {
    use super::Latency;
    use record::Nanos;

    #[test]
    fn percentiles_are_values_that_occur() {
        let latency = Latency::of(&mut (1..=1000).rev().collect::<Vec<_>>());
        let of = |l: Latency| [l.min, l.median, l.p90, l.p99, l.p999, l.max, l.mean];
        assert_eq!(of(latency), [1, 500, 900, 990, 999, 1000, 501].map(Nanos));
        let one = Latency::of(&mut [7]);
        assert_eq!((one.count, of(one)), (1, [Nanos(7); 7]));
        assert_eq!(Latency::of(&mut []), Latency::default());
    }
}
