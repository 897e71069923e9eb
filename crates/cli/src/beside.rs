//! Files that are written beside and renamed, with what a verb says of its errors.

use anyhow::Result;
use std::fs::File;
use std::path::Path;

/// [`capture::beside::write`].
///
/// # Errors
/// `path` cannot be a file, what `fill` says, or the disk does not take it.
pub fn write<T>(path: &Path, fill: impl FnOnce(&mut File) -> Result<T>) -> Result<T> {
    capture::beside::write(path, fill)
}
