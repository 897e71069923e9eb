//! Which treatments the smallest set has.

use record::Nanos;

/// Whether a set that saves `part` saves enough of the `whole`, which the largest set saves:
/// `enough` percent.
pub(super) fn is_enough(whole: Nanos, part: Nanos, enough: i64) -> bool {
    i128::from(part.0) * 100 >= i128::from(whole.0) * i128::from(enough)
}

/// The order in which to add treatments to the smallest set: by share, the largest first; and
/// the least number of them that leaves out so little that the others are enough of `saving`,
/// in percent.
///
/// A share is what is missing without one treatment, so what is left out together is near the
/// sum of its shares. What is kept is not, where treatments work on the same time.
pub(super) fn smallest(shares: &[Nanos], saving: Nanos, enough: i64) -> (Vec<usize>, usize) {
    let mut order: Vec<usize> = (0..shares.len()).collect();
    let share = |i: usize| shares.get(i).copied().unwrap_or_default().max(Nanos::ZERO);
    order.sort_by_key(|i| (std::cmp::Reverse(share(*i)), *i));
    let most = i128::from(saving.0) * i128::from(100 - enough);
    let mut left_out = 0_i128;
    let mut count = order.len();
    for i in order.iter().rev() {
        left_out += i128::from(share(*i).0);
        if left_out * 100 > most {
            break;
        }
        count -= 1;
    }
    (order, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENOUGH: i64 = 95;

    #[test]
    fn the_smallest_set_is_the_largest_shares() {
        let ms = |n| Nanos::from_millis(n);
        let shares = [ms(10), ms(700), ms(2), ms(288)];
        assert_eq!(smallest(&shares, ms(1_000), ENOUGH), (vec![1, 3, 0, 2], 2));
        // Two that do the same: without one of them nothing is missing.
        let same = [ms(0), ms(0), ms(50)];
        assert_eq!(smallest(&same, ms(1_000), ENOUGH), (vec![2, 0, 1], 0));
        assert_eq!(smallest(&[], ms(5), ENOUGH), (vec![], 0));
        assert_eq!(smallest(&shares, ms(1_000), 100).1, 4);
        assert!(is_enough(ms(1_000), ms(950), ENOUGH));
        assert!(!is_enough(ms(1_000), ms(949), ENOUGH));
    }
}
