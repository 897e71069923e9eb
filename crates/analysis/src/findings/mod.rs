//! What could be better: advice with its evidence and its expected saving.
//!
//! Each finding is one [`Rule`] of the [`CATALOGUE`]: what holds for all of its
//! kind as data, and one pure function that looks for it in a record and in
//! what else is known of the system.

mod application;
mod catalogue;
mod cmdline;
mod coldplug;
mod config;
mod console;
mod delays;
mod devices;
mod driver_source;
mod evidence;
mod filesystems;
mod found;
mod group;
mod hardware;
mod images;
mod in_place;
mod initramfs;
mod joint;
mod kernel;
mod libraries;
mod loader;
mod modules;
mod names;
mod order;
mod packing;
mod pictures;
mod probes;
mod processes;
mod quiet;
mod relocations;
mod requests;
mod root;
mod rule;
mod scripts;
mod silence;
mod startup;
mod storage;
mod subject;
mod text;
mod told;
mod units;
mod view;
mod waits;

pub use catalogue::CATALOGUE;
pub use evidence::Evidence;
pub use group::Group;
pub use rule::{Confidence, Rule};

use crate::path::{Estimate, PathKind, UnitOrder};
use crate::phases::{Phases, phases};
use crate::system::SystemFacts;
use found::{Found, Scope};
use joint::Effect;
use record::{Nanos, Record};
use std::sync::LazyLock;
use view::{View, Watched, function};

/// Every text that a rule looks for.
static WATCHED: LazyLock<Watched> =
    LazyLock::new(|| Watched::of(CATALOGUE.iter().flat_map(|r| r.watch).copied()));

/// Below one percent of the boot a finding is not worth a line of the first
/// screen.
const PARTS: i64 = 100;

/// Below this part of the boot a finding is not told at all.
const LEAST_PARTS: i64 = 500;

/// Of a unit of a printed chain that goes so much is saved, least and expected, in percent:
/// others take its place.
const LEAST_OF_CHAIN: i64 = 25;
const MOST_OF_CHAIN: i64 = 85;

/// The rule of a finding.
#[must_use]
pub fn rule(id: &str) -> Option<&'static Rule> {
    CATALOGUE.iter().copied().find(|r| r.id == id)
}

/// A piece of advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which advice: `crypto-self-tests`, ...
    pub id: &'static str,
    /// Where in the work it belongs.
    pub group: Group,
    /// What it is, in a few words.
    pub title: String,
    /// Why it takes time, in a sentence or two.
    pub why: String,
    /// What in the record says so.
    pub evidence: Vec<Evidence>,
    /// What following it may save, from the least to the most; `None` if
    /// nothing in the record says how much.
    pub saving: Option<(Nanos, Nanos)>,
    /// What following it is expected to save; zero if nothing says it.
    pub expected: Nanos,
    /// How that is estimated.
    pub model: &'static str,
    /// Whether first light waits for it, as far as the record knows.
    pub on_critical_path: bool,
    /// How sure that is.
    pub confidence: Confidence,
    /// What following it costs.
    pub cost: String,
    /// The treatment that does it, as the lab takes it; `None` if there is
    /// nothing that the lab could do by itself.
    pub treatment: Option<String>,
    /// Units, parameters, options, drivers and devices that it is about, each once.
    pub names: Vec<String>,
}

/// A rule that found nothing to say, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Silent {
    /// Which rule.
    pub id: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// Why it is silent.
    pub why: String,
}

/// What the first findings save together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joint {
    /// How many of the findings, from the first on.
    pub findings: usize,
    /// What they save. It is not the sum of what each saves: findings overlap.
    pub saving: Estimate,
}

/// Advice on a boot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advice {
    /// What could be better, the largest expected saving on the critical path
    /// first.
    pub findings: Vec<Finding>,
    /// What the first 1, 2, 3, ... of them save together.
    pub joint: Vec<Joint>,
    /// The rules that found nothing.
    pub silent: Vec<Silent>,
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
        Some((_, high)) => f.expected.max(sure(f, high)).0 > view.total.0 / PARTS,
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
    let mut advice = Advice::default();
    let mut all: Vec<(Finding, Scope)> = Vec::new();
    for rule in CATALOGUE.iter().copied() {
        let found = follow(rule, &view);
        let any = !found.is_empty();
        let (told, small): (Vec<_>, Vec<_>) = found.into_iter().partition(|(f, _)| {
            f.saving
                .is_none_or(|(_, high)| high.0 > view.total.0 / LEAST_PARTS)
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
    advice.joint = joint::joint(&view, &effects);
    advice.findings = all.into_iter().map(|(f, _)| f).collect();
    advice
}

/// What a rule finds, with what holds for all of its kind, and what first light has to do
/// with it.
fn follow(rule: &'static Rule, view: &View<'_>) -> Vec<(Finding, Scope)> {
    let found = (rule.find)(view).into_iter();
    found
        .map(|f| {
            let scope = f.scope.clone();
            (finish(rule, f, view), scope)
        })
        .collect()
}

fn finish(rule: &'static Rule, found: Found, view: &View<'_>) -> Finding {
    let mut saving = found.saving;
    let on_critical_path = match &found.scope {
        Scope::Serial => true,
        Scope::Unknown => false,
        Scope::Items(names) | Scope::Shared(names) => match waited(view, names) {
            Waited::Unknown | Waited::Guessed { .. } | Waited::Aside | Waited::No
                if matches!(found.scope, Scope::Shared(_)) =>
            {
                saving = saving.map(|(_, e, high)| (Nanos::ZERO, e, high));
                false
            }
            Waited::Unknown => {
                // Half of it: nothing says whether anything waited.
                saving = saving.map(|(_, e, high)| (Nanos::ZERO, Nanos(e.0 / 2), high));
                false
            }
            Waited::No => {
                // It still takes processor and disk from what is waited for, as far as they
                // are busy.
                let felt = view.model().load().felt();
                saving = saving.map(|(_, e, high)| {
                    let most = felt.of_most(high);
                    (Nanos::ZERO, felt.of_expected(e).min(most), most)
                });
                false
            }
            Waited::Guessed { halved } => {
                // The guess is right more often than not.
                let most = Nanos(halved.0.saturating_mul(2));
                let part = |e: Nanos| Nanos(e.min(most).0 / 3 * 2);
                saving = saving.map(|(_, e, high)| (Nanos::ZERO, part(e), high));
                false
            }
            Waited::Aside => {
                saving = saving.map(|(_, e, high)| (Nanos::ZERO, Nanos(e.0 / 4), high));
                false
            }
            Waited::Yes { halved } => {
                // Another way may be nearly as long.
                let most = Nanos(halved.0.saturating_mul(2));
                saving = saving.map(|(low, e, high)| (low.min(halved), e.min(most), high));
                // Of a printed chain no other way is known.
                let (links, is_printed) = waits::links(view);
                if is_printed && links.iter().any(|l| names.contains(&l.unit)) {
                    let part = |time: Nanos, percent: i64| Nanos(time.0 / 100 * percent);
                    saving = saving.map(|(low, e, high)| {
                        let low = low.max(part(high.min(most), LEAST_OF_CHAIN));
                        (low, e.min(part(high, MOST_OF_CHAIN)), high)
                    });
                }
                true
            }
        },
    };
    // Without an order of units the length of one may tell that it was waited for.
    let alone = match &found.scope {
        Scope::Items(names) if !on_critical_path => match names.as_slice() {
            [unit] if view.record.dependencies().is_empty() => waits::alone(view, unit),
            _ => None,
        },
        _ => None,
    };
    if let Some((least, expected)) = alone {
        saving = saving.map(|(low, e, high)| (low.max(least), e.max(expected), high));
    }
    // No rule saves more than the time that it looked at, nor than the boot took, where its
    // end is known.
    let elapsed = view.elapsed_of(rule.group);
    let most = match (found.within, &view.phases.first_light) {
        (Some(within), Some(_)) => within.min(elapsed),
        (Some(within), None) => within,
        (None, _) => elapsed,
    };
    let most = most.max(Nanos::ZERO);
    // What was learned of one of the three holds for the others.
    let saving = saving.map(|(low, e, high)| {
        let high = high.min(most);
        let e = e.min(high);
        (low.min(e), e, high)
    });
    let names = names::of(&found);
    Finding {
        id: rule.id,
        group: rule.group,
        title: found.title.unwrap_or_else(|| rule.title.to_owned()),
        why: found.why.unwrap_or_else(|| rule.about.to_owned()) + &found.more,
        evidence: found.evidence,
        saving: saving.map(|(low, _, high)| (low, high)),
        expected: saving.map_or(Nanos::ZERO, |s| s.1),
        model: rule.model,
        on_critical_path,
        confidence: rule.confidence,
        cost: found.cost.unwrap_or_else(|| rule.risk.to_owned()),
        treatment: found.treatment,
        names,
    }
}

/// What first light has to do with some things.
enum Waited {
    Yes {
        halved: Nanos,
    },
    /// As far as the order of units can be guessed.
    Guessed {
        halved: Nanos,
    },
    /// It does not, as far as that can be guessed.
    Aside,
    No,
    Unknown,
}

fn waited(view: &View<'_>, names: &[String]) -> Waited {
    let path = view.path();
    let is_named = |name: &str| names.iter().any(|n| n == name || function(n) == name);
    // What a call probes is the call's, not the device's of that name.
    let named = path.items.iter().filter(|i| {
        let name = match i.kind {
            PathKind::Probe | PathKind::Deferral => i.call.as_deref(),
            _ => Some(i.name.as_str()),
        };
        name.is_some_and(|n| is_named(n) || is_named(function(n)))
    });
    let mut any = false;
    let halved = named.fold(Nanos::ZERO, |sum, i| {
        any = true;
        sum + i.saving_if_halved
    });
    if !any || path.order == UnitOrder::Guessed {
        // The last job of a boot is waited for, and so is a unit of a printed chain.
        let late = waits::late_unit(view).filter(|(unit, _)| is_named(unit));
        let (links, is_printed) = waits::links(view);
        let linked = links.iter().filter(|l| is_printed && is_named(&l.unit));
        let times = linked
            .map(|l| l.end - l.start)
            .chain(late.map(|(_, time)| time));
        if let Some(time) = times.max() {
            return Waited::Yes {
                halved: Nanos(time.0 / 2),
            };
        }
    }
    let units = names.iter().any(|n| n.contains('.') && !n.contains('+'));
    let known = match units {
        true => path.knows_units,
        false => path.items.iter().any(|i| i.kind == PathKind::Initcall),
    };
    match (any, known) {
        (true, _) if units && path.order == UnitOrder::Guessed => Waited::Guessed { halved },
        (true, _) => Waited::Yes { halved },
        (false, _) if units && path.order == UnitOrder::Guessed => Waited::Aside,
        (false, true) => Waited::No,
        (false, false) => Waited::Unknown,
    }
}
