//! `firstlight.classics/1` and `firstlight.classics.result/1`.

use crate::{Classic, ClassicResult};
use serde::Serialize;
use std::collections::BTreeMap;

/// The published results that there are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Classics {
    /// `firstlight.classics/1`.
    pub schema: &'static str,
    /// One a result.
    pub rows: Vec<ClassicsRow>,
}

/// A published result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassicsRow {
    /// Its name.
    pub id: String,
    /// What was measured.
    pub title: String,
    /// Who published it, where and when.
    pub source: String,
    /// The published table.
    pub published: Published,
    /// How it is measured here.
    pub here: String,
    /// Whether this host has all that it needs.
    pub runs: bool,
    /// What it lacks, if not.
    pub missing: Vec<String>,
}

/// A published table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Published {
    /// `ms`.
    pub unit: &'static str,
    /// Each figure by its name.
    pub values: BTreeMap<String, f64>,
}

/// A result that was run here.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassicsResult {
    /// `firstlight.classics.result/1`.
    pub schema: &'static str,
    /// Its name.
    pub id: String,
    /// What was measured.
    pub title: String,
    /// Who published it, where and when.
    pub source: String,
    /// What it was run on.
    pub machine: String,
    /// How it was measured here.
    pub here: String,
    /// Why the figures differ where they do.
    pub why: String,
    /// Each published figure with the one here, in the published order.
    pub values: Vec<ClassicsValue>,
    /// Cases that came to no end.
    pub failures: Vec<String>,
}

/// A published figure, and the one here.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassicsValue {
    /// What it is of.
    pub name: String,
    /// As published; `null`: nobody did.
    pub published_ns: Option<i64>,
    /// Here, in virtual time; `null`: not measured here.
    pub measured_ns: Option<i64>,
    /// The published figure to the first of its group.
    pub published_ratio: Option<f64>,
    /// The figure here to the first of its group.
    pub measured_ratio: Option<f64>,
}

/// The list, in the shape of `schemas/classics.json`.
#[must_use]
pub fn classics(all: &[Classic]) -> Classics {
    let rows = all.iter().map(|c| ClassicsRow {
        id: c.id.clone(),
        title: c.title.clone(),
        source: c.source.clone(),
        published: Published {
            unit: "ms",
            values: c.published.iter().cloned().collect(),
        },
        here: c.here.clone(),
        runs: c.missing.is_empty(),
        missing: c.missing.clone(),
    });
    Classics {
        schema: "firstlight.classics/1",
        rows: rows.collect(),
    }
}

/// A result, in the shape of `schemas/classics.result.json`.
#[must_use]
pub fn classics_result(result: &ClassicResult) -> ClassicsResult {
    let values = result.values.iter().map(|v| ClassicsValue {
        name: v.name.clone(),
        published_ns: v.published_ms.map(|ms| (ms * 1e6).round() as i64),
        measured_ns: v.measured_ns,
        published_ratio: v.published_ratio,
        measured_ratio: v.measured_ratio,
    });
    ClassicsResult {
        schema: "firstlight.classics.result/1",
        id: result.classic.id.clone(),
        title: result.classic.title.clone(),
        source: result.classic.source.clone(),
        machine: result.machine.clone(),
        here: result.classic.here.clone(),
        why: result.classic.why.clone(),
        values: values.collect(),
        failures: result.failures.clone(),
    }
}
