//! What every format says.

use crate::words::{chance, counted, gate_moved, gate_parts, percent, signed};
use analysis::{
    BootsTime, BudgetVerdict, Differing, Gate, GateVerdict, History, HistoryChange, HistoryVerdict,
    Judged,
};
use record::Nanos;
use std::collections::BTreeSet;

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Fine.
    Passed,
    /// Not fine.
    Failed,
    /// Not known.
    CannotTell,
}

impl Outcome {
    /// The word used in every format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::CannotTell => "cannot tell",
        }
    }
}

/// Something that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// A name that stays the same from run to run.
    pub id: String,
    /// How it came out.
    pub outcome: Outcome,
    /// One sentence.
    pub summary: String,
    /// More, a line each.
    pub details: Vec<String>,
    /// What was measured, if it was.
    pub time: Option<Nanos>,
}

/// A time that was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Its name, with underscores for blanks.
    pub name: String,
    /// Its kind.
    pub kind: &'static str,
    /// The time.
    pub value: Nanos,
    /// Where it may be.
    pub range: Option<(Nanos, Nanos)>,
}

/// An item that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mover {
    /// Its name.
    pub name: String,
    /// Before; `None` if it is new.
    pub before: Option<Nanos>,
    /// After; `None` if it is gone.
    pub after: Option<Nanos>,
}

impl Mover {
    pub(super) fn change(&self) -> String {
        let of = |t: Option<Nanos>| t.unwrap_or_default();
        signed(of(self.after) - of(self.before))
    }
}

/// A gate's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// `firstlight gate` or `firstlight history`.
    pub program: &'static str,
    /// The verdict in a few words, for a badge: `5.1 s, +4.1 %`.
    pub short: String,
    /// How it came out: the worst of all checks.
    pub outcome: Outcome,
    /// Each check.
    pub checks: Vec<Check>,
    /// Times.
    pub figures: Vec<Figure>,
    /// Items that changed, the largest increase first.
    pub movers: Vec<Mover>,
    /// A small series to draw, oldest first: times, and where their level changed.
    pub series: Vec<Nanos>,
    /// Places in the series at which a level begins.
    pub breaks: Vec<usize>,
}

/// A name in formats that know letters, digits and underscores only.
pub(super) fn plain(name: &str) -> String {
    let keep = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '_'
        }
    };
    name.chars().map(keep).collect()
}

const fn outcome_of(verdict: GateVerdict) -> Outcome {
    match verdict {
        GateVerdict::Passed => Outcome::Passed,
        GateVerdict::CannotTell => Outcome::CannotTell,
        GateVerdict::OverBudget | GateVerdict::Missing | GateVerdict::Slower => Outcome::Failed,
    }
}

/// The most points that are drawn.
const DRAWN: usize = 200;

/// How many items are named.
const MOVERS: usize = 20;

/// The answer of `gate`.
#[must_use]
pub fn of_gate(g: &Gate) -> Report {
    let mut checks = Vec::new();
    let mut figures = Vec::new();
    let mut short = outcome_of(g.verdict).as_str().to_owned();
    if let Some(c) = &g.compared {
        let moved = gate_moved(c);
        let label = c.time.label();
        let summary = match (&g.reason, c.verdict) {
            (Some(reason), _) => format!("{label}: {reason}"),
            (None, GateVerdict::Slower) => format!("{label} is slower: {moved}"),
            (None, _) if c.gained => format!("{label} is faster: {moved}"),
            (None, _) => format!("{label} is not slower: {moved}"),
        };
        let mut details = vec![format!(
            "{} against {}; allowed increase {}",
            counted(g.boots.0, "boot"),
            g.boots.1,
            c.allowed
        )];
        if let Some(Judged::Sample(s)) = c.time.change.map(|c| c.judged) {
            let (low, high) = (signed(s.interval.0), signed(s.interval.1));
            details.push(format!(
                "95 % confidence interval {low} to {high}, {}",
                chance(s.p_value)
            ));
        }
        details.push(match c.resolution {
            Some(Nanos::ZERO) => "these boots show any slowdown".to_owned(),
            Some(least) => format!("these boots show a slowdown of {least} or more"),
            None => "resolution unknown with so few boots".to_owned(),
        });
        let new = c.time.against.as_ref();
        if let (Some(a), Some(b)) = (&c.time.base, new) {
            short = match percent(b.median - a.median, a.median) {
                part if part.is_empty() => b.median.to_string(),
                part => format!("{}, {part}", b.median),
            };
        }
        checks.push(Check {
            id: plain(label),
            outcome: outcome_of(c.verdict),
            summary,
            details,
            time: new.map(|d| d.median),
        });
        figures.extend(new.map(|d| Figure {
            name: plain(label),
            kind: c.time.kind.as_str(),
            value: d.median,
            range: Some((d.least, d.most)),
        }));
    }
    for p in g.work.iter().chain(&g.waits) {
        let name = |i: &BootsTime| format!("{}: {}", i.name, signed(i.delta()));
        checks.push(Check {
            id: p.part.as_str().to_owned(),
            outcome: outcome_of(p.verdict),
            summary: gate_parts(p),
            details: p.items.iter().take(MOVERS).map(name).collect(),
            time: None,
        });
    }
    for b in &g.budgets {
        let (name, limit) = (&b.budget.name, b.budget.limit);
        let seen = b.median.map_or("not seen".to_owned(), |m| m.to_string());
        let (outcome, what) = match b.verdict {
            BudgetVerdict::Within => (Outcome::Passed, "is within its budget"),
            BudgetVerdict::Over => (Outcome::Failed, "exceeds its budget"),
            BudgetVerdict::Missing => (Outcome::Failed, "is missing in some boots; its budget is"),
            BudgetVerdict::CannotTell => (
                Outcome::CannotTell,
                "is in some boots within, in some above its budget",
            ),
        };
        let range = b
            .range
            .map(|(low, high)| format!("between {low} and {high}"));
        checks.push(Check {
            id: format!("budget_{}", plain(name)),
            outcome,
            summary: format!("{name} {what} of {limit}: {seen}"),
            details: range.into_iter().collect(),
            time: b.median,
        });
        figures.extend(b.median.map(|value| Figure {
            name: plain(name),
            kind: "budget",
            value,
            range: b.range,
        }));
    }
    figures.dedup_by(|b, a| a.name == b.name);
    let mover = |t: &BootsTime| Mover {
        name: t.name.clone(),
        before: t.base.as_ref().map(|d| d.median),
        after: t.against.as_ref().map(|d| d.median),
    };
    let movers = g.slower.iter().take(MOVERS);
    let movers = movers.chain(g.faster.iter().take(MOVERS));
    Report {
        program: "firstlight gate",
        short,
        outcome: outcome_of(g.verdict),
        checks,
        figures,
        movers: movers.map(mover).collect(),
        series: Vec::new(),
        breaks: Vec::new(),
    }
}

/// The answer of `history check` for `input`.
#[must_use]
pub fn of_history(h: &History, input: &str) -> Report {
    let outcome = match h.verdict {
        HistoryVerdict::Fine => Outcome::Passed,
        HistoryVerdict::Regressed(_) => Outcome::Failed,
        HistoryVerdict::CannotTell(_) => Outcome::CannotTell,
    };
    let regressed = h.regressions.iter().filter_map(|at| h.changes.get(*at));
    let regressed: BTreeSet<&str> = regressed.map(|c| c.item.as_str()).collect();
    let mut checks = Vec::new();
    let mut figures = Vec::new();
    for r in &h.resolution {
        let of_this = |c: &&HistoryChange| c.is_judged && c.item == r.item;
        let last = h.changes.iter().rfind(of_this);
        let failed = regressed.contains(r.item.as_str());
        let (outcome, summary) = match (last, &h.verdict) {
            (Some(c), _) if failed => (Outcome::Failed, moved(c, "slower")),
            (_, HistoryVerdict::CannotTell(why)) => {
                (Outcome::CannotTell, format!("{}: {why}", r.item))
            }
            (Some(c), _) if c.change < Nanos::ZERO => (Outcome::Passed, moved(c, "faster")),
            (Some(c), _) => (
                Outcome::Passed,
                format!(
                    "{}: last change {} at {}",
                    r.item,
                    signed(c.change),
                    c.label
                ),
            ),
            (None, _) => (Outcome::Passed, format!("{}: no change", r.item)),
        };
        let mut details = Vec::new();
        if let Some(c) = last {
            details.push(format!(
                "95 % confidence interval {} to {}, {}",
                signed(c.interval.0),
                signed(c.interval.1),
                chance(c.p)
            ));
            details.extend(c.environment.iter().map(|e| format!("changed there: {e}")));
            details.extend(c.accepted.iter().map(|why| format!("accepted: {why}")));
        }
        details.push(match r.visible {
            Some(visible) => format!("a step of {visible} is visible within 10 entries"),
            None => format!("with {} no step is visible", counted(r.entries, "entry")),
        });
        details.push(format!("firstlight history show {input} -o trend.html"));
        checks.push(Check {
            id: plain(&r.item),
            outcome,
            summary,
            details,
            time: Some(r.level),
        });
        figures.push(Figure {
            name: plain(&r.item),
            kind: "level",
            value: r.level,
            range: None,
        });
    }
    if checks.is_empty() {
        let why = match &h.verdict {
            HistoryVerdict::CannotTell(why) => why.clone(),
            _ => "the history is empty".to_owned(),
        };
        checks.push(Check {
            id: "history".to_owned(),
            outcome,
            summary: why,
            details: Vec::new(),
            time: None,
        });
    }
    let last = h.changes.iter().rfind(|c| c.is_judged);
    let short = match (h.resolution.first(), last.and_then(HistoryChange::part)) {
        (Some(r), Some(part)) => format!("{}, {:+.1} %", r.level, 100.0 * part),
        (Some(r), None) => r.level.to_string(),
        (None, _) => outcome.as_str().to_owned(),
    };
    let mover = |d: &Differing| Mover {
        name: d.name.clone(),
        before: d.before,
        after: d.after,
    };
    let drawn = h.series.first();
    let points = drawn.map_or(&[][..], |s| s.points.as_slice());
    let skipped = points.len().saturating_sub(DRAWN);
    let points = points.get(skipped..).unwrap_or_default();
    let levels = drawn.map_or(&[][..], |s| s.levels.as_slice());
    let breaks = levels.iter().skip(1).filter_map(|l| {
        let at = points.iter().position(|p| p.0 == l.from)?;
        (at > 0).then_some(at)
    });
    Report {
        program: "firstlight history",
        short,
        outcome,
        checks,
        figures,
        movers: last.map_or(Vec::new(), |c| c.items.iter().map(mover).collect()),
        series: points.iter().map(|p| p.1).collect(),
        breaks: breaks.collect(),
    }
}

fn moved(c: &HistoryChange, how: &str) -> String {
    let part = match percent(c.change, c.medians.0) {
        part if part.is_empty() => part,
        part => format!(" ({part})"),
    };
    format!(
        "{} is {how} since {}: {}{part}, {} -> {}",
        c.item,
        c.label,
        signed(c.change),
        c.medians.0,
        c.medians.1
    )
}
