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
mod order;

use crate::balance::Balance;
use crate::block::Assembler;
use crate::source::{Input, Sniff, Source};
use hashbrown::HashMap;
use header::Begins;
use lane::Lane;
use notes::{FILES_MISSING, TIMES_FROM_ZERO};
use notices::Notices;
use record::{ClockId, ClockKind, NameId, Origin, Recorder};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::sync::mpsc::{channel, sync_channel};
use std::thread;

/// Files of `blktrace`.
#[derive(Debug)]
pub struct Blktrace;

/// What the files of one trace are called: a name, this, and a processor.
const INFIX: &str = ".blktrace.";

/// The clock of the kernel's stamps.
const MONOTONIC: &str = "monotonic";

/// How many batches of events are read ahead of the one that is taken.
const BATCHES_AHEAD: usize = 4;

/// The mark at the first event.
const TRACE_START: &str = "block-trace-start";

impl Source for Blktrace {
    fn name(&self) -> &'static str {
        "blktrace"
    }

    fn description(&self) -> &'static str {
        "binary block I/O trace: `blktrace -d DEVICE`, all files `NAME.blktrace.*`"
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
        // Those that were said so far, in all files.
        let mut names: Vec<NameId> = Vec::new();
        let mut whole = Vec::new();
        let mut clocks = HashMap::new();
        note_missing_files(inputs, recorder);
        for input in inputs {
            let source = recorder.source(input.name, self.name());
            let mut lane = Lane::new(input.bytes, source);
            lane.fill(&mut notices);
            // `blkparse -d` gives times from zero; such a file is a trace of
            // its own, on a clock of its own.
            if lane.from_zero {
                let origin = Origin { source, offset: 0 };
                recorder.note(origin, &TIMES_FROM_ZERO, String::new);
                let clock = recorder.clock(input.name, ClockKind::Monotonic, 1);
                clocks.insert(source, clock);
                merge(vec![lane], clock, (&mut notices, &mut names), recorder);
            } else {
                whole.push(lane);
            }
        }
        let clock = recorder.clock(MONOTONIC, ClockKind::Monotonic, 1);
        merge(whole, clock, (&mut notices, &mut names), recorder);
        notices.finish(|source| clocks.get(&source).copied(), clock, recorder);
    }

    fn is_bounded(&self) -> bool {
        true
    }
}

/// Takes the events of all lanes in the order of their times. One thread reads
/// them, this one makes requests of them. `names` are those of `notices` that the
/// recorder has.
fn merge<'a>(
    lanes: Vec<Lane<'a>>,
    clock: ClockId,
    (notices, names): (&mut Notices<'a>, &mut Vec<NameId>),
    recorder: &mut Recorder,
) {
    mark_start(&lanes, clock, recorder);
    let mut assembler = Assembler::new(clock);
    let mut balances: Vec<Balance> = lanes.iter().map(|l| Balance::new(l.source)).collect();
    thread::scope(|scope| {
        let (sender, batches) = sync_channel(BATCHES_AHEAD);
        let (back, emptied) = channel();
        let reader = scope.spawn(move || order::read(lanes, notices, &sender, &emptied));
        for mut batch in batches {
            names.extend(batch.names.iter().map(|n| recorder.name_lossy(n)));
            for next in &mut batch.events {
                next.event.task = next.name.and_then(|n| names.get(n.0).copied());
                let noted = assembler.event(&next.event, recorder);
                if let Some(balance) = balances.get_mut(next.lane) {
                    match noted {
                        None => balance.took(),
                        Some(kind) => {
                            balance.skipped(next.event.origin.offset, kind, String::new);
                        }
                    }
                }
            }
            batch.events.clear();
            // Once all is read, nobody takes them.
            back.send(batch.events).ok();
        }
        match reader.join() {
            Ok(lanes) => balances.extend(lanes.into_iter().map(|l| l.balance)),
            Err(panic) => resume_unwind(panic),
        }
    });
    assembler.finish(recorder);
    for balance in balances {
        balance.finish(recorder);
    }
}

/// Marks the first event of all.
fn mark_start(lanes: &[Lane<'_>], clock: ClockId, recorder: &mut Recorder) {
    let first = lanes.iter().filter(|l| l.time().is_some());
    if let Some(lane) = first.min_by_key(|l| l.time())
        && let Some(event) = lane.event()
    {
        let origin = Origin {
            source: lane.source,
            offset: event.offset,
        };
        let at = header::nanoseconds(event.header.time());
        recorder.mark(clock, TRACE_START, at, None, origin);
    }
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
                format!("{missing} missing from {trace}{INFIX}*, the first is {first}"),
            );
        }
    }
}
