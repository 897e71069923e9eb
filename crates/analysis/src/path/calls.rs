//! The calls of modules and drivers in a task: initcalls and probes.

use super::report::PathKind;
use record::{NameId, Nanos, Origin};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The way is cut at the ends of calls of this length.
const LONG_CALL: Nanos = Nanos::from_millis(1);

/// A call of a module or a driver.
pub(super) struct Call {
    pub kind: PathKind,
    pub name: String,
    pub start: Nanos,
    pub end: Nanos,
    pub origin: Origin,
    /// The initcall that it is, or that a probe is within; [`arrange`] finds the latter.
    pub initcall: Option<NameId>,
    /// The latest end of this one and those before it; [`arrange`] finds it.
    pub latest: Nanos,
}

/// Sorts the calls of a task for [`pieces`], by start and an outer one before those
/// within it, and finds the initcalls of its probes.
pub(super) fn arrange(calls: &mut [Call]) {
    calls.sort_by_key(|c| (c.start, Reverse(c.end), c.kind));
    within_initcalls(calls);
    let mut latest = Nanos(i64::MIN);
    for call in calls {
        latest = latest.max(call.end);
        call.latest = latest;
    }
}

/// Notes the initcall that each probe is within, of a task's calls by start, the outer
/// ones first.
fn within_initcalls(calls: &mut [Call]) {
    let mut open: Vec<(Nanos, NameId)> = Vec::new();
    for call in calls {
        while open.pop_if(|(end, _)| *end <= call.start).is_some() {}
        match call.initcall {
            Some(name) => open.push((call.end, name)),
            None => {
                let around = open.last().filter(|(end, _)| call.end <= *end);
                call.initcall = around.map(|(_, name)| *name);
            }
        }
    }
}

/// A stretch of a task, cut where longer ones of its calls begin and end, the latest
/// piece first, and the innermost call that each piece lies in.
pub(super) fn pieces(
    calls: &[Call],
    start: Nanos,
    end: Nanos,
) -> Vec<(Nanos, Nanos, Option<&Call>)> {
    let begun = calls.partition_point(|c| c.start < end);
    let over = calls.partition_point(|c| c.latest <= start);
    let met = calls.get(over..begun).unwrap_or_default().iter();
    let met: Vec<&Call> = met.filter(|c| start < c.end).collect();
    let long = met.iter().filter(|c| c.end - c.start >= LONG_CALL);
    let mut cuts: Vec<Nanos> = long.flat_map(|c| [c.start, c.end]).collect();
    cuts.retain(|at| start < *at && *at < end);
    cuts.extend([start, end]);
    cuts.sort_unstable();
    cuts.dedup();
    // Those that have begun: the shortest first, of equal ones the inner.
    let mut begun = BinaryHeap::new();
    let mut next = met.iter().enumerate().peekable();
    let later = cuts.iter().skip(1);
    let pieces = cuts.iter().zip(later).map(|(&start, &end)| {
        while let Some((number, call)) = next.next_if(|(_, c)| c.start <= start) {
            begun.push((Reverse(call.end - call.start), number));
        }
        loop {
            let shortest = begun.peek();
            let call = shortest.and_then(|(_, n)| met.get(*n).copied());
            if call.is_none_or(|c| end <= c.end) {
                return (start, end, call);
            }
            // Later pieces end later still.
            begun.pop();
        }
    });
    let mut pieces: Vec<_> = pieces.collect();
    pieces.reverse();
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use record::Recorder;

    proptest! {
        /// Each piece has the shortest of the calls that it lies in.
        #[test]
        fn a_piece_is_of_the_innermost_call(
            times in prop::collection::vec((0_i64..3_000, 0_i64..2_000), 0..20),
            start in 0_i64..3_000,
            length in 1_i64..3_000,
        ) {
            let source = Recorder::new().source("boot.log", "kernel-log");
            let time = |t: i64| Nanos(t * 10_000);
            let mut calls: Vec<Call> = times.iter().map(|&(at, length)| Call {
                kind: PathKind::Probe,
                name: String::new(),
                start: time(at),
                end: time(at + length),
                origin: Origin { source, offset: 0 },
                initcall: None,
                latest: Nanos::ZERO,
            }).collect();
            arrange(&mut calls);
            let (start, end) = (time(start), time(start + length));
            let found = pieces(&calls, start, end);
            prop_assert_eq!(found.first().map(|p| p.1), Some(end));
            prop_assert_eq!(found.last().map(|p| p.0), Some(start));
            prop_assert!(found.windows(2).all(|p| p[0].0 == p[1].1));
            for (start, end, call) in found {
                let holds = calls.iter().filter(|c| c.start <= start && end <= c.end);
                let shortest = holds.map(|c| c.end - c.start).min();
                prop_assert_eq!(call.map(|c| c.end - c.start), shortest);
            }
        }
    }
}
