//! Jobs that systemd waits for until they time out, as the times of a chain show them.

use super::{Link, links, tail};
use crate::findings::evidence::Evidence;
use crate::findings::found::Found;
use crate::findings::text::waits as text;
use crate::findings::view::View;
use record::Nanos;

/// `DefaultTimeoutStartSec=`: how long systemd waits for a device, and how much later it
/// goes on: at once, or after it has read its units, which takes seconds from a slow disk.
pub(super) const TIMEOUT: Nanos = Nanos(90_000_000_000);
const LATE: Nanos = Nanos(500_000_000);
const VERY_LATE: Nanos = Nanos(2_500_000_000);

/// What an initrd does besides takes no longer.
pub(super) const OF_INITRD: Nanos = Nanos(5_000_000_000);

/// A wait that fills so much of the timeout is hardly anything else.
pub(super) const MOST_OF_IT: Nanos = Nanos(80_000_000_000);

/// A shorter wait in a chain is no timeout, even if it ends at the right moment.
const LEAST: Nanos = Nanos(20_000_000_000);

/// Of the waits; other units start in the meantime that would start later without them.
pub(super) const PARTS: (i64, i64, i64) = (60, 92, 100);

/// What waits for devices: targets, and what is mounted or swapped to.
fn waits_for_devices(unit: &str) -> bool {
    let kind = unit.rsplit_once('.').map(|(_, kind)| kind);
    matches!(kind, Some("target" | "mount" | "swap" | "device"))
}

/// Whether `at` is a timeout behind `begun`, and at most so much more.
fn fits(begun: Nanos, at: Nanos, late: Nanos) -> bool {
    let past = at - begun - TIMEOUT;
    Nanos::ZERO <= past && past <= late
}

/// Whether the first unit of a chain begins when a job that began with systemd times out.
pub(super) fn is_before(view: &View<'_>, first: &Link) -> bool {
    waits_for_devices(&first.unit) && fits(tail::userspace(view), first.start, VERY_LATE)
}

/// How much of a phase systemd waited in vain for a device, if it is that long and little more:
/// an initrd that does nothing else takes a few seconds.
pub(super) fn of_initrd(time: Nanos) -> Option<Nanos> {
    fits(Nanos::ZERO, time, OF_INITRD).then_some(TIMEOUT)
}

/// How long a userspace of which nothing else is known waits in vain, in words what for, and
/// names of that: a device; the network of systemd-networkd (`--timeout=` of its program for the
/// wait); the network of scripts (`TimeoutStartSec=5min` of networking.service).
const OF_USERSPACE: [(Nanos, &str, &[&str]); 3] = [
    (
        TIMEOUT,
        text::USERSPACE_TIMED_OUT,
        &["/etc/fstab", "swap", "TPM"],
    ),
    (
        Nanos(120_000_000_000),
        text::USERSPACE_WITHOUT_NETWORK,
        &[
            "systemd-networkd-wait-online.service",
            "network-online.target",
        ],
    ),
    (
        Nanos(300_000_000_000),
        text::USERSPACE_WITH_SCRIPTS,
        &["networking.service", "network.service"],
    ),
];

/// What a userspace does besides takes no longer.
pub(super) const BESIDE: Nanos = Nanos(15_000_000_000);

/// The wait that fills most of a userspace of this length, if it is one of those.
pub(super) fn of_userspace(
    time: Nanos,
) -> Option<&'static (Nanos, &'static str, &'static [&'static str])> {
    let mut known = OF_USERSPACE.iter();
    known.find(|(wait, ..)| (Nanos::ZERO..=BESIDE).contains(&(time - *wait)))
}

/// Whether a unit of the chain begins when a job that began with the first unit times out.
pub(super) fn is_one(view: &View<'_>, links: &[Link], later: &Link) -> bool {
    job(view, links, later).is_some()
}

/// How long the job ran that timed out as a unit of the chain began.
fn job(view: &View<'_>, links: &[Link], later: &Link) -> Option<Nanos> {
    let mut pairs = links.iter().zip(links.iter().skip(1));
    let waited = pairs
        .find(|(l, _)| l.unit == later.unit)
        .map(|(l, e)| l.start - e.end);
    let first = links.last()?;
    let begun = [Some(tail::userspace(view)), Some(first.start)];
    let is_most = waited.is_some_and(|wait| wait >= MOST_OF_IT);
    let late = match (waits_for_devices(&later.unit), is_most) {
        (true, true) => VERY_LATE,
        (true, false) if waited.is_some_and(|wait| wait >= LEAST) => LATE,
        // A service may stand behind a target that the chain does not show.
        (false, true) => LATE,
        _ => return None,
    };
    let mut begun = begun.into_iter().flatten();
    let begun = begun.find(|b| fits(*b, later.start, late))?;
    Some(later.start - begun)
}

/// Waits that last as long as systemd waits for a device that never comes.
pub(in crate::findings) fn timed_out(view: &View<'_>) -> Option<Found> {
    let (links, is_printed) = links(view);
    if !is_printed {
        return None;
    }
    let pairs = links.iter().zip(links.iter().skip(1));
    let mut waits = pairs.filter_map(|(l, e)| Some((l, e, job(view, &links, l)?)));
    // The unit before it may have ended while the job ran already.
    let (later, earlier, ran) = waits.next()?;
    let wait = later.start - earlier.end;
    let mut all = wait;
    let mut more = String::new();
    // What timed out once is often tried again.
    if let Some((target, tail)) = tail::tail(view)
        && fits(later.start, target + tail, LATE)
    {
        all = all + tail;
        more = text::again(tail);
    }
    let (low, expected, high) = PARTS;
    Some(
        Found::new()
            .title(text::timeout(&later.unit, wait))
            .why(text::timeout_why(&earlier.unit, &later.unit) + &more)
            .evidence([later, earlier].map(|link| Evidence {
                text: text::took(&link.unit, link.end - link.start, link.start, link.end),
                place: link.place.clone(),
            }))
            .parts(all, low, expected, high)
            .up_to(all + (ran - wait).max(Nanos::ZERO))
            .names([later.unit.clone(), earlier.unit.clone()]),
    )
}
