//! What ensembles of some boots can tell apart, from boots that are all alike.

use crate::boots::{BootTimes, Part, TimeKind};
use crate::effect::{Effect, Verdict, effect, margin, median, range};
use crate::statistics::Chance;
use record::Nanos;
use std::collections::BTreeMap;

/// How many pairs of ensembles are drawn for each size.
pub const DRAWS: u32 = 20_000;

/// The most boots of an ensemble that is drawn.
const MOST_BOOTS: usize = 6;

/// What a change of an item's work or wait has to come to, in percent of the median of all boots,
/// before it counts: longer names alone move the work of some items by microseconds.
const COUNTS: f64 = 0.1;

/// One boot of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunBoot<'a> {
    /// Its variant.
    pub variant: &'a str,
    /// When first light came; `None` if it never did.
    pub first_light: Option<Nanos>,
    /// Its times; empty if its capture is gone.
    pub times: BootTimes,
}

/// What two ensembles of so many boots each tell apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolution {
    /// How many boots an ensemble has.
    pub boots: usize,
    /// How many spreads apart they have to be.
    pub margin: f64,
    /// The part of the pairs that are alike and are told apart.
    pub false_alarms: Shares,
    /// For each delay, by first light alone.
    pub found: Vec<Found>,
}

/// The share of pairs that are called different, by what is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares {
    /// By first light.
    pub time: f64,
    /// By the work of processes or units; `None` if the captures have none.
    pub work: Option<f64>,
    /// By the waits of processes; `None` if the captures have none, or the boots are too few.
    pub waits: Option<f64>,
    /// By any of them.
    pub any: f64,
}

/// How often a delay is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// The delay, in percent of the median of all boots.
    pub percent: f64,
    /// The share of pairs whose delayed side is called slower.
    pub part: f64,
}

/// Boots that pairs of ensembles are drawn from.
struct Sample {
    first_light: Vec<Nanos>,
    work: Items,
    waits: Items,
    /// What a change of items has to come to.
    counts: Nanos,
}

/// A part of items' times: for each item, what each boot has of it.
struct Items {
    part: Part,
    values: Vec<Vec<Nanos>>,
}

/// How many pairs were called different.
#[derive(Default)]
struct Counts {
    time: u32,
    work: u32,
    waits: u32,
    any: u32,
}

impl Items {
    /// Those of the first kind that all `boots` have, without items that only some have or whose
    /// change could never count.
    fn of(boots: &[&RunBoot<'_>], part: Part, counts: Nanos) -> Self {
        let of_kind = |kind: &TimeKind| {
            let mut all: BTreeMap<String, Vec<Nanos>> = BTreeMap::new();
            for boot in boots {
                for (_, name, ns) in boot.times.times().filter(|t| t.0 == *kind) {
                    all.entry(name).or_default().push(ns);
                }
            }
            all.retain(|_, values| values.len() == boots.len());
            (!all.is_empty()).then_some(all)
        };
        let all = part.kinds().iter().find_map(of_kind).unwrap_or_default();
        let little = Nanos(counts.get() / 20);
        let may_count =
            |v: &Vec<Nanos>| range(v).is_some_and(|(least, most)| most - least > little);
        Self {
            part,
            values: all.into_values().filter(may_count).collect(),
        }
    }

    /// Whether ensembles of so many boots are judged by it.
    const fn judges(&self, boots: usize) -> bool {
        !self.values.is_empty() && boots >= self.part.fewest()
    }

    /// By how much the boots at `new` differ from those at `base`; zero if they are alike.
    fn delta(&self, base: &[usize], new: &[usize]) -> Nanos {
        let changed = self.values.iter().filter_map(|values| {
            self.part
                .changed(&picked(values, base), &picked(values, new))
        });
        self.part.total(changed)
    }
}

impl Sample {
    fn of(boots: &[&RunBoot<'_>], counts: Nanos) -> Self {
        Self {
            first_light: boots.iter().filter_map(|b| b.first_light).collect(),
            work: Items::of(boots, Part::Work, counts),
            waits: Items::of(boots, Part::Wait, counts),
            counts,
        }
    }

    /// How many pairs of `boots` of each of `pools` are called different, if a difference `is` one
    /// that matters.
    fn shares(&self, pools: [&[usize]; 2], boots: usize, is: impl Fn(Nanos) -> bool) -> Shares {
        let mut found = Counts::default();
        each_pair(pools, boots, |base, new| {
            let lights = [base, new].map(|places| picked(&self.first_light, places));
            let time = effect(&lights[0], &lights[1])
                .is_some_and(|e| e.verdict != Verdict::NoDifference && is(e.delta));
            let by = |items: &Items| {
                items.judges(boots) && {
                    let delta = items.delta(base, new);
                    delta.abs() > self.counts && is(delta)
                }
            };
            let (work, waits) = (by(&self.work), by(&self.waits));
            found.time += u32::from(time);
            found.work += u32::from(work);
            found.waits += u32::from(waits);
            found.any += u32::from(time || work || waits);
        });
        let if_judged = |items: &Items, count| items.judges(boots).then(|| share(count));
        Shares {
            time: share(found.time),
            work: if_judged(&self.work, found.work),
            waits: if_judged(&self.waits, found.waits),
            any: share(found.any),
        }
    }

    /// How often `boots` of `alike` are called slower than others of them by first light, once
    /// they are all delayed by each of `delays`.
    fn found(&self, alike: &[usize], boots: usize, delays: &[Nanos]) -> Vec<f64> {
        let mut found = vec![0_u32; delays.len()];
        each_pair([alike, alike], boots, |base, new| {
            let [base, new] = [base, new].map(|places| picked(&self.first_light, places));
            for (delay, count) in delays.iter().zip(&mut found) {
                let moved: Vec<Nanos> = new.iter().map(|ns| *ns + *delay).collect();
                let verdict = effect(&base, &moved).map(|e| e.verdict);
                *count += u32::from(verdict == Some(Verdict::Slower));
            }
        });
        found.into_iter().map(share).collect()
    }
}

/// The values at these places.
fn picked(values: &[Nanos], places: &[usize]) -> Vec<Nanos> {
    let at = places.iter().filter_map(|p| values.get(*p).copied());
    at.collect()
}

fn share(count: u32) -> f64 {
    f64::from(count) / f64::from(DRAWS)
}

/// Draws pairs of ensembles, `boots` places of each of `pools`. No place occurs twice in a pair,
/// where both pools are the same. Every call makes the same draws.
fn each_pair(pools: [&[usize]; 2], boots: usize, mut each: impl FnMut(&[usize], &[usize])) {
    let mut chance = Chance(1);
    let [mut from, mut other] = pools.map(<[usize]>::to_vec);
    let is_one_pool = pools[0] == pools[1];
    for _ in 0..DRAWS {
        let new = if is_one_pool {
            shuffle(&mut from, 2 * boots, &mut chance);
            from.get(boots..2 * boots)
        } else {
            shuffle(&mut from, boots, &mut chance);
            shuffle(&mut other, boots, &mut chance);
            other.get(..boots)
        };
        if let (Some(base), Some(new)) = (from.get(..boots), new) {
            each(base, new);
        }
    }
}

/// Fisher and Yates' shuffle of the first `used` places.
fn shuffle(places: &mut [usize], used: usize, chance: &mut Chance) {
    let all = places.len();
    for i in 0..used.min(all) {
        places.swap(i, i + chance.below(all - i));
    }
}

/// What part of all boots' median these percent are.
fn part_of(middle: Nanos, percent: f64) -> Nanos {
    Nanos((middle.get() as f64 * percent / 100.0) as i64)
}

/// Draws pairs of ensembles from `alike`, boots that differ only in neutral perturbations, and
/// judges each pair as a variant is judged, by first light, and as a gate judges the work and the
/// waits of items. For each of `delays`, in percent, it judges first light again with one
/// side delayed. Returns one row per ensemble size.
fn resolution(sample: &Sample, alike: &[usize], delays: &[f64], middle: Nanos) -> Vec<Resolution> {
    let sizes = 2..=MOST_BOOTS.min(alike.len() / 2);
    let lengths: Vec<Nanos> = delays.iter().map(|d| part_of(middle, *d)).collect();
    let row = |boots| {
        let found = sample.found(alike, boots, &lengths);
        let found = delays.iter().zip(found);
        Resolution {
            boots,
            margin: margin(boots),
            false_alarms: sample.shares([alike, alike], boots, |_| true),
            found: found
                .map(|(percent, part)| Found {
                    percent: *percent,
                    part,
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
    /// What a change of an item's work or wait has to come to before it counts.
    pub counts: Nanos,
    /// What ensembles of them tell apart.
    pub ensembles: Vec<Resolution>,
    /// Pairs of variants, as they were booted.
    pub alike: Alike,
    /// Variants that change something, beside the baseline.
    pub changed: Vec<RunChange>,
}

/// A variant that changes something.
#[derive(Clone, Debug, PartialEq)]
pub struct RunChange {
    /// Its name.
    pub variant: String,
    /// How its first light compares with the baseline's, all boots of both.
    pub effect: Effect,
    /// How often so many of its boots are called slower than as many that are alike.
    pub found: Vec<(usize, Shares)>,
}

/// Why a run says nothing of that kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// There is no such variant.
    NoVariant(String),
    /// So few boots that are alike came to first light.
    TooFew(usize),
}

/// What the boots of a run say, in their order. All variants are alike, but those that are
/// named as `changed`.
///
/// # Errors
/// A variant is not there, or fewer than four boots are alike.
pub fn run_resolution(
    boots: &[RunBoot<'_>],
    baseline: &str,
    changed: &[String],
    delays: &[f64],
) -> Result<RunResolution, RunError> {
    let is_there = |name: &&String| !boots.iter().any(|b| b.variant == **name);
    if let Some(unknown) = changed.iter().find(is_there) {
        return Err(RunError::NoVariant(unknown.clone()));
    }
    let mut variants: Vec<(&str, Vec<usize>)> = Vec::new();
    for boot in boots {
        if !variants.iter().any(|v| v.0 == boot.variant) {
            variants.push((boot.variant, Vec::new()));
        }
    }
    // A boot without first light is none.
    let boots: Vec<&RunBoot<'_>> = boots.iter().filter(|b| b.first_light.is_some()).collect();
    for (place, boot) in boots.iter().enumerate() {
        if let Some((_, places)) = variants.iter_mut().find(|v| v.0 == boot.variant) {
            places.push(place);
        }
    }
    let lights = |places: &[usize]| -> Vec<Nanos> {
        let light = |p: &usize| boots.get(*p)?.first_light;
        places.iter().filter_map(light).collect()
    };
    let is_changed = |name: &str| changed.iter().any(|c| c == name);
    let (moved, alike): (Vec<_>, Vec<_>) = variants.iter().partition(|v| is_changed(v.0));
    let pool: Vec<usize> = alike.iter().flat_map(|v| v.1.iter().copied()).collect();
    let all = lights(&pool);
    let (Some(middle), Some(range), true) = (median(&all), range(&all), pool.len() > 3) else {
        return Err(RunError::TooFew(pool.len()));
    };
    let counts = part_of(middle, COUNTS);
    let sample = Sample::of(&boots, counts);
    let base = variants.iter().find(|v| v.0 == baseline);
    let base = base.map_or_else(Vec::new, |v| lights(&v.1));
    let changed = moved.iter().filter_map(|(name, places)| {
        let most = MOST_BOOTS.min(places.len());
        let found = (2..=most).map(|boots| {
            let pools = [pool.as_slice(), places.as_slice()];
            let is_slower = |delta: Nanos| delta > Nanos::ZERO;
            (boots, sample.shares(pools, boots, is_slower))
        });
        Some(RunChange {
            variant: (*name).to_owned(),
            effect: effect(&base, &lights(places))?,
            found: found.collect(),
        })
    });
    let times: Vec<Vec<Nanos>> = alike.iter().map(|v| lights(&v.1)).collect();
    Ok(RunResolution {
        boots: pool.len(),
        variants: alike.len(),
        range,
        median: middle,
        counts,
        alike: Alike::of(&times),
        changed: changed.collect(),
        ensembles: resolution(&sample, &pool, delays, middle),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::{Alike, Resolution, RunBoot, run_resolution};
    use crate::boots::BootTimes;
    use crate::statistics::Chance;
    use record::Nanos;

    /// What boots without captures say.
    fn resolution(alike: &[Nanos], delays: &[f64]) -> Vec<Resolution> {
        let boot = |light: &Nanos| RunBoot {
            variant: "alike",
            first_light: Some(*light),
            times: BootTimes::default(),
        };
        let boots: Vec<RunBoot<'_>> = alike.iter().map(boot).collect();
        run_resolution(&boots, "alike", &[], delays).map_or_else(|_| Vec::new(), |r| r.ensembles)
    }

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
                assert!(row.false_alarms.time < 0.0125, "{name}: {row:?}");
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
