//! From the elements of the drawing to events.

use super::notes::{DECORATION, INITCALL_TIME, NOT_DRAWN, NOT_UNDERSTOOD, SAMPLES_DROPPED};
use super::settings::{Settings, ns};
use record::{
    ClockId, ClockKind, Doubt, Nanos, Origin, Process, Recorder, Slice, SourceId, SpanKind,
    TaskState, Unit, mark,
};
use roxmltree::{Document, Node};

/// The mark at which systemd-bootchart found the processors idle.
const IDLE: &str = "processors-idle";

/// The graphs of processors and disks are five processes high.
const GRAPH: f64 = 5.0;

/// The part of the drawing that follows a heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Read,
    Write,
    Processors,
    Waiting,
    Initcalls,
    Processes,
    Other,
}

impl Part {
    fn headed(heading: &str) -> Option<Self> {
        Some(match heading {
            "IO utilization - read" => Self::Read,
            "IO utilization - write" => Self::Write,
            "CPU[overall] utilization" => Self::Processors,
            "CPU[overall] wait" => Self::Waiting,
            "Kernel init threads" => Self::Initcalls,
            "Processes" => Self::Processes,
            // One processor's part of the whole.
            _ if heading.starts_with("CPU[")
                || heading.starts_with("Entropy pool")
                || heading.starts_with("Memory allocation")
                || heading.starts_with("Top ") =>
            {
                Self::Other
            }
            _ => return None,
        })
    }
}

/// A process, as its comment lists it.
#[derive(Clone, Debug, PartialEq)]
struct Listed {
    name: String,
    pid: u32,
    parent: u32,
    /// Processor time while the chart was taken, in nanoseconds.
    ran: i64,
    /// Whether it has a bar.
    drawn: bool,
}

impl Listed {
    /// `NAME [PID] ppid=PARENT runtime=1.234ms`.
    fn of(comment: &str) -> Option<Self> {
        let (rest, ran) = comment.trim().rsplit_once(" runtime=")?;
        let (rest, parent) = rest.rsplit_once(" ppid=")?;
        let (name, pid) = rest.strip_suffix(']')?.rsplit_once(" [")?;
        let ran: f64 = ran.strip_suffix("ms")?.parse().ok()?;
        Some(Self {
            name: name.to_owned(),
            pid: pid.parse().ok()?,
            parent: parent.parse().ok()?,
            ran: ns(ran * 1e6)?,
            drawn: false,
        })
    }

    /// The name as the kernel has it, and the command line: with `Cmdline=yes`
    /// that is drawn in place of the name, with a blank behind each word.
    fn names(&self) -> (&str, Option<&str>) {
        match self.name.strip_suffix(' ') {
            Some(command) => {
                let program = command.split(' ').next().unwrap_or(command);
                (program.rsplit('/').next().unwrap_or(program), Some(command))
            }
            None => (&self.name, None),
        }
    }
}

/// A bar.
#[derive(Clone, Copy, Debug)]
struct Bar {
    start: i64,
    length: i64,
    height: f64,
}

struct Reader {
    source: SourceId,
    clock: ClockId,
    settings: Settings,
    part: Part,
    /// The process whose bars follow.
    listed: Option<(Listed, Origin)>,
    /// How long it waited for a processor within the next bar.
    waited: i64,
    processes: Vec<Process>,
    /// Bars of the graph that is being read.
    graph: Vec<(Bar, Origin)>,
    /// How much the highest one of them is, in bytes a second.
    highest: Option<f64>,
    initcalls: Option<Origin>,
    /// When the last sample was taken.
    end: i64,
}

pub(super) fn read(document: &Document<'_>, source: SourceId, recorder: &mut Recorder) {
    let settings = Settings::of(document);
    let step = settings.resolution_ns();
    let mut reader = Reader {
        source,
        clock: recorder.clock("monotonic", ClockKind::Monotonic, step),
        settings,
        part: Part::Other,
        listed: None,
        waited: 0,
        processes: Vec::new(),
        graph: Vec::new(),
        highest: None,
        initcalls: None,
        end: 0,
    };
    for node in document.descendants() {
        let offset = node.range().start as u64;
        let origin = Origin { source, offset };
        if node.is_comment() {
            reader.comment(node.text().unwrap_or(""), origin, recorder);
        } else if node.has_tag_name("rect") {
            reader.rect(node, origin, recorder);
        } else if node.has_tag_name("text") {
            reader.words(node, origin, recorder);
        }
    }
    reader.finish(recorder);
}

impl Reader {
    /// Counts an element: what was made of it, or why nothing was.
    fn count(&self, read: Option<()>, origin: Origin, recorder: &mut Recorder) {
        match read {
            Some(()) => recorder.took(self.source),
            None => recorder.skipped(origin, &NOT_UNDERSTOOD),
        }
    }

    fn comment(&mut self, comment: &str, origin: Origin, recorder: &mut Recorder) {
        let comment = comment.trim();
        if self.part == Part::Initcalls && comment.starts_with("thread=") {
            let read = self.initcall(comment, origin, recorder);
            self.count(read, origin, recorder);
        } else if self.part == Part::Processes && comment.contains(" ppid=") {
            self.not_drawn(recorder);
            self.listed = Listed::of(comment).map(|listed| (listed, origin));
            if self.listed.is_none() {
                self.count(None, origin, recorder);
            }
        } else if let Some(seconds) = comment
            .strip_prefix("idle detected at ")
            .and_then(|rest| rest.strip_suffix(" seconds"))
            && let Some(after) = seconds.parse::<f64>().ok().and_then(|s| ns(s * 1e9))
        {
            let at = after.saturating_add(self.settings.zero);
            recorder.mark(self.clock, IDLE, at, None, origin);
        }
    }

    /// `thread="NAME" time="SECONDS" elapsed="MICROSECONDS" result="NUMBER"`.
    fn initcall(&mut self, comment: &str, origin: Origin, recorder: &mut Recorder) -> Option<()> {
        let value = |key: &str| {
            let (_, rest) = comment.split_once(key)?;
            Some(rest.strip_prefix("=\"")?.split_once('"')?.0)
        };
        let name = value("thread")?;
        let seconds: f64 = value(" time")?.parse().ok()?;
        let took: i64 = value(" elapsed")?.parse().ok()?;
        let result: i32 = value(" result")?.parse().ok()?;
        // These are the kernel log's stamps, to the millisecond.
        let clock = recorder.clock("printk", ClockKind::Printk, 1_000_000);
        let name = recorder.name(name);
        let span = recorder
            .span_of(clock, SpanKind::Initcall, name, origin)
            .end(Some(ns(seconds * 1e9)?))
            .reported(Some(took.checked_mul(1_000)?))
            .outcome(Some(result))
            .doubt(Some(Doubt::LostStart));
        recorder.span(span);
        self.initcalls.get_or_insert(origin);
        Some(())
    }

    fn rect(&mut self, node: Node<'_, '_>, origin: Origin, recorder: &mut Recorder) {
        let class = node.attribute("class").unwrap_or("");
        let bar = self.bar(node);
        let read = match (class, self.part) {
            ("box", Part::Processes) => {
                self.end = bar.map_or(self.end, |b| b.start.saturating_add(b.length));
                recorder.skipped(origin, &DECORATION);
                return;
            }
            ("ps", Part::Processes) => bar.and_then(|bar| self.process(bar, recorder)),
            ("wait", Part::Processes) => bar.map(|bar| {
                let share = bar.height / self.settings.scale.1;
                self.waited = share_of(bar.length, share);
            }),
            ("cpu", Part::Processes) => bar.and_then(|bar| self.slice(bar, origin, recorder)),
            ("bi", Part::Read)
            | ("bo", Part::Write)
            | ("cpu", Part::Processors)
            | ("wait", Part::Waiting) => bar.map(|bar| self.graph.push((bar, origin))),
            // The comment before it says the same.
            ("krnl", Part::Initcalls) => Some(()),
            ("bg" | "box" | "clrw", _) | ("cpu" | "wait", Part::Other) => {
                recorder.skipped(origin, &DECORATION);
                return;
            }
            _ => None,
        };
        self.count(read, origin, recorder);
    }

    fn bar(&self, node: Node<'_, '_>) -> Option<Bar> {
        let pixels = |name| node.attribute(name)?.parse::<f64>().ok();
        Some(Bar {
            start: self.settings.at(pixels("x")?)?,
            length: self.settings.length(pixels("width")?)?.max(0),
            height: pixels("height")?,
        })
    }

    /// The bar of a process begins at the first sample that has it, and ends at
    /// the last one.
    fn process(&mut self, bar: Bar, recorder: &mut Recorder) -> Option<()> {
        let (listed, origin) = self.listed.as_ref()?;
        // Its bars and label follow; so the comment is drawn.
        recorder.took(self.source);
        let (name, command) = listed.names();
        let (first, last) = (bar.start, bar.start.saturating_add(bar.length));
        let process = Process {
            pid: listed.pid,
            parent: (listed.parent > 0).then_some(listed.parent),
            name: recorder.name(name),
            command: command.map(|c| recorder.name(c)),
            start: None,
            end: None,
            first_seen: Nanos(first),
            last_seen: Nanos(last),
            user: Some(Nanos(listed.ran)),
            system: None,
            kernel_thread: listed.pid == 2 || listed.parent == 2,
            exit: None,
            origin: *origin,
            clock: self.clock,
        };
        // Up to version 235 what was there before the first sample is listed
        // twice, the first time with one sample.
        let again = self.processes.iter_mut().find(|p| {
            p.pid == process.pid && p.name == process.name && p.first_seen == p.last_seen
        });
        match again {
            Some(known) => {
                known.last_seen = process.last_seen.max(known.first_seen);
                known.user = known.user.max(process.user);
            }
            None => self.processes.push(process),
        }
        self.listed = self.listed.take().map(|(mut l, o)| {
            l.drawn = true;
            (l, o)
        });
        Some(())
    }

    /// What a process did between two samples.
    fn slice(&mut self, bar: Bar, origin: Origin, recorder: &mut Recorder) -> Option<()> {
        let (listed, _) = self.listed.as_ref()?;
        let busy = share_of(bar.length, bar.height / self.settings.scale.1);
        let waited = std::mem::take(&mut self.waited);
        if bar.length == 0 {
            return Some(());
        }
        let state = if waited > busy {
            TaskState::Runnable
        } else {
            TaskState::Running
        };
        recorder.slice(Slice {
            pid: listed.pid,
            state,
            start: Nanos(bar.start),
            end: Nanos(bar.start.saturating_add(bar.length)),
            busy: Some(Nanos(busy)),
            cpu: None,
            origin,
            clock: self.clock,
        });
        Some(())
    }

    fn words(&mut self, node: Node<'_, '_>, origin: Origin, recorder: &mut Recorder) {
        let words = node.text().unwrap_or("").trim();
        let class = node.attribute("class").unwrap_or("");
        let read = match class {
            "t1" | "t2" => {
                if let Some(part) = Part::headed(words) {
                    self.begin(part, recorder);
                    recorder.skipped(origin, &DECORATION);
                    return;
                }
                self.heading(words, origin, recorder)
            }
            "sec" if words.starts_with("Graph data: ") => self.graph_data(words, origin, recorder),
            "sec" => {
                if let Some(highest) = words.strip_suffix("mb/sec") {
                    let bytes = highest.parse::<f64>().ok().map(|m| m * 1_048_576.0);
                    self.highest = bytes.filter(|b| b.is_finite());
                    self.count(self.highest.map(|_| ()), origin, recorder);
                } else {
                    recorder.skipped(origin, &DECORATION);
                }
                return;
            }
            "" if self.part == Part::Processes => {
                self.label(node.text().unwrap_or(""), recorder);
                Some(())
            }
            // The comment before it says the same.
            "" if self.part == Part::Initcalls => Some(()),
            _ => {
                recorder.skipped(origin, &DECORATION);
                return;
            }
        };
        self.count(read, origin, recorder);
    }

    /// The label of a process has its name as it is: comments cannot hold two
    /// hyphens in a row.
    fn label(&mut self, label: &str, recorder: &mut Recorder) {
        let Some((listed, _)) = &mut self.listed else {
            return;
        };
        let Some((name, _)) = label.rsplit_once(" [") else {
            return;
        };
        let process = self
            .processes
            .iter_mut()
            .rev()
            .find(|p| p.pid == listed.pid);
        if let Some(process) = process {
            name.clone_into(&mut listed.name);
            let (name, command) = listed.names();
            process.name = recorder.name(name);
            process.command = command.map(|c| recorder.name(c));
        }
    }

    /// A line over the drawing.
    fn heading(&self, words: &str, origin: Origin, recorder: &mut Recorder) -> Option<()> {
        let Some((key, value)) = words.split_once(": ") else {
            let title = words.starts_with("Bootchart for ");
            return title.then(|| recorder.fact("systemd-bootchart.title", words, origin));
        };
        let fact = match key {
            "System" => "kernel.version",
            "CPU" => "machine",
            "Boot options" => "kernel.cmdline",
            "Disk" => "systemd-bootchart.disk",
            "Build" => "systemd-bootchart.build",
            "Log start time" => "systemd-bootchart.log_start",
            "Idle time" => "systemd-bootchart.idle",
            _ if words.starts_with("Bootchart for ") => {
                recorder.fact("systemd-bootchart.title", words, origin);
                return Some(());
            }
            _ => return None,
        };
        let value = value.strip_prefix("Linux ").unwrap_or(value);
        recorder.fact(fact, value, origin);
        Some(())
    }

    /// `Graph data: 25.000 samples/sec, recorded 54 total, dropped 11 samples,
    /// 160 processes, 56 filtered`.
    fn graph_data(&self, words: &str, origin: Origin, recorder: &mut Recorder) -> Option<()> {
        let number = |before: &str, after: &str| {
            let (_, rest) = words.split_once(before)?;
            rest.split_once(after)?.0.parse::<u64>().ok()
        };
        let samples = number("recorded ", " total")?;
        let dropped = number("dropped ", " samples")?;
        let processes = number("samples, ", " processes")?;
        for (key, value) in [
            ("samples", samples),
            ("dropped", dropped),
            ("processes", processes),
        ] {
            let key = format!("systemd-bootchart.{key}");
            recorder.fact(&key, &value.to_string(), origin);
        }
        if dropped > 0 {
            recorder.note_many(origin, &SAMPLES_DROPPED, dropped, String::new);
        }
        Some(())
    }

    /// Begins a part, and records the graph before it.
    fn begin(&mut self, part: Part, recorder: &mut Recorder) {
        self.not_drawn(recorder);
        let graph = std::mem::take(&mut self.graph);
        let highest = self.highest.take();
        let (name, unit, full) = match self.part {
            Part::Read => ("disk.read", Unit::BytesPerSecond, highest),
            Part::Write => ("disk.write", Unit::BytesPerSecond, highest),
            Part::Processors => ("cpu.busy", Unit::Permille, Some(1_000.0)),
            Part::Waiting => ("cpu.wait", Unit::Permille, Some(1_000.0)),
            _ => ("", Unit::Count, None),
        };
        self.part = part;
        let Some(((first, origin), full)) = graph.first().copied().zip(full) else {
            return;
        };
        let name = recorder.name(name);
        let series = recorder.series(self.clock, (name, None), unit, origin);
        let mut reached = first.start;
        for (bar, _) in graph {
            // What is next to nothing is not drawn.
            if bar.start > reached {
                recorder.sample(series, bar.start, 0);
            }
            reached = bar.start.saturating_add(bar.length);
            let value = bar.height / (self.settings.scale.1 * GRAPH) * full;
            recorder.sample(series, reached, ns(value).unwrap_or(0));
        }
    }

    /// Counts a process that was listed and had no bar.
    fn not_drawn(&mut self, recorder: &mut Recorder) {
        if let Some((listed, origin)) = self.listed.take()
            && !listed.drawn
        {
            recorder.skipped(origin, &NOT_DRAWN);
        }
    }

    fn finish(mut self, recorder: &mut Recorder) {
        self.begin(Part::Other, recorder);
        if let Some(origin) = self.initcalls {
            recorder.note(origin, &INITCALL_TIME, String::new);
        }
        let first = self.processes.iter().map(|p| p.first_seen).min();
        let end = Nanos(self.end);
        for mut process in self.processes {
            // There at the first sample: it began before. There at the last
            // one: it lives on.
            process.start = Some(process.first_seen).filter(|s| Some(*s) > first);
            process.end = Some(process.last_seen).filter(|e| *e < end);
            recorder.process(process);
        }
        let origin = Origin {
            source: self.source,
            offset: 0,
        };
        recorder.mark(self.clock, mark::KERNEL_CLOCK_START, 0, None, origin);
        if let Some(first) = first {
            recorder.mark(self.clock, "first-sample", first.0, None, origin);
        }
    }
}

/// A share of a length of time.
fn share_of(length: i64, share: f64) -> i64 {
    ns(length as f64 * share.clamp(0.0, 1.0)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::Listed;

    #[test]
    fn names_hold_anything() {
        let of = |comment: &str| {
            let listed = Listed::of(comment);
            listed.map(|l| {
                let (name, command) = l.names();
                (
                    name.to_owned(),
                    command.map(str::to_owned),
                    l.pid,
                    l.parent,
                    l.ran,
                )
            })
        };
        assert_eq!(
            of(" a [1] ppid=2 runtime=b [94] ppid=1 runtime=1644.259ms "),
            Some((
                "a [1] ppid=2 runtime=b".to_owned(),
                None,
                94,
                1,
                1_644_259_000
            ))
        );
        assert_eq!(
            of("/bin/sh -c x  [5] ppid=0 runtime=0.000ms"),
            Some(("sh".to_owned(), Some("/bin/sh -c x".to_owned()), 5, 0, 0))
        );
        for comment in ["", "x [1] ppid=1 runtime=1s", "x 1 ppid=1 runtime=1ms"] {
            assert_eq!(of(comment), None, "{comment}");
        }
    }
}
