//! Several boots of one system, and several after a change: how much each time
//! varies from boot to boot, and which times the change moved.
//!
//! Times are compared by what they are, not by when they come: a phase by its
//! length, a milestone by how long after the start of its phase it comes, an item
//! by how long it takes. So what happens in one phase moves no number of another.

mod allowance;
mod distribution;
mod gate;
mod kind;
mod part;
mod times;
mod work;

pub use allowance::{Allowance, Budget, BudgetVerdict, Budgeted};
pub use distribution::Distribution;
pub(crate) use gate::ALLOW;
pub use gate::{Gate, GateCompared, GateError, GateParts, GateQuestion, GateVerdict, gate};
pub use kind::TimeKind;
pub use part::Part;
pub use times::BootTimes;
pub use work::{WORK_OF_UNITS, WORK_TRACED};

use crate::effect::{Effect, Verdict, effect};
use crate::statistics::{Judgement, SampleEffect, sample_effect};
use record::{ClockKind, Nanos};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use times::Key;

/// Several boots, and several others.
#[derive(Clone, Debug, PartialEq)]
pub struct Boots {
    /// What their clocks count; `None` for tables, which do not say.
    pub clock: Option<ClockKind>,
    /// The marks at time zero of the boots; more than one means that first light is not
    /// the same stretch in all of them.
    pub zeros: BTreeSet<String>,
    /// How many boots there are.
    pub boots: usize,
    /// How many others they are compared with; `None` if with none.
    pub against: Option<usize>,
    /// First light, phases, columns, milestones, in this order.
    pub times: Vec<BootsTime>,
    /// Items that took time. With others to compare: those that only one side has or
    /// whose ranges are apart first, the largest difference first. Else by how far
    /// they vary.
    pub items: Vec<BootsTime>,
}

/// A time that several boots have.
#[derive(Clone, Debug, PartialEq)]
pub struct BootsTime {
    /// What kind of time.
    pub kind: TimeKind,
    /// Of what: a phase, a mark, an item, as the first boot that has it calls it.
    pub name: String,
    /// Over the boots; `None` if none has it.
    pub base: Option<Distribution>,
    /// Over the others; `None` if none has it.
    pub against: Option<Distribution>,
    /// What became of it, where both sides have it. Of items, only where the ranges are
    /// apart: the others did not change by more than they vary.
    pub change: Option<BootsChange>,
    /// Its name without what changes from boot to boot.
    stable: String,
    /// What the boots of both sides have of it.
    values: [Vec<Nanos>; 2],
}

/// What became of a time from some boots to others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BootsChange {
    /// The difference of the medians: negative is faster.
    pub delta: Nanos,
    /// The difference of the means, which one odd boot moves.
    pub mean_delta: Nanos,
    /// Whether it counts.
    pub verdict: Verdict,
    /// Why it does or does not.
    pub judged: Judged,
}

/// How a difference was judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Judged {
    /// Exact boots: by how much neutral perturbations move them.
    Exact(Effect),
    /// Boots in real time: by chance.
    Sample(SampleEffect),
}

/// Why boots cannot be taken together. Boots are counted from 1, over both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BootsError {
    /// One is in virtual time, the other is not.
    #[error(
        "boot {first} is in virtual time but boot {other} is not; virtual time counts \
         instructions and cannot be compared with real time; give only lab captures, or only \
         real boots"
    )]
    VirtualBesideReal {
        /// The one in virtual time.
        first: usize,
        /// The other one.
        other: usize,
    },
    /// One is a row of a table, the other is none.
    #[error(
        "boot {first} is a row of a table but boot {other} is not, and they have no time in \
         common; give only tables, or only captures and logs"
    )]
    TableBesideBoot {
        /// The row.
        first: usize,
        /// The other one.
        other: usize,
    },
}

/// How much the times of `boots` vary, and how they differ from those of `against`.
///
/// # Errors
/// If some boots are in virtual time or rows of tables, and others are not.
pub fn boots(boots: &[BootTimes], against: Option<&[BootTimes]>) -> Result<Boots, BootsError> {
    let all: Vec<&BootTimes> = boots.iter().chain(against.unwrap_or_default()).collect();
    let pair = |of: &dyn Fn(&BootTimes) -> Option<bool>| {
        let place = |wanted: bool| all.iter().position(|b| of(b) == Some(wanted));
        Some((place(true)? + 1, place(false)? + 1))
    };
    if let Some((first, other)) = pair(&|b| Some(b.is_row)) {
        return Err(BootsError::TableBesideBoot { first, other });
    }
    // A boot in which nothing has a time has no clock.
    if let Some((first, other)) = pair(&|b| Some(b.clock? == ClockKind::Virtual)) {
        return Err(BootsError::VirtualBesideReal { first, other });
    }
    let clock = all.iter().find_map(|b| b.clock);

    let mut found: BTreeMap<&Key, Sides<'_>> = BTreeMap::new();
    for (side, set) in [boots, against.unwrap_or_default()].into_iter().enumerate() {
        for boot in set {
            for (key, (name, time)) in &boot.times {
                let sides = found.entry(key).or_insert_with(|| Sides::named(name));
                sides.times[side].push(*time);
            }
        }
    }
    let rows = found.into_iter().map(|(key, sides)| sides.row(key, clock));
    let (items, mut times): (Vec<_>, Vec<_>) = rows.partition(|row| row.kind.is_of_item());
    // Milestones as they come; the others stand in their own order.
    times.sort_by_key(|row| (row.kind, row.first_median()));
    Ok(Boots {
        clock,
        zeros: all.iter().filter_map(|b| b.zero.clone()).collect(),
        boots: boots.len(),
        against: against.map(<[_]>::len),
        times,
        items: ordered(items, against.is_some()),
    })
}

struct Sides<'a> {
    name: &'a str,
    times: [Vec<Nanos>; 2],
}

impl<'a> Sides<'a> {
    const fn named(name: &'a str) -> Self {
        let times = [Vec::new(), Vec::new()];
        Self { name, times }
    }

    fn row(self, (kind, stable, _): &Key, clock: Option<ClockKind>) -> BootsTime {
        let [base, against] = &self.times;
        let mut row = BootsTime {
            kind: *kind,
            name: self.name.to_owned(),
            base: Distribution::of(base),
            against: Distribution::of(against),
            change: None,
            stable: stable.clone(),
            values: self.times,
        };
        // There are thousands of items, and to judge one takes a millisecond.
        if row.is_apart() || !kind.is_of_item() {
            row.change = row.judged(clock, &Judgement::default());
        }
        row
    }
}

impl BootsTime {
    /// What became of it; `None` where a side has it not.
    fn judged(&self, clock: Option<ClockKind>, judgement: &Judgement) -> Option<BootsChange> {
        let [base, against] = &self.values;
        let bare = effect(base, against)?;
        let (verdict, judged) = match clock {
            Some(ClockKind::Virtual) => (bare.verdict, Judged::Exact(bare)),
            _ => {
                let sample = sample_effect(base, against, judgement)?;
                (sample.verdict, Judged::Sample(sample))
            }
        };
        let (a, b) = (self.base.as_ref()?, self.against.as_ref()?);
        Some(BootsChange {
            delta: bare.delta,
            mean_delta: b.mean - a.mean,
            verdict,
            judged,
        })
    }

    /// What it is called on the screen: first light, whatever its mark.
    #[must_use]
    pub fn label(&self) -> &str {
        match self.kind {
            TimeKind::FirstLight => "first light",
            _ => &self.name,
        }
    }

    /// Whether somebody means it by this name.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        [self.label(), &self.name, &self.stable].contains(&name)
    }

    /// By how much an exact one has to change to be seen; `None` where a side has it not.
    fn least(&self) -> Option<Nanos> {
        let [base, against] = &self.values;
        effect(base, against).map(|e| e.least)
    }

    fn first_median(&self) -> Option<Nanos> {
        self.base
            .as_ref()
            .or(self.against.as_ref())
            .map(|d| d.median)
    }

    /// Whether the most of one side is less than the least of the other, or one side
    /// has it not at all.
    #[must_use]
    pub fn is_apart(&self) -> bool {
        let both = self.base.as_ref().zip(self.against.as_ref());
        both.is_none_or(|(a, b)| b.most < a.least || a.most < b.least)
    }

    /// The difference of the medians, with nothing counted as zero.
    #[must_use]
    pub fn delta(&self) -> Nanos {
        let of = |side: &Option<Distribution>| side.as_ref().map_or(Nanos::ZERO, |d| d.median);
        of(&self.against) - of(&self.base)
    }
}

fn ordered(mut items: Vec<BootsTime>, compared: bool) -> Vec<BootsTime> {
    let by = |item: &BootsTime| match compared {
        true => (item.is_apart(), item.delta().abs()),
        false => (
            false,
            item.base.as_ref().map_or(Nanos::ZERO, |d| d.most - d.least),
        ),
    };
    items.sort_by_cached_key(|item| (Reverse(by(item)), item.kind, item.name.clone()));
    items
}
