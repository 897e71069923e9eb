//! What is at a path of a tree: content, rights and times.

use rustix::fs::{Stat, Timespec, Timestamps};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// What a path holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Nothing.
    Absent,
    /// A file of these bytes.
    File(Vec<u8>),
    /// A symbolic link that leads there.
    Link(String),
}

impl Content {
    /// A sum that tells contents apart.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        match self {
            Self::Absent => return "absent".to_owned(),
            Self::File(bytes) => hash.update(bytes),
            Self::Link(to) => {
                hash.update(b"link ");
                hash.update(to);
            }
        }
        hash.finalize().iter().fold(String::new(), |mut text, b| {
            // Writing to a string does not fail.
            let _ = write!(text, "{b:02x}");
            text
        })
    }
}

/// What a file is beside its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    /// Its rights, of a symbolic link too.
    pub mode: u32,
    /// Its owner.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// When it was read last: seconds and nanoseconds.
    pub read: (i64, i64),
    /// When it was written last: seconds and nanoseconds.
    pub written: (i64, i64),
    /// Its extended attributes, by name.
    pub attributes: Vec<(String, Vec<u8>)>,
}

impl Metadata {
    pub(super) fn of(stat: &Stat) -> Self {
        Self {
            mode: stat.st_mode & 0o7777,
            uid: stat.st_uid,
            gid: stat.st_gid,
            read: (field(stat.st_atime), field(stat.st_atime_nsec)),
            written: (field(stat.st_mtime), field(stat.st_mtime_nsec)),
            attributes: Vec::new(),
        }
    }

    pub(super) fn times(&self) -> Timestamps {
        let of = |(tv_sec, tv_nsec): (i64, i64)| Timespec { tv_sec, tv_nsec };
        Timestamps {
            last_access: of(self.read),
            last_modification: of(self.written),
        }
    }
}

/// A field of `struct stat`, whose types differ between processors.
pub(super) fn field(n: impl TryInto<i64>) -> i64 {
    n.try_into().unwrap_or(0)
}
