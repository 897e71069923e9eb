//! `trace.dat`, as trace-cmd and the agent write it: versions 6 and 7.

mod compress;
mod cursor;
mod format;
mod header;
mod packet;
mod page;
mod section;
mod stream;

use super::clocks::{self, Scale, TraceClock};
use super::interpret::{Interpreter, Outcome};
use super::moment::Moment;
use super::notes;
use super::symbols::Symbols;
use crate::source::{Input, Sniff, Source};
use crate::text::{lines, lossy, number};
use compress::Compression;
use header::{Buffer, Content, Header, MAGIC, Sections, Start};
use packet::Events;
use record::{ClockKind, Origin, Recorder, SourceId};
use stream::{Merge, Shape, Troubles};

/// A `trace.dat`: events of the kernel's ring buffer with their formats.
///
/// A unit is an event; those that the kernel lost are counted in a note and in
/// no unit. Events of the main buffer and of instances are read buffer by
/// buffer, those of a buffer's processors in the order of time.
#[derive(Debug)]
pub struct TraceDat;

/// Whether `file` is a `trace.dat` whose parts are compressed, as version 7 may have them.
#[must_use]
pub fn is_compressed(file: &[u8]) -> bool {
    Start::of(file).is_ok_and(|start| start.compression != Compression::None)
}

impl Source for TraceDat {
    fn name(&self) -> &'static str {
        "trace.dat"
    }

    fn description(&self) -> &'static str {
        "binary ftrace recording, version 6 or 7: `trace-cmd record`"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        match head.starts_with(MAGIC) {
            true => Sniff::Yes,
            false => Sniff::No,
        }
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        let source = recorder.source(input.name, self.name());
        let start = match Start::of(input.bytes) {
            Ok(start) => start,
            Err(damage) => {
                let origin = Origin {
                    source,
                    offset: damage.at,
                };
                recorder.skipped_many(origin, &notes::DAMAGED_TRACE, 1, || {
                    format!("expected {}", damage.expected)
                });
                return;
            }
        };
        let sections = Sections::of(input.bytes, start);
        let header = Header::of(input.bytes, start, &sections);
        Reader {
            file: input.bytes,
            source,
            start,
            header: &header,
        }
        .read(recorder);
    }

    fn is_bounded(&self) -> bool {
        true
    }
}

/// Reads the buffers of a file.
struct Reader<'a> {
    file: &'a [u8],
    source: SourceId,
    start: Start,
    header: &'a Header<'a>,
}

impl<'a> Reader<'a> {
    fn origin(&self, offset: u64) -> Origin {
        let source = self.source;
        Origin { source, offset }
    }

    fn read(&self, recorder: &mut Recorder) {
        self.facts(recorder);
        for damage in &self.header.damage {
            recorder.skipped_many(self.origin(damage.at), &notes::DAMAGED_TRACE, 1, || {
                format!("first: expected {}", damage.expected)
            });
        }
        let mut clocks: Vec<&[u8]> = Vec::new();
        let mut seen = Vec::new();
        let mut lost = 0;
        for buffer in &self.header.buffers {
            let clock = self.clock_name(buffer);
            if !clocks.is_empty() && !clocks.contains(&clock) {
                recorder.note(self.origin(0), &notes::SEVERAL_CLOCKS, || {
                    lossy(clock).into_owned()
                });
            }
            clocks.push(clock);
            match &buffer.content {
                Content::Pages {
                    streams,
                    page_bytes,
                    packed,
                } => {
                    let shape = Shape {
                        order: self.start.order,
                        layout: self.header.layout,
                        page_bytes: self.header.layout.page_bytes(*page_bytes),
                        compression: self.start.compression,
                        packed: *packed,
                    };
                    let merge = Merge::new(self.file, streams, shape);
                    lost += self.pages(merge, clock, &mut seen, recorder);
                }
                Content::Text { offset, packed } => self.text(*offset, *packed, recorder),
            }
        }
        self.losses(lost, recorder);
    }

    /// Which clock a buffer is stamped by.
    fn clock_name(&self, buffer: &'a Buffer) -> &'a [u8] {
        let own = buffer.clock.as_deref().filter(|c| !c.is_empty());
        let whole = self.header.clock.as_deref().filter(|c| !c.is_empty());
        own.or(whole).unwrap_or(clocks::USUAL)
    }

    /// Reads the events of a buffer. How many the kernel lost, by its pages.
    fn pages(
        &self,
        mut merge: Merge<'_>,
        clock: &[u8],
        seen: &mut Vec<u16>,
        recorder: &mut Recorder,
    ) -> u64 {
        let tsc = self.header.tsc.map(|tsc| Scale::Ticks {
            mult: tsc.mult.into(),
            shift: tsc.shift,
        });
        let clock = clocks::clock(clock, tsc, recorder);
        if let Some(kind) = clock.note {
            recorder.note(self.origin(0), kind, String::new);
        }
        let symbols = Symbols::new(self.header.symbols);
        let page_bytes = u64::from(self.start.page_bytes);
        let mut interpreter = Interpreter::new(clock.id, page_bytes, symbols);
        let mut events = Events::of(&self.header.formats, self.start.order, recorder);
        interpreter.tasks.set_letters(events.state_letters());
        self.introduce(&mut interpreter, recorder);
        let mut first = true;
        let mut before = i64::MIN;
        let mut taken: u64 = 0;
        let mut unknown: Option<(Origin, u64)> = None;
        let mut missed = 0;
        while let Some(event) = merge.next() {
            let origin = self.origin(event.at);
            if event.missed != missed {
                missed = event.missed;
                interpreter.events_lost(recorder);
            }
            let at = clock
                .scale
                .apply(event.time)
                .saturating_add(self.header.offset_ns);
            if first {
                first = false;
                self.relate_date(clock, at, origin, recorder);
            }
            if at < before {
                recorder.note(origin, &notes::TIME_DISORDER, String::new);
            }
            before = before.max(at);
            let Some((packet, pid)) = events.packet(event.data) else {
                let count = unknown.map_or(0, |u| u.1);
                unknown = Some((unknown.map_or(origin, |u| u.0), count + 1));
                continue;
            };
            let Some((known, name)) = packet.known() else {
                events.count_unused(event.data, origin);
                continue;
            };
            let moment = Moment {
                at,
                cpu: event.cpu,
                pid,
                comm: None,
                origin,
            };
            match interpreter.event(&moment, known, name, &packet, recorder) {
                Outcome::Taken => taken += 1,
                Outcome::Bad => recorder.skipped(origin, &notes::BAD_EVENT),
                Outcome::Noted(kind) => recorder.skipped(origin, kind),
            }
        }
        recorder.took_many(self.source, taken);
        if let Some((origin, count)) = unknown {
            recorder.skipped_many(origin, &notes::UNKNOWN_EVENT_ID, count, String::new);
        }
        events.finish(seen, recorder);
        if events.needs_symbols() && interpreter.symbols.are_hidden() {
            recorder.note(self.origin(0), &notes::NO_SYMBOLS, String::new);
        }
        interpreter.finish(recorder);
        self.troubles(&merge.troubles, recorder)
    }

    /// What saved_cmdlines says of the tasks: `PID NAME` in each line.
    fn introduce(&self, interpreter: &mut Interpreter<'_>, recorder: &mut Recorder) {
        for line in lines(self.header.names) {
            let Some((pid, [b' ', comm @ ..])) = number(line.bytes.trim_ascii_start()) else {
                continue;
            };
            if let Ok(pid) = u32::try_from(pid) {
                interpreter.introduce(pid, comm, self.origin(0), recorder);
            }
        }
    }

    /// `trace-cmd record --date`: the time of day beside the trace's clock.
    fn relate_date(&self, clock: TraceClock, at: i64, origin: Origin, recorder: &mut Recorder) {
        /// trace-cmd reads the two clocks some microseconds apart, several
        /// times, and keeps the closest pair.
        const ERROR_NS: u64 = 100_000;
        let Some(date_us) = self.header.date_us else {
            return;
        };
        let wall = recorder.clock("wall", ClockKind::Wall, 1_000);
        let then = date_us.saturating_mul(1_000).saturating_add(at);
        recorder.relate((clock.id, at), (wall, then), ERROR_NS, Some(origin));
    }

    fn text(&self, offset: u64, packed: bool, recorder: &mut Recorder) {
        let origin = self.origin(offset);
        match header::text_of(self.file, offset, packed, self.start) {
            Some(text) => {
                let clock = self.header.clock.as_deref().unwrap_or(clocks::USUAL);
                super::text::read(&text, (self.source, offset), clock, recorder);
            }
            None => recorder.skipped(origin, &notes::BAD_CHUNK),
        }
    }

    fn facts(&self, recorder: &mut Recorder) {
        let origin = self.origin(0);
        let header = self.header;
        for (key, value) in [
            ("trace.uname", &header.uname),
            ("trace.written_by", &header.version),
            ("trace.clock", &header.clock),
        ] {
            let value = value.as_deref().filter(|v| !v.is_empty());
            if let Some(value) = value {
                recorder.fact(key, lossy(value).trim(), origin);
            }
        }
        if header.shifted {
            recorder.note(origin, &notes::HOST_CORRECTION, String::new);
        }
    }

    /// Notes what pages could not give. How many events the kernel lost.
    fn troubles(&self, troubles: &Troubles, recorder: &mut Recorder) -> u64 {
        for (found, kind) in [
            (troubles.broken_pages, &notes::BROKEN_PAGE),
            (troubles.bad_chunks, &notes::BAD_CHUNK),
            (troubles.cut, &notes::TRUNCATED_TRACE),
        ] {
            if found.count > 0 {
                let origin = self.origin(found.first);
                recorder.skipped_many(origin, kind, found.count, String::new);
            }
        }
        let missed = troubles.missed;
        if missed.count == 0 {
            return 0;
        }
        let lost: u64 = troubles
            .lost
            .values()
            .fold(0, |sum, n| sum.saturating_add(*n));
        let detail = || {
            let cpus = troubles.lost.iter().filter(|l| *l.1 > 0);
            let mut words: Vec<String> = cpus.map(|(c, n)| format!("CPU {c}: {n}")).collect();
            if words.len() > 8 {
                words.truncate(8);
                words.push("...".to_owned());
            }
            words.join(", ")
        };
        let origin = self.origin(missed.first);
        recorder.note_many(origin, &notes::EVENTS_LOST, lost.max(missed.count), detail);
        lost
    }

    /// What the kernel's own statistics say beyond what pages say.
    fn losses(&self, by_pages: u64, recorder: &mut Recorder) {
        let mut lost: u64 = 0;
        for line in lines(&self.header.stats) {
            for key in [&b"overrun: "[..], b"commit overrun: ", b"dropped events: "] {
                let value = line.bytes.strip_prefix(key).and_then(number);
                lost = lost.saturating_add(value.map_or(0, |v| v.0));
            }
        }
        if lost > by_pages {
            let more = lost - by_pages;
            recorder.note_many(self.origin(0), &notes::EVENTS_LOST, more, || {
                format!("{lost} according to the kernel's statistics")
            });
        }
    }
}
