//! The critical path: what first light waited for, from power-on to the end.
//!
//! Until the kernel starts the first program a boot is one thing after another.
//! After that, units wait for those that they are ordered after, or processes
//! for each other, for the processor and for storage. All are activities of one
//! graph; the path is the way back from first light, at each step to the one
//! that was waited for last.

mod activity;
mod back;
mod calls;
mod device;
mod gate;
mod graph;
mod kernel;
mod lives;
mod model;
mod order;
mod processes;
mod replay;
mod report;
mod schedule;
mod units;
mod usual;
mod waiters;
mod what_if;

pub(crate) use model::{Model, Through};
pub use report::{CriticalPath, PathItem, PathKind, PathProgram, UnitOrder};
pub(crate) use units::device_waits;
pub(crate) use usual::is_early;
pub(crate) use waiters::{OLD_SETTLE, SETTLE, SETTLE_SHARED, is_settle};
pub(crate) use what_if::Shorter;
pub use what_if::{Estimate, NewItem};

use crate::phases::Phases;
use record::Record;

/// What first light waited for. Empty without any phase. The userspace is told
/// unit by unit, or process by process where no units with their order are
/// known and the tasks were traced.
#[must_use]
pub fn critical_path(record: &Record, phases: &Phases) -> CriticalPath {
    Model::new(record, phases, Through::Units).path()
}

/// The same, process by process wherever the tasks were traced.
#[must_use]
pub fn critical_path_of_processes(record: &Record, phases: &Phases) -> CriticalPath {
    Model::new(record, phases, Through::Processes).path()
}
