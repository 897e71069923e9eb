//! How probable it is by chance that two levels explain so much, if a series has one.

use super::normal::{density, tail};
use super::strength::{LEAST, strength};
use crate::statistics::Chance;

/// How many permutations of few points are drawn, and what the sequence of chance begins with.
const DRAWS: u32 = 10_000;
const SEED: u64 = 27;
/// After so many that are as strong as what was seen, no more are drawn.
const ENOUGH: u32 = 100;
const LEAST_PERMUTED: f64 = 1.0 / (DRAWS as f64 + 1.0);

/// The approximations behind p are too careful where no permutations are drawn, and more so of
/// fewer points. With this part of it, which grows in proportion to the points between these
/// numbers of them, fewer than 1 in 100 simulated histories of one level have a false alarm.
/// Chances that are neither large nor small are computed by series that are drawn instead.
const CAREFUL: f64 = 0.4;
const CAREFUL_FROM: f64 = 72.0;
const CAREFUL_TO: f64 = 180.0;

/// The part of the approximated chance that counts, for so many points.
pub(super) fn careful(count: usize) -> f64 {
    CAREFUL * (count as f64).clamp(CAREFUL_FROM, CAREFUL_TO) / CAREFUL_TO
}

/// The chance of the strongest of few scores.
pub(super) fn few(scores: &[f64], places: &[usize], squared: f64) -> f64 {
    match permuted(scores, places, squared) {
        // Beyond what so many permutations can say.
        p if p <= LEAST_PERMUTED => {
            let z = strength(squared, scores.len()).max(0.0).sqrt();
            p.min(chance(z, scores.len(), places.len()))
        }
        p => p,
    }
}

/// How probable it is that the largest of the sums at all places is at least `z`:
/// Siegmund's approximation (1985) for a Brownian bridge, or the sum over the places if
/// that is less.
pub(super) fn chance(z: f64, count: usize, places: usize) -> f64 {
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
