//! Silences: the longest times between one line of the logs and the next.

use crate::place::Place;
use record::{Nanos, Origin, Record, Severity, Span, SpanKind};
use std::cmp::Reverse;

/// A time in which no log had a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// When the line before it came.
    pub start: Nanos,
    /// When the line behind it came.
    pub end: Nanos,
    /// The line before it, in words.
    pub before: String,
    /// The line behind it, in words.
    pub after: String,
    /// The evidence: the line behind it, or of a call that returned, its first one.
    pub origin: Place,
}

/// The words of a line.
#[derive(Clone, Copy)]
enum Words<'r> {
    Line(&'r str),
    Calling(&'r str),
    Returned(&'r str),
    Probed(&'r str),
}

impl Words<'_> {
    fn text(self) -> String {
        match self {
            Self::Line(text) => text.to_owned(),
            Self::Calling(name) => format!("calling {name}"),
            Self::Returned(name) => format!("{name} returned"),
            Self::Probed(name) => format!("probe of {name}"),
        }
    }
}

/// The `top` longest silences (all, if `top` is 0), the longest first. The lines are
/// those of all logs: the messages, and those of initcalls and probes. Where lines of a
/// log were lost there is none.
#[must_use]
pub fn gaps(record: &Record, top: usize) -> Vec<Gap> {
    let mut lines: Vec<(Nanos, Origin, Words<'_>)> = Vec::new();
    let messages = record.messages().iter();
    lines.extend(messages.filter_map(|m| Some((m.at?, m.origin, Words::Line(record.text(m))))));
    for span in record.spans() {
        let name = record.name(span.name);
        let (start, end) = said(span);
        let start = start.map(|at| (at, span.origin, Words::Calling(name)));
        let end = end.map(|at| {
            let words = match span.kind {
                SpanKind::Probe => Words::Probed(name),
                _ => Words::Returned(name),
            };
            (at, span.origin, words)
        });
        lines.extend(start.into_iter().chain(end));
    }
    // Lines of one stamp stand as in the log.
    lines.sort_by_key(|l| (l.0, l.1));
    // Where lines were lost nothing is known to have been silent.
    let notes = record.notes().iter();
    let lost = notes.filter(|n| n.kind.severity == Severity::DataLoss);
    let lost: Vec<Origin> = lost.filter_map(|n| n.first).collect();
    let whole = |a: Origin, b: Origin| !lost.iter().any(|l| a < *l && *l < b);
    let later = lines.iter().skip(1);
    let pairs = lines.iter().zip(later);
    let mut gaps: Vec<_> = pairs
        .filter(|(a, b)| a.0 < b.0 && whole(a.1, b.1))
        .collect();
    gaps.sort_by_key(|(a, b)| (Reverse(b.0 - a.0), a.0));
    let shown = if top == 0 { gaps.len() } else { top };
    let gap =
        |((start, _, before), (end, origin, after)): (&(_, _, Words<'_>), &(_, _, Words<'_>))| {
            Gap {
                start: *start,
                end: *end,
                before: before.text(),
                after: after.text(),
                origin: Place::of(record, *origin),
            }
        };
    gaps.into_iter().take(shown).map(gap).collect()
}

/// When lines of a span came: an initcall has two, a probe the one at its end.
fn said(span: &Span) -> (Option<Nanos>, Option<Nanos>) {
    match span.kind {
        SpanKind::Initcall => (span.start, span.end),
        SpanKind::Probe => (None, span.end),
        _ => (None, None),
    }
}
