//! What can go wrong with a board.

use crate::error::FileError;
use crate::serial::engine::RuleError;
use crate::serial::input::InputError;
use std::io;
use std::path::PathBuf;

/// Why something could not be done with a board.
#[derive(Debug, thiserror::Error)]
pub enum BoardError {
    /// The board's file is not what it should be.
    #[error("{name}:{line}: {why}")]
    File {
        /// The file.
        name: String,
        /// Counted from 1.
        line: usize,
        /// A clause: what was found, what was expected.
        why: String,
    },
    /// A file cannot be used.
    #[error(transparent)]
    Io(#[from] FileError),
    /// A pattern cannot be used.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// A command of the board's file failed.
    #[error("`{key}` of {board}: the command `{command}` {how}")]
    Command {
        /// The board's file.
        board: String,
        /// Which command: `power.on`.
        key: &'static str,
        /// The command.
        command: String,
        /// How it went, with its last words.
        how: String,
    },
    /// The console cannot be opened.
    #[error("the console of the board: {0}")]
    Console(#[from] InputError),
    /// The program that should write the console cannot be started.
    #[error("cannot start the console command `{command}`: {why}")]
    ConsoleCommand {
        /// The command.
        command: String,
        /// What the system says.
        why: io::Error,
    },
    /// Another run uses the board.
    #[error(
        "{}: the board is in use by {owner}; wait until that run ends", path.display()
    )]
    Busy {
        /// The lock.
        path: PathBuf,
        /// Who uses it.
        owner: String,
    },
    /// The labgrid sidecar failed.
    #[error("labgrid, place `{place}`: {why}")]
    Labgrid {
        /// The place.
        place: String,
        /// What it says.
        why: String,
    },
    /// LAVA did not boot the board, or not so that it is of use.
    #[error("{board}: {why}")]
    Lava {
        /// The board's file.
        board: String,
        /// A clause: what was found, what to do.
        why: String,
    },
    /// Threads or pipes.
    #[error("the host cannot listen to the board: {0}")]
    Host(#[from] io::Error),
}
