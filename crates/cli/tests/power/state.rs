//! What is on a disk: every file with all that it has.

use super::disk::text;
use rustix::fs::{getxattr, listxattr};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    pub content: Vec<u8>,
    /// Mode, owner, group, links and inode.
    pub numbers: [u64; 5],
    /// Of writing and of reading.
    pub times: [(i64, i64); 2],
    pub xattrs: BTreeMap<String, Vec<u8>>,
}

/// Everything below `root`.
pub fn states(root: &Path) -> BTreeMap<PathBuf, State> {
    let mut all = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            let own = path.strip_prefix(root).unwrap().to_owned();
            let about = fs::symlink_metadata(&path).unwrap();
            let mut content = Vec::new();
            let mut xattrs = BTreeMap::new();
            if about.is_file() {
                content = fs::read(&path).unwrap();
                let mut names = vec![0; 4096];
                let length = listxattr(&path, &mut names).unwrap();
                for name in names[..length].split(|b| *b == 0).filter(|n| !n.is_empty()) {
                    let name = String::from_utf8(name.to_vec()).unwrap();
                    let mut value = vec![0; 4096];
                    let length = getxattr(&path, &*name, &mut value).unwrap();
                    xattrs.insert(name, value[..length].to_vec());
                }
            } else if about.is_symlink() {
                content = text(&fs::read_link(&path).unwrap()).into_bytes();
            } else if about.is_dir() {
                folders.push(path.clone());
            }
            let state = State {
                content,
                numbers: [
                    u64::from(about.mode()),
                    u64::from(about.uid()),
                    u64::from(about.gid()),
                    about.nlink(),
                    about.ino(),
                ],
                times: [
                    (about.mtime(), about.mtime_nsec()),
                    // A folder is read by whoever looks.
                    match about.is_dir() {
                        true => (0, 0),
                        false => (about.atime(), about.atime_nsec()),
                    },
                ],
                xattrs,
            };
            all.insert(own, state);
        }
    }
    all
}
