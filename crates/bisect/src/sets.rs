//! The search among sets: which differences, alone or together, make a boot slower.

use crate::boots::{Bench, Boots, Say, median};
use crate::chain::{Unbootable, step};
use crate::ends::{Ends, ends};
use crate::found::{Comparison, Culprit, Found, Outcome};
use crate::levels::Levels;
use crate::settings::Settings;
use std::collections::BTreeSet;

/// More culprits than this are not searched: then many differences each do a little.
const CULPRITS: usize = 6;

/// Finds the smallest set of `count` differences that gives the whole change between the
/// first system and the second.
///
/// The chain from the first system to the second, one difference more at each place, is
/// bisected. If the difference that is found gives the change alone, it is the culprit. If
/// not, others act with it or beside it: the chain from there is bisected in turn. At last
/// each culprit is left out, and stays only if that changes the time.
///
/// # Errors
/// As [`Boots::boots`].
pub fn sets<B: Boots>(
    boots: &mut B,
    count: usize,
    settings: &Settings,
    say: &mut Say<'_>,
) -> Result<Found, B::Error> {
    let mut bench = Bench::new(boots, settings, say);
    let all: Vec<usize> = (0..count).collect();
    let levels = match ends(&mut bench, &all)? {
        Ends::Differ(levels) => levels,
        Ends::Same => return bench.found(&all, Outcome::NoDifference),
        Ends::CannotTell => return bench.found(&all, Outcome::CannotTell),
    };
    let Some(mut groups) = collect(&mut bench, &all, &levels)? else {
        return bench.found(&all, Outcome::Unconfirmed { among: all.clone() });
    };
    shrink(&mut bench, &mut groups, &levels)?;
    reduce(&mut bench, &mut groups, &levels)?;
    let outcome = judged(&mut bench, &all, &groups, &levels)?;
    let outcome = outcome.unwrap_or(Outcome::Unconfirmed { among: all.clone() });
    bench.found(&all, outcome)
}

/// All members of these groups, ascending.
fn union<'a>(groups: impl IntoIterator<Item = &'a Vec<usize>>) -> Vec<usize> {
    let sorted: BTreeSet<usize> = groups.into_iter().flatten().copied().collect();
    sorted.into_iter().collect()
}

/// Groups of differences that together give the whole change; `None`: there are none.
fn collect<B: Boots>(
    bench: &mut Bench<'_, B>,
    all: &[usize],
    levels: &Levels,
) -> Result<Option<Vec<Vec<usize>>>, B::Error> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut low = levels.low.clone();
    let mut unbootable = Unbootable::Nothing;
    loop {
        let base = union(&groups);
        let rest: Vec<usize> = all.iter().copied().filter(|d| !base.contains(d)).collect();
        let now = Levels {
            low: low.clone(),
            high: levels.high.clone(),
        };
        // A wrong step is found out when its difference is booted alone.
        let error = (bench.settings.error, unbootable);
        let at = step(bench, &base, &rest, &now, error)?;
        let group = rest.get(at.low..at.high).unwrap_or_default().to_vec();
        if group.is_empty() {
            return Ok(None);
        }
        groups.push(group);
        let found = union(&groups);
        match bench.one(&found, 1)? {
            Ok(_) if whole(bench, &found, levels)? => return Ok(Some(groups)),
            Ok(times) => (low, unbootable) = (times, Unbootable::Nothing),
            // They do not boot without others, which are searched next.
            Err(_) => unbootable = Unbootable::Low,
        }
        if groups.len() == CULPRITS || found.len() == all.len() {
            return Ok(None);
        }
    }
}

/// The accepted error of one decision.
fn each<B: Boots>(bench: &Bench<'_, B>) -> f64 {
    bench.settings.error / 8.0
}

/// Whether nothing remains of the change that matters. What remains is booted until it
/// either is less than an eighth of the change, or for sure is there.
fn whole<B: Boots>(
    bench: &mut Bench<'_, B>,
    set: &[usize],
    levels: &Levels,
) -> Result<bool, B::Error> {
    let change = median(&levels.high) - median(&levels.low);
    let little = (bench.see() / 2.0).max(change.abs() / 8.0);
    let mut count = bench.count(set).max(1);
    loop {
        let Ok(times) = bench.one(set, count)? else {
            return Ok(false);
        };
        let rest = bench.test(&times, &levels.high);
        let remains = rest.delta.abs() > little;
        if !remains || rest.p <= each(bench) || count >= bench.settings.most {
            return Ok(!remains);
        }
        count += 1;
    }
}

/// Leaves out what the change does not need of groups that the chain could not separate, because
/// the sets between do not boot: halves, then smaller parts (ddmin: Zeller and Hildebrandt, 2002).
fn shrink<B: Boots>(
    bench: &mut Bench<'_, B>,
    groups: &mut [Vec<usize>],
    levels: &Levels,
) -> Result<(), B::Error> {
    for i in 0..groups.len() {
        let mut parts = 2;
        loop {
            let members = groups.get(i).cloned().unwrap_or_default();
            if members.len() < 2 {
                break;
            }
            let mut smaller = None;
            for part in members.chunks(members.len().div_ceil(parts)) {
                let fewer = members.iter().copied().filter(|m| !part.contains(m));
                let fewer: Vec<usize> = fewer.collect();
                let others = groups.iter().enumerate().filter(|(n, _)| *n != i);
                let set = union(others.map(|(_, g)| g).chain([&fewer]));
                let is_high = bench.is_high(&set, levels, each(bench))? == Some(true);
                if is_high && whole(bench, &set, levels)? {
                    smaller = Some(fewer);
                    break;
                }
            }
            match (smaller, groups.get_mut(i)) {
                (Some(fewer), Some(group)) => {
                    *group = fewer;
                    parts = (parts - 1).max(2);
                }
                _ if parts >= members.len() => break,
                _ => parts = (parts * 2).min(members.len()),
            }
        }
    }
    Ok(())
}

/// Leaves out each group that the change does not need.
fn reduce<B: Boots>(
    bench: &mut Bench<'_, B>,
    groups: &mut Vec<Vec<usize>>,
    levels: &Levels,
) -> Result<(), B::Error> {
    let mut i = 0;
    while groups.len() > 1 && i < groups.len() {
        let mut fewer = groups.clone();
        fewer.remove(i);
        let set = union(&fewer);
        let is_high = bench.is_high(&set, levels, each(bench))? == Some(true);
        let is_spare = is_high && whole(bench, &set, levels)?;
        match is_spare {
            true => *groups = fewer,
            false => i += 1,
        }
    }
    Ok(())
}

/// The outcome with these culprits; `None`: boots of their own do not confirm them.
fn judged<B: Boots>(
    bench: &mut Bench<'_, B>,
    all: &[usize],
    groups: &[Vec<usize>],
    levels: &Levels,
) -> Result<Option<Outcome>, B::Error> {
    let found = union(groups);
    let change = median(&levels.high) - median(&levels.low);
    let Some(together) = confirmed(bench, &[], &found, change)? else {
        return Ok(None);
    };
    let mut others = None;
    if found.len() < all.len() {
        let rest: Vec<usize> = all.iter().copied().filter(|d| !found.contains(d)).collect();
        // Without the culprits the second system is as fast as the first.
        if bench.is_high(&rest, levels, each(bench))?.is_some() {
            let times = bench.one(&rest, 1)?.unwrap_or_default();
            let first = bench.one(&[], 1)?.unwrap_or_default();
            others = Some(bench.compared(&first, &times));
        }
    }
    let mut culprits = Vec::new();
    let mut sum = 0.0;
    for (i, members) in groups.iter().enumerate() {
        let first = bench.one(&[], 1)?.unwrap_or_default();
        let alone = match bench.one(members, 1)? {
            Ok(times) => Some(bench.compared(&first, &times)),
            Err(_) => None,
        };
        sum += alone.as_ref().map_or(0.0, |a| a.delta_ns as f64);
        let mut fewer = groups.to_vec();
        fewer.remove(i);
        let left_out = match groups.len() {
            1 => None,
            _ => {
                let all = bench.one(&found, 1)?.unwrap_or_default();
                let without = bench.one(&union(&fewer), 1)?;
                without.ok().map(|times| bench.compared(&all, &times))
            }
        };
        culprits.push(Culprit {
            members: members.clone(),
            alone,
            left_out,
        });
    }
    Ok(Some(Outcome::Found {
        interact: groups.len() > 1 && sum * change.signum() < change.abs() / 2.0,
        rest_ns: change as i64 - together.delta_ns,
        culprits,
        together,
        others,
    }))
}

/// Boots a set until it differs from the first system for sure, by most of the change;
/// `None`: it does not.
fn confirmed<B: Boots>(
    bench: &mut Bench<'_, B>,
    before: &[usize],
    after: &[usize],
    change: f64,
) -> Result<Option<Comparison>, B::Error> {
    let mut count = bench.count(after).max(1);
    loop {
        let before = bench.one(before, 1)?.unwrap_or_default();
        let Ok(times) = bench.one(after, count)? else {
            return Ok(None);
        };
        let test = bench.test(&before, &times);
        let is_most = test.delta * change > 0.0 && test.delta.abs() * 2.0 > change.abs();
        if is_most && test.p <= bench.settings.error {
            return Ok(Some(bench.compared(&before, &times)));
        }
        if count >= bench.settings.most {
            return Ok(None);
        }
        count += 1;
    }
}
