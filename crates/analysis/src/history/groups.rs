//! Boots that fall into two groups, and what differs between these.

use super::compared::{Differing, differing};
use super::scatter::{self, middle};
use super::series::Series;
use super::strength::sums;
use crate::effect::median;
use record::Nanos;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// The fewest points that are looked at, and the least part of them in a group.
const FEWEST: usize = 20;
const LEAST_PART: f64 = 0.1;
const LEAST_POINTS: usize = 5;

/// Two groups of boots.
#[derive(Clone, Debug, PartialEq)]
pub struct Groups {
    /// The time that falls into two groups.
    pub item: String,
    /// How many are in the faster and in the slower group.
    pub counts: (usize, usize),
    /// The medians of the two.
    pub medians: (Nanos, Nanos),
    /// The first time of the slower group: where one would part them.
    pub from: Nanos,
    /// What of the environment goes with the group: `machine: a | b`.
    pub environment: Vec<String>,
    /// Items that differ between them, the largest difference first.
    pub items: Vec<Differing>,
}

/// Whether `series`, of one level, is of two groups; `others` may explain them, and
/// `environment` gives that of a boot.
pub(super) fn groups(
    series: &Series,
    others: &[Series],
    environment: &dyn Fn(usize) -> Vec<(&'static str, String)>,
) -> Option<Groups> {
    let mut sorted: Vec<(Nanos, usize)> = series.points.iter().map(|p| (p.1, p.0)).collect();
    sorted.sort_unstable();
    let values: Vec<Nanos> = sorted.iter().map(|p| p.0).collect();
    let at = parted(&values)?;
    let (fast, slow) = sorted.split_at(at);
    let boots = |part: &[(Nanos, usize)]| part.iter().map(|p| p.1).collect::<BTreeSet<usize>>();
    let (fast, slow) = (boots(fast), boots(slow));
    Some(Groups {
        item: series.label().to_owned(),
        counts: (fast.len(), slow.len()),
        medians: (median(values.get(..at)?)?, median(values.get(at..)?)?),
        from: *values.get(at)?,
        environment: of_environment(&fast, &slow, environment),
        items: differing(others, series, &fast, &slow),
    })
}

/// Where the second group of sorted `values` begins, if there are two.
fn parted(values: &[Nanos]) -> Option<usize> {
    let numbers = scatter::numbers(values);
    let overlapping = scatter::tells_shape(values).then(|| by_valley(&numbers));
    by_gap(&numbers).or(overlapping.flatten())
}

/// The fewest and the most points that a group has of so many.
fn sizes(count: usize) -> RangeInclusive<usize> {
    let least = LEAST_POINTS.max((count as f64 * LEAST_PART).ceil() as usize);
    least..=count.saturating_sub(least)
}

/// Groups with a gap between them.
///
/// They are parted where the squares within both are the least. The distance of the means
/// in root mean deviations of the two (Ashman's D, 1994) is 2.7 for halves of one normal
/// distribution, and 3.5 for a flat one.
fn by_gap(values: &[f64]) -> Option<usize> {
    let count = values.len();
    let base = *values.first()?;
    if count < FEWEST {
        return None;
    }
    let all: Vec<f64> = values.iter().map(|v| v - base).collect();
    let mut sums = vec![(0.0, 0.0)];
    for v in &all {
        let (sum, squares) = sums.last().copied().unwrap_or_default();
        sums.push((sum + v, squares + v * v));
    }
    let part = |from: usize, to: usize| {
        let (a, b) = (sums.get(from)?, sums.get(to)?);
        let n = (to - from) as f64;
        let mean = (b.0 - a.0) / n;
        Some((mean, ((b.1 - a.1) / n - mean * mean).max(0.0), n))
    };
    let within = |at: usize| {
        let (a, b) = (part(0, at)?, part(at, count)?);
        Some(a.1 * a.2 + b.1 * b.2)
    };
    let best = sizes(count)
        .filter_map(|at| Some((at, within(at)?)))
        .min_by(|a, b| a.1.total_cmp(&b.1));
    let (at, _) = best?;
    let (low, high) = (part(0, at)?, part(at, count)?);
    let distance = high.0 - low.0;
    let deviation = ((low.1 + high.1) / 2.0).sqrt();
    // Few points of one group part by chance.
    let needed = 3.9 + 34.0 / count as f64;
    // And there is a gap between them: nearest neighbors are further from each other
    // than any others are from theirs.
    let gap = all.get(at)? - all.get(at - 1)?;
    let inner = all.windows(2).enumerate().filter(|(i, _)| i + 1 != at);
    let inner = inner.map(|(_, w)| w[1] - w[0]);
    let trimmed = (count / 20).max(1);
    let mut inner: Vec<f64> = inner.collect();
    inner.sort_unstable_by(|a, b| b.total_cmp(a));
    let widest = inner.get(trimmed).copied().unwrap_or(0.0);
    (distance > 0.0 && distance >= needed * deviation && gap > widest).then_some(at)
}

/// Groups that overlap, or beside which some boots are far off.
///
/// They are parted where the distances from both medians are the least. The distance of the
/// medians in deviations is 2.4 for halves of a normal distribution, 2.9 for a flat one, and
/// varies more the fewer points there are (simulated, 200 points). Midway between them, few points
/// lie: a flat distribution has an eighth of all in the middle quarter.
fn by_valley(values: &[f64]) -> Option<usize> {
    let count = values.len();
    let sums = sums(values);
    let sum = |from: usize, to: usize| Some(sums.get(to)? - sums.get(from)?);
    let distances = |from: usize, to: usize| {
        let half = (to - from) / 2;
        Some(sum(to - half, to)? - sum(from, from + half)?)
    };
    let of = |at: usize| Some((at, distances(0, at)? + distances(at, count)?));
    let best = sizes(count).filter_map(of);
    let (at, _) = best.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let (low, high) = values.split_at_checked(at)?;
    let (below, above) = (middle(low)?, middle(high)?);
    let (narrow, wide) = (inner_deviation(low, below)?, inner_deviation(high, above)?);
    let deviation = ((narrow * narrow + wide * wide) / 2.0).sqrt();
    let apart = above - below;
    let midway = (below + above) / 2.0;
    let between = values.iter().filter(|v| (**v - midway).abs() < apart / 8.0);
    let is_valley = between.count() as f64 <= 0.09 * count as f64;
    let needed = 3.1 + 45.0 / count as f64;
    (apart > 0.0 && apart >= needed * deviation && is_valley).then_some(at)
}

/// The standard deviation of normal values around `level`, by the nearest four fifths of them: their
/// mean distance is 0.5586 deviations.
fn inner_deviation(values: &[f64], level: f64) -> Option<f64> {
    let mut distances: Vec<f64> = values.iter().map(|v| (v - level).abs()).collect();
    distances.sort_unstable_by(f64::total_cmp);
    let nearest = distances.get(..(distances.len() * 4).div_ceil(5))?;
    let sum: f64 = nearest.iter().sum();
    (!nearest.is_empty()).then(|| sum / nearest.len() as f64 / 0.5586)
}

/// Fields of the environment of which no value is in both groups.
fn of_environment(
    fast: &BTreeSet<usize>,
    slow: &BTreeSet<usize>,
    environment: &dyn Fn(usize) -> Vec<(&'static str, String)>,
) -> Vec<String> {
    let of = |boots: &BTreeSet<usize>| {
        let mut fields: BTreeMap<&'static str, BTreeSet<String>> = BTreeMap::new();
        for (name, value) in boots.iter().flat_map(|b| environment(*b)) {
            fields.entry(name).or_default().insert(value);
        }
        fields
    };
    let (fast, slow) = (of(fast), of(slow));
    let said = |values: &BTreeSet<String>| {
        let first: Vec<&str> = values.iter().take(3).map(String::as_str).collect();
        first.join(", ")
    };
    let apart = fast.iter().filter_map(|(name, a)| {
        let b = slow.get(name)?;
        a.is_disjoint(b)
            .then(|| format!("{name}: {} | {}", said(a), said(b)))
    });
    apart.collect()
}

#[cfg(test)]
mod tests {
    use super::parted;
    use crate::statistics::Chance;
    use record::Nanos;

    fn sorted(mut draw: impl FnMut() -> f64, count: usize) -> Vec<Nanos> {
        let all = (0..count).map(|_| Nanos(1_000_000_000 + (draw() * 1e7) as i64));
        let mut all: Vec<Nanos> = all.collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn two_groups_are_seen_and_one_is_not_taken_for_two() {
        let mut chance = Chance(5);
        let mut number = || (chance.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        for count in [20, 50, 200] {
            let mut wrong = [0; 3];
            let mut seen = 0;
            for _ in 0..300 {
                let normal = |n: &mut dyn FnMut() -> f64| (0..12).map(|_| n()).sum::<f64>();
                wrong[0] += i32::from(parted(&sorted(&mut number, count)).is_some());
                let of = sorted(|| normal(&mut number), count);
                wrong[1] += i32::from(parted(&of).is_some());
                let of = sorted(|| -(1.0 - number()).ln(), count);
                wrong[2] += i32::from(parted(&of).is_some());
                let two = || {
                    let far = if number() < 0.4 { 9.0 } else { 0.0 };
                    normal(&mut number) + far
                };
                seen += i32::from(parted(&sorted(two, count)).is_some());
            }
            // In 300: one in a hundred of one group, and nearly all of two.
            assert!(wrong.iter().all(|w| *w <= 6), "{count}: {wrong:?}");
            assert!(seen >= 280, "{count}: {seen}");
        }
        // Groups that overlap need more points, and those with boots that are far off, too.
        for (count, outliers, least) in [(60, 0.0, 120), (200, 0.0, 265), (200, 0.05, 215)] {
            let mut seen = 0;
            for _ in 0..300 {
                let two = || {
                    let normal = (0..12).map(|_| number()).sum::<f64>();
                    let group = if number() < 0.3 { 4.0 } else { 0.0 };
                    let late = if number() < outliers {
                        3.0 + 12.0 * number()
                    } else {
                        0.0
                    };
                    normal + group + late
                };
                seen += i32::from(parted(&sorted(two, count)).is_some());
            }
            assert!(seen >= least, "{count}: {seen}");
        }
        assert_eq!(parted(&[]), None);
        assert_eq!(parted(&[Nanos(7); 40]), None);
    }
}
