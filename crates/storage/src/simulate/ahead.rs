//! The prefetcher: what the agent's prefetcher decides, on a simulated clock.
//!
//! Windows, holes, what metadata is taken along, how long a read is and how much is in
//! flight are the prefetcher's own figures and functions. A file is opened when the
//! metadata of its window is there; the program that is started next is let go as soon as
//! the first reads are sent.

use super::plan::Need;
use super::queue::pages;
use super::run::Run;
use crate::device::Request;
use crate::figures::{Model, Storage};
use crate::page_cache::{Access, File, MOST_REQUEST_BYTES, PAGE};
use crate::prefetch::{
    AHEAD_BYTES, AHEAD_US, DEPTH, DISK_IN_FLIGHT_BYTES, IN_FLIGHT_BYTES, REQUEST_BYTES, infilled,
    taken_along, window_of,
};
use std::cell::Cell;
use std::collections::{BTreeMap, HashSet, VecDeque};

/// Processor time of the prefetcher, in nanoseconds at 1 GIPS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    /// Until it reads: it is started, and its list read and cut into windows.
    start: u64,
    /// For a file: it is opened.
    open: u64,
    /// For a file in which a hole may be read: where it lies.
    extents: u64,
    /// For a page of content: it is put into the ring, sent and waited for; with all else
    /// that the process takes.
    read: u64,
    /// For a page of metadata.
    metadata: u64,
}

impl Work {
    /// As `experiments/prefetch/RESULTS.md` has it of a boot on `emmc`, in order, 350 files
    /// of 5,150 pages and 540 pages of metadata: 6, 10.2, 13.2 for 203 files, 31.2 and 1.9 ms.
    pub(super) const LAB: Self = Self {
        start: 6_000_000,
        open: 29_100,
        extents: 65_000,
        read: 6_060,
        metadata: 3_500,
    };
}

/// What is needed in a part of the recorded time.
#[derive(Default)]
struct Window {
    start_us: u64,
    /// Metadata: files that are devices, page, pages.
    metadata: Vec<(usize, u64, u64)>,
    content: Vec<Need>,
}

/// A read of the prefetcher.
#[derive(Clone, Copy)]
struct Piece {
    file: usize,
    page: u64,
    pages: u64,
    /// Its turn in the window.
    turn: (u64, usize, u64),
}

/// What it does next.
enum Step {
    /// Asks for the metadata of a window.
    Metadata(Window),
    /// Opens the files of a window, when their metadata is there.
    Open(Window),
    Read(Piece, u64),
    /// Sends what is put in, and lets the boot go on.
    Send,
}

/// What it waits for.
enum Wait {
    Nothing,
    /// For requests.
    Requests(Vec<u64>),
    /// Until no more bytes are in flight.
    Flying(u64),
}

pub(super) struct Ahead {
    now: u64,
    start: u64,
    steps: VecDeque<Step>,
    wait: Wait,
    by_place: bool,
    infill_bytes: u64,
    most_bytes: u64,
    work: Work,
    opened: HashSet<usize>,
    /// What is put in and not sent: requests and their pages, neighbours together.
    plug: Vec<(Request, Vec<(usize, u64)>)>,
    /// Reads that were put in and did not come back.
    flying: Vec<Piece>,
    /// When the boot may go on.
    pub begun: Option<u64>,
}

impl Ahead {
    /// A prefetcher that starts at `start`.
    pub fn new(
        start: u64,
        needs: &[Need],
        run: &Run<'_>,
        storage: &Storage,
        (window_ns, infill_bytes): (u64, u64),
    ) -> Self {
        let turns = storage.model == Model::Disk;
        let work = match run.in_lab {
            true => Work::LAB,
            false => Work::default(),
        };
        let mut ahead = Self {
            now: start,
            start,
            steps: VecDeque::new(),
            wait: Wait::Nothing,
            by_place: turns,
            infill_bytes,
            most_bytes: if turns {
                DISK_IN_FLIGHT_BYTES
            } else {
                IN_FLIGHT_BYTES
            },
            work,
            opened: HashSet::new(),
            plug: Vec::new(),
            flying: Vec::new(),
            begun: None,
        };
        for window in windows(needs, run, window_ns, infill_bytes) {
            ahead.steps.push_back(Step::Metadata(window));
        }
        ahead
    }

    /// A prefetcher that has nothing to do: the boot may go on at `start`.
    pub fn none(start: u64) -> Self {
        Self {
            now: start,
            start,
            steps: VecDeque::new(),
            wait: Wait::Nothing,
            by_place: false,
            infill_bytes: 0,
            most_bytes: 0,
            work: Work::default(),
            opened: HashSet::new(),
            plug: Vec::new(),
            flying: Vec::new(),
            begun: Some(start),
        }
    }

    /// It is on the processor for a while. The kernel's scheduler is fair: beside a
    /// program that works it takes twice as long (`kernel/sched/fair.c`).
    fn works(&mut self, length: u64, run: &mut Run<'_>) {
        let shared = length.saturating_mul(1 + u64::from(run.is_busy));
        self.now = self.now.saturating_add(shared);
        run.queue.take(self.now, length);
    }

    /// Begins: what it does before it reads.
    pub fn begin(&mut self, run: &mut Run<'_>) {
        if self.begun.is_none() {
            self.works(self.work.start, run);
        }
    }

    /// Goes on until the boot may go on.
    pub fn until_begun(&mut self, run: &mut Run<'_>) {
        while self.begun.is_none() {
            let next = run.queue.next_end().unwrap_or(self.now).max(self.now);
            let before = (self.now, self.steps.len());
            self.until(next, run);
            run.queue.advance(next);
            if before == (self.now, self.steps.len()) && run.queue.next_end().is_none() {
                break;
            }
        }
    }

    /// Goes on until `until`, or to its end.
    pub fn until(&mut self, until: u64, run: &mut Run<'_>) {
        while self.now <= until {
            if !self.is_free(until, run) {
                return;
            }
            let Some(step) = self.steps.pop_front() else {
                self.begun.get_or_insert(self.now);
                return;
            };
            match step {
                Step::Metadata(window) => self.metadata(window, run),
                Step::Open(window) => self.open(&window, run),
                Step::Read(piece, start_us) => self.read(piece, start_us, run),
                Step::Send => {
                    self.send(run);
                    self.begun.get_or_insert(self.now);
                }
            }
        }
    }

    /// Whether it has nothing to wait for; it may be later then, but not than `until`.
    fn is_free(&mut self, until: u64, run: &mut Run<'_>) -> bool {
        loop {
            let due = match &self.wait {
                Wait::Nothing => return true,
                Wait::Requests(numbers) => {
                    let ends = numbers.iter().map(|n| run.queue.end(*n));
                    ends.max_by_key(|e| e.unwrap_or(u64::MAX)).flatten()
                }
                Wait::Flying(most) => {
                    let now = self.now;
                    self.flying
                        .retain(|p| run.end_of(p.file, p.page, p.pages).is_none_or(|e| e > now));
                    let bytes: u64 = self.flying.iter().map(|p| p.pages * PAGE).sum();
                    if bytes <= *most && self.flying.len() < DEPTH as usize / 2 {
                        Some(now)
                    } else {
                        let flying = self.flying.iter();
                        let ends = flying.map(|p| run.end_of(p.file, p.page, p.pages));
                        match ends.flatten().min() {
                            Some(end) if end <= until => {
                                self.now = end;
                                continue;
                            }
                            Some(_) => return false,
                            None => None,
                        }
                    }
                }
            };
            match (due, run.queue.next_end()) {
                (Some(end), _) if end <= until => {
                    self.now = self.now.max(end);
                    self.wait = Wait::Nothing;
                }
                // Something must end before it is known.
                (None, Some(next)) if next <= until => run.queue.advance(next),
                _ => return false,
            }
        }
    }

    fn metadata(&mut self, window: Window, run: &mut Run<'_>) {
        let mut of_devices: BTreeMap<usize, Vec<(u64, u64)>> = BTreeMap::new();
        for (file, page, pages) in &window.metadata {
            let ranges = of_devices.entry(*file).or_default();
            ranges.push((page * PAGE, pages * PAGE));
        }
        let mut names = Vec::new();
        for (file, mut ranges) in of_devices {
            ranges.sort_unstable();
            for (at, bytes) in infilled(&ranges, self.infill_bytes, &|_, _| true) {
                self.works(pages(bytes) * self.work.metadata, run);
                let all = at / PAGE..(at + bytes) / PAGE;
                for (request, pages) in run.missing(file, all.start, all.end) {
                    let (number, after) = run.queue.ask(self.now, request, false);
                    self.now = self.now.max(after);
                    run.put(&pages, number);
                }
                let is_name = |p: &u64| run.files.get(file).is_some_and(|f| !f.is_looked_at(*p));
                names.extend(all.filter(is_name).filter_map(|p| run.number(file, p)));
            }
        }
        names.sort_unstable();
        names.dedup();
        if window.content.is_empty() {
            self.steps.push_front(Step::Send);
            return;
        }
        if !names.is_empty() {
            self.wait = Wait::Requests(names);
        }
        self.steps.push_front(Step::Open(window));
    }

    fn open(&mut self, window: &Window, run: &mut Run<'_>) {
        let mut of_files: Vec<(usize, Vec<Need>)> = Vec::new();
        for need in &window.content {
            match of_files.iter_mut().find(|(file, _)| *file == need.file) {
                Some((_, needs)) => needs.push(*need),
                None => of_files.push((need.file, vec![*need])),
            }
        }
        let mut pieces = Vec::new();
        let mut work = 0;
        for (file, mut needs) in of_files {
            if self.opened.insert(file) {
                work += self.work.open;
            }
            needs.sort_unstable_by_key(|n| n.page);
            let Some(of) = run.files.get(file) else {
                continue;
            };
            let ranges: Vec<(u64, u64)> = needs
                .iter()
                .map(|n| (n.page * PAGE, n.pages * PAGE))
                .collect();
            // Where a file lies is asked for a hole, or for the order.
            let is_asked = Cell::new(self.by_place);
            let wide = infilled(&ranges, self.infill_bytes, &|from, to| {
                is_asked.set(true);
                let before = of.place((from / PAGE).saturating_sub(1));
                match (before, of.place(to / PAGE)) {
                    (Some(before), Some(after)) => {
                        after.checked_sub(before) == Some(to - from + PAGE)
                    }
                    _ => false,
                }
            });
            work += u64::from(is_asked.get()) * self.work.extents;
            for (at, bytes) in wide {
                cut(
                    &needs,
                    (file, at / PAGE, pages(bytes)),
                    of,
                    self.now,
                    run,
                    &mut pieces,
                );
            }
        }
        self.works(work, run);
        match self.by_place {
            true => pieces.sort_by_key(|p: &Piece| {
                run.files
                    .get(p.file)
                    .and_then(|f| f.place(p.page))
                    .unwrap_or(0)
            }),
            false => pieces.sort_by_key(|p| p.turn),
        }
        self.steps.push_front(Step::Send);
        for piece in pieces.into_iter().rev() {
            self.steps.push_front(Step::Read(piece, window.start_us));
        }
    }

    fn read(&mut self, piece: Piece, start_us: u64, run: &mut Run<'_>) {
        let elapsed = (self.now - self.start) / 1000;
        let most = match start_us > elapsed.saturating_add(AHEAD_US) {
            true => self.most_bytes.min(AHEAD_BYTES),
            false => self.most_bytes,
        };
        let now = self.now;
        let sent = &mut self.flying;
        sent.retain(|p| run.end_of(p.file, p.page, p.pages).is_none_or(|e| e > now));
        let bytes: u64 = sent.iter().map(|p| p.pages * PAGE).sum::<u64>() + piece.pages * PAGE;
        let is_full = bytes >= most || self.flying.len() + 1 >= DEPTH as usize;
        if is_full {
            self.send(run);
            self.begun.get_or_insert(self.now);
        }
        self.works(piece.pages * self.work.read, run);
        for (request, pages) in run.missing(piece.file, piece.page, piece.page + piece.pages) {
            match self.plug.last_mut() {
                Some((last, all))
                    if last.at + last.bytes == request.at
                        && last.bytes + request.bytes <= MOST_REQUEST_BYTES =>
                {
                    last.bytes += request.bytes;
                    all.extend(pages);
                }
                _ => self.plug.push((request, pages)),
            }
        }
        self.flying.push(piece);
        if is_full {
            self.send(run);
            self.wait = Wait::Flying(most / 2);
        }
    }

    fn send(&mut self, run: &mut Run<'_>) {
        for (request, pages) in std::mem::take(&mut self.plug) {
            let (number, after) = run.queue.ask(self.now, request, true);
            self.now = self.now.max(after);
            run.put(&pages, number);
        }
    }
}

/// What is needed, window by window.
fn windows(needs: &[Need], run: &Run<'_>, window_ns: u64, along_bytes: u64) -> Vec<Window> {
    let mut windows: Vec<Window> = Vec::new();
    let mut of = None;
    let mut metadata: Vec<(usize, u64, u64, u64)> = Vec::new();
    for need in needs.iter().filter(|n| n.is_listed) {
        let number = window_of(need.at_ns / 1000, window_ns / 1000);
        if of != Some(number) {
            windows.push(Window {
                start_us: need.at_ns / 1000,
                ..Window::default()
            });
            of = Some(number);
        }
        let place = windows.len() as u64 - 1;
        match run.files.get(need.file).map(|f| f.access) {
            Some(Access::Device) => metadata.push((need.file, need.page, need.pages, place)),
            Some(_) => windows
                .last_mut()
                .into_iter()
                .for_each(|w| w.content.push(*need)),
            None => {}
        }
    }
    metadata.sort_unstable();
    for same in metadata.chunk_by(|a, b| a.0 == b.0) {
        let places: Vec<_> = same
            .iter()
            .map(|(_, page, pages, window)| (*window, page * PAGE, pages * PAGE))
            .collect();
        for ((file, page, pages, _), window) in same.iter().zip(taken_along(&places, along_bytes)) {
            let window = usize::try_from(window)
                .ok()
                .and_then(|w| windows.get_mut(w));
            window
                .into_iter()
                .for_each(|w| w.metadata.push((*file, *page, *pages)));
        }
    }
    windows.retain(|w| !w.metadata.is_empty() || !w.content.is_empty());
    windows
}

/// Cuts pages of a file that are not in memory into reads.
fn cut(
    needs: &[Need],
    (file, first, count): (usize, u64, u64),
    of: &File,
    now: u64,
    run: &Run<'_>,
    pieces: &mut Vec<Piece>,
) {
    let most = u64::from(REQUEST_BYTES) / PAGE;
    let mut open: Option<Piece> = None;
    for page in first..first + count {
        let is_there = run.end_of(file, page, 1).is_some_and(|end| end <= now);
        let follows = |p: &Piece| {
            p.page + p.pages == page
                && p.pages < most
                && of.place(page).is_some()
                && of.place(page) == of.place(page - 1).map(|place| place + PAGE)
        };
        match open.as_mut().filter(|p| !is_there && follows(p)) {
            Some(piece) => piece.pages += 1,
            None => {
                pieces.extend(open.take());
                open = (!is_there).then_some(Piece {
                    file,
                    page,
                    pages: 1,
                    turn: (u64::MAX, file, page),
                });
            }
        }
        let need = needs.partition_point(|n| n.page + n.pages <= page);
        if let (Some(piece), Some(need)) = (&mut open, needs.get(need))
            && need.page <= page
        {
            piece.turn.0 = piece.turn.0.min(need.at_ns);
        }
    }
    pieces.extend(open);
}
