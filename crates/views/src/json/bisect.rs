//! `firstlight.bisect/1` and `firstlight.bisect.plan/1`.

use super::document::Document;
use crate::bisected::{self, Bisected};
use ::bisect::{Comparison, Outcome};
use schemars::JsonSchema;
use serde::Serialize;

/// Which difference of two systems makes the boot slower.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Bisect {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// What was bisected.
    #[schemars(extend("enum" = ["cmdline", "config", "devicetree", "packages", "image", "run"]))]
    pub kind: &'static str,
    /// Names of both systems.
    pub ends: [String; 2],
    /// Result of the search.
    #[schemars(extend("enum" = ["found", "no_difference", "cannot_tell", "unconfirmed"]))]
    pub verdict: &'static str,
    /// Number of differences between the systems.
    pub differences: usize,
    /// Number of boots of the search.
    pub boots: usize,
    /// The second system against the first.
    pub change: BisectChange,
    /// Smallest difference that matters.
    pub see_ns: i64,
    /// Accepted probability of a wrong answer.
    #[schemars(range(min = 0, max = 1))]
    pub error: f64,
    /// Differences that make the change; empty if none was found.
    pub culprits: Vec<BisectCulprit>,
    /// What the culprits change together; null if none was found.
    pub together: Option<BisectChange>,
    /// What all other differences change without the culprits; null if unknown.
    pub others: Option<BisectChange>,
    /// Whether several culprits have their effect only together.
    pub interact: bool,
    /// Part of the change that the culprits do not explain; null if none was found.
    pub rest_ns: Option<i64>,
    /// Differences that remain in question if no culprit was confirmed.
    pub among: Vec<String>,
    /// Number of sets that could not be booted or built.
    pub unbootable: usize,
    /// Why the first of them could not; null if all could.
    pub unbootable_why: Option<String>,
    /// All sets of differences that were booted.
    pub samples: Vec<BisectSample>,
}

/// A change of first light.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BisectChange {
    /// Difference of the medians.
    pub delta_ns: i64,
    /// Confidence interval of the difference.
    pub interval_ns: [i64; 2],
    /// Probability of such a difference by chance.
    #[schemars(range(min = 0, max = 1))]
    pub p: f64,
}

/// A difference that makes the change.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BisectCulprit {
    /// The difference. Several if they could not be separated.
    #[schemars(length(min = 1))]
    pub names: Vec<String>,
    /// What it changes alone; null if that cannot be booted.
    pub alone: Option<BisectChange>,
    /// What leaving it out of several culprits changes; null if it is the only one.
    pub left_out: Option<BisectChange>,
}

/// A set of differences that was booted.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BisectSample {
    /// Numbers of the differences, counted from 1.
    pub set: Vec<usize>,
    /// First light of each boot.
    pub times_ns: Vec<i64>,
}

impl Document for Bisect {
    const SCHEMA: &'static str = "firstlight.bisect/1";
    const TITLE: &'static str = "Output of `firstlight bisect --json`";
}

impl From<&Comparison> for BisectChange {
    fn from(of: &Comparison) -> Self {
        Self {
            delta_ns: of.delta_ns,
            interval_ns: of.interval_ns,
            p: of.p,
        }
    }
}

/// What a bisection found, as JSON.
#[must_use]
pub fn bisect(b: &Bisected) -> Bisect {
    let found = &b.found;
    let mut document = Bisect {
        schema: Bisect::SCHEMA,
        kind: b.kind,
        ends: b.ends.clone(),
        verdict: "no_difference",
        differences: b.names.len(),
        boots: found.boots,
        change: (&found.ends).into(),
        see_ns: found.see_ns,
        error: b.error,
        culprits: Vec::new(),
        together: None,
        others: None,
        interact: false,
        rest_ns: None,
        among: Vec::new(),
        unbootable: found.unbootable.0,
        unbootable_why: found.unbootable.1.clone(),
        samples: found
            .samples
            .iter()
            .map(|s| BisectSample {
                set: s.set.iter().map(|i| i + 1).collect(),
                times_ns: s.times.clone(),
            })
            .collect(),
    };
    match &found.outcome {
        Outcome::NoDifference => {}
        Outcome::CannotTell => document.verdict = "cannot_tell",
        Outcome::Unconfirmed { among } => {
            document.verdict = "unconfirmed";
            document.among = b.named(among);
        }
        Outcome::Found {
            culprits,
            together,
            others,
            interact,
            rest_ns,
        } => {
            document.verdict = "found";
            let culprits = culprits.iter().map(|c| BisectCulprit {
                names: b.named(&c.members),
                alone: c.alone.as_ref().map(Into::into),
                left_out: c.left_out.as_ref().map(Into::into),
            });
            document.culprits = culprits.collect();
            document.together = Some(together.into());
            document.others = others.as_ref().map(Into::into);
            document.interact = *interact;
            document.rest_ns = Some(*rest_ns);
        }
    }
    document
}

/// What a bisection would search.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BisectPlan {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// What is bisected.
    #[schemars(extend("enum" = ["cmdline", "config", "devicetree", "packages", "image", "run"]))]
    pub kind: &'static str,
    /// Names of both systems.
    pub ends: [String; 2],
    /// Differences between the systems, in the order of their numbers.
    pub differences: Vec<String>,
}

impl Document for BisectPlan {
    const SCHEMA: &'static str = "firstlight.bisect.plan/1";
    const TITLE: &'static str = "Output of `firstlight bisect --dry-run --json`";
}

/// What a bisection would search, as JSON.
#[must_use]
pub fn bisect_plan(plan: &bisected::BisectPlan) -> BisectPlan {
    BisectPlan {
        schema: BisectPlan::SCHEMA,
        kind: plan.kind,
        ends: plan.ends.clone(),
        differences: plan.names.clone(),
    }
}
