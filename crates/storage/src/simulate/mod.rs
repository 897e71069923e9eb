//! What a boot or a program would wait for a device, before anything is touched.
//!
//! The program needs pieces one after another, with its own work between them. It
//! goes on when a piece is there. Beside it a prefetcher may read the same pieces
//! in an order of its own; what the program itself asks for goes first, but does
//! not stop what the device has begun. The device is the one of the exact lab
//! ([`crate::Device`]). A boot mounts its root first, and its prefetcher starts
//! when that is done.

mod ahead;
mod plan;
mod queue;
mod run;

use crate::figures::Storage;
use crate::page_cache::{Cached, File, PAGE};
use crate::server::ServerCost;
use ahead::Ahead;
pub use plan::{Costs, Mount, MountStep, Need, Simulated, Way};
use queue::Queue;
use run::Run;

/// Simulates. `size` is that of the device, in bytes; `mount` is done first.
#[must_use]
pub fn simulate(
    needs: &[Need],
    (files, mount): (&[File], Option<&Mount>),
    (storage, size): (&Storage, u64),
    costs: Costs,
    way: Way,
) -> Simulated {
    let mut needs = needs.to_vec();
    needs.sort_by_key(|n| n.at_ns);
    let figures = match costs.is_served {
        true => storage.clone().served(ServerCost::X86_64, 0),
        false => storage.clone(),
    };
    let mut run = Run {
        files,
        cached: vec![Cached::default(); files.len()],
        queue: Queue::new(&figures, size, costs),
        in_lab: costs.is_served,
        is_busy: false,
        most: u64::from(storage.read_ahead_kb) * 1024 / PAGE,
    };
    let mut now = 0;
    let mut done = vec![false; needs.len()];
    let mut programs = programs(&needs);
    if let Some(mount) = mount {
        now = run.mount(mount, now);
        let before = needs.partition_point(|n| n.at_ns <= mount.until_ns);
        let none = &mut Ahead::none(0);
        now = boot(
            (&needs, before),
            &mut programs,
            &mut done,
            (now, none),
            &mut run,
        );
    }
    let mut ahead = match way {
        Way::Demand => Ahead::none(now),
        Way::Prefetch {
            window_ns,
            infill_bytes,
        } => Ahead::new(now, &needs, &run, storage, (window_ns, infill_bytes)),
    };
    ahead.begin(&mut run);
    ahead.until_begun(&mut run);
    let begun = ahead.begun.unwrap_or(now);
    now = run.queue.idle(now, begun);
    now = boot(
        (&needs, needs.len()),
        &mut programs,
        &mut done,
        (now, &mut ahead),
        &mut run,
    );
    let worked = needs.last().map_or(0, |n| n.at_ns);
    Simulated {
        total_ns: now,
        stall_ns: now.saturating_sub(worked),
        requests: run.queue.requests(),
    }
}

/// Programs work and wait until the first `count` needs are met; gives when.
fn boot(
    (needs, count): (&[Need], usize),
    programs: &mut [Program],
    done: &mut [bool],
    (mut now, ahead): (u64, &mut Ahead),
    run: &mut Run<'_>,
) -> u64 {
    while let Some((number, ready)) = next(programs, done, now, (count, &run.queue)) {
        let Some(ready) = ready else {
            // All wait for what is not at the device yet.
            let Some(next) = run.queue.next_end() else {
                break;
            };
            ahead.until(next, run);
            run.queue.advance(next);
            now = run.queue.idle(now, next);
            continue;
        };
        if ready > now {
            ahead.until(ready, run);
            run.queue.advance(ready);
            now = run.queue.idle(now, ready);
        }
        let Some(program) = programs.get_mut(number) else {
            break;
        };
        let Some((place, need)) = program.need(needs) else {
            break;
        };
        if !program.has_worked {
            program.has_worked = true;
            let before = place.checked_sub(1).and_then(|n| needs.get(n));
            let length = need.at_ns - before.map_or(0, |n| n.at_ns);
            now = work(run, now, length, ahead);
        }
        ahead.until(now, run);
        program.waits = None;
        while program.pages < need.pages && program.waits.is_none() {
            let page = need.page.saturating_add(program.pages);
            let left = need.pages - program.pages;
            program.waits = run.demand(now, need.file, page, left);
            program.pages += 1;
        }
        if program.pages >= need.pages && program.waits.is_none() {
            program.next += 1;
            program.pages = 0;
            program.has_worked = false;
            if let Some(done) = done.get_mut(place) {
                *done = true;
            }
        }
    }
    now
}

/// The program works for so long; what is served meanwhile takes its time.
fn work(run: &mut Run<'_>, now: u64, length: u64, ahead: &mut Ahead) -> u64 {
    let mut until = now.saturating_add(length);
    run.is_busy = true;
    loop {
        ahead.until(until, run);
        run.queue.advance(until);
        let more = run.queue.lost(until);
        if more == 0 {
            break;
        }
        until = until.saturating_add(more);
    }
    run.is_busy = false;
    until
}

/// A program under way.
#[derive(Default)]
struct Program {
    /// Its needs, by their places in the order of all.
    needs: Vec<usize>,
    /// The need that it is at.
    next: usize,
    /// How many pages of that were asked for.
    pages: u64,
    /// Whether the work before it is done.
    has_worked: bool,
    /// The request that it waits for.
    waits: Option<u64>,
}

impl Program {
    fn need(&self, needs: &[Need]) -> Option<(usize, Need)> {
        let place = *self.needs.get(self.next)?;
        Some((place, *needs.get(place)?))
    }
}

fn programs(needs: &[Need]) -> Vec<Program> {
    let mut numbers: Vec<u32> = Vec::new();
    let mut all: Vec<Program> = Vec::new();
    for (place, need) in needs.iter().enumerate() {
        let known = numbers.iter().position(|n| *n == need.program);
        let at = known.unwrap_or_else(|| {
            numbers.push(need.program);
            all.push(Program::default());
            all.len() - 1
        });
        if let Some(program) = all.get_mut(at) {
            program.needs.push(place);
        }
    }
    all
}

/// Who goes on of those with needs among the first `count`, and when, if that is known: of
/// those who can, the one whose turn it was when all was there at once; else the one who can
/// first. A program begins when what came before its first need is done: somebody starts it.
fn next(
    programs: &[Program],
    done: &[bool],
    now: u64,
    (count, queue): (usize, &Queue),
) -> Option<(usize, Option<u64>)> {
    let began = |p: &Program| {
        let first = p.needs.first().and_then(|n| n.checked_sub(1));
        p.next > 0 || first.is_none_or(|n| done.get(n).copied().unwrap_or(true))
    };
    let is_open = |p: &Program| p.needs.get(p.next).is_some_and(|n| *n < count);
    let open = programs.iter().enumerate();
    let open = open.filter(|(_, p)| is_open(p) && began(p));
    let ready = |p: &Program| match p.waits {
        None => Some(now),
        Some(number) => queue.end(number).map(|end| end.max(now)),
    };
    let first = open.min_by_key(|(_, p)| {
        let turn = p.needs.get(p.next).copied();
        (ready(p).unwrap_or(u64::MAX), turn)
    });
    first.map(|(number, p)| (number, ready(p)))
}

#[cfg(test)]
mod tests;
