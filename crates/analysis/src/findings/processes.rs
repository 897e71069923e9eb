//! Programs: how many start, and what they look for when they do.

use super::found::{Found, Scope};
use super::probes::count;
use super::requests::streamed;
use super::text::processes as text;
use super::view::{View, times};
use crate::summary::union;
use record::{AccessKind, Nanos, Process};
use std::collections::{BTreeMap, BTreeSet};

/// So many programs before first light are worth counting.
const MANY: usize = 150;

/// A script that sleeps so often does it in a loop.
const LOOP: usize = 3;

/// A program that lives no longer than this did little but start.
const SHORT: Nanos = Nanos::from_millis(50);

/// What the script runs that watches the boot: no part of the boot.
const WATCHER: &str = "bootchartd";

/// The processes of programs that began before first light.
pub(super) fn begun<'a>(view: &'a View<'_>) -> impl Iterator<Item = &'a Process> {
    let end = view.phases.end();
    let all = view.record.processes();
    let is_watcher = |p: &&Process| p.pid != 1 && view.record.name(p.name) == WATCHER;
    let watchers: BTreeSet<u32> = all.iter().filter(is_watcher).map(|p| p.pid).collect();
    all.iter().filter(move |p| {
        let is_watching = p.parent.is_some_and(|parent| watchers.contains(&parent));
        !p.kernel_thread && !is_watching && p.start.is_some_and(|s| s <= end)
    })
}

/// The programs of which `is` says so by their names, each with the time that it ran before
/// first light; in the record's order.
pub(super) fn lived<'a>(
    view: &'a View<'_>,
    is: impl Fn(&str) -> bool,
) -> Vec<(Nanos, &'a Process)> {
    let end = view.phases.end();
    let named = begun(view).filter(|p| is(view.record.name(p.name)));
    let each = named.filter_map(|p| Some((p.end?.min(end) - p.start?, p)));
    each.filter(|(time, _)| *time > Nanos::ZERO).collect()
}

/// Processes that are forked in masses.
pub(super) fn forks(view: &View<'_>) -> Option<Found> {
    let short: Vec<&Process> = begun(view)
        .filter(|p| p.start.zip(p.end).is_some_and(|(s, e)| e - s <= SHORT))
        .collect();
    if short.len() < MANY {
        return None;
    }
    let mut lives: Vec<Nanos> = short
        .iter()
        .filter_map(|p| Some(p.end? - p.start?))
        .collect();
    lives.sort();
    let middle = lives.get(lives.len() / 2).copied().unwrap_or_default();
    let time = times(short.len() as u64, middle.0);
    let mut by_name: BTreeMap<&str, (usize, &Process)> = BTreeMap::new();
    for p in &short {
        by_name.entry(view.record.name(p.name)).or_insert((0, p)).0 += 1;
    }
    let mut names: Vec<(usize, &str, &Process)> =
        by_name.into_iter().map(|(n, (c, p))| (c, n, p)).collect();
    names.sort_by_key(|(c, n, _)| (std::cmp::Reverse(*c), *n));
    let evidence = names
        .iter()
        .take(super::evidence::SHOWN)
        .map(|(n, name, p)| view.evidence(text::ran(name, count(*n, "time", "times")), p.origin));
    let why = text::forks_why(short.len(), middle);
    Some(
        Found::new()
            .title(text::forks(short.len()))
            .why(why)
            .evidence(evidence)
            .parts(time, 5, 40, 90)
            .scope(Scope::Unknown),
    )
}

/// Interpreters that are dear to start.
const INTERPRETERS: [&str; 8] = [
    "java", "node", "perl", "php", "python", "python2", "python3", "ruby",
];

fn is_interpreter(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.contains(&name) || INTERPRETERS.contains(&stem)
}

/// Interpreted programs before first light.
pub(super) fn interpreters(view: &View<'_>) -> Option<Found> {
    let end = view.phases.end();
    let mut found: Vec<(Nanos, &Process)> = begun(view)
        .filter(|p| is_interpreter(view.record.name(p.name)))
        .map(|p| {
            let start = p.start.unwrap_or(p.first_seen);
            let lived = p.end.unwrap_or(p.last_seen).min(end) - start;
            let cpu = match (p.user, p.system) {
                (None, None) => None,
                (u, s) => Some(u.unwrap_or_default() + s.unwrap_or_default()),
            };
            (cpu.unwrap_or(lived), p)
        })
        .filter(|(time, _)| *time > Nanos::ZERO)
        .collect();
    found.sort_by_key(|(time, p)| (std::cmp::Reverse(*time), p.origin));
    found.first()?;
    let all = found.iter().fold(Nanos::ZERO, |sum, (t, _)| sum + *t);
    let evidence = found.iter().take(super::evidence::SHOWN).map(|(time, p)| {
        let name = view.record.name(p.name);
        view.evidence(text::interpreter(name, p.pid, time), p.origin)
    });
    Some(
        Found::new()
            .title(text::interpreters(count(
                found.len(),
                "interpreter starts",
                "interpreters start",
            )))
            .evidence(evidence)
            .parts(all, 0, 40, 90)
            .scope(Scope::Unknown),
    )
}

/// Programs that do nothing but wait.
///
/// What still sleeps when the boot ends looks after something in the background:
/// nothing waited for it.
pub(super) fn sleeps(view: &View<'_>) -> Option<Found> {
    let end = view.phases.end();
    let mut of_parents: BTreeMap<Option<u32>, Vec<(Nanos, &Process)>> = BTreeMap::new();
    for p in begun(view).filter(|p| view.record.name(p.name) == "sleep") {
        let Some((start, until)) = p.start.zip(p.end.or(Some(end))) else {
            continue;
        };
        let of_parent = of_parents.entry(p.parent).or_default();
        of_parent.push((until - start, p));
    }
    of_parents.retain(|parent, sleeps| {
        let longest = sleeps.iter().map(|(time, _)| *time).max();
        let last = sleeps.iter().map(|(_, p)| p.end.unwrap_or(end)).max();
        let goes_on = (last.zip(longest)).is_some_and(|(last, longest)| last + longest >= end);
        parent.is_none() || sleeps.len() < LOOP || !goes_on
    });
    let mut found: Vec<(Nanos, &Process)> = of_parents.into_values().flatten().collect();
    found.retain(|(t, p)| p.end.is_some() && *t >= Nanos::from_millis(20));
    found.sort_by_key(|(time, p)| (std::cmp::Reverse(*time), p.origin));
    found.first()?;
    let all = union(
        found
            .iter()
            .filter_map(|(_, p)| Some((p.start?, p.end?.min(end)))),
    );
    let evidence = found.iter().take(super::evidence::SHOWN).map(|(time, p)| {
        let command = p.command.map(|c| view.record.name(c)).unwrap_or("sleep");
        view.evidence(text::slept(command, time), p.origin)
    });
    Some(
        Found::new()
            .title(text::sleeps(all))
            .evidence(evidence)
            .parts(all, 20, 80, 100)
            .scope(Scope::Unknown),
    )
}

/// What a failed look-up takes where the trace does not say it.
const LOOKUP: Nanos = Nanos(20_000);

/// Files that were looked for where they are not.
pub(super) fn misses(view: &View<'_>) -> Option<Found> {
    let end = view.phases.end();
    let mut by_folder: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut n, mut time, mut first) = (0_u64, Nanos::ZERO, None);
    for a in view.record.accesses() {
        let path = a.path.map_or("", |p| view.record.name(p));
        let library = path.contains(".so");
        if a.kind != AccessKind::Miss || a.at > end || !library || path.ends_with("ld.so.preload") {
            continue;
        }
        n += 1;
        time = time + a.took.get().unwrap_or(LOOKUP);
        first = first.or(Some(a.origin));
        let folder = path.rsplit_once('/').map_or("", |(f, _)| f);
        *by_folder.entry(folder).or_default() += 1;
    }
    if n < 10 {
        return None;
    }
    let worst = by_folder.iter().max_by_key(|(f, n)| (**n, **f));
    let evidence = first.zip(worst).map(|(origin, (folder, of_folder))| {
        let text = text::missed(of_folder, n, folder);
        view.evidence(text, origin)
    });
    Some(
        Found::new()
            .title(text::misses(n))
            .evidence(evidence)
            .parts(time, 30, 90, 120)
            .scope(Scope::Unknown),
    )
}

/// So many different libraries are worth a word.
const MANY_LIBRARIES: usize = 30;

/// From one library to the next the dynamic linker finds, reads and maps it; in longer pauses
/// the program does something else, and loads the next one itself.
const LOADED: Nanos = Nanos::from_millis(100);

/// Of the time from the first library to the last one, in percent, if nothing says how much of
/// it the bytes alone take. A program of 96 libraries took 35 ms from its first library to its
/// last one from memory and 320 ms from a USB stick; linked into one library it started 51 and
/// 279 ms sooner (`experiments/libraries`): where nothing is read, looking up symbols in fewer
/// libraries comes on top.
const OF_LOADING: (i64, i64, i64) = (30, 80, 150);

/// A look-up of a library.
struct Look<'a> {
    path: &'a str,
    at: Nanos,
    took: Nanos,
    is_miss: bool,
    origin: record::Origin,
}

/// A program that opens many libraries.
pub(super) fn libraries(view: &View<'_>) -> Option<Found> {
    let end = view.phases.end();
    let mut by_process: BTreeMap<Option<u32>, Vec<Look<'_>>> = BTreeMap::new();
    for a in view.record.accesses() {
        let path = a.path.map_or("", |p| view.record.name(p));
        let is_look = matches!(a.kind, AccessKind::Open | AccessKind::Miss);
        if is_look && a.at <= end && path.contains(".so") {
            by_process.entry(a.pid).or_default().push(Look {
                path,
                at: a.at,
                took: a.took.get().unwrap_or(LOOKUP),
                is_miss: a.kind == AccessKind::Miss,
                origin: a.origin,
            });
        }
    }
    let opened = |looks: &[Look<'_>]| {
        let opened = looks.iter().filter(|l| !l.is_miss).map(|l| l.path);
        opened.collect::<BTreeSet<_>>().len()
    };
    let (pid, mut most) = by_process
        .into_iter()
        .max_by_key(|(pid, looks)| (opened(looks), std::cmp::Reverse(*pid)))?;
    let count = opened(&most);
    if count < MANY_LIBRARIES {
        return None;
    }
    most.sort_by_key(|l| l.at);
    let (first, last) = most.first().zip(most.last())?;
    // Look-ups in vain are another finding.
    let next = most.iter().skip(1).map(|l| Some(l.at)).chain([None]);
    let each = most.iter().zip(next).map(|(look, next)| {
        let until_next = next.map(|at| at - look.at).filter(|t| *t <= LOADED);
        match look.is_miss {
            true => Nanos::ZERO,
            false => until_next.unwrap_or(look.took).max(look.took),
        }
    });
    let time = each.fold(Nanos::ZERO, |sum, t| sum + t);
    let (low, expected, high) = OF_LOADING;
    let part = |percent: i64| Nanos(time.0 / 100 * percent);
    let bytes = streamed(view, first.at, last.at + last.took);
    let expected = match bytes {
        // The same bytes are read of one library.
        Some(bytes) => (time - bytes).max(part(low)),
        None => part(expected),
    };
    let evidence = most
        .iter()
        .find(|l| !l.is_miss)
        .map(|l| view.evidence(text::loading(l.path, time), l.origin));
    let who = pid.map_or_else(String::new, text::by);
    Some(
        Found::new()
            .title(text::libraries(count, who))
            .evidence(evidence)
            .saving(part(low), expected, part(high))
            .scope(Scope::Unknown),
    )
}
