//! `firstlight.path/1`.

use super::Place;
use record::Nanos;
use serde::Serialize;

/// What first light waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Path {
    /// `firstlight.path/1`.
    pub schema: &'static str,
    /// The name of the mark at time zero.
    pub zero: String,
    /// What ended the boot.
    pub mark: String,
    /// When that was.
    pub end_ns: i64,
    /// Whether units and their order are known.
    pub knows_units: bool,
    /// Whether the userspace is told process by process.
    pub knows_processes: bool,
    /// In order; each begins where the one before it ended.
    pub items: Vec<PathItem>,
    /// What programs save, on the path or beside it: the most first.
    pub programs: Vec<PathProgram>,
}

/// A program that takes half its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PathProgram {
    /// Its name.
    pub name: String,
    /// How many processes of that name there were.
    pub processes: usize,
    /// What they worked, and waited for nobody who is known.
    pub time_ns: i64,
    /// How much earlier first light would come if that were half.
    pub saving_if_halved_ns: i64,
}

/// Something that first light waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PathItem {
    /// `phase`, `initcall`, `kernel`, `unit`, `process`, `io` or `wait`.
    pub kind: &'static str,
    /// Which one.
    pub name: String,
    /// When it began.
    pub start_ns: i64,
    /// When it ended.
    pub end_ns: i64,
    /// How much longer it could take without delaying first light.
    pub slack_ns: i64,
    /// How much earlier first light would come if it took half its time.
    pub saving_if_halved_ns: i64,
    /// The evidence; null if it has no place of its own.
    pub origin: Option<Place>,
}

/// The critical path, in the shape of `schemas/path.json`.
#[must_use]
pub fn path(path: &analysis::CriticalPath) -> Path {
    let item = |i: &analysis::PathItem| PathItem {
        kind: i.kind.as_str(),
        name: i.name.clone(),
        start_ns: i.start.get(),
        end_ns: i.end.get(),
        slack_ns: i.slack.get(),
        saving_if_halved_ns: i.saving_if_halved.get(),
        origin: i.origin.as_ref().map(Place::from),
    };
    let program = |p: &analysis::PathProgram| PathProgram {
        name: p.name.clone(),
        processes: p.processes,
        time_ns: p.time.get(),
        saving_if_halved_ns: p.saving_if_halved.get(),
    };
    Path {
        schema: "firstlight.path/1",
        zero: path.zero.clone(),
        mark: path.mark.clone(),
        end_ns: Nanos::get(path.end),
        knows_units: path.knows_units,
        knows_processes: path.knows_processes,
        items: path.items.iter().map(item).collect(),
        programs: path.programs.iter().map(program).collect(),
    }
}
