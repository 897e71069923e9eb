//! A folder that `lab run` filled, as an experiment.

use crate::error::Error;
use crate::result::Kind;
use analysis::{ExactPair, Experiment, RecordingCost, Trial, TrialFailure};
use record::{ClockKind, Nanos};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// What `lab run` writes into its folder.
pub const RESULT: &str = "result.json";

const KIND: Kind = Kind {
    file: RESULT,
    schema: "firstlight.lab/1",
    writer: "`firstlight lab run` writes",
};

/// What of `firstlight.lab/1` cannot be computed from the rest.
#[derive(Deserialize)]
struct Results {
    schema: String,
    clock: String,
    baseline: String,
    trials: Vec<OneTrial>,
    #[serde(default)]
    exact: Vec<Pair>,
    #[serde(default)]
    recording: Vec<Cost>,
}

#[derive(Deserialize)]
struct OneTrial {
    variant: String,
    perturbation: u32,
    digest: String,
    first_light_ns: Option<i64>,
    capture: String,
    failure: Option<Failure>,
}

#[derive(Deserialize)]
struct Failure {
    detail: String,
    #[serde(default)]
    last_lines: Vec<String>,
}

#[derive(Deserialize)]
struct Pair {
    variant: String,
    digests: [String; 2],
    difference: Option<String>,
}

#[derive(Deserialize)]
struct Cost {
    variant: String,
    asked: Vec<String>,
    cost_ns: Option<i64>,
}

/// Whether `path` is a folder that `lab run` filled.
#[must_use]
pub fn is_experiment(path: &Path) -> bool {
    KIND.is_in(path)
}

/// The experiment in a folder.
///
/// # Errors
/// Its result cannot be read, or is none.
pub fn read(dir: &Path) -> Result<Experiment, Error> {
    let results: Results = KIND.read(dir, |r: &Results| &r.schema)?;
    let shown = KIND.shown(dir);
    let clock = match results.clock.as_str() {
        "virtual" => ClockKind::Virtual,
        _ => ClockKind::Wall,
    };
    let trials = results.trials.into_iter().map(|t| Trial {
        variant: t.variant,
        perturbation: t.perturbation,
        digest: t.digest,
        first_light: t.first_light_ns.map(Nanos),
        capture: t.capture,
        failure: t.failure.map(|f| TrialFailure {
            detail: f.detail,
            last_lines: f.last_lines,
        }),
    });
    let mut experiment = analysis::experiment(clock, &results.baseline, trials.collect())
        .map_err(|e| Error::unusable(&shown, e.to_string()))?;
    experiment.exact = results
        .exact
        .into_iter()
        .map(|p| ExactPair {
            variant: p.variant,
            digests: p.digests,
            difference: p.difference,
        })
        .collect();
    experiment.recording = results
        .recording
        .into_iter()
        .map(|r| RecordingCost {
            variant: r.variant,
            asked: r.asked,
            cost: r.cost_ns.map(Nanos),
        })
        .collect();
    Ok(experiment)
}

/// The capture of a variant's first boot that came to first light, if it is
/// still there: in the folder as it lies now, else where it was made.
#[must_use]
pub fn capture(dir: &Path, experiment: &Experiment, variant: &str) -> Option<PathBuf> {
    let mut trials = experiment.trials.iter();
    let trial = trials.find(|t| t.variant == variant && t.failure.is_none())?;
    capture_of(dir, trial)
}

/// The capture of a trial, if it is still there.
#[must_use]
pub fn capture_of(dir: &Path, trial: &Trial) -> Option<PathBuf> {
    let here = dir
        .join("trials")
        .join(&trial.variant)
        .join(trial.perturbation.to_string())
        .join("capture");
    [here, PathBuf::from(&trial.capture)]
        .into_iter()
        .find(|p| p.exists())
}

/// The variant that a page shows beside the baseline: the fastest that is
/// really faster, else the one that changes most.
#[must_use]
pub fn shown_variant(experiment: &Experiment) -> Option<&str> {
    let most = || {
        let others = experiment
            .variants
            .iter()
            .filter_map(|v| Some((v, v.effect?)));
        others.max_by_key(|(_, e)| e.delta.abs()).map(|(v, _)| v)
    };
    let best = experiment.best().or_else(most)?;
    Some(&best.variant)
}
