//! What an input is called in everything that can be sent to others: the page, JSON,
//! screens, pictures. Its file name, and of the folders above it only as many as tell
//! it from the other inputs: where a user keeps a file is nobody else's business.

use crate::types::{HERE, Input};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// The names of `paths`, in their order. Equal paths have equal names.
pub fn shown<P: AsRef<Path>>(paths: &[P]) -> Vec<String> {
    let all: Vec<Vec<String>> = paths.iter().map(|p| parts(p.as_ref())).collect();
    let mut depths = vec![1; all.len()];
    loop {
        let names: Vec<String> = all.iter().zip(&depths).map(|(p, d)| tail(p, *d)).collect();
        let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (i, name) in names.iter().enumerate() {
            groups.entry(name).or_default().push(i);
        }
        let differ = |group: &&Vec<usize>| group.iter().any(|i| all[*i] != all[group[0]]);
        let mut grew = false;
        for i in groups.values().filter(differ).flatten() {
            if depths[*i] < all[*i].len() {
                depths[*i] += 1;
                grew = true;
            }
        }
        if !grew {
            return names;
        }
    }
}

/// The name of one path alone.
pub fn one(path: &Path) -> String {
    shown(&[path]).pop().unwrap_or_default()
}

/// A name for the inputs of each boot; a boot without inputs is this machine's.
pub fn of_boots(boots: &[&[PathBuf]]) -> Vec<String> {
    let all: Vec<&PathBuf> = boots.iter().copied().flatten().collect();
    let mut names = shown(&all).into_iter();
    let name = |paths: &&[PathBuf]| match paths.len() {
        0 => HERE.to_owned(),
        n => names.by_ref().take(n).collect::<Vec<_>>().join(", "),
    };
    boots.iter().map(name).collect()
}

/// The name of each input in a record, a capture by its path.
pub fn of_inputs(inputs: &[Input]) -> Vec<String> {
    let paths = inputs.iter().map(|input| match input {
        Input::Raw(raw) => Path::new(&raw.name),
        Input::Capture(capture) => &capture.path,
    });
    shown(&paths.collect::<Vec<_>>())
}

/// A path's folders and its file name, without what leads to no folder.
fn parts(path: &Path) -> Vec<String> {
    let kept = path
        .components()
        .filter(|c| !matches!(c, Component::RootDir | Component::CurDir));
    let mut parts: Vec<String> = kept
        .map(|c| c.as_os_str().to_string_lossy().into_owned())
        .collect();
    if parts.is_empty() {
        parts.push(".".to_owned());
    }
    parts
}

fn tail(parts: &[String], depth: usize) -> String {
    parts[parts.len().saturating_sub(depth)..].join("/")
}

#[cfg(test)]
mod tests {
    use super::{one, shown};
    use std::path::Path;

    #[test]
    fn a_name_is_the_shortest_tail_that_differs() {
        assert_eq!(one(Path::new("/home/me/secret/boot.log")), "boot.log");
        assert_eq!(one(Path::new("./boot.log")), "boot.log");
        assert_eq!(one(Path::new(".")), ".");
        assert_eq!(
            shown(&["/a/x/boot.log", "/b/y/show.txt"]),
            ["boot.log", "show.txt"]
        );
        assert_eq!(
            shown(&["/me/old/1/boot.log", "/me/new/1/boot.log", "/me/new/dmesg"]),
            ["old/1/boot.log", "new/1/boot.log", "dmesg"]
        );
        assert_eq!(
            shown(&["boot.log", "x/boot.log"]),
            ["boot.log", "x/boot.log"]
        );
        assert_eq!(
            shown(&["/a/boot.log", "/a/boot.log"]),
            ["boot.log", "boot.log"]
        );
    }
}
