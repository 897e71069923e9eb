//! What a boot or a program would wait for a device, before anything is touched.
//!
//! The program needs pieces one after another, with its own work between them. It
//! goes on when a piece is there. Beside it a prefetcher may read the same pieces
//! in an order of its own; what the program itself asks for goes first, but does
//! not stop what the device has begun. The device is the one of the exact lab
//! ([`agent::storage::Device`]).

use super::own::served;
use super::page_cache::{Access, Cached, File, PAGE};
use crate::artifacts::Arch;
use crate::emulator::Pace;
use agent::config::{Model, Storage};
use agent::prefetch::{taken_along, window_of};
use agent::storage::{Device, Kind, Request};

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
}

/// Processor time that reading costs, on the one processor of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// For a request, in nanoseconds.
    pub request_ns: u64,
    /// For a page of it, in nanoseconds.
    pub page_ns: u64,
    /// For a page that the prefetcher asks for, besides.
    pub ahead_page_ns: u64,
    /// Whether the lab's server plays the device: it answers as much earlier as it needs.
    pub is_served: bool,
}

impl Costs {
    /// What it costs in the lab, at 1 GIPS, as it was measured: a boot that reads 32 MB
    /// in 815 requests takes 129 ms more when it is served without delay
    /// (`docs/lab.md`), 0.55 us of it for each KiB; the prefetcher took 90 ms for 22.2 MiB
    /// (`experiments/prefetch/RESULTS.md`).
    pub const LAB: Self = Self {
        request_ns: 137_000,
        page_ns: 2_200,
        ahead_page_ns: 15_800,
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
    /// A prefetcher reads them from the start on, within windows of need in the
    /// order in which they lie; neighbours are one request.
    Prefetch {
        /// The length of a window; 0: all is one.
        window_ns: u64,
        /// Holes in a file of up to so many bytes are read as well.
        infill_bytes: u64,
        /// So much metadata that is needed later comes along.
        along_bytes: u64,
        /// Whether the program starts when all is read.
        wait: bool,
    },
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

/// The most that Linux asks for in one request, as the lab sets it.
const MOST_REQUEST_BYTES: u64 = 512 << 10;

/// Simulates. `size` is that of the device, in bytes.
#[must_use]
pub fn simulate(
    needs: &[Need],
    files: &[File],
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
        device: Device::new(figures, size),
        costs,
        most: u64::from(storage.read_ahead_kb) * 1024 / PAGE,
        requests: 0,
        last: 0,
        served: Vec::new(),
    };
    let mut ahead = Ahead {
        groups: match way {
            Way::Demand => Vec::new(),
            Way::Prefetch {
                window_ns,
                infill_bytes,
                along_bytes,
                ..
            } => {
                let by_place = storage.model == Model::Disk;
                let along = (infill_bytes, along_bytes);
                groups(&needs, files, (window_ns, by_place), along)
            }
        },
        next: 0,
        flying: Vec::new(),
        depth: storage.queue_depth.get() as usize,
    };
    let mut now = 0;
    if matches!(way, Way::Prefetch { wait: true, .. }) {
        now = ahead.until(u64::MAX, &mut run);
    }
    let mut programs = programs(&needs);
    let mut done = vec![false; needs.len()];
    while let Some(number) = next(&programs, &done, now) {
        let Some(program) = programs.get_mut(number) else {
            break;
        };
        if program.ready_ns > now {
            // Nobody can work. Whoever waits for an answer waits for it to be made, too.
            ahead.until(program.ready_ns, &mut run);
            now = run.idle(now, program.ready_ns);
        }
        let Some((place, need)) = program.need(&needs) else {
            break;
        };
        if !program.has_worked {
            program.has_worked = true;
            let before = place.checked_sub(1).and_then(|n| needs.get(n));
            let length = need.at_ns - before.map_or(0, |n| n.at_ns);
            now = run.work(now, length, &mut ahead);
        }
        ahead.until(now, &mut run);
        while program.pages < need.pages && program.ready_ns <= now {
            let page = need.page.saturating_add(program.pages);
            program.ready_ns = run.demand(now, need.file, page, need.pages - program.pages);
            program.pages += 1;
        }
        if program.pages >= need.pages && program.ready_ns <= now {
            program.next += 1;
            program.pages = 0;
            program.has_worked = false;
            if let Some(done) = done.get_mut(place) {
                *done = true;
            }
        }
    }
    let worked = needs.last().map_or(0, |n| n.at_ns);
    Simulated {
        total_ns: now,
        stall_ns: now.saturating_sub(worked),
        requests: run.requests,
    }
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
    /// When it can go on.
    ready_ns: u64,
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

/// Who goes on: of those who can, the one whose turn it was when all was there at
/// once; else the one who can first. A program begins when what came before its first
/// need is done: somebody starts it.
fn next(programs: &[Program], done: &[bool], now: u64) -> Option<usize> {
    let began = |p: &Program| {
        let first = p.needs.first().and_then(|n| n.checked_sub(1));
        p.next > 0 || first.is_none_or(|n| done.get(n).copied().unwrap_or(true))
    };
    let open = programs
        .iter()
        .enumerate()
        .filter(|(_, p)| p.next < p.needs.len() && began(p));
    open.min_by_key(|(_, p)| (p.ready_ns.max(now), p.needs.get(p.next).copied()))
        .map(|(number, _)| number)
}

/// A boot under way.
struct Run<'a> {
    files: &'a [File],
    cached: Vec<Cached>,
    device: Device,
    costs: Costs,
    /// The most pages that are read ahead.
    most: u64,
    requests: u64,
    /// The last time at which the device got a request: it takes none of the past.
    last: u64,
    /// When requests end, and the processor time that goes into their answers.
    served: Vec<(u64, u64)>,
}

impl Run<'_> {
    /// The program works for so long; what is served meanwhile takes its time.
    fn work(&mut self, now: u64, length: u64, ahead: &mut Ahead) -> u64 {
        let mut until = now.saturating_add(length);
        loop {
            ahead.until(until, self);
            let more = self.serve(until);
            if more == 0 {
                break;
            }
            until = until.saturating_add(more);
        }
        until
    }

    /// The processor time of all answers until `until`.
    fn serve(&mut self, until: u64) -> u64 {
        let done = self.served.iter().filter(|s| s.0 <= until);
        let time = done.map(|s| s.1).sum();
        self.served.retain(|s| s.0 > until);
        time
    }

    /// Nobody works from `now` to `until`, but for what is served: when that is done.
    fn idle(&mut self, now: u64, until: u64) -> u64 {
        self.served.sort_unstable();
        let done = self.served.partition_point(|s| s.0 <= until);
        let served = self.served.drain(..done);
        let free = served.fold(now, |free, (end, cost)| free.max(end).saturating_add(cost));
        free.max(until)
    }

    /// A page is needed, the first of `left`; when it is there.
    fn demand(&mut self, now: u64, file: usize, page: u64, left: u64) -> u64 {
        let (Some(of), Some(cached)) = (self.files.get(file), self.cached.get_mut(file)) else {
            return now;
        };
        let asked = cached.asks(of, page, left, self.most);
        let mut pieces: Vec<(u64, u64, u64)> = Vec::new();
        for page in asked {
            let Some(place) = of.place(page).filter(|_| cached.ready(page).is_none()) else {
                continue;
            };
            match pieces.last_mut() {
                Some((first, start, bytes))
                    if *start + *bytes == place
                        && *first + *bytes / PAGE == page
                        && *bytes + PAGE <= MOST_REQUEST_BYTES =>
                {
                    *bytes += PAGE;
                }
                _ => pieces.push((page, place, PAGE)),
            }
        }
        for (first, place, bytes) in pieces {
            let end = self.submit(now, place, bytes);
            if let Some(cached) = self.cached.get_mut(file) {
                (first..first + bytes / PAGE).for_each(|page| cached.put(page, end));
            }
        }
        let there = self.cached.get(file).and_then(|c| c.ready(page));
        there.unwrap_or(now).max(now)
    }

    fn submit(&mut self, at: u64, place: u64, bytes: u64) -> u64 {
        self.last = self.last.max(at);
        self.requests += 1;
        let request = read(place, bytes);
        let end = self.device.submit(self.last, request);
        let end = self.device.answered(end, request).max(self.last);
        let cost = self.costs.of(bytes);
        if cost > 0 {
            self.served.push((end, cost));
        }
        end
    }
}

const fn read(at: u64, bytes: u64) -> Request {
    Request {
        kind: Kind::Read,
        at,
        bytes,
    }
}

/// A request that reads these pages of files.
struct Group {
    place: u64,
    bytes: u64,
    /// Its window, and whether it is content; its turn in that: the first need, or the
    /// place.
    turn: ((u64, bool), u64),
    pages: Vec<(usize, u64)>,
}

impl Group {
    /// Whether a page at `place` is one request with it.
    fn joins(&self, place: u64, infill_bytes: u64) -> bool {
        let end = self.place.saturating_add(self.bytes);
        (self.place..=end.saturating_add(infill_bytes)).contains(&place)
            && place.saturating_sub(self.place) + PAGE <= MOST_REQUEST_BYTES
    }
}

/// The prefetcher's requests in order: of each window the metadata, then the content as it
/// is needed, or `by_place`.
fn groups(
    needs: &[Need],
    files: &[File],
    (window_ns, by_place): (u64, bool),
    (infill_bytes, along_bytes): (u64, u64),
) -> Vec<Group> {
    let mut order: Vec<Page> = Vec::new();
    for need in needs {
        let Some(file) = files.get(need.file) else {
            continue;
        };
        let is_content = file.access != Access::Device;
        let window = (window_of(need.at_ns / 1000, window_ns / 1000), is_content);
        for page in need.page..need.page.saturating_add(need.pages) {
            order.extend(file.place(page).map(|p| {
                let turn = match is_content && !by_place {
                    true => need.at_ns,
                    false => p,
                };
                (window, p, need.file, page, turn)
            }));
        }
    }
    along(&mut order, along_bytes);
    order.sort_unstable();
    let mut groups: Vec<Group> = Vec::new();
    let mut last = None;
    for (window, place, file, page, turn) in order {
        let is_same = last.replace((window, file)) == Some((window, file));
        match groups.last_mut() {
            Some(group) if group.joins(place, if is_same { infill_bytes } else { 0 }) => {
                let end = place.saturating_add(PAGE);
                group.bytes = group.bytes.max(end.saturating_sub(group.place));
                group.pages.push((file, page));
                group.turn = group.turn.min((window, turn));
            }
            _ => groups.push(Group {
                place,
                bytes: PAGE,
                turn: (window, turn),
                pages: vec![(file, page)],
            }),
        }
    }
    groups.sort_by_key(|g| g.turn);
    groups
}

/// A page to read: its window, and whether it is content; place, file, number and turn.
type Page = ((u64, bool), u64, usize, u64, u64);

/// Moves metadata to earlier windows, as the prefetcher does.
fn along(order: &mut [Page], most_bytes: u64) {
    order.sort_unstable_by_key(|((_, is_content), place, ..)| (*is_content, *place));
    let end = order.partition_point(|((_, is_content), ..)| !is_content);
    let metadata = order.get_mut(..end).unwrap_or_default();
    let places: Vec<_> = metadata
        .iter()
        .map(|((w, _), p, ..)| (*w, *p, PAGE))
        .collect();
    for (page, window) in metadata.iter_mut().zip(taken_along(&places, most_bytes)) {
        page.0.0 = window;
    }
}

struct Ahead {
    groups: Vec<Group>,
    next: usize,
    /// When its requests in the device end.
    flying: Vec<u64>,
    depth: usize,
}

impl Ahead {
    /// Goes on until `until`; gives when the last request ends.
    fn until(&mut self, until: u64, run: &mut Run<'_>) -> u64 {
        while let Some(group) = self.groups.get(self.next) {
            let mut at = run.last;
            if self.flying.len() >= self.depth {
                self.flying.sort_unstable();
                at = at.max(self.flying.first().copied().unwrap_or(0));
            }
            if at > until {
                break;
            }
            self.flying.retain(|end| *end > at);
            self.next += 1;
            let missing = |(file, page): &(usize, u64)| {
                run.cached
                    .get(*file)
                    .is_some_and(|c| c.ready(*page).is_none())
            };
            if !group.pages.iter().any(missing) {
                continue;
            }
            let end = run.submit(at, group.place, group.bytes);
            let cost = group.bytes / PAGE * run.costs.ahead_page_ns;
            if cost > 0 {
                run.served.push((at, cost));
            }
            self.flying.push(end);
            for (file, page) in &group.pages {
                if let Some(cached) = run.cached.get_mut(*file) {
                    cached.put(*page, end);
                }
            }
        }
        self.flying.iter().copied().max().unwrap_or(run.last)
    }
}

#[cfg(test)]
mod tests {
    use super::super::page_cache::{Access, File, PAGE};
    use super::{Costs, Need, Simulated, Way};
    use agent::config::{Model, Storage};

    /// 1 ms a command, 1 byte a ns, one after another.
    fn card() -> Storage {
        Storage {
            model: Model::Flash,
            command_ns: 1_000_000,
            read_bytes_per_s: 1_000_000_000,
            read_ahead_kb: 128,
            ..Storage::default()
        }
    }

    fn need(at_ns: u64, place: u64) -> Need {
        Need {
            at_ns,
            file: 0,
            page: place / PAGE,
            pages: 1,
            program: 0,
        }
    }

    /// Of one file that is the whole device.
    fn simulate(needs: &[Need], storage: &Storage, size: u64, way: Way) -> Simulated {
        let files = [File {
            access: Access::Device,
            bytes: 64 << 20,
            extents: vec![(0, 0, 64 << 20)],
            tables: Vec::new(),
            looked_at: Vec::new(),
        }];
        super::simulate(needs, &files, (storage, size), Costs::default(), way)
    }

    const AHEAD: Way = Way::Prefetch {
        window_ns: 0,
        infill_bytes: 0,
        along_bytes: 0,
        wait: false,
    };

    #[test]
    fn demand_waits_for_each() {
        let needs = [need(0, 0), need(500, 1 << 20), need(9_000, 2 << 20)];
        let done = simulate(&needs, &card(), 1 << 30, Way::Demand);
        assert_eq!((done.requests, done.stall_ns), (3, 3 * 1_004_096));
        assert_eq!(done.total_ns, done.stall_ns + 9_000);
    }

    #[test]
    fn neighbours_are_one_request_when_read_ahead() {
        let needs: Vec<_> = (0..4).map(|n| need(n * 10, n * 4096)).collect();
        let done = simulate(&needs, &card(), 1 << 30, AHEAD);
        assert_eq!((done.requests, done.stall_ns), (1, 1_016_384));
    }

    #[test]
    fn what_is_needed_late_is_there_by_then() {
        let needs = [
            need(0, 0),
            need(50_000_000, 1 << 20),
            need(60_000_000, 1 << 21),
        ];
        let done = simulate(&needs, &card(), 1 << 30, AHEAD);
        assert_eq!((done.requests, done.stall_ns), (3, 1_004_096));
    }

    #[test]
    fn one_works_while_another_waits() {
        let of = |program, at_ns, place| Need {
            program,
            ..need(at_ns, place)
        };
        // The first waits 1 ms for its piece; the second is there from 500 ns on, and
        // has work of 2 ms of its own before its next piece.
        let needs = [
            of(0, 0, 0),
            of(0, 500, 0),
            of(1, 600, 4096 * 9),
            of(0, 700, 1 << 20),
        ];
        let alone: Vec<_> = needs.iter().map(|n| Need { program: 0, ..*n }).collect();
        let together = simulate(&needs, &card(), 1 << 30, Way::Demand);
        let one = simulate(&alone, &card(), 1 << 30, Way::Demand);
        assert_eq!((one.requests, one.stall_ns), (3, 3 * 1_004_096));
        // The last two pieces are asked for at once; the device takes one after another.
        assert_eq!(together.requests, 3);
        assert_eq!(together.stall_ns, 3 * 1_004_096 - 100);
    }

    #[test]
    fn without_delay_nothing_waits() {
        let needs = [need(0, 0), need(5, 1 << 20)];
        for way in [Way::Demand, AHEAD] {
            let done = simulate(&needs, &Storage::default(), 1 << 30, way);
            assert_eq!((done.stall_ns, done.total_ns), (0, 5));
        }
    }

    #[test]
    fn nothing_is_faster_than_the_bytes_and_the_work() {
        // Any needs will do: a generator of D. H. Lehmer's kind makes them.
        let mut state = 1u64;
        let mut next = |most: u64| {
            state = state * 48_271 % 0x7fff_ffff;
            state % most
        };
        for round in 0..200u64 {
            let count = 1 + next(60);
            let needs: Vec<_> = (0..count)
                .map(|_| need(next(50_000_000), next(1000) * 4096))
                .collect();
            let work = needs.iter().map(|n| n.at_ns).max().unwrap();
            let ahead = Way::Prefetch {
                window_ns: (round % 3) * 7_000_000,
                infill_bytes: (round % 4) * 8192,
                along_bytes: (round % 3) * 65_536,
                wait: round % 2 == 0,
            };
            for way in [Way::Demand, ahead] {
                let done = simulate(&needs, &card(), 1 << 30, way);
                assert_eq!(done.total_ns, done.stall_ns + work);
                assert!((1..=count).contains(&done.requests), "{way:?} {done:?}");
                assert!(done.total_ns >= 1_004_096, "{way:?} {done:?}");
            }
        }
    }
}
