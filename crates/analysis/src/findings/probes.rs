//! Probes that were put off.

use super::{Finding, SHOWN, View};
use crate::summary::{is_deferral, summary};
use record::{NameId, Span};
use std::collections::BTreeMap;

/// Drivers that waited for another one. For the reader: what to do about it is
/// in the device tree or the link order, and the log does not say what it cost.
pub(super) fn deferrals(view: &View<'_>) -> Option<Finding> {
    let facts = summary(view.record);
    if facts.deferrals == 0 {
        return None;
    }
    let mut by_device: BTreeMap<NameId, (usize, &Span)> = BTreeMap::new();
    for span in view.record.spans().iter().filter(|s| is_deferral(s)) {
        by_device.entry(span.name).or_insert((0, span)).0 += 1;
    }
    let mut devices: Vec<(usize, &Span)> = by_device.into_values().collect();
    devices.sort_by_key(|(n, s)| (std::cmp::Reverse(*n), s.origin));
    let evidence = devices.iter().take(SHOWN).map(|(n, s)| {
        let device = view.record.name(s.name);
        view.evidence(
            format!("{device} was put off {}", count(*n, "time", "times")),
            s.origin,
        )
    });
    Some(Finding {
        id: "deferred-probes",
        title: format!(
            "{} put off, of {}",
            count(facts.deferrals, "probe was", "probes were"),
            count(facts.deferred_devices, "device", "devices")
        ),
        why: format!(
            "A driver came before what it needs and was tried again later. The attempts took {} \
             together; how much later the devices came for it, the log does not say.",
            facts.deferral_time
        ),
        evidence: evidence.collect(),
        saving: None,
        cost: "work on the device tree, the link order, or which drivers are modules".to_owned(),
        treatment: None,
    })
}

/// `1 device`, `2 devices`.
fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}
