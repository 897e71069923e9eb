//! What may go wrong between a variant and its result.

use super::Ended;
use crate::error::LabError;

/// Why a boot of a variant did not become a result.
pub enum Trouble {
    /// It says nothing, and the next may.
    Void(String),
    /// The run cannot go on.
    End(Ended),
    /// The host cannot go on.
    Fatal(Box<LabError>),
}

impl From<LabError> for Trouble {
    /// What a deployment could not do makes its boot void; a full disk of the host or a
    /// bug ends the run.
    fn from(error: LabError) -> Self {
        match error {
            LabError::Board(e) => Self::Void(format!("board: {e}")),
            LabError::BoardFiles { .. } => Self::Void(format!("deploy: {error}")),
            other => Self::Fatal(Box::new(other)),
        }
    }
}
