//! One boot, as analyses see it.

mod tables;

use crate::clock::{Clock, ClockId};
use crate::counter::KernelClockStart;
use crate::event::{Dependency, Fact, Mark, Message, Span};
use crate::name::{NameId, Names};
use crate::note::Note;
use crate::source::{SourceId, SourceInfo};
use crate::tables::Tables;
use crate::time::Nanos;

/// Stamps of such a step are coarse: a boot has many lines in it.
const COARSE: Nanos = Nanos::from_millis(10);

/// One boot: sorted, on one clock, immutable.
#[derive(Debug)]
pub struct Record {
    pub(crate) names: Names,
    pub(crate) sources: Vec<SourceInfo>,
    pub(crate) clock: ClockId,
    pub(crate) clocks: Vec<Clock>,
    pub(crate) zero: String,
    pub(crate) kernel_clock: Option<KernelClockStart>,
    pub(crate) last: Option<Nanos>,
    pub(crate) marks: Vec<Mark>,
    pub(crate) spans: Vec<Span>,
    pub(crate) messages: Vec<Message>,
    pub(crate) text: String,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) facts: Vec<Fact>,
    pub(crate) notes: Vec<Note>,
    pub(crate) tables: Tables,
}

impl Record {
    /// The name behind an id of this record; empty for an id of another one.
    #[must_use]
    pub fn name(&self, id: NameId) -> &str {
        self.names.get(id)
    }

    /// The sources, in the order they were read.
    #[must_use]
    pub fn sources(&self) -> &[SourceInfo] {
        &self.sources
    }

    /// The source behind an id of this record.
    #[must_use]
    pub fn source(&self, id: SourceId) -> Option<&SourceInfo> {
        self.sources.get(usize::from(id.0))
    }

    /// The clock that all times are on; `None` if nothing carries a time.
    #[must_use]
    pub fn clock(&self) -> Option<&Clock> {
        self.clocks.get(usize::from(self.clock.0))
    }

    /// Every clock that a source announced.
    #[must_use]
    pub fn clocks(&self) -> &[Clock] {
        &self.clocks
    }

    /// The name of the mark at time zero.
    #[must_use]
    pub fn zero(&self) -> &str {
        &self.zero
    }

    /// When the clock of the kernel's log began on a counter that runs from reset; `None` if
    /// no input tells, or the counter may not have started at the reset that began this boot.
    #[must_use]
    pub const fn kernel_clock(&self) -> Option<KernelClockStart> {
        self.kernel_clock
    }

    /// The last time of any event; `None` if nothing carries a time.
    #[must_use]
    pub fn last(&self) -> Option<Nanos> {
        self.last
    }

    /// Instants, by time.
    #[must_use]
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// The earliest mark of this name.
    #[must_use]
    pub fn mark(&self, name: &str) -> Option<&Mark> {
        self.marks.iter().find(|m| self.name(m.name) == name)
    }

    /// Intervals, by start (or by end, if the start was lost).
    #[must_use]
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Log lines, in the order of their evidence.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// What a log line says.
    #[must_use]
    pub fn text(&self, message: &Message) -> &str {
        let start = message.start as usize;
        let end = start.saturating_add(message.len as usize);
        self.text.get(start..end).unwrap_or("")
    }

    /// The step of the stamps that a log line's time is from, if it is coarse, such as a
    /// whole second: the line was written at any time within that step. Else zero.
    #[must_use]
    pub fn coarse_step(&self, message: &Message) -> Nanos {
        let clock = self.clocks.get(usize::from(message.clock.0));
        let step = clock.map_or(0, |c| c.resolution_ns);
        let step = Nanos(i64::try_from(step).unwrap_or(i64::MAX));
        if step >= COARSE { step } else { Nanos::ZERO }
    }

    /// Which unit depends on which.
    #[must_use]
    pub fn dependencies(&self) -> &[Dependency] {
        &self.dependencies
    }

    /// What holds for the whole boot.
    #[must_use]
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    /// The value of the first fact of this key.
    #[must_use]
    pub fn fact(&self, key: &str) -> Option<&str> {
        let fact = self.facts.iter().find(|f| self.name(f.key) == key)?;
        Some(self.name(fact.value))
    }

    /// The ledger, losses first.
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }
}
