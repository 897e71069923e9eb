//! `firstlight.boots/1`.

use super::document::Document;
use super::values::{CLOCKS, VERDICTS};
use analysis::{BootsChange, BootsTime, Distribution, GateVerdict, Judged};
use record::{ClockKind, Nanos};
use schemars::JsonSchema;
use serde::Serialize;

/// Kinds of times that boots are compared by.
pub(super) const KINDS: [&str; 16] = [
    "first_light",
    "total",
    "phase",
    "column",
    "milestone",
    "work",
    "initcall",
    "probe",
    "unit",
    "process",
    "file",
    "stage",
    "unit_work",
    "process_work",
    "initcall_work",
    "process_wait",
];

/// Times of several boots, and of the boots that they are compared with.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Boots {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Kind of clock; null for tables, which do not say.
    #[schemars(extend("enum" = CLOCKS))]
    pub clock: Option<&'static str>,
    /// Names of the marks at time zero.
    #[schemars(inner(length(min = 1)))]
    pub zeros: Vec<String>,
    /// Number of base boots.
    #[schemars(range(min = 1))]
    pub boots: usize,
    /// Number of new boots; null without a comparison.
    #[schemars(range(min = 1))]
    pub against: Option<usize>,
    /// First light, phases, table columns and milestones.
    pub times: Vec<BootsRow>,
    /// Items that took time. In a comparison, items that changed come first.
    pub items: Vec<BootsRow>,
}

impl Document for Boots {
    const SCHEMA: &'static str = "firstlight.boots/1";
    const TITLE: &'static str = "Output of `firstlight boots --json`";
}

/// One time, as it occurs in several boots.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BootsRow {
    /// Kind of time.
    #[schemars(extend("enum" = KINDS))]
    pub kind: &'static str,
    /// Name of the time.
    pub name: String,
    /// Distribution over the base boots; null if no base boot has this time.
    pub base: Option<BootsDistribution>,
    /// Distribution over the new boots; null if no new boot has this time.
    pub against: Option<BootsDistribution>,
    /// Whether the ranges of the two sides do not overlap, or one side lacks this time; null
    /// without a comparison.
    pub ranges_apart: Option<bool>,
    /// Change; null without a comparison, and for items whose ranges overlap.
    pub change: Option<BootsRowChange>,
}

/// Distribution of a time over several boots.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct BootsDistribution {
    /// Number of boots that have this time.
    #[schemars(range(min = 1))]
    pub boots: usize,
    /// Mean.
    pub mean_ns: i64,
    /// Standard deviation of the sample; null for one boot.
    pub sd_ns: Option<i64>,
    /// Median.
    pub median_ns: i64,
    /// Median absolute deviation from the median.
    pub mad_ns: i64,
    /// Minimum.
    pub min_ns: i64,
    /// Maximum.
    pub max_ns: i64,
    /// Lower and upper quartile (Tukey's hinges).
    pub quartiles_ns: [i64; 2],
    /// Outliers by the modified z-score.
    pub outliers_ns: Vec<i64>,
    /// Values beyond Tukey's fences.
    pub beyond_fences_ns: Vec<i64>,
}

/// Change of a time: new boots minus base boots.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BootsRowChange {
    /// Difference of the medians.
    pub median_delta_ns: i64,
    /// Difference of the means.
    pub mean_delta_ns: i64,
    /// Verdict of the comparison.
    #[schemars(extend("enum" = VERDICTS))]
    pub verdict: &'static str,
    /// Smallest difference that counts; null in real time.
    pub least_ns: Option<i64>,
    /// 95 % confidence interval of the difference of the medians; null in virtual time.
    pub interval_ns: Option<[i64; 2]>,
    /// Mann-Whitney U: number of pairs in which the base boot took longer; null in virtual
    /// time.
    #[schemars(range(min = 0))]
    pub u: Option<f64>,
    /// Probability of so large a difference arising by chance (rank test); null in virtual
    /// time.
    #[schemars(range(min = 0, max = 1))]
    pub p_value: Option<f64>,
}

/// Several boots, in the shape of `schemas/boots.json`.
#[must_use]
pub fn boots(b: &analysis::Boots) -> Boots {
    let rows = |rows: &[BootsTime]| rows.iter().map(|r| row(r, b.against.is_some())).collect();
    Boots {
        schema: Boots::SCHEMA,
        clock: b.clock.map(ClockKind::as_str),
        zeros: b.zeros.iter().cloned().collect(),
        boots: b.boots,
        against: b.against,
        times: rows(&b.times),
        items: rows(&b.items),
    }
}

/// Verdicts of a gate.
const GATE_VERDICTS: [&str; 5] = ["passed", "cannot_tell", "over_budget", "missing", "slower"];

/// Verdicts of a budget.
const BUDGET_VERDICTS: [&str; 4] = ["within", "over", "missing", "cannot_tell"];

/// Verdict on whether boots became slower.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Gate {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Verdict; the worst one of the comparison and all budgets.
    #[schemars(extend("enum" = GATE_VERDICTS))]
    pub verdict: &'static str,
    /// Whether the verdict is `passed`.
    pub passed: bool,
    /// Kind of clock; null for tables, which do not say.
    #[schemars(extend("enum" = CLOCKS))]
    pub clock: Option<&'static str>,
    /// Number of base boots; 0 if only budgets were asked for.
    pub boots: usize,
    /// Number of new boots.
    #[schemars(range(min = 1))]
    pub against: usize,
    /// Time that the gate compares; null if only budgets were asked for.
    pub time: Option<BootsRow>,
    /// Slowdown that is still accepted; null without a comparison.
    #[schemars(range(min = 0))]
    pub allowed_ns: Option<i64>,
    /// Slowdown that must be visible; null without a comparison.
    #[schemars(range(min = 0))]
    pub asked_ns: Option<i64>,
    /// Smallest slowdown that these boots show; null if unknown.
    #[schemars(range(min = 0))]
    pub resolution_ns: Option<i64>,
    /// Whether the time became faster by more than is allowed for a slowdown.
    pub gained: bool,
    /// Reason for the verdict other than a slowdown; null if there is none.
    pub missing: Option<String>,
    /// Work beside first light; null if a side does not have it or has fewer than two boots.
    pub work: Option<GateParts>,
    /// Waits beside first light; null if no trace of the scheduler has them on both sides, or a
    /// side has fewer than four boots.
    pub waits: Option<GateParts>,
    /// Budgets.
    pub budgets: Vec<GateBudget>,
    /// Items that are slower or new.
    pub slower: Vec<BootsRow>,
    /// Items that are faster or gone.
    pub faster: Vec<BootsRow>,
}

/// Work (processor time in virtual time) or waits of items that changed by more than neutral
/// perturbations move them.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct GateParts {
    /// Verdict: `passed` or `slower`.
    #[schemars(extend("enum" = ["passed", "slower"]))]
    pub verdict: &'static str,
    /// Sum of the changes of all items, or of waits the largest one; positive is more.
    pub delta_ns: i64,
    /// Increase that is still accepted.
    #[schemars(range(min = 0))]
    pub allowed_ns: i64,
    /// Change that is visible in the item that varies most.
    #[schemars(range(min = 0))]
    pub resolution_ns: i64,
    /// Items that changed, the largest change first.
    pub items: Vec<BootsRow>,
}

/// A budget and its verdict.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct GateBudget {
    /// Name of the time.
    pub name: String,
    /// The longest accepted time.
    #[schemars(range(min = 0))]
    pub limit_ns: i64,
    /// Verdict.
    #[schemars(extend("enum" = BUDGET_VERDICTS))]
    pub verdict: &'static str,
    /// Number of new boots with this time.
    pub boots: usize,
    /// Median of the new boots; null if none has this time.
    pub median_ns: Option<i64>,
    /// Range of the median: its 95 % confidence interval from six boots on, else minimum and
    /// maximum.
    pub range_ns: Option<[i64; 2]>,
}

impl Document for Gate {
    const SCHEMA: &'static str = "firstlight.gate/1";
    const TITLE: &'static str = "Output of `firstlight gate --json`";
}

/// Whether a time got slower, in the shape of `schemas/gate.json`.
#[must_use]
pub fn gate(g: &analysis::Gate) -> Gate {
    let compared = g.compared.as_ref();
    let budget = |b: &analysis::Budgeted| GateBudget {
        name: b.budget.name.clone(),
        limit_ns: b.budget.limit.get(),
        verdict: b.verdict.as_str(),
        boots: b.boots.0,
        median_ns: b.median.map(Nanos::get),
        range_ns: b.range.map(|(low, high)| [low.get(), high.get()]),
    };
    Gate {
        schema: Gate::SCHEMA,
        verdict: g.verdict.as_str(),
        passed: g.verdict == GateVerdict::Passed,
        clock: g.clock.map(ClockKind::as_str),
        boots: g.boots.0,
        against: g.boots.1,
        time: compared.map(|c| row(&c.time, true)),
        allowed_ns: compared.map(|c| c.allowed.get()),
        asked_ns: compared.map(|c| c.asked.get()),
        resolution_ns: compared.and_then(|c| c.resolution).map(Nanos::get),
        gained: compared.is_some_and(|c| c.gained),
        missing: g.reason.clone(),
        work: g.work.as_ref().map(parts),
        waits: g.waits.as_ref().map(parts),
        budgets: g.budgets.iter().map(budget).collect(),
        slower: g.slower.iter().map(|r| row(r, true)).collect(),
        faster: g.faster.iter().map(|r| row(r, true)).collect(),
    }
}

fn parts(p: &analysis::GateParts) -> GateParts {
    GateParts {
        verdict: p.verdict.as_str(),
        delta_ns: p.delta.get(),
        allowed_ns: p.allowed.get(),
        resolution_ns: p.resolution.get(),
        items: p.items.iter().map(|r| row(r, true)).collect(),
    }
}

fn row(r: &BootsTime, compared: bool) -> BootsRow {
    BootsRow {
        kind: r.kind.as_str(),
        name: r.name.clone(),
        base: r.base.as_ref().map(distribution),
        against: r.against.as_ref().map(distribution),
        ranges_apart: compared.then(|| r.is_apart()),
        change: r.change.as_ref().map(change),
    }
}

fn distribution(d: &Distribution) -> BootsDistribution {
    let all = |times: &[Nanos]| times.iter().map(|t| t.get()).collect();
    BootsDistribution {
        boots: d.boots,
        mean_ns: d.mean.get(),
        sd_ns: d.deviation.map(Nanos::get),
        median_ns: d.median.get(),
        mad_ns: d.median_deviation.get(),
        min_ns: d.least.get(),
        max_ns: d.most.get(),
        quartiles_ns: [d.quartiles.0.get(), d.quartiles.1.get()],
        outliers_ns: all(&d.outliers),
        beyond_fences_ns: all(&d.beyond_fences),
    }
}

fn change(c: &BootsChange) -> BootsRowChange {
    let (exact, sample) = match &c.judged {
        Judged::Exact(effect) => (Some(effect), None),
        Judged::Sample(sample) => (None, Some(sample)),
    };
    BootsRowChange {
        median_delta_ns: c.delta.get(),
        mean_delta_ns: c.mean_delta.get(),
        verdict: c.verdict.as_str(),
        least_ns: exact.map(|e| e.least.get()),
        interval_ns: sample.map(|s| [s.interval.0.get(), s.interval.1.get()]),
        u: sample.map(|s| s.longer),
        p_value: sample.map(|s| s.p_value),
    }
}
