//! Inodes of an ext4 image brought together.
//!
//! An inode lies where its number says. What a boot needs has numbers of everywhere, so
//! its inodes lie all over the tables, and each place costs a command or a seek. Here they
//! get numbers that follow each other: their entries in directories change, and the
//! sums of what has the number in it, and nothing else.
//!
//! Fields and sums: the kernel's `fs/ext4/ext4.h`, `fs/ext4/namei.c`, and its
//! `Documentation/filesystems/ext4/`.

mod numbers;
#[cfg(test)]
mod tests;

use super::arrange::tree::Tree;
use super::arrange::{ArrangeError, check};
use super::checksum::{Sums, put};
use super::inode::{Inode, block_attributes, flag};
use super::superblock::{Superblock, incompat};
use super::{FILETYPE, directory};
use crate::Edited;
use crate::map::{Kind, Map};
use numbers::Numbers;
use rawimage::Part;
use rawimage::bytes::{le16, le32};
use std::collections::{BTreeMap, HashSet};

/// Features with which numbers of inodes stand elsewhere, too, or must stay: it is promised
/// that they do (0x800), values of attributes in inodes (0x400), data in directories
/// (0x1000), encryption (0x10000).
const NOT_RENUMBERED: [(usize, u32, &str); 4] = [
    (0, 0x800, "stable_inodes"),
    (1, 0x400, "ea_inode"),
    (1, 0x1000, "dirdata"),
    (1, 0x1_0000, "encrypt"),
];

/// What was renumbered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Renumbered {
    /// The old number and the new one.
    pub numbers: BTreeMap<u32, u32>,
    /// In so many pieces the inodes lie now, in their order.
    pub runs: u64,
    /// Why none was: a feature of the filesystem.
    pub kept_for: Option<&'static str>,
}

/// Where the inodes of an image lie.
#[derive(Debug)]
pub struct Tables {
    /// Where each table begins, in bytes, and the number of its first inode, in order of
    /// places.
    tables: Vec<(u64, u32)>,
    /// The same of each group, in their order.
    groups: Vec<u64>,
    inode_size: u64,
    per_group: u32,
}

impl Tables {
    /// Those of `volume`.
    ///
    /// # Errors
    /// It is no ext2, ext3 or ext4, or cannot be read.
    pub fn read(volume: &Part<'_>) -> Result<Self, ArrangeError> {
        let sb = Superblock::read(volume)?;
        let numbers = Numbers::read(volume, &sb)?;
        let groups = u32::try_from(sb.groups()).unwrap_or(u32::MAX);
        let firsts = (0..groups).map_while(|g| g.checked_mul(sb.inodes_per_group)?.checked_add(1));
        let mut tables: Vec<(u64, u32)> = firsts
            .map_while(|first| Some((numbers.inode_at(first)?, first)))
            .collect();
        let groups = tables.iter().map(|t| t.0).collect();
        tables.sort_unstable();
        Ok(Self {
            tables,
            groups,
            inode_size: u64::from(sb.inode_size),
            per_group: sb.inodes_per_group,
        })
    }

    /// The numbers of the inodes of which some lies in `len` bytes from `start` on.
    pub fn inodes(&self, start: u64, len: u64) -> impl Iterator<Item = u32> + use<'_> {
        let end = start.saturating_add(len);
        let bytes = self.inode_size * u64::from(self.per_group);
        let touched = self
            .tables
            .partition_point(move |t| t.0.saturating_add(bytes) <= start);
        let tables = self.tables.get(touched..).unwrap_or_default().iter();
        tables
            .take_while(move |(at, _)| *at < end)
            .flat_map(move |(at, first)| {
                let index = |byte: u64| {
                    let index = byte.saturating_sub(*at) / self.inode_size;
                    u32::try_from(index).map_or(self.per_group, |i| i.min(self.per_group))
                };
                let from = first.saturating_add(index(start));
                from..first.saturating_add(index(end.saturating_add(self.inode_size - 1)))
            })
    }

    /// Where an inode lies, in bytes.
    #[must_use]
    pub fn place(&self, number: u32) -> Option<u64> {
        let index = number.checked_sub(1)?;
        let table = self.groups.get((index / self.per_group) as usize)?;
        table.checked_add(u64::from(index % self.per_group) * self.inode_size)
    }
}

/// Gives `wanted` numbers that follow each other, in that order, where `map` is the map of
/// `image`. Those that have to keep theirs are left out.
///
/// # Errors
/// The image cannot be read, is not clean, or is damaged; then `image` is to be forgotten.
pub fn renumber(
    image: &mut Edited<'_>,
    map: &Map,
    wanted: &[u32],
) -> Result<Renumbered, ArrangeError> {
    let volume = Part::whole(image)?;
    let sb = Superblock::read(&volume)?;
    check(&volume, &sb)?;
    let unfit = NOT_RENUMBERED
        .iter()
        .find(|(word, bit, _)| sb.has(*word, *bit));
    if let Some((_, _, feature)) = unfit {
        return Ok(Renumbered {
            kept_for: Some(feature),
            ..Renumbered::default()
        });
    }
    let mut numbers = Numbers::read(&volume, &sb)?;
    if let Some(inode) = map.inodes().iter().find(|i| !numbers.is_used(i.number)) {
        return Err(ArrangeError::InodeBitmap {
            inode: inode.number,
        });
    }
    let wanted = movable(&volume, map, (&sb, &numbers), wanted)?;
    let free = numbers.free(u32::try_from(wanted.len()).unwrap_or(u32::MAX));
    let new: BTreeMap<u32, u32> = wanted.into_iter().zip(free.iter().copied()).collect();
    let taken: Vec<u32> = free.into_iter().take(new.len()).collect();
    let breaks = taken.windows(2).filter(|pair| match pair {
        [a, b] => !numbers.is_behind(*a, *b),
        _ => false,
    });
    let runs = breaks.count() as u64 + u64::from(!taken.is_empty());
    numbers.clear(image, &taken)?;
    for (old, now) in &new {
        inode(image, &sb, &numbers, (*old, *now))?;
    }
    directories(image, map, &sb, (&numbers, &new))?;
    for (old, now) in &new {
        let is_directory = map.inode(*old).is_some_and(|i| i.kind == Kind::Directory);
        numbers.change(*old, false, is_directory);
        numbers.change(*now, true, is_directory);
    }
    numbers.write(image)?;
    Ok(Renumbered {
        numbers: new,
        runs,
        kept_for: None,
    })
}

/// The bytes of an inode.
fn bytes_of(
    volume: &Part<'_>,
    sb: &Superblock,
    numbers: &Numbers<'_>,
    number: u32,
) -> Result<Vec<u8>, ArrangeError> {
    let size = usize::from(sb.inode_size);
    let at = numbers.inode_at(number).unwrap_or(u64::MAX);
    let bytes = volume.read(at, size)?;
    match bytes.len() == size {
        true => Ok(bytes),
        false => Err(ArrangeError::Inode { inode: number }),
    }
}

/// Inodes that keep their numbers: those of the filesystem itself, and those that a
/// directory names which lies in its inode.
fn kept(
    volume: &Part<'_>,
    map: &Map,
    sb: &Superblock,
    numbers: &Numbers<'_>,
) -> Result<HashSet<u32>, ArrangeError> {
    let own = [sb.journal, sb.orphan_file].into_iter().chain(sb.quotas);
    let mut keep: HashSet<u32> = own.chain(map.find(b"/lost+found")).collect();
    if !sb.has(1, incompat::INLINE_DATA) {
        return Ok(keep);
    }
    let has_types = sb.has(1, FILETYPE);
    for known in map.inodes().iter().filter(|i| i.kind == Kind::Directory) {
        let bytes = bytes_of(volume, sb, numbers, known.number)?;
        let inode = Inode::new(&bytes);
        if inode.flags() & flag::INLINE_DATA == 0 {
            continue;
        }
        keep.extend(le32(inode.root(), 0));
        let entries = inode.root().get(4..).unwrap_or_default();
        for part in [entries, inode.inline_rest()] {
            directory::entries(part, has_types, &mut |child, _| {
                keep.insert(child);
            });
        }
    }
    Ok(keep)
}

/// Those of `wanted` that can have another number, each once, in that order.
fn movable(
    volume: &Part<'_>,
    map: &Map,
    (sb, numbers): (&Superblock, &Numbers<'_>),
    wanted: &[u32],
) -> Result<Vec<u32>, ArrangeError> {
    let mut done = kept(volume, map, sb, numbers)?;
    let mut movable = Vec::new();
    for number in wanted.iter().copied().filter(|n| *n >= sb.first_inode) {
        let Some(known) = map.inode(number).filter(|_| done.insert(number)) else {
            continue;
        };
        let bytes = bytes_of(volume, sb, numbers, number)?;
        let inode = Inode::new(&bytes);
        let is_named = matches!(known.kind, Kind::File | Kind::Directory | Kind::Symlink);
        let is_kept = inode.flags() & (flag::EA_INODE | flag::ENCRYPT) != 0;
        // A tree that cannot be read whole cannot be given new sums.
        let has_tree = !numbers.sums().cover_all()
            || inode.flags() & flag::EXTENTS == 0
            || Tree::read(volume, inode.root(), sb.block_size)?.is_some();
        if is_named && inode.links() > 0 && !is_kept && has_tree && !is_signed(volume, sb, &inode)?
        {
            movable.push(number);
        }
    }
    Ok(movable)
}

/// Whether the kernel's integrity measurement has signed an inode, its number included
/// (`security.evm`, `security/integrity/evm/evm_crypto.c`).
fn is_signed(volume: &Part<'_>, sb: &Superblock, inode: &Inode<'_>) -> Result<bool, ArrangeError> {
    const SECURITY: u8 = 6;
    let is_evm = |(index, name): (u8, &[u8])| index == SECURITY && name == b"evm";
    if inode.attributes().any(is_evm) {
        return Ok(true);
    }
    let block = inode.xattr_block();
    if block == 0 {
        return Ok(false);
    }
    let at = block.saturating_mul(u64::from(sb.block_size));
    let bytes = volume.read(at, sb.block_size as usize)?;
    Ok(block_attributes(&bytes).any(is_evm))
}

/// Moves one inode, and writes the sums of its extents anew.
fn inode(
    image: &mut Edited<'_>,
    sb: &Superblock,
    numbers: &Numbers<'_>,
    (old, new): (u32, u32),
) -> Result<(), ArrangeError> {
    let damaged = ArrangeError::Inode { inode: old };
    let volume = Part::whole(image)?;
    let mut bytes = bytes_of(&volume, sb, numbers, old)?;
    let sums = numbers.sums();
    let was = bytes.clone();
    sums.inode(old, &mut bytes);
    if was != bytes {
        return Err(damaged);
    }
    sums.inode(new, &mut bytes);
    let generation = le32(&bytes, 0x64).unwrap_or(0);
    let has_extents = Inode::new(&bytes).flags() & flag::EXTENTS != 0;
    let mut changed = Vec::new();
    if sums.cover_all() && has_extents {
        let size = u64::from(sb.block_size);
        let root = Inode::new(&bytes).root();
        let Some(tree) = Tree::read(&volume, root, sb.block_size)? else {
            return Err(damaged);
        };
        for block in tree.nodes {
            let at = block.saturating_mul(size);
            let mut node = volume.read(at, sb.block_size as usize)?;
            let most = usize::from(le16(&node, 4).unwrap_or(0));
            let was = node.clone();
            sums.extents(old, generation, &mut node, most);
            if was != node {
                return Err(damaged);
            }
            sums.extents(new, generation, &mut node, most);
            changed.push((at, node));
        }
    }
    for (at, node) in changed {
        image.put(at, &node)?;
    }
    let place = |number| numbers.inode_at(number).unwrap_or(u64::MAX);
    image.put(place(new), &bytes)?;
    image.put(place(old), &vec![0; bytes.len()])?;
    Ok(())
}

/// Puts the new numbers into all directories, and sums where something changed.
fn directories(
    image: &mut Edited<'_>,
    map: &Map,
    sb: &Superblock,
    (numbers, new): (&Numbers<'_>, &BTreeMap<u32, u32>),
) -> Result<(), ArrangeError> {
    let all: Vec<u32> = map
        .inodes()
        .iter()
        .filter(|i| i.kind == Kind::Directory)
        .map(|i| i.number)
        .collect();
    let has_types = sb.has(1, FILETYPE);
    let sums = numbers.sums();
    for (old, extents) in all.iter().zip(map.extents_of(&all)) {
        let number = new.get(old).copied().unwrap_or(*old);
        let bytes = bytes_of(&Part::whole(image)?, sb, numbers, number)?;
        let generation = le32(&bytes, 0x64).unwrap_or(0);
        let is_indexed = Inode::new(&bytes).flags() & flag::INDEX != 0;
        let damaged = || ArrangeError::Directory { inode: *old };
        let size = u64::from(sb.block_size);
        let blocks = extents
            .iter()
            .filter(|e| e.kind == Kind::Directory)
            .flat_map(|e| (e.start..e.start.saturating_add(e.len)).step_by(sb.block_size as usize));
        for at in blocks {
            let mut block = Part::whole(image)?.read(at, sb.block_size as usize)?;
            if (block.len() as u64) < size {
                return Err(damaged());
            }
            let was = sum(sums, (*old, generation), &block, is_indexed).ok_or_else(damaged)?;
            let stated = was.and_then(|(place, _)| le32(&block, place));
            if was.is_some_and(|(_, sum)| stated != Some(sum)) {
                return Err(damaged());
            }
            let changed = directory::renumber(&mut block, has_types, new).ok_or_else(damaged)?;
            if changed || number != *old {
                let now =
                    sum(sums, (number, generation), &block, is_indexed).ok_or_else(damaged)?;
                if let Some((place, sum)) = now {
                    put(&mut block, place, &sum.to_le_bytes());
                }
                image.put(at, &block)?;
            }
        }
    }
    Ok(())
}

/// Where the sum of a block lies and what it has to be, if blocks have one; `None` if this
/// one has none, and should.
#[allow(
    clippy::option_option,
    reason = "no sum and a damaged block are two things"
)]
fn sum(
    sums: Sums,
    key: (u32, u32),
    block: &[u8],
    is_indexed: bool,
) -> Option<Option<(usize, u32)>> {
    match sums.cover_all() {
        true => sums.directory(key, block, is_indexed).map(Some),
        false => Some(None),
    }
}
