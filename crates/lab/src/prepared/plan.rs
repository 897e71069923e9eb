//! The content of a plan's file.
//!
//! A plan names its inputs by their SHA-256. Its fingerprint is the hash of the emulator's
//! parts and of the boot as the plan describes it, so that a plan cannot say one thing and
//! boot another.

use crate::cache::hash_bytes;
use crate::emulator::Clock;
use crate::emulator::setup::Setup;
use crate::emulator::stages::CpuKind;
use crate::error::LabError;
use crate::files::HashedFile;
use crate::loading::Loading;
use crate::trial::TrialId;
use serde::{Deserialize, Serialize};

/// The version of a plan's file.
pub const VERSION: u32 = 1;

/// A trial that can be booted without its experiment: the content of a plan's file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prepared {
    /// The format's version; always the first key.
    pub firstlight_plan: u32,
    /// Which trial.
    #[serde(flatten)]
    pub id: TrialId,
    /// SHA-256 over emulator and boot: the same fingerprint, the same boot.
    pub fingerprint: String,
    /// The number of the round whose trials all have to run on one host, one after
    /// another; `None`: it does not matter where and when the trial runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
    /// The emulator's program.
    pub emulator: String,
    /// Its version, for the reader.
    pub emulator_version: String,
    /// The hashes of its parts, as `key = value` lines.
    pub emulator_parts: String,
    /// The machine in words.
    pub machine: String,
    /// Whether time is the number of instructions.
    pub exact: bool,
    /// The memory of the machine and of its files, in MiB.
    pub memory_mb: u64,
    /// The form of the kernel.
    pub kernel: String,
    /// The kernel command line.
    pub cmdline: String,
    /// The parameters in it that only recording put there.
    pub recording: Vec<String>,
    /// When the boot is ended by force.
    pub limits: PlanLimits,
    /// Where the payload begins in its file.
    pub payload_at: u64,
    /// What shows the machine's time while it is silent.
    pub clock: Clock,
    /// How the machine is switched on.
    pub boot: Setup,
    /// How the stages before the kernel are measured, or why they cannot be.
    pub stages: MaybeStages,
    /// What reading kernel and initramfs would take, if that is charged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loading: Option<Loading>,
    /// What is doubtful about such a boot, in sentences.
    pub notes: Vec<String>,
}

/// When a boot is ended by force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanLimits {
    /// Seconds of the host.
    pub wall_s: u32,
    /// Seconds of the kernel's clock, or of the machine's while the console is silent.
    pub virtual_s: Option<u32>,
}

/// Whether the stages before the kernel can be measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaybeStages {
    /// How.
    Measured(EarlyStages),
    /// Why not, in a sentence.
    Unknown(String),
}

/// How it is measured when firmware, loader and decompression end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlyStages {
    /// The boot that is measured.
    pub boot: Setup,
    /// The kind of processor.
    pub processor: CpuKind,
    /// Addresses of instructions: the kernel image's first, then that of the kernel.
    pub waypoints: Vec<u64>,
    /// The data register of the serial port, if a loader writes to it.
    pub console: Option<u64>,
    /// Whether a boot loader runs first, and no firmware.
    pub loader_first: bool,
    /// Whether the kernel image unpacks itself.
    pub unpacks_itself: bool,
}

impl Prepared {
    /// Says how much memory the boot takes, and which fingerprint it has.
    pub fn finish(&mut self) {
        let bytes: u64 = self.boot.inputs_mut().map(|file| file.bytes).sum();
        self.memory_mb += bytes.div_ceil(1 << 20);
        self.fingerprint = hash_bytes(self.inputs(&self.emulator_parts).as_bytes());
    }

    /// Everything that decides how it boots under the emulator whose parts are `identity`:
    /// its hash is the trial's fingerprint.
    #[must_use]
    pub fn inputs(&self, identity: &str) -> String {
        // A plain structure is always written.
        let boot = serde_json::to_string(&self.boot).unwrap_or_default();
        let stages = serde_json::to_string(&self.stages).unwrap_or_default();
        let loading = self
            .loading
            .as_ref()
            .map_or_else(String::new, Loading::input);
        format!(
            "{identity}boot = {boot}\nstages = {stages}\npayload_at = {}\nclock = {:?}\n\
             limit_virtual_s = {:?}\n{loading}",
            self.payload_at, self.clock, self.limits.virtual_s
        )
    }

    /// Reads a plan; `name` is its file.
    ///
    /// # Errors
    /// If it is none, or was changed after it was made.
    pub fn parse(name: &str, text: &[u8]) -> Result<Self, LabError> {
        let wrong = |why: String| LabError::Plan {
            name: name.to_owned(),
            why,
        };
        let again = "make it again with `firstlight lab run FILE.toml --prepare`";
        let value: serde_json::Value = serde_json::from_slice(text)
            .map_err(|e| wrong(format!("not the plan of a trial ({e}); {again}")))?;
        match value.get("firstlight_plan").and_then(|v| v.as_u64()) {
            Some(version) if version == u64::from(VERSION) => {}
            Some(version) => {
                return Err(wrong(format!(
                    "the plan has version {version}, but this program reads version {VERSION}; \
                     {again}"
                )));
            }
            None => return Err(wrong(format!("not the plan of a trial; {again}"))),
        }
        let plan: Self = serde_json::from_value(value)
            .map_err(|e| wrong(format!("the plan is damaged ({e}); {again}")))?;
        let inputs = plan.inputs(&plan.emulator_parts);
        if hash_bytes(inputs.as_bytes()) != plan.fingerprint {
            return Err(wrong(format!(
                "the plan was changed after it was made, so its fingerprint no longer holds; \
                 {again}"
            )));
        }
        Ok(plan)
    }

    /// The plan as a file.
    ///
    /// # Errors
    /// Never, as far as is known.
    pub fn to_json(&self) -> Result<Vec<u8>, LabError> {
        let bug = |e: serde_json::Error| LabError::Bug { why: e.to_string() };
        let mut text = serde_json::to_vec_pretty(self).map_err(bug)?;
        text.push(b'\n');
        Ok(text)
    }

    /// The inputs of its boots, of which some may be there twice.
    pub fn files_mut(&mut self) -> Vec<&mut HashedFile> {
        let stages = match &mut self.stages {
            MaybeStages::Measured(stages) => Some(&mut stages.boot),
            MaybeStages::Unknown(_) => None,
        };
        let stages = stages.into_iter().flat_map(Setup::inputs_mut);
        self.boot.inputs_mut().chain(stages).collect()
    }
}
