//! `firstlight tune` on a real board: its boots, and the statistics of their times.

use super::Judge;
use crate::interrupt;
use crate::judge::Captures;
use crate::out::Out;
use crate::progress;
use crate::shown::Shown;
use analysis::{BoardQuestion, Looks};
use anyhow::{Result, bail};
use lab::board::{Care, Left};
use lab::search::{
    self, Effect, Found, Health, JudgeError, OnBoard, Recommended, Settings, Typical, Verdict,
};
use lab::{BASELINE, Experiment, Mode};
use record::Nanos;
use std::path::Path;

/// The least difference that counts, as a part of the baseline.
fn minimum_effect(experiment: &Experiment) -> f64 {
    match experiment.base.mode {
        Mode::Statistical(sampling) => sampling.minimum_effect(),
        Mode::Exact => 0.0,
    }
}

/// Searches with boots of the experiment's board.
pub fn search(
    experiment: &Experiment,
    with: &[String],
    settings: &Settings,
    limit_cycles: Option<u64>,
) -> Result<Found> {
    let minimum_effect = minimum_effect(experiment);
    let mut rule = Judge {
        question: BoardQuestion {
            baseline: BASELINE.to_owned(),
            variants: Vec::new(),
            minimum_effect,
            most: usize::try_from(settings.ensemble).unwrap_or(usize::MAX),
        },
    };
    let mut judge = BoardJudge {
        captures: Captures::default(),
        minimum_effect,
        sets: 1,
        most: settings.ensemble,
    };
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

/// Reads captures as in the lab, and judges times as those of a board.
struct BoardJudge {
    captures: Captures,
    /// The least difference that counts, as a part of the baseline.
    minimum_effect: f64,
    /// How many sets the last boots compare.
    sets: usize,
    /// How many boots each of them gets at most.
    most: u32,
}

impl search::Judge for BoardJudge {
    fn first_light(&mut self, capture: &Path) -> Result<Option<Nanos>, JudgeError> {
        self.captures.first_light(capture)
    }

    fn health(
        &mut self,
        before: &Path,
        after: &Path,
        masked: &[String],
    ) -> Result<Vec<Health>, JudgeError> {
        self.captures.health(before, after, masked)
    }

    fn recommended(&mut self, capture: &Path) -> Result<Vec<Recommended>, JudgeError> {
        self.captures.recommended(capture)
    }

    fn limits(&mut self, capture: &Path) -> Result<Vec<(String, Nanos)>, JudgeError> {
        self.captures.limits(capture)
    }

    fn typical(&self, times: &[Nanos]) -> Option<Typical> {
        self.captures.typical(times)
    }

    fn compares(&mut self, sets: usize, ensemble: u32) {
        self.sets = sets;
        self.most = ensemble;
    }

    fn effect(&self, base: &[Nanos], variant: &[Nanos]) -> Option<Effect> {
        let most = usize::try_from(self.most).unwrap_or(usize::MAX);
        let looks = Looks::new(self.sets, most, self.minimum_effect);
        let answer = looks.answer(base, variant)?;
        let (low, high) = answer.effect.interval;
        let least = analysis::median(base)?.get() as f64 * self.minimum_effect;
        Some(Effect {
            verdict: match answer.verdict {
                Some(analysis::Verdict::Faster) => Verdict::Faster,
                Some(analysis::Verdict::Slower) => Verdict::Slower,
                // What is not proven is not kept.
                Some(analysis::Verdict::NoDifference) | None => Verdict::NoDifference,
            },
            delta: answer.effect.delta,
            spread: Nanos((high - low).get() / 2),
            least: Nanos(least as i64),
        })
    }

    fn no_effect(&self, e: &Effect, boots: usize) -> String {
        format!(
            "no proven effect: after {boots} boots each, first light moves by {} with a 95 % \
             interval of {} to each side",
            e.delta, e.spread
        )
    }

    fn open_root(&mut self, image: &Path) -> Result<(), JudgeError> {
        self.captures.open_root(image)
    }

    fn access_list(&mut self, capture: &Path, list: &Path) -> Result<(), JudgeError> {
        self.captures.access_list(capture, list)
    }
}
