//! Interned names.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// The id of a name in one record. It means nothing in another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(u32);

/// Names in one arena, each stored once.
#[derive(Debug, Default)]
pub(crate) struct Names {
    arena: String,
    ranges: Vec<(u32, u32)>,
    ids: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Names {
    /// The id of `name`, new or known.
    ///
    /// The arena holds 4 GiB; past that, every new name is the empty one. The
    /// inputs that could reach it are refused long before.
    pub(crate) fn intern(&mut self, name: &str) -> NameId {
        if let Some(known) = self.find(name.as_bytes()) {
            return known;
        }
        let (Ok(start), Ok(id)) = (
            u32::try_from(self.arena.len()),
            u32::try_from(self.ranges.len()),
        ) else {
            return NameId(0);
        };
        let Some(end) = u32::try_from(name.len())
            .ok()
            .and_then(|n| start.checked_add(n))
        else {
            return NameId(0);
        };
        self.arena.push_str(name);
        self.ranges.push((start, end));
        let (arena, ranges, hasher) = (&self.arena, &self.ranges, &self.hasher);
        let hash = |id: &u32| hasher.hash_one(slice(arena, ranges, *id).as_bytes());
        self.ids.insert_unique(hash(&id), id, hash);
        NameId(id)
    }

    /// The id of `name`, if it is known.
    pub(crate) fn find(&self, name: &[u8]) -> Option<NameId> {
        let hash = self.hasher.hash_one(name);
        let id = self.ids.find(hash, |&id| self.text(id).as_bytes() == name);
        id.map(|&id| NameId(id))
    }

    pub(crate) fn get(&self, id: NameId) -> &str {
        self.text(id.0)
    }

    fn text(&self, id: u32) -> &str {
        slice(&self.arena, &self.ranges, id)
    }
}

fn slice<'a>(arena: &'a str, ranges: &[(u32, u32)], id: u32) -> &'a str {
    ranges
        .get(id as usize)
        .and_then(|&(start, end)| arena.get(start as usize..end as usize))
        .unwrap_or("")
}
