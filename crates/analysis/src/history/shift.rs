//! By how much a level changed.

use super::normal::quantile;
use crate::effect::median;
use record::Nanos;

/// The most points on each side: those next to the change tell the most of it.
const NEAREST: usize = 100;

/// A change of level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shift {
    /// The median of the nearest points before.
    pub before: Nanos,
    /// The median of the nearest points after.
    pub after: Nanos,
    /// The 95 % confidence interval of the difference.
    pub interval: (Nanos, Nanos),
}

/// From the points before a change to those after it; `None` if a side is empty.
///
/// The interval is that of Price and Bonett (2002) for a difference of medians: it takes
/// each median's variance from the order of the values and assumes no distribution.
pub(super) fn shift(before: &[Nanos], after: &[Nanos]) -> Option<Shift> {
    let before = before.get(before.len().saturating_sub(NEAREST)..)?;
    let after = after.get(..after.len().min(NEAREST))?;
    let (low, high) = (median(before)?, median(after)?);
    let error = (variance_of_median(before) + variance_of_median(after)).sqrt();
    let around = Nanos((error * quantile(0.975)).ceil() as i64);
    let delta = high - low;
    Some(Shift {
        before: low,
        after: high,
        interval: (delta - around, delta + around),
    })
}

/// The variance of the median of `values`, in square nanoseconds.
fn variance_of_median(values: &[Nanos]) -> f64 {
    let count = values.len();
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let place = ((count as f64 + 1.0) / 2.0 - (count as f64).sqrt()).round();
    let place = place.max(1.0) as usize;
    let (Some(low), Some(high)) = (sorted.get(place - 1), sorted.get(count - place.min(count)))
    else {
        return 0.0;
    };
    // How probable it is that the true median is below the low one.
    let beyond = binomial(count, place - 1);
    let z = quantile(1.0 - beyond).max(0.1);
    ((*high - *low).get().max(0) as f64 / (2.0 * z)).powi(2)
}

/// How probable it is that a fair coin shows heads at most `most` times in `tosses`.
fn binomial(tosses: usize, most: usize) -> f64 {
    let n = tosses as f64;
    let mut ways = 0.5_f64.powf(n);
    let mut sum = ways;
    for heads in 1..=most {
        let k = heads as f64;
        ways *= (n - k + 1.0) / k;
        sum += ways;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::{binomial, shift};
    use crate::statistics::Chance;
    use record::Nanos;

    #[test]
    fn the_binomial_is_that_of_others() {
        // R's `pbinom(3, 10, 0.5)` and `pbinom(40, 100, 0.5)`.
        assert!((binomial(10, 3) - 0.171_875).abs() < 1e-9);
        assert!((binomial(100, 40) - 0.028_443_966_82).abs() < 1e-9);
    }

    /// 95 of 100 intervals hold the true difference, of few points and of many.
    #[test]
    fn intervals_hold_the_difference() {
        let mut chance = Chance(3);
        for (before, after) in [(5, 5), (10, 40), (100, 100)] {
            let mut held = 0;
            for _ in 0..1000 {
                let mut draw = |n: usize, middle: i64| -> Vec<Nanos> {
                    let noise = |c: &mut Chance| (0..12).map(|_| c.below(1000) as i64).sum::<i64>();
                    (0..n).map(|_| Nanos(middle + noise(&mut chance))).collect()
                };
                let shift = shift(&draw(before, 0), &draw(after, 5_000)).unwrap();
                let (low, high) = shift.interval;
                held += i32::from(low <= Nanos(5_000) && Nanos(5_000) <= high);
            }
            assert!((930..=995).contains(&held), "{before}, {after}: {held}");
        }
        assert_eq!(shift(&[], &[Nanos(1)]), None);
    }
}
