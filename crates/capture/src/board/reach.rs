//! Reaching a board by what its file names.

use super::adapter::Adapter;
use super::commands::Commands;
use super::error::BoardError;
use super::file::{Board, Link};
use super::labgrid::Labgrid;
use super::lava::Lava;

/// The adapter that the board's file names, with all that it acquires.
///
/// # Errors
/// If the board cannot be reached.
pub fn open(board: &Board) -> Result<Box<dyn Adapter>, BoardError> {
    Ok(match &board.link {
        Link::Commands { .. } => Box::new(Commands::new(board)),
        Link::Labgrid { .. } => Box::new(Labgrid::acquire(board)?),
        Link::Lava { .. } => Box::new(Lava::new(board)),
    })
}
