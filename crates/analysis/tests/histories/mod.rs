//! Simulated histories of the scatter that boots have, and what is found in them.
#![allow(dead_code, reason = "the test and the benchmark use a part each")]

use firstlight_analysis::{Chance, History, HistoryEntry, HistoryQuestion, TimeKind, history};
use record::Nanos;
use std::ops::Range;

/// How boots scatter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scatter {
    /// Normally.
    Normal,
    /// Mostly upwards: exponentially.
    Upwards,
    /// Normally, and one in twenty is 3 to 15 deviations late.
    Outliers,
    /// Normally in two groups, the second four deviations later, with 3 of 10 boots.
    TwoGroups,
    /// Normally around a level that rises or falls by a quarter of a deviation over 200 boots.
    SlowDrift,
    /// The same by a whole deviation.
    Drift,
    /// Normally, and each boot has three tenths of the deviation of the one before.
    Memory,
    /// Normally around a level that rises or falls by half a deviation over 200 boots.
    HalfDrift,
    /// The same by two deviations.
    SteepDrift,
    /// The same by four deviations.
    SteepestDrift,
    /// All that boots do: outliers and two groups around a level that drifts by a deviation of
    /// the inner scatter over 200 boots.
    Together,
}

impl Scatter {
    /// Those of the rates that are promised.
    pub const ALL: [Self; 9] = [
        Self::Normal,
        Self::Upwards,
        Self::Outliers,
        Self::TwoGroups,
        Self::SlowDrift,
        Self::HalfDrift,
        Self::Drift,
        Self::Memory,
        Self::Together,
    ];

    /// Drifts that are steeper.
    pub const STEEP: [Self; 2] = [Self::SteepDrift, Self::SteepestDrift];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Upwards => "upwards",
            Self::Outliers => "outliers",
            Self::TwoGroups => "two groups",
            Self::SlowDrift => "slow drift",
            Self::Drift => "drift",
            Self::Memory => "memory",
            Self::HalfDrift => "half drift",
            Self::SteepDrift => "steep drift",
            Self::SteepestDrift => "steepest drift",
            Self::Together => "together",
        }
    }

    /// The standard deviation of a boot around its level, in units.
    pub fn deviation(self) -> f64 {
        match self {
            Self::Normal | Self::Upwards => 1.0,
            Self::SlowDrift | Self::HalfDrift | Self::Drift => 1.0,
            Self::SteepDrift | Self::SteepestDrift => 1.0,
            // 1 + 0.05 * (81 + 12) - (0.05 * 9)^2.
            Self::Outliers => 2.334,
            // 1 + 16 * 0.3 * 0.7.
            Self::TwoGroups => 2.088,
            // 1 / (1 - 0.09).
            Self::Memory => 1.048,
            // 1, and what outliers and two groups add above.
            Self::Together => 2.968,
        }
    }

    /// A unit of 10 ms around 1 s, `count` of them, with a step of `step` standard
    /// deviations at `at`.
    pub fn series(self, count: usize, at: usize, step: f64, seed: u64) -> Vec<Nanos> {
        let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9).wrapping_add(self as u64));
        let mut number = || (chance.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let slope = if number() < 0.5 { -1.0 } else { 1.0 };
        let mut before = 0.0;
        let all = (0..count).map(|i| {
            let (a, b) = (number(), number());
            // Box and Muller.
            let normal = (-2.0 * (1.0 - a).ln()).sqrt() * (2.0 * std::f64::consts::PI * b).cos();
            let unit = match self {
                Self::Normal => normal,
                Self::Upwards => -(1.0 - a).ln(),
                Self::Outliers if number() < 0.05 => normal + 3.0 + 12.0 * number(),
                Self::Outliers => normal,
                Self::TwoGroups if number() < 0.3 => normal + 4.0,
                Self::TwoGroups => normal,
                Self::SlowDrift => normal + slope * i as f64 / 800.0,
                Self::HalfDrift => normal + slope * i as f64 / 400.0,
                Self::Drift => normal + slope * i as f64 / 200.0,
                Self::SteepDrift => normal + slope * i as f64 / 100.0,
                Self::SteepestDrift => normal + slope * i as f64 / 50.0,
                Self::Memory => normal + 0.3 * before,
                Self::Together => {
                    let late = if number() < 0.05 {
                        3.0 + 12.0 * number()
                    } else {
                        0.0
                    };
                    let group = if number() < 0.3 { 4.0 } else { 0.0 };
                    normal + slope * i as f64 / 200.0 + late + group
                }
            };
            before = unit;
            let level = if i >= at {
                step * self.deviation()
            } else {
                0.0
            };
            Nanos(1_000_000_000 + ((unit + level) * 1e7) as i64)
        });
        all.collect()
    }
}

/// The answer for a history of first light.
pub fn answer(values: &[Nanos]) -> History {
    let entry = |(i, value): (usize, &Nanos)| HistoryEntry {
        label: i.to_string(),
        times: vec![(TimeKind::FirstLight, String::new(), *value)],
        ..HistoryEntry::default()
    };
    let entries: Vec<HistoryEntry> = values.iter().enumerate().map(entry).collect();
    history(&entries, None, &HistoryQuestion::default())
}

/// Where changes are found.
pub fn found(values: &[Nanos]) -> Vec<usize> {
    answer(values).changes.iter().map(|c| c.index).collect()
}

/// Of the histories of `seeds` without a step, in how many something is found.
pub fn false_alarms(scatter: Scatter, seeds: Range<u64>, count: usize) -> usize {
    how_many(seeds, |seed| {
        let series = scatter.series(count, count, 0.0, seed);
        !found(&series).is_empty()
    })
}

/// Of the histories of `seeds` with a step up of `step` deviations at `at`, in how many it is found, no
/// further than ten away, once `after` points follow it.
pub fn steps_found(
    scatter: Scatter,
    seeds: Range<u64>,
    at: usize,
    step: f64,
    after: usize,
) -> usize {
    how_many(seeds, |seed| {
        let series = scatter.series(at + after, at, step, seed + 1_000_000);
        found(&series).iter().any(|f| f.abs_diff(at) <= 10)
    })
}

/// For how many of `seeds` it is so, on all processors.
pub fn how_many(seeds: Range<u64>, is_so: impl Fn(u64) -> bool + Sync) -> usize {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let part = |first: u64| seeds.clone().skip(first as usize).step_by(threads);
    std::thread::scope(|scope| {
        let is_so = &is_so;
        let all = (0..threads as u64).map(|first| {
            let seeds = part(first);
            scope.spawn(move || seeds.filter(|seed| is_so(*seed)).count())
        });
        let all: Vec<_> = all.collect();
        let counts = all.into_iter().map(|thread| thread.join().unwrap_or(0));
        counts.sum()
    })
}
