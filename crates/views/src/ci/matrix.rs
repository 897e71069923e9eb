//! Prepared trials as jobs of CI systems.

use crate::jobs::LabJobs;
use crate::json;
use serde_json::json;

/// How many jobs a matrix has at most: GitLab takes 200, GitHub 256.
pub const MOST_JOBS: usize = 200;

/// The matrix of a GitHub workflow: `fromJSON` makes it a strategy. `trials` of a job are
/// names of plans.
#[must_use]
pub fn github_matrix(jobs: &LabJobs) -> String {
    let include = jobs.groups.iter().map(|g| json!({"trials": g.join(" ")}));
    json::text(&json!({"include": include.collect::<Vec<_>>()}))
}

/// A child pipeline of GitLab: one job, as often as there are groups. JSON is YAML.
#[must_use]
pub fn gitlab_jobs(jobs: &LabJobs) -> String {
    let folder = &jobs.folder;
    let matrix = jobs.groups.iter().map(|g| json!({"TRIALS": [g.join(" ")]}));
    let line = format!(
        "for trial in $TRIALS; do firstlight lab trial \"{folder}/$trial.json\" --out \
         \"{folder}/$trial.tar.zst\" || exit 1; done"
    );
    json::text(&json!({
        "trial": {
            "parallel": {"matrix": matrix.collect::<Vec<_>>()},
            "script": [line],
            "retry": 2,
            "artifacts": {"paths": [format!("{folder}/*.tar.zst")]},
        }
    }))
}
