//! Putting a board's baseline back after a run that was cut off.

use super::deploy::restore_files;
use crate::error::LabError;
use capture::board::{Board, DeployPower, Deployment, Lock, open};

/// Puts the baseline back onto `board`: its files, then by its command. Nothing is booted.
/// Returns what was done, a sentence each.
///
/// # Errors
/// If another run uses the board, or the baseline cannot be put back.
pub fn restore(board: &Board) -> Result<Vec<String>, LabError> {
    let (mut lock, before) = Lock::take(board)?;
    let mut said = vec![match before.deployed.as_str() {
        "" => "no run says that it left a variant on the board".to_owned(),
        variant => format!("a run left the variant `{variant}` on the board"),
    }];
    let mut adapter = open(board)?;
    if board.deploy.power == DeployPower::Off && adapter.switches_off() {
        adapter.power_off()?;
        said.push("the board was switched off".to_owned());
    }
    if let Some(files) = &board.deploy.files {
        adapter.mount()?;
        let undone = restore_files(files);
        adapter.unmount()?;
        let undone = undone?;
        said.push(format!("{}: {undone} treatments undone", files.display()));
    }
    if let Some(command) = &board.deploy.restore {
        let what = Deployment {
            variant: crate::experiment::BASELINE.to_owned(),
            ..Deployment::default()
        };
        adapter.restore(&what)?;
        said.push(format!("`{command}` succeeded"));
    }
    lock.say("")?;
    Ok(said)
}
