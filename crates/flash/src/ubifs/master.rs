//! The master node: where everything is. It is appended to logical blocks 1 and
//! 2 in turn, so that one of them always holds a whole one.

use super::lebs::Lebs;
use super::node::{Scan, kind};
use rawimage::endian::{Endian, Fields};
use std::io;

/// Length of the node, bytes.
pub const LENGTH: u32 = 512;
/// The first of the two blocks.
const FIRST: u32 = 1;

/// The filesystem was mounted for writing and not unmounted.
pub const DIRTY: u32 = 1;
/// There are no inodes without a name.
pub const NO_ORPHANS: u32 = 2;
/// The node was written by recovery.
pub const RECOVERY: u32 = 4;

/// A master node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Master {
    /// Its sequence number.
    pub sequence: u64,
    /// The highest inode number.
    pub highest_inode: u64,
    /// The number of the last commit.
    pub commit: u64,
    /// [`DIRTY`], [`NO_ORPHANS`] and [`RECOVERY`].
    pub flags: u32,
    /// The block in which the log begins.
    pub log: u32,
    /// Where the root of the index is: block, place in it, length.
    pub root: (u32, u32, u32),
    /// Bytes of the index.
    pub index_size: u64,
    /// Bytes that are free, dirty and in use.
    pub space: (u64, u64, u64),
    /// Blocks that are empty.
    pub empty_lebs: u32,
    /// Blocks of the index.
    pub index_lebs: u32,
    /// Blocks of the filesystem when it was last unmounted.
    pub leb_count: u32,
}

impl Master {
    fn parse(node: &[u8]) -> Option<Self> {
        let mut f = Fields::new(Endian::Little, node);
        f.bytes(8)?;
        let sequence = f.u64()?;
        f.bytes(8)?;
        let (highest_inode, commit, flags, log) = (f.u64()?, f.u64()?, f.u32()?, f.u32()?);
        let root = (f.u32()?, f.u32()?, f.u32()?);
        f.bytes(12)?;
        let index_size = f.u64()?;
        let space = (f.u64()?, f.u64()?, f.u64()?);
        f.bytes(16 + 36)?;
        Some(Self {
            sequence,
            highest_inode,
            commit,
            flags,
            log,
            root,
            index_size,
            space,
            empty_lebs: f.u32()?,
            index_lebs: f.u32()?,
            leb_count: f.u32()?,
        })
    }

    /// Whether the filesystem was not unmounted.
    #[must_use]
    pub fn is_dirty(&self) -> bool {
        self.flags & DIRTY != 0
    }
}

/// What is in the two blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Both hold the same node.
    Good(Master),
    /// Power went while one was written; the kernel takes this one, from this
    /// block, and writes both anew.
    Recovered(Master, u32),
    /// The kernel finds none that it can trust, and does not mount.
    Lost,
}

impl State {
    /// The node that counts.
    #[must_use]
    pub fn master(&self) -> Option<&Master> {
        match self {
            Self::Good(master) | Self::Recovered(master, _) => Some(master),
            Self::Lost => None,
        }
    }

    /// A name for programs, which stays the same.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Good(_) => "good",
            Self::Recovered(..) => "recovered",
            Self::Lost => "lost",
        }
    }
}

/// What one of the two blocks holds.
struct Copy {
    /// The last node, and where it is.
    last: Option<(Vec<u8>, u32)>,
    count: usize,
    /// Whether something follows that is no node.
    is_broken: bool,
    /// Whether the last node is of another type.
    is_other: bool,
}

impl Copy {
    fn read(lebs: &Lebs, number: u32) -> io::Result<Self> {
        let scan = Scan::of(lebs, number, 0)?;
        let last = scan.nodes.last();
        Ok(Self {
            count: scan.nodes.len(),
            is_broken: scan.broken.is_some(),
            is_other: last.is_some_and(|n| n.header.kind != kind::MASTER),
            last: last.map(|n| (scan.node(n).to_vec(), n.offset)),
        })
    }
}

/// Whether two nodes say the same: all but header and signature.
fn same(a: &[u8], b: &[u8]) -> bool {
    let part = |node: &[u8], from: usize, to: usize| node.get(from..to).map(<[u8]>::to_vec);
    part(a, 24, 296) == part(b, 24, 296) && part(a, 360, 512) == part(b, 360, 512)
}

/// Finds the node that the kernel takes (`scan_for_master` and
/// `ubifs_recover_master_node`).
///
/// # Errors
/// What reading says.
pub fn find(lebs: &Lebs, min_io: u32) -> io::Result<State> {
    let (first, second) = (Copy::read(lebs, FIRST)?, Copy::read(lebs, FIRST + 1)?);
    if first.is_other || second.is_other {
        return Ok(State::Lost);
    }
    let state = |node: &[u8], from: Option<u32>| match (Master::parse(node), from) {
        (Some(master), None) => State::Good(master),
        (Some(master), Some(block)) => State::Recovered(master, block),
        (None, _) => State::Lost,
    };
    if let (Some((a, at)), Some((b, there))) = (&first.last, &second.last)
        && first.count == second.count
        && at == there
        && same(a, b)
        && !first.is_broken
        && !second.is_broken
    {
        return Ok(state(a, None));
    }
    // As it stands in the block.
    let size = LENGTH
        .checked_next_multiple_of(min_io.max(1))
        .unwrap_or(LENGTH);
    let room = |offset: u32| lebs.leb_size.saturating_sub(offset.saturating_add(size));
    let found = match (&first.last, &second.last) {
        (Some((a, 0)), _) if !first.is_broken && is_recovery(a) => Some((a, FIRST)),
        (Some((a, at)), Some((b, there))) if at == there => same(a, b).then_some((a, FIRST)),
        // The first was written and the second not, in the same round or the
        // next one.
        (Some((a, at)), Some((_, there))) => {
            let next = there.checked_add(size) == Some(*at);
            let wrapped = *at == 0 && room(*there) < size;
            (!first.is_broken && (next || wrapped)).then_some((a, FIRST))
        }
        (Some((a, 0)), None) if !first.is_broken => Some((a, FIRST)),
        (None, Some((b, there))) => (room(*there) < size).then_some((b, FIRST + 1)),
        _ => None,
    };
    Ok(found.map_or(State::Lost, |(node, block)| state(node, Some(block))))
}

fn is_recovery(node: &[u8]) -> bool {
    Master::parse(node).is_some_and(|m| m.flags & RECOVERY != 0)
}
