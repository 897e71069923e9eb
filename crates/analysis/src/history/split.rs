//! Whether a series has one level or two, and where the second begins.
//!
//! The statistic is the largest of all standardized sums of normal scores before a place
//! (a rank test like Pettitt's, 1979, with van der Waerden's scores), as a ratio of likelihoods
//! averaged over the slopes of a drift that may be there. Its chance over all places is that of
//! Siegmund (1985), near the chance that is asked for that of series drawn with the same drift
//! and memory, and for few points a permutation test. A tenth of the chance goes to what the
//! shape of the scatter tells (`shape`).

use super::chance::{careful, chance, few};
use super::normal::scores;
use super::null::Null;
use super::scatter::{Scatter, TELLS_SHAPE, numbers};
use super::shape;
use super::strength::{FEW, LEAST, Memory, strongest, sums, two_levels, without_memory};
use record::Nanos;
use std::ops::RangeInclusive;

/// A chance this much less or more than what is asked may be on the other side of it, and is
/// computed with care.
const NEARLY: f64 = 30.0;

/// In series of so many points. Shorter ones do not tell a drift from a step: what is sure to be
/// no drift there is hardly ever found.
const DRAWN: RangeInclusive<usize> = 120..=1_000;

/// The part of the chance that goes to the shape of the scatter, which is not looked at for a step
/// that the ranks say nothing of. Smaller chances than the least are not known: the shape is
/// that of so few points.
const FOR_SHAPE: f64 = 0.1;
const HOPELESS: f64 = 0.2;
const LEAST_CHANCE: f64 = 1e-6;

/// How much less likely a place may be to be in the 95 % confidence interval: the
/// likelihood ratio of Hinkley (1970), by Siegmund's distribution (1988) of it,
/// `(1 - exp(-x))^2` for the logarithm x.
const LESS_LIKELY: f64 = 3.68;

/// The weight of the scatter as it was seen, which is rough where points are few, beside that of a
/// normal one with wide tails, which counts distances linearly from so many deviations on
/// (Huber, 1964). The area below the latter is so many deviations.
const KERNELS: f64 = 0.3;
const HUBER: f64 = 2.0;
const HUBER_AREA: f64 = 2.528;

/// If the scatter as it was seen explains all points together so much better than that one, as that
/// of two groups does, it counts alone: the logarithm of the ratio of likelihoods.
const FAR_BETTER: f64 = 10.0;

/// How many points on each side a change is located by.
const AROUND: usize = 200;

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
    /// What neighbors have in common.
    pub memory: Memory,
}

impl Split {
    fn new(at: usize, p: f64, memory: Memory) -> Self {
        let range = (at, at);
        Self {
            at,
            range,
            p,
            memory,
        }
    }

    /// The same where the values themselves say that it is.
    pub(super) fn located(self, values: &[Nanos], may_begin: &[bool]) -> Self {
        let places = places(values.len(), may_begin);
        let (at, range) = located(values, &places, self.at, self.memory.inflation());
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
/// `None` if there are too few values, or all are equal. Its chance is computed with care if it
/// may be the one that is `asked` for. The values have at `least` so much memory.
pub(super) fn best(
    values: &[Nanos],
    may_begin: &[bool],
    asked: f64,
    least: Memory,
) -> Option<Split> {
    let count = values.len();
    let places = places(count, may_begin);
    let scores = scores(values)?;
    if count <= FEW {
        let plain = strongest(&scores, &places)?;
        let squared = without_memory(plain.squared, count, least);
        let p = few(&scores, &places, squared);
        return Some(Split::new(plain.at, p, least));
    }
    let found = two_levels(&scores, &places, least)?;
    let approximate = |strength: f64| chance(strength.max(0.0).sqrt(), count, places.len());
    let p = careful(count) * approximate(found.strength);
    let is_near = p <= asked * NEARLY && p * NEARLY >= asked;
    let p = match DRAWN.contains(&count) && is_near {
        true => {
            let null = Null::of(&scores, found.memory, least);
            null.chance(found.strength, &places, approximate)
        }
        false => p,
    };
    let by_ranks = Split::new(found.at, p, found.memory);
    if p <= asked {
        return Some(by_ranks);
    }
    Some(by_shape(values, &places, by_ranks, asked).unwrap_or(by_ranks))
}

/// The second level that the shape of the scatter tells of, if its chance is at most what is
/// `asked`; near the one that the ranks tell of.
fn by_shape(values: &[Nanos], places: &[usize], by_ranks: Split, asked: f64) -> Option<Split> {
    // In a long series the ranks tell enough.
    if by_ranks.p > HOPELESS || values.len() > *DRAWN.end() || asked < LEAST_CHANCE {
        return None;
    }
    let inflation = by_ranks.memory.inflation();
    // What is weaker is more probable than that at a single place.
    let needed = -2.0 * (FOR_SHAPE * asked).ln() * inflation;
    let step = shape::step(values, places, by_ranks.at, needed)?;
    let z = (step.strength / inflation).max(0.0).sqrt();
    let p = chance(z, values.len(), places.len()) / FOR_SHAPE;
    (p <= asked).then(|| Split::new(step.at, p, by_ranks.memory))
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
    let near = numbers(values.get(from..to).unwrap_or_default());
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
    let Some(scatter) = Scatter::around(values, at) else {
        return Vec::new();
    };
    let (low, high) = scatter.levels;
    let deviation = scatter.deviation();
    let smooth = |r: f64| {
        let d = r.abs() / deviation;
        match d <= HUBER {
            true => d * d / -2.0,
            false => -HUBER * (d - HUBER / 2.0),
        }
    };
    let each = values.iter().enumerate();
    let better = each.clone().map(|(i, v)| {
        let level = scatter.level(i);
        scatter.logarithm(i, *v, level) - smooth(v - level) + (HUBER_AREA * deviation).ln()
    });
    let is_told = values.len() >= TELLS_SHAPE && better.sum::<f64>() > FAR_BETTER;
    let kernels = match is_told {
        true => 1.0,
        false => KERNELS,
    };
    let of = |i: usize, v: f64, level: f64| {
        kernels * scatter.logarithm(i, v, level) + (1.0 - kernels) * smooth(v - level)
    };
    let each = each.map(|(i, v)| of(i, *v, low) - of(i, *v, high));
    sums(&each.collect::<Vec<f64>>())
}
