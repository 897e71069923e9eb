//! What the application itself reads from storage when it starts.

use super::found::{Found, Scope};
use super::probes::count;
use super::requests::{Costs, MostRead, PREFETCHER_WORK, most_read};
use super::text::application as text;
use super::view::{View, transfer};
use crate::summary::{merged, union};
use record::{AccessKind, Nanos, Operation, Process, Request};
use std::collections::{BTreeMap, BTreeSet};

/// What a list is read ahead with was counted for so many bytes (`PREFETCHER_WORK`).
const PREFETCHED: u64 = 20 << 20;

/// Fewer reads than these are not worth a list.
const MANY_READS: usize = 8;

/// Processes that are no application: systemd's own, the login at a console, and what
/// carries messages. Names as the kernel has them, cut.
const PLUMBING: [&str; 10] = [
    "(systemd)",
    "(udev-worker)",
    "agetty",
    "dbus-broker",
    "dbus-broker-lau",
    "dbus-daemon",
    "getty",
    "login",
    "systemd",
    "udevd",
];

/// How the names of more of systemd's own begin.
const SYSTEMD: [&str; 2] = ["(sd-", "systemd-"];

/// The kernel keeps so many bytes of a name (`TASK_COMM_LEN` less its end).
const NAME_BYTES: usize = 15;

/// Whether a process of this name is no application.
fn is_plumbing(name: &str) -> bool {
    let kept = name.get(..NAME_BYTES).unwrap_or(name);
    PLUMBING.contains(&kept) || SYSTEMD.iter().any(|n| name.starts_with(n))
}

/// The process that is taken for the application: of those that are there at first light
/// and no threads of the kernel, the one that was started last and read from storage, by
/// itself or by those that it started. A shell that drew the first picture with a program
/// of its own is that shell.
fn application<'a>(view: &View<'a>, reads: &[&Request]) -> Option<(&'a Process, BTreeSet<u32>)> {
    let end = view.phases.end();
    let all = view.record.processes();
    let is_there = |p: &&Process| {
        let is_begun = p.start.is_some_and(|s| s <= end) && p.end.is_none_or(|e| e >= end);
        let name = view.record.name(p.name);
        is_begun && !p.kernel_thread && !is_plumbing(name)
    };
    let mut there: Vec<&Process> = all.iter().filter(is_there).collect();
    there.sort_by_key(|p| (p.start, p.pid));
    there.iter().rev().find_map(|p| {
        let family = family(view, p);
        let reads_itself = reads.iter().any(|r| is_of(r, p, &family));
        reads_itself.then_some((*p, family))
    })
}

/// A process and all that it and they started after it began.
fn family(view: &View<'_>, first: &Process) -> BTreeSet<u32> {
    let mut family = BTreeSet::from([first.pid]);
    let mut by_start: Vec<&Process> = view.record.processes().iter().collect();
    by_start.sort_by_key(|p| (p.start, p.pid));
    for p in by_start {
        let is_child = p.parent.is_some_and(|parent| family.contains(&parent));
        if is_child && p.start >= first.start {
            family.insert(p.pid);
        }
    }
    family
}

/// Whether one of the family asked, after the application began.
fn is_of(r: &Request, first: &Process, family: &BTreeSet<u32>) -> bool {
    let is_one = r.pid.is_some_and(|pid| family.contains(&pid));
    is_one && r.first() >= first.start
}

/// How long nothing of `busy`, which is merged, goes on between two instants.
fn rest(busy: &[(Nanos, Nanos)], from: Nanos, to: Nanos) -> Nanos {
    let inside = busy.iter().map(|(a, b)| ((*a).max(from), (*b).min(to)));
    let inside = inside.filter(|(a, b)| a < b);
    ((to - from) - inside.fold(Nanos::ZERO, |sum, (a, b)| sum + (b - a))).max(Nanos::ZERO)
}

/// The files that the family read most of, by name where the trace has one.
fn files(view: &View<'_>, first: &Process, family: &BTreeSet<u32>) -> (usize, Vec<String>) {
    let end = view.phases.end();
    let names = crate::io::Names::of(view.record);
    let mut bytes = BTreeMap::new();
    for a in view.record.accesses() {
        let is_one = a.pid.is_some_and(|pid| family.contains(&pid));
        let is_then = first.start.is_some_and(|s| a.at >= s) && a.at <= end;
        if is_one && is_then && a.kind == AccessKind::Fill {
            let sum: &mut u64 = bytes.entry(names.key(a)).or_default();
            *sum = sum.saturating_add(a.bytes);
        }
    }
    let mut most: Vec<(u64, String)> = bytes
        .into_iter()
        .map(|(key, n)| (n, names.name_of(key)))
        .collect();
    most.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let shown = most.iter().take(super::evidence::SHOWN);
    let shown = shown.map(|(n, name)| text::file(name, n)).collect();
    (most.len(), shown)
}

/// The application waits for storage at its start, and what it reads was known before.
pub(super) fn reads(view: &View<'_>) -> Option<Found> {
    let end = view.phases.end();
    let done = |r: &&Request| {
        let is_done = r.completed.get().is_some_and(|t| t <= end) && r.error == 0;
        is_done && r.operation == Operation::Read && r.bytes > 0
    };
    let all: Vec<&Request> = view.record.requests().iter().filter(done).collect();
    let (process, family) = application(view, &all)?;
    let began = process.start?;
    let own = || all.iter().filter(|r| is_of(r, process, &family));
    // What is read ahead holds nobody up until it is asked for: with the device of it,
    // that is another read of the same stretch.
    let waited = union(own().filter_map(|r| Some((r.first()?, r.completed.get()?))));
    let bytes = own().fold(0_u64, |sum, r| sum.saturating_add(r.bytes));
    let number = own().count();
    if number < MANY_READS {
        return None;
    }
    let first = own().min_by_key(|r| (r.first(), r.origin))?;
    let rate = match most_read(view) {
        Some(MostRead {
            costs: Costs { rate, .. },
            device,
            ..
        }) if device == first.device => rate,
        // Too few reads to tell a command from its bytes: both together.
        _ => {
            let ns = u128::try_from(waited.0).ok().filter(|ns| *ns > 0)?;
            u64::try_from(u128::from(bytes) * 1_000_000_000 / ns).ok()?
        }
    };
    let mounted = view.record.mark(record::mark::ROOT_MOUNTED).map(|m| m.at);
    let from = mounted.or_else(|| all.iter().filter_map(|r| r.first()).min())?;
    let busy = merged(
        view.record
            .requests()
            .iter()
            .filter(|r| r.device == first.device)
            .filter_map(|r| r.issued.get().zip(r.completed.get())),
    );
    let free = rest(&busy, from.min(began), began);
    let stream = transfer(bytes, rate);
    // The part of the bytes that does not fit into the rests before is still waited for.
    let left = (stream - free).max(Nanos::ZERO);
    let work = transfer(PREFETCHER_WORK, view.speed().rate);
    let work = i128::from(work.0) * i128::from(bytes) / i128::from(PREFETCHED);
    let work = Nanos(i64::try_from(work).unwrap_or(i64::MAX));
    let expected = waited - left - work;
    if expected <= Nanos::ZERO {
        return None;
    }
    let name = view.record.name(process.name);
    let (files, shown) = files(view, process, &family);
    let of_files = match files {
        0 => String::new(),
        n => text::of_files(count(n, "file", "files"), shown.join(", ")),
    };
    let why = text::waits_why(
        name,
        end - began,
        waited,
        count(number, "read", "reads"),
        bytes,
        of_files,
        free,
        stream,
    );
    let text = text::first_read(count(number, "read", "reads"));
    Some(
        Found::new()
            .title(text::waits(name, waited))
            .why(why)
            .evidence([
                view.evidence(text::started(name), process.origin),
                view.evidence(text, first.origin),
            ])
            .saving(Nanos(expected.0 / 4), expected, waited)
            .scope(Scope::Unknown)
            .at_speed(view.speed()),
    )
}
