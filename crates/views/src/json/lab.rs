//! `firstlight.lab/1`.

use analysis::Experiment;
use record::{ClockKind, Nanos};
use serde::Serialize;

/// An experiment: trials, and what they say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lab {
    /// `firstlight.lab/1`.
    pub schema: &'static str,
    /// `virtual` (exact, instructions at a stated rate) or `wall`.
    pub clock: &'static str,
    /// The variant that the others are compared with.
    pub baseline: String,
    /// Every boot.
    pub trials: Vec<LabTrial>,
    /// Every variant, the baseline first.
    pub variants: Vec<LabVariant>,
    /// Every variant but the baseline, unless a trial of either never came to
    /// first light.
    pub comparison: Vec<LabComparison>,
    /// Boots that were done a second time.
    pub exact: Vec<LabExact>,
    /// What recording costs, where that was measured.
    pub recording: Vec<LabRecording>,
}

/// What recording costs a variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LabRecording {
    /// The variant.
    pub variant: String,
    /// What is recorded.
    pub asked: Vec<String>,
    /// How much later first light comes with it; null if one of the two boots
    /// never came to it.
    pub cost_ns: Option<i64>,
}

/// Why a boot never came to first light.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LabFailure {
    /// One sentence.
    pub detail: String,
    /// The end of its console.
    pub last_lines: Vec<String>,
}

/// The same boot twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LabExact {
    /// The variant.
    pub variant: String,
    /// Whether the two are the same to the byte.
    pub same: bool,
    /// The digests of the two.
    pub digests: [String; 2],
    /// Where they first differ.
    pub difference: Option<String>,
}

/// One boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LabTrial {
    /// Which set of treatments.
    pub variant: String,
    /// Which innocent perturbation; 0 is none.
    pub perturbation: u32,
    /// The digest of what it gave out; empty if the trial is not exact.
    pub digest: String,
    /// When first light came; null if it never did.
    pub first_light_ns: Option<i64>,
    /// Where its capture is.
    pub capture: String,
    /// Why first light never came; null if it did.
    pub failure: Option<LabFailure>,
}

/// A variant's boots together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LabVariant {
    /// Its name.
    pub variant: String,
    /// How many boots.
    pub boots: usize,
    /// How many never came to first light.
    pub failed: usize,
    /// The median of first light.
    pub median_ns: Option<i64>,
    /// The earliest first light.
    pub min_ns: Option<i64>,
    /// The latest first light.
    pub max_ns: Option<i64>,
    /// The 95 % interval of the median; null in virtual time.
    pub median_interval_ns: Option<[i64; 2]>,
    /// The boots far from the others, in real time; they count like all others.
    pub outliers: Vec<LabOutlier>,
}

/// A boot far from the others of its variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LabOutlier {
    /// Which boot: its perturbation.
    pub perturbation: u32,
    /// When first light came.
    pub first_light_ns: i64,
}

/// A variant against the baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabComparison {
    /// The variant.
    pub variant: String,
    /// The difference of the medians; negative is faster.
    pub delta_ns: i64,
    /// How far innocent perturbations alone move first light.
    pub spread_ns: i64,
    /// The least difference that counts in virtual time, of so many boots.
    pub least_ns: i64,
    /// `faster`, `slower` or `no_difference`.
    pub verdict: &'static str,
    /// One boot only: the spread is not known, the verdict is the bare sign.
    pub unperturbed: bool,
    /// The 95 % interval of the difference; null in virtual time.
    pub interval_ns: Option<[i64; 2]>,
    /// How probable such a difference is by chance; null in virtual time.
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
        schema: "firstlight.lab/1",
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
