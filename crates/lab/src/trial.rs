//! A trial: one boot of one variant, and what came of it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use treat::BootSpec;

/// The version of `trial.json` and of the lines of `trials.jsonl`.
pub const VERSION: u32 = 1;

/// The name of a trial's own file.
pub(crate) const TRIAL_FILE: &str = "trial.json";

/// The folder of all trials in an output folder.
pub(crate) const TRIALS: &str = "trials";

/// Which trial.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TrialId {
    /// The variant's name.
    pub variant: String,
    /// Number of the neutral perturbation of the command line; 0: none.
    pub perturbation: u32,
    /// What the boot is for.
    #[serde(default, skip_serializing_if = "Purpose::is_result")]
    pub purpose: Purpose,
    /// How many boots of a board before this one said nothing of the same trial.
    #[serde(default, skip_serializing_if = "is_first")]
    pub attempt: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
const fn is_first(attempt: &u32) -> bool {
    *attempt == 0
}

/// What a boot is for.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Its first light counts.
    #[default]
    Result,
    /// It is the second boot of the same inputs.
    Again,
    /// It is the same boot with nothing recorded.
    Unrecorded,
    /// In real time, the host is not yet as it is in the boots that follow.
    WarmUp,
    /// On a board, it shows how much boots of the baseline scatter.
    Scatter,
}

impl Purpose {
    /// The word for it in every output: `boot`, `again`, `unrecorded`, `warm-up`,
    /// `scatter`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Result => "boot",
            Self::Again => "again",
            Self::Unrecorded => "unrecorded",
            Self::WarmUp => "warm-up",
            Self::Scatter => "scatter",
        }
    }

    /// Whether its first light counts.
    #[must_use]
    pub fn is_result(&self) -> bool {
        *self == Self::Result
    }
}

impl TrialId {
    /// The trial's folder in the output folder.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        let mut last = self.perturbation.to_string();
        if !self.purpose.is_result() {
            last = format!("{last}-{}", self.purpose.as_str());
        }
        if self.attempt > 0 {
            last = format!("{last}-attempt-{}", self.attempt + 1);
        }
        PathBuf::from(TRIALS).join(&self.variant).join(last)
    }
}

impl fmt::Display for TrialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.variant, self.perturbation)?;
        match self.purpose {
            Purpose::Result => {}
            purpose => write!(f, " {}", purpose.as_str())?,
        }
        match self.attempt {
            0 => Ok(()),
            n => write!(f, " attempt {}", n + 1),
        }
    }
}

/// A trial to be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Which one.
    pub id: TrialId,
    /// What is booted.
    pub spec: BootSpec,
    /// The words of its command line that only recording put there.
    pub recording: Vec<String>,
}

/// A finished trial: what `trial.json` holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The format's version; always the first key.
    pub firstlight_trial: u32,
    /// Which one.
    #[serde(flatten)]
    pub id: TrialId,
    /// SHA-256 over all inputs: the same fingerprint, the same boot.
    pub fingerprint: String,
    /// SHA-256 over console and payload: the same digest, the same boot seen.
    pub digest: String,
    /// The capture's folder, within the output folder.
    pub capture: PathBuf,
    /// The last time that the target read, in nanoseconds of virtual time since
    /// reset; `None` if there is no payload, or the boot ran in real time.
    pub virtual_end_ns: Option<u64>,
    /// How long it took on the host, in seconds.
    pub wall_s: f64,
    /// Who booted it, if it was taken from shared results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_by: Option<String>,
    /// Why it did not reach first light, if it did not.
    pub failure: Option<Failure>,
    /// The form of the kernel.
    pub kernel: String,
    /// The kernel command line.
    pub cmdline: String,
    /// What is doubtful about it, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What was measured, if a board booted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub board: Option<BoardBoot>,
}

/// A boot of a board. Times are nanoseconds of the host's monotonic clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardBoot {
    /// When it began, in milliseconds of Unix time.
    pub begun_unix_ms: u64,
    /// First light; nothing if the boot is void.
    pub first_light_ns: Lights,
    /// First light may have been earlier by this much: since the last question to the
    /// board.
    pub light_error_ns: u64,
    /// Power-on may have been earlier by this much: the length of the power command.
    pub power_error_ns: u64,
    /// For how long the board was without power before; `None`: only the power command
    /// knows.
    pub off_ns: Option<u64>,
    /// Why the boot says nothing of its variant, if so.
    pub void: Option<String>,
    /// How often the board was reset after power-on.
    pub resets: u32,
    /// What proves which variant booted.
    pub proof: BoardProof,
    /// What the board said of its state after first light, such as its temperature: numbers as
    /// they were printed.
    #[serde(default)]
    pub state: BTreeMap<String, String>,
}

/// First light of a board, from two beginnings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lights {
    /// From power-on.
    pub power_on: Option<u64>,
    /// From the first byte of the boot loader.
    pub loader: Option<u64>,
}

/// What proves which variant booted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardProof {
    /// How: `nonce`, `console` or `command`.
    pub by: String,
    /// What had to be seen.
    pub expected: String,
    /// Whether it was.
    pub seen: bool,
}

impl Trial {
    /// Whether the host ended it, so that another attempt could end otherwise.
    #[must_use]
    pub fn host_failed(&self) -> bool {
        let reason = self.failure.as_ref().map(|f| f.reason);
        reason.is_some_and(Reason::depends_on_host)
    }
}

/// Why a trial did not reach first light. That is a result too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What ended it.
    pub reason: Reason,
    /// One sentence.
    pub detail: String,
    /// The last lines of the console.
    pub last_lines: Vec<String>,
}

/// What ended a trial that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// It took too long on the host.
    WallLimit,
    /// Its own clock passed the limit.
    VirtualLimit,
    /// The kernel panicked.
    Panic,
    /// The agent gave up.
    Agent,
    /// The machine ended without a payload, and nothing says why.
    Ended,
    /// The emulator itself failed: it was killed, the disk was full, it does not
    /// take what it was given.
    Emulator,
    /// The payload cannot be read.
    Payload,
    /// A boot of a board says nothing of its variant.
    Void,
}

impl Reason {
    /// Whether another attempt could end otherwise: the host's time is no input.
    const fn depends_on_host(self) -> bool {
        matches!(self, Self::WallLimit | Self::Emulator | Self::Void)
    }
}
