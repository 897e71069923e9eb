//! Whether a change of an exact boot exceeds neutral perturbations.

use record::Nanos;

/// What became of first light.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// It came earlier than neutral perturbations explain.
    Faster,
    /// It came later than neutral perturbations explain.
    Slower,
    /// Neutral perturbations move it as much.
    NoDifference,
}

impl Verdict {
    /// The word used in every output: `faster`, `slower` or `no_difference`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::NoDifference => "no_difference",
        }
    }
}

/// The effect of a change, from two ensembles of exact boots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The variant's median minus the base's: negative is faster.
    pub delta: Nanos,
    /// How much neutral perturbations alone move first light: the larger of
    /// the two ensembles' ranges (largest minus smallest).
    pub spread: Nanos,
    /// The least difference that counts: the spread times the [`margin`] of so many
    /// boots.
    pub least: Nanos,
    /// What that means.
    pub verdict: Verdict,
    /// An ensemble has one boot only, so the spread is not known (it is given
    /// as that of the other one, or 0), and the verdict is the bare sign.
    pub unperturbed: bool,
}

/// The effect of a change on exact boots; `None` if an ensemble is empty.
///
/// An exact boot repeats to the nanosecond, so there is no noise to average
/// out. But a neutral perturbation, such as one unused kernel parameter, moves a
/// boot by whole timer ticks. `base` and `variant` are therefore ensembles of
/// boots under the same neutral perturbations. A difference is called real only if
/// the two ranges do not overlap *and* the medians differ by more than [`margin`]
/// times the wider range. With one boot each,
/// the difference is a fact about these two boots, and no more: `unperturbed`.
#[must_use]
pub fn effect(base: &[Nanos], variant: &[Nanos]) -> Option<Effect> {
    let delta = median(variant)? - median(base)?;
    let (base_min, base_max) = range(base)?;
    let (variant_min, variant_max) = range(variant)?;
    let spread = (base_max - base_min).max(variant_max - variant_min);
    let apart = variant_max < base_min || base_max < variant_min;
    let unperturbed = base.len() < 2 || variant.len() < 2;
    let least = times(spread, margin(base.len().min(variant.len())));
    let verdict = match delta {
        _ if !apart || delta.abs() <= least => Verdict::NoDifference,
        Nanos(ns) if ns < 0 => Verdict::Faster,
        _ => Verdict::Slower,
    };
    Some(Effect {
        delta,
        spread,
        least,
        verdict,
        unperturbed,
    })
}

/// By how many spreads two ensembles of `boots` each must differ, so that at most one
/// pair of identical variants in a hundred is called different.
///
/// Few boots often miss the extremes of neutral perturbations, so the spread comes out
/// too small. With five or more boots each, the ranges of two identical ensembles are
/// disjoint in 2 of 252 cases, whatever the distribution. Fewer boots need a margin that
/// depends on the distribution. These margins are for the uniform one, which needs more
/// than the others that the tests draw from (a normal one needs 5.4, 1.7 and 0.97).
/// No margin helps where boots form clusters, as those that miss a timer tick do: each
/// ensemble may fall into one cluster and have hardly any spread. With two equal
/// clusters this happens to 12.5 % of the pairs of two boots each, 3.1 % of three and
/// 0.8 % of four. (With three equidistant clusters, 1.3 % of the pairs of four are called
/// different.) So the default ensemble has four boots, and five suit any distribution.
#[must_use]
pub const fn margin(boots: usize) -> f64 {
    match boots {
        0..=1 => 1.0,
        2 => 7.9,
        3 => 2.1,
        4 => 1.25,
        _ => 1.0,
    }
}

fn times(spread: Nanos, margin: f64) -> Nanos {
    Nanos((spread.get() as f64 * margin) as i64)
}

/// The median: the middle value, or the mean of the two middle ones, rounded
/// towards zero; `None` of nothing.
#[must_use]
pub fn median(values: &[Nanos]) -> Option<Nanos> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = *sorted.get(sorted.len() / 2 - 1)?;
    let mean = (i128::from(lower.0) + i128::from(upper.0)) / 2;
    Some(Nanos(i64::try_from(mean).unwrap_or(upper.0)))
}

/// The smallest and the largest value; `None` of nothing.
#[must_use]
pub fn range(values: &[Nanos]) -> Option<(Nanos, Nanos)> {
    Some((*values.iter().min()?, *values.iter().max()?))
}
