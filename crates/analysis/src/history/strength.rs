//! How much better two levels explain normal scores than one does, beside a drift that may be
//! there and neighbors that are alike.

use super::normal::scores;
use record::Nanos;

/// The fewest points of a level: fewer than these that are off are outliers.
pub(super) const LEAST: usize = 5;

/// Up to so many points, permutations are drawn.
pub(super) const FEW: usize = 30;

/// A difference between neighbors of so many median ones is a large one.
const LARGE: f64 = 4.0;

/// Fewer points do not tell memory from levels that do not last.
const TELLS_MEMORY: usize = 60;

/// More memory than this is taken for a level that does not last.
pub(super) const MOST_MEMORY: f64 = 0.9;

/// Slow drifts that may be there, as normal distributions of slopes: their deviation, in
/// standard deviations of a boot over 200 boots, and their weights without a step and beside
/// one. A drift of a whole deviation has less weight beside a step: the two explain each other
/// in part, and a drift that is taken for a step is a false alarm. A steep one is rare: in a
/// short history it looks like a step, and a large weight would hide steps there. In a long one
/// the values tell the two apart at any weight.
const DRIFTS: [Slopes; 4] = [
    Slopes::of(0.0, 1.0, 1.0),
    Slopes::of(0.5, 1.0, 1.0),
    Slopes::of(1.0, 0.6, 0.3),
    Slopes::of(4.0, 0.01, 0.01),
];

/// If a drift is probable, a step whose place makes it more like a line than this (the square
/// of their correlation; 0.75 in the middle) has to explain so much more for each unit beyond.
const ALIKE: f64 = 0.48;
const MORE_IF_ALIKE: f64 = 18.0;

/// From which part of a line on that a drift explains it counts as probable.
const EXPLAINS: f64 = 0.6;

/// A level that so many boots tell of, or more, may begin anywhere. A place nearer to an end
/// has to explain up to so much more, in proportion: only a large step can be seen there, and
/// places at which nothing else can be seen would cost much of the chance of a false alarm.
const TELLING: f64 = 20.0;
const MORE_AT_ENDS: f64 = 4.0;

/// The place at which a second level is most likely to begin beside a drift.
pub(super) struct TwoLevels {
    pub at: usize,
    /// How much better they explain the scores than one level: the logarithm of the ratio of
    /// likelihoods, twice.
    pub strength: f64,
    /// What neighbors have in common.
    pub memory: Memory,
}

/// The strongest second level, which may begin at `places`, of scores that have at `least` so
/// much memory.
pub(super) fn two_levels(scores: &[f64], places: &[usize], least: Memory) -> Option<TwoLevels> {
    let plain = strongest(scores, places)?;
    let memory = Memory::of(scores, plain.at).or_more(least);
    let (at, strength) = beside_drift(scores, places, memory)?;
    Some(TwoLevels {
        at,
        strength,
        memory,
    })
}

/// A normal distribution of slopes.
struct Slopes {
    /// Its deviation, for each boot.
    deviation: f64,
    /// Its weight where there is no step.
    alone: f64,
    /// Its weight where there is one.
    beside: f64,
}

impl Slopes {
    const fn of(over_200: f64, alone: f64, beside: f64) -> Self {
        Self {
            deviation: over_200 / 200.0,
            alone,
            beside,
        }
    }
}

/// The place at which a step explains most, and its strength: the logarithm, twice, of the
/// likelihood of the scores with a step there to that without one. Both are averages over the
/// slopes that a drift may have.
///
/// With a slope of a normal distribution, the covariance of the scores is one and a multiple of
/// the product of the line with itself. Its inverse takes the part `explained` from the line, so
/// all sums of squares follow from the correlations with the line and with the step.
fn beside_drift(scores: &[f64], places: &[usize], memory: Memory) -> Option<(usize, f64)> {
    let n = scores.len() as f64;
    let inflation = memory.inflation();
    let squares = squares_of_line(scores.len());
    let with_line = Slope::of(scores).each * (squares / n).sqrt();
    let line = with_line * with_line;
    let of_slopes = DRIFTS.map(|slopes| {
        let wide = squares * slopes.deviation.powi(2) / inflation;
        let width = -0.5 * (1.0 + wide).ln();
        let (alone, beside) = (slopes.alone.ln() + width, slopes.beside.ln() + width);
        (wide / (1.0 + wide), alone, beside)
    });
    let freedom = (n - 2.0) / (2.0 * inflation);
    // The logarithm of the likelihood whose sum of squares is this much less than all.
    let likelihood = |explained: f64| -freedom * (1.0 - explained).max(1e-12).ln();
    let of_line = of_slopes.map(|(explained, _, _)| likelihood(explained * line));
    let mut alone = of_slopes.map(|(_, weight, _)| weight);
    for (alone, of_line) in alone.iter_mut().zip(of_line) {
        *alone += of_line;
    }
    let without = of_sum(&alone);
    let drift = of_slopes.iter().zip(alone).map(|((explained, _, _), l)| {
        let sure = (explained - EXPLAINS).max(0.0) / (1.0 - EXPLAINS);
        (l - without).exp() * sure
    });
    let drift: f64 = drift.sum();
    let heaviest = of_slopes.iter().map(|s| s.2).fold(f64::MIN, f64::max);
    let at_most = heaviest + (of_slopes.len() as f64).ln();
    let sums = sums(scores);
    let mut best: Option<(usize, f64)> = None;
    for &at in places {
        let (t, Some(sum)) = (at as f64, sums.get(at)) else {
            continue;
        };
        let with_step = -sum / (t * (n - t)).sqrt();
        let alike = like_a_line(at, scores.len());
        let sharper = inflation / memory.inflation_of_step(t, n - t);
        let explained = of_slopes.map(|(explained, _, _)| {
            let rest = with_step - explained * alike.sqrt() * with_line;
            let squared = rest * rest / (1.0 - explained * alike);
            explained * line + squared
        });
        let more = MORE_IF_ALIKE * drift * (alike - ALIKE).max(0.0) + more_at_end(t, n - t);
        // Most places explain too little whatever the slope is.
        let most = explained.iter().copied().fold(0.0, f64::max);
        let bound = 2.0 * (at_most + sharper * likelihood(most) - without) - more;
        if best.is_some_and(|(_, strength)| bound < strength) {
            continue;
        }
        let mut step = of_slopes.map(|(_, _, weight)| weight);
        for ((step, explained), of_line) in step.iter_mut().zip(explained).zip(of_line) {
            *step += of_line + sharper * (likelihood(explained) - of_line);
        }
        let strength = 2.0 * (of_sum(&step) - without) - more;
        if best.is_none_or(|(_, most)| strength >= most) {
            best = Some((at, strength));
        }
    }
    best
}

/// How much more a step with so many boots on each side has to explain because few tell of it:
/// as many as have a mean that is as sure as the difference of theirs.
fn more_at_end(before: f64, after: f64) -> f64 {
    let tell = before * after / (before + after);
    MORE_AT_ENDS * (1.0 - tell / TELLING).max(0.0)
}

/// The logarithm of the sum of what these are the logarithms of.
fn of_sum(logarithms: &[f64]) -> f64 {
    let most = logarithms.iter().copied().fold(f64::MIN, f64::max);
    let sum: f64 = logarithms.iter().map(|l| (l - most).exp()).sum();
    most + sum.ln()
}

/// The sum of the squared distances of so many places from their middle.
pub(super) fn squares_of_line(count: usize) -> f64 {
    let n = count as f64;
    n * (n * n - 1.0) / 12.0
}

/// How much of a step at `at` a straight line explains: the square of their correlation.
fn like_a_line(at: usize, count: usize) -> f64 {
    let (n, t) = (count as f64, at as f64);
    3.0 * t * (n - t) / (n * n - 1.0)
}

/// What a squared standardized sum of so many scores is worth: the logarithm of the ratio
/// of likelihoods, twice, which does not end at the number of scores.
pub(super) fn strength(squared: f64, count: usize) -> f64 {
    let n = count as f64;
    let ratio = (squared / (n - 1.0)).min(1.0 - 1e-12);
    -(n - 2.0) * (1.0 - ratio).ln()
}

/// The squared standardized sum of so many scores without memory that is as strong as this one
/// of scores that have some.
pub(super) fn without_memory(squared: f64, count: usize, memory: Memory) -> f64 {
    let most = count as f64 - 1.0;
    let left = (1.0 - squared / most).max(0.0);
    most * (1.0 - left.powf(1.0 / memory.inflation()))
}

/// How much of a series a straight line explains, as a squared standardized sum.
pub(super) fn drift(values: &[Nanos]) -> f64 {
    scores(values).map_or(0.0, |s| {
        let squared = Slope::of(&s).squared;
        squared / Memory::of(&s, s.len() / 2).inflation()
    })
}

/// The place before which a standardized sum is the largest.
pub(super) struct Strongest {
    pub at: usize,
    /// That sum, squared.
    pub squared: f64,
}

/// The place before which the standardized sum of `scores` is the largest.
pub(super) fn strongest(scores: &[f64], places: &[usize]) -> Option<Strongest> {
    let sums = sums(scores);
    let n = scores.len() as f64;
    let all = places.iter().filter_map(|&at| {
        let t = at as f64;
        let sum = sums.get(at)?;
        let squared = sum * sum * (n - 1.0) / (t * (n - t));
        Some(Strongest { at, squared })
    });
    all.max_by(|a, b| a.squared.total_cmp(&b.squared))
}

/// The sums of the first 0, 1, 2, ... numbers.
pub(super) fn sums(numbers: &[f64]) -> Vec<f64> {
    let mut sums = Vec::with_capacity(numbers.len() + 1);
    let mut sum = 0.0;
    sums.push(sum);
    for number in numbers {
        sum += number;
        sums.push(sum);
    }
    sums
}

/// A straight line through scores.
pub(super) struct Slope {
    /// How steep it is, for each score.
    pub each: f64,
    /// How much it explains, as a squared standardized sum.
    pub squared: f64,
}

impl Slope {
    pub(super) fn of(scores: &[f64]) -> Self {
        let n = scores.len() as f64;
        let middle = (n - 1.0) / 2.0;
        let along = scores.iter().zip(0_u32..);
        let sum: f64 = along.map(|(s, i)| s * (f64::from(i) - middle)).sum();
        let squares = squares_of_line(scores.len());
        Self {
            each: sum / squares,
            squared: sum * sum * (n - 1.0) / (n * squares),
        }
    }
}

/// How much of each value the next one remembers (AR(1)): neighbors that are alike widen the
/// variance of a sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Memory {
    /// The part, from 0 to 0.9.
    pub part: f64,
}

impl Memory {
    pub(super) const NONE: Self = Self { part: 0.0 };

    /// The part is the smaller of two estimates. That from what is left of both levels, of which
    /// the second begins `at`, takes a level that is not yet known for memory; that from
    /// differences does not.
    pub(super) fn of(scores: &[f64], at: usize) -> Self {
        let n = scores.len() as f64;
        if scores.len() <= FEW {
            return Self::NONE;
        }
        let (first, second) = scores.split_at(at.min(scores.len()));
        let mean = |part: &[f64]| part.iter().sum::<f64>() / (part.len().max(1)) as f64;
        let (low, high) = (mean(first), mean(second));
        let rest = first
            .iter()
            .map(|s| s - low)
            .chain(second.iter().map(|s| s - high));
        let rest: Vec<f64> = rest.collect();
        let of_rest = neighbors(&rest) + 2.0 / n;
        let of_steps = 1.0 + 2.0 * neighbors(&differences(scores));
        Self {
            part: of_rest.min(of_steps).clamp(0.0, MOST_MEMORY),
        }
    }

    /// What is sure of it, if it is that of so many scores: one standard error less, and nothing
    /// of few, in which it may be several levels.
    pub(super) fn sure(self, count: usize) -> Self {
        if count < TELLS_MEMORY {
            return Self::NONE;
        }
        let error = 1.0 / (count as f64).sqrt();
        Self {
            part: (self.part - error).max(0.0),
        }
    }

    /// The larger of two.
    pub(super) fn or_more(self, other: Self) -> Self {
        Self {
            part: self.part.max(other.part),
        }
    }

    /// By how much it widens the variance of a long sum.
    pub(super) fn inflation(self) -> f64 {
        (1.0 + self.part) / (1.0 - self.part)
    }

    /// By how much it widens that of the difference of two means of so many neighbors: less if
    /// they are few, because those of an end have fewer.
    fn inflation_of_step(self, before: f64, after: f64) -> f64 {
        if self.part <= 0.0 {
            return 1.0;
        }
        let ends = self.part / (1.0 - self.part).powi(2);
        let beyond = |count: f64| 1.0 - self.part.powf(count);
        let of_mean = |count: f64| (self.inflation() - 2.0 * ends * beyond(count) / count) / count;
        let common = ends * beyond(before) * beyond(after) / (before * after);
        let variance = of_mean(before) + of_mean(after) - 2.0 * common;
        variance / (1.0 / before + 1.0 / after)
    }
}

/// The differences between neighbors. One of two levels counts no more than a large one within
/// a level.
fn differences(scores: &[f64]) -> Vec<f64> {
    let mut all: Vec<f64> = scores.windows(2).map(|w| w[1] - w[0]).collect();
    let mut sizes: Vec<f64> = all.iter().map(|d| d.abs()).collect();
    let middle = sizes.len() / 2;
    if let Some(last) = sizes.len().checked_sub(1) {
        let (_, median, _) = sizes.select_nth_unstable_by(middle.min(last), f64::total_cmp);
        // Exact boots of a level do not differ at all.
        let most = LARGE * *median;
        if most > 0.0 {
            all.iter_mut().for_each(|d| *d = d.clamp(-most, most));
        }
    }
    all
}

/// How far neighbors are alike: the autocorrelation with distance one.
fn neighbors(numbers: &[f64]) -> f64 {
    let squares: f64 = numbers.iter().map(|a| a * a).sum();
    let products: f64 = numbers.windows(2).map(|w| w[0] * w[1]).sum();
    if squares > 0.0 {
        products / squares
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::{Memory, differences, without_memory};

    /// Levels that come and go are no memory, and a series that remembers is none of levels.
    #[test]
    fn levels_are_not_taken_for_memory() {
        let noise = |i: usize| ((i * 7919 % 101) as f64 - 50.0) / 50.0;
        let levels: Vec<f64> = (0..120)
            .map(|i| noise(i) + if i / 20 % 2 == 0 { 0.0 } else { 40.0 })
            .collect();
        let part = Memory::of(&levels, 20).part;
        assert!(part < 0.25, "{part}");
        let mut before = 0.0;
        let remembers: Vec<f64> = (0..120)
            .map(|i| {
                before = 0.6 * before + noise(i * 31 + i * i);
                before
            })
            .collect();
        let part = Memory::of(&remembers, 60).part;
        assert!((0.35..0.8).contains(&part), "{part}");
        assert_eq!(differences(&[1.0, 1.0, 1.0, 4.0]), [0.0, 0.0, 3.0]);
        assert!(differences(&[]).is_empty());
    }

    #[test]
    fn memory_weakens_a_sum_but_not_one_that_explains_all() {
        let memory = Memory { part: 0.3 };
        let weaker = without_memory(12.0, 25, memory);
        assert!((6.0..9.0).contains(&weaker), "{weaker}");
        assert!((without_memory(24.0, 25, memory) - 24.0).abs() < 1e-9);
        assert!((without_memory(12.0, 25, Memory::NONE) - 12.0).abs() < 1e-9);
        // Few neighbors widen a mean by less than many do.
        let few = memory.inflation_of_step(100.0, 10.0);
        assert!((few - 1.735).abs() < 0.01, "{few}");
        assert!((memory.inflation_of_step(1e5, 1e5) - memory.inflation()).abs() < 1e-3);
    }
}
