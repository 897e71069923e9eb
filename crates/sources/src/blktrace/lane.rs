//! A stream of events in the order of their times: one file of a trace.

use super::file::{Placed, Records};
use super::notes::{EVENTS_MISSING, NUMBERS_RESTART, OUT_OF_STEP, STEPS_BACK};
use super::notices::Notices;
use crate::balance::Balance;
use hashbrown::HashMap;
use record::{Device, Origin, Recorder, SourceId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem::replace;

/// How many records are looked at to see whether a file mixes processors.
const LOOKED_AT: usize = 100_000;

/// How many events of a file that mixes processors are held back to be sorted.
/// `blktrace -o -` writes what one processor has in its buffers, then the next
/// one: half a megabyte each unless it is told otherwise.
const HELD_BACK: usize = 1 << 19;

/// Of how many processors (of each device) the event numbers are followed.
const MOST_PROCESSORS: usize = 1 << 16;

/// Past this, a number is damaged, and does not say how many are missing.
const LARGEST_GAP: u32 = 1 << 24;

/// A file of a trace as a stream of events.
#[derive(Debug)]
pub(super) struct Lane<'a> {
    pub source: SourceId,
    pub balance: Balance,
    records: Records<'a>,
    steps: Steps<'a>,
    numbers: Numbers,
    /// Of a file that mixes processors: events to be sorted.
    held: Option<BinaryHeap<Reverse<Held<'a>>>>,
    /// All of the file is read.
    ended: bool,
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
        Self {
            source,
            balance: Balance::new(source),
            records: Records::new(bytes),
            steps: Steps::default(),
            numbers: Numbers::default(),
            held: mixes_processors(bytes, source).then(BinaryHeap::new),
            ended: false,
        }
    }

    /// The next event. Notices on the way go to `notices`.
    #[inline]
    pub(super) fn next(
        &mut self,
        notices: &mut Notices,
        recorder: &mut Recorder,
    ) -> Option<Placed<'a>> {
        if self.held.is_none() {
            return self.next_in_file(notices, recorder);
        }
        while !self.ended && self.held.as_ref().is_some_and(|h| h.len() < HELD_BACK) {
            match self.next_in_file(notices, recorder) {
                Some(event) => {
                    let key = (event.header.time, event.offset);
                    if let Some(held) = &mut self.held {
                        held.push(Reverse(Held { key, event }));
                    }
                }
                None => self.ended = true,
            }
        }
        self.held.as_mut()?.pop().map(|h| h.0.event)
    }

    fn next_in_file(
        &mut self,
        notices: &mut Notices,
        recorder: &mut Recorder,
    ) -> Option<Placed<'a>> {
        while let Some(placed) = self.records.next(&mut self.balance) {
            if placed.header.is_notice() {
                notices.take(&placed, self.source, &mut self.balance, recorder);
                continue;
            }
            let origin = Origin {
                source: self.source,
                offset: placed.offset,
            };
            self.numbers.follow(&placed, origin, recorder);
            if self.held.is_some() {
                return Some(placed);
            }
            if let Some(event) = self.steps.step(placed, &mut self.balance) {
                return Some(event);
            }
        }
        self.steps.held.take()
    }
}

/// Whether the events of a file come from more than one processor.
fn mixes_processors(bytes: &[u8], source: SourceId) -> bool {
    let mut records = Records::new(bytes);
    let mut unused = Balance::new(source);
    let mut first = None;
    for _ in 0..LOOKED_AT {
        let Some(placed) = records.next(&mut unused) else {
            return false;
        };
        if !placed.header.is_notice()
            && *first.get_or_insert(placed.header.cpu) != placed.header.cpu
        {
            return true;
        }
    }
    false
}

/// Follows the times of a processor, which never step back, one event behind:
/// an event whose time does not lie between its neighbours' is damaged.
#[derive(Debug, Default)]
struct Steps<'a> {
    before: u64,
    held: Option<Placed<'a>>,
}

impl<'a> Steps<'a> {
    /// Takes an event, and gives the one before it.
    #[inline]
    fn step(&mut self, event: Placed<'a>, balance: &mut Balance) -> Option<Placed<'a>> {
        let held = self.held.replace(event)?;
        let (at, next) = (held.header.time, event.header.time);
        let fits = at >= self.before && at <= next;
        // Where the next one steps back behind both, the whole trace does.
        if !fits && next >= self.before {
            balance.skipped(held.offset, &OUT_OF_STEP, || format!("at {at} ns"));
            return None;
        }
        self.before = at;
        Some(held)
    }
}

/// Follows the numbers of each processor's events.
#[derive(Debug, Default)]
struct Numbers {
    processors: HashMap<(Device, u32), Last>,
    current: (Device, u32),
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
    fn follow(&mut self, event: &Placed<'_>, origin: Origin, recorder: &mut Recorder) {
        let header = &event.header;
        let processor = (header.device(), header.cpu);
        if processor != self.current {
            self.change_to(processor);
        }
        let last = replace(
            &mut self.last,
            Last {
                number: header.sequence,
                time: header.time,
            },
        );
        let expected = last.number.wrapping_add(1);
        if header.sequence != expected {
            let missing = header.sequence.wrapping_sub(expected);
            self.gap(last.number, missing, origin, recorder);
        }
        if header.time < last.time {
            recorder.note(origin, &STEPS_BACK, || {
                let cpu = header.cpu;
                format!("processor {cpu}, from {} to {} ns", last.time, header.time)
            });
        }
    }

    #[cold]
    fn change_to(&mut self, processor: (Device, u32)) {
        if self.processors.len() < MOST_PROCESSORS {
            self.processors.insert(self.current, self.last);
        }
        self.last = self.processors.get(&processor).copied().unwrap_or_default();
        self.current = processor;
    }

    #[cold]
    fn gap(&mut self, last: u32, missing: u32, origin: Origin, recorder: &mut Recorder) {
        if missing < LARGEST_GAP {
            recorder.note_many(origin, &EVENTS_MISSING, missing.into(), || match last {
                0 => format!("{missing} before the first"),
                _ => format!("{missing} after number {last}"),
            });
        } else {
            recorder.note(origin, &NUMBERS_RESTART, || format!("after number {last}"));
        }
    }
}
