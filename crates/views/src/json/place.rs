//! Where evidence stands.

use schemars::JsonSchema;
use serde::Serialize;

/// A byte in an input: where the evidence for a number stands.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Place {
    /// Name of the input.
    #[schemars(length(min = 1))]
    pub source: String,
    /// Byte offset in the input's file.
    pub offset: u64,
}

impl From<&analysis::Place> for Place {
    fn from(p: &analysis::Place) -> Self {
        Self {
            source: p.source.clone(),
            offset: p.offset,
        }
    }
}
