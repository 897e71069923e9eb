//! Everything in a filesystem read once, and what is wrong with it.

use super::error::Error;
use super::filesystem::{Filesystem, ROOT, Write};
use crate::files::{Failure, FileType, Files, NameFault, Piece, Visit};
use std::collections::BTreeSet;
use std::fmt;

/// So many findings are told one by one; the rest is counted.
pub const MOST_FINDINGS: usize = 10_000;

/// Something wrong with one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The inode.
    pub ino: u32,
    /// A path that leads to it, or to the directory; `None` if none does.
    pub path: Option<Vec<u8>>,
    /// What is wrong.
    pub what: Wrong,
}

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wrong {
    /// A name in the directory.
    Name(Vec<u8>, NameFault),
    /// A piece of its data cannot be had.
    Data {
        /// Where in the file.
        offset: u64,
        /// How many bytes.
        length: u64,
        /// Why.
        why: Failure,
    },
    /// No node holds a piece of its data; a mount gives zeros.
    Gap {
        /// Where in the file.
        offset: u64,
        /// How many bytes.
        length: u64,
    },
    /// A link without a target, or a device without numbers.
    Damaged,
    /// Two nodes of one version that are not the same; which one counts is
    /// chance.
    SameVersion(u32),
    /// No name leads to it; the kernel removes it.
    Orphan,
    /// A reference to an extended attribute that is not there.
    NoAttribute(u32),
    /// The type is none that there is.
    UnknownType,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name, fault) => {
                write!(f, "`{}`: {fault}", name.escape_ascii())
            }
            Self::Data {
                offset,
                length,
                why,
            } => write!(f, "{length} bytes at byte {offset} cannot be read: {why}"),
            Self::Gap { offset, length } => write!(
                f,
                "{length} bytes at byte {offset} are in no node; a mount gives zeros"
            ),
            Self::Damaged => write!(f, "its target or its device numbers are damaged"),
            Self::SameVersion(version) => {
                write!(f, "two different nodes have the version {version}")
            }
            Self::Orphan => write!(f, "no name leads to it"),
            Self::NoAttribute(xid) => write!(f, "its extended attribute {xid} is not there"),
            Self::UnknownType => write!(f, "it is of no known type"),
        }
    }
}

/// How much of the data is compressed in one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compressed {
    /// The number of the compression; see
    /// [`decompress::name`](super::decompress::name).
    pub kind: u8,
    /// Nodes.
    pub nodes: u64,
    /// Bytes on flash.
    pub stored: u64,
    /// Bytes of files.
    pub length: u64,
}

/// What was read, and what is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// Inodes with at least one good node.
    pub inodes: u64,
    /// Names that lead somewhere, without the root.
    pub names: u64,
    /// Bytes of regular files that were read.
    pub bytes: u64,
    /// Nodes that hold data, by compression.
    pub compressed: Vec<Compressed>,
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// How many more findings there are.
    pub more: u64,
}

impl Verification {
    fn find(&mut self, ino: u32, path: Option<&[u8]>, what: Wrong) {
        if self.findings.len() == MOST_FINDINGS {
            self.more += 1;
            return;
        }
        let path = path.map(<[u8]>::to_vec);
        self.findings.push(Finding { ino, path, what });
    }

    fn count(&mut self, write: &Write) {
        let known = self
            .compressed
            .iter_mut()
            .find(|c| c.kind == write.compression);
        let entry = match known {
            Some(entry) => entry,
            None => {
                self.compressed.push(Compressed {
                    kind: write.compression,
                    ..Compressed::default()
                });
                match self.compressed.last_mut() {
                    Some(last) => last,
                    None => return,
                }
            }
        };
        entry.nodes += 1;
        entry.stored += u64::from(write.stored);
        entry.length += u64::from(write.length);
    }
}

/// Reads every file, link, device and attribute. Nodes with wrong checksums are
/// in [`Filesystem::lost`]: to the kernel they are not there.
///
/// # Errors
/// The image cannot be read.
pub fn verify(filesystem: &Filesystem) -> Result<Verification, Error> {
    let mut done = Verification::default();
    let mut reached = BTreeSet::new();
    for visit in filesystem.tree() {
        match visit? {
            Visit::Fault(path, name, fault) => {
                done.find(name.ino, Some(&path), Wrong::Name(name.name, fault));
            }
            Visit::Leave(_) => {}
            Visit::Entry(entry) => {
                let (ino, path) = (entry.stat.ino, entry.path.as_slice());
                done.names += u64::from(!path.is_empty());
                if !reached.insert(ino) {
                    continue;
                }
                match entry.stat.file_type {
                    FileType::File => filesystem.read(ino, &mut |offset, piece| {
                        match piece {
                            Piece::Data(data) => done.bytes += data.len() as u64,
                            Piece::Zeros(count) => done.bytes += count,
                            Piece::Gap(length) => {
                                done.find(ino, Some(path), Wrong::Gap { offset, length });
                            }
                            Piece::Lost(length, why) => {
                                let what = Wrong::Data {
                                    offset,
                                    length,
                                    why,
                                };
                                done.find(ino, Some(path), what);
                            }
                        }
                        Ok(())
                    })?,
                    FileType::Symlink => {
                        if is_damaged(filesystem.link_target(ino))? {
                            done.find(ino, Some(path), Wrong::Damaged);
                        }
                    }
                    FileType::BlockDevice | FileType::CharacterDevice => {
                        if is_damaged(filesystem.device(ino))? {
                            done.find(ino, Some(path), Wrong::Damaged);
                        }
                    }
                    FileType::Unknown => done.find(ino, Some(path), Wrong::UnknownType),
                    FileType::Directory | FileType::Fifo | FileType::Socket => {}
                }
            }
        }
    }
    for ino in filesystem.inodes() {
        done.inodes += 1;
        if !reached.contains(&ino) && ino != ROOT {
            done.find(ino, None, Wrong::Orphan);
        }
        history(filesystem, ino, &mut done)?;
        for xid in filesystem.missing_attributes(ino) {
            done.find(ino, None, Wrong::NoAttribute(xid));
        }
    }
    done.compressed.sort_by_key(|c| c.kind);
    Ok(done)
}

fn is_damaged<T>(result: Result<T, Error>) -> Result<bool, Error> {
    match result {
        Ok(_) => Ok(false),
        Err(Error::NotThat { .. }) => Ok(true),
        Err(other) => Err(other),
    }
}

/// Counts the nodes of an inode, and finds different ones of one version.
///
/// Equal ones are no fault: garbage collection copies nodes as they are, and
/// on NAND the old one stays until its block is erased.
fn history(filesystem: &Filesystem, ino: u32, done: &mut Verification) -> Result<(), Error> {
    let mut last: Option<Write> = None;
    for write in filesystem.history(ino)? {
        if write.length > 0 {
            done.count(&write);
        }
        let place = write.place;
        let same = last.map(|last| Write { place, ..last });
        if let Some(same) = same
            && same.version == write.version
            && same != write
        {
            done.find(ino, None, Wrong::SameVersion(write.version));
        }
        last = Some(write);
    }
    Ok(())
}
