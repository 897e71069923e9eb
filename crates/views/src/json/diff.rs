//! `firstlight.diff/1`.

use super::document::Document;
use super::show::ShowFirstLight;
use super::values::{CLOCKS, ITEMS, PHASES};
use analysis::Comparison;
use record::Nanos;
use schemars::JsonSchema;
use serde::Serialize;

/// Two boots side by side. A delta is boot `b` minus boot `a`.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Diff {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Kind of clock; null if no event has a time.
    #[schemars(extend("enum" = CLOCKS))]
    pub clock: Option<&'static str>,
    /// Mark at time zero of boot `a`.
    #[schemars(length(min = 1))]
    pub zero_a: String,
    /// Mark at time zero of boot `b`.
    #[schemars(length(min = 1))]
    pub zero_b: String,
    /// First light of both boots.
    pub first_light: DiffFirstLight,
    /// Phases that occur in either boot.
    pub phases: Vec<DiffPhase>,
    /// Items that took time in either boot, the largest change first.
    pub items: Vec<DiffItem>,
}

impl Document for Diff {
    const SCHEMA: &'static str = "firstlight.diff/1";
    const TITLE: &'static str = "Output of `firstlight diff --json`";
}

/// First light of both boots.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct DiffFirstLight {
    /// First light of boot `a`; null if unknown.
    pub a: Option<ShowFirstLight>,
    /// First light of boot `b`; null if unknown.
    pub b: Option<ShowFirstLight>,
    /// Difference; null if either is unknown.
    pub delta_ns: Option<i64>,
    /// Whether both boots start and end at the same marks.
    pub same_marks: bool,
}

/// A phase in both boots.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct DiffPhase {
    /// Name of the phase.
    #[schemars(extend("enum" = PHASES))]
    pub name: String,
    /// Duration in boot `a`; null if it does not occur there.
    pub a_ns: Option<i64>,
    /// Duration in boot `b`; null if it does not occur there.
    pub b_ns: Option<i64>,
    /// Difference.
    pub delta_ns: i64,
    /// Whether the phase starts and ends at the same marks in both boots.
    pub same_marks: bool,
}

/// An item that took time, in both boots.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct DiffItem {
    /// Kind of item.
    #[schemars(extend("enum" = ITEMS))]
    pub kind: &'static str,
    /// Name of the item.
    pub name: String,
    /// Which occurrence of the name this is, counted from 1.
    #[schemars(range(min = 1))]
    pub nth: usize,
    /// Duration in boot `a`; null if it does not occur there.
    pub a_ns: Option<i64>,
    /// Duration in boot `b`; null if it does not occur there.
    pub b_ns: Option<i64>,
    /// Difference; a missing duration counts as zero.
    pub delta_ns: i64,
    /// Boots that have the item.
    #[schemars(extend("enum" = ["both", "only_a", "only_b"]))]
    pub presence: &'static str,
    /// Kind of change.
    #[schemars(extend("enum" = ["new", "gone", "slower", "faster", "same"]))]
    pub change: &'static str,
    /// Usual duration; null without earlier boots.
    pub usual: Option<DiffUsual>,
}

/// Range of an item's duration in boot `a` and the boots before it.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct DiffUsual {
    /// Number of boots that have the item.
    #[schemars(range(min = 1))]
    pub boots: usize,
    /// Shortest duration.
    pub least_ns: i64,
    /// Longest duration.
    pub most_ns: i64,
}

/// Two boots side by side, in the shape of `schemas/diff.json`.
#[must_use]
pub fn diff(c: &Comparison) -> Diff {
    let phase = |p: &analysis::PhaseDelta| DiffPhase {
        name: p.name.clone(),
        a_ns: p.a.map(Nanos::get),
        b_ns: p.b.map(Nanos::get),
        delta_ns: p.delta.get(),
        same_marks: p.same_marks,
    };
    let item = |i: &analysis::ItemDelta| DiffItem {
        kind: i.kind.as_str(),
        name: i.name.clone(),
        nth: i.nth,
        a_ns: i.a.map(Nanos::get),
        b_ns: i.b.map(Nanos::get),
        delta_ns: i.delta.get(),
        presence: i.presence.as_str(),
        change: i.change().as_str(),
        usual: i.usual.map(|u| DiffUsual {
            boots: u.boots,
            least_ns: u.least.get(),
            most_ns: u.most.get(),
        }),
    };
    Diff {
        schema: Diff::SCHEMA,
        clock: c.clock.map(record::ClockKind::as_str),
        zero_a: c.zero_a.clone(),
        zero_b: c.zero_b.clone(),
        first_light: DiffFirstLight {
            a: c.first_light.a.as_ref().map(ShowFirstLight::from),
            b: c.first_light.b.as_ref().map(ShowFirstLight::from),
            delta_ns: c.first_light.delta.map(Nanos::get),
            same_marks: c.first_light.same_marks,
        },
        phases: c.phases.iter().map(phase).collect(),
        items: c.items.iter().map(item).collect(),
    }
}
