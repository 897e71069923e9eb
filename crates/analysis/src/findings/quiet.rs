//! Times in which no program says anything, although the boot is not done yet: in an
//! initramfs, or before the next unit starts.

use super::found::Found;
use super::subject::subject;
use super::text::hardware as text;
use super::view::{Line, View};
use crate::spans;
use memchr::memmem;
use record::{Nanos, Phase, SpanKind};
use std::sync::LazyLock;

/// A shorter silence of programs is usual.
const LEAST: Nanos = Nanos(5_000_000_000);

/// Nor is a shorter part of the boot worth a look, in percent.
const LEAST_PERCENT: i64 = 5;

/// So much of a silence may be a unit's start, which other rules tell of, in percent.
const EXPLAINED: i64 = 50;

/// How many are told.
const MOST: usize = 2;

/// What its cause brings when it is gone.
const PARTS: (i64, i64, i64) = (30, 75, 100);

/// How the program that sets up the root says in a log what it is.
const IN_INITRD: [&str; 4] = ["dracut", "stage-1-init", "mkinitcpio", "initramfs"];

/// The longest silences of a log that has the lines of programs, while systemd or an
/// initramfs was still at work.
pub(super) fn silences(view: &View<'_>) -> Vec<Found> {
    let rows = &view.phases.phases;
    let first = rows.iter().find(|p| p.name >= Phase::Kernel);
    // An excerpt of programs' lines alone has no phase.
    let earliest = || view.record.messages().iter().filter_map(|m| m.at).min();
    let begin = match first {
        Some(row) => Some(row.start),
        None if rows.is_empty() => earliest(),
        None => None,
    };
    let Some(begin) = begin else {
        return Vec::new();
    };
    // Idle programs are silent, too: what counts is the time before systemd is done. Those of
    // an initramfs are never idle.
    let first_light = view.phases.first_light.as_ref().map(|f| f.at);
    let end = first_light.unwrap_or(view.phases.end());
    let counts = |l: &Line<'_>| match first_light {
        Some(_) => is_programs(l.text),
        None => is_initrds(l.text) || is_of_boot(l.text),
    };
    let least = LEAST.max(Nanos(view.total.0 / 100 * LEAST_PERCENT));
    let mut found: Vec<(Nanos, Line<'_>, Line<'_>)> = Vec::new();
    for at in 0..view.record.messages().len() {
        let Some(line) = view.line(at) else { break };
        let Some(from) = line.message.at.filter(|t| begin <= *t && *t < end) else {
            continue;
        };
        let next = view.after(&line).find(|l| l.message.at.is_some());
        let Some((next, to)) = next.and_then(|n| Some((n, n.message.at?.min(end)))) else {
            continue;
        };
        // Who gave up did not idle. Where the boot may be over that holds for those that only
        // wait for it.
        let gives_up = program(next.text).is_some_and(|p| rows.is_empty() || WAITERS.contains(&p))
            && GIVES_UP.iter().any(|g| next.text.contains(g))
            && !OF_DEVICE.iter().any(|d| next.text.contains(d));
        if to - from < least || !(counts(&line) || counts(&next) || gives_up) {
            continue;
        }
        if !is_explained(view, from, to) {
            found.push((to - from, line, next));
        }
    }
    found.sort_by_key(|(gap, line, _)| (std::cmp::Reverse(*gap), line.at));
    // What waits for one thing after another says the same after each.
    let mut kinds: Vec<(Nanos, usize, Line<'_>, Line<'_>)> = Vec::new();
    for (gap, line, next) in found {
        match kinds.iter_mut().find(|k| k.3.text == next.text) {
            Some((all, times, ..)) => (*all, *times) = (*all + gap, times.saturating_add(1)),
            None => kinds.push((gap, 1, line, next)),
        }
    }
    kinds.sort_by_key(|(all, _, line, _)| (std::cmp::Reverse(*all), line.at));
    let found = kinds
        .into_iter()
        .take(MOST)
        .map(|(gap, times, line, next)| {
            let (low, expected, high) = PARTS;
            let after = view.quote(&next);
            let in_initrd = [line.text, next.text].into_iter().any(is_initrds);
            let title = match times {
                1 => text::programs_silence(gap, &after.text),
                _ => text::programs_silences(times, gap, &after.text),
            };
            Found::new()
                .title(title)
                .evidence([view.quote(&line), after])
                .parts(gap, low, expected, high)
                .up_to(gap + view.beside(&line, &next))
                .names(program(next.text))
                .names(subject(next.text))
                .names(program(line.text))
                .names(in_initrd.then_some("initrd"))
        });
    found.collect()
}

/// Programs that run at boot alone.
const OF_BOOT: [&str; 1] = ["cloud-init"];

/// Those that bring Android up, as `logcat` names them.
const OF_ANDROID: [&str; 22] = [
    "PackageManager",
    "SystemServer",
    "SystemServerTiming",
    "Zygote",
    "apexd",
    "apexd-bootstrap",
    "bootstat",
    "credstore",
    "fs_mgr",
    "gatekeeperd",
    "hwservicemanager",
    "installd",
    "keystore",
    "keystore2",
    "netd",
    "odsign",
    "servicemanager",
    "ueventd",
    "update_engine",
    "update_verifier",
    "vndservicemanager",
    "vold",
];

/// The tag of one of them: `logcat` fills short ones up with blanks.
fn of_android(head: &str) -> Option<&str> {
    let tag = head.trim_end();
    OF_ANDROID.contains(&tag).then_some(tag)
}

/// Whether such a program wrote a line.
fn is_of_boot(text: &str) -> bool {
    program(text).is_some_and(|p| OF_BOOT.contains(&p) || OF_ANDROID.contains(&p))
}

/// What stands behind the number of a program, and behind its name: every line is asked.
static NUMBERED: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("]:"));
static NAMED: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(": "));

/// The program of a line: `name[7]: words`, or `name: words` of one that sets up the root.
fn program(text: &str) -> Option<&str> {
    // A page may have lost the blank.
    let numbered = NUMBERED.find(text.as_bytes()).map(|at| text.get(..=at));
    let head = match numbered.flatten() {
        Some(head) if head.contains('[') => head,
        _ => text.get(..NAMED.find(text.as_bytes())?)?,
    };
    if let Some(tag) = of_android(head) {
        return Some(tag);
    }
    let (name, has_number) = match head.strip_suffix(']').and_then(|h| h.split_once('[')) {
        Some((name, number)) => (name, number.bytes().all(|b| b.is_ascii_digit())),
        None => (head, false),
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '@');
    let is_program = has_number || IN_INITRD.iter().any(|i| name.starts_with(i));
    (is_program && !name.is_empty() && name.chars().all(is_name)).then_some(name)
}

/// Programs that only wait for something in a boot.
const WAITERS: [&str; 4] = [
    "nm-online",
    "systemd-cryptsetup",
    "systemd-networkd-wait-online",
    "udevadm",
];

/// What a program says that has waited for something in vain.
const GIVES_UP: [&str; 4] = ["timed out", "Timed out", "imeout", "giving up"];

/// systemd says so of a device, of which another rule tells.
const OF_DEVICE: [&str; 2] = [super::units::JOB_TIMED_OUT, super::units::NEVER_CAME];

/// Whether a program wrote a line.
pub(super) fn is_programs(text: &str) -> bool {
    program(text).is_some()
}

/// Whether a program that sets up the root wrote a line.
fn is_initrds(text: &str) -> bool {
    program(text).is_some_and(|p| IN_INITRD.iter().any(|i| p.starts_with(i)))
}

/// Whether units were starting for most of a stretch.
pub(super) fn is_explained(view: &View<'_>, from: Nanos, to: Nanos) -> bool {
    let mut inside: Vec<(Nanos, Nanos)> = spans::distinct(view.record)
        .iter()
        .filter(|s| s.kind == SpanKind::Unit)
        .filter_map(|s| Some((s.start?.max(from), s.end?.min(to))))
        .filter(|(start, end)| start < end)
        .collect();
    inside.sort_unstable();
    let mut all = Nanos::ZERO;
    let mut until = from;
    for (start, end) in inside {
        if end > until {
            all = all + (end - start.max(until));
            until = end;
        }
    }
    all >= Nanos((to - from).0 / 100 * EXPLAINED)
}
