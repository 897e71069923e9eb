//! Files of the root that say how it boots.

use super::evidence::Evidence;
use super::found::{Found, Scope};
use super::fstab;
use super::initramfs::{packed_kib, unpacked};
use super::libraries::saved;
use super::packing::Packing;
use super::text::root as text;
use super::view::{Line, View, number, transfer};
use crate::spans;
use crate::system::{ImageKind, RootTree};
use record::{Nanos, SpanKind};
use std::collections::BTreeSet;

fn evidence(tree: &RootTree, path: &str, offset: usize, line: &str) -> Evidence {
    Evidence {
        text: line.trim().chars().take(100).collect(),
        place: tree.place(path, offset),
    }
}

/// Files of menus that wait for a key: path, key, the part of a second that one of its counts is,
/// in milliseconds, and the least that may be set, in seconds: extlinux and syslinux wait without
/// end at 0, and so does U-Boot, which rounds to whole seconds.
const MENUS: [(&str, &str, i64, u32); 6] = [
    ("etc/default/grub", "GRUB_TIMEOUT=", 1_000, 0),
    ("boot/extlinux/extlinux.conf", "timeout ", 100, 1),
    ("extlinux/extlinux.conf", "timeout ", 100, 1),
    ("boot/syslinux/syslinux.cfg", "timeout ", 100, 1),
    ("boot/loader/loader.conf", "timeout ", 1_000, 0),
    ("loader/loader.conf", "timeout ", 1_000, 0),
];

/// Whether a line of extlinux or syslinux has somebody asked. Without one of them the default is
/// booted at once, whatever the timeout. What a menu shows of one entry is none of them.
fn asks(line: &str) -> bool {
    let line = line.trim_start().to_ascii_lowercase();
    let mut words = line.split_whitespace();
    match (words.next(), words.next()) {
        (Some("prompt"), Some(value)) => value != "0",
        (Some("menu"), Some(what)) => !matches!(what, "label" | "default" | "indent" | "disable"),
        (Some("ui"), _) => true,
        _ => false,
    }
}

/// Menus that wait for a key.
pub(super) fn menus(view: &View<'_>) -> Vec<Found> {
    let Some(tree) = view.system.root.as_ref() else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for (file, key, each, least) in MENUS {
        if least > 0
            && !tree
                .lines(move |p| p == file)
                .any(|(_, _, line)| asks(line))
        {
            continue;
        }
        for (path, offset, line) in tree.lines(move |p| p == file) {
            let text = line.trim_start().to_ascii_lowercase();
            let value = text.strip_prefix(&key.to_ascii_lowercase());
            let value = value.map(|v| v.trim_matches(['"', '\'', ' ']));
            let Some(n) = value.and_then(number) else {
                continue;
            };
            let time = super::view::times(n, each.saturating_mul(1_000_000));
            let saved = time - super::view::times(u64::from(least), 1_000_000_000);
            if saved <= Nanos::ZERO {
                continue;
            }
            all.push(
                Found::new()
                    .title(text::menu(time))
                    .evidence([evidence(tree, path, offset, line)])
                    // A loader counts in steps, and each takes a little longer.
                    .saving(saved, saved, saved + Nanos(saved.0 / 100))
                    .treatment(format!("menu-timeout={least}")),
            );
        }
    }
    all
}

/// Mount options that make the medium work, and what each does.
const DEAR: [(&str, &str); 4] = [
    ("sync", "every write waits for the storage"),
    ("dirsync", "every directory change waits for the storage"),
    ("discard", "every deletion sends a discard request at once"),
    ("strictatime", "every read writes the time of reading"),
];

/// Filesystems that nothing is written to.
const READ_ONLY: [&str; 5] = ["cramfs", "erofs", "iso9660", "romfs", "squashfs"];

/// Filesystems with `commit=SECONDS`, and how long they wait if nobody says otherwise
/// (`JBD2_DEFAULT_MAX_COMMIT_AGE`, `BTRFS_DEFAULT_COMMIT_INTERVAL`). 0 means that, too.
const COMMITS: [(&str, u64); 3] = [("ext3", 5), ("ext4", 5), ("btrfs", 30)];

/// What a short interval of commits does.
const OFTEN: &str = "the file system commits sooner than its default, writes the journal first, and delays reads behind it";

/// Whether an option makes a filesystem of this kind commit more often than it would.
fn commits_often(kind: &str, option: &str) -> bool {
    let usual = COMMITS.iter().find(|(k, _)| *k == kind);
    let seconds = option.strip_prefix("commit=").and_then(|n| n.parse().ok());
    let is_short = |n: u64| usual.is_some_and(|(_, usual)| (1..*usual).contains(&n));
    seconds.is_some_and(is_short)
}

/// The options of a mount that cost, as /etc/fstab or the list of mounts names it.
fn dear_options<'a>(
    kind: &'a str,
    options: &'a str,
) -> impl Iterator<Item = (&'a str, &'static str)> + 'a {
    let has = move |o: &str| options.split(',').any(|x| x == o);
    let is_written = !has("ro") && !READ_ONLY.contains(&kind);
    let dear = DEAR.iter().filter(move |(option, _)| {
        // f2fs has it by default, and gathers what it tells.
        let is_usual = kind == "f2fs" && *option == "discard";
        is_written && !is_usual && has(option)
    });
    let often = options
        .split(',')
        .filter(move |o| is_written && commits_often(kind, o));
    dear.copied().chain(often.map(|o| (o, OFTEN)))
}

fn dear_mount(view: &View<'_>, folder: &str, option: &str, what: &str, line: Evidence) -> Found {
    Found::new()
        .title(text::mounted(folder, option))
        .why(text::mounted_why(option, what))
        .evidence([line])
        .parts(view.booted, 0, 1, 10)
        .scope(Scope::Unknown)
}

/// Options that cost, of what the boot had mounted on a device: each once for a device,
/// however often it is mounted.
fn options_of_mounts(view: &View<'_>) -> Vec<Found> {
    let mut all = Vec::new();
    let mut told = BTreeSet::new();
    for fact in view.record.facts() {
        let folder = view.record.name(fact.key).strip_prefix("mount.");
        let mut words = view.record.name(fact.value).split(' ');
        let (kind, device, options) = (words.next(), words.next(), words.next());
        let all_there = (folder, kind, device, options);
        let (Some(folder), Some(kind), Some(device), Some(options)) = all_there else {
            continue;
        };
        if !device.starts_with("/dev/") || !folder.starts_with('/') {
            continue;
        }
        for (option, what) in dear_options(kind, options) {
            if told.insert((device, option)) {
                let text = text::mount(device, folder, options);
                let line = view.evidence(text, fact.origin);
                all.push(dear_mount(view, folder, option, what, line));
            }
        }
    }
    all
}

/// Mount options of /etc/fstab that cost; where the root is not known, those of what the
/// boot had mounted on a device.
pub(super) fn mount_options(view: &View<'_>) -> Vec<Found> {
    let Some(tree) = view.system.root.as_ref() else {
        return options_of_mounts(view);
    };
    let mut all = Vec::new();
    for (path, offset, line, fields) in fstab::lines(tree) {
        let (Some(folder), Some(kind), Some(options)) =
            (fields.get(1), fields.get(2), fields.get(3))
        else {
            continue;
        };
        all.extend(dear_options(kind, options).map(|(option, what)| {
            let line = evidence(tree, path, offset, line);
            dear_mount(view, folder, option, what, line)
                .treatment(format!("fstab={folder}:-{option}"))
        }));
    }
    all
}

/// What the check of a clean ext4 takes in instructions: the control groups of systemd-fsck@
/// (25.6 ms, with fsck and e2fsck) and of systemd-fsckd (14.5 ms) of a boot with one, at
/// 1 GIPS.
const CHECK_WORK: u64 = 40_000_000;

/// File systems that /etc/fstab has checked at boot.
pub(super) fn fstab_checks(view: &View<'_>) -> Option<Found> {
    let tree = view.system.root.as_ref()?;
    let mut seen = Vec::new();
    let mut first = None;
    for (path, offset, line, fields) in fstab::lines(tree) {
        let pass = fields.get(5).and_then(|p| p.parse::<u32>().ok());
        let kind = fields.get(2).copied().unwrap_or_default();
        let journal = matches!(kind, "ext3" | "ext4");
        if pass.unwrap_or(0) == 0 || !journal {
            continue;
        }
        if fields.get(1) == Some(&"/") && is_root_unchecked(view) {
            continue;
        }
        first = first.or(fields.get(1).copied());
        seen.push(evidence(tree, path, offset, line));
    }
    // Where all units are known, they say whether it was checked.
    if seen.is_empty() || knows_checks(view) {
        return None;
    }
    let folder = first.unwrap_or("/");
    let count = u64::try_from(seen.len()).unwrap_or(1);
    let speed = view.speed();
    let time = transfer(CHECK_WORK.saturating_mul(count), speed.rate);
    Some(
        Found::new()
            .evidence(seen)
            .parts(time, 25, 100, 400)
            .at_speed(speed)
            .treatment(format!("fstab={folder}:pass=0")),
    )
}

/// systemd checks the root only before it is mounted for writing, and says so if it is. Of one
/// that the initramfs has checked it names another condition.
const ROOT_SKIPPED: &str = "(ConditionPathIsReadWrite=!/)";

/// Whether the root was mounted for writing before systemd could check it.
fn is_root_unchecked(view: &View<'_>) -> bool {
    let is_of_root = |l: Line<'_>| l.text.contains("systemd-fsck-root.service");
    view.said(ROOT_SKIPPED).any(is_of_root)
}

/// What a log says when the file systems are mounted, with the name of the target and without.
const MOUNTED: [&str; 2] = [
    "Reached target local-fs.target",
    "Reached target Local File Systems.",
];

/// What is looked for of the checks of file systems.
pub(super) const CHECKS: [&str; 3] = [MOUNTED[0], MOUNTED[1], ROOT_SKIPPED];

/// Whether the units of this boot are known at least until its file systems were mounted.
fn knows_checks(view: &View<'_>) -> bool {
    let units = spans::distinct(view.record);
    let mut units = units.iter().filter(|s| s.kind == SpanKind::Unit);
    let is_reached = || MOUNTED.iter().any(|m| view.said(m).next().is_some());
    units.any(|s| !view.is_kernel_log(s.origin.source) || is_reached())
}

/// An initramfs with modules for every machine.
pub(super) fn all_modules(view: &View<'_>) -> Option<Found> {
    let tree = view.system.root.as_ref()?;
    let (path, offset, line) = tree
        .lines(|p| p == "etc/initramfs-tools/initramfs.conf")
        .find(|(_, _, l)| l.trim() == "MODULES=most")?;
    let unpacked = unpacked(view);
    let part = |time: Nanos, percent: i64| Nanos(time.0 / 100 * percent);
    // What the boot shows, a fifth of which stays.
    let unpacking = unpacked
        .as_ref()
        .map_or(Nanos::ZERO, |(time, ..)| part(*time, 80));
    let end = unpacked.as_ref().and_then(|(.., end)| end.as_ref());
    let packed = packed_kib(end);
    // A lab of virtual time loads it in no time, or in a stage that no log shows.
    let loading = match packed {
        _ if view.is_virtual() => Nanos::ZERO,
        Some(kib) => transfer(kib.saturating_mul(1024) / 100 * 80, USUAL_LOADING),
        None => transfer(USUAL_SPARED, USUAL_LOADING),
    };
    let saving =
        |of_unpacking, of_loading| part(unpacking, of_unpacking) + part(loading, of_loading);
    Some(
        Found::new()
            .evidence([evidence(tree, path, offset, line)])
            .evidence(unpacked.as_ref().map(|(_, begin, _)| view.quote(begin)))
            // Since 5.13 other initcalls run beside the unpacking, on other processors.
            .saving(saving(30, 10), saving(100, 100), saving(125, 400))
            .treatment("initramfs-modules=dep"),
    )
}

/// Bytes that a loader reads in a second, and how many fewer of an initramfs of unknown size.
const USUAL_LOADING: u64 = 60_000_000;
const USUAL_SPARED: u64 = 20 << 20;

/// What strips all of these files, the largest first, if one folder has them; else the
/// largest.
fn stripping(files: &[(&String, &u64)]) -> Option<String> {
    let top = |path: &str| path.split_once('/').map(|(top, _)| top.to_owned());
    let (first, _) = files.first()?;
    let folder = top(first).filter(|t| files.iter().all(|(p, _)| top(p).as_ref() == Some(t)));
    Some(format!("strip={}", folder.as_ref().unwrap_or(first)))
}

/// Programs that carry what only debuggers read.
pub(super) fn unstripped(view: &View<'_>) -> Option<Found> {
    let tree = view.system.root.as_ref()?;
    let total: u64 = tree
        .unstripped
        .values()
        .fold(0, |sum, n| sum.saturating_add(*n));
    if total < 256 << 10 {
        return None;
    }
    let mut files: Vec<(&String, &u64)> = tree.unstripped.iter().collect();
    files.sort_by_key(|(path, n)| (std::cmp::Reverse(**n), *path));
    let shown = files
        .iter()
        .take(super::evidence::SHOWN)
        .map(|(path, n)| Evidence {
            text: text::symbols(path, n),
            place: tree.place(path, 0),
        });
    let why = text::unstripped_why(files.len(), total);
    let found = Found::new()
        .why(why)
        .evidence(shown)
        .maybe_treatment(stripping(&files));
    Some(saved(view, found, like_others(view, total), |found| {
        found.parts(transfer(total, 20_000_000), 0, 10, 100)
    }))
}

/// What gzip makes of a hundred bytes that only debuggers read: 22 to 24 of programs in Rust
/// and C++, whose other parts become 28 to 48.
const SYMBOLS_PACKED: u64 = 24;

/// Bytes that only debuggers read, as so many bytes of all that is in a compressed initramfs:
/// unpacking takes as long as the packed bytes are many, and these pack better.
fn like_others(view: &View<'_>, bytes: u64) -> u64 {
    let packed = view.system.images.iter().find_map(|i| match &i.what {
        ImageKind::Initramfs {
            compression,
            packed,
            unpacked,
            ..
        } => Some((Packing::named(compression)?, *packed, *unpacked)),
        _ => None,
    });
    let (Some((packing, packed, unpacked)), Some(gzip)) = (packed, Packing::named("gzip")) else {
        return bytes;
    };
    if packing.name == "none" || packed == 0 {
        return bytes;
    }
    let hundredths = SYMBOLS_PACKED * packing.hundredths() / gzip.hundredths();
    let own = u128::from(bytes) * u128::from(hundredths) / 100;
    let alike = own * u128::from(unpacked) / u128::from(packed);
    u64::try_from(alike).map_or(bytes, |alike| alike.min(bytes))
}
