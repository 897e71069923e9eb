//! An access list in figures.

use agent::access::{AccessList, RangeKind};
use std::cmp::Reverse;
use std::path::{Path, PathBuf};

/// So many files are named.
const LARGEST: usize = 10;

/// Where a filesystem is mounted.
#[derive(Clone, Debug)]
pub struct Mount {
    /// The folder.
    pub place: PathBuf,
    /// Which filesystem: `ext4`.
    pub kind: String,
    /// Its device.
    pub device: String,
}

/// What a list reads.
#[derive(Clone, Debug, Default)]
pub struct Reads {
    /// Files.
    pub files: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Pieces of them.
    pub pieces: u64,
    /// Bytes of metadata.
    pub metadata_bytes: u64,
    /// Directories.
    pub directories: u64,
    /// Each filesystem with its files and bytes, the most bytes first; none is mounted
    /// there, if that is not known.
    pub filesystems: Vec<(Option<Mount>, u64, u64)>,
    /// The files of which most is read: path, bytes, pieces.
    pub largest: Vec<(Vec<u8>, u64, u64)>,
}

/// What `list` reads, of filesystems that are mounted so.
#[must_use]
pub fn reads(list: &AccessList, mounts: &[Mount]) -> Reads {
    let mut reads = Reads {
        directories: list.directories,
        ..Reads::default()
    };
    for entry in &list.entries {
        let pieces = entry.pieces(RangeKind::Touched, list.page_bytes);
        let bytes: u64 = pieces.iter().map(|p| p.1).sum();
        if entry.is_device() {
            reads.metadata_bytes += bytes;
            continue;
        }
        if bytes == 0 {
            continue;
        }
        reads.files += 1;
        reads.bytes += bytes;
        reads.pieces += pieces.len() as u64;
        let path = String::from_utf8_lossy(&entry.path);
        let mount = mounts
            .iter()
            .filter(|m| Path::new(&*path).starts_with(&m.place))
            .max_by_key(|m| m.place.as_os_str().len());
        let place = |m: &Option<Mount>| m.as_ref().map(|m| m.place.clone());
        let wanted = mount.map(|m| m.place.clone());
        match reads
            .filesystems
            .iter_mut()
            .find(|(m, ..)| place(m) == wanted)
        {
            Some((_, files, sum)) => {
                *files += 1;
                *sum += bytes;
            }
            None => reads.filesystems.push((mount.cloned(), 1, bytes)),
        }
        reads
            .largest
            .push((entry.path.clone(), bytes, pieces.len() as u64));
    }
    reads.filesystems.sort_by_key(|f| Reverse(f.2));
    reads.largest.sort_by_key(|f| Reverse(f.1));
    reads.largest.truncate(LARGEST);
    reads
}
