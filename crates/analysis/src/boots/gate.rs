//! Whether boots got slower: the answer for a machine that builds and boots.

use super::{Boots, BootsTime, Judged};
use crate::effect::Verdict;
use record::{ClockKind, Nanos};

/// Fewer boots in real time than these a side cannot tell a difference from chance: of
/// all ways to deal four and four, two in seventy are as uneven as can be.
const LEAST: usize = 5;

/// Whether a time got slower.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// What the clocks count; `None` for tables.
    pub clock: Option<ClockKind>,
    /// How many boots there are, before and after.
    pub boots: (usize, usize),
    /// The time that was judged.
    pub time: BootsTime,
    /// How much slower is still fine.
    pub allowed: Nanos,
    /// Whether it is not slower, or not by more than is allowed.
    pub passed: bool,
    /// Why not, in a clause, if it is not for its length.
    pub missing: Option<String>,
    /// Items that take longer, and new ones: the largest difference first.
    pub slower: Vec<BootsTime>,
}

/// Why nothing can be said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// No boot before has the time.
    #[error(
        "the boots to compare with have no such time; `firstlight boots` lists those that they have"
    )]
    NoTime,
    /// Boots in real time vary.
    #[error(
        "boots in real time vary, and {base} against {new} cannot tell a difference from chance: \
         give at least {LEAST} of each"
    )]
    TooFew {
        /// How many boots before have the time.
        base: usize,
        /// How many after.
        new: usize,
    },
}

/// Judges the first time of `boots`, which compares, that `is_it`; `allow` says what is
/// still fine, of the median before.
///
/// Exact boots are judged by their spread, and one against one by the bare difference;
/// boots in real time by chance. A time that some boot after the change has not at all
/// did not pass.
///
/// # Errors
/// If no boot before has such a time, or there are too few in real time.
pub fn gate(
    boots: &Boots,
    is_it: impl Fn(&BootsTime) -> bool,
    allow: impl Fn(Nanos) -> Nanos,
) -> Result<Gate, GateError> {
    let time = boots.times.iter().chain(&boots.items).find(|t| is_it(t));
    let time = time.ok_or(GateError::NoTime)?;
    let base = time.base.as_ref().ok_or(GateError::NoTime)?;
    let new = time.against.as_ref().map_or(0, |d| d.boots);
    let after = boots.against.unwrap_or_default();
    let allowed = allow(base.median);
    let missing = (new < after).then(|| match new {
        0 => "no boot after the change has it".to_owned(),
        _ => format!(
            "{} of {after} boots after the change have it not",
            after - new
        ),
    });
    let is_slower = match time.change.map(|c| (c.judged, c.verdict)) {
        Some((Judged::Exact(_), verdict)) => verdict == Verdict::Slower,
        _ if missing.is_some() => true,
        Some((Judged::Sample(_), _)) if base.boots.min(new) < LEAST => {
            let base = base.boots;
            return Err(GateError::TooFew { base, new });
        }
        Some((Judged::Sample(_), verdict)) => verdict == Verdict::Slower,
        // An item whose ranges overlap.
        None => false,
    };
    let slower = boots.items.iter().filter(|i| {
        let grew = i.delta() > Nanos::ZERO && i.against.is_some();
        grew && i.is_apart() && i.change.is_none_or(|c| c.verdict == Verdict::Slower)
    });
    Ok(Gate {
        clock: boots.clock,
        boots: (boots.boots, after),
        passed: missing.is_none() && !(is_slower && time.delta() > allowed),
        time: time.clone(),
        allowed,
        missing,
        slower: slower.cloned().collect(),
    })
}
