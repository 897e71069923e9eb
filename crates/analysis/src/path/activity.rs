//! Activities, and what they are called.

use super::graph::{Graph, NodeId};
use super::report::PathKind;
use crate::kernel_work::{Work, works};
use crate::phases::Phases;
use crate::place::Place;
use record::{NameId, Nanos, Record};
use std::collections::BTreeSet;
use std::rc::Rc;

/// Activities, and what they are called.
pub(super) struct Activities<'r> {
    pub record: &'r Record,
    pub graph: Graph,
    pub about: Vec<About>,
    /// Those whose times the input does not show: they stand where they usually would.
    pub placed: BTreeSet<NodeId>,
    /// What the lines of the kernel tell of its work, once somebody has asked.
    works: Option<Rc<[Work]>>,
}

/// What an activity is.
pub(super) struct About {
    pub kind: PathKind,
    pub name: String,
    pub start: Nanos,
    pub end: Nanos,
    pub origin: Option<Place>,
    /// The initcall that did it.
    pub call: Option<NameId>,
    pub by: Doer,
}

/// Who does an activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Doer {
    /// Nobody who is known.
    Nobody,
    /// The processes of a unit.
    Unit(NameId),
    /// A task.
    Task(u32),
}

impl<'r> Activities<'r> {
    /// None.
    pub fn new(record: &'r Record) -> Self {
        Self {
            record,
            graph: Graph::default(),
            about: Vec::new(),
            placed: BTreeSet::new(),
            works: None,
        }
    }

    /// Forgets all that was added.
    pub fn clear(&mut self) {
        *self = Self {
            works: self.works.take(),
            ..Self::new(self.record)
        };
    }

    /// What the lines of the kernel tell of its work. Reading them all takes long, so it is done
    /// once, however often a boot is put together.
    pub fn works(&mut self, phases: &Phases) -> Rc<[Work]> {
        let read = || works(self.record, phases).into();
        Rc::clone(self.works.get_or_insert_with(read))
    }

    /// What is known of one.
    pub fn about(&self, id: NodeId) -> Option<&About> {
        self.about.get(Graph::place(id))
    }

    pub fn add(&mut self, about: About, after: &[NodeId]) -> NodeId {
        let id = self.graph.add(about.start, about.end, after);
        self.about.push(about);
        id
    }

    /// Adds one that waits for `last`, if there is one.
    pub fn follow(&mut self, last: Option<NodeId>, about: About) -> NodeId {
        self.add(about, last.as_slice())
    }

    /// Adds one that something else kept from beginning, too.
    pub fn add_guarded(&mut self, about: About, after: &[NodeId], guard: Option<NodeId>) -> NodeId {
        let (start, end) = (about.start, about.end);
        let id = self.graph.add_guarded(start, end, after, guard);
        self.about.push(about);
        id
    }

    /// Adds what fills the time up to `until`, if there is any.
    pub fn fill(
        &mut self,
        last: Option<NodeId>,
        until: Nanos,
        kind: PathKind,
        name: &str,
    ) -> Option<NodeId> {
        let start = last.map_or(Nanos::ZERO, |l| self.graph.end(l));
        if start >= until {
            return last;
        }
        let about = About {
            kind,
            name: name.to_owned(),
            start,
            end: until,
            origin: None,
            call: None,
            by: Doer::Nobody,
        };
        Some(self.follow(last, about))
    }
}
