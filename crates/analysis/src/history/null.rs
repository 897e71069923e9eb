//! How strong the strongest change seems in series that have none, but drift and remember as a
//! given one does: a parametric bootstrap (Efron and Tibshirani, 1993, section 16.4).
//!
//! What a step has to explain depends on the drift beside it: a line of a middling slope looks
//! most like a step, and no slope is as rare as a flat one. So no one threshold keeps the chance
//! of a false alarm for all of them.

use super::normal::scores;
use super::strength::{MOST_MEMORY, Memory, Slope, squares_of_line, two_levels};
use crate::statistics::Chance;
use record::Nanos;

/// What the sequence of chance begins with.
const SEED: u64 = 27;

/// How many series are drawn: the fewer the longer they are.
const POINTS_DRAWN: usize = 200_000;
const LEAST_DRAWN: usize = 300;
const MOST_DRAWN: usize = 1_000;

/// The part of them whose strength is beyond what is read off. A larger strength is rarer by as
/// much as the approximation says.
const READ_OFF: f64 = 0.05;

/// A shorter series drifts by no more than a deviation over so many boots, and less in
/// proportion: what is steeper looks like a step there, and would hide all steps.
const LONG: usize = 200;

/// A line may be so many standard errors steeper than it seems: in 95 of 100 cases it is not.
const ALLOWED: f64 = 1.64;

/// By how much the estimate of the memory is too small, in a series of one point.
const TOO_SMALL: f64 = 3.0;

/// A series of one level that may drift.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Null {
    /// By how many deviations each point is above the one before.
    slope: f64,
    /// What neighbors have in common.
    memory: Memory,
    /// What is known of that, whatever the points say.
    least: Memory,
    /// The number of points.
    count: usize,
}

impl Null {
    /// The one that explains `scores` best, but as steep as they allow. Its memory is known to be
    /// at `least` so much.
    pub(super) fn of(scores: &[f64], memory: Memory, least: Memory) -> Self {
        let (count, n) = (scores.len(), scores.len() as f64);
        let slope = Slope::of(scores);
        let left = (1.0 - slope.squared / (n - 1.0)).max(1e-3).sqrt();
        let error = (memory.inflation() / squares_of_line(count)).sqrt();
        let steep = slope.each.abs() / left + ALLOWED * error;
        let long = LONG as f64;
        Self {
            slope: match count < LONG {
                true => steep.min(n / (long * long)),
                false => steep,
            },
            memory: Memory {
                part: (memory.part + TOO_SMALL / n).min(MOST_MEMORY),
            },
            least,
            count,
        }
    }

    /// How probable it is that a change in such a series is at least of this `strength`. What
    /// is `approximate` says how the chance ends beyond what can be drawn.
    pub(super) fn chance(
        self,
        strength: f64,
        places: &[usize],
        approximate: impl Fn(f64) -> f64,
    ) -> f64 {
        let draws = (POINTS_DRAWN / self.count.max(1)).clamp(LEAST_DRAWN, MOST_DRAWN);
        let beyond = (draws as f64 * READ_OFF) as usize;
        let ordered: Vec<Nanos> = (0..self.count as i64).map(Nanos).collect();
        let Some(ordered) = scores(&ordered) else {
            return 1.0;
        };
        let least = self.least;
        let mut chance = Chance(SEED);
        let mut strengths = Vec::with_capacity(draws);
        let mut reached = 0;
        for draw in 1..=draws {
            let series = self.draw(&ordered, &mut chance);
            let drawn = two_levels(&series, places, least).map_or(0.0, |found| found.strength);
            reached += usize::from(drawn >= strength);
            if reached > beyond {
                return reached as f64 / draw as f64;
            }
            strengths.push(drawn);
        }
        strengths.sort_unstable_by(|a, b| b.total_cmp(a));
        let read_off = strengths.get(beyond.saturating_sub(1)).copied();
        let read_off = read_off.unwrap_or(strength).min(strength);
        beyond as f64 / draws as f64 * approximate(strength) / approximate(read_off).max(1e-300)
    }

    /// The scores of a series drawn anew; `ordered` are those of a rising one.
    fn draw(&self, ordered: &[f64], chance: &mut Chance) -> Vec<f64> {
        let part = self.memory.part;
        let fresh = (1.0 - part * part).sqrt();
        let mut before = None;
        let mut ranked: Vec<(f64, usize)> = Vec::with_capacity(self.count + 1);
        while ranked.len() < self.count {
            let (first, second) = two_normal(chance);
            for normal in [first, second] {
                let at = ranked.len();
                let noise = before.map_or(normal, |before| part * before + fresh * normal);
                before = Some(noise);
                ranked.push((noise + self.slope * at as f64, at));
            }
        }
        ranked.truncate(self.count);
        ranked.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut series = vec![0.0; self.count];
        for ((_, at), score) in ranked.into_iter().zip(ordered) {
            if let Some(place) = series.get_mut(at) {
                *place = *score;
            }
        }
        series
    }
}

/// Two standard normal numbers (Box and Muller, 1958).
fn two_normal(chance: &mut Chance) -> (f64, f64) {
    let mut number = || (chance.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    let distance = (-2.0 * (1.0 - number()).ln()).sqrt();
    let (sine, cosine) = (2.0 * std::f64::consts::PI * number()).sin_cos();
    (distance * cosine, distance * sine)
}

#[cfg(test)]
mod tests {
    use super::Null;
    use crate::history::normal::scores;
    use crate::history::strength::Memory;
    use crate::statistics::Chance;
    use record::Nanos;

    fn null(slope: f64, part: f64) -> Null {
        Null {
            slope,
            memory: Memory { part },
            least: Memory::NONE,
            count: 120,
        }
    }

    #[test]
    fn what_is_drawn_drifts_and_remembers() {
        let ordered: Vec<Nanos> = (0..120).map(Nanos).collect();
        let ordered = scores(&ordered).unwrap();
        let mut chance = Chance(3);
        let mut drawn = |slope: f64, part: f64| {
            let all = (0..200).map(|_| null(slope, part).draw(&ordered, &mut chance));
            let (mut products, mut ends) = (0.0, 0.0);
            for series in all {
                let mut sorted = series.clone();
                sorted.sort_unstable_by(f64::total_cmp);
                assert_eq!(sorted, ordered);
                products += series.windows(2).map(|w| w[0] * w[1]).sum::<f64>();
                ends += series[60..].iter().sum::<f64>() - series[..60].iter().sum::<f64>();
            }
            (products / (200.0 * 119.0), ends / (200.0 * 60.0))
        };
        let (flat, level) = drawn(0.0, 0.0);
        assert!(flat.abs() < 0.02 && level.abs() < 0.05, "{flat} {level}");
        let (remembers, _) = drawn(0.0, 0.5);
        assert!((0.44..0.52).contains(&remembers), "{remembers}");
        // A deviation over 120 boots: its halves are half a deviation apart, of a scatter that is
        // wider by the drift.
        let (_, drifts) = drawn(1.0 / 120.0, 0.0);
        assert!((0.43..0.53).contains(&drifts), "{drifts}");
    }

    #[test]
    fn a_drift_and_memory_make_a_strong_change_more_probable() {
        let places: Vec<usize> = (5..=115).collect();
        let chance = |slope: f64, strength: f64| {
            let approximate = |strength: f64| (-strength / 2.0).exp();
            null(slope, 0.0).chance(strength, &places, approximate)
        };
        let (weak, strong) = (chance(0.0, 4.0), chance(0.0, 14.0));
        assert!(strong < 0.02 && strong < weak, "{weak} {strong}");
        let drifting = chance(1.5 / 120.0, 14.0);
        assert!(drifting > 2.0 * strong, "{strong} {drifting}");
        let remembering = null(0.0, 0.6).chance(14.0, &places, |s| (-s / 2.0).exp());
        assert!(remembering > strong, "{strong} {remembering}");
    }
}
