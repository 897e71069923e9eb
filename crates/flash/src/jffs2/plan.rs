//! What to copy of each erase block of the input, and its summary entries.

use super::error::Error;
use super::loss::{Loss, Lost};
use super::node::{
    ACCURATE, COMPATIBILITY, COMPATIBLE_COPY, COMPATIBLE_DELETE, Content, Fault, Node, is_evidence,
    padded,
};
use super::options::{Mode, Options};
use super::summary::{Entry, marker};
use super::walk::{Item, Walk, after, erased_prefix};
use crate::transfer::TransferError;
use rawimage::ReadAt;
use rawimage::endian::Endian;

/// One thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Copy a node.
    Copy {
        /// Where it is in the block.
        at: u32,
        /// Its length, not padded.
        length: u32,
        /// Length of its summary entry; 0 if summaries cannot speak of it.
        entry: u32,
        /// Where in the entry the node's new place goes.
        place: u32,
    },
    /// The input has clean markers, and this is the length of one.
    Cleanmarker(u32),
}

/// One erase block of the input, and what to do with it.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Where the block begins in the image.
    pub start: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What to do, in order.
    pub steps: Vec<Step>,
    /// The entries of all nodes to copy, one after another.
    pub entries: Vec<u8>,
    /// What is not copied.
    pub lost: Vec<Lost>,
    /// How many obsolete nodes are copied.
    pub resurrected: u64,
}

impl Plan {
    /// Reads `length` bytes at `start` and decides.
    pub fn make(
        &mut self,
        image: &dyn ReadAt,
        start: u64,
        length: usize,
        options: &Options,
    ) -> Result<(), Error> {
        self.start = start;
        self.steps.clear();
        self.entries.clear();
        self.lost.clear();
        self.resurrected = 0;
        self.bytes.resize(length, 0);
        image
            .read_exact_at(start, &mut self.bytes)
            .map_err(|source| TransferError::Read {
                offset: start,
                length,
                source,
            })?;
        let mut bytes = std::mem::take(&mut self.bytes);
        let made = match options.mode {
            Mode::Safe => self.safe(image, &bytes, options),
            Mode::Compatible => {
                self.compatible(&mut bytes, options.endian);
                Ok(())
            }
        };
        self.bytes = bytes;
        made
    }

    fn lose(&mut self, why: Loss, bytes: u64, at: usize) {
        let lost = Lost {
            why,
            count: 1,
            bytes,
            first: self.start + at as u64,
        };
        Lost::add(&mut self.lost, lost);
    }

    /// Plans to copy a node, if it is one that summaries speak of.
    fn copy(&mut self, endian: Endian, at: usize, node: &Node) -> bool {
        let (offset, length) = (0, node.length);
        let (entry, place) = match node.content {
            Content::Inode(n) => {
                let (ino, version) = (n.ino, n.version);
                let entry = Entry::Inode {
                    ino,
                    version,
                    offset,
                    length,
                };
                (entry, 10)
            }
            Content::Dirent(n) => {
                let entry = Entry::Dirent {
                    length,
                    offset,
                    parent: n.parent,
                    version: n.version,
                    ino: n.ino,
                    file_type: n.file_type,
                    name: n.name,
                };
                (entry, 6)
            }
            Content::Xattr(n) => {
                let (xid, version) = (n.xid, n.version);
                let entry = Entry::Xattr {
                    xid,
                    version,
                    offset,
                    length,
                };
                (entry, 10)
            }
            Content::Xref(_) => (Entry::Xref { offset }, 2),
            _ => return false,
        };
        let before = self.entries.len();
        entry.write(endian, &mut self.entries);
        let entry = self.entries.len() - before;
        self.push(at, length, entry, place);
        true
    }

    fn push(&mut self, at: usize, length: u32, entry: usize, place: u32) {
        // An erase block is at most 8 MiB, and an entry at most 279 bytes.
        if let (Ok(at), Ok(entry)) = (u32::try_from(at), u32::try_from(entry)) {
            self.steps.push(Step::Copy {
                at,
                length,
                entry,
                place,
            });
        }
    }

    /// The rules of `sumtool`: no node is obsolete, and after damage the walk
    /// goes on behind the length that the header gives, wherever that is.
    ///
    /// It differs in what nobody can want: `sumtool` reads past the end of its
    /// buffer where a node does.
    fn compatible(&mut self, bytes: &mut [u8], endian: Endian) {
        let mut raised = Vec::new();
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            if rest.starts_with(&[0xff; 4]) {
                at += (erased_prefix(rest) & !3).max(4);
                continue;
            }
            match Node::parse(endian, rest) {
                Ok(node) => {
                    match node.content {
                        Content::Cleanmarker => self.steps.push(Step::Cleanmarker(node.length)),
                        Content::Unknown(_) => self.lose(Loss::Unknown, node.length.into(), at),
                        _ => {
                            if self.copy(endian, at, &node) && node.obsolete {
                                raised.push(at);
                            }
                        }
                    }
                    at = after(at, node.length);
                }
                Err(fault) => {
                    let next = match fault {
                        Fault::Magic | Fault::HeaderCrc => at + 4,
                        Fault::Overrun { length }
                        | Fault::Length { length }
                        | Fault::NodeCrc { length }
                        | Fault::DataCrc { length }
                        | Fault::NameCrc { length } => after(at, length),
                    };
                    let passed = next.min(bytes.len()) - at;
                    self.lose(Loss::of(fault), passed as u64, at);
                    at = next;
                }
            }
        }
        self.resurrected = raised.len() as u64;
        for at in raised {
            // The type is the second field; the bit is in its upper byte.
            let upper = match endian {
                Endian::Little => at + 3,
                Endian::Big => at + 2,
            };
            if let Some(byte) = bytes.get_mut(upper) {
                *byte |= ACCURATE.to_be_bytes()[0];
            }
        }
    }

    /// The safe rules.
    fn safe(&mut self, image: &dyn ReadAt, bytes: &[u8], options: &Options) -> Result<(), Error> {
        let endian = options.endian;
        // One node at most can lie across the end of a block, and each try may
        // read a whole block.
        let mut tries = 4;
        for item in Walk::new(endian, bytes) {
            match item {
                Item::Garbage { offset, length } => {
                    self.lose(Loss::Garbage, length as u64, offset);
                }
                Item::Damaged(at, fault) => {
                    if let Fault::Overrun { length } = fault
                        && tries > 0
                    {
                        tries -= 1;
                        self.refuse_across(image, at, length, options)?;
                    }
                    let passed = match fault {
                        Fault::NodeCrc { length }
                        | Fault::DataCrc { length }
                        | Fault::NameCrc { length } => padded(length),
                        _ => 4,
                    };
                    let passed = passed.min((bytes.len() - at) as u64);
                    self.lose(Loss::of(fault), passed, at);
                }
                Item::Node(at, node) => match node.content {
                    Content::Cleanmarker => self.steps.push(Step::Cleanmarker(node.length)),
                    Content::Padding => {}
                    Content::Summary => self.refuse_summary(bytes, at, &node, options)?,
                    Content::Unknown(kind) => match kind & COMPATIBILITY {
                        COMPATIBLE_DELETE => self.lose(Loss::Unknown, node.length.into(), at),
                        COMPATIBLE_COPY => self.push(at, node.length, 0, 0),
                        _ => {
                            let offset = self.start + at as u64;
                            return Err(Error::Unsupported { offset, kind });
                        }
                    },
                    _ if node.obsolete => self.lose(Loss::Obsolete, node.length.into(), at),
                    _ => {
                        self.copy(endian, at, &node);
                    }
                },
            }
        }
        Ok(())
    }

    /// Refuses the erase size if a node that runs past the end of the block is
    /// good when it is read whole.
    fn refuse_across(
        &self,
        image: &dyn ReadAt,
        at: usize,
        length: u32,
        options: &Options,
    ) -> Result<(), Error> {
        let offset = self.start + at as u64;
        let mut whole = vec![0; length.min(options.erase_size) as usize];
        if length > options.erase_size || image.read_exact_at(offset, &mut whole).is_err() {
            return Ok(());
        }
        match Node::parse(options.endian, &whole) {
            Ok(node) if is_evidence(&node) => Err(Error::NodeAcrossBlocks {
                given: options.erase_size,
                offset,
            }),
            _ => Ok(()),
        }
    }

    /// Refuses the erase size if an old summary was made for another one.
    fn refuse_summary(
        &self,
        bytes: &[u8],
        at: usize,
        node: &Node,
        options: &Options,
    ) -> Result<(), Error> {
        let end = after(at, node.length).min(bytes.len());
        let given = options.erase_size;
        let size = bytes.get(at..end).and_then(|b| marker(options.endian, b));
        match size.and_then(|s| s.checked_add(node.length)) {
            Some(size) if size != given && size >= 8192 => Err(Error::WrongEraseSize {
                given,
                found: super::detect::EraseSize {
                    bytes: size,
                    evidence: super::detect::Evidence::Summaries(1),
                },
            }),
            _ => Ok(()),
        }
    }
}
