//! Who called whom, how often and for how long: a tree of sums.
//!
//! A function trace has more calls than memory has room for. Every question
//! that is asked of it (the `kd` table, folded stacks, an icicle) is answered
//! by the sums over equal stacks.

use crate::name::NameId;
use crate::source::Origin;
use crate::time::Nanos;
use hashbrown::HashMap;

/// The nodes that a tree holds; calls on further stacks count in the node
/// above them.
const MOST_NODES: usize = 1_000_000;

/// A node of one call tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(u32);

/// All calls of one function on one stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The stack it was called on; `None` at the bottom, which is a task.
    pub parent: Option<CallId>,
    /// The function; at the bottom the task.
    pub function: NameId,
    /// How often it was called, or was seen by a profiler.
    pub count: u64,
    /// The sum of its times, those it called included.
    pub time: Nanos,
    /// How many of the calls were not seen to return: their time is missing.
    pub open: u64,
    /// The time spent in the function itself, where the source states it; else
    /// it is the time less that of the calls on this stack.
    pub local: Option<Nanos>,
}

/// All calls of one function, on whichever stack, as a source states their
/// sums: a row of a table that `kd` printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionSum {
    /// The function.
    pub function: NameId,
    /// How often it was called.
    pub count: u64,
    /// The sum of its times, those it called included; `None` if no call was
    /// seen to return.
    pub time: Option<Nanos>,
    /// The average time of a call, where the source states it.
    pub average: Option<Nanos>,
    /// The sum of the times spent in the function itself, where the source
    /// states it.
    pub local: Option<Nanos>,
    /// The function it called that took longest, and how often it called that
    /// one, where the source states it.
    pub max_sub: Option<(NameId, u64)>,
    /// The evidence.
    pub origin: Origin,
}

/// Calls as a tree of sums. A parent stands before its children.
#[derive(Debug, Default)]
pub struct CallTree {
    calls: Vec<Call>,
    ids: HashMap<(Option<CallId>, NameId), CallId>,
    sums: Vec<FunctionSum>,
    refused: u64,
}

impl CallTree {
    /// The node of `function` called on the stack `parent`, new or known.
    pub fn node(&mut self, parent: Option<CallId>, function: NameId) -> CallId {
        if let Some(&known) = self.ids.get(&(parent, function)) {
            return known;
        }
        if self.calls.len() >= MOST_NODES
            && let Some(parent) = parent
        {
            self.refused += 1;
            return parent;
        }
        let id = CallId(u32::try_from(self.calls.len()).unwrap_or(u32::MAX));
        self.calls.push(Call {
            parent,
            function,
            count: 0,
            time: Nanos::ZERO,
            open: 0,
            local: None,
        });
        self.ids.insert((parent, function), id);
        id
    }

    /// Adds calls that took `time` together.
    pub fn add(&mut self, id: CallId, count: u64, time: Nanos) {
        if let Some(c) = self.calls.get_mut(id.0 as usize) {
            c.count = c.count.saturating_add(count);
            c.time = c.time + time;
        }
    }

    /// Adds a call that was not seen to return.
    pub fn add_open(&mut self, id: CallId) {
        if let Some(c) = self.calls.get_mut(id.0 as usize) {
            c.count = c.count.saturating_add(1);
            c.open = c.open.saturating_add(1);
        }
    }

    /// Adds time that calls spent in the function itself, as the source states it.
    pub fn add_local(&mut self, id: CallId, local: Nanos) {
        if let Some(c) = self.calls.get_mut(id.0 as usize) {
            c.local = Some(c.local.unwrap_or_default() + local);
        }
    }

    /// Adds sums that a source states without saying on which stacks.
    pub fn add_sum(&mut self, sum: FunctionSum) {
        if self.sums.len() < MOST_NODES {
            self.sums.push(sum);
        } else {
            self.refused += 1;
        }
    }

    /// The sums that sources state without saying on which stacks.
    #[must_use]
    pub fn sums(&self) -> &[FunctionSum] {
        &self.sums
    }

    /// Every node, parents before children.
    pub fn iter(&self) -> impl Iterator<Item = (CallId, &Call)> {
        let ids = (0..).map(CallId);
        ids.zip(&self.calls)
    }

    /// One node.
    #[must_use]
    pub fn get(&self, id: CallId) -> Option<&Call> {
        self.calls.get(id.0 as usize)
    }

    /// Whether nothing was called.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.sums.is_empty()
    }

    /// How many times a stack found no room and counted in the one above it.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }
}
