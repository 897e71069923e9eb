//! Boots of a real board, as the comparison wants them.

use crate::error::Result;
use analysis::{BoardOutcome, BoardPurpose, BoardQuestion, BoardReport, BoardTrial};
use lab::board::{BoardRun, Sequential};
use lab::{BASELINE, Experiment, Purpose, Sampling, Trial};
use record::Nanos;
use std::path::Path;

/// What is asked of a run on a board: the variants of an experiment, with `most` boots each.
#[must_use]
pub fn question(experiment: &Experiment, sampling: &Sampling, most: u32) -> BoardQuestion {
    BoardQuestion {
        baseline: BASELINE.to_owned(),
        variants: experiment.variants.iter().map(|v| v.name.clone()).collect(),
        minimum_effect: sampling.minimum_effect(),
        most: usize::try_from(most).unwrap_or(usize::MAX),
    }
}

/// The statistics behind the stopping rule of a run on a board.
#[derive(Debug)]
pub struct BoardRule {
    /// What is asked.
    pub question: BoardQuestion,
}

impl Sequential for BoardRule {
    fn begins(&mut self, reference: &str, variants: &[String], most: u32) {
        reference.clone_into(&mut self.question.baseline);
        self.question.variants = variants.to_vec();
        self.question.most = usize::try_from(most).unwrap_or(usize::MAX);
    }

    fn settled(&mut self, trials: &[Trial]) -> Vec<String> {
        let trials: Vec<BoardTrial> = trials
            .iter()
            .filter_map(|t| board_trial(t, Path::new("")))
            .collect();
        analysis::board_settled(&trials, &self.question)
    }
}

/// What a run of the board `name` in the folder `out` says.
///
/// # Errors
/// The question has no baseline.
pub fn board_report(
    ran: &BoardRun,
    question: &BoardQuestion,
    name: &str,
    out: &Path,
) -> Result<BoardReport> {
    let trials = ran.trials.iter().filter_map(|t| board_trial(t, out));
    let outcome = BoardOutcome {
        board: name.to_owned(),
        ended: ran.ended.name().to_owned(),
        sentence: ran.ended.sentence(),
        left: ran.left.name().to_owned(),
        cycles: ran.cycles,
        given_up: ran.given_up.clone(),
    };
    Ok(analysis::board(trials.collect(), question, outcome)?)
}

/// A trial as the comparison wants it; `None`: no board booted.
#[must_use]
pub fn board_trial(trial: &Trial, out: &Path) -> Option<BoardTrial> {
    let board = trial.board.as_ref()?;
    let nanos = |ns: u64| Nanos(i64::try_from(ns).unwrap_or(i64::MAX));
    Some(BoardTrial {
        variant: trial.id.variant.clone(),
        round: trial.id.perturbation,
        attempt: trial.id.attempt,
        purpose: match trial.id.purpose {
            Purpose::Scatter => BoardPurpose::Scatter,
            Purpose::Result => BoardPurpose::Result,
            _ => BoardPurpose::WarmUp,
        },
        begun_unix_ms: board.begun_unix_ms,
        power_on: board.first_light_ns.power_on.map(nanos),
        loader: board.first_light_ns.loader.map(nanos),
        light_error: nanos(board.light_error_ns),
        power_error: nanos(board.power_error_ns),
        off: board.off_ns.map(nanos),
        void: board.void.clone(),
        resets: board.resets,
        proof: analysis::BoardProof {
            by: board.proof.by.clone(),
            expected: board.proof.expected.clone(),
            seen: board.proof.seen,
        },
        state: board.state.clone(),
        capture: out.join(&trial.capture).display().to_string(),
    })
}
