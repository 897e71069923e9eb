//! Whether two samples of boots in real time differ: medians, the interval that
//! the bootstrap gives their difference, a permutation test, outliers.
//!
//! For boots that are not exact: their times vary, mostly upwards, by what else
//! the host did. So nothing here uses a mean or assumes a distribution. Chance is
//! a fixed sequence for a given seed: the same samples give the same answer.

use crate::effect::{Verdict, median};
use record::Nanos;

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
    let interval = bootstrap(base, variant, judgement)?;
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
        p_value,
        verdict,
    })
}

/// The 95 % interval of the difference of medians: both samples are drawn anew,
/// with replacement, and the middle 95 of 100 differences taken (Efron, 1979).
fn bootstrap(base: &[Nanos], variant: &[Nanos], judgement: &Judgement) -> Option<(Nanos, Nanos)> {
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
    Some((at(0.025)?, at(0.975)?))
}

/// More ways than this to deal samples anew are tried by chance.
const MOST_DEALS: u64 = 20_000;

/// How probable it is that ranks lie as unevenly in the two samples if it does not
/// matter which value is in which (Fisher, 1935; Wilcoxon, 1945): of all ways to
/// deal the values anew, or of `draws` by chance if there are too many, plus one
/// for the way that they were dealt. Ranks, since one odd boot should not decide.
fn permutation_test(base: &[Nanos], variant: &[Nanos], judgement: &Judgement) -> Option<f64> {
    if base.is_empty() || variant.is_empty() {
        return None;
    }
    let mut ranks = ranks(base, variant);
    let (count, total) = (ranks.len() as i128, ranks.iter().sum::<i128>());
    // How far the sum of the first sample's ranks is from its share of all.
    let uneven = |first: i128| (first * count - total * base.len() as i128).abs();
    let seen = uneven(ranks.iter().take(base.len()).sum());
    if ways(ranks.len(), base.len()).is_some_and(|n| n <= MOST_DEALS) {
        let (mut all, mut reached) = (0_u32, 0_u32);
        deals(&ranks, base.len(), 0, &mut |first| {
            all += 1;
            reached += u32::from(uneven(first) >= seen);
        });
        return Some(f64::from(reached) / f64::from(all.max(1)));
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

/// Twice the rank of every value among all, those of `first` before those of
/// `second`; equal values share theirs.
fn ranks(first: &[Nanos], second: &[Nanos]) -> Vec<i128> {
    let all: Vec<Nanos> = first.iter().chain(second).copied().collect();
    let mut sorted = all.clone();
    sorted.sort_unstable();
    let rank = |value: &Nanos| {
        let below = sorted.partition_point(|v| v < value);
        let up_to = sorted.partition_point(|v| v <= value);
        (below + up_to + 1) as i128
    };
    all.iter().map(rank).collect()
}

/// In how many ways `of` things can be chosen out of `all`.
fn ways(all: usize, of: usize) -> Option<u64> {
    let (all, of) = (all as u64, of as u64);
    (0..of.min(all.checked_sub(of)?)).try_fold(1_u64, |n, i| {
        // Each step's quotient is itself a number of ways, so it has no rest.
        n.checked_mul(all - i)?.checked_div(i + 1)
    })
}

/// The sum of every choice of `of` values of `pool`, on top of `sum`.
fn deals(pool: &[i128], of: usize, sum: i128, each: &mut dyn FnMut(i128)) {
    if of == 0 {
        return each(sum);
    }
    if let Some((value, rest)) = pool.split_first()
        && rest.len() + 1 >= of
    {
        deals(rest, of - 1, sum + value, each);
        deals(rest, of, sum, each);
    }
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
    let distances: Vec<Nanos> = values.iter().map(|v| (*v - middle).abs()).collect();
    let deviation = median(&distances).map_or(0, |d| d.0) as f64;
    let far = |distance: Nanos| {
        // If more than half are equal, any other value stands out.
        distance.0 > 0 && NORMAL * distance.0 as f64 > SCORE * deviation
    };
    let places = distances.iter().enumerate().filter(|(_, d)| far(**d));
    places.map(|(i, _)| i).collect()
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
    use super::{Chance, Judgement, outliers, permutation_test, sample_effect, ways};
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

    #[test]
    fn ways_to_choose_are_binomials() {
        assert_eq!(ways(10, 5), Some(252));
        assert_eq!(ways(16, 8), Some(12_870));
        assert_eq!(
            (ways(5, 0), ways(3, 5), ways(200, 100)),
            (Some(1), None, None)
        );
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

    /// The same, by chance, comes near the count: 9 against 9 well parted is 2 of
    /// 48,620.
    #[test]
    fn by_chance_it_comes_near() {
        let (a, b): (Vec<i64>, Vec<i64>) = ((1..=9).collect(), (101..=109).collect());
        let p = permutation_test(&ms(&a), &ms(&b), &Judgement::default()).unwrap();
        assert!(p < 0.002, "{p}");
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
