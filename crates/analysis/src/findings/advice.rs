//! The advice on one boot: what every rule of the catalogue finds, in order.

use super::catalogue::CATALOGUE;
use super::finding::{Advice, Finding, Silent};
use super::found::Scope;
use super::joint::{Effect, joint};
use super::judge::follow;
use super::rule::{Confidence, Rule};
use super::view::{SPEED, View};
use super::watched::Watched;
use super::{text, told};
use crate::phases::{Phases, phases};
use crate::system::SystemFacts;
use record::{Nanos, Record};
use std::sync::LazyLock;

/// Every text that a rule looks for.
static WATCHED: LazyLock<Watched> = LazyLock::new(|| {
    Watched::of(
        CATALOGUE
            .iter()
            .flat_map(|r| r.watch)
            .chain(&SPEED)
            .copied(),
    )
});

/// Below one percent of the boot a finding is not worth a line of the first
/// screen.
const PARTS: i64 = 100;

/// Below this part of the boot a finding is not told at all.
const LEAST_PARTS: i64 = 500;

/// The rule of a finding.
#[must_use]
pub fn rule(id: &str) -> Option<&'static Rule> {
    CATALOGUE.iter().copied().find(|r| r.id == id)
}

/// What could be better in a boot, for its first screen: the largest saving
/// first, none below a hundredth of the boot.
#[must_use]
pub fn findings(record: &Record) -> Vec<Finding> {
    findings_for(record, &phases(record))
}

/// [`findings`], with phases that are already known.
#[must_use]
pub fn findings_for(record: &Record, phases: &Phases) -> Vec<Finding> {
    let system = SystemFacts::default();
    let view = View::new(record, phases, &system, &WATCHED);
    let found = CATALOGUE.iter().flat_map(|r| follow(r, &view));
    let mut found: Vec<Finding> = found.map(|(finding, _)| finding).collect();
    told::once(&mut found, |f| f);
    found.retain(|f| match f.saving {
        None => true,
        Some((_, high)) => f.expected.max(sure(f, high)).0 > view.booted.0 / PARTS,
    });
    found.sort_by_key(|f| {
        // The most first; of equals the surer one; those without a number last.
        let saving = f.saving.map(|(low, high)| (f.expected, high, low));
        (std::cmp::Reverse(saving), f.id, f.title.clone())
    });
    found
}

/// The most that a finding saves, if that is more than a rule of thumb.
fn sure(finding: &Finding, high: Nanos) -> Nanos {
    match finding.confidence {
        Confidence::Low => Nanos::ZERO,
        _ => high,
    }
}

/// Everything that could be better in a boot and the system that booted, the
/// largest expected saving on the critical path first.
#[must_use]
pub fn advice(record: &Record, phases: &Phases, system: &SystemFacts) -> Advice {
    let view = View::new(record, phases, system, &WATCHED);
    let mut advice = Advice {
        is_over: phases.is_over,
        ..Advice::default()
    };
    let mut all: Vec<(Finding, Scope)> = Vec::new();
    for rule in CATALOGUE.iter().copied() {
        let found = follow(rule, &view);
        let any = !found.is_empty();
        let (told, small): (Vec<_>, Vec<_>) = found.into_iter().partition(|(f, _)| {
            f.saving
                .is_none_or(|(_, high)| high.0 > view.booted.0 / LEAST_PARTS)
        });
        if told.is_empty() {
            let most = small.iter().filter_map(|(f, _)| Some(f.saving?.1)).max();
            advice.silent.push(Silent {
                id: rule.id,
                title: rule.title,
                why: match most {
                    Some(most) if any => text::silent::too_little(most),
                    _ => text::silent::not_seen(rule.needs),
                },
            });
        }
        all.extend(told);
    }
    told::once(&mut all, |(f, _)| f);
    all.sort_by_key(|(f, _)| {
        let most = f.saving.map(|s| s.1);
        let rank = (f.expected, f.on_critical_path, most);
        (std::cmp::Reverse(rank), f.id, f.title.clone())
    });
    let effects: Vec<Effect> = all.iter().map(|(f, s)| Effect::of(f, s)).collect();
    advice.joint = joint(&view, &effects);
    advice.findings = all.into_iter().map(|(f, _)| f).collect();
    advice
}
