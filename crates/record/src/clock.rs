//! Clocks, and how times move from one to another.

use crate::source::Origin;
use crate::time::Nanos;
use std::collections::BTreeMap;

/// What a clock counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClockKind {
    /// A hardware counter of an emulated machine whose time is instructions.
    /// Its seconds are not board seconds.
    Virtual,
    /// A hardware counter that runs from reset.
    Counter,
    /// The clock of a host that watched, or the target's time of day.
    Wall,
    /// The clock that stamps kernel messages.
    Printk,
    /// `CLOCK_MONOTONIC` of the target.
    Monotonic,
}

impl ClockKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::Virtual,
        Self::Counter,
        Self::Wall,
        Self::Printk,
        Self::Monotonic,
    ];

    /// The word used in every output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Virtual => "virtual",
            Self::Counter => "counter",
            Self::Wall => "wall",
            Self::Printk => "printk",
            Self::Monotonic => "monotonic",
        }
    }
}

/// A clock in one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClockId(pub(crate) u16);

impl ClockId {
    /// Its place in [`crate::Record::clocks`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What is known of a clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Its name: `printk`, `monotonic`, `counter`, `serial`, ...
    pub name: String,
    /// What it counts.
    pub kind: ClockKind,
    /// The smallest step of its stamps, in nanoseconds; 0 if unknown.
    pub resolution_ns: u64,
    /// The bound of the error of moving its times onto the record's clock;
    /// `None` if nothing relates the two.
    pub error_ns: Option<u64>,
}

/// Two clocks read at the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SyncPoint {
    pub(crate) a: ClockId,
    pub(crate) at_a: i64,
    pub(crate) b: ClockId,
    pub(crate) at_b: i64,
    pub(crate) error_ns: u64,
    pub(crate) origin: Option<Origin>,
}

/// A step from one clock to the next, by the points at which both were read.
#[derive(Debug)]
struct Step {
    /// (time on the clock we come from, time on the clock we go to), sorted.
    points: Vec<(i64, i64)>,
}

impl Step {
    /// Between two points time runs evenly; outside, at the same rate on both.
    fn apply(&self, t: i64) -> i64 {
        let after = self.points.partition_point(|p| p.0 <= t);
        let before = after.checked_sub(1).and_then(|i| self.points.get(i));
        match (before, self.points.get(after)) {
            (Some(&(a0, b0)), Some(&(a1, b1))) => {
                let da = i128::from(a1) - i128::from(a0);
                let db = i128::from(b1) - i128::from(b0);
                let t = i128::from(t) - i128::from(a0);
                let mapped = i128::from(b0) + t * db / da.max(1);
                i64::try_from(mapped).unwrap_or(i64::MAX)
            }
            (Some(&(a, b)), None) | (None, Some(&(a, b))) => t.saturating_sub(a).saturating_add(b),
            (None, None) => t,
        }
    }
}

/// The way from every clock to the reference clock.
#[derive(Debug)]
pub(crate) struct Mapping {
    reference: ClockId,
    paths: BTreeMap<ClockId, Path>,
}

#[derive(Debug, Default)]
struct Path {
    steps: Vec<Step>,
    error_ns: u64,
}

impl Mapping {
    /// Finds, for each clock, the shortest way to `reference`.
    pub(crate) fn new(reference: ClockId, clocks: usize, sync: &[SyncPoint]) -> Self {
        // Who is reached from whom, breadth first, so that paths are short.
        let mut parent: BTreeMap<ClockId, ClockId> = BTreeMap::new();
        let mut queue = std::collections::VecDeque::from([reference]);
        let mut seen = vec![false; clocks];
        if let Some(s) = seen.get_mut(usize::from(reference.0)) {
            *s = true;
        }
        while let Some(at) = queue.pop_front() {
            for p in sync {
                for (from, to) in [(p.a, p.b), (p.b, p.a)] {
                    let unseen = seen.get(usize::from(from.0)) == Some(&false);
                    if to == at && unseen {
                        seen[usize::from(from.0)] = true;
                        parent.insert(from, at);
                        queue.push_back(from);
                    }
                }
            }
        }
        let mut paths = BTreeMap::from([(reference, Path::default())]);
        for &clock in parent.keys() {
            let mut path = Path::default();
            let mut at = clock;
            while let Some(&next) = parent.get(&at) {
                let (step, error) = step(at, next, sync);
                path.steps.push(step);
                path.error_ns = path.error_ns.saturating_add(error);
                at = next;
            }
            paths.insert(clock, path);
        }
        Self { reference, paths }
    }

    /// `t` of `clock` on the reference clock; unchanged if nothing relates them.
    pub(crate) fn apply(&self, clock: ClockId, t: i64) -> Nanos {
        // What most events are on, and there may be millions.
        if clock == self.reference {
            return Nanos(t);
        }
        let steps = self.paths.get(&clock).map_or(&[][..], |p| &p.steps);
        Nanos(steps.iter().fold(t, |t, step| step.apply(t)))
    }

    /// The clocks that anything relates to the reference, and itself.
    pub(crate) fn related(&self) -> impl Iterator<Item = ClockId> {
        self.paths.keys().copied()
    }

    /// Whether [`Self::apply`] leaves every time of `clock` as it is.
    pub(crate) fn is_identity(&self, clock: ClockId) -> bool {
        self.paths.get(&clock).is_none_or(|p| p.steps.is_empty())
    }

    /// The error bound of [`Self::apply`]; `None` if nothing relates the two.
    pub(crate) fn error_ns(&self, clock: ClockId) -> Option<u64> {
        self.paths.get(&clock).map(|p| p.error_ns)
    }
}

fn step(from: ClockId, to: ClockId, sync: &[SyncPoint]) -> (Step, u64) {
    let mut points = Vec::new();
    let mut error = 0;
    for p in sync {
        if (p.a, p.b) == (from, to) {
            points.push((p.at_a, p.at_b));
        } else if (p.b, p.a) == (from, to) {
            points.push((p.at_b, p.at_a));
        } else {
            continue;
        }
        error = error.max(p.error_ns);
    }
    points.sort_unstable();
    // Two readings of one instant: the first is as good as any.
    points.dedup_by_key(|p| p.0);
    (Step { points }, error)
}

#[cfg(test)]
mod tests {
    use super::{ClockId, Mapping, SyncPoint};
    use crate::time::Nanos;

    fn point(a: u16, at_a: i64, b: u16, at_b: i64, error_ns: u64) -> SyncPoint {
        SyncPoint {
            a: ClockId(a),
            at_a,
            b: ClockId(b),
            at_b,
            error_ns,
            origin: None,
        }
    }

    #[test]
    fn a_path_over_two_clocks_adds_offsets_and_errors() {
        let sync = [point(0, 100, 1, 0, 5), point(1, 50, 2, 0, 7)];
        let map = Mapping::new(ClockId(0), 3, &sync);
        assert_eq!(map.apply(ClockId(2), 10), Nanos(160));
        assert_eq!(map.error_ns(ClockId(2)), Some(12));
    }

    #[test]
    fn between_points_time_runs_evenly_and_outside_at_rate_one() {
        let sync = [point(1, 0, 0, 1_000, 0), point(1, 100, 0, 1_110, 0)];
        let map = Mapping::new(ClockId(0), 2, &sync);
        assert_eq!(map.apply(ClockId(1), -10), Nanos(990));
        assert_eq!(map.apply(ClockId(1), 50), Nanos(1_055));
        assert_eq!(map.apply(ClockId(1), 200), Nanos(1_210));
    }

    #[test]
    fn an_unrelated_clock_keeps_its_times_and_has_no_bound() {
        let map = Mapping::new(ClockId(0), 2, &[]);
        assert_eq!(map.apply(ClockId(1), 7), Nanos(7));
        assert_eq!(map.error_ns(ClockId(1)), None);
    }
}
