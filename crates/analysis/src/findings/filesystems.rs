//! What filesystems say of themselves, beside what a boot reads and writes of them.

use super::Evidence;
use super::found::{Found, Scope};
use super::images::{Packing, speed};
use super::requests::{MostRead, most_read};
use super::view::{View, times, transfer};
use crate::system::{Filesystem, ImageFact, ImageKind};
use record::{AccessKind, Nanos, Operation, Request};

/// The filesystems among the images.
fn filesystems<'a>(view: &'a View<'_>) -> impl Iterator<Item = (&'a ImageFact, &'a Filesystem)> {
    view.system.images.iter().filter_map(|i| match &i.what {
        ImageKind::Filesystem(f) => Some((i, f)),
        _ => None,
    })
}

fn evidence(image: &ImageFact, text: String) -> Evidence {
    Evidence {
        text,
        place: image.place.clone(),
    }
}

/// Files whose blocks are listed one by one.
pub(super) fn indirect(view: &View<'_>) -> Vec<Found> {
    let found = filesystems(view).filter_map(|(image, f)| {
        let blocks = Some(f.indirect_blocks).filter(|n| *n > 0)?;
        let MostRead { costs, bytes, .. } = most_read(view)?;
        // As many of them as of the data were read.
        let share = (u128::from(bytes) * 1_000 / u128::from(f.used.max(1))).min(1_000);
        let of_read = u128::from(blocks) * share / 1_000;
        let of_read = u64::try_from(of_read).unwrap_or(u64::MAX);
        let text = format!("{}, {blocks} blocks that list other blocks", f.filesystem);
        let why = format!(
            "{blocks} blocks hold nothing but the numbers of others; each is read before what it \
             lists, {} beside the bytes. The boot read {} thousandths of what is in use. Extents \
             (`tune2fs -O extent`, and files written anew) need one entry for a long stretch.",
            costs.command, share
        );
        Some(
            Found::new("Files lie in lists of blocks and not in extents", why)
                .evidence([evidence(image, text)])
                .saving(
                    Nanos::ZERO,
                    times(of_read, costs.command.0),
                    times(blocks, costs.command.0),
                )
                .scope(Scope::Unknown),
        )
    });
    found.collect()
}

/// What comparing a name takes, in instructions: some twenty for its length, its first
/// bytes and the step to the next (`ext4_search_dir`, `fs/ext4/namei.c`).
const NAME_WORK: u64 = 20;

/// Directories that are searched from the front.
pub(super) fn unindexed(view: &View<'_>) -> Vec<Found> {
    let end = view.phases.end();
    let mut all = Vec::new();
    for (image, f) in filesystems(view) {
        for (path, bytes) in &f.unindexed {
            let folder = format!("{}/", path.trim_end_matches('/'));
            let looked_up = view.record.accesses().iter().filter(|a| {
                let name = a.path.map_or("", |p| view.record.name(p));
                let of = matches!(a.kind, AccessKind::Open | AccessKind::Miss);
                of && a.at <= end && name.starts_with(&folder)
            });
            let n = u64::try_from(looked_up.count()).unwrap_or(u64::MAX);
            // An entry is its name and eight bytes: a kibibyte holds some forty.
            let names = bytes / 24;
            let work = names.saturating_mul(NAME_WORK).saturating_mul(n) / 2;
            let scanned = transfer(work, speed(view));
            let loaded = most_read(view).map(|m| transfer(*bytes, m.costs.rate));
            let text = format!("{path}: {bytes} bytes of names without an index");
            let why = format!(
                "A name is looked for from the front of the directory: half of its {bytes} bytes \
                 are read and compared for one that is there, all for one that is not. {n} names \
                 were looked for in it before first light. With an index (`tune2fs -O dir_index`, \
                 then `e2fsck -fD`) two blocks are read."
            );
            let found = Found::new(format!("{path} is large and has no index"), why)
                .evidence([evidence(image, text)])
                .scope(Scope::Unknown);
            all.push(match n {
                0 => found,
                _ => {
                    let time = scanned + loaded.unwrap_or_default();
                    found.parts(time, 20, 100, 200)
                }
            });
        }
    }
    all
}

/// The words of a device that can be pulled out, or that is a chip with a controller
/// like one.
const REMOVABLE: [&str; 2] = ["/dev/mmcblk", "mmcblk"];

/// Whether the root lies on a card or a stick.
fn is_on_flash(view: &View<'_>) -> bool {
    let device = view.record.fact("root.device").or(view.value("root"));
    let is_card = device.is_some_and(|d| REMOVABLE.iter().any(|r| d.starts_with(r)));
    is_card || view.said(REMOVABLE_DISK).next().is_some()
}

/// The line by which a disk says that it can be pulled out.
pub(super) const REMOVABLE_DISK: &str = "Attached SCSI removable disk";

/// A journal on a card or a stick is written before first light.
pub(super) fn journal(view: &View<'_>) -> Option<Found> {
    let kind = view.record.fact("root.filesystem");
    let with_journal =
        filesystems(view).find(|(_, f)| f.features.iter().any(|x| x == "has_journal"));
    let is_journaled = with_journal.is_some() || matches!(kind, Some("ext3" | "ext4"));
    if !is_journaled || !is_on_flash(view) {
        return None;
    }
    let end = view.phases.end();
    let is_commit = |r: &&Request| {
        let writes = r.operation == Operation::Write && r.metadata && r.sync;
        (writes || r.operation == Operation::Flush) && r.completed.get().is_some_and(|t| t <= end)
    };
    let commits = || view.record.requests().iter().filter(is_commit);
    let first = commits().next()?;
    let time =
        crate::summary::union(commits().filter_map(|r| r.issued.get().zip(r.completed.get())));
    let n = commits().count();
    let text = format!("the first of {n} writes and flushes of metadata");
    let image = with_journal.map(|(i, f)| evidence(i, format!("{} with a journal", f.filesystem)));
    let why = format!(
        "What is written goes to the journal first, and the card has to empty its cache twice for \
         each commit: {time} until first light. Without a journal (`tune2fs -O ^has_journal`) or \
         with a root that is mounted read-only, and what is written apart from it, that goes."
    );
    Some(
        Found::new("A journal is written on a card during the boot", why)
            .evidence([view.evidence(text, first.origin)])
            .evidence(image)
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
    let MostRead { costs, bytes, busy } = most_read(view)?;
    let mut totals = view.record.request_totals();
    let written = totals.find(|(o, _)| *o == Operation::Write);
    let written = written.map_or(0, |(_, t)| t.bytes);
    let speed = speed(view);
    let each = PACKED.iter().filter_map(|name| {
        let packing = Packing::named(name)?;
        let parts = packing.hundredths().saturating_add(BLOCKS).min(100);
        let spared = transfer(bytes / 100 * (100 - parts), costs.rate);
        let work = transfer(bytes.saturating_mul(packing.work(view)), speed);
        (spared > work).then(|| (spared - work, *name))
    });
    let (time, name) = each.max()?;
    let time = time.min(busy);
    let why = format!(
        "The boot read {bytes} bytes of it at {} MB/s, and wrote {written}. In squashfs or erofs, \
         packed with {name}, the part that is only read comes sooner, its unpacking included; what \
         is written lies on a filesystem of its own, which is mounted after first light.",
        costs.rate / 1_000_000
    );
    let text = format!("the root is {kind}");
    Some(
        Found::new("The root is read unpacked from a slow device", why)
            .evidence([view.evidence(text, fact.origin)])
            .parts(time, 0, 60, 120)
            .scope(Scope::Unknown),
    )
}
