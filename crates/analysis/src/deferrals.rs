//! Probes that were put off, device by device.

use crate::place::Place;
use crate::summary::is_deferral;
use record::{NameId, Nanos, Record, Span, SpanKind};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A device whose probe was put off at least once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deferral {
    /// The device.
    pub device: String,
    /// How often it was tried in vain.
    pub tries: usize,
    /// How long the vain tries took, together.
    pub wasted: Nanos,
    /// The first vain try.
    pub first: Option<Nanos>,
    /// When it was probed at last; `None` if that was not seen.
    pub settled: Option<Nanos>,
    /// What it waited for, where the kernel's messages say so.
    pub waited_for: Option<String>,
    /// The evidence: the first vain try.
    pub origin: Place,
}

/// What the driver core says about a device that waits, before the name of
/// what it waits for (drivers/base/core.c, drivers/base/dd.c).
const WAITS: [&str; 6] = [
    "probe deferral - wait for supplier ",
    "probe deferral - supplier ",
    "wait for supplier ",
    "with supplier ",
    "deferred probe pending: ",
    "EPROBE_DEFER: ",
];

/// Every device whose probe was put off, the most time wasted first.
#[must_use]
pub fn deferrals(record: &Record) -> Vec<Deferral> {
    let mut of_device: BTreeMap<NameId, Vec<&Span>> = BTreeMap::new();
    for span in record.spans().iter().filter(|s| is_deferral(s)) {
        of_device.entry(span.name).or_default().push(span);
    }
    let mut settled: BTreeMap<NameId, Nanos> = BTreeMap::new();
    for span in record.spans() {
        let probe = span.kind == SpanKind::Probe && !is_deferral(span);
        if let Some(end) = span.end
            && probe
            && of_device.contains_key(&span.name)
        {
            settled.insert(span.name, end);
        }
    }
    let mut suppliers = suppliers(record, &of_device);
    let mut all: Vec<Deferral> = of_device
        .into_iter()
        .filter_map(|(name, tries)| {
            let first = tries.first()?;
            let durations = tries.iter().filter_map(|s| s.duration());
            Some(Deferral {
                device: record.name(name).to_owned(),
                tries: tries.len(),
                wasted: durations.fold(Nanos::ZERO, |a, b| a + b.max(Nanos::ZERO)),
                first: first.start.or(first.end),
                settled: settled.get(&name).copied(),
                waited_for: suppliers.remove(&name),
                origin: Place::of(record, first.origin),
            })
        })
        .collect();
    all.sort_by(|a, b| {
        (Reverse(a.wasted), Reverse(a.tries), &a.device).cmp(&(
            Reverse(b.wasted),
            Reverse(b.tries),
            &b.device,
        ))
    });
    all
}

/// What each device waited for, by the first message that says so. Such a
/// message begins with the driver or the bus, and the device: `platform sound:`.
fn suppliers(record: &Record, devices: &BTreeMap<NameId, Vec<&Span>>) -> BTreeMap<NameId, String> {
    let by_name: BTreeMap<&str, NameId> = devices.keys().map(|&n| (record.name(n), n)).collect();
    let mut found = BTreeMap::new();
    for message in record.messages() {
        let text = record.text(message);
        let Some((_, rest)) = WAITS.iter().find_map(|w| text.split_once(w)) else {
            continue;
        };
        let Some((about, _)) = text.split_once(": ") else {
            continue;
        };
        let device = about.split_whitespace().next_back().unwrap_or(about);
        let Some(&name) = by_name.get(device) else {
            continue;
        };
        // A reason is a sentence, a supplier a word.
        let reason = text.contains("pending: ") || text.contains("EPROBE_DEFER: ");
        let what = match reason {
            true => rest.trim(),
            false => rest.split_whitespace().next().unwrap_or_default(),
        };
        if !what.is_empty() {
            found.entry(name).or_insert_with(|| what.to_owned());
        }
    }
    found
}
