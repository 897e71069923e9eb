//! Whether two samples of boots in real time differ: medians, the interval that
//! the bootstrap gives their difference, a permutation test, outliers.
//!
//! For boots that are not exact: their times vary, mostly upwards, by what else
//! the host did. So nothing here uses a mean or assumes a distribution. Chance is
//! a fixed sequence for a given seed: the same samples give the same answer.

use crate::effect::{Verdict, median};
use record::Nanos;
use std::cmp::Ordering;

/// How a difference between samples is judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// How often samples are drawn anew, for interval and test.
    pub draws: u32,
    /// What the sequence of chance begins with.
    pub seed: u64,
    /// The least difference that matters, as a part of the base's median.
    pub minimum_effect: f64,
    /// The largest probability of chance at which a difference counts.
    pub significance: f64,
}

impl Default for Judgement {
    /// 10,000 draws, a minimum effect of half a percent, and one chance in a
    /// hundred.
    fn default() -> Self {
        Self {
            draws: 10_000,
            seed: 1,
            minimum_effect: 0.005,
            significance: 0.01,
        }
    }
}

/// The difference between two samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleEffect {
    /// The variant's median minus the base's: negative is faster.
    pub delta: Nanos,
    /// The 95 % interval of that difference, by the bootstrap's percentiles.
    pub interval: (Nanos, Nanos),
    /// In how many pairs of a boot of each the base's took longer, with half for those
    /// alike: Mann and Whitney's U of the base.
    pub longer: f64,
    /// How probable so uneven ranks are if the samples come from the same boots.
    pub p_value: f64,
    /// What that means: a difference counts if it is not chance, is at least the
    /// minimum effect, and its interval does not hold zero.
    pub verdict: Verdict,
}

/// The difference between two samples; `None` if one is empty.
#[must_use]
pub fn sample_effect(
    base: &[Nanos],
    variant: &[Nanos],
    judgement: &Judgement,
) -> Option<SampleEffect> {
    let middle = median(base)?;
    let delta = median(variant)? - middle;
    let interval = interval_of_difference(base, variant, judgement, 0.05)?;
    let p_value = permutation_test(base, variant, judgement)?;
    let least = middle.0 as f64 * judgement.minimum_effect;
    let large = delta.0.unsigned_abs() as f64 >= least.abs();
    let beyond_zero = interval.0 > Nanos::ZERO || interval.1 < Nanos::ZERO;
    let verdict = match delta {
        _ if !large || !beyond_zero || p_value > judgement.significance => Verdict::NoDifference,
        Nanos(ns) if ns < 0 => Verdict::Faster,
        _ => Verdict::Slower,
    };
    Some(SampleEffect {
        delta,
        interval,
        longer: longer(base, variant),
        p_value,
        verdict,
    })
}

/// The interval of the difference of medians: both samples are drawn anew, with
/// replacement, and all differences but the part `outside` taken, the smallest and the
/// largest in equal shares (Efron, 1979).
pub(crate) fn interval_of_difference(
    base: &[Nanos],
    variant: &[Nanos],
    judgement: &Judgement,
    outside: f64,
) -> Option<(Nanos, Nanos)> {
    let mut chance = Chance(judgement.seed);
    let mut draw = |sample: &[Nanos]| {
        let values: Option<Vec<Nanos>> = (0..sample.len())
            .map(|_| sample.get(chance.below(sample.len())).copied())
            .collect();
        median(&values?)
    };
    let mut deltas = Vec::new();
    for _ in 0..judgement.draws.max(1) {
        deltas.push(draw(variant)? - draw(base)?);
    }
    deltas.sort_unstable();
    let last = deltas.len() - 1;
    let at = |part: f64| deltas.get((last as f64 * part).round() as usize).copied();
    Some((at(outside / 2.0)?, at(1.0 - outside / 2.0)?))
}

/// More steps than this to count every way to deal samples anew, and ways are tried by
/// chance: about as long as the draws take. A hundred boots in all need this many.
const MOST_STEPS: usize = 60_000_000;

/// How probable it is that ranks lie as unevenly in the two samples if it does not
/// matter which value is in which (Fisher, 1935; Wilcoxon, 1945; Mann and Whitney,
/// 1947): of all ways to deal the values anew, or of `draws` by chance if there are too
/// many, plus one for the way that they were dealt. Ranks, since one odd boot should
/// not decide.
pub(crate) fn permutation_test(
    base: &[Nanos],
    variant: &[Nanos],
    judgement: &Judgement,
) -> Option<f64> {
    if base.is_empty() || variant.is_empty() {
        return None;
    }
    let mut ranks = ranks(base, variant);
    let (count, total) = (ranks.len(), ranks.iter().sum::<usize>());
    // How far the sum of the first sample's ranks is from its share of all.
    let uneven = |first: usize| (first * count).abs_diff(total * base.len());
    let seen = uneven(ranks.iter().take(base.len()).sum());
    let steps = count.saturating_mul(base.len()).saturating_mul(total + 1);
    if steps <= MOST_STEPS {
        let ways = ways_by_sum(&ranks, base.len(), total);
        let reached = ways
            .iter()
            .enumerate()
            .filter(|(sum, _)| uneven(*sum) >= seen);
        let reached: f64 = reached.map(|(_, ways)| ways).sum();
        return Some(reached / ways.iter().sum::<f64>().max(1.0));
    }
    let mut chance = Chance(judgement.seed ^ 0x5851_f42d_4c95_7f2d);
    let mut reached = 1_u32;
    for _ in 0..judgement.draws {
        // Fisher and Yates' shuffle.
        for i in (1..ranks.len()).rev() {
            ranks.swap(i, chance.below(i + 1));
        }
        reached += u32::from(uneven(ranks.iter().take(base.len()).sum()) >= seen);
    }
    Some(f64::from(reached) / f64::from(judgement.draws.saturating_add(1)))
}

/// The least probability that two samples of these sizes can have: all of one before all
/// of the other, in two of all ways to deal them.
pub(crate) fn least_chance(base: usize, variant: usize) -> f64 {
    let ways = (1..=base).map(|n| (variant + n) as f64 / n as f64);
    (2.0 / ways.product::<f64>()).min(1.0)
}

/// For each sum up to `total`: in how many ways `of` of the `ranks` have it.
fn ways_by_sum(ranks: &[usize], of: usize, total: usize) -> Vec<f64> {
    // For each number of ranks chosen so far; one way to choose none.
    let mut ways = vec![vec![0.0; total + 1]; of + 1];
    ways[0][0] = 1.0;
    for &rank in ranks {
        for chosen in (1..=of).rev() {
            let (fewer, more) = ways.split_at_mut(chosen);
            let without = fewer.last().into_iter().flatten();
            let with = more.first_mut().into_iter().flatten().skip(rank);
            for (with, without) in with.zip(without) {
                *with += without;
            }
        }
    }
    ways.pop().unwrap_or_default()
}

/// In how many pairs of a boot of `base` and one of `variant` the first took longer,
/// with half for those alike (Mann and Whitney's U).
fn longer(base: &[Nanos], variant: &[Nanos]) -> f64 {
    let pairs = base
        .iter()
        .flat_map(|a| variant.iter().map(move |b| a.cmp(b)));
    let halves = pairs.map(|order| match order {
        Ordering::Greater => 2_u64,
        Ordering::Equal => 1,
        Ordering::Less => 0,
    });
    halves.sum::<u64>() as f64 / 2.0
}

/// Twice the rank of every value among all, those of `first` before those of
/// `second`; equal values share theirs.
fn ranks(first: &[Nanos], second: &[Nanos]) -> Vec<usize> {
    let all: Vec<Nanos> = first.iter().chain(second).copied().collect();
    let mut sorted = all.clone();
    sorted.sort_unstable();
    let rank = |value: &Nanos| {
        let below = sorted.partition_point(|v| v < value);
        let up_to = sorted.partition_point(|v| v <= value);
        below + up_to + 1
    };
    all.iter().map(rank).collect()
}

/// Where in `values` those are that lie further from the median than three and a
/// half times what the middle half suggests (Iglewicz and Hoaglin, 1993: the
/// modified z-score with the median absolute deviation). They are to be shown,
/// never left out.
#[must_use]
pub fn outliers(values: &[Nanos]) -> Vec<usize> {
    const SCORE: f64 = 3.5;
    // The deviation of a normal distribution, in its median absolute deviations.
    const NORMAL: f64 = 0.6745;
    let Some(middle) = median(values) else {
        return Vec::new();
    };
    let deviation = median_deviation(values).map_or(0, |d| d.0) as f64;
    let far = |distance: Nanos| {
        // If more than half are equal, any other value stands out.
        distance.0 > 0 && NORMAL * distance.0 as f64 > SCORE * deviation
    };
    let places = values.iter().enumerate();
    let places = places.filter(|(_, v)| far((**v - middle).abs()));
    places.map(|(i, _)| i).collect()
}

/// The median distance of `values` from their median; `None` of nothing.
pub(crate) fn median_deviation(values: &[Nanos]) -> Option<Nanos> {
    let middle = median(values)?;
    let distances: Vec<Nanos> = values.iter().map(|v| (*v - middle).abs()).collect();
    median(&distances)
}

/// A fixed sequence of chance: splitmix64 (Steele, Lea and Flood, 2014).
#[derive(Clone, Debug)]
pub struct Chance(pub u64);

impl Chance {
    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`, each as probable as any other to one in 2 to the
    /// power of 32; 0 if there is none.
    pub fn below(&mut self, limit: usize) -> usize {
        let wide = u128::from(self.next_u64()) * limit as u128;
        (wide >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Chance, Judgement, least_chance, longer, outliers, permutation_test, sample_effect,
        ways_by_sum,
    };
    use crate::effect::Verdict;
    use proptest::prelude::*;
    use record::Nanos;

    fn ms(values: &[i64]) -> Vec<Nanos> {
        values.iter().map(|v| Nanos(v * 1_000_000)).collect()
    }

    #[test]
    fn chance_is_the_published_sequence() {
        // The first numbers of splitmix64 with seed 1234567, as its reference
        // implementation gives them.
        let mut chance = Chance(1_234_567);
        assert_eq!(chance.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(chance.next_u64(), 3_203_168_211_198_807_973);
        assert!((0..1000).all(|_| chance.below(7) < 7));
        assert_eq!(chance.below(0), 0);
    }

    /// The sums of two of 1, 2, 3 and 3; and all ways to choose are the binomial.
    #[test]
    fn ways_are_counted_by_their_sum() {
        let sums = ways_by_sum(&[1, 2, 3, 3], 2, 9);
        assert_eq!(sums[3..=6], [1.0, 2.0, 2.0, 1.0]);
        assert_eq!(sums.iter().sum::<f64>(), 6.0);
        let ranks: Vec<usize> = (1..=16).collect();
        assert_eq!(ways_by_sum(&ranks, 8, 136).iter().sum::<f64>(), 12_870.0);
    }

    /// Of the 20 ways to deal 1 to 6 into threes, two part them as far as
    /// (1 2 3 | 4 5 6) does: that one and its mirror image.
    #[test]
    fn the_test_counts_all_ways() {
        let p = permutation_test(&ms(&[1, 2, 3]), &ms(&[4, 5, 6]), &Judgement::default());
        assert!((p.unwrap() - 0.1).abs() < 1e-12);
        let p = permutation_test(&ms(&[5, 5, 5]), &ms(&[5, 5, 5]), &Judgement::default());
        assert!((p.unwrap() - 1.0).abs() < 1e-12);
    }

    /// All of ten before all of ten others: two ways of 184,756, as R's `wilcox.test`
    /// has it. More boots than can be counted are dealt by chance, and come near.
    #[test]
    fn many_boots_are_counted_and_very_many_tried() {
        let judge = |n: i64| {
            let (a, b): (Vec<i64>, Vec<i64>) = ((1..=n).collect(), (101..=100 + n).collect());
            permutation_test(&ms(&a), &ms(&b), &Judgement::default()).unwrap()
        };
        assert!((judge(10) - 2.0 / 184_756.0).abs() < 1e-15);
        assert!(judge(50) < 1e-20);
        assert!(judge(80) < 0.002);
    }

    #[test]
    fn few_boots_cannot_be_far_apart() {
        for (sizes, ways) in [
            ((5, 5), 252.0),
            ((4, 4), 70.0),
            ((4, 7), 330.0),
            ((2, 30), 496.0),
        ] {
            assert!(
                (least_chance(sizes.0, sizes.1) - 2.0 / ways).abs() < 1e-12,
                "{sizes:?}"
            );
        }
        assert_eq!(least_chance(1, 1), 1.0);
    }

    #[test]
    fn pairs_in_which_the_base_took_longer() {
        assert_eq!(longer(&ms(&[5, 7]), &ms(&[6, 5])), 2.5);
        assert_eq!(longer(&ms(&[5, 7]), &ms(&[1, 2, 3])), 6.0);
    }

    #[test]
    fn a_clear_difference_counts_and_a_small_one_does_not() {
        let base = ms(&[1000, 1001, 1002, 1003, 1004, 1005, 1006, 1090]);
        let faster: Vec<Nanos> = base.iter().map(|v| Nanos(v.0 - 50_000_000)).collect();
        let effect = sample_effect(&base, &faster, &Judgement::default()).unwrap();
        assert_eq!(effect.verdict, Verdict::Faster);
        assert_eq!(effect.delta, Nanos(-50_000_000));
        let (low, high) = effect.interval;
        assert!(low <= effect.delta && effect.delta <= high && high < Nanos::ZERO);
        // Parted by far less than the least that matters.
        let near: Vec<Nanos> = ms(&[1000; 8]);
        let nearer: Vec<Nanos> = near.iter().map(|v| Nanos(v.0 - 1_000_000)).collect();
        let effect = sample_effect(&near, &nearer, &Judgement::default()).unwrap();
        assert_eq!(effect.verdict, Verdict::NoDifference);
        assert_eq!(sample_effect(&base, &[], &Judgement::default()), None);
    }

    #[test]
    fn outliers_are_found_and_ordinary_values_are_not() {
        assert_eq!(outliers(&ms(&[10, 11, 12, 13, 11, 12, 90])), [6]);
        assert!(outliers(&ms(&[10, 11, 12, 13, 14])).is_empty());
        assert_eq!(outliers(&ms(&[10, 10, 10, 10, 11])), [4]);
        assert!(outliers(&[]).is_empty());
    }

    /// Out of 400 pairs of samples of the same noise, at most a few differ.
    #[test]
    fn alike_samples_seldom_differ() {
        let mut chance = Chance(7);
        let judgement = Judgement {
            draws: 400,
            minimum_effect: 0.0,
            ..Judgement::default()
        };
        let mut sample = || -> Vec<Nanos> {
            let noise = |c: &mut Chance| (0..6).map(|_| c.below(1_000_000) as i64).sum::<i64>();
            (0..8)
                .map(|_| Nanos(1_000_000_000 + noise(&mut chance)))
                .collect()
        };
        let pairs: Vec<_> = (0..400).map(|_| (sample(), sample())).collect();
        let alarms = pairs.iter().filter(|(a, b)| {
            let effect = sample_effect(a, b, &judgement).unwrap();
            effect.verdict != Verdict::NoDifference
        });
        let alarms = alarms.count();
        assert!(alarms <= 8, "{alarms} of 400");
    }

    proptest! {
        #[test]
        fn no_sample_is_too_odd(
            a in prop::collection::vec(-1_000_000_000_i64..1_000_000_000, 0..12),
            b in prop::collection::vec(-1_000_000_000_i64..1_000_000_000, 0..12),
        ) {
            let nanos = |v: &[i64]| v.iter().map(|n| Nanos(*n)).collect::<Vec<_>>();
            let judgement = Judgement { draws: 20, ..Judgement::default() };
            let effect = sample_effect(&nanos(&a), &nanos(&b), &judgement);
            prop_assert_eq!(effect.is_some(), !a.is_empty() && !b.is_empty());
            if let Some(effect) = effect {
                prop_assert!((0.0..=1.0).contains(&effect.p_value));
                prop_assert!(effect.interval.0 <= effect.interval.1);
            }
        }
    }
}
