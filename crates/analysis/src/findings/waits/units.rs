//! Units on the chain, and waits between them.

use super::links::{self, ROUNDING, links};
use super::{Link, alone, idle, late, tail, timeout, worth};
use crate::findings::evidence::Evidence;
use crate::findings::found::{Found, Scope};
use crate::findings::known_units::is_told;
use crate::findings::remedies::{self, remedy};
use crate::findings::text::waits as text;
use crate::findings::units::passphrases;
use crate::findings::view::View;
use crate::spans;
use record::{Nanos, Phase, SpanKind};

/// How many units, and how many waits, are told.
const MOST: usize = 4;

/// Of a unit's own time: units that went from published boots brought 0.6 to 1 of it, since
/// others take the place of what went.
const OF_UNIT: (i64, i64, i64) = (35, 70, 100);

/// Of a unit that takes most of a printed chain: what takes its place would have to be as
/// long, beside a chain that is short but for it. A guess.
const OF_MOST: (i64, i64, i64) = (50, 85, 100);

/// From which part of the chain on a unit is most of it, in percent.
const MOST_OF_CHAIN: i64 = 60;

/// Of a wait between two units of a printed chain or of a plot, whose cause stands elsewhere: in
/// published boots its removal brought 0.35 to 1 of it.
const OF_WAIT: (i64, i64, i64) = (30, 65, 100);

/// Below this part of a wait a unit does not explain it, in percent.
const EXPLAINS: i64 = 50;

/// Units without which a system does not come up, or is not safe. What mounts a file system is
/// one of them, too.
const NEEDED: [&str; 16] = [
    "apparmor.service",
    "dbus-broker.service",
    "dbus.service",
    "systemd-journald.service",
    "systemd-logind.service",
    "systemd-modules-load.service",
    "systemd-networkd.service",
    "systemd-remount-fs.service",
    "systemd-resolved.service",
    "systemd-sysctl.service",
    "systemd-sysusers.service",
    "systemd-tmpfiles-setup-dev.service",
    "systemd-tmpfiles-setup.service",
    "systemd-udevd.service",
    "systemd-update-utmp.service",
    "systemd-user-sessions.service",
];

/// What to do about a unit of a chain that leads to `goal`.
fn why(unit: &str, goal: Option<&str>) -> String {
    let (standing, usual) = if goal == Some(unit) {
        text::GOAL
    } else if NEEDED.contains(&unit) || unit.ends_with(".mount") {
        text::NEEDED_UNIT
    } else {
        text::UNIT
    };
    let helps = remedy(unit).map_or(usual, |r| r.why);
    format!("{standing} {helps}")
}

/// The units of a printed chain that take long, and of which no other rule tells.
pub(in crate::findings) fn on_chain(view: &View<'_>) -> Vec<Found> {
    let (links, is_printed) = links(view);
    if !is_printed {
        return Vec::new();
    }
    let least = worth(view);
    let mut long: Vec<&Link> = links
        .iter()
        .filter(|l| !is_told(&l.unit) && l.end - l.start >= least)
        .collect();
    long.sort_by_key(|l| std::cmp::Reverse(l.end - l.start));
    let end = links.first().map_or(Nanos::ZERO, |l| l.end);
    let whole = (end - tail::userspace(view)).max(Nanos::ZERO);
    let goal = links.first().map(|l| l.unit.as_str());
    let found = long.into_iter().take(MOST).map(|link| {
        let time = link.end - link.start;
        let is_most = whole > Nanos::ZERO && time.0 >= whole.0 / 100 * MOST_OF_CHAIN;
        let (low, expected, high) = if is_most { OF_MOST } else { OF_UNIT };
        Found::new()
            .title(text::unit(&link.unit, time))
            .why(why(&link.unit, goal))
            .evidence([Evidence {
                text: text::took(&link.unit, time, link.start, link.end),
                place: link.place.clone(),
            }])
            .parts(time, low, expected, high)
            .within(time)
            .scope(Scope::Items(vec![link.unit.clone()]))
            .names(remedies::names(&link.unit))
    });
    found.collect()
}

/// A unit that takes this part of the userspace or more, in percent, most likely delays it.
const LIKELY: i64 = 25;

/// Where the units of a log are known with their times, but not their order, a shorter one is
/// usual.
const LONG: Nanos = Nanos(1_000_000_000);

/// Of a unit's time, where nothing tells what waited for it: if it is likely to be waited
/// for, and if not.
const BLAMED: (i64, i64, i64) = (30, 75, 100);
const DOUBTFUL: (i64, i64, i64) = (0, 30, 60);

/// From this part of the longest on an instance of a template took as long, in percent.
const AS_LONG: i64 = 90;

/// `lvm2-pvscan` of `lvm2-pvscan@8:17.service`.
fn template(unit: &str) -> Option<&str> {
    unit.split_once('@').map(|(template, _)| template)
}

/// Whether systemd started the units: Android's init and the scripts of an initramfs have steps
/// with times, too, and no tools that show their order.
fn of_systemd(view: &View<'_>, spans: &[record::Span]) -> bool {
    const KINDS: [&str; 6] = [
        ".service", ".mount", ".target", ".socket", ".device", ".swap",
    ];
    let is_unit = |s: &record::Span| {
        let name = view.record.name(s.name);
        s.kind == SpanKind::Unit && KINDS.iter().any(|kind| name.ends_with(kind))
    };
    view.record.mark(record::mark::SYSTEMD_STARTED).is_some() || spans.iter().any(is_unit)
}

/// The units that took longest, where no order of units is known.
pub(in crate::findings) fn blamed(view: &View<'_>) -> Vec<Found> {
    let is_unit = |s: &&record::Span| s.kind == SpanKind::Unit;
    let spans = spans::distinct(view.record);
    if !view.record.dependencies().is_empty() {
        return Vec::new();
    }
    let has_times = spans.iter().filter(is_unit).any(|s| s.start.is_some());
    let end = view.phases.end();
    let late = late::late_unit(view).map(|(unit, _)| unit);
    let userspace = view.length(Phase::Userspace);
    let passphrases = passphrases(view, &spans);
    let mut units: Vec<(Nanos, &str, record::Origin, Nanos)> = spans
        .iter()
        .filter(is_unit)
        .filter_map(|s| {
            // What lies after first light saves nothing.
            let time = match (s.start, s.end) {
                (Some(from), Some(to)) => to.min(end) - from,
                _ => s.reported.filter(|t| !view.is_beyond_boot(*t))?,
            };
            // A person's time is another rule's: such as in the initramfs' wait for the root.
            let is_within = |p: &&(Nanos, Nanos)| s.start < Some(p.0) && Some(p.1) < s.end;
            let asked = passphrases
                .iter()
                .filter(is_within)
                .map(|p| p.1 - p.0)
                .max();
            let asked = asked.unwrap_or(Nanos::ZERO);
            Some((time - asked, view.record.name(s.name), s.origin, asked))
        })
        .filter(|(time, name, ..)| {
            // A short start among others is no cause.
            let is_work = !alone::is_device(name) && !is_told(name);
            let is_work = is_work && (!has_times || *time >= LONG);
            is_work && *time >= worth(view) && late.as_deref() != Some(*name)
        })
        .collect();
    units.sort_by_key(|(time, name, ..)| (std::cmp::Reverse(*time), *name));
    let why = match of_systemd(view, &spans) {
        true => text::BLAMED_WHY,
        false => text::STEP_WHY,
    };
    let longest = units.first().map_or(Nanos::ZERO, |u| u.0);
    // systemd starts the instances of a template at the same time. Each is one with the longest
    // that it is as long as.
    let mut kept: Vec<(Nanos, &str)> = Vec::new();
    let mut others: Vec<(&str, Nanos, &str, record::Origin)> = Vec::new();
    units.retain(|(time, unit, origin, _)| {
        let longest = kept.iter().find(|(longest, first)| {
            let is_as_long = time.0 >= longest.0 / 100 * AS_LONG;
            let is_instance = template(unit).is_some_and(|t| template(first) == Some(t));
            is_as_long && is_instance && !has_times
        });
        match longest {
            Some((_, first)) => others.push((first, *time, unit, *origin)),
            None => kept.push((*time, unit)),
        }
        kept.last().is_some_and(|last| last.1 == *unit)
    });
    let found = units
        .into_iter()
        .take(MOST)
        .map(|(time, unit, origin, asked)| {
            // Without a length of the userspace the first of the list is what counts.
            let likely = match userspace > Nanos::ZERO {
                true => time.0 >= userspace.0 / 100 * LIKELY,
                false => time == longest,
            };
            let (low, expected, high) = if likely { BLAMED } else { DOUBTFUL };
            let part = |percent: i64| Nanos(time.0 / 100 * percent);
            let alone = alone::alone(view, unit).filter(|_| asked == Nanos::ZERO);
            let (low, expected) = match alone {
                Some((least, most_likely)) => {
                    (least.max(part(low)), most_likely.max(part(expected)))
                }
                None => (part(low), part(expected)),
            };
            let mut found = Found::new();
            found.more.push_str(&remedies::more(unit));
            if asked > Nanos::ZERO {
                found.more.push_str(&text::without_passphrase(asked));
            }
            let instances = others.iter().filter(|(first, ..)| *first == unit);
            let instances: Vec<_> = instances.collect();
            if !instances.is_empty() {
                found.more.push_str(&text::instances(instances.len()));
            }
            let quotes = instances
                .iter()
                .map(|(_, time, unit, origin)| view.evidence(text::span(unit, *time), *origin));
            found
                .title(text::blamed(unit, time))
                .why(why)
                .evidence([view.evidence(text::span(unit, time + asked), origin)])
                .evidence(quotes)
                .names(instances.iter().map(|(_, _, unit, _)| *unit))
                .saving(low, expected, part(high))
                .within(time)
                .names([unit])
                .names(remedies::names(unit))
                .scope(Scope::Unknown)
        });
    found.collect()
}

/// The first unit of a chain is worth a line from so much on, and from so many percent of the
/// boot: systemd itself needs some time before it starts any.
const FIRST: Nanos = Nanos(5_000_000_000);
const FIRST_PERCENT: i64 = 10;

/// Waits in the chain: a unit became active, and the one behind it started much later. Or the
/// first unit that the chain names started long after systemd did.
pub(in crate::findings) fn between(view: &View<'_>) -> Vec<Found> {
    let (links, is_printed) = links(view);
    if !is_printed {
        return idle::stretches(view, OF_WAIT);
    }
    let least = worth(view);
    // What lies after first light saves nothing.
    let end = view.phases.end();
    let pairs = links.iter().zip(links.iter().skip(1));
    let pairs = pairs.map(|(later, earlier)| Wait {
        time: later.start.min(end) - earlier.end,
        later,
        earlier: Some(earlier),
    });
    let pairs = pairs.filter(|w| {
        w.time >= least && !timeout::is_one(view, &links, w.later) && !is_one_unit(view, w.time)
    });
    let first = links.last().map(|later| Wait {
        time: later.start.min(end) - tail::userspace(view),
        later,
        earlier: None,
    });
    let least = Nanos(view.total.0 / 100 * FIRST_PERCENT).max(FIRST);
    let mut waits: Vec<Wait<'_>> = pairs.chain(first.filter(|w| w.time >= least)).collect();
    waits.sort_by_key(|w| std::cmp::Reverse(w.time));
    let found = waits.into_iter().take(MOST).map(|wait| {
        let suspects = suspects(view, &links, wait.time);
        let names = suspects.join(", ");
        let Wait { time, later, .. } = wait;
        let is_first = wait.earlier.is_none();
        let never = never_active(view, &later.unit).filter(|_| is_first);
        let behind = match is_first && never.is_none() {
            true => started_later(view, later),
            false => Vec::new(),
        };
        let is_timeout = is_first && never.is_none() && timeout::is_before(view, later);
        let (low, expected, high) = match never {
            Some(_) if time >= timeout::MOST_OF_IT => timeout::PARTS,
            _ if is_timeout => timeout::PARTS,
            _ => OF_WAIT,
        };
        // What stands before the wait's end is not known to be a service's own work.
        let helps = remedy(&later.unit)
            .filter(|_| is_point(later))
            .map(|r| r.why);
        let is_late = later.unit.ends_with(".device") && wait.earlier.is_some();
        let helps = helps.or(is_late.then_some(text::LATE_DEVICE));
        let (title, why) = match wait.earlier {
            Some(earlier) => (
                text::wait(&later.unit, time, &earlier.unit),
                text::wait_why(&earlier.unit, &later.unit, &names, helps),
            ),
            None => (
                text::first_wait(&later.unit, time),
                text::first_wait_why(&later.unit, &names, never, &behind.join(", "), helps),
            ),
        };
        let more = if is_timeout { text::TIMED_OUT } else { "" };
        let between = [wait.earlier, Some(later)].into_iter().flatten();
        Found::new()
            .title(title)
            .why(why + more)
            .evidence(between.map(|link| Evidence {
                text: text::took(&link.unit, link.end - link.start, link.start, link.end),
                place: link.place.clone(),
            }))
            .parts(time, low, expected, high)
            .within(time)
            .names(
                [Some(later), wait.earlier]
                    .into_iter()
                    .flatten()
                    .map(|l| l.unit.clone()),
            )
            .names(never)
            .names(remedies::names(&later.unit).filter(|_| helps.is_some()))
            .names(behind)
            .names(suspects)
    });
    found.collect()
}

/// Whether a unit of which another rule tells takes as long as a wait: it is the wait.
fn is_one_unit(view: &View<'_>, wait: Nanos) -> bool {
    let units = spans::distinct(view.record);
    let mut units = units.iter().filter(|s| s.kind == SpanKind::Unit);
    units.any(|s| {
        let fits = |time: Nanos| links::is_as_long(time, wait);
        is_told(view.record.name(s.name)) && s.duration().is_some_and(fits)
    })
}

/// The unit that a chain names behind one without a time: it never became active.
fn never_active<'v>(view: &'v View<'_>, unit: &str) -> Option<&'v str> {
    let record = view.record;
    let behind = record
        .dependencies()
        .iter()
        .filter(|d| record.name(d.from) == unit);
    let mut behind = behind.map(|d| d.to);
    let has_time = |name: record::NameId| {
        let spans = record.spans().iter();
        spans
            .filter(|s| s.kind == SpanKind::Unit)
            .any(|s| s.name == name)
    };
    behind.find(|to| !has_time(*to)).map(|to| record.name(to))
}

/// The units that a chain names behind its last one, although they became active later: that
/// one did not wait for them, but all of them may have waited for the same.
fn started_later<'v>(view: &'v View<'_>, last: &'v Link) -> Vec<&'v str> {
    let record = view.record;
    let starts_later = |name: record::NameId| {
        let mut spans = record.spans().iter();
        spans.any(|s| {
            s.kind == SpanKind::Unit && s.name == name && s.start.is_some_and(|t| t > last.start)
        })
    };
    let mut found: Vec<&str> = Vec::new();
    let mut unit = last.unit.as_str();
    let mut behind = record.dependencies().iter();
    while let Some(next) = behind.find(|d| record.name(d.from) == unit && starts_later(d.to)) {
        unit = record.name(next.to);
        found.push(unit);
        if found.len() == MOST {
            break;
        }
    }
    found
}

/// Whether a unit of a chain is active at once when what it waits for is: a target, a device.
fn is_point(link: &Link) -> bool {
    link.end - link.start <= ROUNDING
}

/// A time on the chain in which no unit of it starts.
struct Wait<'a> {
    time: Nanos,
    later: &'a Link,
    /// The unit before; `None` at the start of userspace.
    earlier: Option<&'a Link>,
}

/// The units beside the chain that are long enough to explain a wait, the longest first.
fn suspects(view: &View<'_>, links: &[Link], wait: Nanos) -> Vec<String> {
    let on_chain = |name: &str| links.iter().any(|l| l.unit == name);
    let enough = Nanos(wait.0 / 100 * EXPLAINS);
    let mut found: Vec<(Nanos, &str)> = spans::distinct(view.record)
        .iter()
        .filter(|s| s.kind == SpanKind::Unit)
        .filter_map(|s| Some((s.duration()?, view.record.name(s.name))))
        .filter(|(time, name)| *time >= enough && !on_chain(name))
        .collect();
    found.sort_by_key(|(time, name)| (std::cmp::Reverse(*time), *name));
    found.dedup();
    let names = found.into_iter().map(|(_, name)| name.to_owned());
    names.take(3).collect()
}
