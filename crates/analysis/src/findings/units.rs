//! Units that first light waited for.

use super::{Evidence, Finding, View};
use crate::chain::{ChainLink, critical_chain};
use crate::spans;
use record::{Nanos, SpanKind};

/// Units that a boot works without, and what is lost without them.
///
/// The list is short on purpose: each only does housekeeping that nothing
/// later in a boot needs, and that a product usually does elsewhere or not at
/// all. What feeds the entropy pool, waits for the network or checks a
/// filesystem is not in it, however slow it is.
const SPARE: [(&str, &str); 14] = [
    ("apt-daily.service", "package lists are not refreshed"),
    ("apt-daily.timer", "package lists are not refreshed"),
    ("apt-daily-upgrade.service", "no unattended upgrades"),
    ("apt-daily-upgrade.timer", "no unattended upgrades"),
    ("apt-news.service", "no news from the distributor at login"),
    (
        "dpkg-db-backup.service",
        "no daily copy of the package database",
    ),
    (
        "dpkg-db-backup.timer",
        "no daily copy of the package database",
    ),
    (
        "e2scrub_reap.service",
        "left-over snapshots of e2scrub are not removed",
    ),
    ("esm-cache.service", "no news from the distributor at login"),
    (
        "man-db.service",
        "the index of manual pages is not refreshed",
    ),
    ("man-db.timer", "the index of manual pages is not refreshed"),
    ("motd-news.service", "no news from the distributor at login"),
    (
        "plocate-updatedb.service",
        "the index of file names is not refreshed",
    ),
    (
        "plocate-updatedb.timer",
        "the index of file names is not refreshed",
    ),
];

fn what_is_lost(unit: &str) -> Option<&'static str> {
    let spare = SPARE.iter().find(|(name, _)| *name == unit);
    spare.map(|(_, lost)| *lost)
}

/// Units that can go, and the longest unit that first light waited for.
pub(super) fn on_the_chain(view: &View<'_>) -> Vec<Finding> {
    let chain = critical_chain(view.record, view.phases);
    let mut found: Vec<Finding> = spare(view, &chain);
    let length = |link: &ChainLink| link.end - link.start;
    let mut kept = chain.iter().filter(|l| what_is_lost(&l.unit).is_none());
    let longest = kept.by_ref().max_by_key(|l| (length(l), l.slack));
    if let Some(link) = longest {
        let waited: Vec<&str> = chain.iter().take(6).map(|l| l.unit.as_str()).collect();
        found.push(Finding {
            id: "longest-unit",
            title: format!(
                "{} waited for {}",
                match view.phases.first_light {
                    Some(_) => "First light",
                    None => "The last unit",
                },
                link.unit
            ),
            why: format!(
                "It is the longest in the chain of units, each of which waited for the next: {}{}.",
                waited.join(", "),
                if chain.len() > 6 { ", ..." } else { "" }
            ),
            evidence: vec![Evidence {
                text: format!(
                    "{} took {}, from {} to {}",
                    link.unit,
                    length(link),
                    link.start,
                    link.end
                ),
                place: link.origin.clone(),
            }],
            saving: Some((Nanos::ZERO, length(link))),
            cost: "depends on what it does; `firstlight blame --kind unit` shows its neighbours"
                .to_owned(),
            treatment: None,
        });
    }
    found
}

fn spare(view: &View<'_>, chain: &[ChainLink]) -> Vec<Finding> {
    let end = view.phases.end();
    let mut found = Vec::new();
    for span in spans::distinct(view.record).iter() {
        let name = view.record.name(span.name);
        let Some(lost) = what_is_lost(name).filter(|_| span.kind == SpanKind::Unit) else {
            continue;
        };
        let time = match (span.start, span.end) {
            // What lies after first light would save nothing.
            (Some(from), Some(to)) => to.min(end) - from,
            _ => span.reported.unwrap_or_default(),
        };
        if time <= Nanos::ZERO {
            continue;
        }
        let (low, how) = match chain.iter().find(|l| l.unit == name) {
            Some(link) => (link.slack.min(time), "First light waited for it."),
            None if chain.is_empty() => (
                Nanos::ZERO,
                "Whether first light waited for it, these sources do not say.",
            ),
            None => (
                Nanos::ZERO,
                "First light did not wait for it by order, but it took processor and disk from \
                 what first light waited for.",
            ),
        };
        let text = match (span.start, span.end) {
            (Some(from), Some(to)) => format!("{name} took {}, from {from} to {to}", to - from),
            _ => format!("{name} took {time}"),
        };
        found.push(Finding {
            id: "spare-unit",
            title: format!("{name} runs during the boot"),
            why: format!("The boot works without it. {how}"),
            evidence: vec![view.evidence(text, span.origin)],
            saving: Some((low, time)),
            cost: lost.to_owned(),
            treatment: Some(format!("mask={name}")),
        });
    }
    found
}
