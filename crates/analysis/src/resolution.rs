//! What ensembles of some boots can tell apart, from boots that are all alike.

use crate::effect::{Effect, Verdict, effect, margin, median, range};
use crate::statistics::Chance;
use record::Nanos;

/// How many pairs of ensembles are drawn for each size.
pub const DRAWS: u32 = 20_000;

/// The most boots of an ensemble that is drawn.
const MOST_BOOTS: usize = 6;

/// What two ensembles of so many boots each tell apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolution {
    /// How many boots an ensemble has.
    pub boots: usize,
    /// How many spreads apart they have to be.
    pub margin: f64,
    /// The part of the pairs that are alike and are told apart.
    pub false_alarms: f64,
    /// For each delay.
    pub found: Vec<Found>,
}

/// How often a delay is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// The delay, in percent of the median of all boots.
    pub percent: f64,
    /// The share of pairs whose delayed side is called slower.
    pub part: f64,
}

/// Draws pairs of ensembles from `alike`, boots that differ only in neutral
/// perturbations, and judges each pair as a variant is judged. No boot occurs twice in a
/// pair. For each of `delays`, in percent, it judges the pairs again with one side
/// delayed. Every call makes the same draws. Returns one row per ensemble size.
#[must_use]
pub fn resolution(alike: &[Nanos], delays: &[f64]) -> Vec<Resolution> {
    let Some(middle) = median(alike) else {
        return Vec::new();
    };
    let sizes = 2..=MOST_BOOTS.min(alike.len() / 2);
    let row = |boots| {
        let mut chance = Chance(1);
        let mut pool = alike.to_vec();
        let mut alarms = 0_u32;
        let mut found = vec![0_u32; delays.len()];
        for _ in 0..DRAWS {
            // Fisher and Yates' shuffle, as far as the boots are used.
            for i in 0..2 * boots {
                pool.swap(i, i + chance.below(alike.len() - i));
            }
            let (Some(base), Some(variant)) = (pool.get(..boots), pool.get(boots..2 * boots))
            else {
                continue;
            };
            let judged = |delay: Nanos| {
                let moved: Vec<Nanos> = variant.iter().map(|v| *v + delay).collect();
                effect(base, &moved).map(|e| e.verdict)
            };
            alarms += u32::from(judged(Nanos::ZERO) != Some(Verdict::NoDifference));
            for (percent, count) in delays.iter().zip(&mut found) {
                let delay = Nanos((middle.get() as f64 * percent / 100.0) as i64);
                *count += u32::from(judged(delay) == Some(Verdict::Slower));
            }
        }
        let part = |count: u32| f64::from(count) / f64::from(DRAWS);
        let found = delays.iter().zip(found);
        Resolution {
            boots,
            margin: margin(boots),
            false_alarms: part(alarms),
            found: found
                .map(|(percent, count)| Found {
                    percent: *percent,
                    part: part(count),
                })
                .collect(),
        }
    };
    sizes.map(row).collect()
}

/// Pairs of variants that are alike, as they were booted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Alike {
    /// How many pairs of at least two boots a side.
    pub pairs: usize,
    /// How many of them are told apart.
    pub told_apart: usize,
}

impl Alike {
    /// Judges each pair of `variants`.
    #[must_use]
    pub fn of(variants: &[Vec<Nanos>]) -> Self {
        let mut all = Self::default();
        let enough = |v: &&Vec<Nanos>| v.len() > 1;
        for (i, base) in variants.iter().enumerate().filter(|(_, v)| enough(v)) {
            for variant in variants.iter().skip(i + 1).filter(enough) {
                all.pairs += 1;
                let verdict = effect(base, variant).map(|e| e.verdict);
                all.told_apart += usize::from(verdict != Some(Verdict::NoDifference));
            }
        }
        all
    }
}

/// What a run whose variants are alike says.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResolution {
    /// Boots of variants that are alike.
    pub boots: usize,
    /// These variants.
    pub variants: usize,
    /// Their earliest and latest first light.
    pub range: (Nanos, Nanos),
    /// Their median.
    pub median: Nanos,
    /// What ensembles of them tell apart.
    pub ensembles: Vec<Resolution>,
    /// Pairs of variants, as they were booted.
    pub alike: Alike,
    /// Variants that change something, beside the baseline.
    pub changed: Vec<(String, Effect)>,
}

/// Why a run says nothing of that kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// There is no such variant.
    NoVariant(String),
    /// So few boots that are alike came to first light.
    TooFew(usize),
}

/// What the boots of a run say: variant and first light of each, in their order. All
/// variants are alike, but those that are named as `changed`.
///
/// # Errors
/// A variant is not there, or fewer than four boots are alike.
pub fn run_resolution(
    boots: &[(&str, Option<Nanos>)],
    baseline: &str,
    changed: &[String],
    delays: &[f64],
) -> Result<RunResolution, RunError> {
    // The variants in the order of their boots; a boot without first light is none.
    let mut variants: Vec<(&str, Vec<Nanos>)> = Vec::new();
    for (variant, first_light) in boots {
        let at = match variants.iter().position(|v| v.0 == *variant) {
            Some(at) => at,
            None => {
                variants.push((variant, Vec::new()));
                variants.len() - 1
            }
        };
        if let Some((_, times)) = variants.get_mut(at) {
            times.extend(*first_light);
        }
    }
    let is_there = |name: &&String| !variants.iter().any(|v| v.0 == **name);
    if let Some(unknown) = changed.iter().find(is_there) {
        return Err(RunError::NoVariant(unknown.clone()));
    }
    let is_changed = |name: &str| changed.iter().any(|c| c == name);
    let alike = variants.iter().filter(|v| !is_changed(v.0));
    let alike: Vec<Vec<Nanos>> = alike.map(|v| v.1.clone()).collect();
    let pool: Vec<Nanos> = alike.iter().flatten().copied().collect();
    let (Some(middle), Some(range), true) = (median(&pool), range(&pool), pool.len() > 3) else {
        return Err(RunError::TooFew(pool.len()));
    };
    let base = variants.iter().find(|v| v.0 == baseline);
    let base = base.map_or(&[][..], |v| &v.1);
    let changed = variants.iter().filter(|v| is_changed(v.0));
    let changed =
        changed.filter_map(|(name, times)| Some(((*name).to_owned(), effect(base, times)?)));
    Ok(RunResolution {
        boots: pool.len(),
        variants: alike.len(),
        range,
        median: middle,
        ensembles: resolution(&pool, delays),
        alike: Alike::of(&alike),
        changed: changed.collect(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::{Alike, resolution};
    use crate::statistics::Chance;
    use record::Nanos;

    /// Many boots around ten seconds, of a form that is drawn by `draw` from numbers
    /// in [0, 1).
    fn boots(draw: impl Fn(&mut dyn FnMut() -> f64) -> f64) -> Vec<Nanos> {
        let mut chance = Chance(7);
        let mut number = || (chance.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let all = (0..2000).map(|_| Nanos(10_000_000_000 + (draw(&mut number) * 1e8) as i64));
        all.collect()
    }

    #[test]
    fn one_pair_in_a_hundred_that_is_alike_is_told_apart() {
        let flat = boots(|n| n());
        let normal = boots(|n| (0..12).map(|_| n()).sum::<f64>());
        let skew = boots(|n| -(1.0 - n()).ln());
        let two_heaps = boots(|n| (n() * 2.0).floor() * 4.0 + n());
        let three_heaps = boots(|n| (n() * 3.0).floor() * 4.0 + n());
        let few_late = boots(|n| n() + if n() < 0.2 { 5.0 } else { 0.0 });
        // The fewest boots for which it holds: heaps take more.
        for (name, all, fewest) in [
            ("flat", flat, 2),
            ("normal", normal, 2),
            ("skew", skew, 2),
            ("two heaps", two_heaps, 4),
            ("three heaps", three_heaps, 5),
            ("few late", few_late, 4),
        ] {
            let rows = resolution(&all, &[]);
            assert_eq!(rows.len(), 5);
            for row in rows.iter().filter(|r| r.boots >= fewest) {
                // 20,000 draws of one in a hundred: 0.07 % is one standard deviation.
                assert!(row.false_alarms < 0.0125, "{name}: {row:?}");
            }
        }
    }

    #[test]
    fn what_is_far_beyond_the_spread_is_always_found() {
        let all = boots(|n| n());
        // The range is 1 % of the boot.
        for row in resolution(&all, &[0.05, 20.0]) {
            assert!(row.found[0].part < 0.02, "{row:?}");
            assert!(row.found[1].part > 0.98, "{row:?}");
        }
    }

    #[test]
    fn there_are_as_many_rows_as_boots_allow() {
        let all: Vec<Nanos> = (0..7).map(Nanos).collect();
        let sizes = |n: usize| -> Vec<usize> {
            let rows = resolution(&all[..n], &[]);
            rows.iter().map(|r| r.boots).collect()
        };
        assert_eq!(sizes(7), [2, 3]);
        assert!(sizes(3).is_empty() && sizes(0).is_empty());
    }

    #[test]
    fn pairs_of_variants_are_judged_as_they_were_booted() {
        let near = vec![Nanos(10), Nanos(11), Nanos(12)];
        let far = vec![Nanos(90), Nanos(91), Nanos(92)];
        let single = vec![Nanos(500)];
        let alike = Alike::of(&[near.clone(), near, far, single]);
        assert_eq!((alike.pairs, alike.told_apart), (3, 2));
    }
}
