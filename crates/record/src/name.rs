//! Interned names.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::borrow::Cow;
use std::hash::BuildHasher;
use std::num::NonZeroU32;

/// The id of a name in one record. It means nothing in another one.
///
/// It counts from one, so that rows by the million have it optional in the same
/// room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(NonZeroU32);

impl NameId {
    /// Of the name at this place.
    const fn at(place: u32) -> Self {
        Self(NonZeroU32::MIN.saturating_add(place))
    }
}

/// Names in one arena, each stored once.
#[derive(Debug, Default)]
pub(crate) struct Names {
    arena: String,
    ranges: Vec<(u32, u32)>,
    ids: HashTable<Entry>,
    hasher: DefaultHashBuilder,
}

/// The hash of a name, so that another one is not mistaken for it before the
/// arena is looked at, and its id.
#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u32,
    id: u32,
}

impl Entry {
    /// The hash that the table goes by: it takes the upper bits and the lower.
    fn wide(hash: u32) -> u64 {
        u64::from(hash) << 32 | u64::from(hash)
    }
}

impl Names {
    /// The id of `name`, new or known.
    ///
    /// The arena holds 4 GiB; past that, every new name is the empty one. The
    /// inputs that could reach it are refused long before.
    pub(crate) fn intern(&mut self, name: &str) -> NameId {
        let hash = self.hash(name.as_bytes());
        let known = self.find(hash, name.as_bytes());
        known.unwrap_or_else(|| self.add(hash, name))
    }

    /// The id of a name in bytes; what is no UTF-8 becomes U+FFFD.
    pub(crate) fn intern_lossy(&mut self, name: &[u8]) -> NameId {
        let hash = self.hash(name);
        // A known name is text: these bytes need no check then.
        if let Some(known) = self.find(hash, name) {
            return known;
        }
        match String::from_utf8_lossy(name) {
            Cow::Borrowed(text) => self.add(hash, text),
            Cow::Owned(text) => self.intern(&text),
        }
    }

    pub(crate) fn get(&self, id: NameId) -> &str {
        self.text(id.0.get() - 1)
    }

    #[expect(clippy::cast_possible_truncation, reason = "32 bits of it suffice")]
    fn hash(&self, name: &[u8]) -> u32 {
        self.hasher.hash_one(name) as u32
    }

    fn find(&self, hash: u32, name: &[u8]) -> Option<NameId> {
        let is = |e: &Entry| e.hash == hash && self.text(e.id).as_bytes() == name;
        let entry = self.ids.find(Entry::wide(hash), is);
        entry.map(|e| NameId::at(e.id))
    }

    /// Adds a name that is not known.
    fn add(&mut self, hash: u32, name: &str) -> NameId {
        let (Ok(start), Ok(id)) = (
            u32::try_from(self.arena.len()),
            u32::try_from(self.ranges.len()),
        ) else {
            return NameId::at(0);
        };
        let Some(end) = u32::try_from(name.len())
            .ok()
            .and_then(|n| start.checked_add(n))
        else {
            return NameId::at(0);
        };
        self.arena.push_str(name);
        self.ranges.push((start, end));
        let entry = Entry { hash, id };
        self.ids
            .insert_unique(Entry::wide(hash), entry, |e| Entry::wide(e.hash));
        NameId::at(id)
    }

    fn text(&self, id: u32) -> &str {
        self.ranges
            .get(id as usize)
            .and_then(|&(start, end)| self.arena.get(start as usize..end as usize))
            .unwrap_or("")
    }
}
