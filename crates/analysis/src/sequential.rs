//! Looking at boots while they are made, without finding what is not there.
//!
//! Boots of a board are dear, so a comparison stops when its answer is known. Whoever
//! looks often enough sees a difference between equal samples some day. So there are few
//! looks, at sizes that are fixed before the first boot, and all of them together, over
//! all variants, may err once in a hundred runs: each look of each variant gets an equal
//! part of that (Bonferroni, which holds whatever the looks have in common).

use crate::effect::{Verdict, median};
use crate::statistics::{
    Judgement, SampleEffect, interval_of_difference, least_chance, median_deviation,
    permutation_test, sample_effect,
};
use record::Nanos;

/// The sizes of the first looks, in boots of each variant. Fewer than eight boots each
/// cannot be as improbable as a look demands.
const LOOKS: [usize; 9] = [8, 14, 24, 40, 70, 120, 200, 340, 580];

/// How often a true effect of the size that was asked for is found.
const POWER: f64 = 0.95;

/// A normal distribution's deviation, in its median absolute deviations.
const NORMAL: f64 = 1.482_6;

/// The plan of a run: fixed before its first boot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Looks {
    /// How many variants are compared with the baseline.
    pub variants: usize,
    /// The most boots that each variant gets.
    pub most: usize,
    /// The least difference that counts, as a part of the baseline.
    pub minimum_effect: f64,
    /// How probable one false alarm in the whole run may be.
    pub significance: f64,
    /// How often samples are drawn anew for an interval.
    pub draws: u32,
}

impl Looks {
    /// The plan for `variants` with at most `most` boots each, with one false alarm in a
    /// hundred runs.
    #[must_use]
    pub fn new(variants: usize, most: usize, minimum_effect: f64) -> Self {
        Self {
            variants,
            most,
            minimum_effect,
            significance: 0.01,
            draws: Judgement::default().draws,
        }
    }

    /// After how many boots each the samples are looked at.
    #[must_use]
    pub fn looks(&self) -> Vec<usize> {
        let before = LOOKS.into_iter().filter(|n| *n < self.most);
        before.chain([self.most]).collect()
    }

    /// The largest probability of chance at which one look at one variant counts.
    #[must_use]
    pub fn level(&self) -> f64 {
        self.significance / (self.looks().len() * self.variants.max(1)) as f64
    }

    /// What is known of two samples, in the order in which they were booted: the answer
    /// of the first look that has one. `None` if a sample is empty.
    #[must_use]
    pub fn answer(&self, base: &[Nanos], variant: &[Nanos]) -> Option<Answer> {
        let booted = base.len().min(variant.len());
        let judgement = Judgement {
            draws: self.draws,
            minimum_effect: self.minimum_effect,
            significance: self.level(),
            ..Judgement::default()
        };
        for look in self.looks().into_iter().filter(|n| *n <= booted) {
            let (base, variant) = (base.get(..look)?, variant.get(..look)?);
            if let Some(verdict) = self.look(base, variant, &judgement) {
                let effect = sample_effect(base, variant, &judgement)?;
                return Some(Answer {
                    verdict: Some(verdict),
                    boots: look,
                    effect,
                });
            }
        }
        // Everything was booted and nothing was found, although it could have been.
        let over = booted >= self.most && least_chance(booted, booted) <= self.level();
        Some(Answer {
            verdict: over.then_some(Verdict::NoDifference),
            boots: booted,
            effect: sample_effect(base, variant, &judgement)?,
        })
    }

    /// What one look says, if it says something.
    fn look(&self, base: &[Nanos], variant: &[Nanos], judgement: &Judgement) -> Option<Verdict> {
        // Ranks are cheap, intervals are not.
        if permutation_test(base, variant, judgement)? <= judgement.significance {
            let verdict = sample_effect(base, variant, judgement)?.verdict;
            if verdict != Verdict::NoDifference {
                return Some(verdict);
            }
        }
        let least = median(base)?.get() as f64 * self.minimum_effect;
        let (low, high) = interval_of_difference(base, variant, judgement, judgement.significance)?;
        let small = low.get() as f64 > -least && (high.get() as f64) < least;
        small.then_some(Verdict::NoDifference)
    }

    /// How many boots of each variant show an effect of this part of the baseline in 95
    /// of 100 runs, where boots scatter by `scatter`, another part of it. It is the size
    /// of a look; beyond the last one it grows as the looks do.
    #[must_use]
    pub fn boots_needed(&self, scatter: f64, effect: f64) -> usize {
        if effect <= 0.0 {
            return usize::MAX;
        }
        let ratio = (scatter / effect).powi(2);
        // The rank test at its level; the asymptotic efficiency of ranks is 0.955. The
        // interval of medians beyond zero, and the medians beyond the least difference;
        // the efficiency of medians is 2/pi.
        let power = quantile(POWER);
        let ranks = (quantile(1.0 - self.level() / 2.0) + power).powi(2) / 0.955;
        let medians = std::f64::consts::FRAC_PI_2;
        let interval = (quantile(0.975) + power).powi(2) * medians;
        let room = (1.0 - self.minimum_effect / effect).max(0.0);
        let floor = match room > 0.0 {
            true => (power / room).powi(2) * medians,
            false => return usize::MAX,
        };
        let least = 2.0 * ratio * ranks.max(interval).max(floor);
        let mut look = LOOKS.into_iter();
        let fits = |n: &usize| *n as f64 >= least;
        match look.find(fits) {
            Some(look) => look,
            None => least.ceil().min(1e9) as usize,
        }
    }
}

/// What is known of a variant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// What the difference means; `None`: more boots are needed to know.
    pub verdict: Option<Verdict>,
    /// How many boots of each it rests on.
    pub boots: usize,
    /// The difference.
    pub effect: SampleEffect,
}

/// How much boots scatter: their standard deviation as the median absolute deviation
/// suggests it, as a part of their median. `None` of fewer than two.
#[must_use]
pub fn scatter(samples: &[&[Nanos]]) -> Option<f64> {
    let mut distances = Vec::new();
    for sample in samples {
        let middle = median(sample)?;
        if sample.len() > 1 {
            distances.extend(sample.iter().map(|v| (*v - middle).abs()));
        }
    }
    let first = median(samples.first()?)?.get() as f64;
    let deviation = match samples {
        [one] => median_deviation(one).filter(|_| one.len() > 1)?,
        _ => median(&distances)?,
    };
    (first > 0.0).then(|| deviation.get() as f64 * NORMAL / first)
}

/// A change of boots with time that has nothing to do with variants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeDrift {
    /// From the first boot to the last, by the median slope (Theil, 1950; Sen, 1968).
    pub change: Nanos,
    /// How probable such an order of times is by chance (Mann, 1945; Kendall, 1955).
    pub p_value: f64,
}

/// Whether `boots` change with time. Each is when it began, in any unit, and how far its
/// first light was from its variant's median. `None` of fewer than eight.
#[must_use]
pub fn drift(boots: &[(u64, Nanos)]) -> Option<TimeDrift> {
    if boots.len() < 8 {
        return None;
    }
    let mut in_order = boots.to_vec();
    in_order.sort_by_key(|(at, _)| *at);
    let mut slopes = Vec::new();
    let mut score = 0_i64;
    for (i, (at, first)) in in_order.iter().enumerate() {
        for (later, second) in in_order.iter().skip(i + 1) {
            let difference = *second - *first;
            score += difference.get().signum();
            if later > at {
                slopes.push(difference.get() as f64 / (later - at) as f64);
            }
        }
    }
    slopes.sort_by(f64::total_cmp);
    let slope = slopes.get(slopes.len() / 2).copied().unwrap_or(0.0);
    let span = in_order.last()?.0.saturating_sub(in_order.first()?.0);
    let n = in_order.len() as f64;
    let variance = n * (n - 1.0) * (2.0 * n + 5.0) / 18.0;
    // One pair less, since the score moves in steps of two.
    let z = (score.unsigned_abs().saturating_sub(1)) as f64 / variance.sqrt();
    Some(TimeDrift {
        change: Nanos((slope * span as f64) as i64),
        p_value: (2.0 * (1.0 - below(z))).clamp(0.0, 1.0),
    })
}

/// The standard normal distribution, to 1.5e-7 (Abramowitz and Stegun, 7.1.26).
pub(crate) fn below(z: f64) -> f64 {
    let x = z.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let terms = [
        1.061_405_429,
        -1.453_152_027,
        1.421_413_741,
        -0.284_496_736,
        0.254_829_592,
    ];
    let sum = terms.iter().fold(0.0, |sum, term| (sum + term) * t);
    let erf = 1.0 - sum * (-x * x).exp();
    0.5 * (1.0 + erf.copysign(z))
}

/// Below which value this part of a standard normal distribution is.
fn quantile(part: f64) -> f64 {
    let (mut low, mut high) = (-8.0, 8.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        match below(middle) < part {
            true => low = middle,
            false => high = middle,
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::{Looks, below, drift, quantile, scatter};
    use crate::effect::Verdict;
    use crate::statistics::Chance;
    use record::Nanos;

    /// Twelve even numbers less six: near enough to a normal one.
    fn normal(chance: &mut Chance) -> f64 {
        let sum: f64 = (0..12).map(|_| chance.below(1 << 20) as f64).sum();
        sum / f64::from(1 << 20) - 6.0
    }

    /// Boots of 2 s, with this scatter, later by this part.
    fn boots(chance: &mut Chance, n: usize, scatter: f64, later: f64) -> Vec<Nanos> {
        let one = |c: &mut Chance| 2e9 * (1.0 + later) * (1.0 + scatter * normal(c));
        (0..n).map(|_| Nanos(one(chance) as i64)).collect()
    }

    #[test]
    fn the_normal_distribution_is_the_tables() {
        for (z, part) in [
            (0.0, 0.5),
            (1.0, 0.841_344_7),
            (1.96, 0.975_002_1),
            (-1.0, 0.158_655_3),
        ] {
            assert!((below(z) - part).abs() < 1e-6, "{z}");
        }
        assert!((quantile(0.975) - 1.959_964).abs() < 1e-4);
        assert!((quantile(0.999_5) - 3.290_527).abs() < 1e-2);
    }

    #[test]
    fn looks_end_with_the_last_boot_and_share_the_error() {
        let plan = Looks::new(3, 40, 0.0025);
        assert_eq!(plan.looks(), [8, 14, 24, 40]);
        assert!((plan.level() - 0.01 / 12.0).abs() < 1e-12);
        assert_eq!(Looks::new(1, 10, 0.0).looks(), [8, 10]);
        assert_eq!(Looks::new(1, 3, 0.0).looks(), [3]);
    }

    /// Whole runs of three variants that are all equal to the baseline, looked at as a
    /// run looks. Most of them stop early, since the difference is known to be small.
    #[test]
    fn equal_variants_are_seldom_told_apart() {
        let mut chance = Chance(11);
        let plan = Looks {
            draws: 100,
            ..Looks::new(3, 24, 0.0025)
        };
        let mut alarms = 0;
        for _ in 0..15 {
            let base = boots(&mut chance, 24, 0.003, 0.0);
            let wrong = (0..3).any(|_| {
                let variant = boots(&mut chance, 24, 0.003, 0.0);
                plan.answer(&base, &variant).unwrap().verdict != Some(Verdict::NoDifference)
            });
            alarms += u32::from(wrong);
        }
        assert!(alarms <= 1, "{alarms} of 15 runs");
    }

    #[test]
    fn a_large_effect_is_found_at_the_first_look_and_a_small_one_later() {
        let mut chance = Chance(5);
        let plan = Looks {
            draws: 500,
            ..Looks::new(1, 70, 0.0025)
        };
        let base = boots(&mut chance, 70, 0.003, 0.0);
        let large = plan
            .answer(&base, &boots(&mut chance, 70, 0.003, 0.05))
            .unwrap();
        assert_eq!((large.verdict, large.boots), (Some(Verdict::Slower), 8));
        let small = plan
            .answer(&base, &boots(&mut chance, 70, 0.003, -0.005))
            .unwrap();
        assert_eq!(small.verdict, Some(Verdict::Faster));
        assert!(small.boots < 70, "{small:?}");
        // Too few boots to know.
        let open = plan
            .answer(&base[..5], &boots(&mut chance, 5, 0.003, 0.05))
            .unwrap();
        assert_eq!(open.verdict, None);
        // Three boots each cannot tell anything, even if no more are to come.
        let few = Looks::new(1, 3, 0.0025);
        let three = [Nanos(1), Nanos(2), Nanos(3)];
        assert_eq!(
            few.answer(&three, &three.map(|t| Nanos(t.get() * 9)))
                .unwrap()
                .verdict,
            None
        );
        assert_eq!(plan.answer(&base, &[]), None);
    }

    /// The figures of a simulation of its own: scatter of 0.1, 0.3, 0.5 and 1 % need about
    /// 10, 20, 40 and 160 boots a side for half a percent.
    #[test]
    fn boots_needed_grow_with_the_square_of_the_scatter() {
        let plan = Looks::new(1, 200, 0.0025);
        let needed = [0.001, 0.003, 0.005, 0.01].map(|s| plan.boots_needed(s, 0.005));
        assert_eq!(needed, [8, 24, 70, 200]);
        assert_eq!(plan.boots_needed(0.003, 0.05), 8);
        // An effect no larger than the least that counts is found in half of all runs at
        // best.
        assert_eq!(plan.boots_needed(0.001, 0.0025), usize::MAX);
    }

    #[test]
    fn what_was_promised_is_found() {
        let mut chance = Chance(3);
        let plan = Looks {
            draws: 100,
            ..Looks::new(1, 24, 0.0025)
        };
        assert_eq!(plan.boots_needed(0.003, 0.005), 24);
        let found = (0..20).filter(|_| {
            let base = boots(&mut chance, 24, 0.003, 0.0);
            let variant = boots(&mut chance, 24, 0.003, 0.005);
            plan.answer(&base, &variant).unwrap().verdict == Some(Verdict::Slower)
        });
        let found = found.count();
        assert!(found >= 17, "{found} of 20");
    }

    /// How far boots of real boards were from their medians, in parts of ten thousand: ten
    /// boots each of four systems on a Raspberry Pi 4 to graphical.target (the tables of
    /// github.com/kartikeyblaze/rpi-boot-time-optimizations, commit c3bd42c6).
    const RECORDED: [i64; 40] = [
        -13, -140, -28, 48, 66, -2, -75, 2, 75, 20, -39, 4, -45, -57, -180, 23, 42, 79, 79, -4,
        -229, 30, -45, 55, 4, -54, 43, 21, -4, -23, -48, 46, 3, -180, 204, -12, -97, 67, 202, -3,
    ];

    /// What a simulated board is asked, and how often its answers are right.
    struct Simulated {
        /// The deviation of a normal scatter, as a part; `None`: as [`RECORDED`].
        scatter: Option<f64>,
        most: usize,
        runs: usize,
        effects: [(f64, Verdict); 4],
    }

    #[derive(Default)]
    struct Counted {
        right: usize,
        alarms: usize,
        booted: usize,
    }

    impl Simulated {
        fn boots(&self, chance: &mut Chance, later: f64) -> Vec<Nanos> {
            match self.scatter {
                Some(scatter) => boots(chance, self.most, scatter, later),
                None => (0..self.most)
                    .map(|_| {
                        let off = RECORDED[chance.below(RECORDED.len())] as f64 / 1e4;
                        // Ticks of the clock: equal values are rare on a real one.
                        let tick = chance.below(1_000) as f64;
                        Nanos((2e9 * (1.0 + later) * (1.0 + off) + tick) as i64)
                    })
                    .collect(),
            }
        }

        /// All runs, on two threads, each with chance of its own.
        fn count(&self) -> Counted {
            let part = |seed: u64, runs: usize| {
                let mut chance = Chance(seed);
                let plan = Looks {
                    draws: 500,
                    ..Looks::new(self.effects.len(), self.most, 0.0025)
                };
                let mut counted = Counted::default();
                for _ in 0..runs {
                    let base = self.boots(&mut chance, 0.0);
                    let (mut all, mut alarm) = (true, false);
                    for (effect, wanted) in self.effects {
                        let variant = self.boots(&mut chance, effect);
                        let answer = plan.answer(&base, &variant).unwrap();
                        counted.booted += answer.boots;
                        all &= answer.verdict == Some(wanted);
                        alarm |= effect == 0.0
                            && !matches!(answer.verdict, None | Some(Verdict::NoDifference));
                    }
                    counted.right += usize::from(all);
                    counted.alarms += usize::from(alarm);
                }
                counted
            };
            let halves = std::thread::scope(|scope| {
                let one = scope.spawn(|| part(2026, self.runs / 2));
                let other = part(11, self.runs - self.runs / 2);
                [one.join().unwrap(), other]
            });
            halves.into_iter().fold(Counted::default(), |a, b| Counted {
                right: a.right + b.right,
                alarms: a.alarms + b.alarms,
                booted: a.booted + b.booted,
            })
        }
    }

    /// Runs with four variants: 5 %, 1 %, 0.5 % and nothing planted, as the boots of a
    /// board with a scatter of 0.3 % are.
    #[test]
    #[ignore = "a simulation of a minute; `./x test board` runs it"]
    #[allow(clippy::print_stdout, reason = "the figures of a long test")]
    fn verdicts_are_right_in_95_of_100_runs_and_alarms_false_in_1() {
        let simulated = Simulated {
            scatter: Some(0.003),
            most: 70,
            runs: 300,
            effects: [
                (0.05, Verdict::Slower),
                (0.01, Verdict::Slower),
                (0.005, Verdict::Slower),
                (0.0, Verdict::NoDifference),
            ],
        };
        let Counted {
            right,
            alarms,
            booted,
        } = simulated.count();
        let runs = simulated.runs;
        println!("{right} of {runs} runs right, {alarms} false alarms, {booted} boots of variants");
        assert!(right * 100 >= runs * 95, "{right} of {runs}");
        assert!(alarms * 100 <= runs, "{alarms} of {runs}");
    }

    /// The same with the scatter of real boots, 0.7 %: 5 % and 1.5 % are found, and four
    /// variants that do nothing are no alarm.
    #[test]
    #[ignore = "a simulation of a minute; `./x test board` runs it"]
    #[allow(clippy::print_stdout, reason = "the figures of a long test")]
    fn the_scatter_of_recorded_boots_gives_few_false_alarms() {
        /// Of 1,000 runs with one alarm in a hundred, so many have one in 99 of 100
        /// simulations at most.
        const ALARMS: usize = 18;
        let alarms = Simulated {
            scatter: None,
            most: 24,
            runs: 1_000,
            effects: [(0.0, Verdict::NoDifference); 4],
        };
        let counted = alarms.count();
        println!(
            "{} of {} runs with a false alarm, {} boots of variants",
            counted.alarms, alarms.runs, counted.booted
        );
        assert!(counted.alarms <= ALARMS, "{}", counted.alarms);
        let found = Simulated {
            most: 40,
            runs: 300,
            effects: [
                (0.05, Verdict::Slower),
                (0.015, Verdict::Slower),
                (-0.015, Verdict::Faster),
                (-0.05, Verdict::Faster),
            ],
            ..alarms
        };
        let counted = found.count();
        println!(
            "{} of {} runs right, {} boots of variants",
            counted.right, found.runs, counted.booted
        );
        assert!(counted.right * 100 >= found.runs * 95, "{}", counted.right);
    }

    #[test]
    fn scatter_is_the_deviation_of_a_normal_sample() {
        let mut chance = Chance(9);
        let sample = boots(&mut chance, 2_000, 0.004, 0.0);
        let found = scatter(&[&sample]).unwrap();
        assert!((0.0036..0.0044).contains(&found), "{found}");
        let later = boots(&mut chance, 2_000, 0.004, 0.2);
        let both = scatter(&[&sample, &later]).unwrap();
        assert!((0.0036..0.0052).contains(&both), "{both}");
        assert_eq!(scatter(&[&sample[..1]]), None);
        assert_eq!(scatter(&[]), None);
    }

    #[test]
    fn drift_is_seen_and_noise_is_not() {
        let mut chance = Chance(2);
        let noise: Vec<(u64, Nanos)> = (0..40)
            .map(|n| (n * 10, Nanos((normal(&mut chance) * 1e6) as i64)))
            .collect();
        assert!(drift(&noise).unwrap().p_value > 0.01);
        let warm: Vec<(u64, Nanos)> = noise
            .iter()
            .map(|(at, v)| (*at, *v + Nanos(*at as i64 * 20_000)))
            .collect();
        let seen = drift(&warm).unwrap();
        assert!(seen.p_value < 1e-4, "{seen:?}");
        let change = seen.change.get() as f64 / 1e6;
        assert!((6.8..8.8).contains(&change), "{change} ms of 7.8");
        assert_eq!(drift(&noise[..5]), None);
    }
}
