//! Everything in a filesystem read once, and what is wrong with it.

use super::{Failure, FileType, Files, NameFault, Piece, Visit};
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
                "no node contains the {length} bytes at byte {offset}; the kernel returns zeros"
            ),
            Self::Damaged => write!(f, "the link target or device numbers are damaged"),
            Self::SameVersion(version) => {
                write!(f, "two different nodes have version {version}")
            }
            Self::Orphan => write!(f, "no directory entry refers to this inode"),
            Self::NoAttribute(xid) => write!(f, "extended attribute {xid} is missing"),
            Self::UnknownType => write!(f, "unknown file type"),
        }
    }
}

/// What is wrong with files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// One by one.
    pub list: Vec<Finding>,
    /// How many more there are.
    pub more: u64,
}

impl Findings {
    /// Adds one, or counts it.
    pub fn add(&mut self, ino: u32, path: Option<&[u8]>, what: Wrong) {
        if self.list.len() == MOST_FINDINGS {
            self.more += 1;
            return;
        }
        let path = path.map(<[u8]>::to_vec);
        self.list.push(Finding { ino, path, what });
    }
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadAll {
    /// Names that lead somewhere, without the root.
    pub names: u64,
    /// Bytes of regular files that were read.
    pub bytes: u64,
    /// The inodes that names lead to.
    pub reached: BTreeSet<u32>,
    /// What is wrong.
    pub findings: Findings,
}

/// Reads every file, link and device that can be reached from the root.
///
/// # Errors
/// The image cannot be read.
pub fn read_all<F: Files + ?Sized>(filesystem: &F) -> Result<ReadAll, F::Error> {
    let mut done = ReadAll::default();
    for visit in filesystem.tree() {
        match visit? {
            Visit::Fault(path, name, fault) => {
                let what = Wrong::Name(name.name, fault);
                done.findings.add(name.ino, Some(&path), what);
            }
            Visit::Leave(_) => {}
            Visit::Entry(entry) => {
                let (ino, path) = (entry.stat.ino, entry.path.as_slice());
                done.names += u64::from(!path.is_empty());
                if done.reached.insert(ino) {
                    one(filesystem, ino, entry.stat.file_type, path, &mut done)?;
                }
            }
        }
    }
    Ok(done)
}

fn one<F: Files + ?Sized>(
    filesystem: &F,
    ino: u32,
    file_type: FileType,
    path: &[u8],
    done: &mut ReadAll,
) -> Result<(), F::Error> {
    let is_damaged = match file_type {
        FileType::File => {
            let (bytes, findings) = (&mut done.bytes, &mut done.findings);
            filesystem.read(ino, &mut |offset, piece| {
                let what = match piece {
                    Piece::Data(data) => {
                        *bytes += data.len() as u64;
                        return Ok(());
                    }
                    Piece::Zeros(count) => {
                        *bytes += count;
                        return Ok(());
                    }
                    Piece::Gap(length) => Wrong::Gap { offset, length },
                    Piece::Lost(length, why) => Wrong::Data {
                        offset,
                        length,
                        why,
                    },
                };
                findings.add(ino, Some(path), what);
                Ok(())
            })?;
            false
        }
        FileType::Symlink => filesystem.link_target(ino)?.is_none(),
        FileType::BlockDevice | FileType::CharacterDevice => filesystem.device(ino)?.is_none(),
        FileType::Unknown => {
            done.findings.add(ino, Some(path), Wrong::UnknownType);
            false
        }
        FileType::Directory | FileType::Fifo | FileType::Socket => false,
    };
    if is_damaged {
        done.findings.add(ino, Some(path), Wrong::Damaged);
    }
    Ok(())
}
