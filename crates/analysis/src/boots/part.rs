//! Parts of items' times that a busy order of processes hardly moves, and how exact boots are
//! judged by them.

use super::kind::TimeKind;
use crate::effect::{Effect, Verdict, effect};
use crate::row::BlameKind;
use record::Nanos;

/// How many times as far as a time the waits of an item have to differ before they count. A boot
/// has some thirty processes whose waits are moved as far as first light, and each may fall apart
/// by chance.
const WAITS_APART: i64 = 3;

/// A part of the times of items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Processor time, of processes or units.
    Work,
    /// How long processes waited that ended before first light.
    Wait,
}

impl Part {
    /// What it is called.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Work => "work",
            Self::Wait => "waits",
        }
    }

    /// How many boots of each side it takes. Waits often have few lengths, and fewer boots may all
    /// have the same one by chance: of 200 boots without a change, one pair of two a side in ten
    /// was called different (`experiments/resolution-work`).
    pub(crate) const fn fewest(self) -> usize {
        match self {
            Self::Work => 2,
            Self::Wait => 4,
        }
    }

    /// Whose it is: the first kind that both sides have is judged.
    pub(crate) const fn kinds(self) -> &'static [TimeKind] {
        match self {
            Self::Work => &[
                TimeKind::WorkOf(BlameKind::Process),
                TimeKind::WorkOf(BlameKind::Unit),
            ],
            Self::Wait => &[TimeKind::WaitOf(BlameKind::Process)],
        }
    }

    /// The difference of the medians of one item, if neutral perturbations do not explain it.
    pub(crate) fn changed(self, base: &[Nanos], new: &[Nanos]) -> Option<Nanos> {
        let Effect {
            delta,
            least,
            verdict,
            ..
        } = effect(base, new)?;
        let counts = verdict != Verdict::NoDifference && delta.abs() > self.least(least);
        counts.then_some(delta)
    }

    /// By how much an item has to change to be seen, of which a time would have to change by
    /// `least`.
    pub(crate) const fn least(self, least: Nanos) -> Nanos {
        match self {
            Self::Work => least,
            Self::Wait => Nanos(least.get().saturating_mul(WAITS_APART)),
        }
    }

    /// What changes of items come to: work adds up; of waits the largest counts, since who
    /// starts a process waits as long as it does.
    pub(crate) fn total(self, deltas: impl Iterator<Item = Nanos>) -> Nanos {
        match self {
            Self::Work => deltas.fold(Nanos::ZERO, |sum, delta| sum + delta),
            Self::Wait => deltas.max_by_key(|d| d.abs()).unwrap_or(Nanos::ZERO),
        }
    }
}
