//! Trials of several variants, compared with a baseline.

use crate::bootstrap::{Interval, interval};
use crate::effect::{Effect, effect, median, range};
use crate::statistics::{Judgement, SampleEffect, outliers, sample_effect};
use record::{ClockKind, Nanos};

/// One boot of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Which set of treatments.
    pub variant: String,
    /// Number of the neutral perturbation; 0 is none.
    pub perturbation: u32,
    /// The digest of what the boot gave out; empty if the trial is not exact.
    pub digest: String,
    /// When first light came; `None` if it never did.
    pub first_light: Option<Nanos>,
    /// Where its capture is.
    pub capture: String,
    /// Why first light never came, if it did not.
    pub failure: Option<TrialFailure>,
}

/// Why a boot never came to first light. That is a result too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialFailure {
    /// One sentence.
    pub detail: String,
    /// The end of its console.
    pub last_lines: Vec<String>,
}

/// What recording costs a variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingCost {
    /// The variant.
    pub variant: String,
    /// What is recorded.
    pub asked: Vec<String>,
    /// How much later first light comes with it than in the same boot without it;
    /// `None` if one of the two never came to it.
    pub cost: Option<Nanos>,
}

/// What an experiment says of one variant.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantResult {
    /// The variant's name.
    pub variant: String,
    /// How many trials it had.
    pub boots: usize,
    /// How many of them never came to first light.
    pub failed: usize,
    /// The median of first light over the trials that came to it.
    pub median: Option<Nanos>,
    /// The earliest and latest first light.
    pub range: Option<(Nanos, Nanos)>,
    /// Compared with the baseline; `None` for the baseline itself, and where a
    /// trial of either never came to first light: a boot that fails is not fast.
    pub effect: Option<Effect>,
    /// What boots in real time say beyond that; `None` in virtual time, where
    /// nothing is a sample.
    pub sample: Option<Sample>,
}

/// What a variant's boots in real time say as a sample of all that it could have.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The median of first light, with its 95 % interval.
    pub first_light: Interval,
    /// The boots whose first light lies far from that of the others: their
    /// perturbation, and when it came. They count like all others.
    pub outliers: Vec<(u32, Nanos)>,
    /// The difference to the baseline; `None` where there is no effect.
    pub difference: Option<SampleEffect>,
}

/// The same boot twice: is it the same to the byte?
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactPair {
    /// The variant.
    pub variant: String,
    /// The digests of the two.
    pub digests: [String; 2],
    /// Where they first differ, in a sentence; `None`: nowhere.
    pub difference: Option<String>,
}

/// Trials, and what they say.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// What the trials' clock counts.
    pub clock: ClockKind,
    /// The variant that the others are compared with.
    pub baseline: String,
    /// Every trial, as given.
    pub trials: Vec<Trial>,
    /// The baseline, then the others in the order of their first trials.
    pub variants: Vec<VariantResult>,
    /// Boots that were done a second time, if that was asked for.
    pub exact: Vec<ExactPair>,
    /// What recording costs each variant, if that was measured.
    pub recording: Vec<RecordingCost>,
}

impl Experiment {
    /// The fastest of the variants that are really faster.
    #[must_use]
    pub fn best(&self) -> Option<&VariantResult> {
        let faster = self.variants.iter().filter(|v| {
            let verdict = v.effect.map(|e| e.verdict);
            verdict == Some(crate::Verdict::Faster)
        });
        faster.min_by_key(|v| v.median)
    }
}

/// Why trials cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExperimentError {
    /// Nothing to compare with.
    #[error("no trial belongs to the baseline variant `{baseline}`; choose one of: {known}")]
    NoBaseline {
        /// What was asked for.
        baseline: String,
        /// The variants that have trials.
        known: String,
    },
}

/// Compares every variant of `trials` with `baseline`.
///
/// # Errors
/// If no trial is of the baseline.
pub fn experiment(
    clock: ClockKind,
    baseline: &str,
    trials: Vec<Trial>,
) -> Result<Experiment, ExperimentError> {
    experiment_with(clock, baseline, trials, &Judgement::default())
}

/// Compares every variant of `trials` with `baseline`; boots in real time by `judgement`.
///
/// # Errors
/// If no trial is of the baseline.
pub fn experiment_with(
    clock: ClockKind,
    baseline: &str,
    trials: Vec<Trial>,
    judgement: &Judgement,
) -> Result<Experiment, ExperimentError> {
    let mut names: Vec<&str> = Vec::new();
    for trial in &trials {
        if !names.contains(&trial.variant.as_str()) {
            names.push(&trial.variant);
        }
    }
    let Some(at) = names.iter().position(|n| *n == baseline) else {
        return Err(ExperimentError::NoBaseline {
            baseline: baseline.to_owned(),
            known: names.join(", "),
        });
    };
    let first = names.remove(at);
    names.insert(0, first);

    let of = |name: &str| {
        let mine = trials.iter().filter(|t| t.variant == name);
        let lights = mine
            .clone()
            .filter_map(|t| Some((t.perturbation, t.first_light?)));
        let (numbers, times): (Vec<u32>, Vec<Nanos>) = lights.unzip();
        (mine.count(), numbers, times)
    };
    let (base_boots, _, base) = of(baseline);
    let result = |name: &str| {
        let (boots, numbers, times) = of(name);
        let whole = boots == times.len() && base_boots == base.len();
        let compared = whole && name != baseline;
        let mut effect = compared.then(|| effect(&base, &times)).flatten();
        let sample = match clock {
            ClockKind::Virtual => None,
            _ => sample(&base, &numbers, &times, effect.as_mut(), judgement),
        };
        VariantResult {
            variant: name.to_owned(),
            boots,
            failed: boots - times.len(),
            median: median(&times),
            range: range(&times),
            effect,
            sample,
        }
    };
    let variants = names.into_iter().map(result).collect();
    Ok(Experiment {
        clock,
        baseline: baseline.to_owned(),
        trials,
        variants,
        exact: Vec::new(),
        recording: Vec::new(),
    })
}

/// What a variant's boots in real time say. The verdict of `effect`, if there is
/// one, becomes that of the statistics.
fn sample(
    base: &[Nanos],
    numbers: &[u32],
    times: &[Nanos],
    effect: Option<&mut Effect>,
    judgement: &Judgement,
) -> Option<Sample> {
    let difference = effect.and_then(|effect| {
        let judged = sample_effect(base, times, judgement)?;
        effect.verdict = judged.verdict;
        Some(judged)
    });
    let far = outliers(times).into_iter();
    Some(Sample {
        first_light: interval(times)?,
        outliers: far
            .filter_map(|i| Some((*numbers.get(i)?, *times.get(i)?)))
            .collect(),
        difference,
    })
}
