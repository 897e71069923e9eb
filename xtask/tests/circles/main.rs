//! No circle of imports between the files of a room.
//!
//! A file depends on another if its code names an item that the other defines: by
//! `use`, or by a path such as `crate::a::Thing`. Names are followed through
//! re-exports to the file that defines them. `mod` declarations, re-exports and tests
//! are no dependencies. A parent module and its children follow the same rule: what
//! they share lies in a file of its own.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test"
)]

mod names;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Each file, with the files that it depends on, and one name by which it does.
type Graph = BTreeMap<PathBuf, BTreeMap<PathBuf, String>>;

/// The circles of a graph: sets of files, each of which depends on itself through the
/// others; the largest first.
fn circles(graph: &Graph) -> Vec<Vec<PathBuf>> {
    let reach = |from: &PathBuf| {
        let mut seen = BTreeSet::new();
        let mut open = vec![from.clone()];
        while let Some(file) = open.pop() {
            for next in graph.get(&file).into_iter().flat_map(BTreeMap::keys) {
                if seen.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&PathBuf, BTreeSet<PathBuf>> =
        graph.keys().map(|file| (file, reach(file))).collect();
    let mut circles = BTreeSet::new();
    for (file, others) in &reached {
        if others.contains(*file) {
            let back = |other: &&PathBuf| reached.get(other).is_some_and(|r| r.contains(*file));
            circles.insert(others.iter().filter(back).cloned().collect::<Vec<_>>());
        }
    }
    let mut circles: Vec<Vec<PathBuf>> = circles.into_iter().collect();
    circles.sort_by_key(|c| std::cmp::Reverse(c.len()));
    circles
}

/// A circle in words: its files, and who uses what of whom.
fn describe(circle: &[PathBuf], graph: &Graph, from: &Path) -> String {
    let shown = |p: &Path| p.strip_prefix(from).unwrap_or(p).display().to_string();
    let mut text = format!("a circle of {} files:\n", circle.len());
    for file in circle {
        for (other, name) in graph.get(file).into_iter().flatten() {
            if circle.contains(other) {
                text += &format!("  {} uses {name} of {}\n", shown(file), shown(other));
            }
        }
    }
    text
}

/// The roots of the rooms' libraries and programs: `lib.rs`, `main.rs`.
fn roots(workspace: &Path) -> Vec<PathBuf> {
    let mut roots = Vec::new();
    for room in std::fs::read_dir(workspace.join("crates"))
        .expect("crates/")
        .flatten()
    {
        let src = room.path().join("src");
        for root in ["lib.rs", "main.rs", "program/main.rs"] {
            if src.join(root).is_file() {
                roots.push(src.join(root));
            }
        }
    }
    roots.sort();
    roots
}

/// All circles of the rooms, in words, and how many they are.
fn of_rooms() -> (usize, String) {
    let workspace = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let (mut count, mut found) = (0, String::new());
    for root in roots(workspace) {
        let graph = names::graph(&tree::read(&root));
        for circle in circles(&graph) {
            count += 1;
            found += &describe(&circle, &graph, workspace);
        }
    }
    (count, found)
}

#[test]
fn no_circle_of_imports_in_any_room() {
    let (count, found) = of_rooms();
    assert!(count == 0, "{count} circles\n{found}");
}

/// Writes `files` into a folder; gives the circles from its `lib.rs`.
fn circles_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        std::fs::write(path, text).expect("written");
    }
    let graph = names::graph(&tree::read(&folder.path().join("lib.rs")));
    let name = |p: PathBuf| {
        let name = p.strip_prefix(folder.path()).expect("below").to_owned();
        name.display().to_string()
    };
    let circles = circles(&graph).into_iter();
    circles.map(|c| c.into_iter().map(name).collect()).collect()
}

#[test]
fn files_that_use_each_other_are_a_circle() {
    let found = circles_of(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "pub struct A; fn f() { crate::b::g() }"),
        ("b.rs", "use super::a::A; pub fn g() { let _ = A; }"),
    ]);
    assert_eq!(found, [["a.rs", "b.rs"]]);
}

#[test]
fn names_are_followed_through_re_exports() {
    let found = circles_of(&[
        ("lib.rs", "mod a; mod b; pub use b::g;"),
        ("a/mod.rs", "mod inner; pub use inner::A;"),
        (
            "a/inner.rs",
            "pub struct A; fn f() { println!(\"{}\", crate::g()) }",
        ),
        ("b.rs", "use crate::a::A; pub fn g() { let _ = A; }"),
    ]);
    assert_eq!(found, [["a/inner.rs", "b.rs"]]);
}

#[test]
fn a_parent_that_only_re_exports_its_child_is_no_circle() {
    let child = ("child.rs", "use super::Shared; pub struct X(Shared);");
    let re_export = "mod child; pub use child::X; pub struct Shared;";
    assert!(circles_of(&[("lib.rs", re_export), child]).is_empty());
    let use_too = "mod child; pub use child::X; pub struct Shared; fn f(_: X) {}";
    assert_eq!(
        circles_of(&[("lib.rs", use_too), child]),
        [["child.rs", "lib.rs"]]
    );
    let by_path = "mod child; pub struct Shared; fn f() { child::X::new() }";
    assert_eq!(
        circles_of(&[("lib.rs", by_path), child]),
        [["child.rs", "lib.rs"]]
    );
}

#[test]
fn tests_and_modules_alone_are_no_dependency() {
    let found = circles_of(&[
        ("lib.rs", "pub mod a; pub mod b;"),
        (
            "a.rs",
            "pub struct A; #[cfg(test)] mod tests { use crate::b::g; }",
        ),
        ("b.rs", "use crate::a; pub fn g(_: a::A) {}"),
    ]);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn what_a_glob_brings_is_followed() {
    let found = circles_of(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use super::b::*; pub struct A; fn f() { g() }"),
        ("b.rs", "use crate::a::A; pub fn g() { let _ = A; }"),
    ]);
    assert_eq!(found, [["a.rs", "b.rs"]]);
}
