//! Trials of several variants, compared with a baseline.

use crate::effect::{Effect, effect, median, range};
use record::{ClockKind, Nanos};

/// One boot of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Which set of treatments.
    pub variant: String,
    /// Which innocent perturbation; 0 is none.
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
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
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
    #[error("no trial is of the baseline variant `{baseline}`; give one of: {known}")]
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

    let of = |name: &str| -> (usize, Vec<Nanos>) {
        let mine = trials.iter().filter(|t| t.variant == name);
        let times: Vec<Nanos> = mine.clone().filter_map(|t| t.first_light).collect();
        (mine.count(), times)
    };
    let (base_boots, base) = of(baseline);
    let result = |name: &str| {
        let (boots, times) = of(name);
        let whole = boots == times.len() && base_boots == base.len();
        VariantResult {
            variant: name.to_owned(),
            boots,
            failed: boots - times.len(),
            median: median(&times),
            range: range(&times),
            effect: (whole && name != baseline)
                .then(|| effect(&base, &times))
                .flatten(),
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
