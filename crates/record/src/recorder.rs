//! From events in any order to one sorted record.

mod counter;
mod day;
mod finish;
mod tables;

use crate::clock::{Clock, ClockId, ClockKind, SyncPoint};
use crate::counter::Counter;
use crate::event::{Dependency, DependencyKind, Doubt, Fact, Mark, Message, Phase, Span, SpanKind};
use crate::io::Device;
use crate::name::{NameId, Names};
use crate::note::{Note, NoteKind};
use crate::source::{Origin, SourceId, SourceInfo};
use crate::table::TABLE_FULL;
use crate::tables::Tables;
use crate::time::Nanos;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// How many others a span may pass, on average, when it is put in its place as
/// it comes. Sources see spans end, so most come nearly in the order of their
/// starts: in a real log of 2,139 calls a span passed 1.4 others.
const MOST_PASSED: usize = 8;

/// The most facts of a record: a configuration of a kernel has some hundred.
const MOST_FACTS: usize = 100_000;

/// Builds a [`crate::Record`]: takes everything, in any order.
#[derive(Debug, Default)]
pub struct Recorder {
    names: Names,
    sources: Vec<SourceInfo>,
    pub(crate) clocks: Vec<Clock>,
    /// Which clocks an event is on; a message without a time is on none.
    used: Vec<bool>,
    /// The last time of an event, on whichever clock.
    last: Option<Nanos>,
    pub(crate) sync: Vec<SyncPoint>,
    /// Ticks per second of counters.
    rates: BTreeMap<String, u64>,
    /// Devices that are not the boot's own.
    passed_over: BTreeSet<Device>,
    marks: Vec<(ClockId, Mark)>,
    spans: Vec<Span>,
    /// How many spans were passed by others that came later.
    passed: usize,
    /// Whether that were too many, so that the spans are not in their order.
    spans_unsorted: bool,
    pub(crate) messages: Vec<Message>,
    text: String,
    dependencies: Vec<Dependency>,
    facts: Vec<Fact>,
    notes: Vec<Note>,
    pub(crate) tables: Tables,
    counter: Counter,
}

/// A span about to be recorded: its clock, kind and evidence are known, the
/// rest is filled in by name.
#[derive(Clone, Copy, Debug)]
pub struct SpanBuilder {
    span: Span,
}

impl SpanBuilder {
    /// Where it ran.
    #[inline]
    #[must_use]
    pub fn track(mut self, track: Option<NameId>) -> Self {
        self.span.track = track;
        self
    }

    /// When it began, in nanoseconds on its clock.
    #[inline]
    #[must_use]
    pub fn start(mut self, ns: Option<i64>) -> Self {
        self.span.start = ns.map(Nanos);
        self
    }

    /// When it ended, in nanoseconds on its clock.
    #[inline]
    #[must_use]
    pub fn end(mut self, ns: Option<i64>) -> Self {
        self.span.end = ns.map(Nanos);
        self
    }

    /// The duration that the source states.
    #[inline]
    #[must_use]
    pub fn reported(mut self, ns: Option<i64>) -> Self {
        self.span.reported = ns.map(Nanos);
        self
    }

    /// Its processor time, in nanoseconds.
    #[inline]
    #[must_use]
    pub fn processor(mut self, ns: Option<i64>) -> Self {
        self.span.processor = ns.map(Nanos);
        self
    }

    /// What it returned.
    #[inline]
    #[must_use]
    pub fn outcome(mut self, outcome: Option<i32>) -> Self {
        self.span.outcome = outcome;
        self
    }

    /// Why its numbers should not be taken at face value.
    #[inline]
    #[must_use]
    pub fn doubt(mut self, doubt: Option<Doubt>) -> Self {
        self.span.doubt = doubt;
        self
    }
}

impl Recorder {
    /// An empty recorder.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The stamps of a source turn out to move in ticks: of its initcalls the duration that is
    /// stated is the better one, if nothing else is wrong with it.
    pub fn stamps_tick(&mut self, source: SourceId) {
        let of_source = self.spans.iter_mut().filter(|s| s.origin.source == source);
        for span in of_source.filter(|s| s.kind == SpanKind::Initcall && s.reported.is_some()) {
            let of_stamps = [Doubt::Console, Doubt::Disagree, Doubt::ZeroClock];
            if span.doubt.is_none_or(|d| of_stamps.contains(&d)) {
                span.doubt = Some(Doubt::TickClock);
            }
        }
    }

    /// Announces a source. A record holds at most 65,535 of them.
    pub fn source(&mut self, name: &str, format: &'static str) -> SourceId {
        let id = SourceId(u16::try_from(self.sources.len()).unwrap_or(u16::MAX));
        self.sources.push(SourceInfo {
            name: name.to_owned(),
            format,
            units: 0,
            events: 0,
            noted: 0,
        });
        id
    }

    /// Makes room for what a source of a large input expects to record, where
    /// it can be had. Lists that grow are copied; room that stays unused costs
    /// nothing, since memory is handed out when it is first written to.
    pub fn reserve(&mut self, spans: usize, messages: usize, text_bytes: usize) {
        self.spans.try_reserve(spans).ok();
        self.messages.try_reserve(messages).ok();
        self.text.try_reserve(text_bytes).ok();
    }

    /// The id of a name, new or known.
    pub fn name(&mut self, name: &str) -> NameId {
        self.names.intern(name)
    }

    /// The id of a name in bytes; what is no UTF-8 becomes U+FFFD.
    pub fn name_lossy(&mut self, name: &[u8]) -> NameId {
        self.names.intern_lossy(name)
    }

    /// The clock called `name`, new or known. Sources that read the same clock
    /// of the same boot share it by its name; the finest resolution is kept.
    pub fn clock(&mut self, name: &str, kind: ClockKind, resolution_ns: u64) -> ClockId {
        let known = self.clocks.iter().position(|c| c.name == name);
        let index = known.unwrap_or(self.clocks.len());
        match self.clocks.get_mut(index) {
            Some(c) if c.resolution_ns == 0 => c.resolution_ns = resolution_ns,
            Some(c) if resolution_ns > 0 => c.resolution_ns = c.resolution_ns.min(resolution_ns),
            Some(_) => {}
            None => {
                self.clocks.push(Clock {
                    name: name.to_owned(),
                    kind,
                    resolution_ns,
                    error_ns: None,
                });
                self.used.push(false);
            }
        }
        ClockId(u16::try_from(index).unwrap_or(u16::MAX))
    }

    /// Says how many ticks a counter makes in a second, for sources that have
    /// its ticks and nothing else.
    pub fn set_rate(&mut self, clock: &str, hz: u64) {
        self.rates.insert(clock.to_owned(), hz);
    }

    /// How many ticks the counter of this name makes in a second, if a source
    /// said it.
    #[must_use]
    pub fn rate(&self, clock: &str) -> Option<u64> {
        self.rates.get(clock).copied()
    }

    /// Says that `device` is not the boot's own: what sources say was asked of it is
    /// passed over.
    pub fn pass_over(&mut self, device: Device) {
        self.passed_over.insert(device);
    }

    /// Whether what was asked of `device` is passed over.
    #[must_use]
    pub fn passes_over(&self, device: Device) -> bool {
        self.passed_over.contains(&device)
    }

    /// Says that clock `a` read `at_a` when clock `b` read `at_b`, both in
    /// nanoseconds, within `error_ns`.
    pub fn relate(
        &mut self,
        (a, at_a): (ClockId, i64),
        (b, at_b): (ClockId, i64),
        error_ns: u64,
        origin: Option<Origin>,
    ) {
        self.sync.push(SyncPoint {
            a,
            at_a,
            b,
            at_b,
            error_ns,
            origin,
        });
    }

    /// Counts one line or packet of `source` that became one or more events.
    #[inline]
    pub fn took(&mut self, source: SourceId) {
        if let Some(s) = self.sources.get_mut(usize::from(source.0)) {
            s.units += 1;
            s.events += 1;
        }
    }

    /// Counts `count` lines or packets of `source` that became events.
    pub fn took_many(&mut self, source: SourceId, count: u64) {
        if let Some(s) = self.sources.get_mut(usize::from(source.0)) {
            s.units = s.units.saturating_add(count);
            s.events = s.events.saturating_add(count);
        }
    }

    /// Counts `count` lines or packets that became no event, the first of them
    /// at `origin`, and says why.
    pub fn skipped_many(
        &mut self,
        origin: Origin,
        kind: &NoteKind,
        count: u64,
        detail: impl FnOnce() -> String,
    ) {
        if let Some(s) = self.sources.get_mut(usize::from(origin.source.0)) {
            s.units = s.units.saturating_add(count);
            s.noted = s.noted.saturating_add(count);
        }
        self.note_many(origin, kind, count, detail);
    }

    /// Counts one line or packet that became no event, and says why.
    pub fn skipped(&mut self, origin: Origin, kind: &NoteKind) {
        if let Some(s) = self.sources.get_mut(usize::from(origin.source.0)) {
            s.units += 1;
            s.noted += 1;
        }
        self.note(origin, kind, String::new);
    }

    /// Notes something about events that are recorded: a doubt, a loss. The
    /// detail is asked for at the first occurrence only.
    pub fn note(&mut self, origin: Origin, kind: &NoteKind, detail: impl FnOnce() -> String) {
        self.note_many(origin, kind, 1, detail);
    }

    /// [Notes](Self::note) something that occurred `count` times, first at `origin`.
    pub fn note_many(
        &mut self,
        origin: Origin,
        kind: &NoteKind,
        count: u64,
        detail: impl FnOnce() -> String,
    ) {
        let place = Some(origin.source);
        // From the end: the kinds of the source that is being read are there.
        let known = self
            .notes
            .iter_mut()
            .rev()
            .find(|n| n.source == place && n.kind.name == kind.name);
        match known {
            Some(n) => {
                n.count = n.count.saturating_add(count);
                if n.first.is_some_and(|f| origin < f) {
                    n.first = Some(origin);
                    n.detail = detail();
                }
            }
            None => self.notes.push(Note {
                kind: *kind,
                count,
                source: place,
                first: Some(origin),
                detail: detail(),
            }),
        }
    }

    /// Notes something about the record as a whole.
    pub fn note_whole(&mut self, kind: &NoteKind, detail: String) {
        self.notes.push(Note {
            kind: *kind,
            count: 1,
            source: None,
            first: None,
            detail,
        });
    }

    /// An instant. `at` is in nanoseconds on `clock`.
    pub fn mark(
        &mut self,
        clock: ClockId,
        name: &str,
        at: i64,
        begins: Option<Phase>,
        origin: Origin,
    ) {
        let name = self.names.intern(name);
        let at = Nanos(at);
        self.uses(clock, Some(at));
        self.marks.push((
            clock,
            Mark {
                name,
                at,
                begins,
                origin,
            },
        ));
    }

    /// Begins a span; [`Self::span`] records it.
    #[inline]
    #[must_use]
    pub fn span_of(
        &self,
        clock: ClockId,
        kind: SpanKind,
        name: NameId,
        origin: Origin,
    ) -> SpanBuilder {
        SpanBuilder {
            span: Span {
                kind,
                name,
                track: None,
                start: None,
                end: None,
                reported: None,
                outcome: None,
                processor: None,
                doubt: None,
                origin,
                clock,
            },
        }
    }

    /// The spans whose times are on `clock`, in no particular order.
    pub(crate) fn spans_on(&self, clock: ClockId) -> impl Iterator<Item = &Span> {
        self.spans.iter().filter(move |s| s.clock == clock)
    }

    /// Records an interval.
    #[inline]
    pub fn span(&mut self, span: SpanBuilder) {
        let span = span.span;
        self.uses(span.clock, span.end.max(span.start));
        match self.spans.last() {
            Some(last)
                if first(last) >= first(&span) && order(&self.names, last, &span).is_gt() =>
            {
                self.span_before_others(span);
            }
            _ => self.spans.push(span),
        }
    }

    /// Records a span that began before the last one.
    fn span_before_others(&mut self, span: Span) {
        if self.spans_unsorted {
            self.spans.push(span);
            return;
        }
        let most = (self.spans.len() + 1) * MOST_PASSED - self.passed;
        let last = self.spans.iter().rev().take(most);
        let later = last.take_while(|s| order(&self.names, s, &span).is_gt());
        let later = later.count();
        self.spans_unsorted = later == most;
        self.passed += later;
        self.spans.insert(self.spans.len() - later, span);
    }

    /// Remembers that an event is on `clock`, and its last time, if it has one.
    #[inline]
    pub(crate) fn uses(&mut self, clock: ClockId, last: Option<Nanos>) {
        if let Some(used) = self.used.get_mut(usize::from(clock.0)) {
            *used = true;
        }
        self.last = self.last.max(last);
    }

    /// Records a line of a log, in words.
    ///
    /// The texts of a record hold 4 GiB together; past that they are empty.
    pub fn message(
        &mut self,
        clock: ClockId,
        at: Option<i64>,
        level: Option<u8>,
        text: &str,
        origin: Origin,
    ) {
        let (start, len) = match (u32::try_from(self.text.len()), u32::try_from(text.len())) {
            (Ok(start), Ok(len)) if start.checked_add(len).is_some() => {
                self.text.push_str(text);
                (start, len)
            }
            _ => (0, 0),
        };
        let at = at.map(Nanos);
        if at.is_some() {
            self.uses(clock, at);
        }
        self.messages.push(Message {
            at,
            level,
            origin,
            clock,
            start,
            len,
        });
    }

    /// What a line of a log says.
    pub(crate) fn text_of(&self, message: &Message) -> &str {
        let start = message.start as usize;
        let end = start.saturating_add(message.len as usize);
        self.text.get(start..end).unwrap_or("")
    }

    /// Records that one unit depends on another.
    pub fn dependency(&mut self, from: &str, to: &str, kind: DependencyKind, origin: Origin) {
        let (from, to) = (self.names.intern(from), self.names.intern(to));
        self.dependencies.push(Dependency {
            from,
            to,
            kind,
            origin,
        });
    }

    /// Records something that holds for the whole boot.
    pub fn fact(&mut self, key: &str, value: &str, origin: Origin) {
        if self.facts.len() >= MOST_FACTS {
            self.note(origin, &TABLE_FULL, || "facts".to_owned());
            return;
        }
        let (key, value) = (self.names.intern(key), self.names.intern(value));
        self.facts.push(Fact { key, value, origin });
    }
}

/// The order of spans: by start (or by end, if the start was lost), and then
/// by all that tells two of them apart.
fn order(names: &Names, a: &Span, b: &Span) -> Ordering {
    let rest = |s: &Span| (s.origin, s.kind, s.end, s.reported, s.outcome);
    first(a)
        .cmp(&first(b))
        .then_with(|| rest(a).cmp(&rest(b)))
        .then_with(|| names.get(a.name).cmp(names.get(b.name)))
}

/// The earliest time that is known of a span.
#[inline]
fn first(span: &Span) -> Option<Nanos> {
    span.start.or(span.end)
}
