//! Prepared trials.

use crate::jobs::{BootedTrial, LabJobs};
use std::fmt::Write as _;

/// What to do with prepared trials.
#[must_use]
pub fn lab_jobs(jobs: &LabJobs) -> String {
    let folder = &jobs.folder;
    let trials: usize = jobs.groups.iter().map(Vec::len).sum();
    if trials == 0 {
        return "Every trial has a result already.\n".to_owned();
    }
    let several = jobs.groups.iter().any(|g| g.len() > 1);
    let mut text = format!(
        "{trials} plans are in {folder}, with their inputs in {folder}/sha256.\n\
         Boot each plan on any host with the same emulator:\n\n  \
         firstlight lab trial {folder}/NAME.json --out {folder}/NAME.tar.zst\n\n\
         Then run the same `lab run` again, without `--prepare`, to collect the results.\n"
    );
    if several {
        text.push_str("Boot all plans of a line on one host, one after another.\n");
    }
    text.push('\n');
    for group in &jobs.groups {
        // Writing into a string does not fail.
        let _ = writeln!(text, "  {}", group.join(" "));
    }
    text
}

/// A prepared trial that was booted.
#[must_use]
pub fn lab_trial(trial: &BootedTrial) -> String {
    let how = match &trial.failure {
        Some(why) => format!("failed: {why}"),
        None => format!("booted in {:.0} s", trial.wall_s),
    };
    let digest = trial.digest.get(..12).unwrap_or_default();
    format!("{}  {digest}  {how}\n{}\n", trial.trial, trial.result)
}
