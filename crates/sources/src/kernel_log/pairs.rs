//! Initcalls that have begun and not yet ended.

use super::call::Function;
use hashbrown::HashTable;
use record::{ClockId, NameId, Origin};
use std::hash::BuildHasher;

/// How many calls of functions that share a symbol with another open one are
/// kept. Kernels have a handful; only a damaged log has more.
const MOST_NAMESAKES: usize = 256;

/// What a call is of, small enough to keep: hashes of 64 bits stand for the
/// words. Keys of one log need one hasher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    symbol: u64,
    rest: u64,
    /// Whether the line says all of it.
    pub whole: bool,
}

impl Key {
    /// The key of a function.
    #[inline(always)]
    pub(super) fn of(function: Function<'_>, hasher: &impl BuildHasher) -> Self {
        let (symbol, rest) = function.parts();
        Self {
            symbol: hasher.hash_one(symbol),
            rest: hasher.hash_one(rest),
            whole: function.whole,
        }
    }

    /// The key of a device.
    pub(super) fn of_device(device: &[u8], hasher: &impl BuildHasher) -> Self {
        Self {
            symbol: hasher.hash_one(device),
            rest: 0,
            whole: true,
        }
    }

    fn is(&self, other: &Self) -> bool {
        // A line that is cut may lack the module, too.
        self.symbol == other.symbol && (self.rest == other.rest || !self.whole || !other.whole)
    }

    /// One hash for all the words.
    pub(super) const fn words(&self) -> u64 {
        self.symbol.rotate_left(32) ^ self.rest
    }
}

/// An initcall that began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    /// Its function, by which it is found.
    pub key: Key,
    /// Symbol and module, as it is shown.
    pub name: NameId,
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
    /// Its function.
    pub key: Key,
    /// The task that printed the line.
    pub caller: Option<u64>,
}

impl End {
    fn fits(&self, open: &Open) -> bool {
        let same_task = match (self.caller, open.task) {
            (Some(caller), Some(task)) => caller == task,
            _ => true,
        };
        same_task && self.key.is(&open.key)
    }
}

/// The open calls: the oldest of each symbol, and apart from them the younger
/// ones, which are rare.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    /// The only open call, as long as there is only one; then it is not among
    /// the others.
    only: Option<Open>,
    oldest: HashTable<Open>,
    namesakes: Vec<Open>,
}

impl Pairs {
    /// A call begins. Gives back a call that can have no end any more: an
    /// older one of the same function in the same task, whose end was lost.
    #[inline]
    pub(super) fn begin(&mut self, open: Open) -> Option<Open> {
        if self.only.is_none() && self.oldest.is_empty() {
            self.only = Some(open);
            return None;
        }
        self.begin_among_others(open)
    }

    fn begin_among_others(&mut self, open: Open) -> Option<Open> {
        if let Some(only) = self.only.take() {
            self.insert(only);
        }
        let symbol = open.key.symbol;
        let Some(first) = self.oldest.find(symbol, |o| o.key.symbol == symbol) else {
            self.insert(open);
            return None;
        };
        let same = |o: &Open| open.key.is(&o.key) && o.task.is_some() && o.task == open.task;
        let lost = if same(first) {
            self.take_oldest(symbol)
        } else if let Some(at) = self.namesakes.iter().position(same) {
            Some(self.namesakes.remove(at))
        } else if self.namesakes.len() >= MOST_NAMESAKES {
            Some(self.namesakes.remove(0))
        } else {
            None
        };
        if self
            .oldest
            .find(symbol, |o| o.key.symbol == symbol)
            .is_some()
        {
            self.namesakes.push(open);
        } else {
            self.insert(open);
        }
        lost
    }

    /// A call ended: the oldest that fits. The others that fit as well are
    /// ambiguous from now on, as is the one given back.
    #[inline]
    pub(super) fn end(&mut self, end: End) -> Option<Open> {
        if self.only.is_some() {
            return self.only.take_if(|open| end.fits(open));
        }
        self.end_among_others(end)
    }

    fn end_among_others(&mut self, end: End) -> Option<Open> {
        let symbol = end.key.symbol;
        let first = self.oldest.find(symbol, |o| o.key.symbol == symbol)?;
        let mut found = if end.fits(first) {
            self.take_oldest(symbol)?
        } else {
            let at = self.namesakes.iter().position(|o| end.fits(o))?;
            self.namesakes.remove(at)
        };
        if self.oldest.is_empty() {
            return Some(found);
        }
        let next = self.oldest.find_mut(symbol, |o| o.key.symbol == symbol);
        for other in next.into_iter().chain(&mut self.namesakes) {
            if end.fits(other) {
                other.ambiguous = true;
                found.ambiguous = true;
            }
        }
        Some(found)
    }

    fn insert(&mut self, open: Open) {
        self.oldest
            .insert_unique(open.key.symbol, open, |o| o.key.symbol);
    }

    /// Takes the oldest call of a symbol, and puts the next one in its place.
    fn take_oldest(&mut self, symbol: u64) -> Option<Open> {
        let same = |o: &Open| o.key.symbol == symbol;
        let taken = match self.oldest.find_entry(symbol, same) {
            Ok(entry) => entry.remove().0,
            Err(_) => return None,
        };
        if let Some(at) = self.namesakes.iter().position(same) {
            let next = self.namesakes.remove(at);
            self.insert(next);
        }
        Some(taken)
    }

    /// What never ended, in the order of the log.
    pub(super) fn never_ended(self) -> Vec<Open> {
        let mut open: Vec<Open> = self.oldest.into_iter().collect();
        open.extend(self.only);
        open.extend(self.namesakes);
        open.sort_unstable_by_key(|o| o.origin);
        open
    }
}
