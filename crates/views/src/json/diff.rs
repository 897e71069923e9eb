//! `firstlight.diff/1`.

use super::show::ShowFirstLight;
use analysis::Comparison;
use record::Nanos;
use serde::Serialize;

/// Two boots side by side: `a` and `b`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diff {
    /// `firstlight.diff/1`.
    pub schema: &'static str,
    /// What the clocks count; null if nothing carries a time.
    pub clock: Option<&'static str>,
    /// The mark at time zero of the first boot.
    pub zero_a: String,
    /// The mark at time zero of the second boot.
    pub zero_b: String,
    /// First light in both.
    pub first_light: DiffFirstLight,
    /// Every phase that occurs in either.
    pub phases: Vec<DiffPhase>,
    /// Everything that took time in either, the largest change first.
    pub items: Vec<DiffItem>,
}

/// First light in both boots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiffFirstLight {
    /// In the first boot; null if nothing ends it.
    pub a: Option<ShowFirstLight>,
    /// In the second boot; null if nothing ends it.
    pub b: Option<ShowFirstLight>,
    /// The second minus the first.
    pub delta_ns: Option<i64>,
    /// Whether both boots begin and end at the same marks.
    pub same_marks: bool,
}

/// A phase in both boots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiffPhase {
    /// The phase.
    pub name: String,
    /// Its length in the first boot.
    pub a_ns: Option<i64>,
    /// Its length in the second boot.
    pub b_ns: Option<i64>,
    /// The second minus the first.
    pub delta_ns: i64,
    /// Whether the same marks begin and end it.
    pub same_marks: bool,
}

/// A thing that took time, in both boots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiffItem {
    /// `initcall`, `probe`, `unit`, `process` or `file`.
    pub kind: &'static str,
    /// Which one.
    pub name: String,
    /// Which occurrence of the name, from 1.
    pub nth: usize,
    /// How long it took in the first boot.
    pub a_ns: Option<i64>,
    /// How long it took in the second boot.
    pub b_ns: Option<i64>,
    /// The second minus the first, with nothing counted as zero.
    pub delta_ns: i64,
    /// `both`, `only_a` or `only_b`.
    pub presence: &'static str,
    /// `new`, `gone`, `slower`, `faster` or `same`.
    pub change: &'static str,
    /// How long it takes as a rule; null if no older boots are known.
    pub usual: Option<DiffUsual>,
}

/// How long an item took in the first boot and in those before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiffUsual {
    /// In how many boots it occurs.
    pub boots: usize,
    /// The least that it took.
    pub least_ns: i64,
    /// The most.
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
        schema: "firstlight.diff/1",
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
