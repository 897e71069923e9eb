//! `firstlight.tune/1` and `firstlight.tune.plan/1`.

use super::document::Document;
use crate::tuned::{self, Tuned};
use schemars::JsonSchema;
use serde::Serialize;

/// Smallest set of treatments that achieves most of the saving.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Tune {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Clock of all times.
    #[schemars(extend("enum" = ["virtual", "wall"]))]
    pub clock: &'static str,
    /// First light without treatments.
    pub baseline_ns: i64,
    /// First light with the smallest set.
    pub best_ns: i64,
    /// First light with all treatments that help. The smallest set achieves most of that
    /// saving.
    pub whole_ns: i64,
    /// First light with the smallest set divided by first light without treatments.
    #[schemars(range(min = 0))]
    pub ratio: f64,
    /// Number of boots of the search.
    #[schemars(range(min = 1))]
    pub boots: usize,
    /// Treatments in the smallest set.
    pub kept: Vec<TuneKept>,
    /// Treatments that were left out.
    pub dropped: Vec<TuneDropped>,
    /// Health checks of the treated system.
    pub health: Vec<TuneHealth>,
    /// What first light still waits for.
    pub limits: Vec<TuneLimit>,
    /// Command that repeats the search.
    #[schemars(length(min = 1))]
    pub command: String,
}

impl Document for Tune {
    const SCHEMA: &'static str = "firstlight.tune/1";
    const TITLE: &'static str = "Output of `firstlight tune --json`";
}

/// A treatment in the smallest set.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct TuneKept {
    /// The treatment.
    #[schemars(length(min = 1))]
    pub treatment: String,
    /// Share of the saving; null if unknown.
    pub share_ns: Option<i64>,
    /// Spread of the share; null if unknown.
    #[schemars(range(min = 0))]
    pub spread_ns: Option<i64>,
}

/// A treatment that was left out.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct TuneDropped {
    /// The treatment.
    #[schemars(length(min = 1))]
    pub treatment: String,
    /// Reason.
    #[schemars(length(min = 1))]
    pub why: String,
}

/// A health check.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct TuneHealth {
    /// What was checked.
    #[schemars(extend("enum" = ["first-light", "units", "errors", "sockets"]))]
    pub check: &'static str,
    /// Whether the system passed.
    pub ok: bool,
    /// Result, in one sentence.
    #[schemars(length(min = 1))]
    pub detail: String,
}

/// An item that first light still waits for.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct TuneLimit {
    /// Name of the item.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Duration.
    pub length_ns: i64,
}

/// What tuning found, as JSON.
#[must_use]
pub fn tune(found: &Tuned) -> Tune {
    Tune {
        schema: Tune::SCHEMA,
        clock: if found.is_wall { "wall" } else { "virtual" },
        baseline_ns: found.baseline.get(),
        best_ns: found.best.get(),
        whole_ns: found.whole.get(),
        ratio: found.ratio(),
        boots: found.boots,
        kept: found
            .kept
            .iter()
            .map(|k| TuneKept {
                treatment: k.treatment.clone(),
                share_ns: k.share.map(record::Nanos::get),
                spread_ns: k.spread.map(record::Nanos::get),
            })
            .collect(),
        dropped: found
            .dropped
            .iter()
            .map(|d| TuneDropped {
                treatment: d.treatment.clone(),
                why: d.why.clone(),
            })
            .collect(),
        health: found
            .health
            .iter()
            .map(|h| TuneHealth {
                check: h.check,
                ok: h.ok,
                detail: h.detail.clone(),
            })
            .collect(),
        limits: found
            .limits
            .iter()
            .map(|(name, length)| TuneLimit {
                name: name.clone(),
                length_ns: length.get(),
            })
            .collect(),
        command: found.command.clone(),
    }
}

/// What a search would try.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct TunePlan {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Machine, in words.
    pub machine: String,
    /// Treatments known before the first boot.
    pub candidates: Vec<String>,
    /// Number of boots of each set.
    pub ensemble: u32,
    /// Wall time of a boot, in seconds.
    pub wall_s_each: f64,
}

impl Document for TunePlan {
    const SCHEMA: &'static str = "firstlight.tune.plan/1";
    const TITLE: &'static str = "Output of `firstlight tune --dry-run --json`";
}

/// What a search would try, as JSON.
#[must_use]
pub fn tune_plan(plan: &tuned::TunePlan) -> TunePlan {
    TunePlan {
        schema: TunePlan::SCHEMA,
        machine: plan.machine.clone(),
        candidates: plan.candidates.clone(),
        ensemble: plan.ensemble,
        wall_s_each: plan.wall_s_each,
    }
}
