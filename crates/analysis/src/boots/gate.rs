//! Whether boots got slower: the answer for a machine that builds and boots.

use super::allowance::{Allowance, Budget, BudgetVerdict, Budgeted, budgeted};
use super::{Boots, BootsTime, Distribution, Judged, Part, TimeKind};
use crate::effect::Verdict;
use crate::statistics::{Judgement, least_chance};
use record::{ClockKind, Nanos};

/// What the gate has to be able to see if nobody says how much is fine, in percent.
const SEE: f64 = 5.0;

/// How much slower is fine if nobody says so, in percent.
pub const ALLOW: f64 = 0.5;

/// What is asked of a gate.
#[derive(Clone, Debug, Default)]
pub struct GateQuestion<'a> {
    /// The time to judge; without one, first light.
    pub of: Option<&'a str>,
    /// How much slower is fine; half a percent if nobody says so.
    pub allow: Option<Allowance>,
    /// The slowdown that has to be visible; without one, what is fine, or 5 % if nobody
    /// says that either.
    pub see: Option<Allowance>,
    /// How long times may take at most.
    pub budgets: &'a [Budget],
}

/// What a gate says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GateVerdict {
    /// Not slower by more than is fine, and within all budgets.
    Passed,
    /// It cannot tell.
    CannotTell,
    /// Over a budget.
    OverBudget,
    /// Some boots after the change do not have the time.
    Missing,
    /// Slower.
    Slower,
}

impl GateVerdict {
    /// The word used in every output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::CannotTell => "cannot_tell",
            Self::OverBudget => "over_budget",
            Self::Missing => "missing",
            Self::Slower => "slower",
        }
    }

    /// 0 if it passed, 1 if it did not, 2 if that is not known.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::CannotTell => 2,
            Self::OverBudget | Self::Missing | Self::Slower => 1,
        }
    }
}

/// Whether a time got slower.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// What the clocks count; `None` for tables.
    pub clock: Option<ClockKind>,
    /// How many boots there are, before and after; none before if only budgets were asked.
    pub boots: (usize, usize),
    /// The worst of all verdicts.
    pub verdict: GateVerdict,
    /// Why, in a clause, if it is not for a length.
    pub reason: Option<String>,
    /// The comparison; `None` if only budgets were asked.
    pub compared: Option<GateCompared>,
    /// The work beside first light; `None` if a side does not have it, or too few boots.
    pub work: Option<GateParts>,
    /// The waits beside first light; `None` if no trace of the scheduler has them on both sides,
    /// or a side has fewer than four boots.
    pub waits: Option<GateParts>,
    /// Each budget.
    pub budgets: Vec<Budgeted>,
    /// Items that take longer, and new ones: the largest difference first.
    pub slower: Vec<BootsTime>,
    /// Items that take less, and those that are gone: the largest difference first.
    pub faster: Vec<BootsTime>,
}

/// The time that is compared.
#[derive(Clone, Debug, PartialEq)]
pub struct GateCompared {
    /// The time.
    pub time: BootsTime,
    /// How much slower is still fine.
    pub allowed: Nanos,
    /// The slowdown that has to be visible.
    pub asked: Nanos,
    /// The least slowdown that these boots show; `None` if that is not known.
    pub resolution: Option<Nanos>,
    /// What became of it.
    pub verdict: GateVerdict,
    /// Whether it got faster by more than is fine.
    pub gained: bool,
}

/// The work or the waits of exact boots, which a busy order of processes hardly moves.
#[derive(Clone, Debug, PartialEq)]
pub struct GateParts {
    /// What they are parts of their items' times of.
    pub part: Part,
    /// What the items have more in all: of work the sum, of waits the largest change.
    pub delta: Nanos,
    /// How much more is still fine.
    pub allowed: Nanos,
    /// What the item that varies most has to change by, to be seen.
    pub resolution: Nanos,
    /// The items that changed, the largest change first.
    pub items: Vec<BootsTime>,
    /// What became of it: passed or slower.
    pub verdict: GateVerdict,
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
    /// No time, or several, are meant by the name of a budget.
    #[error(
        "--budget {name}: matches no time, or several; choose a name that `firstlight boots` lists \
         once"
    )]
    NoBudget {
        /// The name.
        name: String,
    },
}

/// Judges `boots`: the time that is asked for, if they compare, and all budgets.
///
/// Exact boots are judged by their spread, and one against one by the bare difference;
/// boots in real time by chance, however small the difference. A time that some boot
/// after the change has not at all did not pass, and neither did one of which a slowdown
/// of the asked size could not be seen.
///
/// # Errors
/// If no boot before has such a time, several times are it, or first light is told from
/// different zeros.
pub fn gate(boots: &Boots, question: &GateQuestion<'_>) -> Result<Gate, GateError> {
    let budgets = question.budgets.iter().map(|b| {
        let name = b.name.clone();
        budgeted(boots, b).ok_or(GateError::NoBudget { name })
    });
    let budgets = budgets.collect::<Result<Vec<Budgeted>, GateError>>()?;
    let mut reason = None;
    let compared = match boots.against {
        None => None,
        Some(after) => match compared(boots, after, question) {
            Ok((compared, why)) => {
                reason = why;
                Some(compared)
            }
            // Whoever asks for budgets of a table need not have first light in it.
            Err(GateError::NoTime) if question.of.is_none() && !budgets.is_empty() => None,
            Err(error) => return Err(error),
        },
    };
    let of_budgets = budgets.iter().map(|b| match b.verdict {
        BudgetVerdict::Within => GateVerdict::Passed,
        BudgetVerdict::CannotTell => GateVerdict::CannotTell,
        BudgetVerdict::Over => GateVerdict::OverBudget,
        BudgetVerdict::Missing => GateVerdict::Missing,
    });
    let light = compared
        .as_ref()
        .filter(|c| c.time.kind == TimeKind::FirstLight);
    let of = |part: Part| light.and_then(|c| parts(boots, part, c.allowed));
    let (work, waits) = (of(Part::Work), of(Part::Wait));
    // Each closes a gate and never opens one: a wait takes no work, and work is no wait.
    let verdicts = compared.iter().map(|c| c.verdict).chain(of_budgets);
    let verdicts = verdicts.chain(work.iter().chain(&waits).map(|w| w.verdict));
    let (slower, faster) = items(boots);
    Ok(Gate {
        clock: boots.clock,
        boots: match boots.against {
            Some(after) => (boots.boots, after),
            None => (0, boots.boots),
        },
        verdict: verdicts.max().unwrap_or(GateVerdict::Passed),
        reason,
        compared,
        work,
        waits,
        budgets,
        slower,
        faster,
    })
}

/// That part of the items' times on both sides.
fn parts(boots: &Boots, part: Part, allowed: Nanos) -> Option<GateParts> {
    let (before, after) = (boots.boots, boots.against?);
    // One boot does not say how far neutral perturbations move it.
    if before.min(after) < part.fewest() {
        return None;
    }
    let of = |kind: &TimeKind| {
        let items = boots.items.iter();
        let items: Vec<&BootsTime> = items.filter(|i| i.kind == *kind).collect();
        let base = items.iter().any(|i| i.base.is_some());
        let new = items.iter().any(|i| i.against.is_some());
        (base && new).then_some(items)
    };
    let items = part.kinds().iter().find_map(of)?;
    // What only some boots of a side have says nothing of that side.
    let changed = items.iter().filter(|i| {
        let [base, against] = &i.values;
        let has_both = i.base.is_some() && i.against.is_some();
        is_in_all(i, (before, after)) && (!has_both || part.changed(base, against).is_some())
    });
    let mut changed: Vec<BootsTime> = changed.map(|i| (*i).clone()).collect();
    changed.sort_by_cached_key(|i| (std::cmp::Reverse(i.delta().abs()), i.name.clone()));
    let delta = part.total(changed.iter().map(BootsTime::delta));
    let least = items
        .iter()
        .filter_map(|i| i.least())
        .map(|least| part.least(least));
    Some(GateParts {
        part,
        delta,
        allowed,
        resolution: least.max().unwrap_or(Nanos::ZERO),
        items: changed,
        verdict: match delta > allowed {
            true => GateVerdict::Slower,
            false => GateVerdict::Passed,
        },
    })
}

/// Whether all of so many boots of each side have a time that any of that side has.
fn is_in_all(time: &BootsTime, (before, after): (usize, usize)) -> bool {
    let is_in = |side: &Option<Distribution>, all| side.as_ref().is_none_or(|d| d.boots == all);
    is_in(&time.base, before) && is_in(&time.against, after)
}

/// The comparison, and why it is as it is, if that is not for its length.
fn compared(
    boots: &Boots,
    after: usize,
    question: &GateQuestion<'_>,
) -> Result<(GateCompared, Option<String>), GateError> {
    let mut time = meant(boots, question.of)?.clone();
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
    // What is allowed says how small a difference matters.
    let judgement = Judgement {
        minimum_effect: 0.0,
        ..Judgement::default()
    };
    time.change = time.judged(boots.clock, &judgement);
    let allowed = question.allow.unwrap_or(Allowance::Percent(ALLOW));
    // Nobody can see a slowdown of nothing.
    let allow_is_some = |a: &Allowance| a.of(median) > Nanos::ZERO;
    let asked = question.see.or(question.allow.filter(allow_is_some));
    let asked = asked.unwrap_or(Allowance::Percent(SEE)).of(median);
    let allowed = allowed.of(median);
    let resolution = time.change.and_then(|c| match c.judged {
        Judged::Exact(e) => (!e.unperturbed).then_some(e.least),
        Judged::Sample(_) if least_chance(base, new) > judgement.significance => None,
        Judged::Sample(s) => Some(Nanos((s.interval.1 - s.interval.0).get() / 2)),
    });
    let is = |wanted: Verdict| time.change.is_some_and(|c| c.verdict == wanted);
    let is_sample = time
        .change
        .is_some_and(|c| matches!(c.judged, Judged::Sample(_)));
    let (verdict, reason) = if new < after {
        let reason = match new {
            0 => "no boot after the change has it".to_owned(),
            _ => format!(
                "{} of {after} boots after the change do not have it",
                after - new
            ),
        };
        (GateVerdict::Missing, Some(reason))
    } else if is_sample && resolution.is_none() {
        let reason = format!(
            "{base} against {new} boots are too few: real boots vary, so a difference cannot be \
             told from noise; use at least 5 of each"
        );
        (GateVerdict::CannotTell, Some(reason))
    } else if is(Verdict::Slower) && time.delta() > allowed {
        (GateVerdict::Slower, None)
    } else if let Some(least) = resolution.filter(|r| *r > asked) {
        let reason = format!(
            "these boots show a slowdown of {least} or more, and {asked} was asked for; give more \
             boots, or ask for less with --see or --allow"
        );
        (GateVerdict::CannotTell, Some(reason))
    } else {
        (GateVerdict::Passed, None)
    };
    let gained = is(Verdict::Faster) && time.delta().abs() > allowed;
    let compared = GateCompared {
        time,
        allowed,
        asked,
        resolution,
        verdict,
        gained,
    };
    Ok((compared, reason))
}

/// The one time that is called so.
fn meant<'b>(boots: &'b Boots, of: Option<&str>) -> Result<&'b BootsTime, GateError> {
    let is_it = |t: &&BootsTime| match of {
        Some(name) => t.is_called(name),
        None => t.kind == TimeKind::FirstLight,
    };
    let all = boots.times.iter().chain(&boots.items);
    let meant: Vec<&BootsTime> = all.filter(is_it).collect();
    match meant.as_slice() {
        [] => Err(GateError::NoTime),
        [one] => Ok(one),
        several => {
            let kinds: Vec<String> = several
                .iter()
                .map(|t| format!("{} {}", t.kind.as_str(), t.name))
                .collect();
            let (count, kinds) = (several.len(), kinds.join(", "));
            Err(GateError::Ambiguous { count, kinds })
        }
    }
}

/// The items that take longer, and those that take less.
fn items(boots: &Boots) -> (Vec<BootsTime>, Vec<BootsTime>) {
    let Some(after) = boots.against else {
        return (Vec::new(), Vec::new());
    };
    // What only some boots of a side have is neither new nor gone.
    let is_known = |i: &BootsTime| {
        let has_both = i.base.is_some() && i.against.is_some();
        has_both || is_in_all(i, (boots.boots, after))
    };
    let times = || {
        let items = boots.items.iter();
        items.filter(|i| !i.kind.is_part_of_item() && is_known(i))
    };
    // A side without any items was not asked for them.
    let has_base = times().any(|i| i.base.is_some());
    let has_new = times().any(|i| i.against.is_some());
    let moved = |i: &&BootsTime, verdict: Verdict| {
        i.is_apart() && i.change.is_none_or(|c| c.verdict == verdict)
    };
    let slower = times().filter(|i| {
        let grew = i.delta() > Nanos::ZERO && i.against.is_some() && has_base;
        grew && moved(i, Verdict::Slower)
    });
    let faster = times().filter(|i| {
        let shrank = i.delta() < Nanos::ZERO && i.base.is_some() && has_new;
        shrank && moved(i, Verdict::Faster)
    });
    (slower.cloned().collect(), faster.cloned().collect())
}
