//! From what a rule found to a finding: how much of the time first light waited for it,
//! and so how much of it can be saved.

use super::finding::Finding;
use super::found::{Found, Scope};
use super::group::Group;
use super::rule::Rule;
use super::view::{View, function};
use super::work::computed;
use super::{names, waits};
use crate::path::{PathKind, Shorter, UnitOrder};
use record::Nanos;
use std::collections::BTreeSet;

/// Of a unit of a printed chain that goes so much is saved, least and expected, in percent:
/// others take its place.
const LEAST_OF_CHAIN: i64 = 25;
const MOST_OF_CHAIN: i64 = 85;

/// The gain of a unit at half its time is less than half of that, in percent, where another
/// way is nearly as long.
const NEARLY_HALF: i64 = 45;

/// What a rule finds, with what holds for all of its kind, and what first light has to do
/// with it.
pub(super) fn follow(rule: &'static Rule, view: &View<'_>) -> Vec<(Finding, Scope)> {
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
                // On one processor first light comes later by what it computes.
                let computed = computed(view, names);
                let work = most_beside_chain(view);
                saving = saving.map(|(_, e, high)| {
                    let most = felt.of_most(high).min(work);
                    let expected = computed.unwrap_or_else(|| felt.of_expected(e.min(work)));
                    (Nanos::ZERO, expected.min(most), most)
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
                let work = most_beside_chain(view);
                saving = saving.map(|(_, e, high)| {
                    let expected = Nanos(e.min(work).0 / 4);
                    (Nanos::ZERO, expected, high.min(work))
                });
                false
            }
            Waited::InOrder => {
                saving = saving.map(|(low, e, high)| (Nanos(low.0 / 2), e, high));
                true
            }
            Waited::Perhaps => {
                saving = saving.map(|(_, e, high)| (Nanos::ZERO, Nanos(e.0 / 2), high));
                false
            }
            Waited::Yes { halved } => {
                // Another way may be nearly as long. On one processor, what this one computes is
                // taken from that way, too. What a shared one starts goes on behind it.
                let computed = computed(view, names).unwrap_or_default();
                let is_shared = matches!(found.scope, Scope::Shared(_));
                let gain = (!is_shared).then(|| gain_without(view, &found, names));
                let most_of = |high: Nanos| match gain.flatten() {
                    _ if is_shared => Nanos(i64::MAX),
                    Some(gain) => gain.max(computed),
                    // If not even half of it can be gained, the other way is as long by then.
                    None if halved.0 < high.0 / 100 * NEARLY_HALF => halved.max(computed),
                    None => Nanos(halved.0.saturating_mul(2)),
                };
                saving = saving.map(|(low, e, high)| (low.min(halved), e.min(most_of(high)), high));
                // Of a printed chain no other way is known.
                let (links, is_printed) = waits::links(view);
                let fills = |name: &String| waits::fills_a_wait(view, name).is_some();
                if is_printed
                    && (links.iter().any(|l| names.contains(&l.unit)) || names.iter().any(fills))
                {
                    let part = |time: Nanos, percent: i64| Nanos(time.0 / 100 * percent);
                    saving = saving.map(|(low, e, high)| {
                        let low = low.max(part(high.min(most_of(high)), LEAST_OF_CHAIN));
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
    // Nor does a path that is a guess know what runs behind the target.
    let late = match &found.scope {
        Scope::Items(names) => match names.as_slice() {
            [unit] => waits::late_part(view, unit),
            _ => None,
        },
        _ => None,
    };
    for (least, expected) in alone.into_iter().chain(late) {
        saving = saving.map(|(low, e, high)| (low.max(least), e.max(expected), high));
    }
    // No rule saves more than the time that it looked at, nor than the boot took, where its
    // end is known.
    let elapsed = match found.is_before_kernel {
        true => view.elapsed_of(Group::Loader),
        false => view.elapsed_of(rule.group),
    };
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
    /// It is initcalls of the kernel itself, in a piece of a log: one runs after the other, and
    /// the first program after all.
    InOrder,
    /// It is on a printed chain, but a longer wait follows there whose cause may not depend on
    /// it.
    Perhaps,
    /// It does not, as far as that can be guessed.
    Aside,
    No,
    Unknown,
}

fn waited(view: &View<'_>, names: &[String]) -> Waited {
    let path = view.path();
    let wanted: BTreeSet<&str> = names.iter().flat_map(|n| [n, function(n)]).collect();
    let is_named = |name: &str| wanted.contains(name);
    // What a call probes is the call's, not the device's of that name.
    let named = path.items.iter().filter(|i| {
        let name = match i.kind {
            PathKind::Probe | PathKind::Deferral => i.call.as_deref(),
            _ => Some(i.name.as_str()),
        };
        name.is_some_and(|n| is_named(n) || is_named(function(n)))
    });
    // The last job of a boot is waited for.
    let late = || waits::late_unit(view).filter(|(unit, _)| is_named(unit));
    let perhaps = |name| waits::is_before_a_longer_wait(view, name) == Some(true);
    if names.iter().any(|n| perhaps(n)) && late().is_none() {
        return Waited::Perhaps;
    }
    let mut any = false;
    let halved = named.fold(Nanos::ZERO, |sum, i| {
        any = true;
        sum + i.saving_if_halved
    });
    let units = |n: &&String| n.contains('.') && !n.contains('+');
    // Where several units run beside one another, none brings much alone.
    let halved = match any && names.len() > 1 && names.iter().all(|n| units(&n)) {
        true => halved.max(half_of_all(view, names)),
        false => halved,
    };
    if !any && let Some(time) = names.iter().find_map(|n| waits::before_udev(view, n)) {
        return Waited::Yes {
            halved: Nanos(time.0 / 2),
        };
    }
    if !any || path.order == UnitOrder::Guessed {
        // So is a unit of a printed chain.
        let (links, is_printed) = waits::links(view);
        let linked = links.iter().filter(|l| is_printed && is_named(&l.unit));
        let filling = names.iter().filter_map(|n| waits::fills_a_wait(view, n));
        let times = linked
            .map(|l| l.end - l.start)
            .chain(late().map(|(_, time)| time))
            .chain(filling);
        if let Some(time) = times.max() {
            return Waited::Yes {
                halved: Nanos(time.0 / 2),
            };
        }
    }
    let units = names.iter().any(|n| units(&n));
    let known = match units {
        true => path.knows_units,
        false => path.items.iter().any(|i| i.kind == PathKind::Initcall),
    };
    match (any, known) {
        (true, _) if units && path.order == UnitOrder::Guessed => Waited::Guessed { halved },
        (true, _) => Waited::Yes { halved },
        (false, _) if units && path.order == UnitOrder::Guessed => Waited::Aside,
        (false, true) => Waited::No,
        (false, false) if names.iter().all(|n| is_built_in(view, n)) => Waited::InOrder,
        (false, false) => Waited::Unknown,
    }
}

/// The most that a unit beside a printed chain can save: it competes with the work on the chain,
/// but the waits there get no shorter without it.
fn most_beside_chain(view: &View<'_>) -> Nanos {
    waits::work_of_chain(view).unwrap_or(Nanos(i64::MAX))
}

/// Whether a name is that of an initcall of the kernel itself, and not of a module, in a log that
/// does not show what it was run by.
fn is_built_in(view: &View<'_>, name: &str) -> bool {
    let name = function(name);
    let calls = view.initcalls(|call| call == name);
    let is_of_module = |s: &record::Span| view.record.name(s.name).contains('[');
    !calls.is_empty() && calls.iter().all(|(_, _, s)| !is_of_module(s))
}

/// Half of what first light gains if all of these units go at once.
fn half_of_all(view: &View<'_>, names: &[String]) -> Nanos {
    Nanos(view.model().saving_of_graph(&all_gone(view, names)).0 / 2)
}

/// What first light gains without the units that a finding takes away, where the boot can be
/// played again.
fn gain_without(view: &View<'_>, found: &Found, names: &[String]) -> Option<Nanos> {
    let treatment = found.treatment.as_deref()?;
    let gone = treatment
        .starts_with("mask=")
        .then(|| all_gone(view, names))?;
    Some(view.model().played(&gone)?.1)
}

fn all_gone(view: &View<'_>, names: &[String]) -> Shorter {
    let model = view.model();
    let mut shorter = Shorter::default();
    for matched in names.iter().filter_map(|n| model.matching(n)) {
        model.shorten(&mut shorter, &matched, Nanos::ZERO);
    }
    shorter
}
