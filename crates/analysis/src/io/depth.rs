//! How many requests a device had at a time.

use record::{Nanos, Request};

/// How many requests were with their devices at a time: issued, not completed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Depth {
    /// The most.
    pub max: u64,
    /// The mean while there was at least one.
    pub mean: f64,
    /// How long there was at least one.
    pub busy: Nanos,
}

impl Depth {
    pub(super) fn of(requests: &[Request]) -> Self {
        let mut depth = Self::default();
        let mut weighted = 0_i128;
        for step in steps(requests) {
            let length = step.to - step.from;
            depth.max = depth.max.max(step.depth);
            if step.depth > 0 {
                depth.busy = depth.busy + length;
                weighted += i128::from(length.get()) * i128::from(step.depth);
            }
        }
        if depth.busy > Nanos::ZERO {
            depth.mean = weighted as f64 / depth.busy.get() as f64;
        }
        depth
    }
}

/// A stretch of time in which the depth did not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) from: Nanos,
    pub(super) to: Nanos,
    pub(super) depth: u64,
}

/// The depth over time. Requests that were not seen to end do not count: there
/// is no telling how long they lasted.
pub(super) fn steps(requests: &[Request]) -> Vec<Step> {
    let mut changes: Vec<(Nanos, i32)> = Vec::with_capacity(requests.len() * 2);
    for r in requests {
        if let (Some(issued), Some(completed)) = (r.issued, r.completed)
            && issued < completed
        {
            changes.extend([(issued, 1), (completed, -1)]);
        }
    }
    changes.sort_unstable();
    let mut steps = Vec::new();
    let mut depth = 0_i64;
    let mut from: Option<Nanos> = None;
    for (at, change) in changes {
        if let Some(from) = from
            && from < at
        {
            steps.push(Step {
                from,
                to: at,
                depth: u64::try_from(depth).unwrap_or(0),
            });
        }
        depth += i64::from(change);
        from = Some(at);
    }
    steps
}
