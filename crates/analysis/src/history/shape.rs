//! A step judged by the shape of the scatter: where boots fall into two groups, or some are far
//! off, the values tell more of a step than their ranks do.
//!
//! A step is held against a straight line of any slope, so that a drift explains all that it
//! can: the ratio of the largest likelihoods of both. The density of the scatter is that which
//! was seen around the step, without the boot itself.

use super::scatter::{Scatter, numbers, tells_shape};
use super::strength::sums;
use record::Nanos;

/// A step of fewer deviations of the densest part of the scatter is left to the ranks: a scatter that
/// becomes wider looks like one.
const LEAST_STEP: f64 = 1.0;

/// The most rounds in which step and scatter follow from each other.
const ROUNDS: usize = 4;

/// Lines that are tried first, in parts of the step: their centers are from a bit below to a bit
/// above both levels, and the steepest is steeper than any that fits a step (1.5 in the middle).
const LINE_STEP: f64 = 0.125;
const CENTERS: (f64, f64) = (-0.25, 1.25);
const SLOPES: (f64, f64) = (0.0, 1.75);

/// Levels that are tried on each side of a step, in parts of it from the median.
const NEAR_MEDIANS: (f64, f64) = (-0.25, 0.25);

/// How often better lines are looked for around the best, at half the distance each time.
const FINER: usize = 4;

/// A step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    /// The first point after it.
    pub at: usize,
    /// How much better it explains the values than a line does: the logarithm of the ratio of
    /// likelihoods, twice.
    pub strength: f64,
}

/// The most likely step of `values` near `at`, which may begin at `places`, if it explains at
/// least `needed` more than a line does.
pub(super) fn step(values: &[Nanos], places: &[usize], at: usize, needed: f64) -> Option<Step> {
    if !tells_shape(values) {
        return None;
    }
    let values = numbers(values);
    let mut scatter = Scatter::around(&values, at)?;
    for _ in 0..ROUNDS {
        let at = most_likely(&scatter, places)?;
        if at == scatter.at {
            break;
        }
        scatter = Scatter::around(&values, at)?;
    }
    let at = scatter.at;
    let (low, high) = scatter.levels;
    if (high - low).abs() < LEAST_STEP * scatter.inner_deviation() {
        return None;
    }
    let with_step = of_step(&scatter);
    let better_than = |other: f64| 2.0 * (with_step - other);
    // Most series have no step, and a level explains them as well.
    let line = (better_than(of_level(&scatter)) >= needed).then(|| of_line(&scatter))?;
    let strength = better_than(line);
    (strength >= needed).then_some(Step { at, strength })
}

/// The place at which the step is most likely.
fn most_likely(scatter: &Scatter<'_>, places: &[usize]) -> Option<usize> {
    let (low, high) = scatter.levels;
    let each = scatter.values.iter().enumerate();
    let each = each.map(|(i, v)| scatter.logarithm(i, *v, low) - scatter.logarithm(i, *v, high));
    let sums = sums(&each.collect::<Vec<f64>>());
    let sum = |place: usize| sums.get(place).copied().unwrap_or(f64::MIN);
    let best = places.iter().copied();
    best.max_by(|a, b| sum(*a).total_cmp(&sum(*b)))
}

/// The logarithm of the likelihood of all values around what `level` says of each place.
fn likelihood(scatter: &Scatter<'_>, level: impl Fn(usize) -> f64) -> f64 {
    let each = scatter.values.iter().enumerate();
    each.map(|(i, v)| scatter.logarithm(i, *v, level(i))).sum()
}

/// That around a straight line. Its center is a part of the step above the first level, and it
/// rises by another part of the step.
fn around_line(scatter: &Scatter<'_>, (center, slope): (f64, f64)) -> f64 {
    let (low, high) = scatter.levels;
    let n = scatter.values.len() as f64;
    likelihood(scatter, |i| {
        let along = (i as f64 + 0.5) / n - 0.5;
        low + (center + slope * along) * (high - low)
    })
}

/// The logarithm of the largest likelihood around two levels near the medians.
fn of_step(scatter: &Scatter<'_>) -> f64 {
    let (low, high) = scatter.levels;
    let step = high - low;
    let side = |from: usize, to: usize, median: f64| {
        let around = |level: f64| {
            let each = scatter.values.iter().enumerate().take(to).skip(from);
            each.map(|(i, v)| scatter.logarithm(i, *v, level)).sum()
        };
        largest(parts(NEAR_MEDIANS).map(|part| around(median + part * step)))
    };
    side(0, scatter.at, low) + side(scatter.at, scatter.values.len(), high)
}

/// The logarithm of the largest likelihood around one level.
fn of_level(scatter: &Scatter<'_>) -> f64 {
    largest(parts(CENTERS).map(|center| around_line(scatter, (center, 0.0))))
}

/// The logarithm of the largest likelihood around a straight line.
fn of_line(scatter: &Scatter<'_>) -> f64 {
    let better = |best: ((f64, f64), f64), line: (f64, f64)| {
        let found = around_line(scatter, line);
        match found > best.1 {
            true => (line, found),
            false => best,
        }
    };
    let all = parts(CENTERS).flat_map(|center| parts(SLOPES).map(move |slope| (center, slope)));
    let first = all.fold(((0.0, 0.0), f64::MIN), better);
    let mut apart = LINE_STEP;
    let finer = (0..FINER).fold(first, |best, _| {
        apart /= 2.0;
        let (center, slope) = best.0;
        let by = [-apart, 0.0, apart];
        let near = by
            .iter()
            .flat_map(|c| by.iter().map(move |s| (center + c, slope + s)));
        near.fold(best, better)
    });
    finer.1
}

fn largest(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.fold(f64::MIN, f64::max)
}

/// Numbers [`LINE_STEP`] apart.
fn parts((from, to): (f64, f64)) -> impl Iterator<Item = f64> {
    let count = ((to - from) / LINE_STEP).round() as usize;
    (0..=count).map(move |i| from + i as f64 * LINE_STEP)
}
