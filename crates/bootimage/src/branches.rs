//! A device tree to change: read as a whole, and written again.

use super::fdt::{Error, Fdt, MAGIC, Node, token};
use rawimage::Part;
use rawimage::bytes::be32;
use std::collections::BTreeMap;

/// A node with all that is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Branch {
    /// Its name, with what follows the `@`; empty of the root.
    pub name: String,
    /// Its properties, in order: names and values.
    pub properties: Vec<(String, Vec<u8>)>,
    /// The nodes in it, in order.
    pub children: Vec<Branch>,
}

/// A whole device tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Branches {
    /// Reserved memory: address and size.
    pub reserved: Vec<(u64, u64)>,
    /// The processor that boots.
    pub boot_processor: u32,
    /// The root.
    pub root: Branch,
}

impl Branch {
    /// The value of the property of that name.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<&[u8]> {
        let found = self.properties.iter().find(|p| p.0 == name);
        found.map(|p| p.1.as_slice())
    }

    /// The node in it of exactly that name.
    #[must_use]
    pub fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|c| c.name == name)
    }

    /// The node below it at these names.
    #[must_use]
    pub fn at(&self, path: &[String]) -> Option<&Self> {
        path.iter().try_fold(self, |node, name| node.child(name))
    }

    /// The same, to change.
    #[must_use]
    pub fn at_mut(&mut self, path: &[String]) -> Option<&mut Self> {
        path.iter().try_fold(self, |node, name| {
            node.children.iter_mut().find(|c| c.name == *name)
        })
    }

    fn of(node: Node<'_>, part: &Part<'_>) -> Result<Self, Error> {
        let mut properties = Vec::new();
        for p in node.properties() {
            let value = match p.value() {
                Some(value) => value.to_vec(),
                None => part.read(p.offset, p.length as usize)?,
            };
            properties.push((p.name.clone(), value));
        }
        let children = node.children().map(|child| Self::of(child, part));
        Ok(Self {
            name: node.name().to_owned(),
            properties,
            children: children.collect::<Result<_, _>>()?,
        })
    }
}

impl Branches {
    /// Reads a device tree.
    ///
    /// # Errors
    /// It is none, or is damaged.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let part = Part::whole(&bytes)?;
        let fdt = Fdt::read(&part)?;
        let field = |i: usize| be32(bytes, i * 4).unwrap_or_default();
        let list = bytes.get(field(4) as usize..).unwrap_or_default();
        let number = |pair: &[u8], at: usize| {
            let half = |at: usize| u64::from(be32(pair, at).unwrap_or_default());
            half(at) << 32 | half(at + 4)
        };
        let reserved = list.chunks_exact(16).map(|p| (number(p, 0), number(p, 8)));
        Ok(Self {
            reserved: reserved.take(fdt.reservations).collect(),
            boot_processor: field(7),
            root: Branch::of(fdt.root(), &part)?,
        })
    }

    /// The tree in format version 17, which every kernel and loader reads.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut written = Written::default();
        written.branch(&self.root);
        written.number(token::END);
        let Written {
            structure, strings, ..
        } = written;
        let reserved = self.reserved.iter().copied().chain([(0, 0)]);
        let reserved: Vec<u8> = reserved
            .flat_map(|(at, size)| [at.to_be_bytes(), size.to_be_bytes()].concat())
            .collect();
        let reserved_at = 40;
        let structure_at = reserved_at + reserved.len();
        let strings_at = structure_at + structure.len();
        // The kernel wants the length of the whole to be one of words.
        let size = (strings_at + strings.len()).next_multiple_of(4);
        let short = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let header = [
            u32::from_be_bytes(MAGIC),
            short(size),
            short(structure_at),
            short(strings_at),
            reserved_at as u32,
            17,
            16,
            self.boot_processor,
            short(strings.len()),
            short(structure.len()),
        ];
        let mut bytes: Vec<u8> = header.iter().flat_map(|n| n.to_be_bytes()).collect();
        for part in [reserved, structure, strings] {
            bytes.extend(part);
        }
        bytes.resize(size, 0);
        bytes
    }
}

/// The structure and the names of its properties.
#[derive(Default)]
struct Written {
    structure: Vec<u8>,
    strings: Vec<u8>,
    known: BTreeMap<String, u32>,
}

impl Written {
    fn number(&mut self, n: u32) {
        self.structure.extend(n.to_be_bytes());
    }

    fn padded(&mut self, bytes: &[u8]) {
        self.structure.extend(bytes);
        let length = self.structure.len().next_multiple_of(4);
        self.structure.resize(length, 0);
    }

    fn branch(&mut self, branch: &Branch) {
        self.number(token::BEGIN_NODE);
        self.padded(&[branch.name.as_bytes(), &[0]].concat());
        for (name, value) in &branch.properties {
            let at = match self.known.get(name) {
                Some(at) => *at,
                None => {
                    let at = u32::try_from(self.strings.len()).unwrap_or(u32::MAX);
                    self.strings.extend(name.as_bytes());
                    self.strings.push(0);
                    self.known.insert(name.clone(), at);
                    at
                }
            };
            self.number(token::PROPERTY);
            self.number(u32::try_from(value.len()).unwrap_or(u32::MAX));
            self.number(at);
            self.padded(value);
        }
        for child in &branch.children {
            self.branch(child);
        }
        self.number(token::END_NODE);
    }
}
