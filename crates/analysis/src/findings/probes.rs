//! Probes that were put off, and those that take long.

use super::evidence::{Evidence, SHOWN};
use super::found::{Found, Scope};
use super::text::probes as text;
use super::view::{View, sum};
use crate::deferrals::deferrals;
use crate::summary::{is_deferral, summary};
use record::{NameId, Nanos, Phase, Span, SpanKind};
use std::collections::BTreeMap;

/// A probe from here on is worth doing aside.
const LONG_PROBE: Nanos = Nanos::from_millis(20);

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
    vec![match time > Nanos::ZERO {
        // The attempts go for sure. What waited for the devices would come earlier, too.
        true => found.saving(time, time, deferring(view).max(time)),
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

/// Probes that run one after the other on the kernel's own thread.
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
        .filter(|s| !is_deferral(s) && s.start.or(s.end).is_some_and(|at| at <= end))
        .filter(|s| matches!(track(s), Some("task 0" | "task 1") | None))
        .filter_map(|s| Some((s.duration()?, s)))
        .filter(|(time, _)| *time >= LONG_PROBE)
        .collect();
    probes.sort_by_key(|(time, s)| (std::cmp::Reverse(*time), s.origin));
    if probes.is_empty() {
        return Vec::new();
    }
    let all = sum(probes.iter().map(|(time, _)| time));
    let longest = probes.iter().map(|(time, _)| *time).max();
    let evidence = probes.iter().take(SHOWN).map(|(time, s)| {
        let text = text::probe(view.record.name(s.name), time);
        view.evidence(text, s.origin)
    });
    // Side by side they take as long as the longest; the kernel goes on
    // meanwhile where nothing needs the device.
    let side_by_side = all - longest.unwrap_or_default();
    let found = Found::new().title(text::long(count(probes.len(), "probe", "probes")));
    vec![
        found
            .evidence(evidence)
            .saving(Nanos::ZERO, side_by_side.max(Nanos(all.0 / 2)), all)
            .names(
                probes
                    .iter()
                    .map(|(_, s)| view.record.name(s.name).to_owned()),
            )
            .scope(Scope::Serial),
    ]
}

/// `1 device`, `2 devices`.
pub(super) fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}
