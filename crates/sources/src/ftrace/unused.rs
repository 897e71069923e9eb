//! Events that nothing is made of: counted by name.

use super::notes::EVENTS_NOT_USED;
use record::{Origin, Recorder};

/// How many names a note holds; the facts hold them all.
const MOST_NAMES: usize = 12;

/// Notes events by name, count and first place; each name is a fact, too.
pub(super) fn note<'n>(
    events: impl Iterator<Item = (&'n str, u64, Origin)>,
    recorder: &mut Recorder,
) {
    let mut events: Vec<(&str, u64, Origin)> = events.collect();
    let Some(first) = events.iter().map(|e| e.2).min() else {
        return;
    };
    events.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let total = events.iter().fold(0_u64, |sum, e| sum.saturating_add(e.1));
    let names = events.iter().take(MOST_NAMES);
    let mut words: Vec<String> = names
        .map(|(name, count, _)| format!("{name} {count}"))
        .collect();
    if events.len() > MOST_NAMES {
        words.push(format!("{} more", events.len() - MOST_NAMES));
    }
    recorder.skipped_many(first, &EVENTS_NOT_USED, total, || words.join(", "));
    for (name, count, origin) in events {
        recorder.fact(&format!("trace.events.{name}"), &count.to_string(), origin);
    }
}
