//! `firstlight.lab/1`.

use super::document::Document;
use super::values::VERDICTS;
use analysis::Experiment;
use record::{ClockKind, Nanos};
use schemars::JsonSchema;
use serde::Serialize;

/// Trials of an experiment and their comparison. A delta is the variant's median minus the
/// baseline's.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Lab {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Kind of clock: `virtual` (exact; instructions at a stated rate) or `wall`.
    #[schemars(extend("enum" = ["virtual", "wall"]))]
    pub clock: &'static str,
    /// Variant that the others are compared with.
    #[schemars(length(min = 1))]
    pub baseline: String,
    /// All boots.
    pub trials: Vec<LabTrial>,
    /// All variants, the baseline first.
    #[schemars(length(min = 1))]
    pub variants: Vec<LabVariant>,
    /// Variants compared with the baseline. A variant is missing if all its boots or all boots
    /// of the baseline failed.
    pub comparison: Vec<LabComparison>,
    /// Pairs of boots that prove exactness.
    pub exact: Vec<LabExact>,
    /// Cost of recording, where it was measured.
    pub recording: Vec<LabRecording>,
}

impl Document for Lab {
    const SCHEMA: &'static str = "firstlight.lab/1";
    const TITLE: &'static str = "Output of `firstlight lab run --json`";
}

/// Cost of recording a variant.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct LabRecording {
    /// Name of the variant.
    #[schemars(length(min = 1))]
    pub variant: String,
    /// What is recorded.
    #[schemars(length(min = 1))]
    pub asked: Vec<String>,
    /// Delay of first light by recording; null if one of the two boots did not reach first
    /// light.
    pub cost_ns: Option<i64>,
}

/// Reason why a boot did not reach first light.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct LabFailure {
    /// One sentence.
    #[schemars(length(min = 1))]
    pub detail: String,
    /// Last lines of the console.
    pub last_lines: Vec<String>,
}

/// The same boot, run twice.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct LabExact {
    /// Name of the variant.
    #[schemars(length(min = 1))]
    pub variant: String,
    /// Whether the two boots are identical to the byte.
    pub same: bool,
    /// Digests of the two boots.
    pub digests: [String; 2],
    /// First difference; null if there is none.
    pub difference: Option<String>,
}

/// One boot.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct LabTrial {
    /// Name of the variant.
    #[schemars(length(min = 1))]
    pub variant: String,
    /// Number of the neutral perturbation; 0 is none.
    pub perturbation: u32,
    /// Digest of the boot's output; empty if the trial is not exact.
    pub digest: String,
    /// First light; null if the boot did not reach it.
    pub first_light_ns: Option<i64>,
    /// Path of the capture.
    pub capture: String,
    /// Reason why the boot did not reach first light; null if it did.
    pub failure: Option<LabFailure>,
}

/// All boots of a variant.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct LabVariant {
    /// Name of the variant.
    #[schemars(length(min = 1))]
    pub variant: String,
    /// Number of boots.
    #[schemars(range(min = 1))]
    pub boots: usize,
    /// Number of boots that did not reach first light.
    pub failed: usize,
    /// Median of first light.
    pub median_ns: Option<i64>,
    /// Earliest first light.
    pub min_ns: Option<i64>,
    /// Latest first light.
    pub max_ns: Option<i64>,
    /// 95 % confidence interval of the median; null in virtual time.
    pub median_interval_ns: Option<[i64; 2]>,
    /// Outliers, in real time. They count like all other boots.
    pub outliers: Vec<LabOutlier>,
}

/// A boot far from the others of its variant.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct LabOutlier {
    /// Number of the neutral perturbation.
    pub perturbation: u32,
    /// First light.
    pub first_light_ns: i64,
}

/// A variant compared with the baseline.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct LabComparison {
    /// Name of the variant.
    #[schemars(length(min = 1))]
    pub variant: String,
    /// Difference of the medians; negative is faster.
    pub delta_ns: i64,
    /// Spread: how much first light moves under neutral perturbations.
    #[schemars(range(min = 0))]
    pub spread_ns: i64,
    /// Smallest difference that counts in virtual time, for this number of boots.
    #[schemars(range(min = 0))]
    pub least_ns: i64,
    /// Verdict of the comparison.
    #[schemars(extend("enum" = VERDICTS))]
    pub verdict: &'static str,
    /// Whether there is only one boot. The spread is then unknown and the verdict is the sign
    /// of the difference.
    pub unperturbed: bool,
    /// 95 % confidence interval of the difference; null in virtual time.
    pub interval_ns: Option<[i64; 2]>,
    /// Probability of so large a difference arising by chance; null in virtual time.
    #[schemars(range(min = 0, max = 1))]
    pub p_value: Option<f64>,
}

/// An experiment, in the shape of `schemas/lab.json`.
#[must_use]
pub fn lab(e: &Experiment) -> Lab {
    let trial = |t: &analysis::Trial| LabTrial {
        variant: t.variant.clone(),
        perturbation: t.perturbation,
        digest: t.digest.clone(),
        first_light_ns: t.first_light.map(Nanos::get),
        capture: t.capture.clone(),
        failure: t.failure.as_ref().map(|f| LabFailure {
            detail: f.detail.clone(),
            last_lines: f.last_lines.clone(),
        }),
    };
    let outlier = |(perturbation, first_light): &(u32, Nanos)| LabOutlier {
        perturbation: *perturbation,
        first_light_ns: first_light.get(),
    };
    let variant = |v: &analysis::VariantResult| LabVariant {
        variant: v.variant.clone(),
        boots: v.boots,
        failed: v.failed,
        median_ns: v.median.map(Nanos::get),
        min_ns: v.range.map(|(min, _)| min.get()),
        max_ns: v.range.map(|(_, max)| max.get()),
        median_interval_ns: v.sample.as_ref().map(|s| {
            let i = s.first_light;
            [i.low.get(), i.high.get()]
        }),
        outliers: v
            .sample
            .iter()
            .flat_map(|s| &s.outliers)
            .map(outlier)
            .collect(),
    };
    let comparison = |v: &analysis::VariantResult| {
        let effect = v.effect?;
        let sampled = v.sample.as_ref().and_then(|s| s.difference);
        Some(LabComparison {
            variant: v.variant.clone(),
            delta_ns: effect.delta.get(),
            spread_ns: effect.spread.get(),
            least_ns: effect.least.get(),
            verdict: effect.verdict.as_str(),
            unperturbed: effect.unperturbed,
            interval_ns: sampled.map(|s| [s.interval.0.get(), s.interval.1.get()]),
            p_value: sampled.map(|s| s.p_value),
        })
    };
    let exact = |p: &analysis::ExactPair| LabExact {
        variant: p.variant.clone(),
        same: p.difference.is_none(),
        digests: p.digests.clone(),
        difference: p.difference.clone(),
    };
    let recording = |r: &analysis::RecordingCost| LabRecording {
        variant: r.variant.clone(),
        asked: r.asked.clone(),
        cost_ns: r.cost.map(Nanos::get),
    };
    Lab {
        schema: Lab::SCHEMA,
        clock: match e.clock {
            ClockKind::Virtual => "virtual",
            _ => "wall",
        },
        baseline: e.baseline.clone(),
        trials: e.trials.iter().map(trial).collect(),
        variants: e.variants.iter().map(variant).collect(),
        comparison: e.variants.iter().filter_map(comparison).collect(),
        exact: e.exact.iter().map(exact).collect(),
        recording: e.recording.iter().map(recording).collect(),
    }
}
