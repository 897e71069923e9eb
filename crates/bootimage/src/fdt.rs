//! Flattened device trees: the container of device trees and of FIT images.
//!
//! A header of ten big-endian numbers, a list of reserved memory, a structure of
//! tokens, and the names of the properties. Source: the Devicetree Specification,
//! chapter 5.
//!
//! Values larger than 4 KiB stay where they are: in a FIT image they are whole
//! kernels.

use rawimage::bytes::{Part, be32, be64, text};
use std::io;

/// The first bytes.
pub const MAGIC: [u8; 4] = [0xd0, 0x0d, 0xfe, 0xed];

/// A tree with more nodes is refused: 65,536. Real ones have a few thousand.
pub const MOST_NODES: usize = 1 << 16;
/// A tree with more properties is refused: 262,144.
pub const MOST_PROPERTIES: usize = 1 << 18;
/// Deeper nesting is refused.
pub const DEEPEST: usize = 64;

/// A longer value is not kept in memory.
const KEPT: usize = 4096;
/// All kept values together.
const KEPT_IN_ALL: usize = 32 << 20;
/// The block of names is small: property names are used again and again.
const LARGEST_STRINGS: u32 = 4 << 20;
/// No name of a node or property is longer. The specification says 31.
const LONGEST_NAME: usize = 256;

/// Why bytes are not a device tree.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Reading failed.
    #[error("cannot read the device tree: {0}")]
    Read(#[from] io::Error),
    /// The first bytes are others.
    #[error("not a device tree (the first four bytes are not d00dfeed); pass a .dtb file")]
    Magic,
    /// The tree is longer than what is there.
    #[error(
        "the device tree is truncated: it should have {size} bytes but has {there}; copy it again"
    )]
    Cut {
        /// What its header says.
        size: u32,
        /// What there is.
        there: u64,
    },
    /// Written in a way that is not known.
    #[error(
        "the device tree has format version {0}, but only 16 and 17 are supported; rebuild it \
         with dtc"
    )]
    Version(u32),
    /// The structure is damaged.
    #[error("the device tree is damaged at byte {offset}: {what}; copy or build it again")]
    Damaged {
        /// Where, bytes from its start.
        offset: u64,
        /// What is wrong.
        what: &'static str,
    },
}

/// A property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// Its name.
    pub name: String,
    /// Where its value begins, bytes from the start of the tree.
    pub offset: u64,
    /// How long its value is, bytes.
    pub length: u32,
    value: Option<Vec<u8>>,
}

impl Property {
    /// The value; `None` if it is too long to be kept.
    #[must_use]
    pub fn value(&self) -> Option<&[u8]> {
        self.value.as_deref()
    }

    /// The value as text: the first of several strings.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        self.value.as_deref().map(text)
    }

    /// The value as a list of strings.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        let value = self.value.as_deref().unwrap_or_default();
        let value = value.strip_suffix(&[0]).unwrap_or(value);
        let parts = value.split(|b| *b == 0);
        parts
            .map(|t| String::from_utf8_lossy(t).into_owned())
            .collect()
    }

    /// The value as a number of one or two cells.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        let value = self.value.as_deref()?;
        match value.len() {
            4 => be32(value, 0).map(u64::from),
            8 => be64(value, 0),
            _ => None,
        }
    }
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stored {
    name: String,
    children: Vec<usize>,
    properties: Vec<Property>,
}

/// A device tree in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fdt {
    /// Its length, bytes, with everything.
    pub size: u32,
    /// The version that it was written for.
    pub version: u32,
    /// How much memory is reserved: regions.
    pub reservations: usize,
    nodes: Vec<Stored>,
}

/// One node of a tree.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    tree: &'a Fdt,
    stored: &'a Stored,
}

impl<'a> Node<'a> {
    /// Its name, with what follows the `@`.
    #[must_use]
    pub fn name(&self) -> &'a str {
        &self.stored.name
    }

    /// Its properties, in order.
    #[must_use]
    pub fn properties(&self) -> &'a [Property] {
        &self.stored.properties
    }

    /// The property of that name.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<&'a Property> {
        self.stored.properties.iter().find(|p| p.name == name)
    }

    /// A property's text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        self.property(name)?.text()
    }

    /// A property's number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u64> {
        self.property(name)?.number()
    }

    /// The nodes in it, in order.
    pub fn children(&self) -> impl Iterator<Item = Node<'a>> + use<'a> {
        let tree = self.tree;
        let children = self.stored.children.iter();
        children.filter_map(|i| tree.node(*i))
    }

    /// The node in it of that name; what follows an `@` may be left out.
    #[must_use]
    pub fn child(&self, name: &str) -> Option<Node<'a>> {
        self.children().find(|c| {
            let rest = c.name().strip_prefix(name);
            rest.is_some_and(|r| r.is_empty() || r.starts_with('@'))
        })
    }
}

impl Fdt {
    /// Reads the tree that `part` begins with.
    ///
    /// # Errors
    /// It is none, or is damaged, or reading fails.
    pub fn read(part: &Part<'_>) -> Result<Self, Error> {
        let header = part.read(0, 40)?;
        if !header.starts_with(&MAGIC) {
            return Err(Error::Magic);
        }
        let field = |i: usize| be32(&header, i * 4);
        let there = part.len();
        let fields = (|| {
            Some((
                field(1)?,
                field(2)?,
                field(3)?,
                field(4)?,
                field(5)?,
                field(6)?,
                field(8)?,
            ))
        })();
        let Some((size, structure, strings, reserved, version, compatible, names)) = fields else {
            return Err(Error::Cut { size: 40, there });
        };
        if u64::from(size) > there || size < 40 {
            return Err(Error::Cut { size, there });
        }
        if !(16..=17).contains(&compatible) {
            return Err(Error::Version(compatible));
        }
        let part = part.part(0, u64::from(size));
        if names > LARGEST_STRINGS {
            return Err(damaged(32, "the strings block is too long"));
        }
        let names = part.read(u64::from(strings), names as usize)?;
        // Since version 17 the header says how long the structure is.
        let length = field(9).filter(|_| version >= 17);
        let end = length.map_or(u64::from(size), |l| u64::from(structure) + u64::from(l));
        let mut reader = Reader {
            end: end.min(u64::from(size)),
            part,
            window: Vec::new(),
            window_at: 0,
            names,
            kept: 0,
            properties: 0,
        };
        let nodes = reader.nodes(u64::from(structure))?;
        Ok(Self {
            size,
            version,
            reservations: reservations(&part, u64::from(reserved))?,
            nodes,
        })
    }

    fn node(&self, index: usize) -> Option<Node<'_>> {
        let stored = self.nodes.get(index)?;
        Some(Node { tree: self, stored })
    }

    /// The root.
    #[must_use]
    pub fn root(&self) -> Node<'_> {
        static EMPTY: Stored = Stored {
            name: String::new(),
            children: Vec::new(),
            properties: Vec::new(),
        };
        let stored = self.nodes.first().unwrap_or(&EMPTY);
        Node { tree: self, stored }
    }

    /// The node at a path such as `/chosen`.
    #[must_use]
    pub fn at(&self, path: &str) -> Option<Node<'_>> {
        let mut names = path.split('/').filter(|n| !n.is_empty());
        names.try_fold(self.root(), |node, name| node.child(name))
    }

    /// How many nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is not even a root.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}

fn damaged(offset: u64, what: &'static str) -> Error {
    Error::Damaged { offset, what }
}

fn reservations(part: &Part<'_>, at: u64) -> io::Result<usize> {
    // Pairs of address and size, up to a pair of zeros.
    let list = part.read(at, KEPT)?;
    let pairs = list.chunks_exact(16);
    Ok(pairs.take_while(|p| p.iter().any(|b| *b != 0)).count())
}

/// Tokens of the structure.
pub(super) mod token {
    pub(crate) const BEGIN_NODE: u32 = 1;
    pub(crate) const END_NODE: u32 = 2;
    pub(crate) const PROPERTY: u32 = 3;
    pub(crate) const NOP: u32 = 4;
    pub(crate) const END: u32 = 9;
}

struct Reader<'a> {
    part: Part<'a>,
    /// Where the structure ends.
    end: u64,
    window: Vec<u8>,
    window_at: u64,
    names: Vec<u8>,
    kept: usize,
    properties: usize,
}

impl Reader<'_> {
    /// At most `most` bytes at `at`.
    fn bytes(&mut self, at: u64, most: usize) -> io::Result<&[u8]> {
        let inside = |window: &[u8], window_at: u64| {
            let start = usize::try_from(at.checked_sub(window_at)?).ok()?;
            (start.checked_add(most)? <= window.len()).then_some(start)
        };
        let start = match inside(&self.window, self.window_at) {
            Some(start) => start,
            None => {
                self.window = self.part.read(at, (1 << 16).max(most))?;
                self.window_at = at;
                0
            }
        };
        let rest = self.window.get(start..).unwrap_or_default();
        Ok(rest.get(..most).unwrap_or(rest))
    }

    fn number(&mut self, at: u64) -> Result<u32, Error> {
        let number = match at.saturating_add(4) <= self.end {
            true => be32(self.bytes(at, 4)?, 0),
            false => None,
        };
        number.ok_or(damaged(at, "the structure block has no end token"))
    }

    fn nodes(&mut self, mut at: u64) -> Result<Vec<Stored>, Error> {
        let mut nodes: Vec<Stored> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        loop {
            let here = at;
            let token = self.number(at)?;
            at += 4;
            match token {
                token::NOP => {}
                token::BEGIN_NODE => {
                    let name = self.bytes(at, LONGEST_NAME)?;
                    let Some(length) = name.iter().position(|b| *b == 0) else {
                        return Err(damaged(here, "a node name is not terminated"));
                    };
                    let name = text(name);
                    at += (length as u64 + 1).next_multiple_of(4);
                    if nodes.len() >= MOST_NODES || open.len() >= DEEPEST {
                        return Err(damaged(here, "too many or too deeply nested nodes"));
                    }
                    if open.is_empty() && !nodes.is_empty() {
                        return Err(damaged(here, "there is a second root"));
                    }
                    let index = nodes.len();
                    if let Some(parent) = open.last().and_then(|p| nodes.get_mut(*p)) {
                        parent.children.push(index);
                    }
                    open.push(index);
                    nodes.push(Stored {
                        name,
                        children: Vec::new(),
                        properties: Vec::new(),
                    });
                }
                token::PROPERTY => {
                    let property = self.property(at)?;
                    at = property.offset + u64::from(property.length).next_multiple_of(4);
                    self.properties += 1;
                    let node = open.last().and_then(|p| nodes.get_mut(*p));
                    let Some(node) = node.filter(|_| self.properties <= MOST_PROPERTIES) else {
                        return Err(damaged(
                            here,
                            "a property outside a node, or too many properties",
                        ));
                    };
                    node.properties.push(property);
                }
                token::END_NODE => {
                    if open.pop().is_none() {
                        return Err(damaged(here, "a node ends that has not begun"));
                    }
                }
                token::END if open.is_empty() => return Ok(nodes),
                token::END => return Err(damaged(here, "the structure block ends inside a node")),
                _ => return Err(damaged(here, "unknown token")),
            }
        }
    }

    fn property(&mut self, at: u64) -> Result<Property, Error> {
        let (length, name) = (self.number(at)?, self.number(at + 4)?);
        let offset = at + 8;
        let end = offset + u64::from(length);
        if end > self.end {
            return Err(damaged(at, "a value extends past the structure block"));
        }
        let name = self.names.get(name as usize..).unwrap_or_default();
        let ends = name.iter().take(LONGEST_NAME).position(|b| *b == 0);
        let Some(name) = ends.and_then(|end| name.get(..end)) else {
            return Err(damaged(at, "a property has no name"));
        };
        let name = text(name);
        let size = length as usize;
        let keep = size <= KEPT && self.kept + size <= KEPT_IN_ALL;
        let value = match keep {
            true => {
                self.kept += size;
                Some(self.bytes(offset, size)?.to_vec())
            }
            false => None,
        };
        Ok(Property {
            name,
            offset,
            length,
            value,
        })
    }
}
