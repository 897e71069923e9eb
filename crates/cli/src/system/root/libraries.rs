//! The shared libraries of a root, and who contains their names.

use analysis::{Library, RootTree};
use memchr::memmem;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// Folders in which the dynamic linker looks, and in their folders that are named for a
/// machine (`x86_64-linux-gnu`).
const FOLDERS: [&str; 5] = ["lib", "lib64", "usr/lib", "usr/lib64", "usr/local/lib"];

/// Larger files are not looked through.
const MOST_BYTES: u64 = 256 << 20;

/// No library has a longer name.
const LONGEST: usize = 255;

/// Names every library there is.
const CACHE: &str = "ld.so.cache";

/// Notes what the file `path` of the root is or names.
pub fn note(root: &Path, path: &str, tree: &mut RootTree) {
    let full = root.join(path);
    let name = path.rsplit('/').next().unwrap_or(path);
    let Ok(about) = full.metadata() else { return };
    let is_library = name.contains(".so") && is_elf(&full) && in_linkers_folder(path);
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
    for named in names_in(&bytes) {
        tree.mentions
            .entry(named)
            .or_default()
            .insert(path.to_owned());
    }
}

/// Adds the names of links, and what the root's settings name.
pub fn name(root: &Path, tree: &mut RootTree) {
    for (path, library) in &mut tree.libraries {
        let Some((folder, file)) = path.rsplit_once('/') else {
            continue;
        };
        for entry in fs::read_dir(root.join(folder))
            .into_iter()
            .flatten()
            .flatten()
        {
            let leads_to = fs::read_link(entry.path());
            let leads = leads_to.is_ok_and(|to| to.file_name().is_some_and(|n| n == file));
            if leads && let Ok(name) = entry.file_name().into_string() {
                library.names.insert(name);
            }
        }
    }
    for (path, text) in &tree.texts {
        for named in names_in(text.as_bytes()) {
            tree.mentions.entry(named).or_default().insert(path.clone());
        }
    }
    settings(root, "etc", 4, tree);
}

/// Files below `etc` name what is loaded: `ld.so.preload`, `pam.d`, `nsswitch.conf`.
fn settings(root: &Path, inside: &str, depth: usize, tree: &mut RootTree) {
    for name in super::names(&root.join(inside)) {
        if name == CACHE {
            continue;
        }
        let path = format!("{inside}/{name}");
        let Ok(about) = root.join(&path).symlink_metadata() else {
            continue;
        };
        if about.is_dir() && depth > 0 {
            settings(root, &path, depth - 1, tree);
        } else if about.is_file() && about.len() <= super::MOST_TEXT {
            let bytes = fs::read(root.join(&path)).unwrap_or_default();
            for named in names_in(&bytes) {
                tree.mentions.entry(named).or_default().insert(path.clone());
            }
        }
    }
}

fn in_linkers_folder(path: &str) -> bool {
    let Some((folder, _)) = path.rsplit_once('/') else {
        return false;
    };
    let of_machine = |part: &str| part.contains("-linux-") && !part.contains('/');
    FOLDERS.iter().any(|known| {
        let rest = folder.strip_prefix(known);
        rest.is_some_and(|r| r.is_empty() || r.strip_prefix('/').is_some_and(of_machine))
    })
}

fn is_elf(path: &Path) -> bool {
    let mut head = [0_u8; 4];
    File::open(path).is_ok_and(|mut f| f.read_exact(&mut head).is_ok()) && head == *b"\x7fELF"
}

/// Every word in `bytes` that is named as a library is.
fn names_in(bytes: &[u8]) -> BTreeSet<String> {
    let part = |b: &u8| b.is_ascii_alphanumeric() || b"._+-".contains(b);
    let mut names = BTreeSet::new();
    for at in memmem::find_iter(bytes, b".so") {
        let before = bytes.get(..at).unwrap_or_default();
        let after = bytes.get(at..).unwrap_or_default();
        let from = at
            - before
                .iter()
                .rev()
                .take(LONGEST)
                .take_while(|b| part(b))
                .count();
        let to = at + after.iter().take(LONGEST).take_while(|b| part(b)).count();
        let word = bytes
            .get(from..to)
            .and_then(|w| std::str::from_utf8(w).ok());
        names.extend(word.map(|w| w.trim_end_matches('.').to_owned()));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::{in_linkers_folder, names_in};
    use std::os::unix::fs::symlink;

    #[test]
    fn words_that_are_named_as_libraries() {
        let bytes = b"\0libm.so.6\0/opt/x/libfoo-2.so \xff.so\xffpam_unix.so\tnone.s\0";
        let names: Vec<String> = names_in(bytes).into_iter().collect();
        assert_eq!(names, [".so", "libfoo-2.so", "libm.so.6", "pam_unix.so"]);
        assert!(names_in(b"").is_empty());
    }

    #[test]
    fn where_the_linker_looks() {
        for path in [
            "usr/lib/libz.so.1",
            "lib/x86_64-linux-gnu/libz.so",
            "lib64/ld.so",
        ] {
            assert!(in_linkers_folder(path), "{path}");
        }
        for path in [
            "usr/lib/x86_64-linux-gnu/gconv/EUC.so",
            "opt/libz.so",
            "libz.so",
            "usr/lib/app/a.so",
        ] {
            assert!(!in_linkers_folder(path), "{path}");
        }
    }

    #[test]
    fn libraries_have_the_names_of_their_links_and_are_named_by_others() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        for folder in ["usr/lib", "usr/bin", "etc"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        let elf = |rest: &str| [b"\x7fELF\0\0", rest.as_bytes()].concat();
        std::fs::write(at("usr/lib/libused.so.1.2"), elf("libused.so.1")).unwrap();
        symlink("libused.so.1.2", at("usr/lib/libused.so.1")).unwrap();
        std::fs::write(at("usr/lib/libspare.so.3"), elf("libspare.so.3")).unwrap();
        std::fs::write(at("usr/bin/tool"), elf("libused.so.1\0")).unwrap();
        std::fs::write(at("etc/ld.so.cache"), "libspare.so.3").unwrap();
        std::fs::write(at("etc/ld.so.preload"), "/lib/libpre.so").unwrap();
        let tree = super::super::read(root.path()).unwrap();
        let used = &tree.libraries["usr/lib/libused.so.1.2"];
        assert!(used.names.contains("libused.so.1") && used.names.len() == 2);
        let by = |name: &str| tree.mentions.get(name).cloned().unwrap_or_default();
        assert!(by("libused.so.1").contains("usr/bin/tool"));
        assert_eq!(by("libspare.so.3").len(), 1);
        assert!(by("libpre.so").contains("etc/ld.so.preload"));
    }
}
