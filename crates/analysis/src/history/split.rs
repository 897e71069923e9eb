//! Whether a series has one level or two, and where the second begins.
//!
//! The statistic is the largest of all standardized sums of normal scores before a place
//! (a rank test like Pettitt's, 1979, with van der Waerden's scores), as a ratio of likelihoods
//! averaged over the slopes of a drift that may be there. Its chance over all places is that of
//! Siegmund (1985), and for few points a permutation test.

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
/// After so many that are as strong as what was seen, no more are drawn.
const ENOUGH: u32 = 100;
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

/// The approximations behind p are too careful where no permutations are drawn, and more so of
/// fewer points. With this part of it, which grows in proportion to the points between these
/// numbers of them, fewer than 1 in 100 simulated histories of one level have a false alarm.
const CAREFUL: f64 = 0.4;
const CAREFUL_FROM: f64 = 72.0;
const CAREFUL_TO: f64 = 180.0;

/// How much the likelihood of one place counts against that of others where a level begins:
/// a bit less than independent points would, which those of boots rarely are.
const EVIDENCE: f64 = 0.7;

/// A change is to be located to so many boots.
const NEAR: usize = 10;

/// Places within which nearly as much of the weight lies as within the best are as good.
const AS_GOOD: f64 = 0.999;

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
    let plain = strongest(&scores, &places)?;
    if count <= FEW {
        return Some(Split::new(
            plain.at,
            few(&scores, &places, plain.squared),
            1.0,
        ));
    }
    let inflation = inflation(&scores, plain.at);
    let (at, strength) = beside_drift(&scores, &places, inflation)?;
    let p = careful(count) * chance(strength.max(0.0).sqrt(), count, places.len());
    Some(Split::new(at, p, inflation))
}

/// The part of the approximated chance that counts, for so many points.
fn careful(count: usize) -> f64 {
    CAREFUL * (count as f64).clamp(CAREFUL_FROM, CAREFUL_TO) / CAREFUL_TO
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
fn beside_drift(scores: &[f64], places: &[usize], inflation: f64) -> Option<(usize, f64)> {
    let n = scores.len() as f64;
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
    let alone = of_slopes.map(|(explained, weight, _)| weight + likelihood(explained * line));
    let without = of_sum(&alone);
    let drift = of_slopes.iter().zip(alone).map(|((explained, _, _), l)| {
        let sure = (explained - EXPLAINS).max(0.0) / (1.0 - EXPLAINS);
        (l - without).exp() * sure
    });
    let drift: f64 = drift.sum();
    let sums = sums(scores);
    let all = places.iter().filter_map(|&at| {
        let t = at as f64;
        let with_step = -sums.get(at)? / (t * (n - t)).sqrt();
        let alike = like_a_line(at, scores.len());
        let step = of_slopes.map(|(explained, _, weight)| {
            let rest = with_step - explained * alike.sqrt() * with_line;
            let squared = rest * rest / (1.0 - explained * alike);
            weight + likelihood(explained * line + squared)
        });
        let more = MORE_IF_ALIKE * drift * (alike - ALIKE).max(0.0) + more_at_end(t, n - t);
        Some((at, 2.0 * (of_sum(&step) - without) - more))
    });
    all.max_by(|a, b| a.1.total_cmp(&b.1))
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
fn squares_of_line(count: usize) -> f64 {
    let n = count as f64;
    n * (n * n - 1.0) / 12.0
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

/// The place before which the standardized sum of `scores` is the largest.
fn strongest(scores: &[f64], places: &[usize]) -> Option<Strongest> {
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
        let squares = squares_of_line(scores.len());
        Self {
            each: sum / squares,
            squared: sum * sum * (n - 1.0) / (n * squares),
        }
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

/// The same by permutations of few scores, which end as soon as [`ENOUGH`] of them are as
/// strong: that is a valid chance too (Besag and Clifford, 1991).
fn permuted(scores: &[f64], places: &[usize], squared: f64) -> f64 {
    let n = scores.len() as f64;
    // From which squared sum on the first scores, so many of them, are as strong.
    let mut as_strong = vec![f64::INFINITY; places.last().map_or(0, |last| last + 1)];
    for at in places {
        if let Some(limit) = as_strong.get_mut(*at) {
            let t = *at as f64;
            *limit = (squared - 1e-9) * t * (n - t) / (n - 1.0);
        }
    }
    let mut chance = Chance(SEED);
    let mut dealt = scores.to_vec();
    let mut reached = 0_u32;
    for draw in 1..=DRAWS {
        reached += u32::from(deal(&mut dealt, &as_strong, &mut chance));
        if reached == ENOUGH {
            return f64::from(reached) / f64::from(draw);
        }
    }
    f64::from(reached + 1) / f64::from(DRAWS + 1)
}

/// Deals scores anew until the square of their sum is a limit's; whether it was one.
fn deal(scores: &mut [f64], as_strong: &[f64], chance: &mut Chance) -> bool {
    let count = scores.len();
    let mut sum = 0.0;
    for (at, limit) in as_strong.iter().enumerate() {
        if sum * sum >= *limit {
            return true;
        }
        if at < count {
            scores.swap(at, at + chance.below(count - at));
            sum += scores.get(at).copied().unwrap_or(0.0);
        }
    }
    false
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

/// The place near which most of the `weight` lies: of those that are as good, the nearest to
/// the place before which half of all of it lies. `top` if there is none.
///
/// That is nearer to the true one more often than the heaviest, and where one place is sure it
/// is that one.
fn middle_place(places: &[usize], weight: impl Fn(usize) -> f64, top: usize) -> usize {
    let weights: Vec<f64> = places.iter().map(|p| weight(*p)).collect();
    let sums = sums(&weights);
    let sum = |place: usize| sums.get(place).copied().unwrap_or(0.0);
    let near = places.iter().map(|p| {
        let from = places.partition_point(|q| q + NEAR < *p);
        let to = places.partition_point(|q| *q <= p + NEAR);
        sum(to) - sum(from)
    });
    let near: Vec<f64> = near.collect();
    let most = near.iter().copied().fold(0.0, f64::max);
    let half = sum(places.len()) / 2.0;
    let middle = sums.iter().skip(1).position(|s| *s >= half);
    let middle = middle.and_then(|at| places.get(at)).copied();
    let middle = middle.unwrap_or(top);
    let good = places.iter().zip(near);
    let good = good.filter(|(_, near)| *near >= AS_GOOD * most);
    let nearest = good.map(|(p, _)| *p).min_by_key(|p| p.abs_diff(middle));
    nearest.unwrap_or(top)
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
