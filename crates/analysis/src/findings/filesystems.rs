//! What filesystems say of themselves, beside what a boot reads and writes of them.

use super::devices::{
    REMOVABLE_DISK, is_part_of, removable_disk, root_device, root_name, turns_not,
};
use super::evidence::Evidence;
use super::found::{Found, Scope};
use super::packing::Packing;
use super::requests::{MostRead, most_read, root_read};
use super::text::filesystems as text;
use super::view::{Line, View, times, transfer};
use crate::system::{Directory, Filesystem, ImageFact, ImageKind};
use record::{AccessKind, Nanos, Operation, Request};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// The filesystems among the images.
fn filesystems<'a>(view: &'a View<'_>) -> impl Iterator<Item = (&'a ImageFact, &'a Filesystem)> {
    view.system.images.iter().filter_map(|i| match &i.what {
        ImageKind::Filesystem(f) => Some((i, f)),
        _ => None,
    })
}

/// Whether an image of an ext2, ext3 or ext4 was given, and what is read of the root is
/// known: then it is known what lists of blocks cost.
pub(super) fn tell_lists(view: &View<'_>) -> bool {
    root_read(view).is_some() && filesystems(view).any(|(_, f)| f.filesystem.starts_with("ext"))
}

fn evidence(image: &ImageFact, text: String) -> Evidence {
    Evidence {
        text,
        place: image.place.clone(),
    }
}

/// A block of such a list, in bytes.
const MAP_BLOCK: u64 = 4 << 10;

/// Files whose blocks are listed one by one.
pub(super) fn indirect(view: &View<'_>) -> Vec<Found> {
    let found = filesystems(view).filter_map(|(image, f)| {
        let blocks = Some(f.indirect_blocks).filter(|n| *n > 0)?;
        let read = root_read(view)?;
        let MostRead { costs, bytes, .. } = read;
        // As many of them as of the data were read.
        let share = (u128::from(bytes) * 1_000 / u128::from(f.used.max(1))).min(1_000);
        let of_read = u128::from(blocks) * share / 1_000;
        let of_read = u64::try_from(of_read).unwrap_or(u64::MAX);
        // Whoever reads waits for such a block alone, and its bytes come behind a command of
        // its own; the data on both sides of it need one command more.
        let each = Nanos(costs.command.0.saturating_mul(2)) + transfer(MAP_BLOCK, costs.rate);
        let text = text::map_blocks(&f.filesystem, blocks);
        let why = text::indirect_why(blocks, each, read.place(), share);
        Some(
            Found::new()
                .title(text::INDIRECT)
                .why(why)
                .evidence([evidence(image, text)])
                .treatment("ext=extents")
                // What was read ahead beside the data stops at each of them, too: how long is
                // not known.
                .saving(
                    Nanos::ZERO,
                    times(of_read, each.0),
                    times(blocks, each.0.saturating_mul(2)),
                )
                .scope(Scope::Unknown),
        )
    });
    found.collect()
}

/// What comparing a name takes, in instructions: some twenty for its length, its first
/// bytes and the step to the next (`ext4_search_dir`, `fs/ext4/namei.c`).
const NAME_WORK: u64 = 20;

/// The smallest entry: eight bytes and a name, in steps of four.
const ENTRY: u64 = 12;

/// What a look-up reads of a directory with an index: two blocks of 4 KiB.
const INDEXED: u64 = 2 << 12;

/// Which different names were looked for in each of these folders before first light.
/// What is opened again is known by then; below a folder's own folders, these are looked
/// in.
fn looked_up<'a>(view: &View<'a>, folders: &[&str]) -> Vec<BTreeSet<&'a str>> {
    let mut names = vec![BTreeSet::new(); folders.len()];
    let end = view.phases.end();
    for a in view.record.accesses() {
        let is_look_up = matches!(a.kind, AccessKind::Open | AccessKind::Miss);
        let Some(path) = a.path.filter(|_| is_look_up && a.at <= end) else {
            continue;
        };
        let path = view.record.name(path);
        for (folder, names) in folders.iter().zip(&mut names) {
            let rest = path.strip_prefix(folder.trim_end_matches('/'));
            let rest = rest.and_then(|r| r.strip_prefix('/'));
            let first = rest.and_then(|r| r.trim_start_matches('/').split('/').next());
            names.extend(first.filter(|f| !f.is_empty()));
        }
    }
    names
}

/// Directories that are searched from the front, the largest ones.
pub(super) fn unindexed(view: &View<'_>) -> Vec<Found> {
    let mut large: Vec<(&ImageFact, &Directory, u64)> = filesystems(view)
        .flat_map(|(image, f)| {
            // A directory that is larger than all that is in use is a damaged one.
            let of = f.unindexed.iter();
            of.map(move |directory| (image, directory, directory.bytes.min(f.used)))
        })
        .collect();
    large.sort_by_key(|(image, d, bytes)| (Reverse(*bytes), image.place.offset, &d.path));
    large.truncate(super::evidence::SHOWN);
    let folders: Vec<&str> = large.iter().map(|(_, d, _)| d.path.as_str()).collect();
    let speed = view.speed();
    let found = large.iter().zip(looked_up(view, &folders));
    let found = found.map(|((image, directory, bytes), names)| {
        let path = &directory.path;
        let n = u64::try_from(names.len()).unwrap_or(u64::MAX);
        // Half of its names come before the one that is looked for.
        let before = directory.names.min(bytes / ENTRY).saturating_mul(NAME_WORK);
        let work = before.saturating_mul(n) / 2;
        // With an index two blocks of it are read for a name, until all of them are there.
        let with_index = n.saturating_mul(INDEXED).min(*bytes);
        let loaded = most_read(view).map(|m| transfer(bytes - with_index, m.costs.rate));
        let time = transfer(work, speed.rate) + loaded.unwrap_or_default();
        let text = text::unindexed_bytes(path, bytes);
        let why = text::unindexed_why(
            bytes,
            match n {
                1 => "1 name was".to_owned(),
                n => text::names(n),
            },
        );
        let found = Found::new()
            .title(text::unindexed(path))
            .why(why)
            .evidence([evidence(image, text)])
            .treatment("ext=dir-index")
            .scope(Scope::Unknown);
        match n {
            0 => found,
            _ => found.parts(time, 20, 100, 200).at_speed(speed),
        }
    });
    found.collect()
}

/// Whether the root lies on a card, a stick or what else is known not to turn.
fn is_on_flash(view: &View<'_>) -> bool {
    let Some(name) = root_name(view) else {
        return false;
    };
    let is_stick =
        |line: Line<'_>| removable_disk(line.text).is_some_and(|disk| is_part_of(name, disk));
    let is_flash = || root_device(view).is_some_and(|(d, mapped)| mapped && turns_not(view, d));
    name.starts_with("mmcblk") || view.said(REMOVABLE_DISK).any(is_stick) || is_flash()
}

/// A journal on a card or a stick is written before first light.
pub(super) fn journal(view: &View<'_>) -> Option<Found> {
    let with_journal =
        filesystems(view).find(|(_, f)| f.features.iter().any(|x| x == "has_journal"));
    // What an image says of itself is surer than the kind of a mount.
    let is_journaled = match filesystems(view).any(|(_, f)| f.filesystem.starts_with("ext")) {
        true => with_journal.is_some(),
        false => matches!(view.record.fact("root.filesystem"), Some("ext3" | "ext4")),
    };
    if !is_journaled || !is_on_flash(view) {
        return None;
    }
    let root = root_device(view)?.0;
    let end = view.phases.end();
    let is_commit = |r: &&Request| {
        let writes = r.operation == Operation::Write && r.metadata && r.sync;
        let is_commit = writes || r.operation == Operation::Flush;
        let is_here = r.device == root && r.error == 0;
        is_commit && is_here && r.completed.get().is_some_and(|t| t <= end)
    };
    let commits = || view.record.requests().iter().filter(is_commit);
    let first = commits().next()?;
    let time =
        crate::summary::union(commits().filter_map(|r| r.issued.get().zip(r.completed.get())));
    let n = commits().count();
    let text = text::first_commit(n);
    let image = with_journal.map(|(i, f)| evidence(i, text::with_journal(&f.filesystem)));
    let why = text::journal_why(time);
    Some(
        Found::new()
            .why(why)
            .evidence([view.evidence(text, first.origin)])
            .evidence(image)
            .treatment("ext=no-journal")
            .parts(time, 0, 50, 100)
            .scope(Scope::Unknown),
    )
}

/// Packed roots that are read beside one another, the fastest to unpack first.
const PACKED: [&str; 2] = ["lz4", "zstd"];

/// What a packed root is larger than a kernel packed by the same method, as a part of
/// the unpacked bytes in hundredths: its blocks of 128 KiB are packed one by one.
const BLOCKS: u64 = 10;

/// A root that is only read, and lies unpacked on a slow medium.
pub(super) fn unpacked_root(view: &View<'_>) -> Option<Found> {
    let mut facts = view.record.facts().iter();
    let fact = facts.find(|f| view.record.name(f.key) == "root.filesystem")?;
    let kind = view.record.name(fact.value);
    let is_plain = matches!(kind, "ext2" | "ext3" | "ext4" | "xfs" | "f2fs" | "romfs");
    if !is_plain {
        return None;
    }
    let read = root_read(view)?;
    let MostRead {
        device,
        costs,
        bytes,
        busy,
        ..
    } = read;
    let end = view.phases.end();
    let is_write = |r: &&Request| {
        let is_done = r.completed.get().is_some_and(|t| t <= end) && r.error == 0;
        r.device == device && r.operation == Operation::Write && is_done
    };
    let writes = view.record.requests().iter().filter(is_write);
    let written = writes.fold(0_u64, |sum, r| sum.saturating_add(r.bytes));
    let speed = view.speed();
    let each = PACKED.iter().filter_map(|name| {
        let packing = Packing::named(name)?;
        let parts = packing.hundredths().saturating_add(BLOCKS).min(100);
        let spared = transfer(bytes / 100 * (100 - parts), costs.rate);
        let work = transfer(bytes.saturating_mul(packing.work(view)), speed.rate);
        (spared > work).then(|| (spared - work, *name))
    });
    let (time, name) = each.max()?;
    let time = time.min(busy);
    let why = text::unpacked_root_why(read.place(), bytes, costs.rate / 1_000_000, written, name);
    let text = text::root_kind(kind);
    Some(
        Found::new()
            .why(why)
            .evidence([view.evidence(text, fact.origin)])
            .parts(time, 0, 100, 150)
            .at_speed(speed)
            .scope(Scope::Unknown),
    )
}
