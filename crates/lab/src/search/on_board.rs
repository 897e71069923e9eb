//! Boots of a search on a real board.

use super::trials::Trials;
use crate::board::{Batch, BoardRun, Care, Ended, Left, Sequential, run_batch, unfit};
use crate::error::LabError;
use crate::event::Event;
use crate::experiment::{BASELINE, Experiment, Mode, Platform};
use crate::run::Options;
use crate::trial::Trial;
use record::Nanos;
use std::path::PathBuf;
use std::sync::Arc;
use treat::Treatment;

/// The boots that show what there is to be saved, before anything is compared.
const FIRST_LOOK: u32 = 3;

/// Boots sets of treatments on a board: each set in the same rounds as the one that it is
/// compared with, and no more often than the answer needs. Between two batches the board has
/// its baseline, which was booted.
pub struct OnBoard<'a> {
    /// The experiment, whose board it is.
    experiment: &'a Experiment,
    out: PathBuf,
    /// What may be asked of the board in all batches together.
    care: Care,
    sequential: &'a mut dyn Sequential,
    on: &'a mut dyn FnMut(Event),
    /// How many batches there were.
    batches: u32,
    /// Whether first light counts from the loader's first byte; `None`: not known before the
    /// first batch.
    from_loader: Option<bool>,
    /// How many power cycles there were.
    cycles: u64,
}

impl<'a> OnBoard<'a> {
    /// Boots on the board of `experiment`, with the trials in the folder `out`.
    pub fn new(
        experiment: &'a Experiment,
        out: PathBuf,
        care: Care,
        sequential: &'a mut dyn Sequential,
        on: &'a mut dyn FnMut(Event),
    ) -> Self {
        Self {
            experiment,
            out,
            care,
            sequential,
            on,
            batches: 0,
            from_loader: None,
            cycles: 0,
        }
    }

    /// The boots that count: good ones, and the last one of a set that was given up.
    fn counted(&mut self, ran: BoardRun) -> Vec<Trial> {
        let mut counted: Vec<Trial> = Vec::new();
        let mut failed: Vec<Trial> = Vec::new();
        for trial in ran.trials {
            match &trial.failure {
                _ if !trial.id.purpose.is_result() => {}
                None => counted.push(trial),
                Some(_) => {
                    failed.retain(|f| f.id.variant != trial.id.variant);
                    failed.push(trial);
                }
            }
        }
        failed.retain(|f| ran.given_up.iter().any(|(v, _)| *v == f.id.variant));
        if self.from_loader.is_none() && !counted.is_empty() {
            self.from_loader = Some(counted.iter().all(|t| lights(t).1.is_some()));
        }
        counted.extend(failed);
        counted
    }
}

/// First light from power-on, and from the loader.
fn lights(trial: &Trial) -> (Option<Nanos>, Option<Nanos>) {
    let nanos = |ns: u64| Nanos(i64::try_from(ns).unwrap_or(i64::MAX));
    let lights = trial.board.as_ref().map(|b| b.first_light_ns);
    let lights = lights.unwrap_or_default();
    (lights.power_on.map(nanos), lights.loader.map(nanos))
}

impl Trials for OnBoard<'_> {
    fn run(
        &mut self,
        experiment: &Experiment,
        ensemble: u32,
        against: Option<&str>,
    ) -> Result<Vec<Trial>, LabError> {
        let mut experiment = experiment.clone();
        let Mode::Statistical(sampling) = &mut experiment.base.mode else {
            let why = "a board whose boots are exact".to_owned();
            return Err(LabError::Bug { why });
        };
        // The board is warm after the first batch, and each batch has an order of its own.
        sampling.scatter_rounds = 0;
        sampling.seed = sampling.seed.wrapping_add(u64::from(self.batches));
        if self.batches > 0 {
            sampling.warm_up = 0;
        }
        let most = match against {
            Some(_) => ensemble,
            None => ensemble.min(FIRST_LOOK),
        };
        let batch = Batch {
            reference: against.unwrap_or(BASELINE),
            first_round: self.batches.saturating_mul(ensemble),
            remembers: true,
        };
        let names: Vec<String> = experiment.variants.iter().map(|v| v.name.clone()).collect();
        self.sequential.begins(batch.reference, &names, most);
        let options = Options::plain(&self.out, most);
        let limit = self.care.limit_cycles;
        let care = Care {
            limit_cycles: limit.map(|limit| limit.saturating_sub(self.cycles)),
            stop: Arc::clone(&self.care.stop),
        };
        let on = &mut *self.on;
        let mut ran = run_batch(&experiment, &options, &care, batch, self.sequential, on)?;
        self.batches += 1;
        self.cycles += ran.cycles;
        if let (Ended::Cycles(of_batch), Some(limit)) = (&mut ran.ended, limit) {
            *of_batch = limit;
        }
        if ran.left == Left::Changed {
            return Err(LabError::Search(
                "the board's baseline could not be put back; run the same command with `--undo`"
                    .to_owned(),
            ));
        }
        match ran.ended.is_whole() {
            true => Ok(self.counted(ran)),
            false => Err(LabError::Search(
                ran.ended.sentence().trim_end_matches('.').to_owned(),
            )),
        }
    }

    fn interleaves(&self) -> bool {
        true
    }

    fn light(&self, trial: &Trial) -> Option<Nanos> {
        let (power_on, loader) = lights(trial);
        match self.from_loader {
            Some(true) => loader,
            _ => power_on,
        }
    }

    fn refuses(&self, treatment: &Treatment) -> Option<String> {
        match &self.experiment.base.platform {
            Platform::Board(board) => unfit(board, treatment),
            _ => None,
        }
    }
}
