//! What the dynamic linker works out for programs that start before first light.

use super::evidence::Evidence;
use super::found::{Found, Scope};
use super::probes::count;
use super::text::relocations as text;
use super::view::{View, transfer};
use crate::system::{Dynamic, RootTree};
use std::collections::{BTreeMap, BTreeSet};

/// What a relocation takes in instructions: one that needs no symbol, the faults of the
/// pages that are written included, and one that looks a symbol up in eight libraries.
/// Counted in the exact lab with the C library of Debian 12 on x86-64 by the programs of
/// `experiments/findings/relocations`: `relative` less `plain`, 2.95 ms at 1 GIPS for
/// 100,000, and `now` less `lazy`, 6.6 ms for 8,000.
const RELATIVE: u64 = 30;
const SYMBOLIC: u64 = 830;

/// Finding and mapping one file, in instructions, without its relocations. Counted in the same
/// folder: twenty starts of `plain`, which has one library, take 12.0 ms more than twenty of the
/// static program.
const FILE: u64 = 300_000;

/// Without the newer hash table each library is looked through by the older one, which
/// refuses no name before it has compared it; a rule of thumb.
const OLD_HASH: u64 = 3;

/// How the name of musl's dynamic linker begins: `lib/ld-musl-x86_64.so.1`.
const MUSL: &str = "ld-musl-";

/// Fewer instructions are not worth a word: a libc and a shell take that much.
const WORTH: u64 = 1_000_000;

/// What is relocated when a program starts: itself and all libraries that it needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Work {
    /// Relocations without a symbol.
    relative: u64,
    /// Those that look one up, calls that are bound at the start among them.
    symbolic: u64,
    /// Of these, calls that could be bound when they are made.
    calls: u64,
    /// All of it in instructions.
    instructions: u64,
    /// How many files.
    files: usize,
}

/// The paths of a program and of the libraries that it needs, directly or not.
fn files_of<'a>(tree: &'a RootTree, program: &'a str) -> BTreeSet<&'a str> {
    let mut by_name: BTreeMap<&str, &str> = BTreeMap::new();
    for (path, library) in &tree.libraries {
        by_name.extend(library.names.iter().map(|n| (n.as_str(), path.as_str())));
    }
    let mut all = BTreeSet::from([program]);
    let mut open = vec![program];
    while let Some(next) = open.pop() {
        let needed = tree.dynamic.get(next).map_or(&[][..], |d| &d.needed);
        for path in needed.iter().filter_map(|n| by_name.get(n.as_str())) {
            if all.insert(path) {
                open.push(path);
            }
        }
    }
    all
}

/// Whether the root has musl's dynamic linker, which binds all calls at the start.
fn is_musl(tree: &RootTree) -> bool {
    let paths = tree.dynamic.keys().chain(tree.libraries.keys());
    let names = tree.libraries.values().flat_map(|l| &l.names);
    let mut all = paths.chain(tree.links.keys()).chain(names);
    all.any(|path| path.rsplit('/').next().is_some_and(|n| n.starts_with(MUSL)))
}

fn work_of(tree: &RootTree, files: &BTreeSet<&str>, is_musl: bool) -> Work {
    let mut work = Work::default();
    for d in files.iter().filter_map(|path| tree.dynamic.get(*path)) {
        let Dynamic {
            relative,
            packed,
            symbolic,
            calls,
            binds_now,
            has_gnu_hash,
            ..
        } = d;
        let relative = relative.saturating_add(*packed);
        let bound = if *binds_now || is_musl { *calls } else { 0 };
        let looked_up = symbolic.saturating_add(bound);
        let each = SYMBOLIC * if *has_gnu_hash { 1 } else { OLD_HASH };
        work.relative = work.relative.saturating_add(relative);
        work.symbolic = work.symbolic.saturating_add(looked_up);
        work.calls = work.calls.saturating_add(bound);
        let instructions = relative
            .saturating_mul(RELATIVE)
            .saturating_add(looked_up.saturating_mul(each));
        work.instructions = work.instructions.saturating_add(instructions);
        work.files += 1;
    }
    work
}

/// The file of the root that a program was started from: by its path, or that of
/// a merged `/usr`.
fn file_of<'a>(tree: &'a RootTree, command: &str) -> Option<&'a str> {
    let path = command.split_whitespace().next()?.trim_start_matches('/');
    let key = |path: &str| tree.dynamic.get_key_value(path).map(|(k, _)| k.as_str());
    key(path)
        .or_else(|| key(&format!("usr/{path}")))
        .or_else(|| key(path.strip_prefix("usr/")?))
}

/// Programs that start before first light and have much to be relocated.
pub(super) fn dynamic(view: &View<'_>) -> Vec<Found> {
    let Some(tree) = view.system.root.as_ref() else {
        return Vec::new();
    };
    let end = view.phases.end();
    let mut started: BTreeMap<&str, (u64, record::Origin)> = BTreeMap::new();
    for p in view.record.processes() {
        let is_begun = p.start.unwrap_or(p.first_seen) <= end && !p.kernel_thread;
        let command = p.command.filter(|_| is_begun);
        let file = command.and_then(|c| file_of(tree, view.record.name(c)));
        if let Some(file) = file {
            started.entry(file).or_insert((0, p.origin)).0 += 1;
        }
    }
    let speed = view.speed();
    let is_musl = is_musl(tree);
    let found = started.into_iter().filter_map(|(path, (times, origin))| {
        let files = files_of(tree, path);
        let work = work_of(tree, &files, is_musl);
        let all = work.instructions.saturating_mul(times);
        if all < WORTH {
            return None;
        }
        // What is bound when it is called first is a part of what the start spares.
        let mapped = FILE.saturating_mul(work.files as u64).saturating_mul(times);
        let time = transfer(all.saturating_add(mapped), speed.rate);
        let mut most: Vec<(&str, &Dynamic)> = files
            .iter()
            .filter_map(|f| Some((*f, tree.dynamic.get(*f)?)))
            .collect();
        most.sort_by_key(|(f, d)| {
            let all = d
                .relative
                .saturating_add(d.symbolic)
                .saturating_add(d.calls);
            (std::cmp::Reverse(all), *f)
        });
        let shown = most
            .iter()
            .take(super::evidence::SHOWN)
            .map(|(f, d)| Evidence {
                text: text::file(
                    f,
                    d.relative.saturating_add(d.packed),
                    d.symbolic,
                    d.calls,
                    if d.binds_now || is_musl {
                        text::BOUND
                    } else {
                        ""
                    },
                ),
                place: tree.place(f, usize::try_from(d.offset).unwrap_or(0)),
            });
        let now = match work.calls {
            0 => String::new(),
            // It knows no other way.
            _ if is_musl => String::new(),
            n => text::calls(n),
        };
        let is_plain = |d: &Dynamic| !d.has_gnu_hash && d.symbolic.saturating_add(d.calls) > 0;
        let hash = match most.iter().any(|(_, d)| is_plain(d)) {
            true => text::HASH,
            false => "",
        };
        let why = text::why(
            path,
            count(work.files.saturating_sub(1), "library", "libraries"),
            work.relative,
            RELATIVE,
            work.symbolic,
            SYMBOLIC,
            count(
                usize::try_from(times).unwrap_or(usize::MAX),
                "time",
                "times",
            ),
            now,
            hash,
        );
        Some(
            Found::new()
                .title(text::title(path, time))
                .why(why)
                .evidence(shown)
                .evidence([view.evidence(text::started(path), origin)])
                .parts(time, 10, 100, 200)
                .at_speed(speed)
                .scope(Scope::Unknown),
        )
    });
    found.collect()
}
