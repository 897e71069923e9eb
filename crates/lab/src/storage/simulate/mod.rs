//! What a boot or a program would wait for a device, before anything is touched.
//!
//! The program needs pieces one after another, with its own work between them. It
//! goes on when a piece is there. Beside it a prefetcher may read the same pieces
//! in an order of its own; what the program itself asks for goes first, but does
//! not stop what the device has begun. The device is the one of the exact lab
//! ([`agent::storage::Device`]). A boot mounts its root first, and its prefetcher starts
//! when that is done.

mod ahead;
mod queue;

use super::own::served;
use super::page_cache::{Access, Cached, File, MOST_REQUEST_BYTES, PAGE};
use crate::artifacts::Arch;
use crate::emulator::Pace;
use agent::config::Storage;
use agent::storage::{Kind, Request};
use ahead::Ahead;
use image::mount::Step;
use queue::{Queue, read};

/// Pages of a file that are needed, one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// When, had everything before been there at once: nanoseconds.
    pub at_ns: u64,
    /// The place of the file among the files.
    pub file: usize,
    /// The first page.
    pub page: u64,
    /// How many pages.
    pub pages: u64,
    /// Who needs them: others work while it waits.
    pub program: u32,
    /// Whether a prefetcher knows of it.
    pub is_listed: bool,
}

/// Processor time that reading costs, on the one processor of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// For a request, in nanoseconds.
    pub request_ns: u64,
    /// For a page of it, in nanoseconds.
    pub page_ns: u64,
    /// Whether the lab's server plays the device: it answers as much earlier as it needs.
    pub is_served: bool,
}

impl Costs {
    /// What it costs in the lab, at 1 GIPS, as it was measured: a boot that reads 32 MB
    /// in 815 requests takes 129 ms more when it is served without delay
    /// (`docs/lab.md`), 0.55 us of it for each KiB.
    pub const LAB: Self = Self {
        request_ns: 137_000,
        page_ns: 2_200,
        is_served: true,
    };

    const fn of(self, bytes: u64) -> u64 {
        self.request_ns + bytes / PAGE * self.page_ns
    }
}

/// How pieces come into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// When they are needed.
    Demand,
    /// A prefetcher reads them, as [`agent::prefetch::play`] does; the program starts when
    /// its first reads are sent.
    Prefetch {
        /// The length of a window; 0: all is one.
        window_ns: u64,
        /// Holes in a file of up to so many bytes are read as well, and so much metadata
        /// that is needed later comes along.
        infill_bytes: u64,
    },
}

/// How a root is mounted, before anything else of a boot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mount {
    /// What the mount does.
    pub steps: Vec<Step>,
    /// What is needed up to this time, in nanoseconds, is needed before a prefetcher can
    /// start: the mount's own blocks, and those by which the root becomes `/`.
    pub until_ns: u64,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Simulated {
    /// When the last piece that is needed is there, in nanoseconds.
    pub total_ns: u64,
    /// How much of that is waiting.
    pub stall_ns: u64,
    /// Requests to the device.
    pub requests: u64,
}

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
        true => served(storage.clone(), Arch::X86_64, Pace::Counted(0)),
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
            now = run.work(now, length, ahead);
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

/// A boot under way.
struct Run<'a> {
    files: &'a [File],
    cached: Vec<Cached>,
    queue: Queue,
    /// Whether programs take the processor time of the lab.
    in_lab: bool,
    /// Whether a program works, and does not wait.
    is_busy: bool,
    /// The most pages that are read ahead.
    most: u64,
}

impl Run<'_> {
    /// The program works for so long; what is served meanwhile takes its time.
    fn work(&mut self, now: u64, length: u64, ahead: &mut Ahead) -> u64 {
        let mut until = now.saturating_add(length);
        self.is_busy = true;
        loop {
            ahead.until(until, self);
            self.queue.advance(until);
            let more = self.queue.lost(until);
            if more == 0 {
                break;
            }
            until = until.saturating_add(more);
        }
        self.is_busy = false;
        until
    }

    /// Mounts the root; gives when that is done.
    fn mount(&mut self, mount: &Mount, mut now: u64) -> u64 {
        let device = self.files.iter().position(|f| f.access == Access::Device);
        let mut ahead: Vec<(u64, u64)> = Vec::new();
        for step in &mount.steps {
            let (kind, at, bytes) = match *step {
                Step::Read(at, bytes) | Step::Ahead(at, bytes) => (Kind::Read, at, bytes),
                Step::Write(at, bytes) => (Kind::Write, at, bytes),
                Step::Flush => (Kind::Flush, 0, 0),
                Step::Wait(at) => {
                    let asked = ahead.iter().find(|a| a.0 == at);
                    let end = asked.and_then(|a| self.queue.end(a.1)).unwrap_or(now);
                    now = self.queue.idle(now, end);
                    continue;
                }
                Step::Work(_) | Step::Settle => continue,
            };
            let request = Request { kind, at, bytes };
            let (number, _) = self.queue.ask(now, request, false);
            if kind == Kind::Read
                && let Some(device) = device
            {
                let pages = at / PAGE..(at + bytes) / PAGE;
                let pages: Vec<_> = pages.map(|page| (device, page)).collect();
                self.put(&pages, number);
            }
            if let Step::Ahead(..) = step {
                ahead.push((at, number));
            } else {
                let end = self.queue.end(number).unwrap_or(now);
                self.queue.advance(end);
                now = self.queue.idle(now, end.max(now));
            }
        }
        now
    }

    /// A page is needed, the first of `left`; the request to wait for, if it is not there.
    fn demand(&mut self, now: u64, file: usize, page: u64, left: u64) -> Option<u64> {
        let (of, cached) = (self.files.get(file)?, self.cached.get_mut(file)?);
        let asked = cached.asks(of, page, left, self.most);
        // The block with an inode is locked when those beside it are read ahead, and so is a
        // request of its own (`__ext4_get_inode_loc`); the scheduler sends the first that
        // came, and then what lies behind it.
        let own = page..page + 1;
        let parts = match of.is_inode(page) {
            true if asked.start < page => vec![asked.start..page, own, page + 1..asked.end],
            true if !asked.is_empty() => vec![page + 1..asked.end, own],
            _ => vec![asked],
        };
        for (request, pages) in parts
            .into_iter()
            .flat_map(|p| self.missing(file, p.start, p.end))
            .collect::<Vec<_>>()
        {
            let (number, _) = self.queue.ask(now, request, false);
            self.put(&pages, number);
        }
        let number = self.number(file, page)?;
        let is_there = self.queue.end(number).is_some_and(|end| end <= now);
        (!is_there).then_some(number)
    }

    /// The requests for those pages of a file that nobody asked for yet, and their pages.
    fn missing(&self, file: usize, start: u64, end: u64) -> Vec<(Request, Vec<(usize, u64)>)> {
        let mut all: Vec<(Request, Vec<(usize, u64)>)> = Vec::new();
        let Some(of) = self.files.get(file) else {
            return all;
        };
        for page in start..end {
            let Some(place) = of.place(page).filter(|_| self.number(file, page).is_none()) else {
                continue;
            };
            match all.last_mut() {
                Some((last, pages))
                    if last.at + last.bytes == place
                        && pages.last() == Some(&(file, page.wrapping_sub(1)))
                        && last.bytes + PAGE <= MOST_REQUEST_BYTES =>
                {
                    last.bytes += PAGE;
                    pages.push((file, page));
                }
                _ => all.push((read(place, PAGE), vec![(file, page)])),
            }
        }
        all
    }

    /// Pages come with a request.
    fn put(&mut self, pages: &[(usize, u64)], number: u64) {
        for (file, page) in pages {
            if let Some(cached) = self.cached.get_mut(*file) {
                cached.put(*page, number);
            }
        }
    }

    /// The request that a page comes with, if it was asked for.
    fn number(&self, file: usize, page: u64) -> Option<u64> {
        self.cached.get(file)?.ready(page)
    }

    /// When pages that were asked for are there, if that is known.
    fn end_of(&self, file: usize, page: u64, pages: u64) -> Option<u64> {
        let places = (page..page + pages).filter(|p| {
            let of = self.files.get(file);
            of.is_some_and(|of| of.place(*p).is_some())
        });
        let mut ends = places.map(|page| self.queue.end(self.number(file, page)?));
        ends.try_fold(0, |last: u64, end| Some(last.max(end?)))
    }
}

#[cfg(test)]
mod tests;
