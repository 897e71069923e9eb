//! Intervals in lanes, ready to be drawn.

use crate::blame::BlameKind;
use crate::place::Place;
use crate::spans;
use record::{Doubt, Nanos, Record, Span, SpanKind};

/// An interval in a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bar {
    /// What kind of thing.
    pub kind: BlameKind,
    /// Which one.
    pub name: String,
    /// The lane within its kind, from 0: no two bars of a lane overlap.
    pub lane: usize,
    /// When it began.
    pub start: Nanos,
    /// When it ended; never before `start`.
    pub end: Nanos,
    /// The duration that the source itself states.
    pub reported: Option<Nanos>,
    /// Why the numbers should not be taken at face value.
    pub doubt: Option<Doubt>,
    /// What it returned.
    pub outcome: Option<i32>,
    /// The evidence.
    pub origin: Place,
}

/// Every interval that has a start and an end, in lanes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// By kind, then by start.
    pub bars: Vec<Bar>,
    /// How many intervals are not among `bars`: the shortest, past the limit.
    pub left_out: usize,
}

/// The intervals of a record in lanes; of more than `limit`, the longest.
#[must_use]
pub fn timeline(record: &Record, limit: usize) -> Timeline {
    let mut spans: Vec<(Nanos, Nanos, Span)> = spans::distinct(record)
        .iter()
        .filter_map(|s| Some((s.start?, s.end?, *s)))
        .filter(|(start, end, _)| start <= end)
        .collect();
    let left_out = spans.len().saturating_sub(limit);
    if left_out > 0 {
        spans.sort_by_key(|(start, end, s)| (std::cmp::Reverse(*end - *start), *start, s.origin));
        spans.truncate(limit);
        spans.sort_by_key(|(start, _, s)| (*start, s.origin));
    }
    let mut bars = Vec::with_capacity(spans.len());
    for kind in SpanKind::ALL {
        let mut lanes: Vec<Nanos> = Vec::new();
        for (start, end, span) in spans.iter().filter(|(_, _, s)| s.kind == kind) {
            let free = lanes.iter().position(|busy_until| busy_until <= start);
            let lane = free.unwrap_or(lanes.len());
            match lanes.get_mut(lane) {
                Some(busy_until) => *busy_until = *end,
                None => lanes.push(*end),
            }
            bars.push(Bar {
                kind: kind.into(),
                name: record.name(span.name).to_owned(),
                lane,
                start: *start,
                end: *end,
                reported: span.reported,
                doubt: span.doubt,
                outcome: span.outcome,
                origin: Place::of(record, span.origin),
            });
        }
    }
    Timeline { bars, left_out }
}
