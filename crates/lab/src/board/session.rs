//! A board in use: boots of variants, and bringing the board back.

use super::deploy;
use super::trouble::Trouble;
use super::{Care, Ended, Left};
use crate::capture as captures;
use crate::error::{LabError, io_error};
use crate::event::Event;
use crate::experiment::{BASELINE, Experiment, Variant};
use crate::store;
use crate::trial::{self, BoardBoot, BoardProof, Failure, Lights, Plan, Reason, Trial};
use capture::board::{
    Adapter, Board, BoardError, Cycle, DeployPower, Deployment, EVIDENCE, Lock, PROOF, STATE,
    Watcher, measure, prove, state,
};
use capture::serial::reader::now_ns;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// How often the baseline is booted to bring a board back.
const RECOVERIES: u32 = 3;

/// How many of the console's last lines a void boot shows.
const LAST_LINES: usize = 12;

/// A board in use.
pub struct Session<'a> {
    pub experiment: &'a Experiment,
    pub board: &'a Board,
    pub adapter: Box<dyn Adapter>,
    pub lock: Lock,
    pub care: &'a Care,
    pub out: &'a Path,
    pub cycles: u64,
    pub deployments: u64,
    /// The board runs, and its last boot came to first light.
    pub up: bool,
    /// A variant may be on the board.
    pub changed: bool,
    /// Something was on the board in this run.
    pub touched: bool,
    /// The plans of these variants were said.
    pub said: Vec<String>,
    /// Since when the board has been off, on `CLOCK_MONOTONIC` in nanoseconds; `None`: it may
    /// be on.
    pub off_since: Option<u64>,
}

/// A measured boot, and what the board said afterwards.
struct Measured {
    cycle: Cycle,
    proof: BoardProof,
    state: BTreeMap<String, String>,
    /// What is doubtful, in sentences.
    notes: Vec<String>,
}

/// Tells how a boot goes on.
struct Told<'a> {
    id: &'a trial::TrialId,
    care: &'a Care,
    on: &'a mut dyn FnMut(Event),
}

impl Watcher for Told<'_> {
    fn console(&mut self, bytes: u64, last_line: &str) {
        (self.on)(Event::Console {
            trial: self.id.clone(),
            bytes,
            last_line: last_line.to_owned(),
        });
    }

    fn stops(&self) -> bool {
        self.care.stop.load(Ordering::Relaxed)
    }
}

impl Session<'_> {
    fn may_cycle(&self) -> Result<(), Trouble> {
        if self.care.stop.load(Ordering::Relaxed) {
            return Err(Trouble::End(Ended::Interrupted));
        }
        match self.care.limit_cycles {
            Some(limit) if self.cycles >= limit => Err(Trouble::End(Ended::Cycles(limit))),
            _ => Ok(()),
        }
    }

    /// Whether the card may be written once more, and then once to put the baseline back.
    fn may_deploy(&self) -> Result<(), Trouble> {
        match self.board.deploy.most {
            Some(most) if self.deployments.saturating_add(2) > most => {
                Err(Trouble::End(Ended::Deployments(most)))
            }
            _ => Ok(()),
        }
    }

    /// Boots a variant, and writes its capture. A boot that says nothing is a trial with
    /// a reason.
    pub fn boot(
        &mut self,
        plan: &Plan,
        fingerprint: String,
        on: &mut dyn FnMut(Event),
    ) -> Result<Trial, Trouble> {
        self.may_cycle()?;
        self.may_deploy()?;
        let variants = &self.experiment.variants;
        let Some(variant) = variants.iter().find(|v| v.name == plan.id.variant) else {
            let why = format!("no variant `{}`", plan.id.variant);
            return Err(Trouble::Fatal(Box::new(LabError::Bug { why })));
        };
        let nonce = nonce(&plan.id);
        let what = deploy::deployment(plan, variant, &nonce);
        on(Event::PowerOn {
            trial: plan.id.clone(),
        });
        let begun = Instant::now();
        let begun_unix_ms = unix_ms();
        let booted = self.measured(plan, variant, &what, on);
        let mut notes = vec![self.board.boot.first_light.uncertainty().to_owned()];
        let mut state = BTreeMap::new();
        let (mut cycle, proof, mut void) = match booted {
            Ok(measured) => {
                let void = measured.cycle.void(self.board.boot.resets);
                notes.extend(measured.notes);
                state = measured.state;
                (Some(measured.cycle), measured.proof, void)
            }
            Err(Trouble::Void(why)) => (None, BoardProof::default(), Some(why)),
            Err(other) => return Err(other),
        };
        if void.is_none() && !proof.seen {
            void = Some(format!(
                "proof: `{}` was not seen ({}), so another variant may have booted",
                proof.expected, proof.by
            ));
        }
        self.up = void.is_none();
        notes.extend(self.adapter.caveat().map(str::to_owned));
        notes.extend(cycle.as_ref().and_then(|c| c.off_ns).map(|ns| {
            format!(
                "The board was off for {:.3} s before power-on.",
                ns as f64 / 1e9
            )
        }));
        let light = |pick: fn(&Cycle) -> Option<u64>| {
            let counted = cycle.as_ref().filter(|_| void.is_none());
            counted.and_then(pick)
        };
        let boot = BoardBoot {
            begun_unix_ms,
            first_light_ns: Lights {
                power_on: light(Cycle::light_from_power_ns),
                loader: light(|c| c.light_from_loader_ns),
            },
            light_error_ns: light(|c| c.light.map(|l| l.error_ns)).unwrap_or(0),
            power_error_ns: cycle.as_ref().map_or(0, |c| c.power_error_ns),
            off_ns: cycle.as_ref().and_then(|c| c.off_ns),
            void: void.clone(),
            resets: cycle.as_ref().map_or(0, |c| c.resets),
            proof,
            state,
        };
        let folder = store::clear(self.out, &plan.id)?;
        let (digest, last_lines) = match &mut cycle {
            Some(cycle) => {
                cycle
                    .files
                    .push((EVIDENCE.to_owned(), evidence(&what, &boot)));
                self.keep(cycle, &what, &notes, &folder.join("capture"))?
            }
            None => {
                let path = folder.join("capture");
                std::fs::create_dir(&path).map_err(io_error(&path, "cannot be created"))?;
                (String::new(), Vec::new())
            }
        };
        Ok(Trial {
            firstlight_trial: trial::VERSION,
            id: plan.id.clone(),
            fingerprint,
            digest,
            capture: plan.id.folder().join("capture"),
            virtual_end_ns: None,
            wall_s: begun.elapsed().as_secs_f64(),
            shared_by: None,
            failure: void.map(|detail| Failure {
                reason: Reason::Void,
                detail,
                last_lines,
            }),
            kernel: plan.spec.kernel.as_str().to_owned(),
            cmdline: what.cmdline.clone(),
            notes,
            board: Some(boot),
        })
    }

    /// Deploys, switches the power, listens, and asks for the proof.
    fn measured(
        &mut self,
        plan: &Plan,
        variant: &Variant,
        what: &Deployment,
        on: &mut dyn FnMut(Event),
    ) -> Result<Measured, Trouble> {
        self.deploy(variant, what, on)?;
        let cycle = self.cycle(&plan.id, on)?;
        let mut measured = Measured {
            cycle,
            proof: BoardProof {
                by: String::new(),
                expected: what.nonce.clone(),
                seen: false,
            },
            state: BTreeMap::new(),
            notes: Vec::new(),
        };
        if measured.cycle.void(self.board.boot.resets).is_some() {
            return Ok(measured);
        }
        let adapter = self.adapter.as_mut();
        let proven = prove(&self.board.proof, what, &measured.cycle.raw, adapter)
            .map_err(|e| Trouble::Void(format!("proof: {e}")))?;
        measured.proof = BoardProof {
            by: proven.by.to_owned(),
            expected: proven.expected,
            seen: proven.seen,
        };
        if !proven.evidence.is_empty() {
            let kept = (PROOF.to_owned(), proven.evidence);
            measured.cycle.files.push(kept);
        }
        // After the boot, so that asking does not change it.
        if let Some(asked) = &self.board.state {
            match adapter.evidence("state.command", &asked.run, asked.limit, what) {
                Ok(printed) => {
                    measured.state = state(&printed);
                    if measured.state.is_empty() {
                        let note = "`state.command` printed no line `NAME NUMBER`.";
                        measured.notes.push(note.to_owned());
                    }
                    measured.cycle.files.push((STATE.to_owned(), printed));
                }
                Err(e) => measured.notes.push(format!("The state is unknown: {e}.")),
            }
        }
        Ok(measured)
    }

    fn deploy(
        &mut self,
        variant: &Variant,
        what: &Deployment,
        on: &mut dyn FnMut(Event),
    ) -> Result<(), Trouble> {
        if !self.said.contains(&variant.name) {
            self.said.push(variant.name.clone());
            for text in deploy::plan(self.experiment, self.board, variant) {
                on(Event::Note {
                    text: format!("deploys {}: {text}", variant.name),
                });
            }
        }
        self.ready_to_deploy(on)?;
        // Said first: if this program dies now, the next one knows.
        self.lock.say(&variant.name).map_err(LabError::from)?;
        self.changed = true;
        self.touched = true;
        self.deployments += 1;
        let experiment = self.experiment;
        self.on_files(|files| {
            deploy::restore_files(files)?;
            deploy::treat_files(experiment, files, variant, &what.nonce)
        })?;
        let deployed = self.adapter.deploy(what);
        deployed.map_err(|e| Trouble::Void(format!("deploy: {e}")))
    }

    /// Changes the files that the board boots from, if it has any, while this host has them.
    fn on_files(
        &mut self,
        change: impl FnOnce(&Path) -> Result<(), LabError>,
    ) -> Result<(), Trouble> {
        let Some(files) = &self.board.deploy.files else {
            return Ok(());
        };
        let failed = |e: BoardError| Trouble::Void(format!("deploy: {e}"));
        self.adapter.mount().map_err(failed)?;
        let changed = change(files);
        // Whatever came of it, the board gets its card back.
        self.adapter.unmount().map_err(failed)?;
        Ok(changed?)
    }

    /// Gives the board the power that a deployment needs.
    fn ready_to_deploy(&mut self, on: &mut dyn FnMut(Event)) -> Result<(), Trouble> {
        match self.board.deploy.power {
            DeployPower::Off => {
                self.up = false;
                let off = self.power_off();
                off.map_err(|e| Trouble::Void(format!("power: {e}")))
            }
            DeployPower::On if self.up => Ok(()),
            DeployPower::On => self.prove_baseline(on).map_err(|trouble| match trouble {
                Trouble::Void(why) => Trouble::Void(format!("deploy: the board is not up: {why}")),
                other => other,
            }),
        }
    }

    fn power_off(&mut self) -> Result<(), BoardError> {
        let mut tries = self.board.power_tries.max(1);
        loop {
            tries -= 1;
            match self.adapter.power_off() {
                Err(_) if tries > 0 => {}
                done => {
                    if done.is_ok() && self.adapter.switches_off() {
                        self.off_since.get_or_insert_with(now_ns);
                    }
                    return done;
                }
            }
        }
    }

    /// One power cycle.
    fn cycle(&mut self, id: &trial::TrialId, on: &mut dyn FnMut(Event)) -> Result<Cycle, Trouble> {
        self.may_cycle()?;
        self.cycles += 1;
        self.up = false;
        let care = self.care;
        let mut told = Told { id, care, on };
        let off_since = self.off_since.take();
        let adapter = self.adapter.as_mut();
        measure(adapter, self.board, off_since, &mut told).map_err(|e| match e {
            BoardError::Console(_) | BoardError::ConsoleCommand { .. } => {
                Trouble::Void(format!("console: {e}"))
            }
            BoardError::Host(_) | BoardError::Rule(_) => Trouble::Fatal(Box::new(e.into())),
            other => Trouble::Void(format!("power: {other}")),
        })
    }

    /// Boots whatever is on the board, which should be its baseline.
    fn prove_baseline(&mut self, on: &mut dyn FnMut(Event)) -> Result<(), Trouble> {
        let id = trial::TrialId {
            variant: BASELINE.to_owned(),
            perturbation: 0,
            purpose: trial::Purpose::WarmUp,
            attempt: 0,
        };
        let cycle = self.cycle(&id, on)?;
        match cycle.void(self.board.boot.resets) {
            None => {
                self.up = true;
                Ok(())
            }
            Some(why) => Err(Trouble::Void(why)),
        }
    }

    /// Puts the baseline back: files, then the board's command.
    fn put_back(&mut self, on: &mut dyn FnMut(Event)) -> Result<(), Trouble> {
        if self.board.deploy.power == DeployPower::Off {
            self.up = false;
            let off = self.power_off();
            off.map_err(|e| Trouble::Void(format!("power: {e}")))?;
        } else if self.board.deploy.restore.is_some() && !self.up {
            // It can only be told while it runs, with whatever is on it.
            self.prove_baseline(on)?;
        }
        // It wears the card as a deployment does, also one that fails, and is never refused.
        self.deployments += 1;
        self.on_files(|files| deploy::restore_files(files).map(drop))?;
        let what = self.baseline();
        let restored = self.adapter.restore(&what);
        restored.map_err(|e| Trouble::Void(format!("restore: {e}")))?;
        self.changed = false;
        self.lock.say("").map_err(LabError::from)?;
        Ok(())
    }

    fn baseline(&self) -> Deployment {
        Deployment {
            variant: BASELINE.to_owned(),
            cmdline: self.experiment.base.cmdline.to_string(),
            ..Deployment::default()
        }
    }

    /// After a boot that failed: puts the baseline back and proves that it boots.
    ///
    /// # Errors
    /// If the board does not come back, or may not be switched any more.
    pub fn recover(&mut self, on: &mut dyn FnMut(Event)) -> Result<(), Trouble> {
        let mut last = String::new();
        for attempt in 1..=RECOVERIES {
            let back = self.put_back(on).and_then(|()| self.prove_baseline(on));
            match back {
                Ok(()) => return Ok(()),
                Err(Trouble::Void(why)) => last = why,
                Err(other) => return Err(other),
            }
            on(Event::Note {
                text: format!(
                    "the baseline did not boot (attempt {attempt} of {RECOVERIES}): {last}"
                ),
            });
            if attempt < RECOVERIES {
                let what = self.baseline();
                if let Err(e) = self.adapter.recover(&what) {
                    last = e.to_string();
                }
            }
        }
        Err(Trouble::End(Ended::Lost(last)))
    }

    /// Leaves the board with its baseline, booted once more if that is allowed.
    pub fn leave(&mut self, ended: &Ended, on: &mut dyn FnMut(Event)) -> Left {
        if !self.touched {
            return Left::Untouched;
        }
        if self.changed && self.put_back(on).is_err() {
            return Left::Changed;
        }
        // The user who waits for the end, or a limit, comes before the proof.
        let wait = matches!(ended, Ended::Interrupted | Ended::Lost(_));
        if !wait && self.prove_baseline(on).is_ok() {
            return Left::Proven;
        }
        if self.adapter.switches_off() && !self.up {
            // The board is off now as far as it lets itself be told.
            self.power_off().ok();
        }
        Left::Restored
    }

    /// Writes a boot's capture. Returns its digest and the console's last lines.
    fn keep(
        &self,
        cycle: &Cycle,
        what: &Deployment,
        notes: &[String],
        folder: &Path,
    ) -> Result<(String, Vec<String>), LabError> {
        let taken_by = concat!("firstlight lab ", env!("CARGO_PKG_VERSION"));
        let machine = self.adapter.description();
        let members = cycle
            .members(taken_by, &machine, &what.cmdline, notes)
            .map_err(|e| LabError::Bug { why: e.to_string() })?;
        captures::write(folder, &members)?;
        let text = String::from_utf8_lossy(&cycle.raw);
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        let last = lines.len().saturating_sub(LAST_LINES);
        let last = lines.into_iter().skip(last).map(str::to_owned);
        Ok((captures::digest_of_stored(&members), last.collect()))
    }
}

/// What a capture of a board says beside its console: power, proof, state, and what was booted.
fn evidence(what: &Deployment, boot: &BoardBoot) -> Vec<u8> {
    let known = serde_json::json!({
        "variant": what.variant,
        "treatments": what.treatments,
        "cmdline": what.cmdline,
        "boot": boot,
    });
    let mut text = serde_json::to_vec_pretty(&known).unwrap_or_default();
    text.push(b'\n');
    text
}

/// What no other boot has on its command line.
fn nonce(id: &trial::TrialId) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut hash = Sha256::new();
    hash.update(id.to_string());
    hash.update(std::process::id().to_le_bytes());
    hash.update(now.unwrap_or_default().as_nanos().to_le_bytes());
    let mut text = crate::hex::hex(&hash.finalize());
    text.truncate(8);
    text
}

fn unix_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(now.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}
