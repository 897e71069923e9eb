//! Requests over time.

use super::depth::Changes;
use super::figures::rounded;
use record::{Nanos, Operation, Request};

/// A part of the time from the first request to the last.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IoStretch {
    /// When it begins.
    pub start: Nanos,
    /// When it ends.
    pub end: Nanos,
    /// How many requests ended in it (or, if that was not seen, began).
    pub requests: u64,
    /// What they moved to memory, in bytes.
    pub read_bytes: u64,
    /// What they moved to the device, in bytes.
    pub write_bytes: u64,
    /// From the first issue to completion, their mean.
    pub service_mean: Option<Nanos>,
    /// The longest.
    pub service_max: Option<Nanos>,
    /// How many requests the devices had, on average over all of it.
    pub depth: f64,
    /// How long they had at least one.
    pub busy: Nanos,
}

/// The time from the first request to the last in `count` parts.
pub(super) fn stretches(
    (first, last): (Nanos, Nanos),
    requests: &[Request],
    changes: &Changes,
    count: usize,
) -> Vec<IoStretch> {
    if count == 0 {
        return Vec::new();
    }
    let length = i128::from((last - first).get());
    let into = |i: usize| length * i128::try_from(i).unwrap_or(0) / count as i128;
    let edges: Vec<Nanos> = (0..=count)
        .map(|i| first + Nanos(i64::try_from(into(i)).unwrap_or(i64::MAX)))
        .collect();
    // The last edge at or before a time: edge i is length * i / count, rounded
    // down, so i is less than count * (time + 1) / length.
    let part = |at: Nanos| {
        let into = (at - first).get().saturating_add(1);
        let scaled = u64::try_from(into)
            .ok()
            .and_then(|t| t.checked_mul(count as u64));
        let above = match (scaled, u64::try_from(length)) {
            (Some(scaled), Ok(length)) => i128::from(scaled.div_ceil(length.max(1))),
            _ => (i128::from(into) * count as i128 + length - 1) / length.max(1),
        };
        usize::try_from(above - 1).map_or(0, |i| i.min(count - 1))
    };
    let mut all: Vec<IoStretch> = edges
        .iter()
        .zip(edges.iter().skip(1))
        .map(|(&start, &end)| IoStretch {
            start,
            end,
            ..IoStretch::default()
        })
        .collect();
    let mut sums = vec![(0_i64, 0_i64); count];
    // Requests mostly come in the order of time: the part is that of the last one.
    let mut last = 0;
    let is_in = |part: usize, at: Nanos| {
        let end = edges.get(part + 1).copied().unwrap_or_default();
        edges.get(part).is_some_and(|start| *start <= at) && at < end
    };
    for r in requests {
        let Some(at) = r.completed.get().or(r.first()) else {
            continue;
        };
        let place = if is_in(last, at) { last } else { part(at) };
        last = place;
        let (Some(s), Some(sum)) = (all.get_mut(place), sums.get_mut(place)) else {
            continue;
        };
        s.requests += 1;
        match r.operation {
            Operation::Read => s.read_bytes = s.read_bytes.saturating_add(r.bytes),
            Operation::Write => s.write_bytes = s.write_bytes.saturating_add(r.bytes),
            Operation::Discard | Operation::Flush | Operation::Other => {}
        }
        if let Some(service) = r.service() {
            sum.0 = sum.0.saturating_add(service.get());
            sum.1 += 1;
            s.service_max = s.service_max.max(Some(service));
        }
    }
    for (s, (sum, count)) in all.iter_mut().zip(sums) {
        s.service_mean = (count > 0).then(|| Nanos(rounded(sum, count)));
    }
    // Steps are in order: the place moves on with them.
    let mut place = 0;
    for step in changes.steps() {
        let mut from = step.from;
        while from < step.to {
            let Some(s) = all.get_mut(place) else { break };
            let is_last = place + 1 == count;
            if s.end <= from && !is_last {
                place += 1;
                continue;
            }
            let to = if is_last { step.to } else { s.end.min(step.to) };
            s.busy = s.busy + (to - from);
            s.depth += (to - from).get() as f64 * step.depth as f64;
            from = to;
        }
    }
    for s in &mut all {
        s.depth /= ((s.end - s.start).get() as f64).max(1.0);
    }
    all
}
