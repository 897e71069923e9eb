//! `firstlight.classics/1` and `firstlight.classics.result/1`.

use super::document::Document;
use crate::{Classic, ClassicResult};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Published boot-time results that can be reproduced here.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Classics {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Published results.
    pub rows: Vec<ClassicsRow>,
}

impl Document for Classics {
    const SCHEMA: &'static str = "firstlight.classics/1";
    const TITLE: &'static str = "Output of `firstlight lab classics --list --json`";
}

/// A published result.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ClassicsRow {
    /// Name of the result.
    #[schemars(length(min = 1))]
    pub id: String,
    /// What was measured.
    #[schemars(length(min = 1))]
    pub title: String,
    /// Publication: who, where and when.
    #[schemars(length(min = 1))]
    pub source: String,
    /// Published table.
    pub published: Published,
    /// How the measurement is reproduced here.
    #[schemars(length(min = 1))]
    pub here: String,
    /// Whether this host has everything that the measurement needs.
    pub runs: bool,
    /// Missing requirements.
    #[schemars(inner(length(min = 1)))]
    pub missing: Vec<String>,
}

/// Several published results, and their reproductions.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ClassicsResults {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Results.
    pub results: Vec<ClassicsResult>,
}

impl Document for ClassicsResults {
    const SCHEMA: &'static str = "firstlight.classics.results/1";
    const TITLE: &'static str = "Output of `firstlight lab classics --json` for several results";
}

impl ClassicsResults {
    /// The document of several results.
    #[must_use]
    pub fn of(results: Vec<ClassicsResult>) -> Self {
        Self {
            schema: Self::SCHEMA,
            results,
        }
    }
}

/// A published table.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Published {
    /// Unit of the values.
    #[schemars(extend("const" = "ms"))]
    pub unit: &'static str,
    /// Values by name.
    pub values: BTreeMap<String, f64>,
}

/// A published result, and its reproduction.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ClassicsResult {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Name of the result.
    #[schemars(length(min = 1))]
    pub id: String,
    /// What was measured.
    #[schemars(length(min = 1))]
    pub title: String,
    /// Publication: who, where and when.
    #[schemars(length(min = 1))]
    pub source: String,
    /// Machine of the reproduction.
    pub machine: String,
    /// How the measurement was reproduced.
    #[schemars(length(min = 1))]
    pub here: String,
    /// Reason for the differences.
    #[schemars(length(min = 1))]
    pub why: String,
    /// Published and reproduced values, in the published order.
    pub values: Vec<ClassicsValue>,
    /// Cases that failed.
    #[schemars(inner(length(min = 1)))]
    pub failures: Vec<String>,
    /// SHA-256 of the experiment, the emulator and the booted artifacts. Missing if unknown.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub made_by: BTreeMap<String, String>,
}

impl Document for ClassicsResult {
    const SCHEMA: &'static str = "firstlight.classics.result/1";
    const TITLE: &'static str = "File `result.json` of `firstlight lab classics ID`";
}

/// A published value, and its reproduction.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ClassicsValue {
    /// Name of the value.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Published value; null if this case was not published.
    pub published_ns: Option<i64>,
    /// Reproduced value, in virtual time; null if it was not measured.
    pub measured_ns: Option<i64>,
    /// Figure that is not a duration; the two durations are null then. Missing for durations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<ClassicsCount>,
    /// Published value divided by the first of its group.
    pub published_ratio: Option<f64>,
    /// Reproduced value divided by the first of its group.
    pub measured_ratio: Option<f64>,
    /// Basis of the reproduced value: `modeled` if a formula added a part. Missing if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["measured", "modeled"]))]
    pub basis: Option<String>,
    /// How the published value differs in kind. Missing if both are of the same thing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub partial: Option<String>,
}

/// A published figure that is not a duration, and its reproduction.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ClassicsCount {
    /// Unit of both figures.
    #[schemars(length(min = 1))]
    pub unit: String,
    /// Published figure; null if this case was not published.
    pub published: Option<f64>,
    /// Reproduced figure; null if it was not measured.
    pub measured: Option<f64>,
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
        schema: Classics::SCHEMA,
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
        count: v.count.as_ref().map(|c| ClassicsCount {
            unit: c.unit.clone(),
            published: c.published,
            measured: c.measured,
        }),
        published_ratio: v.published_ratio,
        measured_ratio: v.measured_ratio,
        basis: v.basis.clone(),
        partial: v.partial.clone(),
    });
    ClassicsResult {
        schema: ClassicsResult::SCHEMA,
        id: result.classic.id.clone(),
        title: result.classic.title.clone(),
        source: result.classic.source.clone(),
        machine: result.machine.clone(),
        here: result.classic.here.clone(),
        why: result.classic.why.clone(),
        values: values.collect(),
        failures: result.failures.clone(),
        made_by: result.made_by.clone(),
    }
}
