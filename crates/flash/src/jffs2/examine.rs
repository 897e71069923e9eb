//! One erase block: what is in it.

use super::node::{COMPATIBILITY, COMPATIBLE_DELETE, Content, Fault, Node, padded};
use super::problem::What;
use super::summary::{Condition, Entry, State, Summary, marker};
use super::walk::{Item, Walk, is_header, used_prefix};
use rawimage::Foreign;
use rawimage::endian::Endian;

/// What is in an erase block.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// Bytes up to the last one that is not erased.
    pub used: usize,
    /// Good nodes.
    pub nodes: u32,
    /// Headers with right checksums.
    pub headers: u32,
    /// Bytes of nodes that are not obsolete.
    pub live: u64,
    /// Bytes of nodes that are.
    pub obsolete: u64,
    /// Bytes of damaged nodes.
    pub damaged: u64,
    /// Bytes that belong to no node.
    pub garbage: u64,
    /// Whether there is a clean marker and nothing else.
    pub is_only_cleanmarker: bool,
    /// Where the good summary is.
    pub summary_offset: Option<u32>,
    /// How long the good summary is.
    pub summary_length: Option<u32>,
    /// How long a summary of the nodes would be.
    pub summary_needed: u32,
    /// Why the summary that is there is not good.
    pub broken: Option<Condition>,
    /// What it is, if it is not JFFS2.
    pub foreign: Option<Foreign>,
    /// What is wrong.
    pub problems: Vec<What>,
}

/// Looks at a whole erase block. Without a byte order there can be no nodes.
pub(super) fn examine(endian: Option<Endian>, bytes: &[u8]) -> Block {
    let mut block = Block {
        used: used_prefix(bytes),
        ..Block::default()
    };
    if block.used == 0 {
        return block;
    }
    let mut seen = Vec::new();
    if let Some(endian) = endian {
        nodes(&mut block, endian, bytes, &mut seen);
    }
    if block.headers == 0 && block.summary_offset.is_none() && block.broken.is_none() {
        let foreign = Foreign::recognise(bytes);
        block.foreign = Some(foreign);
        (block.garbage, block.damaged) = (0, 0);
        block.problems = vec![What::Foreign(foreign)];
    }
    block
}

fn nodes<'a>(block: &mut Block, endian: Endian, bytes: &'a [u8], seen: &mut Vec<(u32, Node<'a>)>) {
    let state = State::of(endian, bytes);
    // The summary itself is not walked into, unless its place is in doubt.
    let end = match state {
        State::Absent | State::Broken(Condition::Length) => None,
        _ => marker(endian, bytes).map(|offset| offset as usize),
    };
    let walked = end.and_then(|end| bytes.get(..end)).unwrap_or(bytes);
    let mut needed = 40_u32;
    let mut orphan = false;
    let (mut first_fault, mut faults) = (None, 0_u32);
    let (mut first_garbage, mut unknown) = (None, None);
    for item in Walk::new(endian, walked) {
        block.headers += u32::from(is_header(&item));
        match item {
            Item::Garbage { offset, length } => {
                first_garbage.get_or_insert(offset as u32);
                block.garbage += length as u64;
            }
            Item::Damaged(offset, fault) => {
                first_fault.get_or_insert((offset as u32, fault));
                faults += 1;
                block.damaged += match fault {
                    Fault::NodeCrc { length }
                    | Fault::DataCrc { length }
                    | Fault::NameCrc { length } => padded(length),
                    _ => 4,
                };
            }
            Item::Node(offset, node) => {
                let length = padded(node.length);
                block.nodes += 1;
                needed = needed.saturating_add(match node.content {
                    Content::Inode(_) | Content::Xattr(_) => 18,
                    Content::Dirent(d) => 24 + d.name.len() as u32,
                    Content::Xref(_) => 6,
                    _ => 0,
                });
                match node.content {
                    Content::Cleanmarker | Content::Padding => {}
                    Content::Summary => orphan = true,
                    Content::Unknown(kind) => {
                        if kind & COMPATIBILITY != COMPATIBLE_DELETE {
                            unknown.get_or_insert((offset as u32, kind));
                        }
                    }
                    _ if node.obsolete => {
                        block.obsolete += length;
                        seen.push((offset as u32, node));
                    }
                    _ => {
                        block.live += length;
                        seen.push((offset as u32, node));
                    }
                }
                block.is_only_cleanmarker =
                    block.nodes == 1 && matches!(node.content, Content::Cleanmarker);
            }
        }
    }
    block.is_only_cleanmarker &= faults == 0 && block.garbage == 0;
    block.summary_needed = needed;
    match state {
        State::Good(summary) => {
            block.is_only_cleanmarker = false;
            block.summary_offset = Some(summary.offset);
            block.summary_length = Some(summary.length());
            block.problems.extend(compare(&summary, seen));
        }
        State::Broken(condition) => block.broken = Some(condition),
        State::Absent if orphan => block.broken = Some(Condition::Marker),
        State::Absent => {}
    }
    if let Some(condition) = block.broken {
        block.problems.push(What::BrokenSummary(condition));
    }
    if let Some((offset, fault)) = first_fault {
        block.problems.push(What::Damaged {
            nodes: faults,
            fault,
            offset,
        });
    }
    if let Some(offset) = first_garbage {
        let bytes = u32::try_from(block.garbage).unwrap_or(u32::MAX);
        block.problems.push(What::Garbage { bytes, offset });
    }
    if let Some((offset, kind)) = unknown {
        block.problems.push(What::UnknownNode { kind, offset });
    }
}

/// Holds the summary against the nodes of its block, `seen` in their order.
fn compare(summary: &Summary, seen: &[(u32, Node)]) -> Option<What> {
    let (mut wrong, mut obsolete, mut listed) = (0, 0, 0_u32);
    for entry in summary.entries() {
        let Ok(entry) = entry else {
            return Some(What::UnreadableSummary);
        };
        let found = seen.binary_search_by_key(&entry.offset(), |(offset, _)| *offset);
        let node = found.ok().and_then(|i| seen.get(i)).map(|(_, node)| node);
        match node {
            Some(node) if speaks_of(&entry, node) => {
                listed += 1;
                obsolete += u32::from(node.obsolete);
            }
            _ => wrong += 1,
        }
    }
    let live = seen.iter().filter(|(_, node)| !node.obsolete).count() as u32;
    let missing = live.saturating_sub(listed - obsolete);
    (wrong + obsolete + missing > 0).then_some(What::SummaryDisagrees {
        wrong,
        obsolete,
        missing,
    })
}

fn speaks_of(entry: &Entry, node: &Node) -> bool {
    match (*entry, node.content) {
        (
            Entry::Inode {
                ino,
                version,
                length,
                ..
            },
            Content::Inode(n),
        ) => (ino, version, length) == (n.ino, n.version, node.length),
        (
            Entry::Dirent {
                length,
                parent,
                version,
                ino,
                name,
                ..
            },
            Content::Dirent(n),
        ) => {
            (length, parent, version, ino) == (node.length, n.parent, n.version, n.ino)
                && name == n.name
        }
        (
            Entry::Xattr {
                xid,
                version,
                length,
                ..
            },
            Content::Xattr(n),
        ) => (xid, version, length) == (n.xid, n.version, node.length),
        (Entry::Xref { .. }, Content::Xref(_)) => true,
        _ => false,
    }
}
