//! What `perf script` prints: samples of a profiler, as stacks.
//!
//! Read in the shapes that perf prints by default, with and without call
//! chains, and in those of `-F` that leave fields out or add some: process and
//! thread, processor, time in micro- or nanoseconds, period, event, address,
//! offset, file, source line. A sample counts once on its stack: a task, and
//! below it the functions, the one that was called first on top.
//!
//! Times are on a clock of perf's own that no other source shares, so they are
//! facts, and no events.
//!
//! Units of the ledger are lines.

mod line;

use crate::source::{Input, Sniff, Source};
use crate::text;
use line::{Frame, Header, Line, parse};
use record::{NameId, NoteKind, Origin, Recorder, Severity, SourceId};
use std::collections::BTreeMap;

/// perf script's output.
#[derive(Debug)]
pub struct PerfScript;

const COMMENT: NoteKind = NoteKind::new(
    "comment",
    Severity::Info,
    "Blank lines and perf's own messages were skipped. They contain no samples.",
);

const NOT_READ: NoteKind = NoteKind::new(
    "line_not_of_perf",
    Severity::DataLoss,
    "These lines are neither the header of a sample nor part of its stack. Run `perf script \
     --no-inline` without `-F`.",
);

const STACK_CUT: NoteKind = NoteKind::new(
    "stack_cut",
    Severity::Doubt,
    "These stacks are too deep, so their outermost functions are missing.",
);

const NO_STACKS: NoteKind = NoteKind::new(
    "samples_without_stacks",
    Severity::Info,
    "These samples have at most one function, so its callers are unknown. Record with `perf \
     record -g`.",
);

/// The most functions of a stack; perf itself records 127 unless told otherwise.
const MOST_FRAMES: usize = 1_024;

/// How many different events are told apart.
const MOST_EVENTS: usize = 1_000;

/// How many lines are looked at to know the format.
const SNIFF_LINES: usize = 80;

/// What a task is called whose name was not printed.
const NO_TASK: &str = "all";

impl Source for PerfScript {
    fn name(&self) -> &'static str {
        "perf-script"
    }

    fn description(&self) -> &'static str {
        "profile samples as text: `perf record -g`, then `perf script --no-inline`"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        let (mut all, mut known, mut heads, mut frames) = (0_usize, 0_usize, 0_usize, 0_usize);
        let (mut in_sample, mut has_head) = (false, false);
        for line in text::lines(head).take(SNIFF_LINES) {
            let parsed = parse(line.bytes, in_sample);
            match &parsed {
                Line::Blank | Line::Comment => {
                    in_sample = false;
                    continue;
                }
                Line::Head(h) => {
                    in_sample = true;
                    has_head = true;
                    // What no other log has: a stamp or an event, and a place.
                    let place = h.frame.is_some() || h.event.is_some_and(|e| e.contains(&b':'));
                    heads += usize::from(h.time_ns.is_some() && place);
                    known += 1;
                }
                Line::Frame(f) => {
                    in_sample = true;
                    frames += usize::from(f.is_sure);
                    known += 1;
                }
                Line::Place if in_sample => known += 1,
                Line::Place | Line::Other => {}
            }
            all += 1;
        }
        match known * 10 >= all * 9 && known > 0 {
            // A number and a name may be a line of anything.
            true if frames > 1 && has_head || heads > 1 => Sniff::Yes,
            true if frames > 0 || heads > 0 => Sniff::Maybe,
            _ => Sniff::No,
        }
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        let source = recorder.source(input.name, self.name());
        let mut reader = Reader::new(source);
        for line in text::lines(input.bytes) {
            let origin = line.origin(source);
            match parse(line.bytes, reader.is_open()) {
                Line::Head(head) => reader.head(&head, origin, recorder),
                Line::Frame(frame) => reader.frame(&frame, origin, recorder),
                // Where a function of the stack stands in its source.
                Line::Place if reader.is_open() => {}
                Line::Blank | Line::Comment => {
                    reader.close(recorder);
                    recorder.skipped(origin, &COMMENT);
                    continue;
                }
                Line::Place | Line::Other => {
                    recorder.skipped(origin, &NOT_READ);
                    continue;
                }
            }
            recorder.took(source);
        }
        reader.finish(recorder);
    }
}

/// A sample that is being read.
#[derive(Debug)]
struct Sample {
    task: NameId,
    /// Functions, the innermost first.
    frames: Vec<NameId>,
    /// How many more there were.
    cut: u64,
    origin: Origin,
}

#[derive(Debug)]
struct Reader {
    source: SourceId,
    sample: Option<Sample>,
    samples: u64,
    first: Option<Origin>,
    /// Of the samples with a time: the first and the last of them.
    times: Option<(i64, i64)>,
    events: BTreeMap<Vec<u8>, u64>,
}

impl Reader {
    fn new(source: SourceId) -> Self {
        Self {
            source,
            sample: None,
            samples: 0,
            first: None,
            times: None,
            events: BTreeMap::new(),
        }
    }

    fn is_open(&self) -> bool {
        self.sample.is_some()
    }

    fn head(&mut self, head: &Header<'_>, origin: Origin, recorder: &mut Recorder) {
        self.close(recorder);
        let task = match head.task {
            b"" => recorder.name(NO_TASK),
            task => recorder.name_lossy(task),
        };
        if let Some(at) = head.time_ns {
            let (first, last) = self.times.unwrap_or((at, at));
            self.times = Some((first.min(at), last.max(at)));
        }
        if let Some(event) = head.event
            && (self.events.len() < MOST_EVENTS || self.events.contains_key(event))
        {
            *self.events.entry(event.to_vec()).or_default() += 1;
        }
        self.sample = Some(Sample {
            task,
            frames: Vec::new(),
            cut: 0,
            origin,
        });
        if let Some(frame) = &head.frame {
            self.frame(frame, origin, recorder);
            self.close(recorder);
        }
    }

    fn frame(&mut self, frame: &Frame<'_>, origin: Origin, recorder: &mut Recorder) {
        let name = recorder.name(&frame.name());
        let task = recorder.name(NO_TASK);
        let sample = self.sample.get_or_insert_with(|| Sample {
            task,
            frames: Vec::new(),
            cut: 0,
            origin,
        });
        if sample.frames.len() < MOST_FRAMES {
            sample.frames.push(name);
        } else {
            sample.cut += 1;
        }
    }

    /// Ends the sample that is being read.
    fn close(&mut self, recorder: &mut Recorder) {
        let Some(sample) = self.sample.take() else {
            return;
        };
        self.samples += 1;
        self.first.get_or_insert(sample.origin);
        if sample.cut > 0 {
            recorder.note(sample.origin, &STACK_CUT, || {
                format!("{} functions", sample.frames.len() as u64 + sample.cut)
            });
        }
        if sample.frames.len() < 2 {
            recorder.note(sample.origin, &NO_STACKS, String::new);
        }
        let stacks = recorder.stacks();
        let mut node = stacks.node(None, sample.task);
        for &function in sample.frames.iter().rev() {
            node = stacks.node(Some(node), function);
        }
        stacks.add(node, 1, record::Nanos::ZERO);
    }

    fn finish(mut self, recorder: &mut Recorder) {
        self.close(recorder);
        let origin = self.first.unwrap_or(Origin {
            source: self.source,
            offset: 0,
        });
        recorder.fact("perf.samples", &self.samples.to_string(), origin);
        for (event, count) in &self.events {
            let event = text::lossy(event);
            recorder.fact(&format!("perf.event.{event}"), &count.to_string(), origin);
        }
        if let Some((first, last)) = self.times {
            recorder.fact("perf.first_ns", &first.to_string(), origin);
            recorder.fact("perf.last_ns", &last.to_string(), origin);
        }
    }
}
