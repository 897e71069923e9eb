//! The step in a chain of sets, each of which has the one before and one difference more.

use crate::boots::{Bench, Boots};
use crate::levels::Levels;
use std::collections::BTreeSet;

/// Where the step of a chain is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The last place on the low side.
    pub low: usize,
    /// The first place on the high side. Places between cannot be judged.
    pub high: usize,
}

/// So many neighbors of a set that cannot be judged are tried.
const NEIGHBORS: usize = 8;

/// The set of `base` and the first `k` of `order`.
pub fn prefix(base: &[usize], order: &[usize], k: usize) -> Vec<usize> {
    let all = base.iter().chain(order.iter().take(k));
    let sorted: BTreeSet<usize> = all.copied().collect();
    sorted.into_iter().collect()
}

/// What a set that cannot be judged means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unbootable {
    /// Nothing: its neighbors are asked.
    Nothing,
    /// It lacks what it needs: it is on the low side, as the beginning of the chain is.
    Low,
}

/// Bisects the chain from `base` to `base` with all of `order` between `levels`, with this
/// probability of error of each decision.
pub fn step<B: Boots>(
    bench: &mut Bench<'_, B>,
    base: &[usize],
    order: &[usize],
    levels: &Levels,
    (error, unbootable): (f64, Unbootable),
) -> Result<Step, B::Error> {
    let (mut low, mut high) = (0, order.len());
    while high - low > 1 {
        bench.open(high - low);
        let middle = low + (high - low) / 2;
        // What cannot be judged is passed by on both sides.
        let offsets = (0..=NEIGHBORS / 2).flat_map(|d| [(d, true), (d, false)]);
        let near = offsets.skip(1).filter_map(|(d, up)| match up {
            true => Some(middle + d).filter(|k| *k < high),
            false => middle.checked_sub(d).filter(|k| *k > low),
        });
        let places: Vec<usize> = near.collect();
        let mut judged = None;
        for place in places {
            let set = prefix(base, order, place);
            judged = match (bench.is_high(&set, levels, error)?, unbootable) {
                (Some(is_high), _) => Some((place, is_high)),
                (None, Unbootable::Low) => Some((place, false)),
                (None, Unbootable::Nothing) => continue,
            };
            break;
        }
        match judged {
            Some((place, true)) => high = place,
            Some((place, false)) => low = place,
            None => break,
        }
    }
    Ok(Step { low, high })
}
