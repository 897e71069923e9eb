//! The model of one boot.
//!
//! A [`Recorder`] takes events in any order, each with a time on the clock of
//! its source. [`Recorder::finish`] brings them onto one clock, moves zero to a
//! named mark, sorts them, and gives an immutable [`Record`].
//!
//! Nothing here reads a file, reads a clock, prints, or iterates in hash order:
//! the same events give the same record, whatever order they came in.

mod clock;
mod event;
mod name;
mod note;
mod record;
mod recorder;
mod time;

pub mod mark;

pub use clock::{Clock, ClockId, ClockKind};
pub use event::{
    Dependency, DependencyKind, Doubt, Fact, Mark, Message, Origin, Phase, SourceId, SourceInfo,
    Span, SpanKind,
};
pub use name::NameId;
pub use note::{Note, NoteKind, Severity};
pub use record::Record;
pub use recorder::{Recorder, SpanBuilder};
pub use time::Nanos;
