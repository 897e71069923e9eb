//! Places in files.

use serde::Serialize;

/// A part of a file. Sizes are in bytes.
#[derive(schemars::JsonSchema, Serialize)]
pub(super) struct Part {
    /// Byte offset.
    offset: u64,
    /// Size.
    size: u64,
}

impl Part {
    pub(super) fn of((offset, size): (u64, u64)) -> Self {
        Self { offset, size }
    }
}
