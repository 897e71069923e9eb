//! `firstlight lab` on a real board: run, check, put back.

pub mod tune;

use crate::beside;
use crate::interrupt;
use crate::out::Out;
use crate::progress;
use crate::shown::Shown;
use anyhow::{Result, bail};
use capture::board::Board;
use lab::board::Care;
use lab::{Experiment, Mode, Platform};
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
    let question = proof::question(experiment, &sampling, options.ensemble);
    let care = Care {
        limit_cycles,
        stop: interrupt::told()?,
    };
    let mut shown = Shown::new(true);
    let mut judge = proof::BoardRule {
        question: question.clone(),
    };
    let ran = lab::board::run(experiment, options, &care, &mut judge, &mut |event| {
        shown.event(&event);
    });
    progress::clear();
    let ran = ran?;
    let report = proof::board_report(&ran, &question, &board.name, &options.out)?;
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

pub fn doctor(file: &Path, out: &mut Out) -> Result<()> {
    let board = Board::read(file)?;
    let checks = capture::board::doctor(&board);
    let checks = checks.into_iter().map(|c| views::Check {
        name: c.what,
        ok: c.ok,
        found: Some(c.found),
        advice: c.advice,
    });
    let nonce = lab::board::check_files(&board).map(|found| views::Check {
        name: "deploy.files, command line".to_owned(),
        ok: found.is_ok(),
        advice: found.is_err().then(|| {
            "name the file or folder that has the board's kernel command line, or deploy with \
             `deploy.run`"
                .to_owned()
        }),
        found: Some(match found {
            Ok(changes) => format!("{changes} can carry the proof of a boot (not changed)"),
            Err(why) => why,
        }),
    });
    let checks: Vec<views::Check> = checks.chain(nonce).collect();
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
