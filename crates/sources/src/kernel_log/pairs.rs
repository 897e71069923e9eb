//! Initcalls that have begun and not yet ended.

use record::{ClockId, NameId, Origin};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// How many calls of functions that share a symbol with another open one are
/// kept. Kernels have a handful; only a damaged log has more.
const MOST_NAMESAKES: usize = 256;

/// An initcall that began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    /// Its function's symbol, by which it is found.
    pub symbol: NameId,
    /// Symbol and module, as it is shown.
    pub name: NameId,
    /// Offset and size; `None` if its line was cut.
    pub place: Option<(u64, u64)>,
    /// The task that runs it.
    pub task: Option<u64>,
    /// That task's name.
    pub track: Option<NameId>,
    /// The clock of its stamp.
    pub clock: ClockId,
    /// Its stamp.
    pub start: i64,
    /// How many initcalls had begun, it included.
    pub begun: u64,
    /// Whether an end that could be its own was given to another one.
    pub ambiguous: bool,
    /// Its line.
    pub origin: Origin,
}

/// What is known of an initcall that ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    /// Its function's symbol.
    pub symbol: NameId,
    /// Symbol and module.
    pub name: NameId,
    /// Offset and size; `None` if its line was cut.
    pub place: Option<(u64, u64)>,
    /// The task that printed the line.
    pub caller: Option<u64>,
}

impl End {
    fn fits(&self, open: &Open) -> bool {
        let same_function = self.place.is_none()
            || open.place.is_none()
            || (self.place == open.place && self.name == open.name);
        let same_task = match (self.caller, open.task) {
            (Some(caller), Some(task)) => caller == task,
            _ => true,
        };
        self.symbol == open.symbol && same_function && same_task
    }
}

/// The open calls: the oldest of each symbol, and apart from them the younger
/// ones, which are rare.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    oldest: HashMap<NameId, Open>,
    namesakes: Vec<Open>,
}

impl Pairs {
    /// A call begins. Gives back a call that can have no end any more: an
    /// older one of the same function in the same task, whose end was lost.
    pub(super) fn begin(&mut self, open: Open) -> Option<Open> {
        let Some(first) = self.oldest.get(&open.symbol) else {
            self.oldest.insert(open.symbol, open);
            return None;
        };
        let same = |o: &Open| {
            o.name == open.name && o.place == open.place && o.task.is_some() && o.task == open.task
        };
        let lost = if same(first) {
            self.take_oldest(open.symbol)
        } else if let Some(at) = self.namesakes.iter().position(same) {
            Some(self.namesakes.remove(at))
        } else if self.namesakes.len() >= MOST_NAMESAKES {
            Some(self.namesakes.remove(0))
        } else {
            None
        };
        match self.oldest.entry(open.symbol) {
            Entry::Occupied(_) => self.namesakes.push(open),
            Entry::Vacant(place) => {
                place.insert(open);
            }
        }
        lost
    }

    /// A call ended: the oldest that fits. The others that fit as well are
    /// ambiguous from now on, as is the one given back.
    pub(super) fn end(&mut self, end: End) -> Option<Open> {
        let first = self.oldest.get(&end.symbol)?;
        if self.namesakes.is_empty() {
            return if end.fits(first) {
                self.oldest.remove(&end.symbol)
            } else {
                None
            };
        }
        let mut found = if end.fits(first) {
            self.take_oldest(end.symbol)
        } else {
            let at = self.namesakes.iter().position(|o| end.fits(o))?;
            Some(self.namesakes.remove(at))
        };
        let promoted = self.oldest.get_mut(&end.symbol);
        for other in promoted.into_iter().chain(&mut self.namesakes) {
            // Of two calls in one task the older must end later, if at all.
            if end.fits(other) {
                other.ambiguous = true;
                if let Some(found) = &mut found {
                    found.ambiguous = true;
                }
            }
        }
        found
    }

    /// Takes the oldest call of `symbol`, and puts the next one in its place.
    fn take_oldest(&mut self, symbol: NameId) -> Option<Open> {
        let taken = self.oldest.remove(&symbol);
        let next = self.namesakes.iter().position(|o| o.symbol == symbol);
        if let Some(at) = next {
            let next = self.namesakes.remove(at);
            self.oldest.insert(symbol, next);
        }
        taken
    }

    /// What never ended, in the order of the log.
    pub(super) fn never_ended(self) -> Vec<Open> {
        let mut open: Vec<Open> = self.oldest.into_values().collect();
        open.extend(self.namesakes);
        open.sort_unstable_by_key(|o| o.origin);
        open
    }
}
