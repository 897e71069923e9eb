//! `firstlight.path/1`.

use super::document::Document;
use super::place::Place;
use record::Nanos;
use schemars::JsonSchema;
use serde::Serialize;

/// Critical path: what first light waited for, in order.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Path {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Name of the mark at time zero.
    pub zero: String,
    /// Mark that ends the boot.
    pub mark: String,
    /// End of the boot.
    pub end_ns: i64,
    /// First light as it was.
    pub first_light_ns: i64,
    /// First light with the changes of `--without`, `--shorten` and `--processors`.
    pub new_first_light_ns: NewFirstLight,
    /// Critical path with these changes, as expected. Empty in a page.
    pub path: Vec<NewItem>,
    /// The changes.
    pub changed: Vec<PathChange>,
    /// What the input does not show, so that the range covers it.
    pub unknown: Vec<&'static str>,
    /// How the order of units is known: all of it, from a critical chain, guessed from the usual
    /// order, or not at all.
    #[schemars(extend("enum" = ["known", "chain", "guessed", "none"]))]
    pub order: &'static str,
    /// Whether the input shows units and their order.
    pub knows_units: bool,
    /// Whether the path shows userspace process by process.
    pub knows_processes: bool,
    /// Items of the path, in order. Each starts where the previous one ends.
    pub items: Vec<PathItem>,
    /// Programs on or off the path, the largest saving first.
    pub programs: Vec<PathProgram>,
}

impl Document for Path {
    const SCHEMA: &'static str = "firstlight.path/1";
    const TITLE: &'static str = "Output of `firstlight path --json`";
}

/// A time of first light, with its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct NewFirstLight {
    /// At the earliest.
    #[schemars(range(min = 0))]
    pub least: i64,
    /// Expected.
    #[schemars(range(min = 0))]
    pub expected: i64,
    /// At the latest.
    #[schemars(range(min = 0))]
    pub most: i64,
}

/// A change that the user asked for.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct PathChange {
    /// The name or pattern as given.
    pub wanted: String,
    /// The items that it means; empty if they are not on any way to first light.
    pub names: Vec<String>,
    /// Their time together.
    #[schemars(range(min = 0))]
    pub took_ns: i64,
    /// Their time with the change.
    #[schemars(range(min = 0))]
    pub takes_ns: i64,
}

/// An item of the critical path with the changes.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct NewItem {
    /// Kind of item.
    #[schemars(extend("enum" = ["phase", "initcall", "probe", "deferral", "kernel", "unit", "process", "io", "wait"]))]
    pub kind: &'static str,
    /// Name of the item.
    pub name: String,
    /// Start time.
    pub start_ns: i64,
    /// End time.
    pub end_ns: i64,
    /// Evidence; null if the item has none of its own.
    pub origin: Option<Place>,
}

/// A program, and the effect of halving its time.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct PathProgram {
    /// Name of the program.
    pub name: String,
    /// Number of its processes.
    #[schemars(range(min = 1))]
    pub processes: usize,
    /// Time in which its processes ran, or waited for no known other process.
    pub time_ns: i64,
    /// How much earlier first light would come if the program took half this time.
    #[schemars(range(min = 0))]
    pub saving_if_halved_ns: i64,
}

/// An item of the critical path.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct PathItem {
    /// Kind of item.
    #[schemars(extend("enum" = ["phase", "initcall", "probe", "deferral", "kernel", "unit", "process", "io", "wait"]))]
    pub kind: &'static str,
    /// Name of the item.
    pub name: String,
    /// Start time.
    pub start_ns: i64,
    /// End time.
    pub end_ns: i64,
    /// How much longer the item could take without delaying first light.
    pub slack_ns: i64,
    /// How much earlier first light would come if this item took half as long and nothing else
    /// changed.
    pub saving_if_halved_ns: i64,
    /// Evidence; null if the item has none of its own.
    pub origin: Option<Place>,
}

/// The critical path and its forecast, in the shape of `schemas/path.json`.
#[must_use]
pub fn path(found: &analysis::WhatIf) -> Path {
    let forecast = &found.forecast;
    let item = |i: &analysis::NewItem| NewItem {
        kind: i.kind.as_str(),
        name: i.name.clone(),
        start_ns: i.start.get(),
        end_ns: i.end.get(),
        origin: i.origin.as_ref().map(Place::from),
    };
    let change = |c: &analysis::Changed| PathChange {
        wanted: c.wanted.clone(),
        names: c.names.clone(),
        took_ns: c.took.get(),
        takes_ns: c.takes.get(),
    };
    Path {
        new_first_light_ns: NewFirstLight {
            least: forecast.new.least.get(),
            expected: forecast.new.expected.get(),
            most: forecast.new.most.get(),
        },
        path: forecast.path.iter().map(item).collect(),
        changed: forecast.changed.iter().map(change).collect(),
        unknown: forecast.unknown.clone(),
        ..as_it_was(&found.path)
    }
}

/// The critical path alone, for a page.
#[must_use]
pub fn as_it_was(path: &analysis::CriticalPath) -> Path {
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
    let end = Nanos::get(path.end);
    Path {
        schema: Path::SCHEMA,
        zero: path.zero.clone(),
        mark: path.mark.clone(),
        end_ns: end,
        first_light_ns: end,
        new_first_light_ns: NewFirstLight {
            least: end,
            expected: end,
            most: end,
        },
        path: Vec::new(),
        changed: Vec::new(),
        unknown: Vec::new(),
        order: path.order.as_str(),
        knows_units: path.knows_units,
        knows_processes: path.knows_processes,
        items: path.items.iter().map(item).collect(),
        programs: path.programs.iter().map(program).collect(),
    }
}
