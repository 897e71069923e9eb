//! The model of one boot.
//!
//! A [`Recorder`] takes events in any order, each with a time on the clock of
//! its source. [`Recorder::finish`] brings them onto one clock, moves zero to a
//! named mark, sorts them, and gives an immutable [`Record`].
//!
//! Nothing here reads a file, reads a clock, prints, or iterates in hash order:
//! the same events give the same record, whatever order they came in.

mod calls;
mod clock;
mod console;
mod event;
mod io;
mod matching;
mod name;
mod note;
mod process;
mod record;
mod recorder;
mod series;
mod table;
mod tables;
mod time;

pub mod mark;

pub use calls::{Call, CallId, CallTree, FunctionSum};
pub use clock::{Clock, ClockId, ClockKind};
pub use console::Arrival;
pub use event::{
    Dependency, DependencyKind, Doubt, Fact, Mark, Message, Origin, Phase, SourceId, SourceInfo,
    Span, SpanKind,
};
pub use io::{Access, AccessKind, Device, Operation, Request, RequestEvents, RequestTotals, Tally};
pub use name::NameId;
pub use note::{Note, NoteKind, Severity};
pub use process::{OpenSlice, Process, Slice, TaskState, Wake};
pub use record::Record;
pub use recorder::{Recorder, SpanBuilder};
pub use series::{Sample, Series, SeriesId, Unit};
pub use time::{Nanos, When};
