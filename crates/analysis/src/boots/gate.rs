//! Whether boots got slower: the answer for a machine that builds and boots.

use super::{Boots, BootsTime, Judged, TimeKind};
use crate::effect::Verdict;
use crate::statistics::{Judgement, least_chance};
use record::{ClockKind, Nanos};

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
        "none of the base boots has this time; choose another one with `--of NAME` (`firstlight \
         boots` lists them)"
    )]
    NoTime,
    /// Several times are meant by a name.
    #[error(
        "the name is ambiguous: it matches {count} times ({kinds}); choose a name that `firstlight \
     boots` lists once"
    )]
    Ambiguous {
        /// How many.
        count: usize,
        /// Their kinds.
        kinds: String,
    },
    /// First light is told from different marks.
    #[error(
        "the boots measure first light from different starting points ({zeros}), so the \
         durations are not comparable; judge a phase or a milestone (`--of`), or give boots \
         with the same kind of input"
    )]
    OtherZero {
        /// The marks.
        zeros: String,
    },
    /// Boots in real time vary.
    #[error(
        "{base} against {new} boots are too few: real boots vary, so a difference cannot be \
         told from noise; use at least 5 of each"
    )]
    TooFew {
        /// How many boots before have the time.
        base: usize,
        /// How many after.
        new: usize,
    },
}

/// Judges the time of `boots`, which compares, that `is_it`; `allow` says what is still
/// fine, of the median before.
///
/// Exact boots are judged by their spread, and one against one by the bare difference;
/// boots in real time by chance, however small the difference. A time that some boot
/// after the change has not at all did not pass.
///
/// # Errors
/// If no boot before has such a time, several times are it, first light is told from
/// different zeros, or there are too few boots in real time.
pub fn gate(
    boots: &Boots,
    is_it: impl Fn(&BootsTime) -> bool,
    allow: impl Fn(Nanos) -> Nanos,
) -> Result<Gate, GateError> {
    let all = boots.times.iter().chain(&boots.items);
    let meant: Vec<&BootsTime> = all.filter(|t| is_it(t)).collect();
    let mut time = match meant.as_slice() {
        [] => return Err(GateError::NoTime),
        [one] => (*one).clone(),
        several => {
            let kinds: Vec<String> = several
                .iter()
                .map(|t| format!("{} {}", t.kind.as_str(), t.name))
                .collect();
            let (count, kinds) = (several.len(), kinds.join(", "));
            return Err(GateError::Ambiguous { count, kinds });
        }
    };
    if time.kind == TimeKind::FirstLight && boots.zeros.len() > 1 {
        let zeros: Vec<&str> = boots.zeros.iter().map(String::as_str).collect();
        let zeros = zeros.join(", ");
        return Err(GateError::OtherZero { zeros });
    }
    let (base, median) = time
        .base
        .as_ref()
        .map(|d| (d.boots, d.median))
        .ok_or(GateError::NoTime)?;
    let new = time.against.as_ref().map_or(0, |d| d.boots);
    let after = boots.against.unwrap_or_default();
    let missing = (new < after).then(|| match new {
        0 => "no boot after the change has it".to_owned(),
        _ => format!(
            "{} of {after} boots after the change do not have it",
            after - new
        ),
    });
    // What is allowed says how small a difference matters.
    let judgement = Judgement {
        minimum_effect: 0.0,
        ..Judgement::default()
    };
    time.change = time.judged(boots.clock, &judgement);
    let is_sample = time
        .change
        .is_some_and(|c| matches!(c.judged, Judged::Sample(_)));
    if is_sample && missing.is_none() && least_chance(base, new) > judgement.significance {
        return Err(GateError::TooFew { base, new });
    }
    let allowed = allow(median);
    let is_slower = time.change.is_some_and(|c| c.verdict == Verdict::Slower);
    // A side without any items was not asked for them.
    let has_items = boots.items.iter().any(|i| i.base.is_some());
    let slower = boots.items.iter().filter(|i| {
        let grew = i.delta() > Nanos::ZERO && i.against.is_some() && has_items;
        grew && i.is_apart() && i.change.is_none_or(|c| c.verdict == Verdict::Slower)
    });
    Ok(Gate {
        clock: boots.clock,
        boots: (boots.boots, after),
        passed: missing.is_none() && !(is_slower && time.delta() > allowed),
        time,
        allowed,
        missing,
        slower: slower.cloned().collect(),
    })
}
