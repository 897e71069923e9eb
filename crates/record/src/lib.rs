//! The model of one boot.
//!
//! A [`Recorder`] takes events in any order, each with a time on the clock of
//! its source. [`Recorder::finish`] brings them onto one clock, moves zero to a
//! named mark, sorts them, and gives an immutable [`Record`].
//!
//! Nothing here reads a file, reads a clock, prints, or iterates in hash order:
//! the same events give the same record, whatever order they came in.
//!
//! ```
//! use firstlight_record::{ClockKind, Origin, Phase, Recorder, SpanKind};
//!
//! let mut recorder = Recorder::new();
//! let source = recorder.source("dmesg.txt", "kernel-log");
//! let clock = recorder.clock("printk", ClockKind::Printk, 1_000);
//! let at = |offset| Origin { source, offset };
//! recorder.mark(clock, "kernel-start", 0, Some(Phase::Kernel), at(0));
//! let name = recorder.name("slow_init");
//! let call = recorder.span_of(clock, SpanKind::Initcall, name, at(80));
//! recorder.span(call.start(Some(1_000_000)).end(Some(251_000_000)));
//! let record = recorder.finish();
//!
//! let span = &record.spans()[0];
//! assert_eq!(record.name(span.name), "slow_init");
//! assert_eq!(span.duration().unwrap().to_string(), "250.0 ms");
//! ```

mod arrival;
mod calls;
mod clock;
mod console;
mod counter;
mod event;
mod io;
mod matching;
mod name;
mod note;
mod process;
mod record;
mod recorder;
mod series;
mod source;
mod table;
mod tables;
mod time;
mod words;

pub mod mark;

pub use arrival::Arrival;
pub use calls::{Call, CallId, CallTree, FunctionSum};
pub use clock::{Clock, ClockId, ClockKind};
pub use counter::{
    COUNTER, CounterDoubt, CounterRate, CounterReading, CourseNotes, KernelClockStart, KernelCourse,
};
pub use event::{Dependency, DependencyKind, Doubt, Fact, Mark, Message, Phase, Span, SpanKind};
pub use io::{Access, AccessKind, Device, Operation, Request, RequestEvents, RequestTotals, Tally};
pub use name::NameId;
pub use note::{Note, NoteKind, Severity};
pub use process::{OpenSlice, Process, Slice, TaskState, Wake};
pub use record::Record;
pub use recorder::{Recorder, SpanBuilder};
pub use series::{Sample, Series, SeriesId, Unit};
pub use source::{Origin, SourceId, SourceInfo};
pub use time::{Nanos, When};
pub use words::{counted, plural};
