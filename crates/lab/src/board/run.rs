//! A run from the first round to the last.

use super::deploy;
use super::rounds::{Round, rounds};
use super::session::Session;
use super::trouble::Trouble;
use super::{Batch, BoardRun, Care, Ended, Sequential};
use crate::error::LabError;
use crate::event::Event;
use crate::experiment::{BASELINE, Experiment, Mode, Platform};
use crate::run::options::Options;
use crate::store::Store;
use crate::trial::{Plan, Trial, TrialId};
use ::capture::board::{Board, Lock, open};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// So many boots of a variant in a round may say nothing; then the variant is given up.
const ATTEMPTS: u32 = 3;

/// Runs an experiment on its board. Every boot is kept as it ends, and a run that was cut
/// goes on where it was.
///
/// # Errors
/// If the board cannot be reached or the host cannot keep the results. A board that
/// misbehaves is a [`BoardRun`].
pub fn run(
    experiment: &Experiment,
    options: &Options,
    care: &Care,
    sequential: &mut dyn Sequential,
    on: &mut dyn FnMut(Event),
) -> Result<BoardRun, LabError> {
    run_batch(experiment, options, care, Batch::WHOLE, sequential, on)
}

/// The same for a part of the boots of a longer run.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_batch(
    experiment: &Experiment,
    options: &Options,
    care: &Care,
    batch: Batch<'_>,
    sequential: &mut dyn Sequential,
    on: &mut dyn FnMut(Event),
) -> Result<BoardRun, LabError> {
    let (Platform::Board(board), Mode::Statistical(sampling)) =
        (&experiment.base.platform, experiment.base.mode)
    else {
        let why = "an experiment that is not one of a board".to_owned();
        return Err(LabError::Bug { why });
    };
    if options.check_exact {
        return Err(LabError::NotExact);
    }
    can_deploy(experiment, board)?;
    let mut store = Store::open(&options.out)?;
    let (lock, before) = Lock::take(board)?;
    let treated = match &board.deploy.files {
        // The board may run, and has them then.
        Some(_) if board.deploy.mount.is_some() => 0,
        Some(files) => deploy::treated(files)?,
        None => 0,
    };
    let left_over = !before.deployed.is_empty() || treated > 0;
    if let Some(files) = &board.deploy.files
        && before.deployed.is_empty()
        && treated > 0
        && !left_by_run(&store)
    {
        return Err(LabError::BoardFiles {
            path: files.clone(),
            why: "it has treatments that no run on this board applied; run `firstlight treat undo \
                  --all` on it, or make a copy without the journal the baseline"
                .to_owned(),
        });
    }
    if !left_over {
        can_take(experiment, board)?;
    }
    let rounds = rounds(experiment, sampling, options.ensemble, batch.first_round);
    let out = store.folder().to_owned();
    let planned = rounds.iter().map(|r| r.plans.len()).sum();
    let kept = rounds.iter().flat_map(|r| &r.plans);
    let reused = kept.filter(|p| store.finished(&p.id, &fingerprint(board, p)).is_some());
    on(Event::Planned {
        trials: planned,
        reused: reused.count(),
        jobs: 1,
    });
    let adapter = open(board)?;
    let session = Session {
        experiment,
        board,
        adapter,
        lock,
        care,
        out: &out,
        cycles: 0,
        deployments: 0,
        up: false,
        changed: left_over,
        touched: left_over,
        said: Vec::new(),
        off_since: None,
    };
    let mut run = Run {
        session,
        batch,
        store: &mut store,
        trials: Vec::new(),
        given_up: Vec::new(),
        settled: BTreeSet::new(),
    };
    let ended = match run.all(&rounds, sequential, on) {
        Ok(ended) | Err(Trouble::End(ended)) => ended,
        Err(Trouble::Void(why)) => Ended::Lost(why),
        Err(Trouble::Fatal(error)) => {
            // The board comes first.
            run.session.leave(&Ended::Interrupted, on);
            return Err(*error);
        }
    };
    let left = run.session.leave(&ended, on);
    Ok(BoardRun {
        trials: run.trials,
        given_up: run.given_up,
        cycles: run.session.cycles,
        ended,
        left,
    })
}

/// A board that nothing can be put onto boots its baseline alone.
fn can_deploy(experiment: &Experiment, board: &Board) -> Result<(), LabError> {
    let deploys = board.deploy.files.is_some() || board.deploy.run.is_some();
    if deploys || experiment.variants.len() == 1 {
        return Ok(());
    }
    Err(LabError::BoardFiles {
        path: board.file.clone(),
        why: "the board has no way to deploy a variant; add `deploy.files`, or `deploy.run` and \
              `deploy.restore`"
            .to_owned(),
    })
}

/// Every variant can be put onto the board's files: otherwise each of its boots would be void.
fn can_take(experiment: &Experiment, board: &Board) -> Result<(), LabError> {
    let Some(files) = &board.deploy.files else {
        return Ok(());
    };
    let wrong = |why: String| LabError::BoardFiles {
        path: files.clone(),
        why,
    };
    if let Some(Err(why)) = deploy::check_files(board) {
        return Err(wrong(format!(
            "the proof of a boot cannot be put here: {why}"
        )));
    }
    for variant in &experiment.variants {
        let unfit = |t| Some((t, deploy::unfit(board, t)?));
        if let Some((treatment, why)) = variant.treatments.iter().find_map(unfit) {
            let name = &variant.name;
            return Err(wrong(format!(
                "`{treatment}` of the variant `{name}`: {why}"
            )));
        }
    }
    Ok(())
}

/// Whether a run into this folder was cut off while a variant was on the board: after a
/// crash of the host, the lock may not say so any more.
fn left_by_run(store: &Store) -> bool {
    store.folder().join("trials").is_dir()
}

struct Run<'a> {
    session: Session<'a>,
    batch: Batch<'a>,
    store: &'a mut Store,
    trials: Vec<Trial>,
    given_up: Vec<(String, String)>,
    settled: BTreeSet<String>,
}

impl Run<'_> {
    fn all(
        &mut self,
        rounds: &[Round],
        sequential: &mut dyn Sequential,
        on: &mut dyn FnMut(Event),
    ) -> Result<Ended, Trouble> {
        for round in rounds {
            if round.purpose.is_result() && self.is_decided() {
                return Ok(Ended::Decided);
            }
            for plan in &round.plans {
                self.trial(plan, on)?;
            }
            if round.purpose.is_result() {
                let counted = |t: &&Trial| t.id.purpose.is_result() && t.failure.is_none();
                let counted: Vec<Trial> = self.trials.iter().filter(counted).cloned().collect();
                self.settled.extend(sequential.settled(&counted));
            }
        }
        Ok(Ended::AllRounds)
    }

    /// Whether no variant needs more boots.
    fn is_decided(&self) -> bool {
        let reference = self.batch.reference;
        if self.given_up.iter().any(|(v, _)| v == reference) {
            return true;
        }
        let others = self.session.experiment.variants.iter();
        let mut others = others.filter(|v| v.name != reference).peekable();
        others.peek().is_some() && others.all(|v| self.needs_no_more(&v.name))
    }

    fn needs_no_more(&self, variant: &str) -> bool {
        self.settled.contains(variant) || self.given_up.iter().any(|(v, _)| v == variant)
    }

    /// A boot of a round that counts, taken from an earlier run or made now.
    fn trial(&mut self, plan: &Plan, on: &mut dyn FnMut(Event)) -> Result<(), Trouble> {
        if self.needs_no_more(&plan.id.variant) {
            return Ok(());
        }
        let fingerprint = fingerprint(self.session.board, plan);
        let mut attempt = 0;
        // What earlier runs left of this boot, void ones first.
        for kept in self.store.attempts(&plan.id, &fingerprint) {
            attempt = kept.id.attempt + 1;
            let counts = kept.failure.is_none();
            on(Event::Finished {
                trial: Box::new(kept.clone()),
                reused: true,
            });
            self.trials.push(kept);
            if counts {
                return Ok(());
            }
        }
        let mut reason = String::new();
        let is_known = self.batch.remembers && plan.id.variant != BASELINE && attempt >= ATTEMPTS;
        if is_known && let Some(last) = self.trials.last() {
            reason = last.failure.as_ref().map_or(reason, |f| f.detail.clone());
            self.given_up.push((plan.id.variant.clone(), reason));
            return Ok(());
        }
        for _ in 0..ATTEMPTS {
            let mut plan = plan.clone();
            plan.id.attempt = attempt;
            attempt += 1;
            let trial = self.session.boot(&plan, fingerprint.clone(), on)?;
            self.store.keep(&trial)?;
            on(Event::Finished {
                trial: Box::new(trial.clone()),
                reused: false,
            });
            let void = trial.failure.as_ref().map(|f| f.detail.clone());
            self.trials.push(trial);
            let Some(why) = void else {
                return Ok(());
            };
            reason = why;
            // One who interrupts a boot wants the end, not another boot.
            if !self
                .session
                .care
                .stop
                .load(std::sync::atomic::Ordering::Relaxed)
            {
                self.session.recover(on)?;
            }
        }
        if plan.id.variant == BASELINE {
            return Err(Trouble::End(Ended::Baseline(reason)));
        }
        on(Event::Note {
            text: format!(
                "`{}` is given up after {ATTEMPTS} boots that failed: {reason}",
                plan.id.variant
            ),
        });
        self.given_up.push((plan.id.variant.clone(), reason));
        Ok(())
    }
}

/// Everything that decides how a boot goes.
fn fingerprint(board: &Board, plan: &Plan) -> String {
    let spec = &plan.spec;
    let mut hash = Sha256::new();
    hash.update(board.inputs());
    hash.update(format!(
        "variant = {}\nkernel = {}\ncmdline = {}\nenvironment = {:?}\ninitramfs = {:?}\n\
         reading = {:?}\nbuild = {:?}\n",
        plan.id.variant,
        spec.kernel.as_str(),
        spec.cmdline,
        spec.environment,
        spec.initramfs,
        spec.reading,
        spec.build
    ));
    if !spec.files.is_empty() {
        hash.update(format!("files = {:?}\n", spec.files));
    }
    crate::hex::hex(&hash.finalize())
}

impl Store {
    /// The boots of earlier runs of the same inputs that stand for `id`: void ones, and
    /// the one that counts, by attempt.
    fn attempts(&self, id: &TrialId, fingerprint: &str) -> Vec<Trial> {
        let same = |t: &&Trial| {
            t.id.variant == id.variant
                && t.id.perturbation == id.perturbation
                && t.id.purpose == id.purpose
                && t.fingerprint == fingerprint
        };
        let mut kept: Vec<Trial> = self.kept().iter().filter(same).cloned().collect();
        kept.retain(|t| self.folder().join(&t.capture).is_dir());
        kept.sort_by_key(|t| t.id.attempt);
        kept.dedup_by_key(|t| t.id.attempt);
        kept
    }
}
