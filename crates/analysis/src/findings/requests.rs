//! How the kernel asks a block device: the size of what it reads ahead, and how long
//! its scheduler keeps what the device has time for.

use super::devices::{root_device, root_name, turns_not};
use super::found::{Found, Scope};
use super::text::requests as text;
use super::view::{View, times, transfer};
use crate::summary::{merged, union};
use record::{Device, Nanos, Operation, Request, TaskState};
use std::collections::BTreeMap;

/// A read of so many bytes or less shows what a command costs.
const SMALL: u64 = 16 << 10;

/// A read from here on shows how fast bytes come.
const LARGE: u64 = 64 << 10;

/// So many small and large reads are needed before either figure is told.
const ENOUGH: usize = 8;

/// A window of reading ahead that is so many times as large leaves one command where
/// there were so many.
const WIDER: u64 = 4;

/// The reads of a device that ended before first light, in the order of their issue.
fn reads<'a>(view: &'a View<'_>) -> BTreeMap<Device, Vec<&'a Request>> {
    let end = view.phases.end();
    let mut all: BTreeMap<Device, Vec<&Request>> = BTreeMap::new();
    for r in view.record.requests() {
        let is_done = r.completed.get().is_some_and(|t| t <= end);
        let is_done = is_done && r.error == 0;
        if r.operation == Operation::Read && is_done && r.issued.get().is_some() && r.bytes > 0 {
            all.entry(r.device).or_default().push(r);
        }
    }
    for of_device in all.values_mut() {
        of_device.sort_by_key(|r| (r.issued.get(), r.sector, r.origin));
    }
    all
}

/// What a device of this boot costs: a command, and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Costs {
    /// A command beside its bytes.
    pub command: Nanos,
    /// Bytes a second.
    pub rate: u64,
}

/// Of so many large reads one is taken for faster than the device is: by a cache of its
/// own, or by a clock that was read late.
const OUTLIERS: usize = 20;

/// What a device's own reads tell of its costs. The small one in the middle and a large
/// one that was among the fastest for its bytes differ by bytes alone: that is the rate,
/// and what is left of the small one is the command.
fn costs(reads: &[&Request]) -> Option<Costs> {
    let took = |r: &&Request| {
        let ns = u64::try_from(r.service()?.0).ok().filter(|ns| *ns > 0)?;
        Some((r.bytes, ns))
    };
    let pick = |wanted: &dyn Fn(u64) -> bool| {
        let picked = reads.iter().filter_map(took).filter(|(n, _)| wanted(*n));
        let mut picked: Vec<(u64, u64)> = picked.collect();
        picked.sort_by_key(|(n, ns)| (*ns, *n));
        (picked.len() >= ENOUGH).then_some(picked)
    };
    let small = pick(&|n| n <= SMALL)?;
    let (few, short) = small.get(small.len() / 2).copied()?;
    let large = pick(&|n| n >= LARGE)?;
    let per_byte = |(n, ns): &(u64, u64)| u128::from(*ns) * 1_000_000 / u128::from((*n).max(1));
    let mut large = large;
    large.sort_by_key(per_byte);
    let (many, long) = large.get((large.len() / OUTLIERS).max(1)).copied()?;
    let (more, longer) = (many.checked_sub(few)?, long.checked_sub(short)?);
    let rate = u128::from(more) * 1_000_000_000 / u128::from(longer.max(1));
    let rate = u64::try_from(rate).ok().filter(|r| *r > 0)?;
    let command = Nanos(i64::try_from(short).ok()?) - transfer(few, rate);
    (command > Nanos::ZERO).then_some(Costs { command, rate })
}

/// What was read of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MostRead {
    /// Which.
    pub device: Device,
    /// Whether the root's name maps to it.
    pub is_root: bool,
    /// What it costs.
    pub costs: Costs,
    /// How much, in bytes.
    pub bytes: u64,
    /// How long at least one read was with it.
    pub busy: Nanos,
}

impl MostRead {
    /// A sentence on what is thought of it; empty where that is known.
    pub fn place(&self) -> String {
        match self.is_root {
            true => String::new(),
            false => text::place(self.device),
        }
    }
}

fn read_of(device: Device, is_root: bool, reads: &[&Request]) -> Option<MostRead> {
    let served = reads
        .iter()
        .filter_map(|r| r.issued.get().zip(r.completed.get()));
    Some(MostRead {
        device,
        is_root,
        costs: costs(reads)?,
        bytes: bytes_of(reads),
        busy: union(served),
    })
}

fn bytes_of(reads: &[&Request]) -> u64 {
    reads
        .iter()
        .fold(0_u64, |sum, r| sum.saturating_add(r.bytes))
}

/// The device that was read most: what lies on another device is asked for on both.
pub(super) fn most_read(view: &View<'_>) -> Option<MostRead> {
    let all = reads(view);
    let (device, most) = all.iter().max_by_key(|(_, of)| bytes_of(of))?;
    read_of(*device, false, most)
}

/// The root's device, or the one that was read most where its name maps to none.
pub(super) fn root_read(view: &View<'_>) -> Option<MostRead> {
    match root_device(view).filter(|(_, is_mapped)| *is_mapped) {
        Some((device, _)) => read_of(device, true, reads(view).get(&device)?),
        None => most_read(view),
    }
}

/// How long the bytes that were read between two instants take of the root's device if they
/// come in one piece; `None`: no requests were recorded, or too few to know the device.
pub(super) fn streamed(view: &View<'_>, from: Nanos, to: Nanos) -> Option<Nanos> {
    let most = root_read(view)?;
    let all = reads(view);
    let is_within = |r: &&Request| r.issued.get().is_some_and(|t| from <= t && t <= to);
    let within = all.get(&most.device)?.iter().copied().filter(is_within);
    Some(transfer(
        bytes_of(&within.collect::<Vec<_>>()),
        most.costs.rate,
    ))
}

/// Fewer reads than these are not worth a list.
const MANY_READS: usize = 200;

/// Reads of so many bytes on average are no small pieces.
const PIECE: u64 = 128 << 10;

/// What a list is read ahead with in instructions: 90 ms for 20 MiB of 350 files at 1
/// GIPS in the exact lab (`experiments/prefetch/RESULTS.md`).
pub(super) const PREFETCHER_WORK: u64 = 90_000_000;

/// Of so many bytes that a boot reads, one is needed before the processor has anything
/// to do meanwhile: systemd and its libraries are 5 MB of 21 in that boot.
const NEEDED_FIRST: i64 = 4;

/// Where nothing tells what the processor did meanwhile: so much of the time in which a
/// device is busy is waited for, in hundredths. 1.46 s of 2.9 s of Debian's boot from an SD
/// card (`experiments/prefetch/RESULTS.md`).
pub(super) const WAITED: i64 = 50;

/// The part of the reads' time in which no process was on a processor; `None`: nobody
/// recorded which ran.
fn waited(view: &View<'_>, reads: &[&Request]) -> Option<Nanos> {
    let slices = view.record.slices().iter();
    let running = slices.filter(|s| s.state == TaskState::Running && s.pid != 0);
    let running = merged(running.map(|s| (s.start, s.end)));
    if running.is_empty() {
        return None;
    }
    let served = reads
        .iter()
        .filter_map(|r| r.issued.get().zip(r.completed.get()));
    let rests = idle(&merged(served), &running);
    Some(rests.iter().fold(Nanos::ZERO, |sum, t| sum + *t))
}

/// Reads that come one by one as they are needed, where a list could bring them in time.
pub(super) fn on_demand(view: &View<'_>) -> Option<Found> {
    let most = root_read(view)?;
    let all = reads(view);
    let of_device = all.get(&most.device)?;
    let (count, mean) = (
        of_device.len(),
        most.bytes / (of_device.len() as u64).max(1),
    );
    if count < MANY_READS || mean > PIECE {
        return None;
    }
    let first = of_device.first()?;
    let span = view.phases.end() - first.issued.get()?;
    // What goes on beside the reads, and what the bytes alone take.
    let work = span - most.busy;
    let stream = transfer(most.bytes, most.costs.rate);
    let prefetcher = transfer(PREFETCHER_WORK, view.speed().rate);
    let rest = Nanos(stream.0 / NEEDED_FIRST).max(stream - work);
    let seen = waited(view, of_device);
    let waited = seen.unwrap_or(Nanos(most.busy.0 / 100 * WAITED));
    let expected = waited - rest - prefetcher;
    // What is won at most is what was waited for, and as long as nothing tells that, the
    // time in which the device was busy.
    let high = seen.unwrap_or(most.busy) - (stream - work).max(Nanos::ZERO);
    let low = Nanos(expected.0 / if seen.is_some() { 2 } else { 4 });
    let share = match seen {
        Some(idle) => text::idle(idle),
        None => text::assumed(WAITED),
    };
    if expected <= Nanos::ZERO {
        return None;
    }
    let why = text::on_demand_why(
        most.place(),
        most.busy,
        count,
        mean,
        most.bytes,
        most.costs.command,
        share,
        stream,
    );
    let text = text::first_read(count);
    Some(
        Found::new()
            .why(why)
            .evidence([view.evidence(text, first.origin)])
            .saving(low, expected, high.max(expected))
            .at_speed(view.speed()),
    )
}

/// Streams that are cut into more commands than they need.
pub(super) fn read_ahead(view: &View<'_>) -> Vec<Found> {
    let all = reads(view);
    let found = all.iter().filter_map(|(device, reads)| {
        let costs = costs(reads)?;
        // What the kernel reads ahead at once: no read is larger.
        let window = reads.iter().map(|r| r.bytes).max()?;
        // Where whole windows ended, and when they were issued.
        let mut ends: BTreeMap<u64, Nanos> = BTreeMap::new();
        let (mut count, mut waited, mut first) = (0_u64, 0_u64, None);
        let mut rests_from = Nanos(i64::MIN);
        for r in reads {
            let issued = r.issued.get()?;
            // It goes on where a whole window ended. What was queued by the time that was
            // issued is the rest of one read, which the device's limit cut.
            let queued = r.queued.get().unwrap_or(issued);
            if ends.remove(&r.sector).is_some_and(|t| queued > t) {
                count += 1;
                first = first.or(Some(r.origin));
                // A device that rested longer than a command takes was ahead of who reads.
                waited += u64::from(issued.0 <= rests_from.0.saturating_add(costs.command.0));
            }
            let done = r.completed.get()?;
            rests_from = rests_from.max(done);
            if r.bytes == window {
                ends.insert(r.sector.saturating_add(r.bytes / 512), issued);
            }
        }
        let spared = |n: u64| times(n - n / WIDER, costs.command.0);
        let (expected, most) = (spared(waited), spared(count));
        let first = first.filter(|_| expected > Nanos::ZERO)?;
        let why = text::read_ahead_why(count, window, costs.command, waited, WIDER);
        let text = text::first_cut(count);
        let kib = WIDER * window / 1024;
        let wider = root_disk(view, *device).map(|disk| format!("read-ahead={disk}:{kib}"));
        Some(
            Found::new()
                .title(text::read_ahead(device))
                .why(why)
                .evidence([view.evidence(text, first)])
                .saving(Nanos::ZERO, expected, most)
                .scope(Scope::Unknown)
                .maybe_treatment(wider),
        )
    });
    found.collect()
}

/// The parts of `waits` in which nothing of `busy` goes on; both are [`merged`].
fn idle(waits: &[(Nanos, Nanos)], busy: &[(Nanos, Nanos)]) -> Vec<Nanos> {
    let mut all = Vec::new();
    for &(from, to) in waits {
        let mut at = from;
        let first = busy.partition_point(|(_, end)| *end <= from);
        for &(start, end) in busy.get(first..).unwrap_or_default() {
            if start >= to {
                break;
            }
            if start > at {
                all.push(start - at);
            }
            at = at.max(end);
        }
        if to > at {
            all.push(to - at);
        }
    }
    all
}

/// A rest that is no longer than this, or than so many usual ones, is handing on.
const JITTER: (Nanos, i64) = (Nanos::from_millis(1), 10);

/// The name of the disk that is `device`, if the root lies on it.
fn root_disk<'a>(view: &'a View<'_>, device: Device) -> Option<&'a str> {
    let (root, _) = root_device(view)?;
    let name = root_name(view).filter(|_| root == device)?;
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric());
    let digits = name.trim_end_matches(|c: char| c.is_ascii_digit());
    // `mmcblk0p2` and `nvme0n1p2` lie on what stands before the `p`, `sda2` on `sda`.
    let disk = match digits.strip_suffix('p') {
        Some(disk) if disk.ends_with(|c: char| c.is_ascii_digit()) => disk,
        _ if name.starts_with("mmcblk") || name.starts_with("nvme") => name,
        _ => digits,
    };
    is_plain.then_some(disk)
}

/// Requests that wait in the kernel while their device rests. Of a disk that turns
/// nothing is said: there the order of reads is worth waiting for.
pub(super) fn scheduler(view: &View<'_>) -> Vec<Found> {
    let all = reads(view);
    let all = all.iter().filter(|(device, _)| turns_not(view, **device));
    let found = all.filter_map(|(device, reads)| {
        let waits = merged(
            reads
                .iter()
                .filter_map(|r| r.queued.get().zip(r.issued.get())),
        );
        let of_device = view
            .record
            .requests()
            .iter()
            .filter(|r| r.device == *device);
        let busy = merged(of_device.filter_map(|r| r.issued.get().zip(r.completed.get())));
        let mut rests = idle(&waits, &busy);
        rests.sort_unstable();
        // Handing a request on takes time with any scheduler: the rest in the middle.
        let usual = rests.get(rests.len() / 2).copied()?;
        let jitter = JITTER.0.max(Nanos(usual.0.saturating_mul(JITTER.1)));
        let long = rests.iter().filter(|r| **r > jitter);
        let excess = long.map(|r| *r - usual);
        let kept = excess.fold(Nanos::ZERO, |sum, t| sum + t);
        let (from, to, longest) = reads
            .iter()
            .filter_map(|r| Some((r.queued.get()?, r.issued.get()?, r)))
            .max_by_key(|(from, to, r)| (*to - *from, std::cmp::Reverse(r.origin)))?;
        let why = text::scheduler_why(kept, jitter, usual);
        let text = text::longest(to - from);
        let scheduler = root_disk(view, *device).map(|disk| format!("io-scheduler={disk}:none"));
        (kept > Nanos::ZERO && rests.len() >= ENOUGH).then(|| {
            Found::new()
                .title(text::scheduler(device, kept))
                .why(why)
                .evidence([view.evidence(text, longest.origin)])
                .maybe_treatment(scheduler)
                // Nothing is expected: no experiment has shown such a time yet.
                .parts(kept, 0, 0, 100)
                .scope(Scope::Unknown)
        })
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::{idle, merged};
    use record::Nanos;

    #[test]
    fn what_is_left_of_waiting_is_what_nothing_goes_on_in() {
        let of = |all: &[(i64, i64)]| merged(all.iter().map(|(a, b)| (Nanos(*a), Nanos(*b))));
        assert_eq!(of(&[(5, 9), (1, 3), (2, 4), (9, 9), (7, 6)]).len(), 2);
        let left = |waits: &[(i64, i64)], busy: &[(i64, i64)]| {
            let idle = idle(&of(waits), &of(busy));
            idle.iter().map(|t| t.0).collect::<Vec<_>>()
        };
        assert_eq!(left(&[(0, 10)], &[(2, 4), (6, 7)]), [2, 2, 3]);
        assert_eq!(left(&[(0, 10)], &[(-5, 20)]), [0_i64; 0]);
        assert_eq!(left(&[(0, 10), (20, 30)], &[(5, 25)]), [5, 5]);
        assert_eq!(left(&[(0, 10)], &[]), [10]);
    }
}
