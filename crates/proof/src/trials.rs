//! The captures of a run's trials, read and compared.

use crate::error::{Error, Result};
use analysis::{ExactPair, Judgement, RecordingCost, TrialFailure};
use input::{Reading, Say};
use lab::{ExactCheck, Experiment, Mode, Outcome};
use record::{ClockKind, Nanos, Record};
use std::path::Path;

/// The record of a trial's capture, with notes on the input told to `say`.
///
/// # Errors
/// It cannot be read.
pub fn record(capture: &Path, say: &Say<'_>) -> Result<Record> {
    let read = input::boot(&[capture.to_owned()], &Reading::default(), say);
    read.map_err(|source| Error::Trial {
        capture: capture.to_owned(),
        source,
    })
}

/// When a record reached first light; `None` if it did not.
#[must_use]
pub fn first_light(record: &Record) -> Option<Nanos> {
    analysis::phases(record).first_light.map(|f| f.at)
}

/// By what an experiment's boots are judged. The least difference that counts in real time is
/// the experiment's choice.
#[must_use]
pub fn judgement(experiment: &Experiment) -> Judgement {
    match experiment.base.mode {
        Mode::Exact => Judgement::default(),
        Mode::Statistical(sampling) => Judgement {
            minimum_effect: sampling.minimum_effect(),
            ..Judgement::default()
        },
    }
}

/// What the trials of a run in the folder `out` say: each variant against the baseline.
///
/// # Errors
/// A capture cannot be read, or no trial is of the baseline.
pub fn compare(
    outcome: &Outcome,
    out: &Path,
    judgement: &Judgement,
    say: &Say<'_>,
) -> Result<analysis::Experiment> {
    let mut trials = Vec::new();
    let mut clock = ClockKind::Virtual;
    for trial in &outcome.trials {
        let capture = out.join(&trial.capture);
        let first_light = match trial.failure {
            Some(_) => None,
            None => {
                let record = record(&capture, say)?;
                clock = record.clock().map_or(clock, |c| c.kind);
                first_light(&record)
            }
        };
        trials.push(analysis::Trial {
            variant: trial.id.variant.clone(),
            perturbation: trial.id.perturbation,
            digest: trial.digest.clone(),
            first_light,
            capture: capture.display().to_string(),
            failure: trial.failure.as_ref().map(|f| TrialFailure {
                detail: f.detail.clone(),
                last_lines: f.last_lines.clone(),
            }),
        });
    }
    let mut compared = analysis::experiment_with(clock, lab::BASELINE, trials, judgement)?;
    compared.exact = outcome.exact.iter().map(pair).collect();
    let recording = outcome.recording.iter().map(|r| RecordingCost {
        variant: r.variant.clone(),
        asked: r.asked.clone(),
        cost: r.cost(),
    });
    compared.recording = recording.collect();
    Ok(compared)
}

fn pair(check: &ExactCheck) -> ExactPair {
    let difference = check.difference.as_ref().map(|d| {
        format!(
            "{} differs first at byte {} (line {}): `{}` against `{}`",
            d.file, d.byte, d.line, d.lines[0], d.lines[1]
        )
    });
    ExactPair {
        variant: check.variant.clone(),
        digests: check.digests.clone(),
        difference,
    }
}
