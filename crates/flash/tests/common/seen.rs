//! What can be seen of a tree of files.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What can be seen of a file: mode, size, links, time, content or target,
/// attributes.
pub type Seen = (u32, u64, u64, i64, Vec<u8>, Vec<(String, Vec<u8>)>);

/// Everything below a folder, by its path from there.
pub fn look(root: &Path) -> BTreeMap<PathBuf, Seen> {
    let mut seen = BTreeMap::new();
    let mut dirs = vec![root.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            let content = if meta.is_symlink() {
                let target = fs::read_link(&path).unwrap();
                target.into_os_string().into_encoded_bytes()
            } else if meta.is_file() {
                fs::read(&path).unwrap()
            } else {
                Vec::new()
            };
            if meta.is_dir() {
                dirs.push(path.clone());
            }
            let attributes = if meta.is_file() {
                attributes(&path)
            } else {
                Vec::new()
            };
            let size = if meta.is_dir() { 0 } else { meta.size() };
            let links = if meta.is_dir() { 0 } else { meta.nlink() };
            let relative = path.strip_prefix(root).unwrap().to_owned();
            let mode = if meta.is_symlink() { 0 } else { meta.mode() };
            seen.insert(
                relative,
                (mode, size, links, meta.mtime(), content, attributes),
            );
        }
    }
    seen
}

fn attributes(path: &Path) -> Vec<(String, Vec<u8>)> {
    let mut names = vec![0; 4096];
    let Ok(count) = rustix::fs::listxattr(path, &mut names[..]) else {
        return Vec::new();
    };
    let names = String::from_utf8_lossy(&names[..count]).into_owned();
    let names = names
        .split_terminator('\0')
        .filter(|n| n.starts_with("user."));
    let mut found: Vec<_> = names
        .map(|name| {
            let mut value = vec![0; 4096];
            let count = rustix::fs::getxattr(path, name, &mut value[..]).unwrap();
            (name.to_owned(), value[..count].to_vec())
        })
        .collect();
    found.sort();
    found
}

/// Requires that two trees are the same; says only which file is not.
#[track_caller]
pub fn require_same(found: &Path, expected: &Path, about: &str) {
    let (found, expected) = (look(found), look(expected));
    let names = |seen: &BTreeMap<PathBuf, Seen>| seen.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(&expected), "{about}");
    for (path, expected) in expected {
        let found = &found[&path];
        let short = |s: &Seen| (s.0, s.1, s.2, s.3, s.5.clone());
        assert_eq!(short(found), short(&expected), "{about}: {path:?}");
        assert!(found.4 == expected.4, "{about}: content of {path:?}");
    }
}

/// Takes the extended attributes of all files away.
pub fn strip_attributes(root: &Path) {
    for (path, seen) in look(root) {
        for (name, _) in seen.5 {
            // Another name of the file may have been first.
            rustix::fs::removexattr(root.join(&path), name).ok();
        }
    }
}
