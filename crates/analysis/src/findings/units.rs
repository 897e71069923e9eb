//! Units that first light waited for.

use super::evidence::Evidence;
use super::found::{Found, Scope};
use super::fstab;
use super::known_units::{
    CRYPTSETUP, JOURNAL_FLUSH, OPTIONAL, REBUILDS, SPLASH, WAITS, is_told, is_unit, what_is_lost,
};
use super::modules::is_alone;
use super::remedies;
use super::text::units as text;
use super::udev_units::is_settle;
use super::view::{Line, View};
use super::waits;
use super::work::computed;
use crate::chain::{ChainLink, critical_chain};
use crate::path::{PathKind, SETTLE_SHARED, UnitOrder};
use crate::spans;
use crate::summary::union;
use record::{Nanos, SpanKind};

/// How long a unit took to start, and the evidence, up to first light.
pub(super) struct Started {
    pub name: String,
    pub time: Nanos,
    pub evidence: Evidence,
}

/// The units that `wanted` picks and that took time before first light, the
/// longest first.
pub(super) fn started(view: &View<'_>, wanted: impl Fn(&str) -> bool) -> Vec<Started> {
    let end = view.phases.end();
    let mut found = Vec::new();
    for span in spans::distinct(view.record).iter() {
        let name = view.record.name(span.name);
        if span.kind != SpanKind::Unit || !wanted(name) {
            continue;
        }
        let time = match (span.start, span.end) {
            // What lies after first light would save nothing.
            (Some(from), Some(to)) => to.min(end) - from,
            _ => span.reported.unwrap_or_default(),
        };
        if time <= Nanos::ZERO || span.start.is_none() && view.is_beyond_boot(time) {
            continue;
        }
        let text = match (span.start, span.end) {
            (Some(from), Some(to)) => text::took_from(name, to - from, from, to),
            _ => text::took(name, time),
        };
        found.push(Started {
            name: name.to_owned(),
            time,
            evidence: view.evidence(text, span.origin),
        });
    }
    found.sort_by(|a, b| (b.time, &a.name).cmp(&(a.time, &b.name)));
    found
}

/// What first light has to do with a unit, in a sentence.
fn waited(view: &View<'_>, unit: &str) -> &'static str {
    let path = view.path();
    let is_known = path.order != UnitOrder::Guessed;
    let on_path = is_known && path.items.iter().any(|i| i.name == unit);
    match waits::is_before_a_longer_wait(view, unit) {
        Some(true) => text::LONGER_WAIT,
        Some(false) => text::WAITED,
        None if on_path => text::WAITED,
        None if waits::fills_a_wait(view, unit).is_some() => text::FILLS,
        None if waits::late_unit(view).is_some_and(|(late, _)| late == unit) => text::LATE,
        None if path.knows_units => text::NOT_WAITED,
        None => text::UNKNOWN,
    }
}

/// A finding of one unit that can go.
fn goes(unit: Started, title: String, why: String) -> Found {
    let time = unit.time;
    Found::new()
        .title(title)
        .why(why)
        .evidence([unit.evidence])
        .saving(time, time, time)
        .within(time)
        .treatment(format!("mask={}", unit.name))
        .scope(Scope::Items(vec![unit.name]))
}

/// What first light would gain if a link of the chain took half its time: what the
/// critical path says, or half of it up to its slack where the path has no such unit.
fn gain_if_halved(view: &View<'_>, link: &ChainLink) -> Nanos {
    let mut units = view.path().items.iter();
    let item = units.find(|i| i.kind == PathKind::Unit && i.name == link.unit);
    match item {
        Some(item) => item.saving_if_halved.min(item.end - item.start),
        None => Nanos((link.end - link.start).0 / 2).min(link.slack),
    }
}

/// A unit of the chain that takes this part of the boot is told whatever it brings, in
/// percent.
const LONG_PERCENT: i64 = 10;

/// The unit that first light waited for and that brings the most if it takes half its
/// time, of those that no other rule tells of.
///
/// A unit of a long time is told even if another way is as long: then the two must go.
pub(super) fn longest(view: &View<'_>) -> Option<Found> {
    let (_, is_printed) = waits::links(view);
    if is_printed {
        return None;
    }
    let chain = critical_chain(view.record, view.phases);
    let length = |link: &ChainLink| link.end - link.start;
    let kept = chain.iter().filter(|l| !is_told(&l.unit));
    let gains = kept.map(|l| (gain_if_halved(view, l), l));
    let long = view.total.0 / 100 * LONG_PERCENT;
    let gains = gains.filter(|(gain, l)| *gain > Nanos::ZERO || length(l).0 >= long.max(1));
    let (expected, link) = gains.max_by_key(|(gain, l)| (*gain, length(l), l.slack))?;
    let waited: Vec<&str> = chain.iter().take(6).map(|l| l.unit.as_str()).collect();
    let title = text::longest(
        &link.unit,
        match view.phases.first_light {
            Some(_) => text::FIRST_LIGHT,
            None => text::LAST_UNIT,
        },
    );
    let why = text::longest_why(
        waited.join(", "),
        if chain.len() > 6 { ", ..." } else { "" },
    );
    let text = text::took_from(&link.unit, length(link), link.start, link.end);
    Some(
        Found::new()
            .title(title)
            .why(why)
            .evidence([Evidence {
                text,
                place: link.origin.clone(),
            }])
            .saving(Nanos::ZERO, expected, length(link))
            .within(length(link))
            .names([link.unit.clone()]),
    )
}

/// Units that the boot works without.
pub(super) fn spare(view: &View<'_>) -> Vec<Found> {
    let units = started(view, |name| what_is_lost(name).is_some());
    let found = units.into_iter().map(|unit| {
        let lost = what_is_lost(&unit.name).unwrap_or_default();
        let title = text::spare(&unit.name, unit.time);
        let why = text::spare_why(waited(view, &unit.name));
        goes(unit, title, why).cost(lost)
    });
    found.collect()
}

/// Units that wait for something that first light rarely needs.
pub(super) fn waits(view: &View<'_>) -> Vec<Found> {
    let known = |name: &str| WAITS.iter().find(|w| is_unit(name, w.0));
    let units = started(view, |name| known(name).is_some());
    let found = units.into_iter().filter_map(|unit| {
        let (_, what, lost) = known(&unit.name)?;
        let title = text::waits(&unit.name, unit.time, what);
        let shared = is_settle(&unit.name) && is_alone(view);
        let beside = match shared {
            true => text::SHARED,
            false if unit.name == SPLASH => text::SPLASH,
            false => "",
        };
        let why = text::waits_why(waited(view, &unit.name), beside) + &remedies::more(&unit.name);
        let (time, names) = (unit.time, remedies::names(&unit.name));
        let is_splash = unit.name == SPLASH;
        let mut found = goes(unit, title, why).cost(*lost).names(names);
        if is_splash && let Some(manager) = display_manager(view, time) {
            found.more.push_str(&text::manager(&manager.name));
            let helps = remedies::names(&manager.name);
            found = found
                .evidence([manager.evidence])
                .names(helps)
                .names([manager.name]);
        }
        Some(match shared {
            true => found.parts(time, 0, SETTLE_SHARED, 100),
            false => found,
        })
    });
    found.collect()
}

/// The display manager, if it starts for most of the time in which the splash is shown.
fn display_manager(view: &View<'_>, splash: Nanos) -> Option<Started> {
    let mut managers = started(view, remedies::is_display_manager).into_iter();
    managers.find(|m| m.time.0 >= splash.0 / 100 * MOST_OF_SPLASH)
}

/// In percent.
const MOST_OF_SPLASH: i64 = 60;

/// Caches that are made at boot.
pub(super) fn rebuilds(view: &View<'_>) -> Vec<Found> {
    let known = |name: &str| REBUILDS.iter().find(|w| w.0 == name);
    let units = started(view, |name| known(name).is_some());
    let found = units.into_iter().filter_map(|unit| {
        let (_, what) = known(&unit.name)?;
        let title = text::rebuild(&unit.name, what);
        let why = text::rebuild_why(waited(view, &unit.name));
        // It sleeps for nothing, but on one processor others run while it reads.
        let time = unit.time;
        let work = computed(view, std::slice::from_ref(&unit.name));
        let found = goes(unit, title, why);
        Some(match work {
            Some(work) => found.saving(Nanos(work.0 / 2), work.min(time), time),
            None => found,
        })
    });
    found.collect()
}

/// Units that a product may not need.
pub(super) fn optional(view: &View<'_>) -> Vec<Found> {
    let known = |name: &str| OPTIONAL.iter().find(|w| is_unit(name, w.0));
    let units = started(view, |name| known(name).is_some());
    let found = units.into_iter().filter_map(|unit| {
        let (_, lost) = known(&unit.name)?;
        let title = text::optional(&unit.name, unit.time);
        let why = text::optional_why(waited(view, &unit.name)) + &remedies::more(&unit.name);
        let (time, names) = (unit.time, remedies::names(&unit.name));
        let found = goes(unit, title, why).cost(*lost).names(names);
        Some(found.saving(Nanos::ZERO, time, time))
    });
    found.collect()
}

/// Whether a unit checks a file system.
fn checks(unit: &str) -> bool {
    unit == "systemd-fsck-root.service" || unit.starts_with("systemd-fsck@")
}

/// Whether a unit starts one of systemd's own programs, other than that for checks.
fn is_own_program(unit: &str) -> bool {
    unit.starts_with("systemd-") && unit.ends_with(".service") && !checks(unit)
}

/// File systems are checked at boot.
pub(super) fn fsck(view: &View<'_>) -> Option<Found> {
    let units = started(view, checks);
    if units.is_empty() || view.value("fsck.mode") == Some("skip") {
        return None;
    }
    // Those of several disks run beside one another.
    let all = together(view, checks);
    // The program that a unit starts reads the word, and so starts all the same
    // (`src/fsck/fsck.c` of systemd).
    let starts = i64::try_from(units.len()).unwrap_or(1);
    let start = shortest_start(view).unwrap_or_default();
    let left = Nanos(start.0.saturating_mul(starts)).min(Nanos(all.0 / 100 * MOST_OF_CHECK));
    let names: Vec<String> = units.iter().map(|u| u.name.clone()).collect();
    let (low, expected) = match computed_by_checks(view, &names) {
        Some(computed) => (Nanos(computed.0 / 2), computed),
        None => (Nanos((all - left).0 / 2), all - left),
    };
    Some(
        Found::new()
            .evidence(
                units
                    .into_iter()
                    .take(super::evidence::SHOWN)
                    .map(|u| u.evidence),
            )
            .saving(low, expected.min(all), all)
            .scope(Scope::Items(names))
            .treatment("cmdline+=fsck.mode=skip"),
    )
}

/// The unit of the daemon that shows how far checks are, which starts for them.
const CHECKS_SHOWN: &str = "systemd-fsckd.service";

/// On one processor others run while checks read. What first light gains is what the checks
/// compute more than the start of one of systemd's own programs, which remains, and the daemon.
/// `None` if there are more, or if a control group was not asked.
fn computed_by_checks(view: &View<'_>, units: &[String]) -> Option<Nanos> {
    if !is_alone(view) {
        return None;
    }
    let spans = view.record.spans().iter();
    let programs = spans.filter(|s| {
        let name = view.record.name(s.name);
        s.kind == SpanKind::Unit && is_own_program(name) && name != CHECKS_SHOWN
    });
    let times = programs.filter_map(|s| s.processor);
    let start = times.filter(|t| *t > Nanos::ZERO).min()?;
    let mut times = units.iter().map(|unit| view.processor_time(unit));
    let checks = times.try_fold(Nanos::ZERO, |sum, time| Some(sum + (time? - start)))?;
    let daemon = computed(view, &[CHECKS_SHOWN.to_owned()]).unwrap_or_default();
    Some(checks.max(Nanos::ZERO) + daemon)
}

/// How long at least one of these units started before first light; of those of which only
/// the length is known, their sum.
fn together(view: &View<'_>, wanted: impl Fn(&str) -> bool) -> Nanos {
    let end = view.phases.end();
    let spans = spans::distinct(view.record);
    let units = || {
        let units = spans.iter().filter(|s| s.kind == SpanKind::Unit);
        units.filter(|s| wanted(view.record.name(s.name)))
    };
    let times = units().filter_map(|s| Some((s.start?, s.end?.min(end))));
    let alone = units().filter(|s| s.start.is_none() || s.end.is_none());
    let alone = alone.filter_map(|s| s.reported.filter(|t| !view.is_beyond_boot(*t)));
    alone.fold(union(times.filter(|(a, b)| a < b)), |sum, t| sum + t)
}

/// Of checks no more than this is the start of their programs, in percent: of a list that was
/// cut the shortest units are missing.
const MOST_OF_CHECK: i64 = 50;

/// What systemd's own programs take at least to start and end in this boot.
fn shortest_start(view: &View<'_>) -> Option<Nanos> {
    let end = view.phases.end();
    let spans = spans::distinct(view.record);
    let programs = spans.iter().filter(|s| {
        let name = view.record.name(s.name);
        // One that first light cut is not shorter.
        is_own_program(name) && s.kind == SpanKind::Unit && s.end.is_none_or(|at| at <= end)
    });
    let times = programs.filter_map(record::Span::duration);
    times.filter(|t| *t > Nanos::ZERO).min()
}

/// The journal is moved to the disk during the boot.
pub(super) fn journal_flush(view: &View<'_>) -> Option<Found> {
    let unit = started(view, |name| name == JOURNAL_FLUSH)
        .into_iter()
        .next()?;
    let why = text::journal_why(waited(view, &unit.name)) + &remedies::more(&unit.name);
    let title = text::journal(&unit.name, unit.time);
    Some(goes(unit, title, why).treatment("journald=volatile"))
}

/// Generators that take no longer are not worth a word.
const SHORT_GENERATORS: Nanos = Nanos::from_millis(30);

/// How the names of units begin that systemd's own generators make, of the console, of
/// /etc/fstab and of partitions (`systemd-getty-generator`, `systemd-fstab-generator`,
/// `systemd-gpt-auto-generator`, `systemd-hibernate-resume-generator`).
const GENERATED: [&str; 6] = [
    "serial-getty@",
    "systemd-fsck",
    "systemd-growfs",
    "systemd-hibernate-resume@",
    "systemd-remount-fs.",
    "systemd-swapon",
];

/// The generators run before any unit does.
pub(super) fn generators(view: &View<'_>) -> Option<Found> {
    let (begin, end) = (
        view.record.mark("generators-start")?,
        view.record.mark("generators-finish")?,
    );
    let time = end.at - begin.at;
    if time < SHORT_GENERATORS {
        return None;
    }
    let text = text::generators_ran(begin.at, end.at);
    // Units that nothing generates do not start either.
    let is_generated = |name: &str| GENERATED.iter().any(|g| name.starts_with(g));
    let units = started(view, is_generated);
    let of_units = units.iter().fold(Nanos::ZERO, |sum, u| sum + u.time);
    let shown = units.into_iter().take(super::evidence::SHOWN);
    Some(
        Found::new()
            .title(text::generators(time))
            .evidence([view.evidence(text, begin.origin)])
            .evidence(shown.map(|u| u.evidence))
            .saving(Nanos(time.0 / 10), time, time + of_units),
    )
}

/// How long systemd waits for a device: `DefaultTimeoutStartSec=`.
const DEVICE_TIMEOUT: Nanos = Nanos(90_000_000_000);

/// How much later systemd goes on after each.
const AFTER_TIMEOUT: Nanos = Nanos(2_500_000_000);

/// How often in a row systemd waited for a device that timed out for the last time so long
/// after it began: the job of a swap or a mount is often asked for again.
fn timeouts(since: Nanos) -> Nanos {
    let count = since.0 / DEVICE_TIMEOUT.0;
    let all = Nanos(count.saturating_mul(DEVICE_TIMEOUT.0));
    let late = Nanos(count.saturating_mul(AFTER_TIMEOUT.0));
    match since - all <= late {
        true => all.max(since.min(DEVICE_TIMEOUT)),
        false => since.min(DEVICE_TIMEOUT),
    }
}

/// How systemd says that it has waited for a device in vain.
pub(super) const NEVER_CAME: &str = "Timed out waiting for device";

/// What it says of the job as well: `a.device: Job a.device/start timed out.` An excerpt may
/// have this line alone.
pub(super) const JOB_TIMED_OUT: &str = ".device/start timed out";

/// And how later versions say it a second time.
pub(super) const JOB_FAILED: &str = ".device/start failed with result 'timeout'";

/// The device of a line that says that it never came.
fn never_came<'a>(line: &Line<'a>) -> Option<&'a str> {
    let unit = match line.behind(NEVER_CAME) {
        Some(rest) => rest.strip_prefix(' ')?.split_whitespace().next()?,
        None => {
            let says = [JOB_TIMED_OUT, JOB_FAILED];
            let end = says.iter().find_map(|s| line.text.find(s))? + ".device".len();
            line.text.get(..end)?.rsplit(' ').next()?
        }
    };
    Some(unit.trim_end_matches(['.', ':']))
}

/// The line right before one of those, if it says the same of the job: what was silent before it
/// was so for this reason.
fn job_before<'v>(view: &'v View<'_>, line: &Line<'_>) -> Option<Line<'v>> {
    let before = view.line(line.at.checked_sub(1)?)?;
    let is_near = before.message.origin.source == line.message.origin.source;
    let says = before.text.contains(".device") && before.text.contains("timed out");
    (is_near && says).then_some(before)
}

/// A device that a unit waits for never comes.
pub(super) fn missing_devices(view: &View<'_>) -> Option<Found> {
    let lines = || {
        let says = [NEVER_CAME, JOB_TIMED_OUT, JOB_FAILED].into_iter();
        says.flat_map(|s| view.said(s))
    };
    let line = lines().next()?;
    let unit = never_came(&line)?;
    let last = lines()
        .filter(|l| l.text.contains(unit))
        .filter_map(|l| l.message.at);
    let last = last.max().or(line.message.at);
    let folder = fstab::folder_of(view, unit);
    // The jobs began when systemd did. An excerpt may show only this one's.
    let expected = || {
        let mut expected = view.said(EXPECTS).filter(|l| l.text.contains(unit));
        expected.find_map(|l| l.message.at)
    };
    let begun = view
        .record
        .mark(record::mark::SYSTEMD_STARTED)
        .or(view.record.mark(record::mark::USERSPACE_START))
        .map(|m| m.at)
        .or_else(expected);
    let waited = match (begun, last) {
        (Some(from), Some(to)) => timeouts(to - from),
        _ => DEVICE_TIMEOUT,
    };
    let mut found = Found::new()
        .title(text::missing_device(unit))
        .evidence(
            [Some(line), job_before(view, &line)]
                .iter()
                .flatten()
                .map(|l| view.quote(l)),
        )
        .parts(waited, 50, 95, 100)
        .within(waited)
        .names([unit])
        .maybe_treatment(folder.map(|folder| format!("fstab={folder}:+nofail")));
    if waited > DEVICE_TIMEOUT {
        let count = waited.0 / DEVICE_TIMEOUT.0;
        found.more.push_str(&text::timed_out_again(count));
    }
    found.more.push_str(&remedies::more(unit));
    Some(found.names(remedies::names(unit)))
}

/// How systemd says that it waits for a device, and that it came.
pub(super) const EXPECTS: &str = "systemd[1]: Expecting device ";
pub(super) const CAME: &str = "Found device ";

/// What a line has that says that a probe failed, beside the word `probe`.
pub(super) const FAILS: &str = " failed";

/// Of the wait for a device whose driver failed: another unit may take as long, or none waits.
const OF_FAILED: (i64, i64, i64) = (0, 90, 100);

/// A shorter word names no driver.
const SHORTEST_DRIVER: usize = 3;

/// systemd waits for a device, and the driver that would make it failed before.
pub(super) fn failed_devices(view: &View<'_>) -> Option<Found> {
    view.said(EXPECTS).find_map(|line| {
        let unit = line.behind(EXPECTS)?.split_whitespace().next()?;
        let unit = unit.trim_end_matches('.');
        let device = unit.strip_prefix("dev-")?.strip_suffix(".device")?;
        let mut failed = view.said(FAILS).filter(|l| l.text.contains("probe"));
        let failure = failed.find(|l| drives(l.text, device))?;
        let has_come = view.said(CAME).any(|l| l.text.contains(unit));
        // A boot that was done meanwhile did not wait longer.
        let at = line.message.at?;
        let light = view.phases.first_light.as_ref().map(|f| f.at - at);
        let waited = light.map_or(DEVICE_TIMEOUT, |light| light.min(DEVICE_TIMEOUT));
        if failure.message.at? > at || has_come || waited <= Nanos::ZERO {
            return None;
        }
        let (low, expected, high) = OF_FAILED;
        let found = Found::new()
            .title(text::failed_device(unit))
            .why(text::FAILED_DEVICE_WHY)
            .evidence([view.quote(&failure), view.quote(&line)])
            .parts(waited, low, expected, high)
            .within(waited)
            .names([unit, device]);
        Some(found)
    })
}

/// Whether the driver that a line begins with makes devices of such a name: `tpm_tis` makes
/// `tpmrm0`, and `mmc0` makes `mmcblk0`.
fn drives(text: &str, device: &str) -> bool {
    let Some((head, _)) = text.split_once(':') else {
        return false;
    };
    let words = head.split(|c: char| !c.is_ascii_alphanumeric());
    let mut names = words.map(|w| w.trim_end_matches(|c: char| c.is_ascii_digit()));
    names.any(|n| n.len() >= SHORTEST_DRIVER && device.starts_with(n))
}

/// How the prompts for the passphrase of a disk begin: those of systemd and its agents, and
/// of cryptsetup.
pub(super) const PROMPTS: [&str; 4] = [
    "Starting password query on",
    "Please enter passphrase for disk",
    "Please unlock disk",
    "Enter passphrase for /dev/",
];

/// Of the time until a disk is unlocked: a key derivation of 1 to 2 s stays.
const OF_PASSPHRASE: (i64, i64, i64) = (40, 85, 100);

/// A key alone is derived in less.
const DERIVED: Nanos = Nanos(3_000_000_000);

/// When disks waited for their passphrases.
pub(super) fn passphrases(view: &View<'_>, spans: &[record::Span]) -> Vec<(Nanos, Nanos)> {
    let asked = spans.iter().filter_map(|s| {
        let is_one = s.kind == SpanKind::Unit && view.record.name(s.name).starts_with(CRYPTSETUP);
        s.start.filter(|_| is_one).zip(s.end)
    });
    asked.filter(|(from, to)| *to - *from >= DERIVED).collect()
}

/// The boot waits until a person has typed a passphrase.
pub(super) fn passphrase(view: &View<'_>) -> Option<Found> {
    let (low, expected, high) = OF_PASSPHRASE;
    if let Some(line) = PROMPTS.iter().find_map(|p| view.said(p).next()) {
        let waited = view.silence_after(&line)?;
        let found = Found::new()
            .title(text::passphrase(waited))
            .evidence([view.quote(&line)])
            .names(["cryptsetup"]);
        return Some(found.parts(waited, low, expected, high).within(waited));
    }
    let units = started(view, |name| name.starts_with(CRYPTSETUP));
    // Several disks are unlocked with one passphrase.
    let unit = units.into_iter().next().filter(|u| u.time >= DERIVED)?;
    let time = unit.time;
    Some(
        Found::new()
            .title(text::unlocks(&unit.name, time))
            .evidence([unit.evidence])
            .names([unit.name])
            .parts(time, low, expected, high)
            .within(time),
    )
}
