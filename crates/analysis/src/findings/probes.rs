//! Probes that were put off, and those that take long.

use super::evidence::{Evidence, SHOWN};
use super::found::{Found, Scope};
use super::text::probes as text;
use super::view::{View, sum};
use crate::aside::Call;
use crate::deferrals::deferrals;
use crate::load::load;
use crate::summary::{is_deferral, summary};
use record::{NameId, Nanos, Phase, Span, SpanKind};
use std::collections::BTreeMap;

/// A probe from here on is worth doing aside.
const LONG_PROBE: Nanos = Nanos::from_millis(20);

/// What the kernel does before and after a driver's own probe, in parts of it at most: pins,
/// links in sysfs, the list of what is put off (`really_probe` of `drivers/base/dd.c`).
const AROUND: i64 = 20;

/// Drivers that waited for another one. For the reader: what to do about it is
/// in the device tree or the link order, and the log does not say what it cost.
pub(super) fn deferred(view: &View<'_>) -> Vec<Found> {
    let facts = summary(view.record);
    if facts.deferrals == 0 {
        return Vec::new();
    }
    let mut by_device: BTreeMap<NameId, (usize, &Span)> = BTreeMap::new();
    for span in view.record.spans().iter().filter(|s| is_deferral(s)) {
        by_device.entry(span.name).or_insert((0, span)).0 += 1;
    }
    let mut devices: Vec<(usize, &Span)> = by_device.into_values().collect();
    devices.sort_by_key(|(n, s)| (std::cmp::Reverse(*n), s.origin));
    let mut evidence: Vec<Evidence> = devices
        .iter()
        .take(SHOWN)
        .map(|(n, s)| {
            let device = view.record.name(s.name);
            view.evidence(
                text::deferred_device(device, count(*n, "time", "times")),
                s.origin,
            )
        })
        .collect();
    // The supplier, where the kernel names it.
    let named = view
        .said("supplier ")
        .filter(|l| l.text.contains(" not ready"));
    evidence.extend(named.take(SHOWN).map(|l| view.quote(&l)));
    let time = facts.deferral_time;
    let waiting = deferrals(view.record).len();
    let why = text::deferred_why(
        time,
        match waiting {
            0 | 1 => "",
            _ => " (`firstlight blame --deferrals` lists them)",
        },
    );
    let title = text::deferred(
        count(facts.deferrals, "probe was", "probes were"),
        count(facts.deferred_devices, "device", "devices"),
    );
    let names = devices
        .iter()
        .map(|(_, s)| view.record.name(s.name).to_owned());
    let found = Found::new()
        .title(title)
        .why(why)
        .evidence(evidence)
        .names(names);
    // A log without times says nothing of what waited.
    let most = deferring(view);
    vec![match time > Nanos::ZERO && most > Nanos::ZERO {
        // The attempts go, and what the kernel does around each of them. The one that is left is
        // then the first one, which finds nothing prepared by another. What waited for the
        // devices would come earlier, too.
        true => {
            let around = Nanos(time.0 / AROUND);
            found.saving(time - around, time, most.max(time + around))
        }
        false => found,
    }]
}

/// From the first attempt in vain to the end of the last one.
fn deferring(view: &View<'_>) -> Nanos {
    let in_vain = |s: &&Span| is_deferral(s) && s.duration().is_some_and(|t| t > Nanos::ZERO);
    let spans = || view.record.spans().iter().filter(in_vain);
    let from = spans().filter_map(|s| s.start).min();
    let to = spans().filter_map(|s| s.end).max();
    match (from, to) {
        (Some(from), Some(to)) => to - from,
        _ => Nanos::ZERO,
    }
}

/// Probes that run one after the other on the kernel's own thread, and the longest of those
/// that run beside one another.
pub(super) fn long(view: &View<'_>) -> Vec<Found> {
    // Behind the first program nothing waits for a probe by itself.
    let kernel = view.phases.phases.iter().find(|p| p.name == Phase::Kernel);
    let end = kernel.map_or(Nanos(i64::MIN), |k| k.end);
    let track = |s: &Span| s.track.map(|t| view.record.name(t));
    let mut probes: Vec<(Nanos, &Span)> = view
        .record
        .spans()
        .iter()
        .filter(|s| s.kind == SpanKind::Probe && s.outcome.is_none_or(|o| o >= 0))
        .filter(|s| !is_deferral(s) && s.start.or(s.end).is_none_or(|at| at <= end))
        .filter(|s| matches!(track(s), Some("task 0" | "task 1") | None))
        .filter_map(|s| Some((s.duration()?, s)))
        .filter(|(time, _)| *time >= LONG_PROBE)
        .collect();
    probes.sort_by_key(|(time, s)| (std::cmp::Reverse(*time), s.origin));
    // Of an excerpt without stamps nobody knows what ran beside what.
    let (untimed, probes): (Vec<_>, Vec<_>) = probes
        .into_iter()
        .partition(|(_, s)| s.start.is_none() && s.end.is_none());
    let (beside, probes): (Vec<_>, Vec<_>) = probes
        .iter()
        .copied()
        .partition(|(_, s)| probes.iter().any(|(_, other)| is_beside(s, other)));
    let mut found = Vec::new();
    found.extend(beside.first().map(|(time, s)| longest(view, *time, s)));
    let untimed = untimed.iter().take(SHOWN).map(|(time, s)| {
        let title = text::alone(view.record.name(s.name), *time);
        longest(view, *time, s).title(title).why(text::ALONE_WHY)
    });
    found.extend(untimed);
    found.extend(one_after_another(view, &probes, end));
    found
}

/// Whether two probes ran at the same time, and none within the other: on threads of their
/// own.
fn is_beside(one: &Span, other: &Span) -> bool {
    let times = |s: &Span| s.start.zip(s.end);
    let (Some((a, b)), Some((c, d))) = (times(one), times(other)) else {
        return false;
    };
    (a < c && c < b && b < d) || (c < a && a < d && d < b)
}

/// Of a probe beside others: what it waits for goes, or some of it. The kernel waits for it
/// before the first program.
const OF_LONGEST: (i64, i64, i64) = (20, 85, 100);

/// The longest probe of those that ran beside others.
fn longest(view: &View<'_>, time: Nanos, span: &Span) -> Found {
    let (low, expected, high) = OF_LONGEST;
    let device = view.record.name(span.name);
    Found::new()
        .title(text::longest(device, time))
        .why(text::LONGEST_WHY)
        .evidence([view.evidence(text::probe(device, time), span.origin)])
        .parts(time, low, expected, high)
        .within(time)
        .names([device.to_owned()])
}

/// What to do aside of the probes that did not run so.
fn one_after_another(view: &View<'_>, probes: &[(Nanos, &Span)], end: Nanos) -> Option<Found> {
    if probes.is_empty() {
        return None;
    }
    let all = sum(probes.iter().map(|(time, _)| time));
    let plan = aside(view, probes, end);
    if plan.calls.is_empty() {
        return None;
    }
    let first: Vec<&(Nanos, &Span)> = plan.calls.iter().filter_map(|at| probes.get(*at)).collect();
    let evidence = first.iter().map(|(time, s)| {
        let text = text::probe(view.record.name(s.name), time);
        view.evidence(text, s.origin)
    });
    let evidence: Vec<Evidence> = evidence.take(SHOWN).collect();
    let names = first.iter().map(|(_, s)| view.record.name(s.name));
    let (low, expected, high) = plan.saving;
    let found = Found::new()
        .title(text::long(count(probes.len(), "probe", "probes")))
        .evidence(evidence)
        .saving(low, expected, high)
        .within(all)
        .names(names.map(str::to_owned));
    Some(found.scope(Scope::Serial))
}

/// Probes that are worth running aside, the one that brings most first, and what that saves.
struct Plan {
    calls: Vec<usize>,
    saving: (Nanos, Nanos, Nanos),
}

/// Where the log does not tell: a probe sleeps more than it computes.
const WORK_PERCENT: i64 = 30;

/// One of a second or more hardly computes: of a silence that long 90 % is expected to be waiting,
/// too, and a kernel that spins so long is one whose rules are broken (checkpatch.pl warns of
/// `mdelay` from 20 ms on).
const LONG_WORK_PERCENT: i64 = 10;
const LONG: Nanos = Nanos::from_millis(1_000);

/// How much of a probe is expected to compute, in percent.
const fn work_percent(time: Nanos) -> i64 {
    match time.0 < LONG.0 {
        true => WORK_PERCENT,
        false => LONG_WORK_PERCENT,
    }
}

/// Of what a plan brings if nothing needs the devices meanwhile: published changes brought 0.9
/// to 1 of it, and a device that the next call needs brings none.
const SERVED: (i64, i64) = (25, 85);

/// Processors where nothing tells their number.
const USUAL_PROCESSORS: usize = 4;

/// Which probes to run aside. What the kernel does between and behind them runs on
/// meanwhile, and at its end it waits for all of them. What needs their devices, the log does
/// not say.
fn aside(view: &View<'_>, probes: &[(Nanos, &Span)], end: Nanos) -> Plan {
    let mut order: Vec<usize> = (0..probes.len()).collect();
    let start = |at: &usize| probes.get(*at).and_then(|(_, s)| s.start.or(s.end));
    order.sort_by_key(start);
    let call = |time: Nanos, percent: i64, may_go| Call {
        time,
        work: Nanos(time.0 / 100 * percent),
        may_go,
        needs: Vec::new(),
    };
    let plan = |percent: fn(Nanos) -> i64| {
        let mut calls = Vec::new();
        let mut places = Vec::new();
        let mut until: Option<Nanos> = None;
        for at in &order {
            let Some((time, span)) = probes.get(*at) else {
                continue;
            };
            let begin = span.start.unwrap_or_default();
            if let Some(before) = until.filter(|u| *u < begin) {
                calls.push(call(begin - before, 100, false));
            }
            places.push((calls.len(), *at));
            calls.push(call(*time, percent(*time), true));
            until = Some(span.end.unwrap_or(begin).max(until.unwrap_or(begin)));
        }
        if let Some(last) = until.filter(|u| *u < end) {
            calls.push(call(end - last, 100, false));
        }
        let load = load(view.record, Nanos::ZERO, end);
        let processors = load.processors.unwrap_or(USUAL_PROCESSORS);
        let found = crate::aside::aside(&calls, processors);
        let of_probe = |at: &usize| places.iter().find(|(call, _)| call == at).map(|p| p.1);
        let probes: Vec<usize> = found.calls.iter().filter_map(of_probe).collect();
        (probes, found.saving)
    };
    // They sleep all the time, some of it, or compute all the time.
    let (_, high) = plan(|_| 0);
    let (calls, some) = plan(work_percent);
    let (_, computing) = plan(|_| 100);
    let part = |percent: i64, time: Nanos| Nanos(time.0 / 100 * percent);
    Plan {
        calls,
        saving: (part(SERVED.0, computing), part(SERVED.1, some), high),
    }
}

/// `1 device`, `2 devices`.
pub(super) fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}
