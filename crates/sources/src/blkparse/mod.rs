//! What `blkparse(1)` prints, in its default form.
//!
//! Its times count from the first event. Behind the events stands a summary,
//! which is not needed: it is the sum of what was read.

mod line;

use crate::balance::Balance;
use crate::block::{Assembler, Event};
use crate::source::{Input, Sniff, Source};
use crate::text::{Line, lines, lossy};
use hashbrown::HashMap;
use line::{Details, EventLine, What, parse};
use record::{ClockId, ClockKind, Device, NoteKind, Origin, Recorder, Severity, SourceId};

/// Text of `blkparse`.
#[derive(Debug)]
pub struct Blkparse;

/// The clock of its times, which begins at the first event.
const CLOCK: &str = "blkparse";

/// The mark at the first event.
const TRACE_START: &str = "block-trace-start";

/// Of how many processors, for each device, the event numbers are followed.
const MOST_STREAMS: usize = 1 << 16;

/// How many messages are kept, and how many bytes of each.
const MOST_MESSAGES: usize = 10_000;
const LONGEST_MESSAGE: usize = 256;

const BLANK_LINE: NoteKind =
    NoteKind::new("blank_line", Severity::Info, "Blank lines were skipped.");

const SUMMARY_LINE: NoteKind = NoteKind::new(
    "summary_line",
    Severity::Info,
    "The blkparse summary was skipped because it counts discards as writes and flushes as reads. \
     The events themselves were read.",
);

const TORN_LINE: NoteKind = NoteKind::new(
    "unrecognized_line",
    Severity::Doubt,
    "These lines are truncated or not in blkparse's default format. Run blkparse without `-f` and \
     `-F`.",
);

const NUMBERS_MISSING: NoteKind = NoteKind::new(
    "event_numbers_missing",
    Severity::Doubt,
    "The sequence numbers of a CPU's events have gaps. Events were lost or removed from the text.",
);

const SKIPPED: NoteKind = NoteKind::new(
    "events_missing",
    Severity::DataLoss,
    "blkparse reports lost events. Use larger or more buffers (`blktrace -b KIB -n COUNT`), and \
     write the trace to a disk that is not being traced.",
);

const CUT: NoteKind = NoteKind::new(
    "fewer_lines_than_events",
    Severity::DataLoss,
    "blkparse reports more events than there are lines. The text was truncated, or blkparse did \
     not support some events. Use the files that blktrace wrote.",
);

const MESSAGES_DROPPED: NoteKind = NoteKind::new(
    "trace_messages_dropped",
    Severity::Info,
    "Only the first 10,000 messages (mostly from I/O schedulers) were kept.",
);

impl Source for Blkparse {
    fn name(&self) -> &'static str {
        "blkparse"
    }

    fn description(&self) -> &'static str {
        "text of a block I/O trace: `blkparse -i NAME`"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        match lines(head).take(50).any(|l| parse(l.bytes).is_some()) {
            true => Sniff::Yes,
            false => Sniff::No,
        }
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        let source = recorder.source(input.name, self.name());
        let clock = recorder.clock(CLOCK, ClockKind::Monotonic, 1);
        let mut reader = Reader {
            source,
            clock,
            balance: Balance::new(source),
            assembler: Assembler::new(clock),
            numbers: HashMap::new(),
            messages: 0,
            events: 0,
            summed: None,
        };
        for line in lines(input.bytes) {
            reader.line(line, recorder);
        }
        reader.finish(recorder);
    }

    fn is_bounded(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct Reader {
    source: SourceId,
    clock: ClockId,
    balance: Balance,
    assembler: Assembler,
    /// The last number of each processor of each device.
    numbers: HashMap<(Device, u32), u64>,
    messages: usize,
    /// How many lines were events.
    events: u64,
    /// How many events there were by the summary.
    summed: Option<u64>,
}

impl Reader {
    fn line(&mut self, line: Line<'_>, recorder: &mut Recorder) {
        let origin = Origin {
            source: self.source,
            offset: line.offset,
        };
        if let Some(event) = parse(line.bytes) {
            if self.events == 0 {
                recorder.mark(self.clock, TRACE_START, event.at, None, origin);
            }
            self.events += 1;
            self.follow(&event, origin, recorder);
            match event.what {
                What::Event(details) => self.event(&event, &details, origin, recorder),
                What::Message(text) => self.message(event.at, text, origin, recorder),
            }
            return;
        }
        let text = line.bytes.trim_ascii();
        let kind = if text.is_empty() {
            &BLANK_LINE
        } else if self.is_summary(text, origin, recorder) {
            &SUMMARY_LINE
        } else {
            &TORN_LINE
        };
        self.balance.skipped(line.offset, kind, || {
            lossy(text.get(..80).unwrap_or(text)).into_owned()
        });
    }

    fn event(
        &mut self,
        line: &EventLine<'_>,
        details: &Details<'_>,
        origin: Origin,
        recorder: &mut Recorder,
    ) {
        let passed_over = details.action.passed_over().or_else(|| {
            let event = Event {
                at: line.at,
                action: details.action,
                device: line.device,
                sector: details.sector,
                bytes: details.bytes,
                asks: details.asks,
                error: details.error,
                pid: Some(line.pid),
                // What blkparse prints of a process whose name it does not know.
                task: details
                    .task
                    .filter(|t| !matches!(*t, b"(null)" | b"unknown" | b""))
                    .map(|t| recorder.name_lossy(t)),
                origin,
            };
            self.assembler.event(&event, recorder)
        });
        match passed_over {
            None => self.balance.took(),
            Some(kind) => self.balance.skipped(origin.offset, kind, String::new),
        }
    }

    fn message(&mut self, at: i64, text: &[u8], origin: Origin, recorder: &mut Recorder) {
        if self.messages >= MOST_MESSAGES {
            let kind = &MESSAGES_DROPPED;
            self.balance.skipped(origin.offset, kind, String::new);
            return;
        }
        self.messages += 1;
        let text = lossy(text.get(..LONGEST_MESSAGE).unwrap_or(text));
        recorder.message(self.clock, Some(at), None, &text, origin);
        self.balance.took();
    }

    /// Follows the numbers of a processor's events; messages have none.
    fn follow(&mut self, line: &EventLine<'_>, origin: Origin, recorder: &mut Recorder) {
        if matches!(line.what, What::Message(_)) {
            return;
        }
        let processor = (line.device, line.cpu);
        // The text of a part of a trace begins at any number.
        let is_room = self.numbers.len() < MOST_STREAMS;
        let Some(last) = self.numbers.get_mut(&processor) else {
            if is_room {
                self.numbers.insert(processor, line.sequence);
            }
            return;
        };
        let expected = last.saturating_add(1);
        if line.sequence > expected {
            let missing = line.sequence - expected;
            recorder.note_many(origin, &NUMBERS_MISSING, missing, || {
                format!("{missing} missing after number {last} of CPU {}", line.cpu)
            });
        }
        *last = line.sequence;
    }

    /// Whether a line is of the summary, of what it says is used: events that
    /// were lost, and how many there were.
    fn is_summary(&mut self, text: &[u8], origin: Origin, recorder: &mut Recorder) -> bool {
        let text = lossy(text);
        if let Some(rest) = text.strip_prefix("Skips: ") {
            let skips = rest.split_once(" forward (");
            let events = skips.and_then(|(_, rest)| grouped(rest.split_once(' ')?.0));
            let lost = events.filter(|n| *n > 0);
            if let Some(lost) = lost {
                recorder.note_many(origin, &SKIPPED, lost, || text.to_string());
            }
            return true;
        }
        if text.starts_with("Events (")
            && let Some(count) = text
                .rsplit_once("): ")
                .and_then(|(_, rest)| grouped(rest.strip_suffix(" entries")?))
        {
            self.summed = Some(self.summed.unwrap_or(0).saturating_add(count));
            return true;
        }
        let labels = [
            "Reads ",
            "Read ",
            "Writes ",
            "Write ",
            "PC ",
            "IO unplugs:",
            "Throughput ",
            "CPU",
            "Total (",
            "Input file ",
            "Allocation wait:",
            "Dispatch wait:",
            "Completion wait:",
            "discarded traces",
            "specific data",
        ];
        labels.iter().any(|l| text.starts_with(l)) || is_process(&text)
    }

    fn finish(self, recorder: &mut Recorder) {
        if let Some(summed) = self.summed
            && summed > self.events
        {
            let origin = Origin {
                source: self.source,
                offset: 0,
            };
            recorder.note_many(origin, &CUT, summed - self.events, || {
                format!("{summed} events, {} lines", self.events)
            });
        }
        self.assembler.finish(recorder);
        self.balance.finish(recorder);
    }
}

/// A number whose digits may be grouped: `1,234`.
fn grouped(text: &str) -> Option<u64> {
    let digits: String = text
        .chars()
        .filter(|c| !matches!(c, ',' | '.' | '\''))
        .collect();
    digits.trim().parse().ok()
}

/// `name (100)`, or `name (100, ...)`: what stands over the sums of a process.
fn is_process(text: &str) -> bool {
    let id = text
        .rsplit_once(" (")
        .and_then(|(_, id)| id.strip_suffix(')'));
    let id = id.map(|id| id.strip_suffix(", ...").unwrap_or(id));
    id.is_some_and(|id| !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()))
}
