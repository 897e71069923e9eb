//! `firstlight lab` on a real board: run, check, put back.

pub mod tune;

use crate::beside;
use crate::interrupt;
use crate::out::Out;
use crate::progress;
use crate::shown::Shown;
use analysis::{BoardOutcome, BoardPurpose, BoardQuestion, BoardTrial};
use anyhow::{Result, bail};
use capture::board::Board;
use lab::board::{Care, Sequential};
use lab::{BASELINE, Experiment, Mode, Platform, Purpose, Trial};
use record::Nanos;
use std::io::Write as _;
use std::path::Path;

/// The comparison, in the output folder.
const RESULTS: [&str; 3] = ["board.json", "board.md", "board.csv"];

/// In which form the comparison is printed.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    pub markdown: bool,
    pub csv: bool,
}

pub fn run(
    experiment: &Experiment,
    options: &lab::Options,
    limit_cycles: Option<u64>,
    form: Form,
    out: &mut Out,
) -> Result<()> {
    let (Platform::Board(board), Mode::Statistical(sampling)) =
        (&experiment.base.platform, experiment.base.mode)
    else {
        bail!("{}: not an experiment on a board", experiment.name);
    };
    let question = BoardQuestion {
        baseline: BASELINE.to_owned(),
        variants: experiment.variants.iter().map(|v| v.name.clone()).collect(),
        minimum_effect: sampling.minimum_effect(),
        most: usize::try_from(options.ensemble).unwrap_or(usize::MAX),
    };
    let care = Care {
        limit_cycles,
        stop: interrupt::told()?,
    };
    let mut shown = Shown::new(true);
    let mut judge = Judge {
        question: question.clone(),
    };
    let ran = lab::board::run(experiment, options, &care, &mut judge, &mut |event| {
        shown.event(&event);
    });
    progress::clear();
    let ran = ran?;
    let trials = ran.trials.iter().filter_map(|t| trial(t, &options.out));
    let outcome = BoardOutcome {
        board: board.name.clone(),
        ended: ran.ended.name().to_owned(),
        sentence: ran.ended.sentence(),
        left: ran.left.name().to_owned(),
        cycles: ran.cycles,
        given_up: ran.given_up.clone(),
    };
    let report = analysis::board(trials.collect(), &question, outcome)?;
    let json = views::json::text(&views::json::lab_board(&report));
    let markdown = views::markdown::lab_board(&report);
    let csv = views::csv::lab_board(&report);
    for (name, text) in RESULTS.iter().zip([&json, &markdown, &csv]) {
        let path = options.out.join(name);
        beside::write(&path, |f| Ok(f.write_all(text.as_bytes())?))?;
    }
    let text = match (out.json, form) {
        (true, _) => json,
        (_, Form { markdown: true, .. }) => markdown,
        (_, Form { csv: true, .. }) => csv,
        _ => views::terminal::lab_board(&report, &out.style),
    };
    out.text(&text)?;
    out.flush()?;
    if !ran.ended.is_whole() {
        bail!("{}", ran.ended.sentence().trim_end_matches('.'));
    }
    if ran.left == lab::board::Left::Changed {
        bail!(
            "{}: the baseline could not be put back; run `firstlight lab restore --board {}`",
            board.name,
            board.file.display()
        );
    }
    Ok(())
}

/// The statistics behind the stopping rule.
struct Judge {
    question: BoardQuestion,
}

impl Sequential for Judge {
    fn begins(&mut self, reference: &str, variants: &[String], most: u32) {
        reference.clone_into(&mut self.question.baseline);
        self.question.variants = variants.to_vec();
        self.question.most = usize::try_from(most).unwrap_or(usize::MAX);
    }

    fn settled(&mut self, trials: &[Trial]) -> Vec<String> {
        let trials: Vec<BoardTrial> = trials
            .iter()
            .filter_map(|t| trial(t, Path::new("")))
            .collect();
        analysis::board_settled(&trials, &self.question)
    }
}

/// A trial as the comparison wants it; `None`: no board booted.
fn trial(trial: &Trial, out: &Path) -> Option<BoardTrial> {
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
        capture: out.join(&trial.capture).display().to_string(),
    })
}

pub fn doctor(file: &Path, out: &mut Out) -> Result<()> {
    let board = Board::read(file)?;
    let checks = capture::board::doctor(&board);
    let checks = checks.into_iter().map(|c| views::Check {
        name: c.what,
        ok: c.ok,
        found: Some(c.found),
        advice: c.advice,
    });
    let checks: Vec<views::Check> = checks.collect();
    out.show(
        || views::json::doctor(&checks),
        |style| views::terminal::doctor(&checks, style),
    )?;
    out.flush()?;
    match checks.iter().filter(|c| !c.ok).count() {
        0 => Ok(()),
        n => bail!("{}: {n} checks failed; see the lines above", file.display()),
    }
}

pub fn restore(file: &Path, out: &mut Out) -> Result<()> {
    let board = Board::read(file)?;
    let steps = lab::board::restore(&board)?;
    out.show(
        || views::json::LabRestore {
            schema: <views::json::LabRestore as views::json::Document>::SCHEMA,
            board: board.name.clone(),
            steps: steps.clone(),
        },
        |_| {
            let lines = steps.iter().map(|s| format!("{s}\n"));
            lines.collect::<String>() + "The board has its baseline again. It was not booted.\n"
        },
    )
}
