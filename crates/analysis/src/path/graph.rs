//! Activities that wait for each other.
//!
//! An activity begins `lag` after the last of those that it waits for has
//! ended, and lasts for its duration. That is how the boot went, so it is also
//! how it would go if one of them took less: the lags and the other durations
//! stay as they were.

use record::Nanos;

/// An activity, by its place in its [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct NodeId(usize);

/// Something that could be otherwise.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    /// An activity takes this long.
    Duration(NodeId, Nanos),
    /// An activity begins so long after what it waits for.
    Lag(NodeId, Nanos),
}

/// How an activity would go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Course {
    /// How long it begins after what it waits for.
    pub lag: Nanos,
    /// How long it takes.
    pub duration: Nanos,
    /// It does not begin before this.
    pub begins: Option<Nanos>,
    /// It does not end before this, however early it begins.
    pub ends: Option<Nanos>,
}

/// When activities begin and end, by their place.
pub(super) type Times = Vec<(Nanos, Nanos)>;

#[derive(Clone, Debug)]
struct Node {
    /// Those that it waits for: they stand before it.
    after: Vec<NodeId>,
    /// What else kept it from beginning, of which no more is known.
    guard: Option<NodeId>,
    lag: Nanos,
    duration: Nanos,
    start: Nanos,
}

/// Activities in the order in which they can be computed.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    nodes: Vec<Node>,
}

impl Graph {
    /// Adds an activity that went from `start` to `end`. Of `after`, those
    /// that ended later than it began were not waited for.
    pub(super) fn add(&mut self, start: Nanos, end: Nanos, after: &[NodeId]) -> NodeId {
        self.add_guarded(start, end, after, None)
    }

    /// The same for one that something else kept from beginning, too: the way
    /// back does not go there.
    pub(super) fn add_guarded(
        &mut self,
        start: Nanos,
        end: Nanos,
        after: &[NodeId],
        guard: Option<NodeId>,
    ) -> NodeId {
        let after: Vec<NodeId> = after
            .iter()
            .copied()
            .filter(|id| self.end(*id) <= start)
            .collect();
        let guard = guard.filter(|g| self.end(*g) <= start);
        let ready = after.iter().chain(&guard).map(|id| self.end(*id)).max();
        self.nodes.push(Node {
            guard,
            lag: start - ready.unwrap_or(Nanos::ZERO),
            duration: (end - start).max(Nanos::ZERO),
            start,
            after,
        });
        NodeId(self.nodes.len() - 1)
    }

    fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0)
    }

    /// When it ended.
    pub(super) fn end(&self, id: NodeId) -> Nanos {
        self.node(id).map_or(Nanos::ZERO, |n| n.start + n.duration)
    }

    /// The one that it waited for last; of equals the first.
    pub(super) fn waited_for(&self, id: NodeId) -> Option<NodeId> {
        let after = &self.node(id)?.after;
        let last = after.iter().map(|a| self.end(*a)).max()?;
        after.iter().copied().find(|a| self.end(*a) == last)
    }

    /// When `last` would end if this were so.
    pub(super) fn end_if(&self, last: NodeId, change: Change) -> Nanos {
        let (Change::Duration(changed, _) | Change::Lag(changed, _)) = change;
        // What stands before it goes as it went.
        let mut ends: Vec<Nanos> = Vec::new();
        for (i, node) in self.nodes.iter().enumerate().skip(changed.0) {
            let end = |a: &NodeId| match a.0.checked_sub(changed.0) {
                Some(place) => ends.get(place).copied(),
                None => Some(self.end(*a)),
            };
            let waits = node.after.iter().chain(&node.guard);
            let ready = waits.filter_map(end).max();
            let (mut lag, mut duration) = (node.lag, node.duration);
            match change {
                Change::Duration(id, new) if id.0 == i => duration = new,
                Change::Lag(id, new) if id.0 == i => lag = new,
                _ => {}
            }
            ends.push(ready.unwrap_or(Nanos::ZERO) + lag + duration);
            if i == last.0 {
                break;
            }
        }
        let place = last.0.checked_sub(changed.0);
        place.map_or_else(
            || self.end(last),
            |p| ends.get(p).copied().unwrap_or_default(),
        )
    }

    /// When each activity would begin and end if each took the given course.
    pub(super) fn times(&self, course: &dyn Fn(NodeId, Course) -> Course) -> Times {
        let mut times: Times = Vec::with_capacity(self.nodes.len());
        for (i, node) in self.nodes.iter().enumerate() {
            let waits = node.after.iter().chain(&node.guard);
            let ready = waits.filter_map(|a| times.get(a.0).map(|t| t.1)).max();
            let as_it_was = Course {
                lag: node.lag,
                duration: node.duration,
                begins: None,
                ends: None,
            };
            let new = course(NodeId(i), as_it_was);
            let start = ready.unwrap_or(Nanos::ZERO) + new.lag;
            let start = new.begins.map_or(start, |b| start.max(b));
            let end = start + new.duration;
            times.push((start, new.ends.map_or(end, |e| end.max(e))));
        }
        times
    }

    /// The one that it would wait for last at these times; of equals the first.
    pub(super) fn waited_for_at(&self, id: NodeId, times: &Times) -> Option<NodeId> {
        let end = |a: &NodeId| times.get(a.0).map(|t| t.1);
        let after = &self.node(id)?.after;
        let last = after.iter().filter_map(end).max()?;
        after.iter().copied().find(|a| end(a) == Some(last))
    }

    /// Its activities, in the order in which they were added.
    pub(super) fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len()).map(NodeId)
    }

    /// How long an activity began after what it waited for.
    pub(super) fn lag(&self, id: NodeId) -> Nanos {
        self.node(id).map_or(Nanos::ZERO, |n| n.lag)
    }

    /// For each activity, whether every way to `last` goes through it: then all
    /// that it takes less, `last` ends earlier. `slacks` are those of `last`.
    ///
    /// Every activity with a slack lies on some way, so one that a way leaves
    /// out has a step over it: from before it to behind it.
    pub(super) fn on_every_way(&self, last: NodeId, slacks: &[Option<Nanos>]) -> Vec<bool> {
        let mut steps = vec![0_i64; self.nodes.len() + 2];
        let mut over = |from: usize, to: usize| {
            if from < to
                && let Some(begin) = steps.get_mut(from)
            {
                *begin += 1;
                if let Some(end) = steps.get_mut(to) {
                    *end -= 1;
                }
            }
        };
        for (i, node) in self.nodes.iter().enumerate() {
            if slacks.get(i).copied().flatten().is_none() {
                continue;
            }
            if node.after.is_empty() && node.guard.is_none() {
                over(0, i);
            }
            for a in node.after.iter().chain(&node.guard) {
                over(a.0 + 1, i);
            }
        }
        let mut open = 0;
        let mut all: Vec<bool> = Vec::with_capacity(self.nodes.len());
        for (i, step) in steps.iter().take(self.nodes.len()).enumerate() {
            open += step;
            let is_on_a_way = slacks.get(i).copied().flatten().is_some();
            all.push(open == 0 && i <= last.0 && is_on_a_way);
        }
        all
    }

    /// How much longer each could take before `last` would end later; `None`
    /// for one that nothing on the way to `last` waits for.
    pub(super) fn slacks(&self, last: NodeId) -> Vec<Option<Nanos>> {
        let mut latest: Vec<Option<Nanos>> = vec![None; self.nodes.len()];
        if let Some(l) = latest.get_mut(last.0) {
            *l = Some(self.end(last));
        }
        for (i, node) in self.nodes.iter().enumerate().rev() {
            let Some(&Some(end)) = latest.get(i) else {
                continue;
            };
            let ready = end - node.duration - node.lag;
            for a in node.after.iter().chain(&node.guard) {
                if let Some(l) = latest.get_mut(a.0) {
                    *l = Some(l.map_or(ready, |l| l.min(ready)));
                }
            }
        }
        let ids = (0..self.nodes.len()).map(NodeId);
        ids.zip(latest)
            .map(|(id, latest)| latest.map(|l| l - self.end(id)))
            .collect()
    }

    /// The place of an activity in what [`Self::slacks`] gives.
    pub(super) const fn place(id: NodeId) -> usize {
        id.0
    }

    /// What else kept an activity from beginning.
    pub(super) fn guard(&self, id: NodeId) -> Option<NodeId> {
        self.node(id)?.guard
    }

    /// Its duration.
    pub(super) fn duration(&self, id: NodeId) -> Nanos {
        self.node(id).map_or(Nanos::ZERO, |n| n.duration)
    }
}

#[cfg(test)]
mod tests {
    use super::{Change, Graph};
    use record::Nanos;

    #[test]
    fn a_shorter_activity_saves_until_another_one_is_waited_for() {
        let mut g = Graph::default();
        let first = g.add(Nanos(0), Nanos(10), &[]);
        let long = g.add(Nanos(10), Nanos(50), &[first]);
        let short = g.add(Nanos(10), Nanos(40), &[first]);
        let last = g.add(Nanos(55), Nanos(60), &[long, short]);
        assert_eq!(g.waited_for(last), Some(long));
        assert_eq!(g.end_if(last, Change::Duration(first, Nanos(5))), Nanos(55));
        // Half of 40 would be 20, but then the other one is waited for.
        assert_eq!(g.end_if(last, Change::Duration(long, Nanos(20))), Nanos(50));
        assert_eq!(
            g.end_if(last, Change::Duration(short, Nanos(15))),
            Nanos(60)
        );
        assert_eq!(g.end_if(last, Change::Lag(last, Nanos(1))), Nanos(56));
        let slacks = g.slacks(last);
        let all = [Some(0), Some(0), Some(10), Some(0)].map(|s| s.map(Nanos));
        assert_eq!(slacks, all);
    }

    #[test]
    fn what_was_kept_from_beginning_does_not_begin_earlier() {
        let mut g = Graph::default();
        let first = g.add(Nanos(0), Nanos(10), &[]);
        let guard = g.add(Nanos(0), Nanos(45), &[]);
        let last = g.add_guarded(Nanos(50), Nanos(60), &[first], Some(guard));
        assert_eq!(g.waited_for(last), Some(first));
        assert_eq!(g.end_if(last, Change::Duration(first, Nanos(5))), Nanos(60));
        assert_eq!(
            g.end_if(last, Change::Duration(guard, Nanos(25))),
            Nanos(40)
        );
        let slacks = [Some(35), Some(0), Some(0)].map(|s| s.map(Nanos));
        assert_eq!(g.slacks(last), slacks);
    }

    #[test]
    fn only_what_every_way_goes_through_saves_all_of_it() {
        let mut g = Graph::default();
        let first = g.add(Nanos(0), Nanos(10), &[]);
        let long = g.add(Nanos(10), Nanos(50), &[first]);
        let short = g.add(Nanos(10), Nanos(40), &[first]);
        let aside = g.add(Nanos(10), Nanos(90), &[first]);
        let joined = g.add(Nanos(50), Nanos(60), &[long, short]);
        let last = g.add(Nanos(60), Nanos(70), &[joined]);
        let ways = g.on_every_way(last, &g.slacks(last));
        assert_eq!(ways, [true, false, false, false, true, true]);
        for id in [first, joined, last] {
            assert_eq!(g.end_if(last, Change::Duration(id, Nanos(3))), Nanos(63));
        }
        assert_eq!(g.end_if(last, Change::Duration(aside, Nanos(3))), Nanos(70));
        let mut g = Graph::default();
        let other = g.add(Nanos(0), Nanos(10), &[]);
        let alone = g.add(Nanos(5), Nanos(20), &[]);
        let last = g.add(Nanos(20), Nanos(30), &[other, alone]);
        let ways = g.on_every_way(last, &g.slacks(last));
        assert_eq!(ways, [false, false, true]);
    }

    #[test]
    fn what_ended_later_was_not_waited_for() {
        let mut g = Graph::default();
        let late = g.add(Nanos(0), Nanos(30), &[]);
        let own = g.add(Nanos(20), Nanos(40), &[late]);
        assert_eq!(g.waited_for(own), None);
        assert_eq!(g.slacks(own), [None, Some(Nanos(0))]);
    }
}
