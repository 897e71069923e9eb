//! How long requests took.

use super::figures::rounded;
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
    /// Facts on the times of all lists together.
    pub(super) fn of(lists: &[&[i64]]) -> Self {
        let all = || lists.iter().copied().flatten().copied();
        let count: usize = lists.iter().map(|l| l.len()).sum();
        if count == 0 {
            return Self::default();
        }
        let (mut min, mut max, mut sum) = (i64::MAX, i64::MIN, 0_i64);
        for time in all() {
            (min, max) = (min.min(time), max.max(time));
            sum = sum.saturating_add(time);
        }
        // The smallest that so many of a thousand do not exceed.
        let rank = |permille: usize| count.saturating_mul(permille).div_ceil(1000).max(1) - 1;
        let ranks = [(count - 1) / 2, count / 2, rank(900), rank(990), rank(999)];
        let [below, above, p90, p99, p999] = ranked(all, min, ranks);
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

/// Into how many buckets times are counted that lie in one power of two.
const PARTS_BITS: u32 = 6;

/// How many buckets there are, for times of 64 bits.
const BUCKETS: usize = (65 - PARTS_BITS as usize) << PARTS_BITS;

/// The bucket of a time that is so much longer than the shortest one. Longer times are
/// in the same one or a later one.
#[inline]
fn bucket(longer: u64) -> usize {
    // The upper bits: as many as number the parts, below the highest one.
    let shift = (u64::BITS - longer.leading_zeros()).saturating_sub(PARTS_BITS + 1);
    ((shift as usize) << PARTS_BITS) + (longer >> shift) as usize
}

/// The values that stand at these places when all of `values` are sorted, of which
/// `least` is the first: they are counted into buckets, and only those in the
/// buckets that are asked for are sorted.
fn ranked<I: Iterator<Item = i64>, const N: usize>(
    values: impl Fn() -> I,
    least: i64,
    ranks: [usize; N],
) -> [i64; N] {
    let bucket = |value: i64| bucket(value.wrapping_sub(least).cast_unsigned());
    let mut counts = vec![0_usize; BUCKETS];
    for value in values() {
        if let Some(count) = counts.get_mut(bucket(value)) {
            *count += 1;
        }
    }
    // Of each rank its bucket, and how many values lie in those before.
    let places = ranks.map(|rank| {
        let mut before = 0;
        for (number, &count) in counts.iter().enumerate() {
            if rank < before + count {
                return (number, before);
            }
            before += count;
        }
        (0, 0)
    });
    let mut wanted: Vec<(usize, Vec<i64>)> = Vec::new();
    let mut lists = vec![usize::MAX; BUCKETS];
    for (number, _) in places {
        if let Some(list) = lists.get_mut(number)
            && *list == usize::MAX
        {
            *list = wanted.len();
            let room = counts.get(number).copied().unwrap_or(0);
            wanted.push((number, Vec::with_capacity(room)));
        }
    }
    for value in values() {
        let list = lists.get(bucket(value)).copied().unwrap_or(usize::MAX);
        if let Some((_, list)) = wanted.get_mut(list) {
            list.push(value);
        }
    }
    let mut found = ranks.into_iter().zip(places);
    [(); N].map(|()| {
        let Some((rank, (number, before))) = found.next() else {
            return 0;
        };
        let list = wanted.iter_mut().find(|w| w.0 == number);
        list.map_or(0, |(_, list)| {
            let index = (rank - before).min(list.len().saturating_sub(1));
            match list.is_empty() {
                true => 0,
                false => *list.select_nth_unstable(index).1,
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{BUCKETS, Latency, bucket, ranked};
    use proptest::prelude::*;
    use record::Nanos;

    #[test]
    fn percentiles_are_values_that_occur() {
        let latency = Latency::of(&[
            &(501..=1000).rev().collect::<Vec<_>>(),
            &(1..=500).collect::<Vec<_>>(),
        ]);
        let of = |l: Latency| [l.min, l.median, l.p90, l.p99, l.p999, l.max, l.mean];
        assert_eq!(of(latency), [1, 500, 900, 990, 999, 1000, 501].map(Nanos));
        let one = Latency::of(&[&[], &[7]]);
        assert_eq!((one.count, of(one)), (1, [Nanos(7); 7]));
        assert_eq!(Latency::of(&[&[]]), Latency::default());
    }

    #[test]
    fn longer_times_are_in_no_earlier_bucket() {
        let mut times: Vec<u64> = (0..64)
            .flat_map(|bit| [1_u64 << bit, (1 << bit) - 1, (1 << bit) | 1 << (bit / 2)])
            .chain(0..1_000)
            .chain([u64::MAX])
            .collect();
        times.sort_unstable();
        assert!(times.iter().map(|t| bucket(*t)).is_sorted());
        assert_eq!((bucket(0), bucket(u64::MAX)), (0, BUCKETS - 1));
    }

    proptest! {
        /// The same by sorting.
        #[test]
        fn ranked_values_are_those_of_the_sorted_list(
            values in prop::collection::vec(
                prop_oneof![any::<i64>(), -5_i64..5, 0_i64..1_000_000], 1..300),
        ) {
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let last = sorted.len() - 1;
            let ranks = [0, last / 3, last / 2, last / 2, last];
            let found = ranked(|| values.iter().copied(), sorted[0], ranks);
            prop_assert_eq!(found, ranks.map(|r| sorted[r]));
        }
    }
}
