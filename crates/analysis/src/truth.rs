//! Forecasts of the lab against the truth of a board.
//!
//! Virtual and wall time are never compared as such: only what a variant changes, as a part
//! of the baseline on the same clock, is.

use crate::effect::Verdict;
use record::Nanos;

/// What one side says of a variant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SideChange {
    /// The baseline's median first light.
    pub baseline: Nanos,
    /// The variant's median minus the baseline's.
    pub delta: Nanos,
    /// The 95 % interval of that, if the boots scatter.
    pub interval: Option<(Nanos, Nanos)>,
    /// What it means; `None`: undecided.
    pub verdict: Option<Verdict>,
}

impl SideChange {
    /// The change as a part of the baseline; negative is faster.
    #[must_use]
    pub fn part(&self) -> f64 {
        self.delta.get() as f64 / self.baseline.get().max(1) as f64
    }
}

/// A variant that both sides booted.
#[derive(Clone, Debug, PartialEq)]
pub struct TruthRow {
    /// Its name.
    pub variant: String,
    /// What the lab says, in virtual time.
    pub forecast: SideChange,
    /// What the board says, in wall time.
    pub truth: SideChange,
}

/// Forecasts and truth of the same variants.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    /// The variants of both, in the forecast's order.
    pub rows: Vec<TruthRow>,
    /// Variants that only one side has.
    pub only_one: Vec<String>,
    /// How alike both sides rank the variants, from -1 to 1 (Spearman, 1904); `None` of fewer
    /// than three.
    pub rank_correlation: Option<f64>,
    /// Of the variants whose change the board has proven: how many the lab moves in the same
    /// direction, and how many there are.
    pub same_sign: (usize, usize),
    /// The board's change divided by the forecast's, both as parts of their baselines: the
    /// median over the variants whose change the board has proven.
    pub ratio: Option<f64>,
    /// The largest distance of a forecast from the board's change, as a part of the baseline.
    pub farthest: Option<f64>,
}

/// Holds the forecasts of the lab against a board.
#[must_use]
pub fn truth(forecast: &[(String, SideChange)], board: &[(String, SideChange)]) -> Truth {
    let rows: Vec<TruthRow> = forecast
        .iter()
        .filter_map(|(variant, forecast)| {
            let (_, truth) = board.iter().find(|(v, _)| v == variant)?;
            Some(TruthRow {
                variant: variant.clone(),
                forecast: *forecast,
                truth: *truth,
            })
        })
        .collect();
    let names = forecast.iter().chain(board).map(|(v, _)| v.clone());
    let mut only_one: Vec<String> = names
        .filter(|v| rows.iter().all(|r| r.variant != *v))
        .collect();
    only_one.sort();
    let proven = || {
        rows.iter()
            .filter(|r| matches!(r.truth.verdict, Some(Verdict::Faster | Verdict::Slower)))
    };
    let same = proven().filter(|r| r.truth.delta.get().signum() == r.forecast.delta.get().signum());
    let mut ratios: Vec<f64> = proven()
        .filter(|r| r.forecast.delta != Nanos::ZERO)
        .map(|r| r.truth.part() / r.forecast.part())
        .collect();
    ratios.sort_by(f64::total_cmp);
    let ratio = match ratios.len() {
        0 => None,
        n if n % 2 == 1 => ratios.get(n / 2).copied(),
        n => ratios
            .get(n / 2 - 1)
            .zip(ratios.get(n / 2))
            .map(|(a, b)| f64::midpoint(*a, *b)),
    };
    let parts = |of: fn(&TruthRow) -> f64| -> Vec<f64> { rows.iter().map(of).collect() };
    let distances = rows
        .iter()
        .map(|r| (r.truth.part() - r.forecast.part()).abs());
    Truth {
        rank_correlation: rank_correlation(
            &parts(|r| r.forecast.part()),
            &parts(|r| r.truth.part()),
        ),
        same_sign: (same.count(), proven().count()),
        ratio,
        farthest: distances.max_by(f64::total_cmp),
        only_one,
        rows,
    }
}

/// Ranks, counted from 1. Equal values share the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |v: &f64| {
        let below = values.iter().filter(|o| o.total_cmp(v).is_lt()).count();
        let same = values.iter().filter(|o| o.total_cmp(v).is_eq()).count();
        below as f64 + (same as f64 + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

/// Spearman's: Pearson's of the ranks. `None` of fewer than three, or where one side is all
/// the same.
pub(crate) fn rank_correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() < 3 || a.len() != b.len() {
        return None;
    }
    let (a, b) = (ranks(a), ranks(b));
    let middle = (a.len() as f64 + 1.0) / 2.0;
    let sum = |x: &[f64], y: &[f64]| -> f64 {
        let products = x.iter().zip(y).map(|(x, y)| (x - middle) * (y - middle));
        products.sum()
    };
    let scale = (sum(&a, &a) * sum(&b, &b)).sqrt();
    (scale > 0.0).then(|| sum(&a, &b) / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(baseline: i64, delta: i64, verdict: Option<Verdict>) -> SideChange {
        SideChange {
            baseline: Nanos(baseline),
            delta: Nanos(delta),
            interval: None,
            verdict,
        }
    }

    fn named(all: &[(&str, SideChange)]) -> Vec<(String, SideChange)> {
        all.iter().map(|(n, s)| ((*n).to_owned(), *s)).collect()
    }

    #[test]
    fn forecasts_are_held_against_the_board_by_parts_of_the_baseline() {
        let (faster, slower) = (Some(Verdict::Faster), Some(Verdict::Slower));
        // The lab's second is not the board's: only parts are compared.
        let lab = named(&[
            ("quiet", side(1_000, -200, faster)),
            ("mask", side(1_000, -100, faster)),
            ("debug", side(1_000, 50, slower)),
            ("none", side(1_000, 0, Some(Verdict::NoDifference))),
            ("lab only", side(1_000, 1, None)),
        ]);
        let board = named(&[
            ("quiet", side(10_000, -1_000, faster)),
            ("mask", side(10_000, -500, faster)),
            ("debug", side(10_000, -300, faster)),
            ("none", side(10_000, 10, None)),
        ]);
        let truth = truth(&lab, &board);
        assert_eq!(truth.rows.len(), 4);
        assert_eq!(truth.only_one, ["lab only"]);
        // `debug` is faster on the board.
        assert_eq!(truth.same_sign, (2, 3));
        assert_eq!(truth.ratio, Some(0.5));
        // Ranks 1, 2, 4, 3 against 1, 2, 3, 4.
        let rank = truth.rank_correlation.unwrap_or_default();
        assert!((rank - 0.8).abs() < 1e-9, "{rank}");
        let farthest = truth.farthest.unwrap_or_default();
        assert!((farthest - 0.1).abs() < 1e-9, "{farthest}");
    }

    #[test]
    fn few_or_equal_variants_have_no_rank() {
        let one = named(&[("a", side(10, 1, None)), ("b", side(10, 1, None))]);
        assert_eq!(truth(&one, &one).rank_correlation, None);
        let same = named(&[
            ("a", side(10, 1, None)),
            ("b", side(10, 1, None)),
            ("c", side(10, 1, None)),
        ]);
        assert_eq!(truth(&same, &same).rank_correlation, None);
        assert_eq!(truth(&[], &[]).ratio, None);
    }
}
