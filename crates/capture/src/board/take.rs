//! One boot of a board as it is, kept as a capture.

use super::adapter::Deployment;
use super::cycle::{Cycle, Watcher, measure};
use super::error::BoardError;
use super::file::{Board, Link, Proof};
use super::lock::Lock;
use super::reach::open;
use super::state::state;
use crate::keep::{self, KeepError};
use agent::capture::write_tar;
use std::collections::BTreeMap;
use std::path::Path;

/// The file of a capture with what is known of the boot from outside.
pub const EVIDENCE: &str = "board.json";
/// What the proof command printed.
pub const PROOF: &str = "proof.txt";
/// What the state command printed.
pub const STATE: &str = "state.txt";

/// A boot of a board that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenBoot {
    /// The boot.
    pub cycle: Cycle,
    /// Why it says nothing, if so.
    pub void: Option<String>,
    /// What the board said of its state.
    pub state: BTreeMap<String, String>,
    /// The capture's files.
    pub files: Vec<String>,
    /// What is doubtful, in sentences.
    pub notes: Vec<String>,
}

/// Why there is no capture of a board.
#[derive(Debug, thiserror::Error)]
pub enum TakeBootError {
    /// The board cannot be booted.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// The capture cannot be kept.
    #[error(transparent)]
    Keep(#[from] KeepError),
    /// The capture has no description.
    #[error("the capture cannot be described: {0}")]
    Json(#[from] serde_json::Error),
}

/// Boots the board with what is on it, and keeps power, console, the output of its proof command
/// and its state in the capture `out`. The board stays on.
///
/// # Errors
/// If the board cannot be switched, another run uses it, or `out` cannot be written. A boot that
/// fails is kept.
pub fn take(
    board: &Board,
    out: &Path,
    taken_by: &str,
    watcher: &mut dyn Watcher,
) -> Result<TakenBoot, TakeBootError> {
    keep::check(out)?;
    if let Link::Lava { .. } = board.link {
        let why = "LAVA boots a board only as a job with a kernel command line; use `firstlight \
            lab run`";
        return Err(BoardError::Lava {
            board: board.file.display().to_string(),
            why: why.to_owned(),
        }
        .into());
    }
    let (_lock, before) = Lock::take(board)?;
    let mut notes = vec![board.boot.first_light.uncertainty().to_owned()];
    if !before.deployed.is_empty() {
        notes.push(format!(
            "A run that was cut off left the variant `{}` on the board.",
            before.deployed
        ));
    }
    let mut adapter = open(board)?;
    let mut cycle = measure(adapter.as_mut(), board, None, watcher)?;
    let void = cycle.void(board.boot.resets);
    let mut values = BTreeMap::new();
    if void.is_none() {
        let proof = match &board.proof {
            Proof::Command { run, limit, .. } => Some((PROOF, "proof.command", run, *limit)),
            Proof::Nonce | Proof::Console(_) => None,
        };
        let asked = board.state.as_ref();
        let asked = asked.map(|s| (STATE, "state.command", &s.run, s.limit));
        let what = Deployment::default();
        for (name, key, command, limit) in proof.into_iter().chain(asked) {
            match adapter.evidence(key, command, limit, &what) {
                Ok(printed) => {
                    if name == STATE {
                        values = state(&printed);
                    }
                    cycle.files.push((name.to_owned(), printed));
                }
                Err(e) => notes.push(format!("{name} is missing: {e}.")),
            }
        }
    }
    let known = serde_json::json!({
        "board": board.name,
        "first_light_ns": {
            "power_on": cycle.light_from_power_ns(),
            "loader": cycle.light_from_loader_ns,
        },
        "light_error_ns": cycle.light.map(|l| l.error_ns),
        "power_error_ns": cycle.power_error_ns,
        "off_ns": cycle.off_ns,
        "void": void,
        "resets": cycle.resets,
        "state": values,
    });
    let mut known = serde_json::to_vec_pretty(&known)?;
    known.push(b'\n');
    cycle.files.push((EVIDENCE.to_owned(), known));
    let machine = adapter.description();
    let members = cycle.members(taken_by, &machine, "", &notes)?;
    keep::pack(out, |to| write_tar(to, &members))?;
    Ok(TakenBoot {
        void,
        state: values,
        files: members.into_iter().skip(1).map(|(name, _)| name).collect(),
        notes,
        cycle,
    })
}
