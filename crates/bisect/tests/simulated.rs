//! The search on made-up boots, whose culprits are known.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test, which shows its rates"
)]

use firstlight_bisect::{Boot, Boots, Found, Outcome, See, Settings, ordered, sets};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::convert::Infallible;

/// How boots scatter, each with a standard deviation of one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scatter {
    Normal,
    /// With a long tail upwards.
    Exponential,
    /// One boot in 20 is ten deviations late.
    Outliers,
}

struct Made<F> {
    /// What a set adds to a boot of 1 s, in nanoseconds; `None`: it does not boot.
    change: F,
    /// In nanoseconds.
    deviation: f64,
    scatter: Scatter,
    chance: fastrand::Rng,
    booted: BTreeMap<Vec<usize>, Vec<Boot>>,
}

fn made<F: Fn(&[usize]) -> Option<i64>>(
    change: F,
    deviation: f64,
    scatter: Scatter,
    seed: u64,
) -> Made<F> {
    Made {
        change,
        deviation,
        scatter,
        chance: fastrand::Rng::with_seed(seed),
        booted: BTreeMap::new(),
    }
}

impl<F> Made<F> {
    fn noise(&mut self) -> f64 {
        let mut normal = || {
            let [a, b] = [self.chance.f64(), self.chance.f64()];
            (-2.0 * (1.0 - a).ln()).sqrt() * (2.0 * std::f64::consts::PI * b).cos()
        };
        match self.scatter {
            Scatter::Normal => normal(),
            Scatter::Exponential => -(1.0 - self.chance.f64()).ln(),
            Scatter::Outliers => {
                let normal = normal();
                match self.chance.u8(0..20) {
                    0 => normal + 10.0,
                    _ => normal,
                }
            }
        }
    }
}

impl<F: Fn(&[usize]) -> Option<i64>> Boots for Made<F> {
    type Error = Infallible;

    fn boots(&mut self, sets: &[Vec<usize>], count: usize) -> Result<Vec<Vec<Boot>>, Infallible> {
        let mut all = Vec::new();
        for set in sets {
            assert!(set.is_sorted());
            let mut boots = self.booted.remove(set).unwrap_or_default();
            while boots.len() < count {
                boots.push(match (self.change)(set) {
                    Some(change) => {
                        let noise = self.noise() * self.deviation;
                        Boot::Time(1_000_000_000 + change + noise as i64)
                    }
                    None => Boot::Unbootable("Kernel panic".to_owned()),
                });
            }
            self.booted.insert(set.clone(), boots.clone());
            all.push(boots);
        }
        Ok(all)
    }
}

/// As the lab's exact boots: they scatter by 0.05 %.
fn exact() -> Settings {
    Settings {
        first: 2,
        most: 6,
        see: See::Part(0.005),
        error: 0.01,
    }
}

/// As boots in real time.
fn real() -> Settings {
    Settings {
        first: 4,
        most: 40,
        see: See::Ns(10_000_000),
        error: 0.01,
    }
}

fn members(found: &Found) -> Vec<Vec<usize>> {
    match &found.outcome {
        Outcome::Found { culprits, .. } => {
            let mut all: Vec<_> = culprits.iter().map(|c| c.members.clone()).collect();
            all.sort();
            all
        }
        _ => Vec::new(),
    }
}

/// A percent of 1 s.
const PERCENT: i64 = 10_000_000;

#[test]
fn one_culprit_of_one_percent_among_64_takes_at_most_14_boots() {
    let (mut most, mut sum, mut over) = (0, 0, 0);
    for seed in 0..200 {
        let culprit = (seed as usize * 37 + 5) % 64;
        let change = |set: &[usize]| Some(if set.contains(&culprit) { PERCENT } else { 0 });
        let mut boots = made(change, 500_000.0, Scatter::Normal, seed);
        let found = sets(&mut boots, 64, &exact(), &mut |_| ()).unwrap();
        assert_eq!(members(&found), [[culprit]], "{seed}: {found:#?}");
        most = most.max(found.boots);
        sum += found.boots;
        over += usize::from(found.boots > 14);
    }
    eprintln!(
        "one of 64: {} boots on average, at most {most}, more than 14 in {over} of 200",
        sum / 200
    );
    assert!(over <= 2 && most <= 16, "{over}, {most}");
}

#[test]
fn no_difference_is_no_culprit() {
    for (scatter, settings, deviation) in [
        (Scatter::Normal, exact(), 500_000.0),
        (Scatter::Exponential, exact(), 500_000.0),
        (Scatter::Outliers, exact(), 300_000.0),
        (Scatter::Normal, real(), 10_000_000.0),
        (Scatter::Exponential, real(), 10_000_000.0),
        (Scatter::Outliers, real(), 5_000_000.0),
    ] {
        let (mut wrong, mut none, mut boots_taken) = (0, 0, 0);
        for seed in 0..200 {
            let mut boots = made(|_: &[usize]| Some(0), deviation, scatter, 1_000 + seed);
            let found = sets(&mut boots, 64, &settings, &mut |_| ()).unwrap();
            wrong += usize::from(!members(&found).is_empty());
            none += usize::from(found.outcome == Outcome::NoDifference);
            boots_taken += found.boots;
        }
        eprintln!(
            "no culprit, {scatter:?}, {} boots at most: {wrong} of 200 wrong, {none} \"no \
             difference\", {} boots on average",
            settings.most,
            boots_taken / 200
        );
        assert_eq!(wrong, 0, "{scatter:?}");
    }
}

#[test]
fn two_that_act_only_together_are_found_as_a_pair() {
    let mut most = 0;
    for seed in 0..100 {
        let pair = [
            (seed as usize * 7) % 64,
            (seed as usize * 7 + 1 + seed as usize % 62) % 64,
        ];
        let change = |set: &[usize]| {
            let both = pair.iter().all(|p| set.contains(p));
            Some(if both { PERCENT } else { 0 })
        };
        let mut boots = made(change, 500_000.0, Scatter::Normal, seed);
        let found = sets(&mut boots, 64, &exact(), &mut |_| ()).unwrap();
        let mut wanted = pair.map(|p| vec![p]);
        wanted.sort();
        assert_eq!(members(&found), wanted, "{seed}: {found:#?}");
        let Outcome::Found { interact, .. } = found.outcome else {
            panic!("nothing found")
        };
        assert!(interact);
        most = most.max(found.boots);
    }
    eprintln!("a pair of 64: at most {most} boots");
    assert!(most <= 30, "{most}");
}

#[test]
fn two_that_act_independently_are_both_found() {
    let change = |set: &[usize]| {
        let of = |i, size| if set.contains(&i) { size } else { 0 };
        Some(of(3, 2 * PERCENT) + of(50, PERCENT))
    };
    let mut boots = made(change, 500_000.0, Scatter::Normal, 1);
    let found = sets(&mut boots, 64, &exact(), &mut |_| ()).unwrap();
    assert_eq!(members(&found), [[3], [50]]);
    let Outcome::Found {
        interact, culprits, ..
    } = found.outcome
    else {
        panic!("nothing found")
    };
    assert!(!interact);
    for culprit in culprits {
        let alone = culprit.alone.unwrap().delta_ns;
        let expected = if culprit.members == [3] { 2 } else { 1 } * PERCENT;
        assert!((alone - expected).abs() < PERCENT / 4, "{alone}");
    }
}

/// A gain is found as a loss is.
#[test]
fn what_makes_the_boot_faster_is_found() {
    let change = |set: &[usize]| Some(if set.contains(&11) { -PERCENT } else { 0 });
    let mut boots = made(change, 500_000.0, Scatter::Normal, 3);
    let found = sets(&mut boots, 20, &exact(), &mut |_| ()).unwrap();
    assert_eq!(members(&found), [[11]]);
}

/// Difference 9 boots only with 8: what cannot be separated is named together.
#[test]
fn what_does_not_boot_is_passed_by() {
    let change = |set: &[usize]| match set.contains(&9) && !set.contains(&8) {
        true => None,
        false => Some(if set.contains(&9) { PERCENT } else { 0 }),
    };
    let mut boots = made(change, 500_000.0, Scatter::Normal, 3);
    let found = sets(&mut boots, 32, &exact(), &mut |_| ()).unwrap();
    assert_eq!(members(&found), [[8], [9]], "{found:#?}");
    // In a history, the commits 8 and 9 do not build.
    let change = |set: &[usize]| match set.len() {
        9 | 10 => None,
        n => Some(if n > 8 { PERCENT } else { 0 }),
    };
    let mut boots = made(change, 500_000.0, Scatter::Normal, 3);
    let found = ordered(&mut boots, 32, &exact(), &mut |_| ()).unwrap();
    assert_eq!(members(&found), [[8, 9, 10]]);
    assert!(found.unbootable.0 > 0);
}

#[test]
fn many_small_changes_are_no_culprit() {
    let change = |set: &[usize]| Some(set.len() as i64 * PERCENT / 8);
    let mut boots = made(change, 500_000.0, Scatter::Normal, 3);
    let found = sets(&mut boots, 64, &exact(), &mut |_| ()).unwrap();
    assert!(
        matches!(found.outcome, Outcome::Unconfirmed { .. }),
        "{found:#?}"
    );
}

/// What the answer says of its own error holds: with 1 % accepted, at most 2 of 200 are wrong.
#[test]
fn a_step_in_a_history_is_found_in_noise_as_often_as_stated() {
    for (scatter, deviation) in [
        (Scatter::Normal, 10_000_000.0),
        (Scatter::Exponential, 10_000_000.0),
        (Scatter::Outliers, 5_000_000.0),
    ] {
        let (mut wrong, mut unsure, mut boots_taken) = (0, 0, 0);
        for seed in 0..200 {
            let culprit = (seed as usize * 37 + 5) % 100;
            // Two to four deviations.
            let change = |set: &[usize]| Some(if set.len() > culprit { 2 * PERCENT } else { 0 });
            let mut boots = made(change, deviation, scatter, seed);
            let found = ordered(&mut boots, 100, &real(), &mut |_| ()).unwrap();
            boots_taken += found.boots;
            match members(&found).as_slice() {
                [one] if *one == [culprit] => {}
                [] => unsure += 1,
                _ => wrong += 1,
            }
        }
        eprintln!(
            "one of 100 commits, {scatter:?}: {wrong} of 200 wrong, {unsure} not found, {} boots \
             on average",
            boots_taken / 200
        );
        assert!(wrong <= 2, "{scatter:?}: {wrong}");
        assert!(unsure <= 10, "{scatter:?}: {unsure}");
    }
}

/// The change of a set: each rule adds its size if all its members are there.
fn sum(rules: &[(Vec<usize>, i64)], set: &[usize]) -> i64 {
    let holds = |rule: &&(Vec<usize>, i64)| rule.0.iter().all(|m| set.contains(m));
    rules.iter().filter(holds).map(|r| r.1).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// Against brute force: what is found gives the whole change, and no smaller part of it
    /// does.
    #[test]
    fn what_is_found_is_a_smallest_set(
        rules in prop::collection::vec((prop::collection::btree_set(0..9_usize, 1..4), 1..4_i64), 1..3),
        seed in 0..1_000_u64,
    ) {
        let rules: Vec<(Vec<usize>, i64)> = rules
            .into_iter()
            .map(|(set, size)| (set.into_iter().collect(), size * PERCENT))
            .collect();
        let change = |set: &[usize]| Some(sum(&rules, set));
        let mut boots = made(change, 100_000.0, Scatter::Normal, seed);
        let found = sets(&mut boots, 9, &exact(), &mut |_| ()).unwrap();
        let whole = sum(&rules, &[0, 1, 2, 3, 4, 5, 6, 7, 8]);
        let culprits: Vec<usize> = members(&found).concat();
        prop_assert!(!culprits.is_empty(), "{:?}", found.outcome);
        prop_assert_eq!(sum(&rules, &culprits), whole);
        for bits in 0..(1_u32 << culprits.len()) - 1 {
            let part: Vec<usize> = (0..culprits.len())
                .filter(|i| bits & (1 << i) != 0)
                .map(|i| culprits[i])
                .collect();
            prop_assert!(sum(&rules, &part) < whole, "{:?} of {:?}", part, culprits);
        }
    }
}
