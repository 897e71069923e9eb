//! Silences: the longest times between one line of the logs and the next.

use crate::place::Place;
use record::{Nanos, Note, Origin, Record, Severity, SourceId, Span, SpanKind};
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
    /// The log whose lines may have been lost in it: it lost more than one, and
    /// only the place of the first is known. `None` if it is sure to be a silence.
    pub may_be_loss_of: Option<String>,
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

/// A line of a log with a time.
#[derive(Clone, Copy)]
struct Line<'r> {
    at: Nanos,
    origin: Origin,
    /// Whether it stands at `origin`: of an initcall's two lines only the first
    /// one's place is kept.
    is_there: bool,
    words: Words<'r>,
}

/// Where lines of a log were lost.
struct Loss {
    source: SourceId,
    /// From the line before the hole to the one behind it. `None` if it has no line
    /// before it: what was lost there came before the log.
    hole: Option<(Nanos, Nanos)>,
    /// Where further lines may have been lost, if more than one was.
    more: Option<(Nanos, Nanos)>,
}

/// The notes of lines of this boot that are not in a log, each with the place of the
/// first.
///
/// All losses of evidence are taken for that but lines of other boots, and calls of
/// which a line is missing: the place of the other line does not tell where that was.
pub(crate) fn lost_lines(record: &Record) -> impl Iterator<Item = (&Note, Origin)> {
    const OTHERS: [&str; 4] = [
        "later_boot",
        "other_boot",
        "lost_initcall_start",
        "lost_initcall_end",
    ];
    let notes = record.notes().iter();
    let lost = notes.filter(|n| n.kind.severity == Severity::DataLoss);
    let lost = lost.filter(|n| !OTHERS.contains(&n.kind.name));
    lost.filter_map(|n| Some((n, n.first?)))
}

impl Loss {
    /// The loss that was noted, in times of the log's own lines, which are sorted by
    /// time. `None` if the log has no lines with times.
    fn of(lines: &[Line<'_>], count: u64, first: Origin) -> Option<Self> {
        let own = || lines.iter().filter(|l| l.origin.source == first.source);
        let (begin, end) = (own().next()?.at, own().next_back()?.at);
        let placed = || own().filter(|l| l.is_there);
        // A jump in numbers is noted at the line behind the hole.
        let before = placed().filter(|l| l.origin.offset < first.offset);
        let before = before.max_by_key(|l| l.origin.offset);
        let behind = placed().filter(|l| l.origin.offset >= first.offset);
        let behind = behind.min_by_key(|l| l.origin.offset);
        let behind = behind.map_or(end, |l| l.at);
        let hole = before.map(|l| (l.at.min(behind), l.at.max(behind)));
        let more = (hole.map_or(begin, |h| h.0), end);
        Some(Self {
            source: first.source,
            hole,
            more: (count > 1).then_some(more),
        })
    }
}

/// The `top` longest silences (all, if `top` is 0), the longest first. The lines are
/// those of all logs: the messages, and those of initcalls and probes. Where lines of a
/// log are known to have been lost there is none, in no log: nobody knows that nothing
/// was said. Of more losses only the first one's place is known; what follows is told
/// with that doubt.
#[must_use]
pub fn gaps(record: &Record, top: usize) -> Vec<Gap> {
    let lines = lines(record);
    let losses = lost_lines(record);
    let losses = losses.filter_map(|(note, first)| Loss::of(&lines, note.count, first));
    let losses: Vec<Loss> = losses.collect();
    let overlaps = |a: &Line<'_>, b: &Line<'_>, time: Option<(Nanos, Nanos)>| {
        time.is_some_and(|(from, to)| a.at < to && from < b.at)
    };
    let later = lines.iter().skip(1);
    let pairs = lines.iter().zip(later);
    let whole = |a, b| !losses.iter().any(|l| overlaps(a, b, l.hole));
    let mut gaps: Vec<_> = pairs.filter(|(a, b)| a.at < b.at && whole(a, b)).collect();
    gaps.sort_by_key(|(a, b)| (Reverse(b.at - a.at), a.at));
    let shown = if top == 0 { gaps.len() } else { top };
    let gap = |(a, b): (&Line<'_>, &Line<'_>)| {
        let loss = losses.iter().find(|l| overlaps(a, b, l.more));
        let source = loss.and_then(|l| record.source(l.source));
        Gap {
            start: a.at,
            end: b.at,
            before: a.words.text(),
            after: b.words.text(),
            may_be_loss_of: source.map(|s| s.name.clone()),
            origin: Place::of(record, b.origin),
        }
    };
    gaps.into_iter().take(shown).map(gap).collect()
}

/// All lines that have a time, by their times.
fn lines(record: &Record) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    for message in record.messages() {
        lines.extend(message.at.map(|at| Line {
            at,
            origin: message.origin,
            is_there: true,
            words: Words::Line(record.text(message)),
        }));
    }
    for span in record.spans() {
        let name = record.name(span.name);
        let (start, end) = said(span);
        let line = |at, is_there, words| Line {
            at,
            origin: span.origin,
            is_there,
            words,
        };
        lines.extend(start.map(|at| line(at, true, Words::Calling(name))));
        lines.extend(end.map(|at| match span.kind {
            SpanKind::Probe => line(at, true, Words::Probed(name)),
            _ => line(at, start.is_none(), Words::Returned(name)),
        }));
    }
    // Lines of one stamp stand as in the log.
    lines.sort_by_key(|l| (l.at, l.origin));
    lines
}

/// When lines of a span came: an initcall has two, a probe the one at its end.
fn said(span: &Span) -> (Option<Nanos>, Option<Nanos>) {
    match span.kind {
        SpanKind::Initcall => (span.start, span.end),
        SpanKind::Probe => (None, span.end),
        _ => (None, None),
    }
}
