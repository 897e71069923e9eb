//! `firstlight.lab.plan/1`.

use super::document::Document;
use crate::LabPlan;
use schemars::JsonSchema;
use serde::Serialize;

/// Boots that a run would do, and how long they would take on this host.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Plan {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Name of the experiment.
    pub experiment: String,
    /// Description of the machine.
    #[schemars(length(min = 1))]
    pub machine: String,
    /// Number of machines that run at once.
    #[schemars(range(min = 1))]
    pub jobs: usize,
    /// Expected duration on this host, in seconds.
    #[schemars(range(min = 0))]
    pub wall_s: f64,
    /// All variants, the baseline first.
    #[schemars(length(min = 1))]
    pub variants: Vec<PlanVariant>,
    /// All boots, in the order in which they would run.
    #[schemars(length(min = 1))]
    pub boots: Vec<PlanBoot>,
    /// Files that would be fetched or built first, or are missing.
    pub before: Vec<String>,
}

impl Document for Plan {
    const SCHEMA: &'static str = "firstlight.lab.plan/1";
    const TITLE: &'static str = "Output of `firstlight lab run --dry-run --json`";
}

/// A variant and its changes.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct PlanVariant {
    /// Name of the variant.
    #[schemars(length(min = 1))]
    pub variant: String,
    /// One sentence for each treatment.
    pub changes: Vec<String>,
    /// Kernel command line.
    pub cmdline: String,
}

/// A boot that the run would do.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct PlanBoot {
    /// Name of the variant.
    #[schemars(length(min = 1))]
    pub variant: String,
    /// Number of the neutral perturbation; 0 is none.
    pub perturbation: u32,
    /// `boot`, `again` (the second of two equal boots), `unrecorded`, `warm-up` or `scatter` (a
    /// boot of a board's baseline that shows its scatter).
    #[schemars(extend("enum" = ["boot", "again", "unrecorded", "warm-up", "scatter"]))]
    pub kind: &'static str,
    /// Expected duration, in seconds.
    #[schemars(range(min = 0))]
    pub wall_s: f64,
    /// Basis of the expected duration. `there`: the result already exists.
    #[schemars(extend("enum" = ["there", "variant", "machine", "guess"]))]
    pub basis: &'static str,
}

/// A plan, in the shape of `schemas/lab.plan.json`.
#[must_use]
pub fn lab_plan(plan: &LabPlan) -> Plan {
    let variants = plan.variants.iter().map(|v| PlanVariant {
        variant: v.variant.clone(),
        changes: v.changes.clone(),
        cmdline: v.cmdline.clone(),
    });
    let boots = plan.boots.iter().map(|b| PlanBoot {
        variant: b.variant.clone(),
        perturbation: b.perturbation,
        kind: b.kind,
        wall_s: b.wall_s,
        basis: b.basis,
    });
    Plan {
        schema: Plan::SCHEMA,
        experiment: plan.experiment.clone(),
        machine: plan.machine.clone(),
        jobs: plan.jobs,
        wall_s: plan.wall_s,
        variants: variants.collect(),
        boots: boots.collect(),
        before: plan.before.clone(),
    }
}
