//! `firstlight.lab.board/1` and `firstlight.lab.restore/1`.

use super::document::Document;
use analysis::{BoardReport, BoardState, BoardTrial, BoardVariant};
use record::Nanos;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Trials of an experiment on a real board and their comparison. A delta is the variant's
/// median minus the baseline's.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct LabBoard {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Kind of clock: that of the host.
    #[schemars(extend("const" = "wall"))]
    pub clock: &'static str,
    /// Name of the board.
    #[schemars(length(min = 1))]
    pub board: String,
    /// Variant that the others are compared with.
    #[schemars(length(min = 1))]
    pub baseline: String,
    /// Reason why the run ended.
    #[schemars(extend("enum" = ENDS))]
    pub ended: String,
    /// State of the board at the end.
    #[schemars(extend("enum" = LEFT))]
    pub left: String,
    /// Power cycles of this run.
    pub cycles: u64,
    /// Beginning of the compared times.
    #[schemars(extend("enum" = ["power_on", "loader"]))]
    pub basis: &'static str,
    /// Smallest difference that counts, as a fraction of the baseline.
    #[schemars(range(min = 0))]
    pub minimum_effect: f64,
    /// Significance level of one look at one variant. All looks at all variants together have a
    /// level of 0.01.
    #[schemars(range(min = 0, max = 1))]
    pub level: f64,
    /// Numbers of boots of each variant after which the run compares them.
    pub looks: Vec<usize>,
    /// All boots, void ones too.
    pub trials: Vec<BoardTrialRow>,
    /// Scatter of the baseline in the first rounds; null without such rounds.
    pub scatter: Option<BoardScatterRow>,
    /// All variants, the baseline first.
    pub variants: Vec<BoardVariantRow>,
    /// Variants compared with the baseline. A variant is missing if it was given up or has no
    /// boots in common with the baseline.
    pub comparison: Vec<BoardComparisonRow>,
    /// Change of first light over the run, whatever the variant; null with fewer than 8 boots.
    pub drift: Option<BoardDriftRow>,
    /// Shortest and longest time without power before the boots that count; null if unknown.
    pub off_ns: Option<[i64; 2]>,
    /// State of the board over the boots that count.
    pub states: Vec<BoardStateRow>,
}

/// Reasons why a run ends.
const ENDS: [&str; 7] = [
    "all_rounds",
    "decided",
    "limit_cycles",
    "limit_deployments",
    "interrupted",
    "baseline_fails",
    "board_lost",
];

/// States of the board at the end of a run.
const LEFT: [&str; 4] = [
    "baseline_proven",
    "baseline_restored",
    "untouched",
    "changed",
];

impl Document for LabBoard {
    const SCHEMA: &'static str = "firstlight.lab.board/1";
    const TITLE: &'static str = "Output of `firstlight lab run --json` for a board";
}

/// One boot of a board.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BoardTrialRow {
    /// Name of the variant.
    #[schemars(length(min = 1))]
    pub variant: String,
    /// Round, from 0.
    pub round: u32,
    /// Number of void boots before this one in the same place.
    pub attempt: u32,
    /// Purpose: `boot` (counts), `warm-up` or `scatter`.
    #[schemars(extend("enum" = ["boot", "warm-up", "scatter"]))]
    pub purpose: &'static str,
    /// Start of the boot, in milliseconds of Unix time.
    pub begun_unix_ms: u64,
    /// First light.
    pub first_light_ns: BoardLights,
    /// First light may have been earlier by this much: the time since the last probe, what the
    /// serial adapter holds back, or what the board file states.
    pub light_error_ns: i64,
    /// Power-on may have been earlier by this much: the duration of the power command.
    pub power_error_ns: i64,
    /// Time without power before the boot; null if only the power command knows.
    pub off_ns: Option<i64>,
    /// Reason why the boot says nothing of its variant; null if it counts.
    pub void: Option<String>,
    /// Resets of the board after power-on.
    pub resets: u32,
    /// Proof of the variant that booted.
    pub proof: BoardProofRow,
    /// State of the board after first light, such as its temperature.
    pub state: Vec<BoardValue>,
    /// Path of the capture.
    pub capture: String,
}

/// A value of a board's state.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BoardValue {
    /// Name of the value.
    #[schemars(length(min = 1))]
    pub name: String,
    /// The value.
    pub value: f64,
}

/// Values that a board's command printed, by name.
#[must_use]
pub fn board_values(state: &BTreeMap<String, String>) -> Vec<BoardValue> {
    let value = |(name, value): (&String, &String)| {
        Some(BoardValue {
            name: name.clone(),
            value: value.parse().ok()?,
        })
    };
    state.iter().filter_map(value).collect()
}

/// First light from two beginnings.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct BoardLights {
    /// From power-on; null in a void boot, or if first light came before the power command ended.
    pub power_on: Option<i64>,
    /// From the first byte of the boot loader; null in a void boot or without a loader's line.
    pub loader: Option<i64>,
}

/// Proof of the variant that booted.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct BoardProofRow {
    /// Kind: `nonce`, `console` or `command`; empty if the boot never got that far.
    #[schemars(extend("enum" = ["nonce", "console", "command", ""]))]
    pub by: String,
    /// Text or pattern that proves the variant.
    pub expected: String,
    /// Whether it was seen.
    pub seen: bool,
}

/// Scatter of the baseline.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BoardScatterRow {
    /// Number of boots.
    pub boots: usize,
    /// Median first light.
    pub median_ns: i64,
    /// Standard deviation, estimated from the median absolute deviation, as a fraction of the
    /// median.
    pub scatter: f64,
    /// Probability of the difference between the two halves arising by chance.
    #[schemars(range(min = 0, max = 1))]
    pub p_value: f64,
    /// Boots of each variant that effects need.
    pub needed: Vec<BoardNeeded>,
}

/// Boots that an effect needs.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BoardNeeded {
    /// True effect, as a fraction of the baseline.
    pub effect: f64,
    /// Boots of each variant that show it in 95 of 100 runs; null if the effect is too small
    /// for `minimum_effect`.
    pub boots: Option<usize>,
}

/// All boots of a variant.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct BoardVariantRow {
    /// Name of the variant.
    #[schemars(length(min = 1))]
    pub variant: String,
    /// Number of boots that count.
    pub boots: usize,
    /// Number of void boots.
    pub void: usize,
    /// First light from power-on.
    pub power_on: Option<BoardSpan>,
    /// First light from the loader's first byte.
    pub loader: Option<BoardSpan>,
    /// Reason why the variant was given up; null if it was not.
    pub given_up: Option<String>,
}

/// Median and range.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct BoardSpan {
    /// Median.
    pub median_ns: i64,
    /// Earliest.
    pub min_ns: i64,
    /// Latest.
    pub max_ns: i64,
}

/// A variant compared with the baseline.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BoardComparisonRow {
    /// Name of the variant.
    #[schemars(length(min = 1))]
    pub variant: String,
    /// Boots of each that the verdict rests on.
    pub boots: usize,
    /// Difference of the medians; negative is faster.
    pub delta_ns: i64,
    /// 95 % confidence interval of the difference.
    pub interval_ns: [i64; 2],
    /// Probability of so large a difference arising by chance.
    #[schemars(range(min = 0, max = 1))]
    pub p_value: f64,
    /// Verdict; `undecided`: more boots are needed.
    #[schemars(extend("enum" = ["faster", "slower", "no_difference", "undecided"]))]
    pub verdict: &'static str,
    /// Boots of each variant that show a true effect of twice `minimum_effect` in 95 of 100
    /// runs, at this scatter; null if no number does.
    pub boots_needed: Option<usize>,
}

/// Change of first light over a run.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BoardDriftRow {
    /// Change from the first boot to the last.
    pub change_ns: i64,
    /// Probability of such a trend arising by chance.
    #[schemars(range(min = 0, max = 1))]
    pub p_value: f64,
}

/// A value of the board's state over a run.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BoardStateRow {
    /// Name of the value.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Number of boots that have it.
    pub boots: usize,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Rank correlation of first light with the value, whatever the variant; null with fewer
    /// than 8 boots or a constant value.
    pub correlation: Option<f64>,
    /// Probability of so large a correlation arising by chance.
    pub p_value: Option<f64>,
}

/// A number of boots, if it is one that anybody would make.
fn boots(needed: usize) -> Option<usize> {
    (needed < usize::MAX).then_some(needed)
}

/// A run on a board, in the shape of `schemas/lab-board.json`.
#[must_use]
pub fn lab_board(r: &BoardReport) -> LabBoard {
    let comparison = |v: &BoardVariant| {
        let c = v.comparison?;
        let effect = c.answer.effect;
        Some(BoardComparisonRow {
            variant: v.variant.clone(),
            boots: c.answer.boots,
            delta_ns: effect.delta.get(),
            interval_ns: [effect.interval.0.get(), effect.interval.1.get()],
            p_value: effect.p_value,
            verdict: c.verdict(),
            boots_needed: boots(c.boots_needed),
        })
    };
    LabBoard {
        schema: LabBoard::SCHEMA,
        clock: "wall",
        board: r.outcome.board.clone(),
        baseline: r.baseline.clone(),
        ended: r.outcome.ended.clone(),
        left: r.outcome.left.clone(),
        cycles: r.outcome.cycles,
        basis: r.basis.as_str(),
        minimum_effect: r.minimum_effect,
        level: r.level,
        looks: r.looks.clone(),
        trials: r.trials.iter().map(trial).collect(),
        scatter: r.scatter.as_ref().map(|s| BoardScatterRow {
            boots: s.boots,
            median_ns: s.median.get(),
            scatter: s.scatter,
            p_value: s.p_value,
            needed: s
                .needed
                .iter()
                .map(|(effect, needed)| BoardNeeded {
                    effect: *effect,
                    boots: boots(*needed),
                })
                .collect(),
        }),
        variants: r.variants.iter().map(variant).collect(),
        comparison: r.variants.iter().filter_map(comparison).collect(),
        drift: r.drift.map(|d| BoardDriftRow {
            change_ns: d.change.get(),
            p_value: d.p_value,
        }),
        off_ns: r.off.map(|(least, most)| [least.get(), most.get()]),
        states: r.states.iter().map(state).collect(),
    }
}

fn state(s: &BoardState) -> BoardStateRow {
    BoardStateRow {
        name: s.name.clone(),
        boots: s.boots,
        min: s.least,
        max: s.most,
        correlation: s.follows.map(|f| f.correlation),
        p_value: s.follows.map(|f| f.p_value),
    }
}

fn trial(t: &BoardTrial) -> BoardTrialRow {
    BoardTrialRow {
        variant: t.variant.clone(),
        round: t.round,
        attempt: t.attempt,
        purpose: t.purpose.as_str(),
        begun_unix_ms: t.begun_unix_ms,
        first_light_ns: BoardLights {
            power_on: t.power_on.map(Nanos::get),
            loader: t.loader.map(Nanos::get),
        },
        light_error_ns: t.light_error.get(),
        power_error_ns: t.power_error.get(),
        off_ns: t.off.map(Nanos::get),
        void: t.void.clone(),
        resets: t.resets,
        proof: BoardProofRow {
            by: t.proof.by.clone(),
            expected: t.proof.expected.clone(),
            seen: t.proof.seen,
        },
        state: board_values(&t.state),
        capture: t.capture.clone(),
    }
}

fn variant(v: &BoardVariant) -> BoardVariantRow {
    let span = |s: (Nanos, Nanos, Nanos)| BoardSpan {
        median_ns: s.0.get(),
        min_ns: s.1.get(),
        max_ns: s.2.get(),
    };
    BoardVariantRow {
        variant: v.variant.clone(),
        boots: v.boots,
        void: v.void,
        power_on: v.power_on.map(span),
        loader: v.loader.map(span),
        given_up: v.given_up.clone(),
    }
}

/// A board whose baseline was put back.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct LabRestore {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Name of the board.
    #[schemars(length(min = 1))]
    pub board: String,
    /// Steps, one sentence each.
    pub steps: Vec<String>,
}

impl Document for LabRestore {
    const SCHEMA: &'static str = "firstlight.lab.restore/1";
    const TITLE: &'static str = "Output of `firstlight lab restore --json`";
}
