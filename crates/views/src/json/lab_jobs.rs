//! `firstlight.lab.jobs/1` and `firstlight.lab.trial/1`.

use super::document::Document;
use crate::jobs::{BootedTrial, LabJobs};
use schemars::JsonSchema;
use serde::Serialize;

/// Prepared trials that other hosts boot.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Jobs {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Folder of plans (`NAME.json`), inputs (`sha256/`) and results (`NAME.tar.zst`).
    #[schemars(length(min = 1))]
    pub folder: String,
    /// Names of plans. One host boots all plans of a group, one after another.
    pub groups: Vec<Vec<String>>,
}

impl Document for Jobs {
    const SCHEMA: &'static str = "firstlight.lab.jobs/1";
    const TITLE: &'static str = "Output of `firstlight lab run --prepare --json`";
}

/// A prepared trial that was booted on this host.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BootedPlan {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Variant, number of the neutral perturbation, and purpose.
    #[schemars(length(min = 1))]
    pub trial: String,
    /// SHA-256 over all inputs.
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    pub fingerprint: String,
    /// SHA-256 over console and payload.
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    pub digest: String,
    /// Duration on this host, in seconds.
    #[schemars(range(min = 0))]
    pub wall_s: f64,
    /// Reason why the boot did not reach first light, or null.
    pub failure: Option<String>,
    /// File of the result.
    #[schemars(length(min = 1))]
    pub result: String,
}

impl Document for BootedPlan {
    const SCHEMA: &'static str = "firstlight.lab.trial/1";
    const TITLE: &'static str = "Output of `firstlight lab trial --json`";
}

/// Prepared trials, in the shape of `schemas/lab.jobs.json`.
#[must_use]
pub fn lab_jobs(jobs: &LabJobs) -> Jobs {
    Jobs {
        schema: Jobs::SCHEMA,
        folder: jobs.folder.clone(),
        groups: jobs.groups.clone(),
    }
}

/// A booted trial, in the shape of `schemas/lab.trial.json`.
#[must_use]
pub fn lab_trial(trial: &BootedTrial) -> BootedPlan {
    BootedPlan {
        schema: BootedPlan::SCHEMA,
        trial: trial.trial.clone(),
        fingerprint: trial.fingerprint.clone(),
        digest: trial.digest.clone(),
        wall_s: trial.wall_s,
        failure: trial.failure.clone(),
        result: trial.result.clone(),
    }
}
