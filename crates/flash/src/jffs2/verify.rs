//! Everything in a filesystem read once, and what is wrong with it.

use super::error::Error;
use super::filesystem::{Filesystem, ROOT, Write};
use crate::files::{Findings, Wrong, read_all};

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
    pub findings: Findings,
}

impl Verification {
    fn find(&mut self, ino: u32, what: Wrong) {
        self.findings.add(ino, None, what);
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
    let read = read_all(filesystem)?;
    let mut done = Verification {
        names: read.names,
        bytes: read.bytes,
        findings: read.findings,
        ..Verification::default()
    };
    for ino in filesystem.inodes() {
        done.inodes += 1;
        if !read.reached.contains(&ino) && ino != ROOT {
            done.find(ino, Wrong::Orphan);
        }
        history(filesystem, ino, &mut done)?;
        for xid in filesystem.missing_attributes(ino) {
            done.find(ino, Wrong::NoAttribute(xid));
        }
    }
    done.compressed.sort_by_key(|c| c.kind);
    Ok(done)
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
            done.find(ino, Wrong::SameVersion(write.version));
        }
        last = Some(write);
    }
    Ok(())
}
