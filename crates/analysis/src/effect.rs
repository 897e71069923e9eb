//! Whether a change of an exact boot is more than an innocent one.

use record::Nanos;

/// What became of first light.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// It came earlier than innocent changes explain.
    Faster,
    /// It came later than innocent changes explain.
    Slower,
    /// Innocent changes move it as much.
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
    /// How far innocent perturbations alone move first light: the larger of
    /// the two ensembles' ranges (largest minus smallest).
    pub spread: Nanos,
    /// What that means.
    pub verdict: Verdict,
    /// An ensemble has one boot only, so the spread is not known (it is given
    /// as that of the other one, or 0), and the verdict is the bare sign.
    pub unperturbed: bool,
}

/// The effect of a change on exact boots; `None` if an ensemble is empty.
///
/// An exact boot repeats to the nanosecond, so there is no noise to average
/// out. But an innocent change, such as one unused word on the kernel command
/// line, moves a boot by whole timer ticks. `base` and `variant` are therefore
/// ensembles of boots under the same innocent perturbations. A difference is
/// called real only if the ranges of the two do not overlap *and* the medians
/// are further apart than either range is wide. With one boot each, the
/// difference is a fact about these two boots, and no more: `unperturbed`.
#[must_use]
pub fn effect(base: &[Nanos], variant: &[Nanos]) -> Option<Effect> {
    let delta = median(variant)? - median(base)?;
    let (base_min, base_max) = range(base)?;
    let (variant_min, variant_max) = range(variant)?;
    let spread = (base_max - base_min).max(variant_max - variant_min);
    let apart = variant_max < base_min || base_max < variant_min;
    let unperturbed = base.len() < 2 || variant.len() < 2;
    let verdict = match delta {
        _ if !apart || delta.abs() <= spread => Verdict::NoDifference,
        Nanos(ns) if ns < 0 => Verdict::Faster,
        _ => Verdict::Slower,
    };
    Some(Effect {
        delta,
        spread,
        verdict,
        unperturbed,
    })
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
