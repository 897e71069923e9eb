//! The spans of a record, each thing once.

use record::{NameId, Record, SourceId, Span, SpanKind};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The spans of `record` in its order, with a unit that several sources saw
/// (`systemctl show`, `systemd-analyze blame`, a plot) only once: as the source
/// saw it that has both its start and its end, with the reported duration of
/// another one if it has none itself.
pub(crate) fn distinct(record: &Record) -> Cow<'_, [Span]> {
    if record.sources().len() < 2 {
        return Cow::Borrowed(record.spans());
    }
    let mut views: BTreeMap<NameId, Vec<Span>> = BTreeMap::new();
    for span in record.spans().iter().filter(|s| s.kind == SpanKind::Unit) {
        views.entry(span.name).or_default().push(*span);
    }
    views.retain(|_, spans| {
        let mut sources = spans.iter().map(|s| s.origin.source);
        let first = sources.next();
        sources.any(|s| Some(s) != first)
    });
    if views.is_empty() {
        return Cow::Borrowed(record.spans());
    }
    let best: BTreeMap<NameId, SourceId> = views
        .iter()
        .filter_map(|(&name, spans)| {
            let rank = |s: &&Span| (s.wall().is_none(), s.reported.is_none(), s.origin.source);
            Some((name, spans.iter().min_by_key(rank)?.origin.source))
        })
        .collect();

    let mut kept = Vec::with_capacity(record.spans().len());
    for span in record.spans() {
        let mut span = *span;
        if span.kind == SpanKind::Unit
            && let Some(&source) = best.get(&span.name)
        {
            if span.origin.source != source {
                continue;
            }
            // Taken, not copied: a unit that ran twice has its reported
            // duration on the first run only.
            if let Some(others) = views.get_mut(&span.name) {
                others.retain(|o| o.origin.source != source);
                for other in others.drain(..) {
                    span.start = span.start.or(other.start);
                    span.end = span.end.or(other.end);
                    span.reported = span.reported.or(other.reported);
                }
            }
        }
        kept.push(span);
    }
    Cow::Owned(kept)
}
