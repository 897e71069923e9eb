//! What happens while an experiment runs, for whoever shows it.

use crate::trial::{Trial, TrialId};
use serde::Serialize;

/// Something happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// What will be done.
    Planned {
        /// How many trials there are.
        trials: usize,
        /// How many of them are there already, from an earlier run.
        reused: usize,
        /// How many machines run at once.
        jobs: usize,
    },
    /// A machine was switched on.
    PowerOn {
        /// Whose.
        trial: TrialId,
    },
    /// A machine wrote to its console.
    Console {
        /// Whose.
        trial: TrialId,
        /// How many bytes so far.
        bytes: u64,
        /// The last whole line, without escape sequences.
        last_line: String,
    },
    /// A trial ended, well or not; its capture is on the disk.
    Finished {
        /// All about it.
        trial: Box<Trial>,
        /// It was there already.
        reused: bool,
    },
    /// Something worth a sentence.
    Note {
        /// The sentence.
        text: String,
    },
}
