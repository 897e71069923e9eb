//! `firstlight tune` on a real board: its boots, and the statistics of their times.

use crate::input;
use crate::interrupt;
use crate::out::Out;
use crate::progress;
use crate::shown::Shown;
use analysis::BoardQuestion;
use anyhow::{Result, bail};
use lab::board::{Care, Left};
use lab::search::{self, Found, OnBoard, Settings};
use lab::{BASELINE, Experiment};
use std::path::Path;

/// Searches with boots of the experiment's board.
pub fn search(
    experiment: &Experiment,
    with: &[String],
    settings: &Settings,
    limit_cycles: Option<u64>,
) -> Result<Found> {
    let minimum_effect = proof::judgement(experiment).minimum_effect;
    let mut rule = proof::BoardRule {
        question: BoardQuestion {
            baseline: BASELINE.to_owned(),
            variants: Vec::new(),
            minimum_effect,
            most: usize::try_from(settings.ensemble).unwrap_or(usize::MAX),
        },
    };
    let mut judge = proof::BoardCaptures::new(minimum_effect, settings.ensemble, &input::say);
    let care = Care {
        limit_cycles,
        stop: interrupt::told()?,
    };
    let mut shown = Shown::new(true);
    let mut on = |event: lab::Event| shown.event(&event);
    let out = settings.out.clone();
    let mut trials = OnBoard::new(experiment, out, care, &mut rule, &mut on);
    let mut say = |text: String| {
        progress::clear();
        anstream::eprintln!("firstlight: {text}");
    };
    let both: (&mut dyn search::Trials, &mut dyn search::Judge) = (&mut trials, &mut judge);
    let found = search::search(experiment, with, settings, both, &mut say);
    progress::clear();
    Ok(found?)
}

/// Puts the baseline back and boots it.
pub fn undo(experiment: &Experiment, dir: &Path, out: &mut Out) -> Result<()> {
    let care = Care {
        limit_cycles: None,
        stop: interrupt::told()?,
    };
    let mut shown = Shown::new(true);
    let ran = lab::board::undo(experiment, dir, &care, &mut |event| shown.event(&event));
    progress::clear();
    let ran = ran?;
    if ran.left != Left::Proven {
        bail!("{}", ran.ended.sentence().trim_end_matches('.'));
    }
    let steps = vec![
        "the baseline was put back".to_owned(),
        format!("the baseline booted after {} power cycles", ran.cycles),
    ];
    out.show(
        || views::json::LabRestore {
            schema: <views::json::LabRestore as views::json::Document>::SCHEMA,
            board: experiment.base.platform.to_string(),
            steps,
        },
        |_| "The board has its baseline again, and it booted.\n".to_owned(),
    )
}
