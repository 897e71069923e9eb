//! Whether a series has one level or two, and where the second begins.
//!
//! The statistic is the largest of all standardized sums of normal scores before a place
//! (a rank test like Pettitt's, 1979, with van der Waerden's scores). Its chance over all
//! places is that of Siegmund (1985), and for few points a permutation test.

use super::normal::{density, scores, tail};
use crate::statistics::Chance;
use record::Nanos;

/// The fewest points of a level: fewer than these that are off are outliers.
pub(super) const LEAST: usize = 5;

/// Up to so many points, permutations are drawn.
const FEW: usize = 30;

/// How many of them, and what the sequence of chance begins with.
const DRAWS: u32 = 10_000;
const SEED: u64 = 27;
const LEAST_PERMUTED: f64 = 1.0 / (DRAWS as f64 + 1.0);

/// How much less likely a place may be to be in the 95 % confidence interval: the
/// likelihood ratio of Hinkley (1970), by Siegmund's distribution (1988) of it,
/// `(1 - exp(-x))^2` for the logarithm x.
const LESS_LIKELY: f64 = 3.68;

/// The weight of the scatter as it was seen, beside that of a normal one with wide tails,
/// which counts distances linearly from so many deviations on (Huber, 1964).
const KERNELS: f64 = 0.3;
const HUBER: f64 = 2.0;

/// How many points on each side a change is located by.
const AROUND: usize = 200;

/// A straight line that is no chance, in squared deviations; and by how much more a step has
/// to explain then. Its place is chosen, which alone explains something.
const LINE: f64 = 6.6;
const MORE_THAN_LINE: f64 = 7.0;

/// A step whose place makes it more like a line than this (the square of their correlation;
/// 0.75 in the middle) has to explain so much more for each unit beyond.
const ALIKE: f64 = 0.48;
const MORE_IF_ALIKE: f64 = 74.0;

/// How many times closer to two levels than to a line the values of a sure step lie.
const BREAK: f64 = 1.5;

/// A second test makes chance more probable: what the p of a step beside a line is
/// multiplied by.
const TWO_TESTS: f64 = 2.0;

/// How much the likelihood of one place counts against that of others where a level begins:
/// a bit less than independent points would, which those of boots rarely are.
const EVIDENCE: f64 = 0.7;

/// A second level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Split {
    /// Where it begins.
    pub at: usize,
    /// The 95 % confidence interval of that place.
    pub range: (usize, usize),
    /// How probable so uneven scores are by chance, over all places.
    pub p: f64,
    /// By how much neighbors that are alike widen variances.
    pub inflation: f64,
}

impl Split {
    fn new(at: usize, p: f64, inflation: f64) -> Self {
        let range = (at, at);
        Self {
            at,
            range,
            p,
            inflation,
        }
    }

    /// The same where the values themselves say that it is.
    pub(super) fn located(self, values: &[Nanos], may_begin: &[bool]) -> Self {
        let places = places(values.len(), may_begin);
        let (at, range) = located(values, &places, self.at, self.inflation);
        Self { at, range, ..self }
    }
}

/// Where a level may begin that is not too short.
fn places(count: usize, may_begin: &[bool]) -> Vec<usize> {
    (LEAST..=count.saturating_sub(LEAST))
        .filter(|at| may_begin.get(*at) == Some(&true))
        .collect()
}

/// The most probable second level of `values`, which may begin where `may_begin` says;
/// `None` if there are too few values, or all are equal.
pub(super) fn best(values: &[Nanos], may_begin: &[bool]) -> Option<Split> {
    let count = values.len();
    let places = places(count, may_begin);
    let scores = scores(values)?;
    let plain = strongest(&scores, &places, |_| 1.0)?;
    if count <= FEW {
        return Some(Split::new(
            plain.at,
            few(&scores, &places, plain.squared),
            1.0,
        ));
    }
    let judged = |scores: &[f64], best: &Strongest| {
        let inflation = inflation(scores, best.at);
        let strength = strength(best.squared, count) / inflation;
        let p = chance(strength.max(0.0).sqrt(), count, places.len());
        Split::new(best.at, p, inflation)
    };
    let step = judged(&scores, &plain);
    // A step and a straight line explain each other in part. So a step counts if it explains
    // much more than a line, or if there is one beside the line.
    let slope = Slope::of(&scores);
    let line = strength(slope.squared, count);
    let more = MORE_THAN_LINE + MORE_IF_ALIKE * (like_a_line(plain.at, count) - ALIKE).max(0.0);
    let is_line =
        line >= LINE && strength(plain.squared, count) < line + more && !breaks(values, plain.at);
    let beside = slope.taken_from(&scores).and_then(|rest| {
        let best = strongest(&rest, &places, |at| 1.0 - like_a_line(at, count))?;
        let split = judged(&rest, &best);
        let p = (split.p * TWO_TESTS).min(1.0);
        Some(Split { p, ..split })
    });
    match beside {
        Some(beside) if is_line || beside.p < step.p => Some(beside),
        _ => (!is_line).then_some(step),
    }
}

/// Whether values lie so much closer to two levels than to a straight line that no slow drift
/// made them. Ranks cannot say so: they know no distance.
fn breaks(values: &[Nanos], at: usize) -> bool {
    let values: Vec<f64> = values.iter().map(|v| v.get() as f64).collect();
    let deviation = |numbers: &[f64], around: &dyn Fn(usize) -> f64| {
        let each = numbers.iter().enumerate();
        let distances: Vec<f64> = each.map(|(i, v)| (v - around(i)).abs()).collect();
        middle(&distances)
    };
    let (first, second) = values.split_at(at.min(values.len()));
    let (low, high) = (middle(first), middle(second));
    let of_step = deviation(&values, &|i| if i < at { low } else { high });
    // The resistant line (Tukey, 1977): through the medians of the outer thirds.
    let third = values.len() / 3;
    let (left, right) = (
        middle(values.get(..third).unwrap_or_default()),
        middle(values.get(values.len() - third..).unwrap_or_default()),
    );
    let each = (right - left) / (values.len() - third).max(1) as f64;
    let rest: Vec<f64> = (0_u32..)
        .zip(&values)
        .map(|(i, v)| v - each * f64::from(i))
        .collect();
    let from = middle(&rest);
    let of_line = deviation(&rest, &|_| from);
    of_line > BREAK * of_step
}

/// How much of a step at `at` a straight line explains: the square of their correlation.
fn like_a_line(at: usize, count: usize) -> f64 {
    let (n, t) = (count as f64, at as f64);
    3.0 * t * (n - t) / (n * n - 1.0)
}

/// The chance of the strongest of few scores.
fn few(scores: &[f64], places: &[usize], squared: f64) -> f64 {
    match permuted(scores, places, squared) {
        // Beyond what so many permutations can say.
        p if p <= LEAST_PERMUTED => {
            let z = strength(squared, scores.len()).max(0.0).sqrt();
            p.min(chance(z, scores.len(), places.len()))
        }
        p => p,
    }
}

/// What a squared standardized sum of so many scores is worth: the logarithm of the ratio
/// of likelihoods, twice, which does not end at the number of scores.
fn strength(squared: f64, count: usize) -> f64 {
    let n = count as f64;
    let ratio = (squared / (n - 1.0)).min(1.0 - 1e-12);
    -(n - 2.0) * (1.0 - ratio).ln()
}

/// How much of a series a straight line explains, as a squared standardized sum.
pub(super) fn drift(values: &[Nanos]) -> f64 {
    scores(values).map_or(0.0, |s| {
        let squared = Slope::of(&s).squared;
        squared / inflation(&s, s.len() / 2)
    })
}

struct Strongest {
    at: usize,
    squared: f64,
}

/// The place before which the standardized sum of `scores` is the largest; `free` is the
/// part of its variance that is not taken by something else.
fn strongest(scores: &[f64], places: &[usize], free: impl Fn(usize) -> f64) -> Option<Strongest> {
    let sums = sums(scores);
    let n = scores.len() as f64;
    let all = places.iter().filter_map(|&at| {
        let t = at as f64;
        let sum = sums.get(at)?;
        let squared = sum * sum * (n - 1.0) / (t * (n - t) * free(at));
        Some(Strongest { at, squared })
    });
    all.max_by(|a, b| a.squared.total_cmp(&b.squared))
}

/// The sums of the first 0, 1, 2, ... numbers.
fn sums(numbers: &[f64]) -> Vec<f64> {
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
struct Slope {
    each: f64,
    squared: f64,
}

impl Slope {
    fn of(scores: &[f64]) -> Self {
        let n = scores.len() as f64;
        let middle = (n - 1.0) / 2.0;
        let along = scores.iter().zip(0_u32..);
        let sum: f64 = along.map(|(s, i)| s * (f64::from(i) - middle)).sum();
        let squares = n * (n * n - 1.0) / 12.0;
        Self {
            each: sum / squares,
            squared: sum * sum * (n - 1.0) / (n * squares),
        }
    }

    /// What is left of `scores`, with variance one; `None` of nothing.
    fn taken_from(&self, scores: &[f64]) -> Option<Vec<f64>> {
        let n = scores.len() as f64;
        let middle = (n - 1.0) / 2.0;
        let along = scores.iter().zip(0_u32..);
        let rest = along.map(|(s, i)| s - self.each * (f64::from(i) - middle));
        let rest: Vec<f64> = rest.collect();
        let deviation = (rest.iter().map(|r| r * r).sum::<f64>() / n).sqrt();
        (deviation > 1e-6).then(|| rest.iter().map(|r| r / deviation).collect())
    }
}

/// By how much neighbors that are alike widen the variance of a sum: that of a series in
/// which each value remembers a part of the one before (AR(1)).
///
/// The part is the smaller of two estimates. That from what is left of both levels takes
/// a level that is not yet known for memory; that from differences does not.
fn inflation(scores: &[f64], at: usize) -> f64 {
    let n = scores.len() as f64;
    if scores.len() <= FEW {
        return 1.0;
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
    let steps: Vec<f64> = scores.windows(2).map(|w| w[1] - w[0]).collect();
    let of_steps = 1.0 + 2.0 * neighbors(&steps);
    let part = of_rest.min(of_steps).clamp(0.0, 0.9);
    (1.0 + part) / (1.0 - part)
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

/// How probable it is that the largest of the sums at all places is at least `z`:
/// Siegmund's approximation (1985) for a Brownian bridge, or the sum over the places if
/// that is less.
fn chance(z: f64, count: usize, places: usize) -> f64 {
    let (n, least) = (count as f64, LEAST as f64);
    let each = 2.0 * tail(z) * places as f64;
    if z < 2.0 {
        return each.min(1.0);
    }
    let wide = ((n - least) / least).powi(2).ln();
    let bridge = density(z) * (z * (1.0 - 1.0 / (z * z)) * wide + 4.0 / z);
    each.min(bridge).clamp(0.0, 1.0)
}

/// The same by permutations of few scores.
fn permuted(scores: &[f64], places: &[usize], squared: f64) -> f64 {
    let mut chance = Chance(SEED);
    let mut dealt = scores.to_vec();
    let mut reached = 1_u32;
    for draw in 0..DRAWS {
        for i in (1..dealt.len()).rev() {
            dealt.swap(i, chance.below(i + 1));
        }
        let best = strongest(&dealt, places, |_| 1.0);
        reached += u32::from(best.is_some_and(|b| b.squared >= squared - 1e-9));
        // Of so many, one in ten: it will not become improbable.
        if draw == 499 && reached > 50 {
            return f64::from(reached) / f64::from(draw + 2);
        }
    }
    f64::from(reached) / f64::from(DRAWS + 1)
}

/// Where the level of `values` changes, near `at`, by the values themselves and not by
/// their ranks: a point of a level far away is sure to belong there.
///
/// Each point's likelihood is that of the scatter around both levels as it was seen, so
/// two groups of boots are no less sharp than one.
fn located(
    values: &[Nanos],
    places: &[usize],
    at: usize,
    inflation: f64,
) -> (usize, (usize, usize)) {
    let (from, to) = (at.saturating_sub(AROUND), (at + AROUND).min(values.len()));
    let near: Vec<f64> = values
        .iter()
        .take(to)
        .skip(from)
        .map(|v| v.get() as f64)
        .collect();
    let places: Vec<usize> = places
        .iter()
        .filter(|p| (from + LEAST..=to - LEAST.min(to)).contains(*p))
        .map(|p| p - from)
        .collect();
    let mut at = at - from;
    let mut range = (at, at);
    for _ in 0..3 {
        let gains = gains(&near, at);
        let gain = |at: usize| gains.get(at).copied().unwrap_or(f64::MIN);
        let top = places.iter().copied();
        let Some(top) = top.max_by(|a, b| gain(*a).total_cmp(&gain(*b))) else {
            break;
        };
        let best = middle_place(&places, |at| (EVIDENCE * (gain(at) - gain(top))).exp(), top);
        let is_likely = |p: &&usize| gain(**p) >= gain(top) - LESS_LIKELY * inflation;
        let mut likely = places.iter().filter(is_likely);
        let first = likely.next().copied().unwrap_or(best);
        let last = likely.next_back().copied().unwrap_or(first);
        range = (first.min(best), last.max(best));
        if best == at {
            break;
        }
        at = best;
    }
    (at + from, (range.0 + from, range.1 + from))
}

/// The place before which half of all `weight` lies: it is nearer to the true one on average
/// than the heaviest; `top` if there is none.
fn middle_place(places: &[usize], weight: impl Fn(usize) -> f64, top: usize) -> usize {
    let half = places.iter().map(|p| weight(*p)).sum::<f64>() / 2.0;
    let mut sum = 0.0;
    let reached = places.iter().copied().find(|p| {
        sum += weight(*p);
        sum >= half
    });
    reached.unwrap_or(top)
}

/// The logarithm of the likelihood that so many of the first `values` are of the level
/// before `at` and the others of that after it, but for a constant.
fn gains(values: &[f64], at: usize) -> Vec<f64> {
    let (first, second) = values.split_at(at.min(values.len()));
    let (low, high) = (middle(first), middle(second));
    let rest = first
        .iter()
        .map(|v| v - low)
        .chain(second.iter().map(|v| v - high));
    let rest: Vec<f64> = rest.collect();
    let distances = rest.iter().map(|r| r.abs()).collect::<Vec<f64>>();
    let deviation = (middle(&distances) * 1.4826)
        .max((high - low).abs() * 0.02)
        .max(0.5);
    // Silverman's width (1986) for the kernel of Epanechnikov.
    let width = 2.0 * deviation * (values.len().max(2) as f64).powf(-0.2);
    let likelihood = |own: usize, r: f64| {
        let others = rest.iter().enumerate().filter(|(i, _)| *i != own);
        let near: f64 = others
            .map(|(_, other)| (1.0 - ((r - other) / width).powi(2)).max(0.0))
            .sum();
        let kernels = 0.75 * near / (width * rest.len() as f64);
        // Now and then a boot is anywhere.
        let wide = 10.0 * deviation;
        let anywhere = 0.5 / wide * (-r.abs() / wide).exp();
        (0.97 * kernels + 0.03 * anywhere).ln()
    };
    // A kernel's likelihood is rough where points are few: a smooth one goes with it.
    let smooth = |r: f64| {
        let d = r.abs() / deviation;
        match d <= HUBER {
            true => d * d / -2.0,
            false => -HUBER * (d - HUBER / 2.0),
        }
    };
    let of = |i: usize, r: f64| KERNELS * likelihood(i, r) + (1.0 - KERNELS) * smooth(r);
    let each = values.iter().enumerate();
    let each = each.map(|(i, v)| of(i, v - low) - of(i, v - high));
    sums(&each.collect::<Vec<f64>>())
}

/// The median of numbers; 0 of none.
fn middle(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    let at = sorted.len() / 2;
    if sorted.is_empty() {
        return 0.0;
    }
    let (_, middle, _) = sorted.select_nth_unstable_by(at, f64::total_cmp);
    *middle
}
