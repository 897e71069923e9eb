//! How much is still fine, and how much a time may be at all.

use super::distribution::Distribution;
use super::{Boots, BootsTime};
use crate::bootstrap::interval;
use record::{ClockKind, Nanos};

/// A part of a time, or a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Allowance {
    /// Percent of the time.
    Percent(f64),
    /// So much.
    Time(Nanos),
}

impl Allowance {
    /// What it is of the time `median`.
    #[must_use]
    pub fn of(self, median: Nanos) -> Nanos {
        match self {
            Self::Percent(percent) => Nanos((median.get() as f64 * percent / 100.0) as i64),
            Self::Time(time) => time,
        }
    }
}

/// How long something may take at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// A time, as `boots` names it; `-` and `_` stand for blanks.
    pub name: String,
    /// The most.
    pub limit: Nanos,
}

/// Whether boots are within a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BudgetVerdict {
    /// They are.
    Within,
    /// They are not.
    Over,
    /// Some boots do not have the time.
    Missing,
    /// Some are and some are not.
    CannotTell,
}

impl BudgetVerdict {
    /// The word used in every output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Within => "within",
            Self::Over => "over",
            Self::Missing => "missing",
            Self::CannotTell => "cannot_tell",
        }
    }
}

/// A budget, and what was seen of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Budgeted {
    /// The budget.
    pub budget: Budget,
    /// Its verdict.
    pub verdict: BudgetVerdict,
    /// In how many boots the time is, of how many.
    pub boots: (usize, usize),
    /// The median of the boots; `None` if none has it.
    pub median: Option<Nanos>,
    /// Where the median may be: its 95 % confidence interval of six boots and more, else
    /// the least and the most.
    pub range: Option<(Nanos, Nanos)>,
}

/// From so many boots on a median has a 95 % confidence interval: both ends of five are
/// beyond it in 6 of 100 cases.
const FOR_INTERVAL: usize = 6;

/// Whether the new boots of `boots`, or all if there is nothing to compare, keep `budget`.
/// `None` if no time has this name, or several.
pub(super) fn budgeted(boots: &Boots, budget: &Budget) -> Option<Budgeted> {
    let plain = |name: &str| name.replace(['-', '_'], " ").to_lowercase();
    let wanted = plain(&budget.name);
    let all = || boots.times.iter().chain(&boots.items);
    let exact: Vec<&BootsTime> = all().filter(|t| t.is_called(&budget.name)).collect();
    let loose: Vec<&BootsTime> = all().filter(|t| plain(t.label()) == wanted).collect();
    let time = match (exact.as_slice(), loose.as_slice()) {
        ([one], _) | ([], [one]) => *one,
        _ => return None,
    };
    let (side, count) = match boots.against {
        Some(count) => (1, count),
        None => (0, boots.boots),
    };
    let values = time.values.get(side)?;
    let seen = Distribution::of(values);
    let range = seen.as_ref().map(|d| {
        let sure = interval(values).filter(|_| d.boots >= FOR_INTERVAL);
        match boots.clock {
            Some(ClockKind::Virtual) => (d.least, d.most),
            _ => sure.map_or((d.least, d.most), |i| (i.low, i.high)),
        }
    });
    let verdict = match range {
        _ if values.len() < count => BudgetVerdict::Missing,
        None => BudgetVerdict::Missing,
        Some((_, high)) if high <= budget.limit => BudgetVerdict::Within,
        Some((low, _)) if low > budget.limit => BudgetVerdict::Over,
        Some(_) => BudgetVerdict::CannotTell,
    };
    Some(Budgeted {
        budget: budget.clone(),
        verdict,
        boots: (values.len(), count),
        median: seen.map(|d| d.median),
        range,
    })
}
