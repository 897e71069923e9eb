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
use hashbrown::HashMap;
use header::Begins;
use lane::Lane;
use notes::{FILES_MISSING, TIMES_FROM_ZERO};
use notices::Notices;
use record::{ClockId, ClockKind, Origin, Recorder};
use std::cmp::Reverse;
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

    /// A processor on which nothing happened has an empty file.
    fn may_be_empty(&self, name: &str) -> bool {
        trace_and_processor(name).is_some()
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
            lane.fill(&mut notices, recorder);
            // `blkparse -d` gives times from zero; such a file is a trace of
            // its own, on a clock of its own.
            if lane.from_zero {
                let origin = Origin { source, offset: 0 };
                recorder.note(origin, &TIMES_FROM_ZERO, String::new);
                let clock = recorder.clock(input.name, ClockKind::Monotonic, 1);
                clocks.insert(source, clock);
                merge(vec![lane], clock, &mut notices, recorder);
            } else {
                whole.push(lane);
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
fn merge(mut lanes: Vec<Lane<'_>>, clock: ClockId, notices: &mut Notices, recorder: &mut Recorder) {
    let mut assembler = Assembler::new(clock);
    let heads = lanes.iter().enumerate();
    let heads = heads.filter_map(|(i, lane)| Some(Reverse((lane.time()?, i))));
    let mut heads: BinaryHeap<Reverse<(u64, usize)>> = heads.collect();
    if let Some(&Reverse((time, first))) = heads.peek()
        && let Some(lane) = lanes.get(first)
    {
        let origin = Origin {
            source: lane.source,
            offset: lane.event().map_or(0, |e| e.offset),
        };
        recorder.mark(clock, TRACE_START, nanoseconds(time), None, origin);
    }
    while let Some(Reverse((_, i))) = heads.pop() {
        let until = heads.peek().map_or(u64::MAX, |h| h.0.0);
        let Some(lane) = lanes.get_mut(i) else {
            continue;
        };
        // A processor mostly has several events before the next one's turn.
        loop {
            take(lane, &mut assembler, notices, recorder);
            match lane.advance(notices, recorder) {
                Some(time) if time <= until => {}
                Some(time) => {
                    heads.push(Reverse((time, i)));
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

#[inline]
fn take(
    lane: &mut Lane<'_>,
    assembler: &mut Assembler,
    notices: &Notices,
    recorder: &mut Recorder,
) {
    let Some(placed) = lane.event().copied() else {
        return;
    };
    let header = &placed.header;
    let action = header.action();
    if let Some(kind) = action.passed_over() {
        lane.balance.skipped(placed.offset, kind, || match action {
            Action::Remap { from } => format!("{from} to {}", header.device()),
            Action::Unknown => format!("action 0x{:x}", header.code()),
            _ => String::new(),
        });
        return;
    }
    let event = Event {
        at: nanoseconds(header.time()),
        action,
        device: header.device(),
        sector: header.sector(),
        bytes: header.bytes().into(),
        asks: header.asks(),
        error: header.error(),
        pid: Some(header.pid()),
        task: match action {
            // Whoever was interrupted did not ask.
            Action::Complete => None,
            _ => notices.name(header.pid()),
        },
        origin: Origin {
            source: lane.source,
            offset: placed.offset,
        },
    };
    match assembler.event(&event, recorder) {
        None => lane.balance.took(),
        Some(kind) => lane.balance.skipped(placed.offset, kind, String::new),
    }
}

/// The kernel's nanoseconds have 63 bits.
fn nanoseconds(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}

/// What trace, and what processor, a file is of by its name.
fn trace_and_processor(name: &str) -> Option<(&str, u32)> {
    let (trace, processor) = name.rsplit_once(INFIX)?;
    Some((trace, processor.parse().ok()?))
}

/// Notes processors of which others of the same trace have files, but they
/// have none.
fn note_missing_files(inputs: &[Input<'_>], recorder: &mut Recorder) {
    let mut traces: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for input in inputs {
        if let Some((trace, processor)) = trace_and_processor(input.name) {
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
