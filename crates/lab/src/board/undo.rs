//! Putting a board's baseline back, and proving that it boots.

use super::session::Session;
use super::trouble::Trouble;
use super::{BoardRun, Care, Ended, Left};
use crate::error::LabError;
use crate::event::Event;
use crate::experiment::{Experiment, Platform};
use crate::store::Store;
use ::capture::board::{Lock, open};
use std::path::Path;

/// Puts the baseline of an experiment back onto its board, whatever is on it, and boots it.
/// A baseline that does not boot is brought back by the board's own command, if it has one.
/// The run that this returns has no trials; `left` says whether the baseline booted.
///
/// # Errors
/// If another run uses the board, or the host fails.
pub fn undo(
    experiment: &Experiment,
    out: &Path,
    care: &Care,
    on: &mut dyn FnMut(Event),
) -> Result<BoardRun, LabError> {
    let Platform::Board(board) = &experiment.base.platform else {
        let why = "an experiment that is not one of a board".to_owned();
        return Err(LabError::Bug { why });
    };
    let store = Store::open(out)?;
    let (lock, _) = Lock::take(board)?;
    let adapter = open(board)?;
    let mut session = Session {
        experiment,
        board,
        adapter,
        lock,
        care,
        out: store.folder(),
        cycles: 0,
        deployments: 0,
        up: false,
        changed: true,
        touched: true,
        said: Vec::new(),
        off_since: None,
    };
    let (ended, left) = match session.recover(on) {
        Ok(()) => (Ended::AllRounds, Left::Proven),
        Err(Trouble::End(ended)) => {
            let left = if session.changed {
                Left::Changed
            } else {
                Left::Restored
            };
            (ended, left)
        }
        Err(Trouble::Void(why)) => (Ended::Lost(why), Left::Changed),
        Err(Trouble::Fatal(error)) => return Err(*error),
    };
    Ok(BoardRun {
        trials: Vec::new(),
        given_up: Vec::new(),
        cycles: session.cycles,
        ended,
        left,
    })
}
