//! Walking an erase block from node to node, as the kernel's full scan does.

use super::node::{Fault, Node, padded};
use rawimage::endian::Endian;

/// What the walk comes upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// A node, at an offset in the block.
    Node(usize, Node<'a>),
    /// Something with a magic number that is not a good node, at an offset in
    /// the block.
    Damaged(usize, Fault),
    /// Bytes that are neither erased nor begin with a magic number.
    Garbage {
        /// Where they begin in the block.
        offset: usize,
        /// How many there are.
        length: usize,
    },
}

/// Walks one erase block. Erased bytes are passed over in silence.
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    endian: Endian,
    block: &'a [u8],
    at: usize,
    /// Garbage seen, and not told yet.
    garbage: Option<usize>,
    /// What comes after that garbage.
    next: Option<Item<'a>>,
}

impl<'a> Walk<'a> {
    /// A walk over `block`, one erase block.
    #[must_use]
    pub fn new(endian: Endian, block: &'a [u8]) -> Self {
        Self {
            endian,
            block,
            at: 0,
            garbage: None,
            next: None,
        }
    }

    /// The garbage before `end`, then `item`.
    fn tell(&mut self, end: usize, item: Option<Item<'a>>) -> Option<Item<'a>> {
        match self.garbage.take() {
            Some(offset) => {
                self.next = item;
                let length = end.saturating_sub(offset);
                Some(Item::Garbage { offset, length })
            }
            None => item,
        }
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Item<'a>;

    fn next(&mut self) -> Option<Item<'a>> {
        if let Some(item) = self.next.take() {
            return Some(item);
        }
        loop {
            let at = self.at;
            let rest = self.block.get(at..).unwrap_or_default();
            if rest.is_empty() {
                return self.tell(at.min(self.block.len()), None);
            }
            if rest.starts_with(&[0xff; 4]) {
                self.at = at + (erased_prefix(rest) & !3).max(4);
                if let Some(offset) = self.garbage.take() {
                    let length = at - offset;
                    return Some(Item::Garbage { offset, length });
                }
                continue;
            }
            let item = match Node::parse(self.endian, rest) {
                Ok(node) => {
                    self.at = after(at, node.length);
                    Item::Node(at, node)
                }
                Err(Fault::Magic) => {
                    self.garbage.get_or_insert(at);
                    self.at = (at + 4).min(self.block.len());
                    continue;
                }
                Err(fault) => {
                    self.at = match fault {
                        Fault::NodeCrc { length }
                        | Fault::DataCrc { length }
                        | Fault::NameCrc { length } => after(at, length),
                        _ => at + 4,
                    };
                    Item::Damaged(at, fault)
                }
            };
            return self.tell(at, Some(item));
        }
    }
}

/// Where the next node may begin after one of `length` bytes at `at`.
pub(crate) fn after(at: usize, length: u32) -> usize {
    let step = usize::try_from(padded(length).max(4)).unwrap_or(usize::MAX);
    at.saturating_add(step)
}

/// How many bytes at the front are erased, that is 0xff.
#[must_use]
pub fn erased_prefix(bytes: &[u8]) -> usize {
    let blank = [0xff; 64];
    let whole = bytes.chunks_exact(64).take_while(|c| **c == blank).count() * 64;
    let rest = bytes.get(whole..).unwrap_or_default();
    whole + rest.iter().take_while(|b| **b == 0xff).count()
}

/// How many bytes from the front up to the last one that is not erased.
#[must_use]
pub fn used_prefix(bytes: &[u8]) -> usize {
    let blank = [0xff; 64];
    let chunks = bytes.rchunks_exact(64);
    let erased = chunks.take_while(|c| **c == blank).count() * 64;
    let rest = bytes.get(..bytes.len() - erased).unwrap_or_default();
    rest.len() - rest.iter().rev().take_while(|b| **b == 0xff).count()
}

/// Whether there is a header with a right checksum.
pub(super) fn is_header(item: &Item) -> bool {
    match item {
        Item::Node(..) => true,
        Item::Damaged(_, fault) => *fault != Fault::HeaderCrc,
        Item::Garbage { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jffs2::node::{Content, Xref};

    #[test]
    fn erased_bytes_are_counted_from_both_ends() {
        for length in [0, 1, 3, 63, 64, 65, 127, 128, 200] {
            for used in 0..=length {
                let mut bytes = vec![0xff; length];
                bytes[..used].fill(7);
                assert_eq!(used_prefix(&bytes), used, "{used} of {length}");
                bytes.reverse();
                assert_eq!(erased_prefix(&bytes), length - used, "{used} of {length}");
            }
        }
    }

    #[test]
    fn the_walk_tells_nodes_damage_and_garbage_in_order() {
        let xref = Xref {
            ino: 1,
            xid: 2,
            sequence: 4,
        };
        let good = xref.bytes(Endian::Big);
        let mut bad = good.clone();
        bad[14] ^= 1;
        let mut block = vec![0; 8];
        block.extend(&good);
        block.extend([0xff; 100]);
        block.extend(&bad);
        block.extend(&good);
        block.extend([1, 2, 3]);
        let items: Vec<_> = Walk::new(Endian::Big, &block).collect();
        let node = Node {
            length: 28,
            obsolete: false,
            content: Content::Xref(xref),
        };
        assert_eq!(
            items,
            [
                Item::Garbage {
                    offset: 0,
                    length: 8
                },
                Item::Node(8, node),
                Item::Damaged(136, Fault::NodeCrc { length: 28 }),
                Item::Node(164, node),
                Item::Garbage {
                    offset: 192,
                    length: 3
                },
            ]
        );
        assert!(
            Walk::new(Endian::Little, &block).all(|i| matches!(i, Item::Garbage { .. })),
            "the other byte order sees nothing"
        );
    }
}
