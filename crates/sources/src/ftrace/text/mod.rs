//! The text of traces: the files `trace` and `trace_pipe`, and what
//! `trace-cmd report` prints.

mod graph;
mod line;
mod print;

use super::clocks::{self, TraceClock};
use super::interpret::{Interpreter, Outcome};
use super::known::{Known, call};
use super::moment::Moment;
use super::notes;
use super::symbols::Symbols;
use super::unused;
use crate::source::{Input, Sniff, Source};
use crate::text::{Line, lines, lossy, number, without_controls, without_indent};
use graph::Graph;
use hashbrown::HashMap;
use line::Stamp;
use memchr::{memchr, memmem};
use print::Printed;
use record::{NameId, NoteKind, Origin, Recorder, SourceId};
use std::borrow::Cow;

/// No line of a trace is longer: the kernel's own buffer for one has 8 KiB.
const LONGEST_LINE: usize = 64 << 10;

/// How many processors may run a function graph.
const MOST_CPUS: usize = 8_192;

/// How many different names of events are counted; the kernel has some 2,000.
const MOST_NAMES: usize = 20_000;

/// Texts give bytes where the events themselves give pages, but for the size
/// of one that is not said: then it is a usual page.
const PAGE_BYTES: u64 = 4096;

/// A trace as text: `trace`, `trace_pipe`, `trace-cmd report`, also in the
/// latency format and of the tracers `function` and `function_graph`.
///
/// A unit is a line; two events that stand in one are two.
#[derive(Debug)]
pub struct Ftrace;

impl Source for Ftrace {
    fn name(&self) -> &'static str {
        "ftrace"
    }

    fn description(&self) -> &'static str {
        "ftrace text: `cat /sys/kernel/tracing/trace`, `trace_pipe`, or `trace-cmd report`"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        let (mut events, mut graphs, mut seen) = (0_u32, 0_u32, 0_u32);
        for line in lines(head).take(2_000) {
            let bytes = line.bytes;
            if bytes.starts_with(b"# tracer: ") {
                return Sniff::Yes;
            }
            if bytes.is_empty() || bytes.starts_with(b"#") || bytes.starts_with(b"cpus=") {
                continue;
            }
            seen += 1;
            events += u32::from(line::event(bytes).is_some());
            // Rules of dashes stand in any text.
            let is_call = |g: graph::GraphLine<'_>| !matches!(g.what, graph::Graph::Mark);
            graphs += u32::from(graph::graph(bytes).is_some_and(is_call));
        }
        match events.max(graphs) {
            0 => Sniff::No,
            // Stacks and other lines stand between events.
            most if most > seen / 4 => Sniff::Yes,
            _ => Sniff::Maybe,
        }
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        let source = recorder.source(input.name, self.name());
        Reader::new(source, None).read(input.bytes, 0, recorder);
    }

    fn is_bounded(&self) -> bool {
        true
    }
}

/// Reads text that another source holds at `offset`, stamped by this clock.
pub(super) fn read(
    text: &[u8],
    (source, offset): (SourceId, u64),
    clock: &[u8],
    recorder: &mut Recorder,
) {
    Reader::new(source, Some(clock)).read(text, offset, recorder);
}

/// An event that nothing is made of, counted.
#[derive(Clone, Copy, Debug)]
struct Unused {
    count: u64,
    first: Origin,
}

/// Reads the lines of one trace.
struct Reader<'a> {
    source: SourceId,
    /// The clock's name, if it is known.
    clock_name: Option<&'a [u8]>,
    /// Of stamps of one kind: the kind of the first.
    state: Option<State>,
    unused: HashMap<Box<[u8]>, Unused>,
    /// Of a function graph without tasks: which one each processor runs.
    running: HashMap<u32, (Box<[u8]>, u32)>,
    last: i64,
    /// Whether the tracer keeps the longest stretch of a kind.
    keeps_longest: bool,
}

/// What the first event decides.
struct State {
    kind: std::mem::Discriminant<Stamp>,
    clock: TraceClock,
    interpreter: Interpreter<'static>,
}

/// What a line was.
enum Read {
    Taken,
    Noted(&'static NoteKind),
    /// An event of this name, of which nothing is made.
    Unused,
}

impl<'a> Reader<'a> {
    fn new(source: SourceId, clock_name: Option<&'a [u8]>) -> Self {
        Self {
            source,
            clock_name,
            state: None,
            unused: HashMap::new(),
            running: HashMap::new(),
            last: i64::MIN,
            keeps_longest: false,
        }
    }

    fn read(mut self, text: &[u8], base: u64, recorder: &mut Recorder) {
        let mut taken: u64 = 0;
        for line in lines(text) {
            let source = self.source;
            let offset = base.saturating_add(line.offset);
            let origin = Origin { source, offset };
            match self.line(line, origin, recorder) {
                Read::Taken => taken += 1,
                Read::Noted(kind) => recorder.skipped(origin, kind),
                Read::Unused => {}
            }
        }
        recorder.took_many(self.source, taken);
        let unused = self.unused.iter();
        let unused: Vec<(String, Unused)> = unused
            .map(|(name, u)| (lossy(name).into_owned(), *u))
            .collect();
        unused::note(
            unused
                .iter()
                .map(|(name, u)| (name.as_str(), u.count, u.first)),
            recorder,
        );
        if let Some(state) = self.state {
            state.interpreter.finish(recorder);
        }
    }

    fn line(&mut self, line: Line<'_>, origin: Origin, recorder: &mut Recorder) -> Read {
        if line.bytes.len() > LONGEST_LINE {
            return Read::Noted(&notes::TORN_LINE);
        }
        let clean = without_controls(line.bytes);
        let bytes = &*clean;
        if let Some(mut event) = line::event(bytes) {
            if let Some((start, second)) = line::glued(event.rest) {
                recorder.note(origin, &notes::GLUED_LINE, String::new);
                event.rest = event.rest.get(..start).unwrap_or_default();
                let first = self.event(&event, origin, recorder);
                self.second(&second, origin, recorder);
                return first;
            }
            return self.event(&event, origin, recorder);
        }
        match bytes.first() {
            None => return Read::Taken,
            Some(b'#') => {
                self.header(bytes, origin, recorder);
                return Read::Taken;
            }
            _ => {}
        }
        if let Some(lost) = line::lost(bytes) {
            recorder.note_many(origin, &notes::EVENTS_LOST, lost.unwrap_or(1), String::new);
            if let Some(state) = &mut self.state {
                state.interpreter.events_lost(recorder);
            }
            return Read::Taken;
        }
        if let Some(graph) = graph::graph(bytes) {
            return self.graph(&graph, origin, recorder);
        }
        if is_continuation(bytes) {
            return Read::Taken;
        }
        Read::Noted(&notes::TORN_LINE)
    }

    /// `# entries-in-buffer/entries-written: 260/33860   #P:2`, and in the
    /// latency format `# latency: 0 us, #260/33860, CPU#0`.
    fn header(&mut self, line: &[u8], origin: Origin, recorder: &mut Recorder) {
        self.latency(line, origin, recorder);
        let counts = match memmem::find(line, b"entries-written: ") {
            Some(at) => line.get(at + 17..),
            None => memmem::find(line, b" us, #").and_then(|at| line.get(at + 6..)),
        };
        let numbers = counts.and_then(|counts| {
            let (kept, rest) = number(counts)?;
            Some((kept, number(rest.strip_prefix(b"/")?)?.0))
        });
        if let Some((kept, written)) = numbers
            && written > kept
        {
            let lost = written - kept;
            recorder.note_many(origin, &notes::EVENTS_LOST, lost, || {
                format!("{kept} of {written} events were still in the buffer")
            });
        }
    }

    /// What a tracer that keeps the longest stretch says of it: `# tracer: irqsoff`,
    /// `# latency: 72 us, ...`, `#  => started at: FUNCTION`, `#  => ended at:   FUNCTION`
    /// (Documentation/trace/ftrace.rst).
    fn latency(&mut self, line: &[u8], origin: Origin, recorder: &mut Recorder) {
        let line = lossy(line);
        let rest = line.trim_start_matches('#').trim_start();
        if let Some(tracer) = rest.strip_prefix("tracer: ") {
            let tracer = tracer.trim();
            self.keeps_longest = tracer.ends_with("off");
            if self.keeps_longest {
                recorder.fact("latency.tracer", tracer, origin);
            }
        }
        if !self.keeps_longest {
            return;
        }
        let found = [
            ("latency: ", "latency.us"),
            ("=> started at: ", "latency.started"),
            ("=> ended at: ", "latency.ended"),
        ]
        .into_iter()
        .find_map(|(begin, key)| Some((key, rest.strip_prefix(begin)?)));
        if let Some((key, value)) = found {
            let value = value.split_whitespace().next().unwrap_or_default();
            recorder.fact(key, value.trim_end_matches(','), origin);
        }
    }

    /// What the first stamp decides; `None` if this one is of another kind.
    fn state(
        &mut self,
        stamp: Stamp,
        origin: Origin,
        recorder: &mut Recorder,
    ) -> Option<&mut State> {
        let kind = std::mem::discriminant(&stamp);
        if self.state.is_none() {
            let assumed = self.clock_name.is_none() && matches!(stamp, Stamp::Seconds(..));
            if assumed {
                recorder.note(origin, &notes::CLOCK_ASSUMED, String::new);
            }
            let name = match (self.clock_name, stamp) {
                (Some(name), _) => name,
                (None, Stamp::Seconds(..)) => clocks::USUAL,
                (None, Stamp::Ticks(_)) => clocks::TICKS,
                (None, Stamp::Relative(_)) => clocks::RELATIVE,
            };
            let clock = clocks::clock(name, None, recorder);
            if let Some(kind) = clock.note {
                recorder.note(origin, kind, String::new);
            }
            let interpreter = Interpreter::new(clock.id, PAGE_BYTES, Symbols::default());
            self.state = Some(State {
                kind,
                clock,
                interpreter,
            });
        }
        self.state.as_mut().filter(|s| s.kind == kind)
    }

    fn event(
        &mut self,
        event: &line::EventLine<'_>,
        origin: Origin,
        recorder: &mut Recorder,
    ) -> Read {
        let Some((name, body)) = name_and_body(event.rest) else {
            return Read::Noted(&notes::TORN_LINE);
        };
        let last = self.last;
        let Some(state) = self.state(event.stamp, origin, recorder) else {
            return Read::Noted(&notes::TORN_LINE);
        };
        let at = match event.stamp {
            Stamp::Seconds(ns, _) | Stamp::Relative(ns) => ns,
            Stamp::Ticks(ticks) => state.clock.scale.apply(ticks),
        };
        if at < last {
            recorder.note(origin, &notes::TIME_DISORDER, String::new);
        }
        let moment = Moment {
            at,
            cpu: event.cpu,
            pid: event.pid,
            comm: Some(event.comm),
            origin,
        };
        let outcome = match Known::named(&name) {
            None => None,
            Some(Known::GraphEntry | Known::GraphExit) if memchr(b'|', body).is_some() => {
                let call = graph::call(body);
                Some(match call {
                    Some(call) => {
                        state.interpreter.graph_call(&moment, &call, recorder);
                        Outcome::Taken
                    }
                    None => Outcome::Bad,
                })
            }
            Some(known) => {
                let values = Printed::of(known, body);
                let name = call_name(&name, recorder);
                let interpreter = &mut state.interpreter;
                Some(interpreter.event(&moment, known, name, &values, recorder))
            }
        };
        self.last = last.max(at);
        match outcome {
            Some(Outcome::Taken) => Read::Taken,
            Some(Outcome::Bad) => Read::Noted(&notes::BAD_EVENT),
            Some(Outcome::Noted(kind)) => Read::Noted(kind),
            None => self.count_unused(&name, origin),
        }
    }

    /// The second event of a line.
    fn second(&mut self, event: &line::EventLine<'_>, origin: Origin, recorder: &mut Recorder) {
        match self.event(event, origin, recorder) {
            Read::Taken => recorder.took(self.source),
            Read::Noted(kind) => recorder.skipped(origin, kind),
            Read::Unused => {}
        }
    }

    fn count_unused(&mut self, name: &[u8], origin: Origin) -> Read {
        if let Some(unused) = self.unused.get_mut(name) {
            unused.count += 1;
        } else if self.unused.len() < MOST_NAMES {
            let first = Unused {
                count: 1,
                first: origin,
            };
            self.unused.insert(name.into(), first);
        } else {
            return Read::Noted(&notes::EVENTS_NOT_USED);
        }
        Read::Unused
    }

    /// A line of a function graph.
    fn graph(
        &mut self,
        line: &graph::GraphLine<'_>,
        origin: Origin,
        recorder: &mut Recorder,
    ) -> Read {
        let cpu = line.cpu.unwrap_or(0);
        let call = match line.what {
            Graph::Mark => return Read::Taken,
            Graph::Switch { next: (comm, pid) } => {
                if self.running.len() < MOST_CPUS {
                    self.running.insert(cpu, (comm.into(), pid));
                }
                return Read::Taken;
            }
            // Without a time nothing is made of an event.
            Graph::Event(event) => {
                let Some((name, _)) = name_and_body(event) else {
                    return Read::Taken;
                };
                return self.count_unused(&name, origin);
            }
            Graph::Call(call) => call,
        };
        // A graph without times has durations all the same.
        let stamp = Stamp::Seconds(line.at.unwrap_or(0), 6);
        let unknown = format!("CPU {cpu}");
        let running = self.running.get(&cpu).cloned();
        let (comm, pid) = match (line.task, &running) {
            (Some(task), _) => task,
            (None, Some((comm, pid))) => (&**comm, *pid),
            (None, None) => (unknown.as_bytes(), 0),
        };
        let Some(state) = self.state(stamp, origin, recorder) else {
            return Read::Noted(&notes::TORN_LINE);
        };
        let moment = Moment {
            at: line.at.unwrap_or(0),
            cpu,
            pid,
            comm: Some(comm),
            origin,
        };
        state.interpreter.graph_call(&moment, &call, recorder);
        Read::Taken
    }
}

/// The name of an event and what it says: `sched_switch: prev_comm=...`. A
/// system call is printed as one, `sys_openat(dfd: ...)` and `sys_openat -> 0x3`,
/// and the tracer `function` prints no name.
fn name_and_body(text: &[u8]) -> Option<(Cow<'_, [u8]>, &[u8])> {
    let text = without_indent(text);
    let word = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.');
    let end = text.iter().position(|b| !word(b)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    if name.is_empty() {
        return None;
    }
    let call = name.strip_prefix(b"sys_");
    match (rest, call) {
        ([b':', body @ ..], _) => Some((name.into(), body)),
        ([b'(', body @ ..], Some(call)) => Some(([b"sys_enter_", call].concat().into(), body)),
        ([b' ', b'-', b'>', ..], Some(call)) => Some(([b"sys_exit_", call].concat().into(), rest)),
        _ if memmem::find(rest, b"<-").is_some() => Some((b"function"[..].into(), text)),
        _ => None,
    }
}

/// What an event is called: of a system call the same for both its ends.
fn call_name(name: &[u8], recorder: &mut Recorder) -> NameId {
    match call(name) {
        Some(call) => recorder.name_lossy(&call),
        None => recorder.name_lossy(name),
    }
}

/// Lines that belong to the event before, or stand between events: stacks, and
/// what the kernel says of its buffers.
fn is_continuation(line: &[u8]) -> bool {
    let line = without_indent(line);
    line.starts_with(b"=>") || line.starts_with(b"##### CPU ") || line.starts_with(b"cpus=")
}
