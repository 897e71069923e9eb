//! The spans of a record, each thing once.

use record::{Doubt, NameId, Record, SourceId, Span, SpanKind};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What the kernel calls a module's initcall inside the module: a trace that
/// does not know more says so.
const OF_MODULE: &str = "init_module [";

/// The id of the task that ran a call, where its source says it: then its track
/// is `task ID`.
pub(crate) fn task(record: &Record, span: &Span) -> Option<u32> {
    let track = record.name(span.track?);
    track.strip_prefix("task ")?.parse().ok()
}

/// The spans of `record` in its order, each thing once that several sources
/// saw.
///
/// A unit (`systemctl show`, `systemd-analyze blame`, a plot) stays as the
/// source saw it that has both its start and its end, with the reported
/// duration of another one if it has none itself. An initcall that is in the
/// kernel's log and in a trace stays as the trace saw it, whose stamps no
/// console delays, with the log's name and the number that the kernel says. Units that a log
/// only describes are left out where another source names them.
pub(crate) fn distinct(record: &Record) -> Cow<'_, [Span]> {
    if record.sources().len() < 2 {
        return Cow::Borrowed(record.spans());
    }
    let named = by_name(record);
    match initcalls_once(record) {
        Some(mut spans) => {
            spans.retain(|s| is_named(record, named, s));
            Cow::Owned(units_once(&spans).into_owned())
        }
        None if named.is_some() => {
            let spans = record.spans().iter().copied();
            let spans: Vec<Span> = spans.filter(|s| is_named(record, named, s)).collect();
            Cow::Owned(units_once(&spans).into_owned())
        }
        None => units_once(record.spans()),
    }
}

/// A source that calls units by their names, if another one knows only what systemd
/// describes them as.
fn by_name(record: &Record) -> Option<SourceId> {
    let units = || record.spans().iter().filter(|s| s.kind == SpanKind::Unit);
    let named = units().find(|s| !is_description(record, s))?.origin.source;
    units()
        .any(|s| s.origin.source != named && is_description(record, s))
        .then_some(named)
}

/// `Network Manager`, where `NetworkManager.service` is the unit.
fn is_description(record: &Record, span: &Span) -> bool {
    !record.name(span.name).contains('.')
}

/// Whether a span is kept: descriptions go where names are known.
fn is_named(record: &Record, named: Option<SourceId>, span: &Span) -> bool {
    span.kind != SpanKind::Unit
        || named.is_none_or(|n| span.origin.source == n)
        || !is_description(record, span)
}

/// The spans with each initcall once; `None` if no two sources saw one.
fn initcalls_once(record: &Record) -> Option<Vec<Span>> {
    let calls = || {
        record
            .spans()
            .iter()
            .filter(|s| s.kind == SpanKind::Initcall)
    };
    let first = calls().next()?.origin.source;
    if calls().all(|s| s.origin.source == first) {
        return None;
    }
    // The log knows a module's initcall by its symbol, a trace perhaps not.
    let module = |name: NameId| {
        let text = record.name(name);
        let open = text.rfind(" [")?;
        text.get(open + 2..)?.strip_suffix(']')
    };
    let mut symbols: BTreeMap<&str, NameId> = BTreeMap::new();
    for span in calls() {
        if let Some(of) = module(span.name)
            && !record.name(span.name).starts_with(OF_MODULE)
        {
            symbols.insert(of, span.name);
        }
    }
    let name_of = |name: NameId| match module(name) {
        Some(of) if record.name(name).starts_with(OF_MODULE) => {
            symbols.get(of).copied().unwrap_or(name)
        }
        _ => name,
    };
    // The spans of each name by source, in the order of time.
    let mut seen: BTreeMap<NameId, BTreeMap<SourceId, Vec<usize>>> = BTreeMap::new();
    for (at, span) in record.spans().iter().enumerate() {
        if span.kind == SpanKind::Initcall {
            let of_name = seen.entry(name_of(span.name)).or_default();
            of_name.entry(span.origin.source).or_default().push(at);
        }
    }
    let mut spans: Vec<Option<Span>> = record.spans().iter().copied().map(Some).collect();
    for (name, by_source) in seen {
        let span = |at: usize| record.spans().get(at).copied();
        let rank = |(source, places): &(&SourceId, &Vec<usize>)| {
            let first = places.first().and_then(|&at| span(at));
            let first = first.map(|s| (s.wall().is_none(), s.reported.is_some()));
            (first, **source)
        };
        let Some((_, best)) = by_source.iter().min_by_key(rank) else {
            continue;
        };
        for others in by_source.values().filter(|places| *places != best) {
            for (&at, &other) in best.iter().zip(others) {
                let said = spans.get_mut(other).and_then(Option::take);
                let kept = spans.get_mut(at).and_then(Option::as_mut);
                if let (Some(kept), Some(said)) = (kept, said) {
                    fill(kept, &said);
                    kept.name = name;
                }
            }
        }
    }
    Some(spans.into_iter().flatten().collect())
}

/// What one source says of an initcall and another does not.
fn fill(kept: &mut Span, said: &Span) {
    kept.start = kept.start.or(said.start);
    kept.end = kept.end.or(said.end);
    kept.outcome = kept.outcome.or(said.outcome);
    if kept.wall().is_some() {
        let lost = [Doubt::LostStart, Doubt::LostEnd];
        kept.doubt = kept.doubt.filter(|d| !lost.contains(d));
    }
    if kept.reported.is_none() {
        kept.reported = said.reported;
        // Why the kernel's number is not to be trusted goes with the number.
        let of_number = [Doubt::Overlap, Doubt::JiffyClock, Doubt::Disagree];
        kept.doubt = kept.doubt.or(said.doubt.filter(|d| of_number.contains(d)));
    }
}

/// The spans with each unit once.
fn units_once(spans: &[Span]) -> Cow<'_, [Span]> {
    let mut views: BTreeMap<NameId, Vec<Span>> = BTreeMap::new();
    for span in spans.iter().filter(|s| s.kind == SpanKind::Unit) {
        views.entry(span.name).or_default().push(*span);
    }
    views.retain(|_, spans| {
        let mut sources = spans.iter().map(|s| s.origin.source);
        let first = sources.next();
        sources.any(|s| Some(s) != first)
    });
    if views.is_empty() {
        return Cow::Borrowed(spans);
    }
    let best: BTreeMap<NameId, SourceId> = views
        .iter()
        .filter_map(|(&name, spans)| {
            let rank = |s: &&Span| (s.wall().is_none(), s.reported.is_none(), s.origin.source);
            Some((name, spans.iter().min_by_key(rank)?.origin.source))
        })
        .collect();

    let mut kept = Vec::with_capacity(spans.len());
    for span in spans {
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
