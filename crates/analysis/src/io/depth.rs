//! How many requests devices had at a time.

use record::Nanos;

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
    pub(super) fn of(changes: &Changes) -> Self {
        let mut depth = Self::default();
        let mut weighted = 0_i128;
        for step in changes.steps() {
            let length = step.to - step.from;
            depth.max = depth.max.max(step.depth);
            depth.busy = depth.busy + length;
            weighted += i128::from(length.get()) * i128::from(step.depth);
        }
        if depth.busy > Nanos::ZERO {
            depth.mean = weighted as f64 / depth.busy.get() as f64;
        }
        depth
    }
}

/// When requests came to their devices, and when they left, in order.
///
/// Requests that were not seen to end do not count: there is no telling how
/// long they lasted.
pub(super) struct Changes {
    came: Vec<i64>,
    left: Vec<i64>,
}

/// A stretch of time in which so many requests, at least one, were there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) from: Nanos,
    pub(super) to: Nanos,
    pub(super) depth: u64,
}

impl Changes {
    pub(super) fn of(mut came: Vec<i64>, mut left: Vec<i64>) -> Self {
        came.sort_unstable();
        left.sort_unstable();
        Self { came, left }
    }

    /// The stretches in order.
    pub(super) fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        let (mut came, mut left) = (0, 0);
        let mut from = 0;
        std::iter::from_fn(move || {
            loop {
                // Nobody leaves before he came: all have left when none is left.
                let next_left = *self.left.get(left)?;
                let at = self.came.get(came).map_or(next_left, |c| next_left.min(*c));
                let depth = came.saturating_sub(left) as u64;
                let step = Step {
                    from: Nanos(from),
                    to: Nanos(at),
                    depth,
                };
                while self.left.get(left).is_some_and(|l| *l == at) {
                    left += 1;
                }
                while self.came.get(came).is_some_and(|c| *c == at) {
                    came += 1;
                }
                let is_stretch = depth > 0 && from < at;
                from = at;
                if is_stretch {
                    return Some(step);
                }
            }
        })
    }
}
