//! Items that differ between two sets of boots.

use super::normal::{scores, tail};
use super::series::Series;
use crate::boots::TimeKind;
use crate::effect::median;
use record::Nanos;
use std::collections::BTreeSet;

/// The most items that are named.
const MOST: usize = 10;

/// The chance at which an item differs, over all items.
const CHANCE: f64 = 0.01;

/// An item that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Differing {
    /// What kind of time.
    pub kind: TimeKind,
    /// Which one.
    pub name: String,
    /// Its median in the first set; `None` if it is in none of them.
    pub before: Option<Nanos>,
    /// Its median in the second set; `None` if it is in none of them.
    pub after: Option<Nanos>,
    /// How probable so uneven ranks are by chance (normal scores); over this item only.
    pub p: f64,
}

impl Differing {
    /// The difference of the medians, with nothing counted as zero.
    #[must_use]
    pub fn delta(&self) -> Nanos {
        self.after.unwrap_or_default() - self.before.unwrap_or_default()
    }
}

/// The items among `all`, other than `own`, that differ between the boots `first` and `second`,
/// the largest difference first.
pub(super) fn differing(
    all: &[Series],
    own: &Series,
    first: &BTreeSet<usize>,
    second: &BTreeSet<usize>,
) -> Vec<Differing> {
    let allowed = CHANCE / all.len().max(1) as f64;
    let mut found: Vec<Differing> = all
        .iter()
        .filter(|s| (s.kind, &s.name) != (own.kind, &own.name))
        // Work is explained by work.
        .filter(|s| s.kind.is_work() || !own.kind.is_work())
        .filter_map(|s| of_one(s, first, second))
        .filter(|d| d.p <= allowed)
        .collect();
    found.sort_by(|a, b| {
        let size = b.delta().abs().cmp(&a.delta().abs());
        size.then_with(|| a.name.cmp(&b.name))
    });
    found.truncate(MOST);
    found
}

fn of_one(series: &Series, first: &BTreeSet<usize>, second: &BTreeSet<usize>) -> Option<Differing> {
    let of = |set: &BTreeSet<usize>| {
        let points = series.points.iter().filter(|p| set.contains(&p.0));
        points.map(|p| p.1).collect::<Vec<Nanos>>()
    };
    let (a, b) = (of(first), of(second));
    let (before, after) = (median(&a), median(&b));
    let p = match (a.len(), b.len()) {
        (0, 0) => return None,
        // New or gone: how probable it is that only boots of one set have it.
        (0, n) => in_all(n, first.len(), second.len()),
        (n, 0) => in_all(n, second.len(), first.len()),
        _ => uneven(&a, &b)?,
    };
    let (kind, name) = (series.kind, series.name.clone());
    Some(Differing {
        kind,
        name,
        before,
        after,
        p,
    })
}

/// How probable it is that all of `have` boots are among `there`, and none among `absent`.
fn in_all(have: usize, absent: usize, there: usize) -> f64 {
    let draws = (0..have).map(|i| {
        let left = there.saturating_sub(i) as f64;
        left / (left + absent as f64).max(1.0)
    });
    draws.product()
}

/// How probable so uneven normal scores of two samples are by chance.
fn uneven(a: &[Nanos], b: &[Nanos]) -> Option<f64> {
    let all: Vec<Nanos> = a.iter().chain(b).copied().collect();
    let scores = scores(&all)?;
    let sum: f64 = scores.iter().take(a.len()).sum();
    let (n, m) = (all.len() as f64, a.len() as f64);
    let squared = sum * sum * (n - 1.0) / (m * (n - m));
    let ratio = (squared / (n - 1.0)).min(1.0 - 1e-12);
    let strength = -(n - 2.0).max(1.0) * (1.0 - ratio).ln();
    Some((2.0 * tail(strength.sqrt())).min(1.0))
}
