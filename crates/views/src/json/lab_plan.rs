//! `firstlight.lab.plan/1`.

use crate::LabPlan;
use serde::Serialize;

/// What a run would do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// `firstlight.lab.plan/1`.
    pub schema: &'static str,
    /// The experiment's name.
    pub experiment: String,
    /// The machine, in words.
    pub machine: String,
    /// How many machines run at once.
    pub jobs: usize,
    /// How long it would take on this host, in seconds.
    pub wall_s: f64,
    /// Every variant, the baseline first.
    pub variants: Vec<PlanVariant>,
    /// Every boot, in the order of running.
    pub boots: Vec<PlanBoot>,
    /// What would be fetched or made first, or is missing.
    pub before: Vec<String>,
}

/// A variant, and what it changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanVariant {
    /// Its name.
    pub variant: String,
    /// A sentence for each treatment.
    pub changes: Vec<String>,
    /// The kernel command line.
    pub cmdline: String,
}

/// A boot.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanBoot {
    /// Of which variant.
    pub variant: String,
    /// Which innocent perturbation; 0 is none.
    pub perturbation: u32,
    /// `boot`, `again` or `unrecorded`.
    pub kind: &'static str,
    /// How long it would take, in seconds.
    pub wall_s: f64,
    /// `there`, `variant`, `machine` or `guess`.
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
        schema: "firstlight.lab.plan/1",
        experiment: plan.experiment.clone(),
        machine: plan.machine.clone(),
        jobs: plan.jobs,
        wall_s: plan.wall_s,
        variants: variants.collect(),
        boots: boots.collect(),
        before: plan.before.clone(),
    }
}
