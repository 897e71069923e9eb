//! Boots of a real board, compared.

use crate::effect::{Verdict, median, range};
use crate::experiment::ExperimentError;
use crate::sequential::{Answer, Looks, TimeDrift, below, drift, scatter};
use crate::statistics::{Judgement, sample_effect};
use crate::truth::rank_correlation;
use record::Nanos;
use std::collections::BTreeMap;

/// What a boot of a board is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoardPurpose {
    /// The board is not yet as it is in the boots that follow.
    WarmUp,
    /// It shows how much boots of the baseline scatter.
    Scatter,
    /// It counts.
    Result,
}

impl BoardPurpose {
    /// The word for it in every output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::WarmUp => "warm-up",
            Self::Scatter => "scatter",
            Self::Result => "boot",
        }
    }
}

/// What proves which variant booted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BoardProof {
    /// How: `nonce`, `console` or `command`; empty if nothing was asked.
    pub by: String,
    /// What had to be seen.
    pub expected: String,
    /// Whether it was.
    pub seen: bool,
}

/// One boot of a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardTrial {
    /// Which set of treatments.
    pub variant: String,
    /// Its round, from 0.
    pub round: u32,
    /// How many boots before this one said nothing in the same place.
    pub attempt: u32,
    /// What it is for.
    pub purpose: BoardPurpose,
    /// When it began, in milliseconds of Unix time.
    pub begun_unix_ms: u64,
    /// First light from power-on.
    pub power_on: Option<Nanos>,
    /// First light from the loader's first byte.
    pub loader: Option<Nanos>,
    /// First light may have been earlier by this much.
    pub light_error: Nanos,
    /// Power-on may have been earlier by this much.
    pub power_error: Nanos,
    /// For how long the board was without power.
    pub off: Option<Nanos>,
    /// Why it says nothing of its variant, if so.
    pub void: Option<String>,
    /// How often the board was reset after power-on.
    pub resets: u32,
    /// What proves which variant booted.
    pub proof: BoardProof,
    /// What the board said of its state after first light, as numbers in text.
    pub state: BTreeMap<String, String>,
    /// Where its capture is.
    pub capture: String,
}

impl BoardTrial {
    fn light(&self, basis: BoardBasis) -> Option<Nanos> {
        match (&self.void, basis) {
            (Some(_), _) => None,
            (None, BoardBasis::PowerOn) => self.power_on,
            (None, BoardBasis::Loader) => self.loader,
        }
    }
}

/// From where the compared times run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoardBasis {
    /// From power-on: the scatter of the power switch is part of them.
    PowerOn,
    /// From the first byte of the loader.
    Loader,
}

impl BoardBasis {
    /// The word for it in every output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PowerOn => "power_on",
            Self::Loader => "loader",
        }
    }
}

/// What a run is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct BoardQuestion {
    /// The variant that the others are compared with.
    pub baseline: String,
    /// All variants, the baseline too, in their order.
    pub variants: Vec<String>,
    /// The least difference that counts, as a part of the baseline.
    pub minimum_effect: f64,
    /// The most boots that each variant gets.
    pub most: usize,
}

impl BoardQuestion {
    fn sequence(&self) -> Looks {
        let others = self.variants.len().saturating_sub(1);
        Looks::new(others, self.most, self.minimum_effect)
    }
}

/// How much boots of the baseline scatter, from boots made for that.
#[derive(Clone, Debug, PartialEq)]
pub struct BoardScatter {
    /// How many boots.
    pub boots: usize,
    /// Their median first light.
    pub median: Nanos,
    /// Their scatter, as a part of the median.
    pub scatter: f64,
    /// How probable a difference as that between the first and the second boots of the
    /// rounds is, although both are the baseline.
    pub p_value: f64,
    /// For effects of these parts of the baseline: how many boots of each variant show
    /// them.
    pub needed: Vec<(f64, usize)>,
}

/// What a variant's boots say.
#[derive(Clone, Debug, PartialEq)]
pub struct BoardVariant {
    /// Its name.
    pub variant: String,
    /// How many boots count.
    pub boots: usize,
    /// How many say nothing.
    pub void: usize,
    /// Median, least and most of first light from power-on.
    pub power_on: Option<(Nanos, Nanos, Nanos)>,
    /// The same from the loader's first byte.
    pub loader: Option<(Nanos, Nanos, Nanos)>,
    /// Why the variant was given up, if so.
    pub given_up: Option<String>,
    /// Compared with the baseline; `None` for the baseline, and where one has no boots.
    pub comparison: Option<BoardComparison>,
}

/// A variant against the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoardComparison {
    /// What is known.
    pub answer: Answer,
    /// How many boots of each variant show an effect of twice the least difference, at
    /// the scatter of these boots.
    pub boots_needed: usize,
}

/// How a run went, for the reader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The board's name.
    pub board: String,
    /// Why the run ended, for programs.
    pub ended: String,
    /// The same in a sentence.
    pub sentence: String,
    /// What the board has now, for programs.
    pub left: String,
    /// How many power cycles the run made.
    pub cycles: u64,
    /// Variants that were given up, and why.
    pub given_up: Vec<(String, String)>,
}

/// A run on a board.
#[derive(Clone, Debug, PartialEq)]
pub struct BoardReport {
    /// How it went.
    pub outcome: Outcome,
    /// The variant that the others are compared with.
    pub baseline: String,
    /// From where the compared times run.
    pub basis: BoardBasis,
    /// The least difference that counts, as a part of the baseline.
    pub minimum_effect: f64,
    /// The largest probability of chance at which one look counts.
    pub level: f64,
    /// After how many boots each the samples are looked at.
    pub looks: Vec<usize>,
    /// Every boot.
    pub trials: Vec<BoardTrial>,
    /// The scatter of the baseline, if boots were made for that.
    pub scatter: Option<BoardScatter>,
    /// The baseline, then the others.
    pub variants: Vec<BoardVariant>,
    /// Whether boots changed with time.
    pub drift: Option<TimeDrift>,
    /// The shortest and the longest time without power before boots that count.
    pub off: Option<(Nanos, Nanos)>,
    /// What the board said of its state in boots that count.
    pub states: Vec<BoardState>,
}

/// A value of a board's state over a run.
#[derive(Clone, Debug, PartialEq)]
pub struct BoardState {
    /// Its name: `temperature_c`.
    pub name: String,
    /// How many boots have it.
    pub boots: usize,
    /// The least of them.
    pub least: f64,
    /// The most of them.
    pub most: f64,
    /// How far first light follows it, whatever the variant; `None` of fewer than eight boots,
    /// and of a value that never changes.
    pub follows: Option<BoardFollows>,
}

/// How far first light follows a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoardFollows {
    /// The rank correlation (Spearman, 1904), from -1 to 1.
    pub correlation: f64,
    /// How probable so large a one is by chance, by the normal distribution of ranks.
    pub p_value: f64,
}

/// The effects for which a run says how many boots they need.
const EFFECTS: [f64; 3] = [0.05, 0.01, 0.005];

/// What a run on a board says.
///
/// # Errors
/// If no variant has the baseline's name.
pub fn board(
    trials: Vec<BoardTrial>,
    question: &BoardQuestion,
    outcome: Outcome,
) -> Result<BoardReport, ExperimentError> {
    if !question.variants.contains(&question.baseline) {
        return Err(ExperimentError::NoBaseline {
            baseline: question.baseline.clone(),
            known: question.variants.join(", "),
        });
    }
    let sequence = question.sequence();
    let basis = basis(&trials);
    let variants = question.variants.iter().map(|name| {
        let mine = |t: &&BoardTrial| t.variant == *name && t.purpose == BoardPurpose::Result;
        let mine: Vec<&BoardTrial> = trials.iter().filter(mine).collect();
        let summary = |basis| {
            let lights: Vec<Nanos> = mine.iter().filter_map(|t| t.light(basis)).collect();
            let (least, most) = range(&lights)?;
            Some((median(&lights)?, least, most))
        };
        let given_up = outcome.given_up.iter().find(|(v, _)| v == name);
        BoardVariant {
            variant: name.clone(),
            boots: mine.iter().filter(|t| t.light(basis).is_some()).count(),
            void: mine.iter().filter(|t| t.void.is_some()).count(),
            power_on: summary(BoardBasis::PowerOn),
            loader: summary(BoardBasis::Loader),
            given_up: given_up.map(|(_, why)| why.clone()),
            comparison: match given_up {
                // A variant that does not boot is not fast.
                Some(_) => None,
                None => compare(&trials, question, name, basis),
            },
        }
    });
    Ok(BoardReport {
        outcome: outcome.clone(),
        baseline: question.baseline.clone(),
        basis,
        minimum_effect: question.minimum_effect,
        level: sequence.level(),
        looks: sequence.looks(),
        variants: variants.collect(),
        scatter: of_baseline(&trials, question, basis),
        drift: over_time(&trials, basis),
        off: without_power(&trials),
        states: states(&trials, basis),
        trials,
    })
}

/// The variants whose answer `trials` give.
#[must_use]
pub fn board_settled(trials: &[BoardTrial], question: &BoardQuestion) -> Vec<String> {
    let basis = basis(trials);
    let known = |name: &&String| {
        let comparison = compare(trials, question, name, basis);
        comparison.is_some_and(|c| c.answer.verdict.is_some())
    };
    question.variants.iter().filter(known).cloned().collect()
}

/// The loader's first byte, if every boot that counts has it.
fn basis(trials: &[BoardTrial]) -> BoardBasis {
    let counted = |t: &&BoardTrial| t.void.is_none() && t.purpose == BoardPurpose::Result;
    match trials.iter().filter(counted).all(|t| t.loader.is_some()) {
        true => BoardBasis::Loader,
        false => BoardBasis::PowerOn,
    }
}

/// First light of the boots of `variant` that count, by round.
fn by_round(trials: &[BoardTrial], variant: &str, basis: BoardBasis) -> BTreeMap<u32, Nanos> {
    let mine = trials.iter();
    let mine = mine.filter(|t| t.variant == variant && t.purpose == BoardPurpose::Result);
    mine.filter_map(|t| Some((t.round, t.light(basis)?)))
        .collect()
}

/// A variant against the baseline, in the rounds that have both: what changes with time
/// then meets both alike.
fn compare(
    trials: &[BoardTrial],
    question: &BoardQuestion,
    name: &str,
    basis: BoardBasis,
) -> Option<BoardComparison> {
    if name == question.baseline {
        return None;
    }
    let base = by_round(trials, &question.baseline, basis);
    let variant = by_round(trials, name, basis);
    let pairs = base
        .iter()
        .filter_map(|(n, b)| Some((*b, *variant.get(n)?)));
    let (base, variant): (Vec<Nanos>, Vec<Nanos>) = pairs.unzip();
    let sequence = question.sequence();
    let answer = sequence.answer(&base, &variant)?;
    let scatter = scatter(&[&base, &variant]).unwrap_or(0.0);
    Some(BoardComparison {
        answer,
        boots_needed: sequence.boots_needed(scatter, 2.0 * question.minimum_effect),
    })
}

fn of_baseline(
    trials: &[BoardTrial],
    question: &BoardQuestion,
    basis: BoardBasis,
) -> Option<BoardScatter> {
    let mine = || {
        let mine = |t: &&BoardTrial| t.purpose == BoardPurpose::Scatter;
        trials.iter().filter(mine)
    };
    let lights: Vec<Nanos> = mine().filter_map(|t| t.light(basis)).collect();
    let half = |n: u32| -> Vec<Nanos> {
        let half = mine().filter(|t| t.round % 2 == n);
        half.filter_map(|t| t.light(basis)).collect()
    };
    let judged = sample_effect(&half(0), &half(1), &Judgement::default());
    let scatter = scatter(&[&lights])?;
    let sequence = question.sequence();
    Some(BoardScatter {
        boots: lights.len(),
        median: median(&lights)?,
        scatter,
        p_value: judged.map_or(1.0, |j| j.p_value),
        needed: EFFECTS
            .into_iter()
            .map(|effect| (effect, sequence.boots_needed(scatter, effect)))
            .collect(),
    })
}

/// Whether boots changed with time.
fn over_time(trials: &[BoardTrial], basis: BoardBasis) -> Option<TimeDrift> {
    let from_median = from_median(trials, basis);
    let boots = from_median.iter().map(|(t, off)| (t.begun_unix_ms, *off));
    drift(&boots.collect::<Vec<_>>())
}

/// How far each boot that counts was from its variant's median.
fn from_median(trials: &[BoardTrial], basis: BoardBasis) -> Vec<(&BoardTrial, Nanos)> {
    let mut by_variant: BTreeMap<&str, Vec<(&BoardTrial, Nanos)>> = BTreeMap::new();
    for trial in trials.iter().filter(|t| t.purpose == BoardPurpose::Result) {
        if let Some(light) = trial.light(basis) {
            let of = by_variant.entry(&trial.variant).or_default();
            of.push((trial, light));
        }
    }
    let mut all = Vec::new();
    for boots in by_variant.into_values() {
        let lights: Vec<Nanos> = boots.iter().map(|(_, light)| *light).collect();
        if let Some(middle) = median(&lights) {
            all.extend(boots.into_iter().map(|(t, light)| (t, light - middle)));
        }
    }
    all
}

fn without_power(trials: &[BoardTrial]) -> Option<(Nanos, Nanos)> {
    let counted = |t: &&BoardTrial| t.void.is_none() && t.purpose == BoardPurpose::Result;
    let off: Vec<Nanos> = trials
        .iter()
        .filter(counted)
        .filter_map(|t| t.off)
        .collect();
    range(&off)
}

/// Each value that boots have, and whether first light follows it.
fn states(trials: &[BoardTrial], basis: BoardBasis) -> Vec<BoardState> {
    /// Fewer boots say nothing.
    const FEWEST: usize = 8;
    let mut by_name: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for (trial, off) in from_median(trials, basis) {
        for (name, value) in &trial.state {
            if let Ok(value) = value.parse() {
                let of = by_name.entry(name).or_default();
                of.push((value, off.get() as f64));
            }
        }
    }
    let state = |(name, boots): (&str, Vec<(f64, f64)>)| {
        let (values, off): (Vec<f64>, Vec<f64>) = boots.into_iter().unzip();
        let follows = rank_correlation(&values, &off).filter(|_| values.len() >= FEWEST);
        let follows = follows.map(|correlation| {
            let z = correlation.abs() * (values.len() as f64 - 1.0).sqrt();
            BoardFollows {
                correlation,
                p_value: (2.0 * (1.0 - below(z))).clamp(0.0, 1.0),
            }
        });
        BoardState {
            name: name.to_owned(),
            boots: values.len(),
            least: values.iter().copied().fold(f64::INFINITY, f64::min),
            most: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            follows,
        }
    };
    by_name.into_iter().map(state).collect()
}

impl BoardComparison {
    /// The word for what is known: that of the verdict, or `undecided`.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        self.answer.verdict.map_or("undecided", Verdict::as_str)
    }
}
