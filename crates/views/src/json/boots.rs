//! `firstlight.boots/1`.

use analysis::{BootsChange, BootsTime, Distribution, Judged};
use record::{ClockKind, Nanos};
use serde::Serialize;

/// Several boots, and several others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Boots {
    /// `firstlight.boots/1`.
    pub schema: &'static str,
    /// What the clocks count; null for tables, which do not say.
    pub clock: Option<&'static str>,
    /// The marks at time zero of the boots.
    pub zeros: Vec<String>,
    /// How many boots there are.
    pub boots: usize,
    /// How many others; null if they are compared with none.
    pub against: Option<usize>,
    /// First light, phases, columns of tables, milestones.
    pub times: Vec<BootsRow>,
    /// Items that took time; with others to compare, those that moved first.
    pub items: Vec<BootsRow>,
}

/// A time that several boots have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BootsRow {
    /// `first_light`, `total`, `phase`, `column`, `milestone`, or the kind of an item.
    pub kind: &'static str,
    /// Of what.
    pub name: String,
    /// Over the boots; null if none has it.
    pub base: Option<BootsDistribution>,
    /// Over the others; null if none has it, or there are none.
    pub against: Option<BootsDistribution>,
    /// Whether the ranges of the two sides are apart, or one has it not at all; null
    /// without others.
    pub ranges_apart: Option<bool>,
    /// What became of it; null without others, and for items whose ranges overlap.
    pub change: Option<BootsRowChange>,
}

/// A time over several boots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BootsDistribution {
    /// In how many boots it occurs.
    pub boots: usize,
    /// The mean.
    pub mean_ns: i64,
    /// The standard deviation of a sample; null of one boot.
    pub sd_ns: Option<i64>,
    /// The median.
    pub median_ns: i64,
    /// The median distance from the median.
    pub mad_ns: i64,
    /// The least.
    pub min_ns: i64,
    /// The most.
    pub max_ns: i64,
    /// Tukey's hinges.
    pub quartiles_ns: [i64; 2],
    /// Far from the median by the modified z-score.
    pub outliers_ns: Vec<i64>,
    /// Beyond Tukey's fences.
    pub beyond_fences_ns: Vec<i64>,
}

/// What became of a time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BootsRowChange {
    /// The difference of the medians.
    pub median_delta_ns: i64,
    /// The difference of the means.
    pub mean_delta_ns: i64,
    /// `faster`, `slower` or `no_difference`.
    pub verdict: &'static str,
    /// The least difference that counts, in virtual time; else null.
    pub least_ns: Option<i64>,
    /// The 95 % interval of the difference of the medians, in real time; else null.
    pub interval_ns: Option<[i64; 2]>,
    /// In how many pairs of a boot of each side the first took longer (Mann and
    /// Whitney's U), in real time; else null.
    pub u: Option<f64>,
    /// How probable so uneven ranks are by chance, in real time; else null.
    pub p_value: Option<f64>,
}

/// Several boots, in the shape of `schemas/boots.json`.
#[must_use]
pub fn boots(b: &analysis::Boots) -> Boots {
    let rows = |rows: &[BootsTime]| rows.iter().map(|r| row(r, b.against.is_some())).collect();
    Boots {
        schema: "firstlight.boots/1",
        clock: b.clock.map(ClockKind::as_str),
        zeros: b.zeros.iter().cloned().collect(),
        boots: b.boots,
        against: b.against,
        times: rows(&b.times),
        items: rows(&b.items),
    }
}

/// Whether a time got slower.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gate {
    /// `firstlight.gate/1`.
    pub schema: &'static str,
    /// Whether it is not slower, or not by more than is allowed.
    pub passed: bool,
    /// What the clocks count; null for tables, which do not say.
    pub clock: Option<&'static str>,
    /// How many boots there are before.
    pub boots: usize,
    /// How many after.
    pub against: usize,
    /// The time that was judged.
    pub time: BootsRow,
    /// How much slower is still fine.
    pub allowed_ns: i64,
    /// Why it did not pass, if not for its length.
    pub missing: Option<String>,
    /// Items that take longer, and new ones.
    pub slower: Vec<BootsRow>,
}

/// Whether a time got slower, in the shape of `schemas/gate.json`.
#[must_use]
pub fn gate(g: &analysis::Gate) -> Gate {
    Gate {
        schema: "firstlight.gate/1",
        passed: g.passed,
        clock: g.clock.map(ClockKind::as_str),
        boots: g.boots.0,
        against: g.boots.1,
        time: row(&g.time, true),
        allowed_ns: g.allowed.get(),
        missing: g.missing.clone(),
        slower: g.slower.iter().map(|r| row(r, true)).collect(),
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
