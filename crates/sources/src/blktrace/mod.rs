//! What `blktrace(8)` writes: the kernel's block events in binary.
//!
//! Three kinds of files are read: one for each processor (`NAME.blktrace.0`,
//! ...), which are parts of one stream; all processors in one, as they come
//! (`blktrace -o -`); and all in one in the order of time (`blkparse -d`).
//! Both byte orders, and versions 7 and 8 of the records.
//!
//! The kernel stamps events with `ktime_get()`: that is `CLOCK_MONOTONIC`.

mod file;
mod header;
mod lane;
mod notes;
mod notices;

use crate::block::{Action, Assembler, Event};
use crate::{Input, Sniff, Source};
use file::Placed;
use hashbrown::HashMap;
use header::Begins;
use lane::Lane;
use notes::{FILES_MISSING, TIMES_FROM_ZERO};
use notices::Notices;
use record::{ClockId, ClockKind, Origin, Recorder};
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// Files of `blktrace`.
#[derive(Debug)]
pub struct Blktrace;

/// What the files of one trace are called: a name, this, and a processor.
const INFIX: &str = ".blktrace.";

/// The clock of the kernel's stamps.
const MONOTONIC: &str = "monotonic";

/// The mark at the first event.
const TRACE_START: &str = "block-trace-start";

impl Source for Blktrace {
    fn name(&self) -> &'static str {
        "blktrace"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        match header::begins(head) {
            Begins::Record(..) | Begins::Unknown(_) => Sniff::Yes,
            Begins::Nothing => Sniff::No,
        }
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        self.read_all(&[input], recorder);
    }

    fn read_all(&self, inputs: &[Input<'_>], recorder: &mut Recorder) {
        let mut notices = Notices::default();
        let mut whole = Vec::new();
        let mut clocks = HashMap::new();
        note_missing_files(inputs, recorder);
        for input in inputs {
            let source = recorder.source(input.name, self.name());
            let mut lane = Lane::new(input.bytes, source);
            let head = lane.next(&mut notices, recorder);
            // `blkparse -d` gives times from zero; such a file is a trace of
            // its own, on a clock of its own.
            if head.is_some_and(|h| h.header.time == 0) {
                let origin = Origin { source, offset: 0 };
                recorder.note(origin, &TIMES_FROM_ZERO, String::new);
                let clock = recorder.clock(input.name, ClockKind::Monotonic, 1);
                clocks.insert(source, clock);
                merge(vec![(lane, head)], clock, &mut notices, recorder);
            } else {
                whole.push((lane, head));
            }
        }
        let clock = recorder.clock(MONOTONIC, ClockKind::Monotonic, 1);
        merge(whole, clock, &mut notices, recorder);
        notices.finish(|source| clocks.get(&source).copied(), clock, recorder);
    }

    fn is_bounded(&self) -> bool {
        true
    }
}

/// Takes the events of all lanes in the order of their times.
fn merge<'a>(
    lanes: Vec<(Lane<'a>, Option<Placed<'a>>)>,
    clock: ClockId,
    notices: &mut Notices,
    recorder: &mut Recorder,
) {
    let mut assembler = Assembler::new(clock);
    let mut heads = BinaryHeap::new();
    let mut lanes: Vec<Lane<'a>> = lanes
        .into_iter()
        .enumerate()
        .map(|(i, (lane, head))| {
            heads.extend(head.map(|h| Reverse(Head::new(h, i))));
            lane
        })
        .collect();
    if let Some(Reverse(first)) = heads.peek()
        && let Some(lane) = lanes.get(first.lane)
    {
        let origin = Origin {
            source: lane.source,
            offset: first.placed.offset,
        };
        recorder.mark(clock, TRACE_START, nanoseconds(first.time), None, origin);
    }
    while let Some(Reverse(head)) = heads.pop() {
        let Some(lane) = lanes.get_mut(head.lane) else {
            continue;
        };
        let until = heads.peek().map_or(u64::MAX, |h| h.0.time);
        let mut placed = head.placed;
        // A processor mostly has several events before the next one's turn.
        loop {
            take(lane, &placed, &mut assembler, notices, recorder);
            match lane.next(notices, recorder) {
                Some(next) if next.header.time <= until => placed = next,
                Some(next) => {
                    heads.push(Reverse(Head::new(next, head.lane)));
                    break;
                }
                None => break,
            }
        }
    }
    assembler.finish(recorder);
    for lane in lanes {
        lane.balance.finish(recorder);
    }
}

/// The next event of a lane.
#[derive(Debug)]
struct Head<'a> {
    time: u64,
    lane: usize,
    placed: Placed<'a>,
}

impl<'a> Head<'a> {
    fn new(placed: Placed<'a>, lane: usize) -> Self {
        Self {
            time: placed.header.time,
            lane,
            placed,
        }
    }
}

impl PartialEq for Head<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head<'_> {}

impl PartialOrd for Head<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.time, self.lane).cmp(&(other.time, other.lane))
    }
}

#[inline]
fn take(
    lane: &mut Lane<'_>,
    placed: &Placed<'_>,
    assembler: &mut Assembler,
    notices: &Notices,
    recorder: &mut Recorder,
) {
    let header = &placed.header;
    let event = Event {
        at: nanoseconds(header.time),
        action: header.action(),
        device: header.device(),
        sector: header.sector,
        bytes: header.bytes.into(),
        asks: header.asks(),
        error: header.error(),
        pid: Some(header.pid),
        task: notices.name(header.pid),
        origin: Origin {
            source: lane.source,
            offset: placed.offset,
        },
    };
    match assembler.event(&event, recorder) {
        None => lane.balance.took(),
        Some(kind) => lane
            .balance
            .skipped(placed.offset, kind, || match event.action {
                Action::Remap { from } => format!("{from} to {}", event.device),
                Action::Unknown => format!("action 0x{:x}", header.action),
                _ => String::new(),
            }),
    }
}

/// The kernel's nanoseconds have 63 bits.
fn nanoseconds(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}

/// Notes processors of which others of the same trace have files, but they
/// have none.
fn note_missing_files(inputs: &[Input<'_>], recorder: &mut Recorder) {
    let mut traces: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for input in inputs {
        if let Some((trace, processor)) = input.name.rsplit_once(INFIX)
            && let Ok(processor) = processor.parse()
        {
            traces.entry(trace).or_default().insert(processor);
        }
    }
    for (trace, processors) in traces {
        let highest = processors.last().copied().unwrap_or(0);
        let missing = (u64::from(highest) + 1).saturating_sub(processors.len() as u64);
        if missing > 0 {
            let first = (0..highest).find(|p| !processors.contains(p)).unwrap_or(0);
            recorder.note_whole(
                &FILES_MISSING,
                format!("{missing} of {trace}{INFIX}*, the first is {first}"),
            );
        }
    }
}
