//! An ext4 image laid out in the order in which it is read.
//!
//! The blocks that are needed, block for block and not file for file, get a run of
//! free space, in the order of need: content of files, of directories, and before
//! each file the blocks that say where it lies. What is not needed stays where it
//! is. Inodes keep their numbers here, so nothing that names a file changes.
//!
//! Fields and sums: the kernel's `fs/ext4/ext4.h`, `fs/ext4/extents.c`, and its
//! `Documentation/filesystems/ext4/`.

mod error;
mod space;
#[cfg(test)]
mod tests;
pub(super) mod tree;

pub use error::ArrangeError;

use super::checksum::put;
use super::inode::{Inode, flag};
use super::superblock::Superblock;
use crate::facts::State;
use crate::map::{Kind, Map};
use rawimage::Part;
use rawimage::bytes::{le16, le32};
use space::Space;
use std::collections::{BTreeMap, HashMap, HashSet};
use tree::{Tree, nodes_for, written};

/// Features that say more of blocks than is changed here: clusters (0x200), quotas
/// (0x100), blocks of several owners (0x4000), snapshots (0x80).
const NOT_ARRANGED: [(u32, &str); 4] = [
    (0x200, "bigalloc"),
    (0x100, "quota"),
    (0x4000, "shared_blocks"),
    (0x80, "has_snapshot"),
];

/// Something that is needed, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A piece of a file or a directory, by its inode.
    Content {
        /// The inode's number.
        inode: u32,
        /// Where the piece begins in it.
        offset: u64,
        /// How long it is.
        len: u64,
    },
    /// The blocks that say where the content of an inode lies. Else they come before
    /// its first block that is wanted.
    Tree {
        /// The inode's number.
        inode: u32,
    },
    /// A piece of the filesystem, from its start on: blocks of directories among it
    /// are taken, other metadata stays where it is.
    Place {
        /// Where it begins.
        start: u64,
        /// How long it is.
        len: u64,
    },
}

/// What has to be done to an image, and what it brings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrangement {
    /// Content to copy, in bytes: from, to, length. No place is source and target.
    pub copies: Vec<(u64, u64, u64)>,
    /// What to write after that: where, in bytes, and what.
    pub writes: Vec<(u64, Vec<u8>)>,
    /// New blocks that say where content lies: of which inode, and where in bytes.
    pub nodes: Vec<(u32, u64)>,
    /// Blocks that said so before, in bytes.
    pub old_nodes: Vec<u64>,
    /// Blocks of content that move.
    pub blocks: u64,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Files and directories that they belong to.
    pub inodes: u64,
    /// In so many runs they lie afterwards, in the order of need.
    pub runs: u64,
    /// In so many runs they lay before.
    pub runs_before: u64,
    /// Inodes that stay where they are, and why.
    pub left: Vec<(u32, &'static str)>,
}

impl Arrangement {
    /// Bytes of content that move.
    #[must_use]
    pub fn moved_bytes(&self) -> u64 {
        self.blocks * u64::from(self.block_bytes)
    }
}

/// One inode of which something moves.
struct Owner {
    bytes: Vec<u8>,
    at: u64,
    tree: Tree,
    /// Where its blocks go, by their place in the file.
    to: BTreeMap<u64, u64>,
}

/// Says what lays out `volume`, whose map is `map`, in the order of `wanted`.
/// Nothing is written.
///
/// # Errors
/// The image cannot be read, is not clean, is damaged, is full, or uses what is
/// not known here.
pub fn arrange(
    volume: &Part<'_>,
    map: &Map,
    wanted: &[Wanted],
) -> Result<Arrangement, ArrangeError> {
    let sb = Superblock::read(volume)?;
    check(volume, &sb)?;
    let mut space = Space::read(volume, &sb, map)?;
    let mut done = Arrangement {
        block_bytes: sb.block_size,
        ..Arrangement::default()
    };
    let mut owners: HashMap<u32, Option<Owner>> = HashMap::new();
    let mut order: Vec<Step> = Vec::new();
    let mut seen = HashSet::new();
    for (inode, range) in steps(map, wanted, u64::from(sb.block_size)) {
        let owner = match owners.entry(inode) {
            std::collections::hash_map::Entry::Occupied(o) => o.into_mut(),
            std::collections::hash_map::Entry::Vacant(place) => {
                let found = match owner(volume, &sb, &space, inode)? {
                    Ok(owner) => Some(owner),
                    Err(why) => {
                        done.left.push((inode, why));
                        None
                    }
                };
                place.insert(found)
            }
        };
        let Some(owner) = owner else { continue };
        let Some((first, end)) = range else {
            if seen.insert((inode, None)) {
                order.push((inode, None));
            }
            continue;
        };
        let from = owner
            .tree
            .pieces
            .partition_point(|p| p.logical + p.len <= first);
        let pieces = owner.tree.pieces.get(from..).unwrap_or_default();
        for piece in pieces.iter().take_while(|p| p.logical < end) {
            let until = end.min(piece.logical + piece.len);
            for logical in first.max(piece.logical)..until {
                if piece.written && seen.insert((inode, Some(logical))) {
                    // Behind the last block: it must not seem to follow one that stays.
                    owner.to.insert(logical, sb.blocks + 1 + order.len() as u64);
                    order.push((inode, Some(logical)));
                }
            }
            // There are no more blocks than these, whatever extents say.
            if order.len() as u64 > sb.blocks {
                return Err(ArrangeError::Full { blocks: sb.blocks });
            }
        }
    }
    place(&sb, &mut space, &mut owners, &order, &mut done)?;
    done.left.sort_unstable();
    done.old_nodes.sort_unstable();
    done.writes.extend(space.writes());
    Ok(done)
}

pub(super) fn check(volume: &Part<'_>, sb: &Superblock) -> Result<(), ArrangeError> {
    // First: with clusters, for one, a group may have more blocks than without.
    let unfit = NOT_ARRANGED.iter().find(|(bit, _)| sb.has(2, *bit));
    if let Some((_, feature)) = unfit {
        return Err(ArrangeError::Feature { feature });
    }
    let bytes = sb.blocks.checked_mul(u64::from(sb.block_size));
    if bytes.is_none_or(|b| b > volume.len()) || sb.blocks_per_group > sb.block_size * 8 {
        return Err(ArrangeError::Cut { group: 0 });
    }
    let state = match sb.facts.state {
        State::Clean | State::ReadOnly => None,
        State::NeedsRecovery => Some("its journal must be replayed"),
        State::NotClean => Some("it is marked as mounted"),
        State::Errors => Some("it has recorded errors"),
    };
    match state {
        Some(state) => Err(ArrangeError::NotClean { state }),
        None => Ok(()),
    }
}

/// What is laid out: a block of an inode, or those that say where it lies.
type Step = (u32, Option<u64>);

/// The blocks of an inode from the first to the one behind the last; or those that
/// say where it lies.
type Wish = (u32, Option<(u64, u64)>);

/// What is wanted, in blocks.
fn steps(map: &Map, wanted: &[Wanted], size: u64) -> Vec<Wish> {
    let mut all = Vec::new();
    let blocks = |offset: u64, len: u64| {
        let end = offset.saturating_add(len).div_ceil(size);
        Some((offset / size, end))
    };
    for piece in wanted {
        match *piece {
            Wanted::Content { inode, offset, len } => all.push((inode, blocks(offset, len))),
            Wanted::Tree { inode } => all.push((inode, None)),
            Wanted::Place { start, len } => map.pieces(start, len, &mut |piece| {
                if let (Kind::Directory, Some(inode), Some(offset)) =
                    (piece.kind, piece.inode, piece.offset)
                {
                    all.push((inode, blocks(offset, piece.len)));
                }
            }),
        }
    }
    all
}

/// Reads an inode; or why it has to stay.
fn owner(
    volume: &Part<'_>,
    sb: &Superblock,
    space: &Space<'_>,
    number: u32,
) -> Result<Result<Owner, &'static str>, ArrangeError> {
    let Some(at) = space.inode_at(number) else {
        return Ok(Err("the inode does not exist"));
    };
    let bytes = volume.read(at, usize::from(sb.inode_size))?;
    let inode = Inode::new(&bytes);
    if bytes.len() < usize::from(sb.inode_size) || inode.links() == 0 {
        return Ok(Err("it has no name"));
    }
    if inode.flags() & flag::INLINE_DATA != 0 {
        return Ok(Err("its content is stored in the inode"));
    }
    if inode.flags() & flag::EXTENTS == 0 {
        return Ok(Err(
            "it uses block maps of ext2 and ext3 instead of extents",
        ));
    }
    let tree = Tree::read(volume, inode.root(), sb.block_size)?;
    // What lies in free blocks would be written over before it is read.
    let is_inside = |tree: &Tree| {
        let mut blocks = tree
            .pieces
            .iter()
            .map(|p| (p.physical, p.physical.saturating_add(p.len)));
        blocks.all(|(from, end)| end <= sb.blocks && (from..end).all(|b| space.is_used(b)))
    };
    let Some(tree) = tree.filter(is_inside) else {
        return Ok(Err("its extent tree is damaged"));
    };
    Ok(Ok(Owner {
        at,
        tree,
        bytes,
        to: BTreeMap::new(),
    }))
}

/// How many blocks of extents each inode needs, if the order is broken at so many
/// places. An inode that would lie in too many pieces stays where it is.
fn nodes(
    sb: &Superblock,
    owners: &mut HashMap<u32, Option<Owner>>,
    breaks: usize,
    done: &mut Arrangement,
) -> HashMap<u32, usize> {
    let mut nodes = HashMap::new();
    for (number, owner) in owners {
        let Some(is) = owner else { continue };
        // Each block has its place in the order: in as many pieces will its file lie,
        // or in fewer, where the order lies in one piece. A break adds one at most,
        // between two blocks that move.
        let split = breaks.min(is.to.len().saturating_sub(1));
        let pieces = is.tree.moved(&is.to).len() + split;
        match nodes_for(pieces, sb.block_size) {
            Some(count) => {
                nodes.insert(*number, count);
            }
            None => {
                done.left.push((*number, "it would need too many extents"));
                *owner = None;
            }
        }
    }
    nodes
}

/// Gives every block its new place, and writes what says so.
fn place(
    sb: &Superblock,
    space: &mut Space<'_>,
    owners: &mut HashMap<u32, Option<Owner>>,
    order: &[Step],
    done: &mut Arrangement,
) -> Result<(), ArrangeError> {
    let mut breaks = 0;
    let (order, nodes, room) = loop {
        let nodes = nodes(sb, owners, breaks, done);
        let moves = |inode: &u32| owners.get(inode).is_some_and(Option::is_some);
        let order: Vec<Step> = order.iter().copied().filter(|(i, _)| moves(i)).collect();
        let content = order.iter().filter(|s| s.1.is_some()).count();
        let needed = (content + nodes.values().sum::<usize>()) as u64;
        let room = space.room(needed);
        let room = room.ok_or(ArrangeError::Full { blocks: needed })?;
        let found = room.len().saturating_sub(1);
        if found <= breaks {
            break (order, nodes, room);
        }
        breaks = found;
    };
    done.runs = room.len() as u64;
    let mut free = room.iter().flat_map(|(start, len)| *start..*start + *len);
    let mut node_places: HashMap<u32, Vec<u64>> = HashMap::new();
    let size = u64::from(sb.block_size);
    let mut before = None;
    for (inode, logical) in order {
        let Some(Some(owner)) = owners.get_mut(&inode) else {
            continue;
        };
        node_places.entry(inode).or_insert_with(|| {
            let count = nodes.get(&inode).copied().unwrap_or(0);
            free.by_ref().take(count).collect()
        });
        let Some(logical) = logical else { continue };
        let (Some(from), Some(to)) = (owner.tree.place(logical), free.next()) else {
            continue;
        };
        owner.to.insert(logical, to);
        if before != Some(from) {
            done.runs_before += 1;
        }
        before = from.checked_add(1);
        done.blocks += 1;
        match done.copies.last_mut() {
            Some((f, t, len)) if *f + *len == from * size && *t + *len == to * size => *len += size,
            _ => done.copies.push((from * size, to * size, size)),
        }
    }
    let mut numbers: Vec<u32> = owners
        .iter()
        .filter(|(_, o)| o.as_ref().is_some_and(|o| !o.to.is_empty()))
        .map(|(n, _)| *n)
        .collect();
    numbers.sort_unstable();
    for number in numbers {
        let Some(Some(owner)) = owners.get(&number) else {
            continue;
        };
        let places = node_places.remove(&number).unwrap_or_default();
        rewrite(sb, space, number, owner, &places, done);
        done.inodes += 1;
    }
    Ok(())
}

/// Writes an inode and its tree anew, and takes and gives back blocks.
fn rewrite(
    sb: &Superblock,
    space: &mut Space<'_>,
    number: u32,
    owner: &Owner,
    nodes: &[u64],
    done: &mut Arrangement,
) {
    let pieces = owner.tree.moved(&owner.to);
    // Room was kept for as many as could be needed.
    let needed = nodes_for(pieces.len(), sb.block_size).unwrap_or(0);
    let nodes = nodes.get(..needed).unwrap_or(nodes);
    for (logical, to) in &owner.to {
        if let Some(from) = owner.tree.place(*logical) {
            space.change(*to, true);
            space.change(from, false);
        }
    }
    let size = u64::from(sb.block_size);
    for block in &owner.tree.nodes {
        space.change(*block, false);
        done.old_nodes.push(block.saturating_mul(size));
    }
    for block in nodes {
        space.change(*block, true);
        done.nodes.push((number, block.saturating_mul(size)));
    }
    let generation = le32(&owner.bytes, 0x64).unwrap_or(0);
    let key = (number, generation);
    let (root, blocks) = written(&pieces, nodes, sb.block_size, space.sums(), key);
    done.writes.extend(blocks);
    let mut bytes = owner.bytes.clone();
    put(&mut bytes, 0x28, &root);
    // `i_blocks` counts sectors, or blocks with the flag HUGE_FILE.
    let each = match Inode::new(&bytes).flags() & flag::HUGE_FILE != 0 {
        true => 1,
        false => size / 512,
    };
    let low = u64::from(le32(&bytes, 0x1c).unwrap_or(0));
    let high = u64::from(le16(&bytes, 0x74).unwrap_or(0));
    let had = each * owner.tree.nodes.len() as u64;
    let has = each * nodes.len() as u64;
    let count = (low | high << 32).saturating_sub(had).saturating_add(has);
    let [a, b, c, d, e, f, ..] = count.to_le_bytes();
    put(&mut bytes, 0x1c, &[a, b, c, d]);
    put(&mut bytes, 0x74, &[e, f]);
    space.sums().inode(number, &mut bytes);
    done.writes.push((owner.at, bytes));
}
