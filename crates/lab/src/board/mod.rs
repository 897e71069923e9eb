//! An experiment on a real board: rounds of measured boots, with care for the board.
//!
//! Nothing here computes statistics. After each round [`Sequential`], which `proof` fills
//! from `analysis`, says which variants need no more boots.

mod deploy;
mod restore;
mod rounds;
mod run;
mod session;
mod trouble;
mod undo;

pub use deploy::check_files;
pub(crate) use deploy::unfit;
pub use restore::restore;
pub(crate) use rounds::rounds;
pub use run::run;
pub(crate) use run::run_batch;
pub use undo::undo;

use crate::experiment::BASELINE;
use crate::trial::Trial;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a run may ask of a board.
#[derive(Clone, Debug, Default)]
pub struct Care {
    /// The most power cycles of this run; `None`: as many as it needs.
    pub limit_cycles: Option<u64>,
    /// Becomes true when the user wants to end.
    pub stop: Arc<AtomicBool>,
}

/// Boots that are compared with each other, of a run that has several such batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batch<'a> {
    /// The variant that the others are compared with.
    pub reference: &'a str,
    /// The number of its first round that counts.
    pub first_round: u32,
    /// Whether a variant that an earlier run gave up is not tried again.
    pub remembers: bool,
}

impl Batch<'_> {
    /// The only batch of a run.
    pub const WHOLE: Self = Batch {
        reference: BASELINE,
        first_round: 0,
        remembers: false,
    };
}

/// Decides while a run goes on.
pub trait Sequential {
    /// The boots that follow compare these variants with the variant `reference`, with at
    /// most `most` boots each.
    fn begins(&mut self, _reference: &str, _variants: &[String], _most: u32) {}

    /// The variants whose answer is known by the counted `trials` of all rounds so far.
    fn settled(&mut self, trials: &[Trial]) -> Vec<String>;
}

/// Boots all rounds, whatever comes of them.
#[derive(Clone, Copy, Debug)]
pub struct AllRounds;

impl Sequential for AllRounds {
    fn settled(&mut self, _trials: &[Trial]) -> Vec<String> {
        Vec::new()
    }
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct BoardRun {
    /// All boots of variants, void ones too: warm-ups, scatter rounds, results.
    pub trials: Vec<Trial>,
    /// Variants that were given up, each with its last reason.
    pub given_up: Vec<(String, String)>,
    /// How many power cycles this run made.
    pub cycles: u64,
    /// Why it ended.
    pub ended: Ended,
    /// Whether the board has its baseline now, and how that is known.
    pub left: Left,
}

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Every round was booted.
    AllRounds,
    /// Every variant's answer was known before.
    Decided,
    /// `--limit-cycles` was reached.
    Cycles(u64),
    /// `deploy.most` of the board's file was reached.
    Deployments(u64),
    /// The user ended it.
    Interrupted,
    /// The baseline does not come to first light: why.
    Baseline(String),
    /// The board did not come back: why.
    Lost(String),
}

impl Ended {
    /// Whether the run did all that was asked of it.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        matches!(self, Self::AllRounds | Self::Decided)
    }

    /// A name for programs.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::AllRounds => "all_rounds",
            Self::Decided => "decided",
            Self::Cycles(_) => "limit_cycles",
            Self::Deployments(_) => "limit_deployments",
            Self::Interrupted => "interrupted",
            Self::Baseline(_) => "baseline_fails",
            Self::Lost(_) => "board_lost",
        }
    }

    /// One sentence: what happened, and what to do.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::AllRounds => "All rounds were booted.".to_owned(),
            Self::Decided => "The run stopped because every answer was known.".to_owned(),
            Self::Cycles(n) => format!(
                "The run stopped after {n} power cycles (`--limit-cycles`); run the same command \
                 again to continue."
            ),
            Self::Deployments(n) => format!(
                "The run stopped because the card may be written only {n} times (`deploy.most`); run \
                 the same command again to continue."
            ),
            Self::Interrupted => {
                "The run was interrupted; run the same command again to continue.".to_owned()
            }
            Self::Baseline(why) => format!(
                "The baseline does not reach first light ({why}); correct the board's file or the \
                 board, then run the same command again."
            ),
            Self::Lost(why) => format!(
                "The board did not come back ({why}); repair it, then run the same command again \
                 to continue."
            ),
        }
    }
}

/// What the board has at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Its baseline, which was booted to prove it.
    Proven,
    /// Its baseline was put back, and not booted since.
    Restored,
    /// Nothing was changed.
    Untouched,
    /// The baseline could not be put back.
    Changed,
}

impl Left {
    /// A name for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Proven => "baseline_proven",
            Self::Restored => "baseline_restored",
            Self::Untouched => "untouched",
            Self::Changed => "changed",
        }
    }
}
