//! File systems and the devices under them.

use super::evidence::Evidence;
use super::found::{Found, Scope};
use super::requests::root_read;
use super::text::storage as text;
use super::view::{Line, View};
use crate::system::KernelConfig;
use record::{Device, Nanos, Operation, Request, mark};
use std::collections::BTreeMap;

/// Lines by which file systems say that they replay or mend, and by which they
/// say that they are done.
const REPLAYS: [(&str, &str); 6] = [
    ("orphan cleanup on", "EXT4-fs"),
    ("recovery required", "EXT4-fs"),
    ("Starting recovery (logdev", "Ending recovery"),
    ("UBIFS: recovery needed", "recovery completed"),
    ("recovery needed", "recovery completed"),
    ("start tree-log replay", "BTRFS"),
];

/// What is saved of a replay that has a line at its begin, and of the whole mount up to its
/// end: 42 % of the mount of an ext3 (149.0 and 87.1 ms, `lab classics log-replay`), 55 % of
/// that of an ext4 on the same device (`experiments/findings/journal-replay.toml`).
const OF_REPLAY: (i64, i64, i64) = (50, 85, 100);
const OF_MOUNT: (i64, i64, i64) = (20, 50, 100);

/// A log was replayed when a file system was mounted.
pub(super) fn journal_replay(view: &View<'_>) -> Option<Found> {
    let mut evidence = Vec::new();
    let mut time = Nanos::ZERO;
    let mut seen = Vec::new();
    for (begin, end) in REPLAYS {
        for line in view.said(begin) {
            if seen.contains(&line.at) || line.text.contains("recovery complete") {
                continue;
            }
            seen.push(line.at);
            let Some(from) = line.message.at else {
                continue;
            };
            let done = view.after(&line).take(24).find(|l| {
                l.text.contains(end) && (l.text.contains("omplete") || l.text.contains("mounted"))
            });
            let until = done.and_then(|l| l.message.at);
            let until = until.or_else(|| view.after(&line).find_map(|l| l.message.at));
            time = time + until.map_or(Nanos::ZERO, |u| u - from);
            evidence.push(view.quote(&line));
        }
    }
    // ext3 and ext4 often say only that they are done.
    let is_whole = evidence.is_empty();
    for line in view.said("recovery complete") {
        if !line.text.contains("EXT") || !evidence.is_empty() {
            continue;
        }
        let before = (0..line.at).rev().take(4).filter_map(|i| view.line(i));
        let before = before
            .filter(|l| l.message.origin.source == line.message.origin.source)
            .find_map(|l| l.message.at);
        if let (Some(from), Some(to)) = (before, line.message.at) {
            time = time + (to - from);
        }
        evidence.push(view.quote(&line));
    }
    if evidence.is_empty() {
        return None;
    }
    let treatment = without_replay(view, &evidence);
    evidence.truncate(super::evidence::SHOWN);
    let (low, expected, high) = if is_whole { OF_MOUNT } else { OF_REPLAY };
    Some(
        Found::new()
            .evidence(evidence)
            .maybe_treatment(treatment)
            .parts(time, low, expected, high),
    )
}

/// An old file system is mounted.
pub(super) fn indirect_blocks(view: &View<'_>) -> Option<Found> {
    let line = view
        .said("mounting ext3 file system using the ext4 subsystem")
        .chain(view.said("mounting ext2 file system using the ext4 subsystem"))
        .next()?;
    // A device below another one is not counted beside it.
    let read = root_read(view).map_or_else(|| reads(view), |r| r.busy);
    Some(
        Found::new()
            .evidence([view.quote(&line)])
            .parts(read, 0, 10, 30),
    )
}

/// How long block devices were busy with reading until first light.
fn reads(view: &View<'_>) -> Nanos {
    let totals = view.record.request_totals();
    let read = totals.filter(|(o, _)| *o == Operation::Read);
    read.fold(Nanos::ZERO, |sum, (_, t)| sum + t.service)
}

/// UBI looks at every erase block.
pub(super) fn ubi_scan(view: &View<'_>) -> Option<Found> {
    let begin = view.said("attaching mtd").next()?;
    let scanned = view.said("scanning is finished").next()?;
    if view.said("attached by fastmap").next().is_some() {
        return None;
    }
    let time = scanned.message.at? - begin.message.at?;
    if time <= Nanos::ZERO {
        return None;
    }
    Some(
        Found::new()
            .title(text::ubi(time))
            .evidence([view.quote(&begin), view.quote(&scanned)])
            .parts(time, 30, 80, 95)
            .treatment("ubi-fastmap=on"),
    )
}

/// A line that comes right behind the mount of a root, and how long nothing was said before it.
pub(super) fn mount_of<'a>(view: &'a View<'_>, text: &str) -> Option<(Line<'a>, Nanos)> {
    let line = view.said(text).next()?;
    let at = line.message.at?;
    let before = (0..line.at).rev().take(4).filter_map(|i| view.line(i));
    let before = before
        .filter(|l| l.message.origin.source == line.message.origin.source)
        .find_map(|l| l.message.at)?;
    Some((line, at - before))
}

/// The option of kernels that read summaries.
pub(super) const SUMMARY: &str = "JFFS2_SUMMARY";
/// What builds one of those that do not.
pub(super) const READING_SUMMARIES: &str = "config=CONFIG_JFFS2_SUMMARY=y";

/// The configuration of a kernel that reads every node, summary or not.
pub(super) fn ignores_summaries<'a>(view: &'a View<'_>) -> Option<&'a KernelConfig> {
    let config = view.system.config.as_ref();
    config.filter(|c| c.get(SUMMARY) == Some("n"))
}

/// JFFS2 reads the whole flash when it is mounted.
pub(super) fn jffs2_scan(view: &View<'_>) -> Option<Found> {
    let (line, time) = mount_of(view, "VFS: Mounted root (jffs2")?;
    if time < Nanos::from_millis(50) {
        return None;
    }
    let found = match ignores_summaries(view) {
        // Summaries alone would change nothing.
        Some(_) => Found::new()
            .why(text::SUMMARY_UNREAD)
            .treatment(READING_SUMMARIES),
        None => Found::new().treatment("jffs2=summaries"),
    };
    Some(
        found
            .title(text::jffs2(time))
            .evidence([view.quote(&line)])
            .parts(time, 10, 70, 90),
    )
}

/// The option that leaves the log of a root alone that stays read-only: without it even
/// `-o ro` replays. A root that is written to later cannot be mounted so.
fn without_replay(view: &View<'_>, replays: &[Evidence]) -> Option<String> {
    let stays = view.words().any(|w| w == "ro") && view.value("rootflags").is_none();
    let all = |driver: &str| replays.iter().all(|e| e.text.contains(driver));
    let option = match (all("XFS"), all("EXT")) {
        (true, _) => "norecovery",
        (_, true) => "noload",
        _ => return None,
    };
    stays.then(|| format!("cmdline+=rootflags={option}"))
}

/// Scripts and units that check on a file system that has a journal.
pub(super) fn unclean(view: &View<'_>) -> Option<Found> {
    let line = view
        .said("was not properly unmounted")
        .chain(view.said("mounting fs with errors, running e2fsck is recommended"))
        .chain(view.said("mounting unchecked fs, running e2fsck is recommended"))
        .next()?;
    let mounted = view.record.mark(mark::ROOT_MOUNTED);
    let evidence: Vec<Evidence> = std::iter::once(view.quote(&line))
        .chain(mounted.map(|m| view.evidence("the root is mounted".to_owned(), m.origin)))
        .collect();
    // The line names the driver; others have tools of their own.
    let is_ext = line.text.contains("EXT");
    let treatment = is_ext.then(|| "ext=clean".to_owned());
    Some(Found::new().evidence(evidence).maybe_treatment(treatment))
}

/// systemd's search for partitions, as the kernel cuts the name of its program
/// (`TASK_COMM_LEN`).
const SEARCH: &str = "systemd-gpt-aut";

/// It reads pages of the disk itself, and then what lies around them. What is longer before the
/// first page are its own program and libraries.
const PAGE: u64 = 4 << 10;

/// When the generators of systemd are started, and when all are done.
const GENERATORS: (&str, &str) = ("generators-start", "generators-finish");

/// Shorter searches are not worth a word.
const SHORT_SEARCH: Nanos = Nanos::from_millis(5);

/// systemd looks all over the root's disk for partitions to mount, and waits for it.
pub(super) fn partition_search(view: &View<'_>) -> Option<Found> {
    let end = view.phases.end();
    let is_its = |r: &Request| {
        let task = r.task.map(|t| view.record.name(t));
        r.operation == Operation::Read && task == Some(SEARCH)
    };
    let mut done: Vec<(Nanos, &Request)> = view
        .record
        .requests()
        .iter()
        .filter_map(|r| Some((r.completed.get().filter(|t| *t <= end)?, r)))
        .collect();
    done.sort_by_key(|(at, r)| (*at, r.sector));
    // What the device took for them: others' requests were under way at the same time.
    let mut last: BTreeMap<Device, Nanos> = BTreeMap::new();
    let mut time = Nanos::ZERO;
    let mut reads = Vec::new();
    for (at, r) in done {
        let before = last.insert(r.device, at).unwrap_or(Nanos::ZERO);
        let Some(first) = r.first().filter(|_| is_its(r)) else {
            continue;
        };
        let took = (at - first.max(before)).max(Nanos::ZERO);
        if r.bytes <= PAGE {
            reads.push((took, r));
        }
        if !reads.is_empty() {
            time = time + took;
        }
    }
    if time < SHORT_SEARCH {
        return None;
    }
    let at = |name: &str| view.record.mark(name).map(|m| m.at);
    let generators = at(GENERATORS.0).zip(at(GENERATORS.1));
    let all = generators.map(|(begun, done)| done - begun);
    let shown = reads.iter().take(super::evidence::SHOWN).map(|(took, r)| {
        let text = text::read(r.bytes, r.sector, took);
        view.evidence(text, r.origin)
    });
    Some(
        Found::new()
            .evidence(shown)
            // systemd waits for each of its generators. Another one may take as long; and this
            // one reads its libraries before, and computes between its reads.
            .saving(Nanos::ZERO, time, time.max(all.unwrap_or_default()))
            .scope(Scope::Serial)
            .treatment("cmdline+=systemd.gpt_auto=no"),
    )
}
