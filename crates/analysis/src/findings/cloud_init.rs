//! Parts of cloud-init that take long.

use super::found::{Found, Scope};
use super::text::cloud_init as text;
use super::view::View;
use record::{Nanos, Span, SpanKind};

/// The format of cloud-init's log and of its analysis.
const FORMAT: &str = "cloud-init";

/// How many parts are told, and from which length on.
const MOST: usize = 4;
const LEAST: Nanos = Nanos::from_millis(500);

/// Of a part's time, where other units wait for its stage (`Before=` in its units), and of one
/// of the last stage, for which few do. A guess.
const WAITED_FOR: (i64, i64, i64) = (20, 80, 100);
const LAST_STAGE: (i64, i64, i64) = (0, 50, 100);

/// The stage that runs when the system is up.
const FINAL: &str = "modules-final";

/// The longest parts, such as a search for a data source or a module.
pub(super) fn parts(view: &View<'_>) -> Vec<Found> {
    let is_its = |s: &&Span| {
        let source = view.record.source(s.origin.source);
        s.kind == SpanKind::Stage && source.is_some_and(|i| i.format == FORMAT)
    };
    let spans = view.record.spans().iter().filter(is_its);
    let parts = spans.filter_map(|span| {
        let name = view.record.name(span.name);
        let name = name.strip_prefix(FORMAT)?.strip_prefix('/')?;
        let (stage, part) = name.split_once('/')?;
        let time = span.duration().filter(|t| *t >= LEAST)?;
        Some((time, stage, part, span))
    });
    let mut parts: Vec<_> = parts.collect();
    parts.sort_by_key(|(time, _, part, _)| (std::cmp::Reverse(*time), *part));
    let found = parts
        .into_iter()
        .take(MOST)
        .map(|(time, stage, part, span)| {
            let (low, expected, high) = match stage {
                FINAL => LAST_STAGE,
                _ => WAITED_FOR,
            };
            Found::new()
                .title(text::title(part, time))
                .why(text::why(part))
                .evidence([view.evidence(text::took(stage, part, time), span.origin)])
                .parts(time, low, expected, high)
                .within(time)
                .names([part, FORMAT])
                .scope(Scope::Unknown)
        });
    found.collect()
}
