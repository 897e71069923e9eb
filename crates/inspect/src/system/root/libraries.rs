//! The shared libraries of a root, and who contains their names.

use super::lookup::{MOST_TEXT, is_link_on_the_way, names};
use analysis::{Library, RootTree};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path};
use treat::files::{LIBRARY_FOLDERS, is_in_library_folder, library_names};

/// Larger files are not looked through.
const MOST_BYTES: u64 = 256 << 20;

/// As many links in a chain as the kernel follows (`MAXSYMLINKS`).
const MOST_LINKS: usize = 40;

/// Names every library there is.
const CACHE: &str = "ld.so.cache";

/// Notes what the file `path` of the root is or names.
pub fn note(root: &Path, path: &str, tree: &mut RootTree) {
    let full = root.join(path);
    let name = path.rsplit('/').next().unwrap_or(path);
    let Ok(about) = full.metadata() else { return };
    let is_named = name.ends_with(".so") || name.contains(".so.");
    let is_library = is_named && is_elf(&full) && is_in_library_folder(path);
    if is_library {
        let names = BTreeSet::from([name.to_owned()]);
        let bytes = about.len();
        tree.libraries
            .insert(path.to_owned(), Library { bytes, names });
    }
    if about.len() > MOST_BYTES {
        return;
    }
    let Ok(bytes) = fs::read(&full) else { return };
    mention(&bytes, path, &mut tree.mentions);
}

/// Adds the names of links, and what the root's settings name.
pub fn name(root: &Path, tree: &mut RootTree) {
    let links = links(root);
    for link in links.keys() {
        let mut at = link.clone();
        for _ in 0..MOST_LINKS {
            let Some(to) = links.get(&at).or_else(|| links.get(&format!("usr/{at}"))) else {
                break;
            };
            at.clone_from(to);
        }
        // With a merged /usr, `lib` leads to `usr/lib`.
        let merged = format!("usr/{at}");
        let mut both = [at, merged].into_iter();
        let found = both.find(|p| tree.libraries.contains_key(p));
        let library = found.and_then(|path| tree.libraries.get_mut(&path));
        if let (Some(library), Some((_, name))) = (library, link.rsplit_once('/')) {
            library.names.insert(name.to_owned());
        }
    }
    for (path, text) in &tree.texts {
        mention(text.as_bytes(), path, &mut tree.mentions);
    }
    settings(root, "etc", 4, tree);
}

/// The links in the linker's folders, and where each leads, from the root.
fn links(root: &Path) -> BTreeMap<String, String> {
    let mut links = BTreeMap::new();
    let mut folders: Vec<String> = LIBRARY_FOLDERS.map(str::to_owned).into();
    for known in LIBRARY_FOLDERS {
        let inside = names(&root.join(known)).into_iter();
        let of_machine = inside.filter(|name| name.contains("-linux-"));
        folders.extend(of_machine.map(|name| format!("{known}/{name}")));
    }
    folders.retain(|f| !is_link_on_the_way(root, f));
    for folder in folders {
        for name in names(&root.join(&folder)) {
            let path = format!("{folder}/{name}");
            if let Ok(to) = fs::read_link(root.join(&path)) {
                links.insert(path, inside_root(&folder, &to));
            }
        }
    }
    links
}

/// Where a link in `folder` leads, from the root and without going out of it.
fn inside_root(folder: &str, to: &Path) -> String {
    let start = if to.is_absolute() { "" } else { folder };
    let mut parts: Vec<String> = start.split('/').map(str::to_owned).collect();
    for part in to.components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            Component::Normal(part) => parts.push(part.to_string_lossy().into_owned()),
            _ => {}
        }
    }
    parts.retain(|p| !p.is_empty());
    parts.join("/")
}

/// Files below `etc` name what is loaded: `ld.so.preload`, `pam.d`, `nsswitch.conf`.
fn settings(root: &Path, inside: &str, depth: usize, tree: &mut RootTree) {
    for name in names(&root.join(inside)) {
        if name == CACHE {
            continue;
        }
        let path = format!("{inside}/{name}");
        let Ok(about) = root.join(&path).symlink_metadata() else {
            continue;
        };
        if about.is_dir() && depth > 0 {
            settings(root, &path, depth - 1, tree);
        } else if about.is_file() && about.len() <= MOST_TEXT {
            let bytes = fs::read(root.join(&path)).unwrap_or_default();
            mention(&bytes, &path, &mut tree.mentions);
        }
    }
}

fn is_elf(path: &Path) -> bool {
    let mut head = [0_u8; 4];
    File::open(path).is_ok_and(|mut f| f.read_exact(&mut head).is_ok()) && head == *b"\x7fELF"
}

/// Notes every library that the file `path`, of these `bytes`, names.
fn mention(bytes: &[u8], path: &str, mentions: &mut BTreeMap<String, BTreeSet<String>>) {
    for named in library_names(bytes) {
        mentions.entry(named).or_default().insert(path.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    #[test]
    fn libraries_have_the_names_of_their_links_and_are_named_by_others() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        for folder in ["usr/lib/x86_64-linux-gnu", "usr/bin", "etc"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        let elf = |rest: &str| [b"\x7fELF\0\0", rest.as_bytes()].concat();
        std::fs::write(at("usr/lib/libused.so.1.2"), elf("libused.so.1")).unwrap();
        symlink("libused.so.1.2", at("usr/lib/libused.so.1")).unwrap();
        // A chain of links, one from another folder, and one that leads nowhere.
        symlink("libused.so.1", at("usr/lib/libused.so")).unwrap();
        symlink(
            "/lib/libused.so",
            at("usr/lib/x86_64-linux-gnu/libother.so"),
        )
        .unwrap();
        symlink("loop.so", at("usr/lib/loop.so")).unwrap();
        symlink("usr/lib", at("lib")).unwrap();
        std::fs::write(at("usr/lib/libspare.so.3"), elf("libspare.so.3")).unwrap();
        std::fs::write(at("usr/bin/tool"), elf("libused.so.1\0")).unwrap();
        std::fs::write(at("etc/ld.so.cache"), "libspare.so.3").unwrap();
        std::fs::write(at("etc/ld.so.preload"), "/lib/libpre.so").unwrap();
        let tree = super::super::read(root.path()).unwrap();
        let used = &tree.libraries["usr/lib/libused.so.1.2"];
        let names: Vec<&str> = used.names.iter().map(String::as_str).collect();
        let wanted = [
            "libother.so",
            "libused.so",
            "libused.so.1",
            "libused.so.1.2",
        ];
        assert_eq!(names, wanted);
        let by = |name: &str| tree.mentions.get(name).cloned().unwrap_or_default();
        assert!(by("libused.so.1").contains("usr/bin/tool"));
        assert_eq!(by("libspare.so.3").len(), 1);
        assert!(by("libpre.so").contains("etc/ld.so.preload"));
    }
}
