//! Libraries of the root that nothing names, and the files of languages and fonts.

use super::evidence::Evidence;
use super::found::{Found, Scope};
use super::initramfs::unpacked;
use super::text::libraries as text;
use super::view::{Line, View, transfer};
use crate::system::{ImageKind, Library, RootTree};
use record::{AccessKind, Nanos};
use std::collections::{BTreeMap, BTreeSet};

/// The C library and libglvnd load these by names that they put together.
const LOADED_BY_PARTS: [&str; 5] = ["libnss_", "libgcc_s.", "ld-", "libGLX_", "libEGL_"];

/// Fewer bytes are not worth a word.
const WORTH: u64 = 256 << 10;

/// Libraries that no program and no other library of the root names.
pub(super) fn unused(view: &View<'_>) -> Option<Found> {
    let tree = view.system.root.as_ref()?;
    let mut unused = unnamed(tree);
    let total = unused
        .iter()
        .fold(0_u64, |n, (_, l)| n.saturating_add(l.bytes));
    if total < WORTH {
        return None;
    }
    unused.sort_by_key(|(path, l)| (std::cmp::Reverse(l.bytes), *path));
    let shown = unused
        .iter()
        .take(super::evidence::SHOWN)
        .map(|(path, l)| Evidence {
            text: text::bytes(path, l.bytes),
            place: tree.place(path, 0),
        });
    let why = text::unused_why(
        super::probes::count(unused.len(), "library", "libraries"),
        total,
    );
    // One that not even an unused one names can go now.
    let is_free = |(path, library): &&(&str, &Library)| {
        let by = library.names.iter().filter_map(|n| tree.mentions.get(n));
        by.flatten().all(|p| p == path)
    };
    let first = unused.iter().find(is_free);
    let found = Found::new()
        .why(why)
        .evidence(shown)
        .maybe_treatment(first.map(|(path, _)| format!("library-={path}")));
    Some(saved(view, found, total, |found| {
        found.saving(Nanos::ZERO, Nanos::ZERO, transfer(total, 20_000_000))
    }))
}

/// What is saved of the time that bytes which go are unpacked in, in percent.
const OF_INITRAMFS: (i64, i64, i64) = (30, 100, 110);

/// `found` with what is saved if so many bytes of the root go: of the unpacking, if the root
/// lies in the initramfs, and else what `on_device` says.
pub(super) fn saved(
    view: &View<'_>,
    found: Found,
    bytes: u64,
    on_device: impl FnOnce(Found) -> Found,
) -> Found {
    let Some((time, line)) = in_initramfs(view, bytes) else {
        return on_device(found);
    };
    let (low, expected, high) = OF_INITRAMFS;
    let found = found.evidence([view.quote(&line)]);
    found.parts(time, low, expected, high)
}

/// What so many bytes of a root that lies in the initramfs take to be unpacked, and the
/// line that says how long all of it took; `None`: it lies elsewhere.
fn in_initramfs<'a>(view: &'a View<'_>, bytes: u64) -> Option<(Nanos, Line<'a>)> {
    let is_there = matches!(view.record.fact("root.filesystem"), Some("rootfs"));
    let (time, line, _) = unpacked(view).filter(|_| is_there)?;
    let all = view.system.images.iter().find_map(|i| match i.what {
        ImageKind::Initramfs { unpacked, .. } => Some(unpacked),
        _ => None,
    })?;
    let ns = i128::from(time.0) * i128::from(bytes.min(all)) / i128::from(all.max(1));
    Some((Nanos(i64::try_from(ns).unwrap_or(0)), line))
}

/// A library that only unused ones name is unused, too.
fn unnamed(tree: &RootTree) -> Vec<(&str, &Library)> {
    let mut gone: BTreeSet<&str> = BTreeSet::new();
    loop {
        let is_named = |path: &str, library: &Library| {
            library.names.iter().any(|name| {
                let by = tree.mentions.get(name).into_iter().flatten();
                let mut by = by.filter(|p| *p != path && !gone.contains(p.as_str()));
                by.next().is_some() || LOADED_BY_PARTS.iter().any(|l| name.starts_with(l))
            })
        };
        let more: Vec<&str> = tree
            .libraries
            .iter()
            .map(|(path, library)| (path.as_str(), library))
            .filter(|(path, library)| !gone.contains(path) && !is_named(path, library))
            .map(|(path, _)| path)
            .collect();
        if more.is_empty() {
            break;
        }
        gone.extend(more);
    }
    let all = tree.libraries.iter().map(|(p, l)| (p.as_str(), l));
    all.filter(|(path, _)| gone.contains(path)).collect()
}

/// So many files of one kind are worth a word.
const MANY: usize = 20;

/// What a look at a file takes where the trace does not say it.
const LOOK: Nanos = Nanos(20_000);

/// From one such file to the next a process finds, reads and closes it; in longer pauses
/// it does something else.
const READ: Nanos = Nanos::from_millis(10);

/// Files of languages and fonts that are looked at before first light.
pub(super) fn languages(view: &View<'_>) -> Vec<Found> {
    let kinds: [(&str, &[&str], &str); 2] = [
        (
            text::LOCALE,
            &["/locale/", "/locale-langpack/", "/i18n/"],
            text::LOCALE_WHY,
        ),
        (
            text::FONT,
            &["/fontconfig/", "/fonts/", "/fonts.conf"],
            text::FONT_WHY,
        ),
    ];
    let end = view.phases.end();
    let found = kinds.iter().filter_map(|(what, parts, why)| {
        let mut paths = BTreeSet::new();
        let (mut looks, mut time, mut first) = (0_u64, Nanos::ZERO, None);
        let mut until = Nanos::ZERO;
        // When each process looked at such a file last, and how long that took, as long
        // as it looked at nothing else.
        let mut last: BTreeMap<u32, (Nanos, Nanos)> = BTreeMap::new();
        for a in view.record.accesses() {
            let path = a.path.map_or("", |p| view.record.name(p));
            let is_look = matches!(a.kind, AccessKind::Open | AccessKind::Miss);
            let is_it = parts.iter().any(|p| path.contains(p));
            if is_look && !is_it {
                a.pid.and_then(|pid| last.remove(&pid));
            }
            if is_look && a.at <= end && is_it {
                looks += 1;
                let took = a.took.get().unwrap_or(LOOK);
                time = time + took;
                let before = a.pid.and_then(|pid| last.insert(pid, (a.at, took)));
                if let Some((at, took)) = before {
                    time = time + ((a.at - at).min(READ) - took).max(Nanos::ZERO);
                }
                first = first.or(Some((path, a.at, a.origin)));
                until = until.max(a.at + took);
                paths.insert(path);
            }
        }
        let first = first.filter(|_| paths.len() >= MANY);
        let (path, from, origin) = first?;
        // Whoever looks has begun before the first one, and reads the last one after it.
        let accesses = || view.record.accesses().iter().map(|a| a.at);
        let before = accesses().filter(|at| *at < from).max();
        let after = accesses().filter(|at| *at > until).min();
        let around = [before.map(|at| from - at), after.map(|at| at - until)];
        let around = around.into_iter().flatten().map(|t| t.min(READ));
        let title = text::looks(paths.len(), what, looks);
        Some(
            Found::new()
                .title(title)
                .why(*why)
                .evidence([view.evidence(path.to_owned(), origin)])
                .parts(time, 0, 80, 100)
                .up_to(around.fold(time, |sum, t| sum + t))
                .scope(Scope::Unknown),
        )
    });
    found.collect()
}
