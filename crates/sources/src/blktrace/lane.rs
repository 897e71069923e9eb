//! A stream of events in the order of their times: one file of a trace.

use super::file::{Placed, Records};
use super::header::{Header, Notice};
use super::notes::{EVENTS_MISSING, NUMBERS_RESTART, OUT_OF_STEP, STEPS_BACK};
use super::notices::Notices;
use crate::balance::Balance;
use hashbrown::HashMap;
use record::SourceId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem::replace;

/// How many records are looked at to see whether a file mixes processors.
const LOOKED_AT: usize = 100_000;

/// How many events of a file that mixes processors are held back to be sorted.
/// `blktrace -o -` writes what one processor has in its buffers, then the next
/// one: half a megabyte each unless it is told otherwise.
const HELD_BACK: usize = 1 << 19;

/// Of how many processors, for each device, the event numbers are followed.
const MOST_STREAMS: usize = 1 << 16;

/// Past this, a number is damaged, and does not say how many are missing.
const LARGEST_GAP: u32 = 1 << 24;

/// How many events are read ahead at a time: few enough to stay in a cache.
const READ_AHEAD: usize = 128;

/// A file of a trace as a stream of events.
#[derive(Debug)]
pub(super) struct Lane<'a> {
    pub source: SourceId,
    pub balance: Balance,
    /// Its times count from its first event.
    pub from_zero: bool,
    records: Records<'a>,
    /// The time of the event before the last one that was read.
    in_step: u64,
    /// The last event that was read, which waits for the next one.
    behind: Option<Placed<'a>>,
    numbers: Numbers,
    /// Of a file that mixes processors: events to be sorted.
    held: Option<BinaryHeap<Reverse<Held<'a>>>>,
    /// All of the file is read.
    ended: bool,
    /// The events that come next, from `next` on.
    ahead: Vec<Placed<'a>>,
    next: usize,
}

/// An event in the order of time, and of reading where times are equal.
#[derive(Debug)]
struct Held<'a> {
    key: (u64, u64),
    event: Placed<'a>,
}

impl PartialEq for Held<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Held<'_> {}

impl PartialOrd for Held<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Held<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl<'a> Lane<'a> {
    pub(super) fn new(bytes: &'a [u8], source: SourceId) -> Self {
        let look = look(bytes, source);
        Self {
            source,
            from_zero: look.from_zero,
            balance: Balance::new(source),
            records: Records::new(bytes),
            in_step: 0,
            behind: None,
            numbers: Numbers::default(),
            held: look.mixes_processors.then(BinaryHeap::new),
            ended: false,
            ahead: Vec::with_capacity(READ_AHEAD + 1),
            next: 0,
        }
    }

    /// The time of the next event.
    #[inline]
    pub(super) fn time(&self) -> Option<u64> {
        self.ahead.get(self.next).map(|e| e.header.time())
    }

    /// The next event. It is not read yet at the beginning, and after
    /// [`Self::advance`] gave `None`.
    #[inline]
    pub(super) fn event(&self) -> Option<&Placed<'a>> {
        self.ahead.get(self.next)
    }

    /// Goes on to the event behind the next one, and gives its time.
    #[inline]
    pub(super) fn advance(&mut self, notices: &mut Notices<'a>) -> Option<u64> {
        self.next += 1;
        if self.next >= self.ahead.len() {
            self.fill(notices);
        }
        self.time()
    }

    /// Reads ahead. Notices on the way are taken.
    pub(super) fn fill(&mut self, notices: &mut Notices<'a>) {
        self.next = 0;
        self.ahead.clear();
        if self.held.is_some() {
            self.fill_sorted(notices);
            return;
        }
        self.ahead.extend(self.behind.take());
        while self.ahead.len() <= READ_AHEAD {
            let Some(event) = self.read(notices) else {
                return;
            };
            self.drop_out_of_step(event.header.time());
            self.ahead.push(event);
        }
        // Whether the last one is in step, the next one will tell.
        self.behind = self.ahead.pop();
    }

    /// Drops the last event if its time does not lie between its neighbours':
    /// a processor's clock never steps back, so it is damaged. Where the next
    /// one steps back behind both, the whole trace does.
    #[inline]
    fn drop_out_of_step(&mut self, next: u64) {
        let Some(last) = self.ahead.last() else {
            return;
        };
        let (at, offset) = (last.header.time(), last.offset);
        let fits = at >= self.in_step && at <= next;
        if fits || next < self.in_step {
            self.in_step = at;
            return;
        }
        self.ahead.pop();
        self.balance
            .skipped(offset, &OUT_OF_STEP, || format!("at {at} ns"));
    }

    /// Reads ahead in a file that mixes processors.
    fn fill_sorted(&mut self, notices: &mut Notices<'a>) {
        while self.ahead.len() < READ_AHEAD {
            self.hold_back(notices);
            let first = self.held.as_mut().and_then(BinaryHeap::pop);
            let Some(Reverse(first)) = first else { break };
            self.ahead.push(first.event);
        }
    }

    /// Holds back as many events as may be.
    fn hold_back(&mut self, notices: &mut Notices<'a>) {
        while !self.ended && self.held.as_ref().is_some_and(|h| h.len() < HELD_BACK) {
            let event = self.read(notices);
            self.ended = event.is_none();
            if let (Some(event), Some(held)) = (event, &mut self.held) {
                let key = (event.header.time(), event.offset);
                held.push(Reverse(Held { key, event }));
            }
        }
    }

    /// The next event as the file has them.
    #[inline]
    fn read(&mut self, notices: &mut Notices<'a>) -> Option<Placed<'a>> {
        while let Some(placed) = self.records.next(&mut self.balance) {
            if placed.header.is_notice() {
                notices.take(&placed, self.source, &mut self.balance);
                continue;
            }
            self.numbers
                .follow(&placed.header, placed.offset, &mut self.balance);
            return Some(placed);
        }
        None
    }
}

/// What kind of file it is.
#[derive(Clone, Copy, Debug, Default)]
struct Look {
    /// Its events come from more than one processor.
    mixes_processors: bool,
    /// Its times are not the kernel's, but count from its first event.
    from_zero: bool,
}

/// Looks at the first records of a file.
fn look(bytes: &[u8], source: SourceId) -> Look {
    let mut records = Records::new(bytes);
    let mut unused = Balance::new(source);
    let mut look = Look::default();
    let mut first_cpu = None;
    // The kernel names a process and then stamps its first event on the same
    // processor. `blkparse -d` moves the times of events, but not of names.
    let mut named: HashMap<u32, u64> = HashMap::new();
    let (mut in_order, mut out_of_order) = (0_u32, 0_u32);
    for _ in 0..LOOKED_AT {
        let Some(placed) = records.next(&mut unused) else {
            break;
        };
        let header = &placed.header;
        if header.is_notice() {
            match header.notice() {
                Notice::Process(_) => {
                    named.insert(header.cpu(), header.time());
                }
                // Messages are moved as events are.
                Notice::Message(_) => look.from_zero |= header.time() == 0,
                Notice::TimeOfDay(_) | Notice::Unknown => {}
            }
            continue;
        }
        look.mixes_processors |= *first_cpu.get_or_insert(header.cpu()) != header.cpu();
        look.from_zero |= header.time() == 0;
        if let Some(named) = named.remove(&header.cpu()) {
            match header.time() < named {
                true => out_of_order += 1,
                false => in_order += 1,
            }
        }
    }
    look.from_zero |= out_of_order > in_order;
    look
}

/// Follows the numbers of each processor's events.
#[derive(Debug, Default)]
struct Numbers {
    /// By device and processor, as they lie in the file.
    streams: HashMap<[u8; 8], Last>,
    current: [u8; 8],
    last: Last,
}

/// The last event of a processor.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    number: u32,
    time: u64,
}

impl Numbers {
    #[inline]
    fn follow(&mut self, header: &Header<'_>, offset: u64, balance: &mut Balance) {
        let stream = header.stream();
        if stream != self.current {
            self.change_to(stream);
        }
        let next = Last {
            number: header.sequence(),
            time: header.time(),
        };
        let last = replace(&mut self.last, next);
        let expected = last.number.wrapping_add(1);
        if next.number != expected {
            let missing = next.number.wrapping_sub(expected);
            gap(last.number, missing, offset, balance);
        }
        if next.time < last.time {
            balance.noted(offset, &STEPS_BACK, 1, || {
                let cpu = header.cpu();
                format!("CPU {cpu}, from {} to {} ns", last.time, next.time)
            });
        }
    }

    #[cold]
    fn change_to(&mut self, stream: [u8; 8]) {
        if self.streams.len() < MOST_STREAMS {
            self.streams.insert(self.current, self.last);
        }
        self.last = self.streams.get(&stream).copied().unwrap_or_default();
        self.current = stream;
    }
}

/// Notes that between the number `last` and the next one `missing` are not there.
#[cold]
fn gap(last: u32, missing: u32, offset: u64, balance: &mut Balance) {
    if missing < LARGEST_GAP {
        balance.noted(offset, &EVENTS_MISSING, missing.into(), || match last {
            0 => format!("{missing} missing before the first"),
            _ => format!("{missing} missing after number {last}"),
        });
    } else {
        balance.noted(offset, &NUMBERS_RESTART, 1, || {
            format!("after number {last}")
        });
    }
}
